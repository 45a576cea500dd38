"""The report of a study that fails: what could be had, and what is missing and why."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

# What Snakemake says after Ctrl-C and after SIGTERM.
_STOPPED = ("on user request", "Will exit after finishing currently running jobs")


class Remains(logging.Filter):
    """Writes the report of what exists; as a filter of Snakemake's messages it lets all pass.

    Parameters
    ----------
    arguments
        Of `admmbench report`.
    report
        Page to write.
    logger
        Snakemake's.
    """

    def __init__(self, arguments: Sequence[str], report: str, logger: logging.Logger) -> None:
        super().__init__()
        self._arguments, self._report, self._logger = arguments, report, logger
        self._open = True
        logger.addFilter(self)

    def filter(self, record: logging.LogRecord) -> bool:
        """Note that somebody stopped the study, who need not wait for a report; Snakemake says it here alone."""
        if any(words in str(record.msg) for words in _STOPPED):
            self._open = False
        return True

    def show(self) -> None:
        """Write the page once, and say where it is."""
        if not self._open:
            return
        self._open = False
        command = ["report", *self._arguments, "--keep-what-exists", "--output", self._report]
        made = subprocess.run(
            [sys.executable, "-m", "admmbench", *command], capture_output=True, text=True
        )
        self._logger.warning((made.stdout + made.stderr).rstrip())
        if made.returncode == 0:
            # Older than all that it is made of: the next call makes it again.
            os.utime(Path(self._report), (0, 0))
