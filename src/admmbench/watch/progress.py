"""How far a study is, and how long it will take: forecasts, corrected by what finished jobs took."""

from __future__ import annotations

import contextlib
import os
import re
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import NamedTuple

from admmbench.watch.expected import START, Expected

# What `admmbench.progress` writes: a unit, how many are done, of how many, and the seconds that are left.
_LINE = re.compile(r": (\w+) (\d+) of (\d+), \d+ s, about (\d+) s left")
_TAIL_BYTES = 4096
# Seconds that the clocks of a cluster's nodes may differ by.
_CLOCKS = 2.0
# A running job that should have finished takes at least this part of its forecast from now on.
_LEAST_LEFT = 0.1


class State(Enum):
    """Of a job."""

    WAITING = "waiting"
    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


@dataclass
class Job:
    """One of the jobs that a study still has to do.

    Attributes
    ----------
    number
        Snakemake's.
    expected
        What is known of it before it runs.
    threads
        Cores that it holds.
    log
        Where it writes what it does; None if it is silent.
    state
        How it is.
    since
        When it started, by the clock of `Progress`.
    submitted
        When a scheduler got it, by the system's clock.
    took
        Seconds, once it has ended.
    """

    number: int
    expected: Expected
    threads: int = 1
    log: Path | None = None
    state: State = State.WAITING
    since: float = 0.0
    submitted: float = 0.0
    took: float = 0.0

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

    def begun(self) -> bool:
        """Whether it writes to its log since it was submitted."""
        with contextlib.suppress(OSError):
            return self.log is None or self.log.stat().st_mtime >= self.submitted - _CLOCKS
        return False

    def saved(self) -> float | None:
        """When it left its state, in seconds of the system's clock; None if it has not."""
        path = self.expected.checkpoint
        with contextlib.suppress(OSError):
            return path.stat().st_mtime if path else None
        return None

    def reported(self) -> Report | None:
        """What its log says last; None if that is nothing about progress."""
        for line in reversed(self.last_lines(3)):
            if found := _LINE.search(line):
                assert self.log is not None
                left = float(found[4])
                with contextlib.suppress(OSError):  # another attempt may have removed it
                    left -= max(time.time() - self.log.stat().st_mtime, 0.0)
                return Report(f"{found[1]} {found[2]} of {found[3]}", max(left, 0.0))
        return None


class Report(NamedTuple):
    """What a job says of itself.

    Attributes
    ----------
    done
        Such as ``round 40 of 200``.
    left
        Seconds.
    """

    done: str
    left: float


class Outlook(NamedTuple):
    """How a study is doing.

    Attributes
    ----------
    part
        How much of the work is done, from 0 to 1.
    left
        Seconds until it ends: those of its longest job, or those of all jobs on the cores that there are.
    """

    part: float
    left: float


class Progress:
    """Of a study.

    Parameters
    ----------
    jobs
        All that are to be done when it starts.
    cores
        How many there are; None if a scheduler gives them.
    clock
        Seconds since whenever.
    """

    def __init__(
        self,
        jobs: Iterable[Job],
        cores: int | None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.jobs = {job.number: job for job in jobs}
        self._cores, self._clock, self._began = cores, clock, clock()
        self._all, self._kinds = _Record(), defaultdict[str, _Record](_Record)
        # The display asks in a thread of its own, while Snakemake reports what ended.
        self._changing = threading.Lock()

    def start(self, numbers: Iterable[int]) -> None:
        """Jobs start, perhaps once more; those for a scheduler wait in its queue until their logs say otherwise."""
        for number in numbers:
            if job := self.jobs.get(number):
                with self._changing:
                    job.submitted = time.time()
                    self._begin(job)
                    if self._cores is None:
                        job.state = State.QUEUED

    def _begin(self, job: Job) -> None:
        job.state, job.since = State.RUNNING, self._clock()

    def end(self, number: int, state: State) -> Job | None:
        """A job ends; None if it is none of these."""
        job = self.jobs.get(number)
        if job is None:
            return None
        with self._changing:
            if job.state is State.RUNNING:
                job.took = self.running_for(job)
                if state is State.DONE:
                    self._kinds[job.expected.kind].add(job)
                    if job.expected.seconds > START:
                        self._all.add(job)
            job.state = state
        return job

    def of(self, state: State) -> list[Job]:
        """Jobs that are in a state, the longest running first."""
        found = [job for job in self.jobs.values() if job.state is state]
        return sorted(found, key=lambda job: job.since)

    def running_for(self, job: Job) -> float:
        """Seconds since a job started."""
        return self._clock() - job.since

    @property
    def elapsed(self) -> float:
        """Seconds since the study started."""
        return self._clock() - self._began

    def outlook(self) -> Outlook:
        """Look at the queue, and ahead."""
        for job in self.of(State.QUEUED):
            begun = job.begun()  # reads a file
            with self._changing:
                if begun and job.state is State.QUEUED:
                    self._begin(job)
        running = self.of(State.RUNNING)
        waiting = [*self.of(State.WAITING), *self.of(State.QUEUED)]
        done = sum(job.threads * job.took for job in self.jobs.values())
        done += sum(job.threads * self.running_for(job) for job in running)
        left = [self._left(job) for job in running]
        left += [self._corrected(job) / job.threads for job in waiting]
        work = sum(job.threads * each for job, each in zip((*running, *waiting), left, strict=True))
        cores = self._cores or max(1, sum(job.threads for job in running))
        return Outlook(done / (done + work) if work else 1.0, max((*left, work / cores)))

    def _left(self, job: Job) -> float:
        """Seconds that a running job still needs."""
        if report := job.reported():
            return report.left
        whole = self._corrected(job) / job.threads
        return max(whole - self.running_for(job), _LEAST_LEFT * whole)

    def _corrected(self, job: Job) -> float:
        """Core-seconds of a whole job: its forecast, times what others took by theirs, of its kind and at all.

        Jobs that hardly compute say nothing of those that do.
        """
        prior = self._all.ratio(1.0)
        return job.expected.seconds * self._kinds[job.expected.kind].ratio(prior)


@dataclass
class _Record:
    """What finished jobs took, and what was forecast, in core-seconds."""

    jobs: int = 0
    took: float = 0.0
    forecast: float = 0.0

    def add(self, job: Job) -> None:
        self.jobs += 1
        self.took += job.threads * job.took
        self.forecast += job.expected.seconds

    def ratio(self, prior: float) -> float:
        """Of the two; ``prior`` is that of one more job like these."""
        if not self.jobs:
            return prior
        return (self.jobs * self.took / self.forecast + prior) / (self.jobs + 1)
