"""How far a study is: a bar and rows on a terminal, plain lines elsewhere."""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, Progress, TextColumn
from rich.text import Text

from admmbench.forecast.plan import Expected, of_rule
from admmbench.jobs.progress import INTERVAL, duration

# What `admmbench.jobs.progress` writes.
_LINE = re.compile(r": (?P<done>\w+ (\d+) of (\d+)), \d+ s, about \d+ s left")
_TAIL_BYTES = 4096
# Rows of running jobs; a terminal has not many more lines.
_MOST_ROWS = 12
# Seconds between two looks at the logs, and of work from which the time that is left follows.
_LOOK, _PERIOD = 0.5, 3600.0


@dataclass
class Job:
    """A job runs, or waits in a scheduler's queue.

    Attributes
    ----------
    title
        What to call it.
    seconds
        Forecast, of all its cores together.
    log
        Where it writes what it does; None if it is silent.
    since
        When it was started, or handed to a scheduler.
    """

    title: str
    seconds: float
    log: Path | None
    since: float = field(default_factory=time.time)

    def last_lines(self, count: int) -> list[str]:
        """Read the end of its log."""
        if self.log is None:
            return []
        try:
            with self.log.open("rb") as file:
                file.seek(0, os.SEEK_END)
                file.seek(max(0, file.tell() - _TAIL_BYTES))
                return file.read().decode(errors="replace").splitlines()[-count:]
        except OSError:
            return []

    def look(self) -> tuple[float, str]:
        """Tell which part of it is done as far as it says, from 0 to 1; and say it in words."""
        lines = [found for line in self.last_lines(3) if (found := _LINE.search(line))]
        words = [found["done"] for found in lines[-1:]] + [duration(time.time() - self.since)]
        part = int(lines[-1][2]) / int(lines[-1][3]) if lines else 0.0
        return part, ", ".join([self.title, *words])


class Board:
    """The board shows a study in a thread of its own, until it is stopped.

    The bar is weighted by a forecast of the work. The time that is left follows from how fast this work is done here.

    Parameters
    ----------
    title
        What the study is called.
    counts
        Numbers of jobs that are to be done, by rule.
    known
        What is known of jobs that compute, by their rule; another Snakefile may have put a word before its name.
    console
        A terminal, which gets the bar and a row for each running job, or a log, which gets a line now and then.
    """

    def __init__(
        self, title: str, counts: Mapping[str, int], known: Mapping[str, Expected], console: Console
    ) -> None:
        self.total, self.done, self.failed = sum(counts.values()), 0, set[int]()
        self._title, self._known, self._console = title, known, console
        self._began = time.monotonic()
        self._jobs: dict[int, Job] = {}
        # Core-seconds of all jobs, of those that have ended.
        self.work = sum(count * self._expected(rule).seconds for rule, count in counts.items())
        self._worked = self._shown = 0.0
        self._bar = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=30),
            TextColumn("{task.fields[facts]}", markup=False),
            auto_refresh=False,
            speed_estimate_period=_PERIOD,
        )
        self._study = self._bar.add_task(title, total=self.work, facts="")
        self._display = Live(
            console=console,
            auto_refresh=False,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        # The display looks from a thread of its own, while Snakemake reports what ended.
        self._changing, self._stopped = threading.Lock(), threading.Event()
        self._thread = threading.Thread(target=self._show, daemon=True)

    def show(self) -> None:
        """Begin."""
        if self._console.is_terminal:
            self._display.start()
            self._look()
        self._thread.start()

    def stop(self) -> None:
        """Show no more, and leave a terminal as it was."""
        self._stopped.set()
        self._thread.join()
        self._display.stop()

    def _show(self) -> None:
        terminal = self._console.is_terminal
        while not self._stopped.wait(_LOOK if terminal else INTERVAL):
            line = self._look()
            if not terminal:
                self._console.print(line, markup=False, soft_wrap=True)

    def _look(self) -> str:
        """Look at the logs, and show on a terminal what they say; the same in one line."""
        with self._changing:
            looks = [(job.seconds, *job.look()) for job in self._jobs.values()]
            done = sum(part * seconds for seconds, part, _ in looks)
            # A job that fails, or begins again, takes back what it had done: the bar waits until it is there again.
            self._shown = max(self._shown, (self._worked + done) / max(self.work, 1e-9))
            completed = min(self._shown, 1) * self.work
            self._bar.update(self._study, total=self.work, completed=completed)
            facts = ", ".join(self._facts())
            self._bar.update(self._study, facts=facts)
        rows = [row for *_, row in looks]
        texts = (Text(f"  {row}", no_wrap=True, overflow="ellipsis") for row in rows[:_MOST_ROWS])
        self._display.update(Group(self._bar, *texts), refresh=self._display.is_started)
        return f"{self._title}: {facts}" + (f": {'; '.join(rows[:2])}" if rows else "")

    def _facts(self) -> Iterator[str]:
        (study,) = self._bar.tasks
        yield f"{study.percentage:.0f} %"
        yield f"{self.done} of {self.total} jobs"
        if self.failed:
            yield f"{len(self.failed)} failed"
        yield f"{duration(self.elapsed)} so far"
        if study.time_remaining is not None:
            yield f"about {duration(study.time_remaining)} left"
        if self._jobs:
            yield f"{len(self._jobs)} started"

    def start(self, number: int, rule: str, wildcards: Mapping[str, str], log: str) -> None:
        """A job starts, perhaps once more.

        Parameters
        ----------
        number
            Snakemake's.
        rule
            Its rule.
        wildcards
            What it is among the jobs of this rule, such as a budget.
        log
            Path of its log; empty if there is none.
        """
        title, seconds = self._expected(rule)
        with self._changing:
            if number in self.failed:
                self.failed.remove(number)
                self.work += seconds
            title = ", ".join([title, *wildcards.values()])
            self._jobs[number] = Job(title, seconds, Path(log) if log else None)

    def finish(self, number: int) -> None:
        """A job succeeds."""
        with self._changing:
            self.done += 1
            if job := self._jobs.pop(number, None):
                self._worked += job.seconds

    def fail(self, number: int) -> Job | None:
        """A job fails, and may be tried again; None if it did not run."""
        with self._changing:
            if job := self._jobs.pop(number, None):
                self.failed.add(number)
                self.work -= job.seconds
            return job

    def _expected(self, rule: str) -> Expected:
        return of_rule(self._known, rule) or Expected(rule)

    @property
    def elapsed(self) -> float:
        """Return the seconds since the study started."""
        return time.monotonic() - self._began
