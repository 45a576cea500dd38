"""Watching a study: one bar over all of its jobs, a row for each running one, failures at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from admmbench.watch.handler import Watch

current: Watch | None = None
"""Who watches the study that this process runs; here, so that a Snakefile that nobody watches imports nothing more."""
