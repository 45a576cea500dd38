"""What a dry run shows: a table of jobs that fits on a screen, and what they cost; `snakemake -n -p` shows each job."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Mapping


class Brief(logging.Filter):
    """No lines for each job, and one row of the table for all runs on a data set.

    Parameters
    ----------
    active
        Whether it is to be brief; asked for every message.
    rows
        What the table calls the jobs of a rule; others it calls by the rule's name.
    outlook
        What stands below the table.
    """

    def __init__(
        self, active: Callable[[], bool], rows: Mapping[str, str], outlook: Callable[[], str]
    ) -> None:
        super().__init__()
        self._active, self._rows, self._outlook = active, rows, outlook
        self._shown: dict[str, int] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Let a message pass, perhaps with a shorter text."""
        if not self._active():
            return True
        event = str(getattr(record, "event", None))
        if event == "run_info":
            stats = dict(getattr(record, "stats", {}))
            shown, self._shown = self._shown, stats
            if stats == shown:  # it comes before the jobs and after them
                return False
            record.msg, record.args = f"{self._table(stats)}\n\n{self._outlook()}\n", ()
        # The reasons name every rule.
        return event not in ("job_info", "shellcmd") and not str(record.msg).startswith("Reasons:")

    def _table(self, stats: Mapping[str, int]) -> str:
        counts: Counter[str] = Counter()
        for rule, count in stats.items():
            counts[self._rows.get(rule, rule)] += count
        width = max(map(len, counts), default=0)
        return "\n".join(f"{job:{width}}  {count:6}" for job, count in counts.items())
