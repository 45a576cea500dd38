"""Snakemake's messages about its jobs, as progress."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from admmbench.forecast.plan import duration, known
from admmbench.study.config import Study
from admmbench.watch.expected import Expected, expected
from admmbench.watch.progress import Job, Progress, State
from admmbench.watch.scaled import smaller
from admmbench.watch.screen import Screen, screen

# Of the log of a job that failed.
_LAST_LINES = 10
# A study that takes longer is announced before it starts.
HOUR = 3600.0


class Watch(logging.Handler):
    """Stands in for Snakemake's own output while jobs run; its log file has everything.

    Parameters
    ----------
    title
        What the study is called.
    given
        Files of the configuration.
    console
        Where to show it.
    """

    def __init__(self, title: str, given: Sequence[Path], console: Console) -> None:
        super().__init__(logging.INFO)
        self._title, self._given, self._console = title, given, console
        self._study: Study | None = None
        self._workflow: Any = None
        self._logger = logging.getLogger()
        self._early: list[logging.LogRecord] = []
        self._usual: list[logging.Handler] = []
        self._screen: Screen | None = None
        self._events: dict[str, Callable[[Any], None]] = {
            "run_info": self._begin,
            "job_started": self._started,
            "job_finished": self._finished,
            "job_error": self._failed,
        }
        self.progress: Progress | None = None
        self.report: Path | None = None
        self.interrupted = False

    def attach(self, study: Study, report: str, workflow: Any, logger: logging.Logger) -> None:
        """Listen to Snakemake, in place of what writes to the terminal.

        Parameters
        ----------
        study
            The configuration.
        report
            Page that the study writes.
        workflow, logger
            Snakemake's.
        """
        if not workflow.is_main_process:
            return
        self._study, self.report, self._workflow = study, Path(report), workflow
        self._logger = logger
        self._usual = [each for each in logger.handlers if each.name == "DefaultStreamHandler"]
        _replace(logger, self._usual, self)

    def _step_aside(self, record: logging.LogRecord) -> None:
        """Leave a dry run to Snakemake, which knows that it is one when the jobs are known."""
        _replace(self._logger, [self], *self._usual)
        for handler in self._usual:
            for each in (*self._early, record):
                handler.handle(each)
        self._early.clear()
        self.report = None

    def emit(self, record: logging.LogRecord) -> None:
        """Take a message."""
        event = str(getattr(record, "event", None))
        if event in self._events:
            self._events[event](record)
        elif record.levelno >= logging.WARNING:
            if not self._said(record):
                self._print(record.getMessage())
        elif event == "None" and self.progress is None:
            self._early.append(record)

    def _said(self, record: Any) -> bool:
        """Whether a message repeats that a job failed, or comes of Ctrl-C."""
        return self.interrupted or getattr(record, "exception", "") == "RuleException"

    def close(self) -> None:
        """End the display."""
        if self._screen:
            self._screen.stop()
            self._screen = None
        super().close()

    def say_early(self) -> None:
        """Print what Snakemake said before any job, such as that there is nothing to be done."""
        for record in self._early:
            self._print(record.getMessage())

    def _begin(self, record: Any) -> None:
        """All jobs are known."""
        assert self._study is not None
        if self._workflow.dryrun:
            self._step_aside(record)
            return
        self._early.clear()
        known_jobs = expected(self._study, known(self._study))
        jobs = [_job(each, known_jobs) for each in self._workflow.dag.needrun_jobs()]
        here = self._workflow.local_exec
        cores = self._workflow.resource_settings.cores if here else None
        self.progress = Progress(jobs, cores)
        self._announce(cores or 1)
        self._screen = screen(self.progress, self._title, self._console)
        self._screen.start()

    def _announce(self, cores: int) -> None:
        """Say what a long study costs, and how to run a smaller one."""
        assert self._study is not None
        assert self.progress is not None
        seconds = self.progress.outlook().left
        if seconds < HOUR:
            return
        self._print(f"{self._title} takes about {duration(seconds)} on {_cores(cores)}.")
        for sentence in smaller(self._study, self._given):
            self._print(sentence)

    def _started(self, record: Any) -> None:
        if self.progress:
            self.progress.start(record.jobs)

    def _finished(self, record: Any) -> None:
        if self.progress:
            self.progress.end(record.job_id, State.DONE)

    def _failed(self, record: Any) -> None:
        if self.progress is None:
            return
        if self.interrupted:
            self.progress.end(record.jobid, State.WAITING)
            return
        job = self.progress.end(record.jobid, State.FAILED)
        if job is None:
            return
        self._print(f"✗ {job.expected.title} failed after {duration(job.took)}; {job.log} ends:")
        for line in job.last_lines(_LAST_LINES):
            self._print(f"    {line}")

    def _print(self, text: str) -> None:
        self._console.print(text, markup=False, soft_wrap=True)


def _replace(
    logger: logging.Logger, handlers: Sequence[logging.Handler], *others: logging.Handler
) -> None:
    """Give a logger other handlers, in a new list: a message may be on its way through the old one."""
    logger.handlers = [*(each for each in logger.handlers if each not in handlers), *others]


def _cores(number: int) -> str:
    return "1 core" if number == 1 else f"{number} cores"


def _job(job: Any, known_jobs: dict[str, Expected]) -> Job:
    """One of Snakemake's jobs."""
    log = str(job.log[0]) if job.log else ""
    words = [job.rule.name, *job.wildcards_dict.values()]
    return Job(
        job.jobid,
        known_jobs.get(log) or Expected(" ".join(words), job.rule.name),
        max(1, job.threads),
        Path(log) if log else None,
    )
