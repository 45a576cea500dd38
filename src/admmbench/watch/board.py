"""How far a study is: a bar and rows on a terminal, plain lines elsewhere.

The plugin `snakemake-logger-plugin-rich` shows a bar for each rule and counts its jobs alike. It lacks what a study
needs: one bar that is weighted by forecasts, the time that is left, a row for each running job with what its log says,
and lines where there is no terminal. Both draw with the bars of rich.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn

from admmbench.forecast.plan import Expected, find_rule
from admmbench.jobs.progress import INTERVAL, duration

# What `admmbench.jobs.progress` writes.
_LINE = re.compile(r": (?P<done>\w+ (\d+) of (\d+)), \d+ s, about \d+ s left")
# Seconds between two looks at the logs, and of work from which the time that is left follows.
_LOOK, _PERIOD = 0.5, 3600.0


@dataclass
class Job:
    """Job that runs, or waits in a scheduler's queue.

    Attributes
    ----------
    title
        What to call it.
    seconds
        Forecast, of all its cores together.
    log
        Where it writes what it does; None if it is silent.
    row
        Its row on the board.
    since
        When it was started, or handed to a scheduler.
    """

    title: str
    seconds: float
    log: Path | None
    row: TaskID
    since: float = field(default_factory=time.time)

    def last_lines(self, count: int) -> list[str]:
        """Read the end of its log."""
        try:
            text = self.log.read_text("utf-8", "replace") if self.log else ""
        except OSError:
            return []
        return text.splitlines()[-count:]

    def look(self) -> tuple[float, str]:
        """Return which part of it is done as far as it says, from 0 to 1, and the same in words."""
        lines = [found for line in self.last_lines(3) if (found := _LINE.search(line))]
        words = [found["done"] for found in lines[-1:]] + [duration(time.time() - self.since)]
        part = int(lines[-1][2]) / int(lines[-1][3]) if lines else 0.0
        return part, ", ".join(words)


class Board:
    """Display of a study in a thread of its own, until it is stopped.

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
        self._jobs: dict[int, Job] = {}
        # Core-seconds of all jobs, of those that have ended.
        self.work = sum(count * self._expected(rule).seconds for rule, count in counts.items())
        self._worked = self._shown = 0.0
        self._bar = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=30),
            TextColumn("{task.fields[facts]}", markup=False),
            console=console,
            auto_refresh=False,
            speed_estimate_period=_PERIOD,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        number = self._bar.add_task(title, total=self.work, facts="")
        self._study = self._bar.tasks[number]
        # The display looks from a thread of its own, while Snakemake reports what ended.
        self._changing, self._stopped = threading.Lock(), threading.Event()
        self._thread = threading.Thread(target=self._show, daemon=True)

    def show(self) -> None:
        """Begin."""
        if self._console.is_terminal:
            self._look()
            self._bar.start()
        self._thread.start()

    def stop(self) -> None:
        """Show no more, and leave a terminal as it was."""
        self._stopped.set()
        self._thread.join()
        if self._console.is_terminal:  # elsewhere it would write an empty line
            self._bar.stop()

    def _show(self) -> None:
        terminal = self._console.is_terminal
        while not self._stopped.wait(_LOOK if terminal else INTERVAL):
            line = self._look()
            if terminal:
                self._bar.refresh()
            else:
                self._console.print(line, markup=False, soft_wrap=True)

    def _look(self) -> str:
        """Bring the bar and the rows up to what the logs say, and return the same in one line."""
        with self._changing:
            done, rows = self._worked, []
            for job in self._jobs.values():
                part, words = job.look()
                done += part * job.seconds
                self._bar.update(job.row, completed=part, facts=words)
                rows.append(f"{job.title}, {words}")
            # A job that fails, or begins again, takes back what it had done: the bar waits until it is there again.
            self._shown = max(self._shown, done / max(self.work, 1e-9))
            completed = min(self._shown, 1) * self.work
            self._bar.update(self._study.id, total=self.work, completed=completed)
            facts = ", ".join(self._facts())
            self._bar.update(self._study.id, facts=facts)
        return f"{self._title}: {facts}" + (f": {'; '.join(rows[:2])}" if rows else "")

    def _facts(self) -> Iterator[str]:
        yield f"{self._study.percentage:.0f} %"
        yield f"{self.done} of {self.total} jobs"
        if self.failed:
            yield f"{len(self.failed)} failed"
        yield f"{duration(self.elapsed)} so far"
        if self._study.time_remaining is not None:
            yield f"about {duration(self._study.time_remaining)} left"
        if self._jobs:
            yield f"{len(self._jobs)} started"

    def start(self, number: int, rule: str, wildcards: Mapping[str, str], log: str) -> None:
        """Add a job that starts, perhaps once more, with Snakemake's number, and the path of its log or nothing."""
        name, seconds = self._expected(rule)
        title = ", ".join([name, *wildcards.values()])
        with self._changing:
            if number in self.failed:
                self.failed.remove(number)
                self.work += seconds
            row = self._bar.add_task(f"  {title}", total=1, facts="")
            self._jobs[number] = Job(title, seconds, Path(log) if log else None, row)

    def finish(self, number: int) -> None:
        """Count a job that succeeds."""
        with self._changing:
            self.done += 1
            if job := self._end(number):
                self._worked += job.seconds

    def fail(self, number: int) -> Job | None:
        """Return a job that fails, and may be tried again; None if it did not run."""
        with self._changing:
            if job := self._end(number):
                self.failed.add(number)
                self.work -= job.seconds
            return job

    def _end(self, number: int) -> Job | None:
        if job := self._jobs.pop(number, None):
            self._bar.remove_task(job.row)
        return job

    def _expected(self, rule: str) -> Expected:
        return find_rule(self._known, rule) or Expected(rule)

    @property
    def elapsed(self) -> float:
        """Return the seconds since the study started."""
        return self._study.elapsed or 0.0
