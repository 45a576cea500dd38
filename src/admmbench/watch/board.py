"""How far a study is: a bar and rows on a terminal, plain lines elsewhere."""

from __future__ import annotations

import os
import re
import threading
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn

from admmbench.forecast.cost import LIMITS
from admmbench.jobs.progress import INTERVAL, duration
from admmbench.watch.expected import Expected

# What `admmbench.jobs.progress` writes.
_LINE = re.compile(r": (?P<done>\w+ (\d+) of (\d+)), \d+ s, about \d+ s left")
_TAIL_BYTES = 4096
# Seconds that the clocks of a cluster's nodes may differ by.
_CLOCKS = 2.0
# Rows of running jobs; a terminal has not many more lines.
_MOST_ROWS = 12
# Seconds between two looks at the logs, and of work from which the time that is left follows.
_LOOK, _PERIOD = 0.5, 3600.0


@dataclass
class Job:
    """A job that runs, or waits in a scheduler's queue.

    Attributes
    ----------
    expected
        What is known of it.
    log
        Where it writes what it does; None if it is silent.
    row
        Shows it.
    since
        When it was started, or handed to a scheduler.
    """

    expected: Expected
    log: Path | None
    row: TaskID
    since: float = field(default_factory=time.time)

    def last_lines(self, count: int) -> list[str]:
        """End of its log."""
        if self.log is None:
            return []
        try:
            with self.log.open("rb") as file:
                file.seek(0, os.SEEK_END)
                file.seek(max(0, file.tell() - _TAIL_BYTES))
                return file.read().decode(errors="replace").splitlines()[-count:]
        except OSError:
            return []

    @property
    def begun(self) -> bool:
        """Whether it has written to its log since: what waits in a queue has not."""
        if self.log is None:
            return True
        try:
            return self.log.stat().st_mtime >= self.since - _CLOCKS
        except OSError:
            return False

    def look(self) -> tuple[float | None, str]:
        """Part of it that is done, from 0 to 1, None if it does not say; and in words."""
        lines = [found for line in self.last_lines(3) if (found := _LINE.search(line))]
        words = [found["done"] for found in lines[-1:]] + [duration(time.time() - self.since)]
        return (int(lines[-1][2]) / int(lines[-1][3]) if lines else None), ", ".join(words)


class Board:
    """Shows a study in a thread of its own, until it is stopped.

    The bar is weighted by a forecast of the work. The time that is left follows from how fast this work is done here.

    Parameters
    ----------
    title
        What the study is called.
    counts
        Numbers of jobs that are to be done, by rule.
    known
        What is known of jobs that compute, by the path of their log.
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
        self.work, self._worked = _work(counts, known), 0.0
        self._bars = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=30),
            TextColumn("{task.fields[facts]}", markup=False),
            console=console,
            auto_refresh=False,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
            speed_estimate_period=_PERIOD,
            disable=not console.is_terminal,
        )
        self._study = self._bars.add_task(title, total=self.work, facts="")
        # The display looks from a thread of its own, while Snakemake reports what ended.
        self._changing, self._stopped = threading.Lock(), threading.Event()
        self._thread = threading.Thread(target=self._show, daemon=True)

    def show(self) -> None:
        """Begin."""
        if self._console.is_terminal:
            self._look()
            self._bars.start()
        self._thread.start()

    def stop(self) -> None:
        """Show no more, and leave a terminal as it was."""
        self._stopped.set()
        self._thread.join()
        if self._console.is_terminal:
            self._bars.stop()

    def _show(self) -> None:
        terminal = self._console.is_terminal
        while not self._stopped.wait(_LOOK if terminal else INTERVAL):
            line = self._look()
            if terminal:
                self._bars.refresh()
            else:
                self._console.print(line, markup=False, soft_wrap=True)

    def _look(self) -> str:
        """Look at the logs; what they say in one line."""
        with self._changing:
            running = [job for job in self._jobs.values() if job.begun]
            worked, rows = self._worked, list[str]()
            for job in running:
                part, facts = job.look()
                worked += (part or 0.0) * job.expected.seconds
                total = None if part is None else 1.0  # None changes nothing
                self._bars.update(job.row, total=total, completed=part, facts=facts)
                self._bars.update(job.row, visible=len(rows) < _MOST_ROWS)
                rows.append(f"{job.expected.title}, {facts}")
            self._bars.update(self._study, total=self.work, completed=worked)
            facts = ", ".join(self._facts(len(running), len(self._jobs) - len(running)))
            self._bars.update(self._study, facts=facts)
        return f"{self._title}: {facts}" + (f": {'; '.join(rows[:2])}" if rows else "")

    def _facts(self, running: int, queued: int) -> Iterator[str]:
        (study,) = (task for task in self._bars.tasks if task.id == self._study)
        yield f"{study.percentage:.0f} %"
        yield f"{self.done} of {self.total} jobs"
        if self.failed:
            yield f"{len(self.failed)} failed"
        if queued:
            yield f"{queued} in the queue"
        yield f"{duration(self.elapsed)} so far"
        if study.time_remaining is not None:
            yield f"about {duration(study.time_remaining)} left"
        if running:
            yield f"{running} running"

    def start(self, number: int, name: str, rule: str, log: str) -> None:
        """A job starts, perhaps once more.

        Parameters
        ----------
        number
            Snakemake's.
        name
            What to call it if nothing is known of it.
        rule
            Its rule.
        log
            Path of its log; empty if there is none.
        """
        expected = self._known.get(log) or Expected(name, rule)
        with self._changing:
            if number in self.failed:
                self.failed.remove(number)
                self.work += expected.seconds
            row = self._bars.add_task(f"  {expected.title}", total=None, visible=False, facts="")
            self._jobs[number] = Job(expected, Path(log) if log else None, row)

    def finish(self, number: int) -> None:
        """A job succeeds."""
        with self._changing:
            self.done += 1
            if job := self._end(number):
                self._worked += job.expected.seconds

    def fail(self, number: int) -> Job | None:
        """A job fails, and may be tried again; None if it did not run."""
        with self._changing:
            if job := self._end(number):
                self.failed.add(number)
                self.work -= job.expected.seconds
            return job

    def _end(self, number: int) -> Job | None:
        job = self._jobs.pop(number, None)
        if job:
            self._bars.remove_task(job.row)
        return job

    @property
    def elapsed(self) -> float:
        """Seconds since the study started."""
        return time.monotonic() - self._began


def _work(counts: Mapping[str, int], known: Mapping[str, Expected]) -> float:
    """Core-seconds of all jobs; another Snakefile may have put a word before the names of the rules."""
    seconds = defaultdict[str, list[float]](list)
    for each in known.values():
        seconds[each.rule].append(each.seconds)
    return sum(
        count
        * next(
            (mean(found) for rule, found in seconds.items() if name.endswith(rule)), LIMITS.start
        )
        for name, count in counts.items()
    )
