"""Progress of a study: a bar and rows on a terminal, plain lines elsewhere.

The plugin `snakemake-logger-plugin-rich` shows a bar for each rule, in which all jobs count alike. A study needs one
bar that is weighted by forecasts, the time that is left, a row for each running job with the progress in its log, and
lines where there is no terminal. Both draw with the bars of rich.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, Task, TextColumn

from admmbench.forecast.plan import Expected
from admmbench.jobs.progress import INTERVAL, duration

# Lines that `admmbench.jobs.progress` writes.
_LINE = re.compile(r": (?P<done>\w+ (\d+) of (\d+)), \d+ s, about \d+ s left")
# Seconds between two readings of the logs; seconds of work from which the time that is left is estimated.
_REFRESH_SECONDS, _SPEED_SECONDS = 0.5, 3600.0


def last_lines(job: Task, count: int) -> list[str]:
    """Return the last lines of a job's log; none if it has no log."""
    log: str = job.fields["log"]
    try:
        text = Path(log).read_text("utf-8", "replace") if log else ""
    except OSError:
        return []
    return text.splitlines()[-count:]


def job_progress(job: Task) -> tuple[float, str]:
    """Return the part of a job that is done by its log, from 0 to 1, and a text that says the same."""
    lines = [match for line in last_lines(job, 3) if (match := _LINE.search(line))]
    words = [match["done"] for match in lines[-1:]] + [duration(job.elapsed or 0.0)]
    part = int(lines[-1][2]) / int(lines[-1][3]) if lines else 0.0
    return part, ", ".join(words)


class Board:
    """Display of a study in a thread of its own, until it is stopped.

    The bar is weighted by a forecast of the work. The time that is left follows from the speed of the work so far.

    Parameters
    ----------
    title
        Title of the study.
    counts
        Numbers of jobs that are to be done, by rule.
    forecasts
        Forecasts of jobs that compute, by their rule; another Snakefile may have put a word before the rule's name.
    console
        A terminal, which gets the bar and a row for each running job, or a log, which gets a line now and then.
    """

    def __init__(
        self,
        title: str,
        counts: Mapping[str, int],
        forecasts: Mapping[str, Expected],
        console: Console,
    ) -> None:
        self.total, self.done, self.failed = sum(counts.values()), 0, set[int]()
        self._title, self._forecasts, self._console = title, forecasts, console
        # A job that runs, or waits in a scheduler's queue, is a row of the bar, by Snakemake's number.
        self._jobs: dict[int, Task] = {}
        # Core-seconds of all jobs; core-seconds of the jobs that have ended; largest part of the work that was shown.
        self.work = sum(count * self._forecast(rule).seconds for rule, count in counts.items())
        self._worked = self._shown = 0.0
        self._bar = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=30),
            TextColumn("{task.fields[facts]}", markup=False),
            console=console,
            auto_refresh=False,
            speed_estimate_period=_SPEED_SECONDS,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        number = self._bar.add_task(title, total=self.work, facts="")
        self._study = self._bar.tasks[number]
        # The display reads the jobs in a thread of its own, while Snakemake's messages change them.
        self._changing, self._stopped = threading.Lock(), threading.Event()
        self._thread = threading.Thread(target=self._show, daemon=True)

    def show(self) -> None:
        """Start the display."""
        if self._console.is_terminal:
            self._refresh()
            self._bar.start()
        self._thread.start()

    def stop(self) -> None:
        """End the display, and leave a terminal as it was."""
        self._stopped.set()
        self._thread.join()
        if self._console.is_terminal:  # elsewhere it would write an empty line
            self._bar.stop()

    def _show(self) -> None:
        terminal = self._console.is_terminal
        while not self._stopped.wait(_REFRESH_SECONDS if terminal else INTERVAL):
            line = self._refresh()
            if terminal:
                self._bar.refresh()
            else:
                self._console.print(line, markup=False, soft_wrap=True)

    def _refresh(self) -> str:
        """Update the bar and the rows from the logs, and return one line that says the same."""
        with self._changing:
            done, rows = self._worked, []
            for job in self._jobs.values():
                part, words = job_progress(job)
                done += part * job.fields["seconds"]
                self._bar.update(job.id, completed=part, facts=words)
                rows.append(f"{job.description.strip()}, {words}")
            # The work of a job that fails or begins again is lost: the bar stands still until as much is done again.
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
        """Add a job that starts, perhaps not for the first time; an empty path if it has no log."""
        name, seconds = self._forecast(rule)
        title = ", ".join([name, *wildcards.values()])
        with self._changing:
            if number in self.failed:
                self.failed.remove(number)
                self.work += seconds
            self._bar.add_task(f"  {title}", total=1, facts="", seconds=seconds, log=log)
            self._jobs[number] = self._bar.tasks[-1]

    def finish(self, number: int) -> None:
        """Count a job that succeeds."""
        with self._changing:
            self.done += 1
            if job := self._end(number):
                self._worked += job.fields["seconds"]

    def fail(self, number: int) -> Task | None:
        """Count a job that fails, and may be tried again, and return it; None if it did not run."""
        with self._changing:
            if job := self._end(number):
                self.failed.add(number)
                self.work -= job.fields["seconds"]
            return job

    def _end(self, number: int) -> Task | None:
        if job := self._jobs.pop(number, None):
            self._bar.remove_task(job.id)
        return job

    def _forecast(self, rule: str) -> Expected:
        known = (job for name, job in self._forecasts.items() if rule.endswith(name))
        return next(known, Expected(rule))

    @property
    def elapsed(self) -> float:
        """Return the seconds since the study started."""
        return self._study.elapsed or 0.0
