"""Report of a study that fails: the results there are, and what is missing and why."""

from __future__ import annotations

import logging
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from snakemake_interface_logger_plugins.common import LogEvent

from admmbench.jobs import interrupts
from admmbench.study.config import MANIFEST
from admmbench.watch.damage import read_all_again


class Remains(logging.Handler):
    """Handler that writes the report of what exists when Snakemake ends its log, if a job has failed.

    There is no report of a study that was stopped, or that began no experiment but single runs or a search.

    Parameters
    ----------
    arguments
        Arguments of `admmbench report`.
    report
        Page to write.
    """

    def __init__(self, arguments: Sequence[str], report: str) -> None:
        super().__init__()
        self._arguments, self._report = arguments, report
        self._failed: set[int] = set()
        self._heard: list[int] | None = None

    @property
    def stopped(self) -> bool:
        """Return whether a signal stopped the study, which no message of Snakemake says."""
        return bool(self._heard)

    def emit(self, record: Any) -> None:
        """Note a job that fails, and forget a failed job that succeeds at last."""
        match getattr(record, "event", None):
            case LogEvent.JOB_STARTED if self._heard is None:
                self._heard = interrupts.overhear()  # Snakemake handles signals by now
            case LogEvent.JOB_ERROR:
                self._failed.add(record.jobid)
            case LogEvent.JOB_FINISHED:
                self._failed.discard(record.job_id)

    def close(self) -> None:
        """Write the page once, and print where it is."""
        super().close()
        begun = any(Path(word, MANIFEST).exists() for word in self._arguments)
        if not self._failed or self.stopped or not begun:
            return
        self._failed.clear()
        read_all_again()
        command = ["report", *self._arguments, "--keep-what-exists", "--output", self._report]
        process = subprocess.run(
            [sys.executable, "-m", "admmbench", *command], capture_output=True, text=True
        )
        print((process.stdout + process.stderr).rstrip(), file=sys.stderr)
