"""Progress of long jobs: a bar on a terminal, plain lines in logs."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator

from rich.console import Console

# Seconds between two lines in a log, after the first ones.
INTERVAL = 30.0
_FIRST = 1.0


@contextlib.contextmanager
def shown(title: str, unit: str = "round") -> Iterator[Callable[[int, int], None]]:
    """Show the progress of a loop on standard error; one pass is a unit.

    Yields
    ------
    A function of the passes done and their total, to be called after each pass.
    """
    console = Console(stderr=True, soft_wrap=True, highlight=False, emoji=False)
    if not console.is_terminal:
        yield _line_printer(title, unit, console)
        return
    # The import is slow, and most jobs write to a log.
    from rich.progress import MofNCompleteColumn, Progress, TimeElapsedColumn

    columns = (*Progress.get_default_columns(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as bar:
        task = bar.add_task(title, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _line_printer(title: str, unit: str, console: Console) -> Callable[[int, int], None]:
    start = last = time.monotonic()
    first: tuple[float, int] | None = None

    def report(done: int, total: int) -> None:
        nonlocal last, first
        now = time.monotonic()
        if first is None:
            # Work that is done only once, such as compiling, or by an earlier attempt says nothing about the rest.
            first = now, done
            if done < total:
                return
        seconds_spent = now - start
        # After 1, 2, 4, ... seconds at first, so that a user who looks early sees something.
        if now - last >= min(INTERVAL, max(_FIRST, last - start)) or done == total:
            last = now
            seconds_left = (now - first[0]) / max(done - first[1], 1) * (total - done)
            console.print(
                f"{title}: {unit} {done} of {total}, {seconds_spent:.0f} s, about {seconds_left:.0f} s left",
                markup=False,
            )

    return report


def duration(seconds: float) -> str:
    """Return a time as text, in the largest unit of which it has at least two."""
    for unit, size in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.0f} s"
