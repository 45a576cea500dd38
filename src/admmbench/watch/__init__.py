"""Watching a study: one bar over all of its jobs, a row for each running one, failures at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from admmbench.watch.handler import Watch
    from admmbench.watch.remains import Remains

current: Watch | None = None
"""What watches the study of this process. It is kept here, so that a Snakefile without a watcher imports no more."""

remains: Remains | None = None
"""What writes the report of the study of this process if it fails."""


def report_what_exists() -> None:
    """Write the report of a study that failed, with what is missing and why; for ``onerror`` of a Snakefile."""
    if remains:
        remains.show()
