"""Watching a study: one bar over all of its jobs, a row for each running one, failures at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from admmbench.watch.handler import Watch

current: Watch | None = None
"""What watches the study of this process. It is kept here, so that a Snakefile without a watcher imports no more."""
