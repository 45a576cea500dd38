"""What is shown of a study: a bar and rows on a terminal, plain lines elsewhere."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Protocol

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.markup import escape
from rich.progress_bar import ProgressBar
from rich.table import Table

from admmbench.forecast.plan import duration
from admmbench.progress import INTERVAL
from admmbench.watch.progress import Job, Progress, State

# Of running jobs; a terminal has not many more lines.
_MOST_ROWS = 12
_BAR_WIDTH = 30
# Looks at logs in a second.
_LOOKS = 2


class Screen(Protocol):
    """Shows progress from when it starts until it is stopped."""

    def start(self) -> None:
        """Begin."""

    def stop(self) -> None:
        """End; nothing is shown any more."""


def screen(progress: Progress, title: str, console: Console) -> Screen:
    """Choose by what the console is.

    Parameters
    ----------
    progress
        What is shown. It is only read, so code that changes it needs no lock.
    title
        Of the study.
    console
        Where.
    """
    return (Bar if console.is_terminal else Lines)(progress, title, console)


class Bar:
    """One bar, and a row for each running job."""

    def __init__(self, progress: Progress, title: str, console: Console) -> None:
        self._progress, self._title = progress, title
        self._live = Live(
            get_renderable=self._picture,
            console=console,
            refresh_per_second=_LOOKS,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )

    def start(self) -> None:
        """Begin."""
        self._live.start()

    def stop(self) -> None:
        """Leave the terminal as it was."""
        self._live.stop()

    def _picture(self) -> RenderableType:
        progress, outlook = self._progress, self._progress.outlook()
        head = Table.grid(padding=(0, 2))
        bar = ProgressBar(total=1.0, completed=outlook.part, width=_BAR_WIDTH)
        head.add_row(escape(self._title), bar, *_facts(progress, outlook.part, outlook.left))
        rows = Table.grid(padding=(0, 2))
        running = progress.of(State.RUNNING)
        for job in running[:_MOST_ROWS]:
            rows.add_row("", *(escape(each) for each in _row(progress, job)))
        if len(running) > _MOST_ROWS:
            rows.add_row("", f"and {len(running) - _MOST_ROWS} more")
        return Group(head, rows)


class Lines:
    """A line now and then."""

    def __init__(self, progress: Progress, title: str, console: Console) -> None:
        self._progress, self._title, self._console = progress, title, console
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._write, daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """Write no more."""
        self._stopped.set()
        self._thread.join()

    def _write(self) -> None:
        while not self._stopped.wait(INTERVAL):
            self._console.print(line(self._progress, self._title), markup=False, soft_wrap=True)


def line(progress: Progress, title: str) -> str:
    """All of it in one line."""
    outlook = progress.outlook()
    facts = ", ".join(_facts(progress, outlook.part, outlook.left))
    running = progress.of(State.RUNNING)
    names = "; ".join(" ".join(_row(progress, job)) for job in running[:2])
    more = f"; and {len(running) - 2} more" if len(running) > 2 else ""
    return f"{title}: {facts}" + (f"; running: {names}{more}" if running else "")


def _facts(progress: Progress, part: float, left: float) -> Iterator[str]:
    done, failed = (len(progress.of(state)) for state in (State.DONE, State.FAILED))
    yield f"{100 * part:.0f} %"
    yield f"{done} of {len(progress.jobs)} jobs"
    if queued := len(progress.of(State.QUEUED)):
        yield f"{queued} in the queue"
    if failed:
        yield f"{failed} failed"
    yield f"{duration(progress.elapsed)} so far"
    yield f"about {duration(left)} left"


def _row(progress: Progress, job: Job) -> list[str]:
    """Title, how far it is, how long it has been running, and when it left a checkpoint."""
    report, saved = job.reported(), job.saved()
    return [
        job.expected.title,
        report.done if report else "",
        duration(progress.running_for(job)),
        f"checkpoint {duration(time.time() - saved)} ago" if saved else "",
    ]
