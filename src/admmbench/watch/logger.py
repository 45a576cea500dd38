"""Snakemake's messages about its jobs, as progress: its logger ``admmbench``."""

from __future__ import annotations

import contextlib
import json
import logging
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.common import LogEvent

from admmbench.jobs import limits
from admmbench.jobs.progress import duration

if TYPE_CHECKING:
    from admmbench.study.config import Study
    from admmbench.watch.board import Board
    from admmbench.watch.failure_report import Remains
    from admmbench.watch.reasons import Reasons

# Of the log of a job that failed.
_LAST_LINES = 20
# A study that takes longer says so before it starts.
HOUR = 3600.0


@dataclass(frozen=True)
class Watched:
    """Study that is watched; the Snakefile puts it into a message, as its attribute ``watched``.

    Attributes
    ----------
    study
        The configuration.
    overlays
        Names of the files that change it.
    report
        Page that the study writes.
    cores
        How many there are, if they are here.
    remains
        Handler that knows whether somebody stopped the study.
    replaced
        Experiments whose results here are by another definition, as `replaced_by` tells before the first job.
    """

    study: Study
    overlays: Sequence[str]
    report: Path
    cores: int | None
    remains: Remains
    replaced: Sequence[str]

    @property
    def title(self) -> str:
        """Say what the study is called."""
        return " + ".join(Path(name).stem for name in self.overlays) or "The study"


class LogHandler(LogHandlerBase):
    """Logger that shows a study as one bar, and failures at once; of other workflows, what Snakemake shows.

    Snakemake loads it for every workflow, so that it imports little before there is a study.
    """

    writes_to_stream = True
    writes_to_file = False
    has_filter = False
    has_formatter = False
    needs_rulegraph = False

    def __post_init__(self) -> None:
        """Show nothing yet."""
        from rich.console import Console

        self.console = Console(
            file=sys.stdout if self.common_settings.stdout else sys.stderr,
            highlight=False,
            no_color=self.common_settings.nocolor,
        )
        self._each_job = self.common_settings.dryrun and self.common_settings.printshellcmds
        self._watched: Watched | None = None
        self._board: Board | None = None
        self._reasons: Reasons | None = None
        self._cluster = self._told = self._tuned = False
        self._events: dict[str, Callable[[Any], None]] = {
            LogEvent.RESOURCES_INFO: self._resources,
            LogEvent.RUN_INFO: self._begin,
            LogEvent.JOB_INFO: self._started,
            LogEvent.JOB_FINISHED: self._finished,
            LogEvent.JOB_ERROR: self._failed,
            LogEvent.ERROR: self._error,
        }

    def emit(self, record: Any) -> None:
        """Take a message."""
        try:
            self._watched = getattr(record, "watched", self._watched)
            if self._watched is None or self._each_job:
                self._say(record)
            elif not hasattr(record, "watched"):
                event = getattr(record, "event", "")
                self._events.get(event, self._other)(record)
        except Exception:
            self.handleError(record)

    def close(self) -> None:
        """End the display, and say how the study ended and how to continue; or why jobs are to be done."""
        super().close()
        if board := self._board:
            self._board = None
            board.stop()
            self._print(self._conclusion(board))
        if reasons := self._reasons:
            self._reasons = None
            for line in reasons.lines():
                self._print(line)
            self._print("\nThis was a dry-run: nothing was made. -p shows each job and why.")

    def _say(self, record: logging.LogRecord) -> None:
        """Show a message as Snakemake does."""
        if (text := self.format(record)) not in ("", "None"):
            self._print(text, {logging.WARNING: "yellow", logging.ERROR: "red"}.get(record.levelno))

    def _print(self, text: str, style: str | None = None) -> None:
        self.console.print(text, style=style, markup=False, soft_wrap=True)

    def _other(self, record: logging.LogRecord) -> None:
        """Show what may be wrong, and before the jobs what Snakemake says that is no event; its log file has all."""
        early = not (hasattr(record, "event") or self._board or self._told)
        if early or record.levelno >= logging.WARNING:
            self._say(record)

    def _error(self, record: Any) -> None:
        """Show what is wrong, unless it repeats that a job failed or comes of Ctrl-C."""
        if record.exception == "LockException":
            self._print(
                f"{Path.cwd()} is locked: another Snakemake works in it, or one was killed. If none does, "
                "`admmbench study --unlock` removes the lock; then call the same command again.",
                "red",
            )
        elif text := limits.explain(record.getMessage()):
            self._print(text, "red")
        elif not (self._stopped or (self._board and record.exception == "RuleException")):
            self._say(record)

    @property
    def _stopped(self) -> bool:
        return self._watched is not None and self._watched.remains.stopped

    def _resources(self, record: Any) -> None:
        self._cluster = self._cluster or hasattr(record, "nodes")

    def _begin(self, record: Any) -> None:
        """All jobs are known."""
        assert self._watched is not None
        if self._told:
            return  # a dry run gives the numbers before the jobs and after them
        from admmbench.forecast.plan import expected
        from admmbench.forecast.timing import Speeds
        from admmbench.study.outdated import outdated
        from admmbench.watch.board import Board
        from admmbench.watch.reasons import Reasons

        study = self._watched.study
        for name, experiment in study.experiments.items():
            for sentence in outdated(name, experiment):
                self._print(f"Note: {name}: {sentence}")
        counts = {rule: count for rule, count in record.stats.items() if rule != "total"}
        board = Board(self._watched.title, counts, expected(study, Speeds(study)), self.console)
        cores = 1 if self._cluster else self._watched.cores or 1
        seconds, where = board.work / cores, "1 core" if cores == 1 else f"{cores} cores"
        takes = f"{self._watched.title} takes about {duration(seconds)} on {where}."
        if self.common_settings.dryrun:
            self._told, self._reasons = True, Reasons(study)
            self._print(f"{_table(record.stats)}\n\n{takes}\n")
            return
        if any(rule.endswith("report") for rule in counts):
            self._print(f"The report will be {self._watched.report}.")
        for name in self._watched.replaced:
            self._print(
                f"Note: {Path(study.config.results, name)} has results of {name} by another definition, which are made "
                "again; another folder in `results` of the configuration keeps both."
            )
        self._tuned = any(rule.startswith("choose_") for rule in counts) and "all" not in counts
        if seconds > HOUR:
            self._print(takes)
        self._board = board
        board.show()

    def _started(self, record: Any) -> None:
        if self._reasons and record.output:
            self._reasons.add(_kind(record.rule_name), record.output, record.reason)
        if self._board:
            log = next(iter(record.log), "")
            self._board.start(record.jobid, record.rule_name, record.wildcards, log)

    def _finished(self, record: Any) -> None:
        if self._board:
            self._board.finish(record.job_id)

    def _failed(self, record: Any) -> None:
        if self._board and not self._stopped and (job := self._board.fail(record.jobid)):
            took = duration(time.time() - job.since)
            self._print(f"✗ {job.title} failed after {took}; {job.log} ends:")
            told = [record.rule_msg] if record.rule_msg else []  # of a scheduler
            for line in [*job.last_lines(_LAST_LINES), *told]:
                self._print(f"    {line}")

    def _conclusion(self, board: Board) -> str:
        assert self._watched is not None
        report = self._watched.report
        text = f"{board.done} of {board.total} jobs in {duration(board.elapsed)}"
        if self._stopped:
            return f"{text}; stopped. What was running left checkpoints: the same command goes on from there."
        if failed := len(board.failed):
            again = "The same command tries them again, and runs what waits for them."
            return f"{text}; {failed} failed. {again}"
        if board.done < board.total:
            return f"{text}; stopped. The same command goes on from there."
        if self._tuned:
            chosen = (f"config/tuned/{name}.yaml" for name in self._watched.study.experiments)
            files = ", ".join(path for path in chosen if Path(path).exists())
            return f"{text}; the settings that were found are in {files}, where runs take them from"
        return f"{text}; the report is {report}" if report.exists() else text


def replaced_by(study: Study) -> list[str]:
    """Find the experiments whose results here are by another definition, such as of another overlay.

    Seeds that undecided rows ordered are added to results, and make no other definition. Messages come to the logger
    in a thread of its own, when the first jobs may have removed these files already.
    """
    from admmbench.study.config import MANIFEST

    found = []
    for name in study.experiments:
        folder = Path(study.config.results, name)
        with contextlib.suppress(
            OSError, ValueError, TypeError, LookupError
        ):  # not there, or damaged
            former = json.loads((folder / MANIFEST).read_text("utf-8"))["experiment"]
            ours = json.loads(study.definition(name, MANIFEST))["experiment"]
            if (folder / "results.nc").exists() and {**former, "ordered": ours["ordered"]} != ours:
                found.append(name)
    return found


def _table(counts: Mapping[str, int]) -> str:
    """Lay out the numbers of jobs; methods and experiments have rules of their own, which share a row here."""
    rows: Counter[str] = Counter()
    for rule, count in counts.items():
        rows[_kind(rule)] += count
    return "\n".join(f"{rule:10}  {count:6}" for rule, count in rows.items())


def _kind(rule: str) -> str:
    """Name what a rule does, without the method or experiment that it does it for."""
    return re.sub(r"(^|_)(run|time|audit|tune|choose|figures)_.*", r"\1\2", rule)
