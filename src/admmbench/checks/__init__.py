"""Checks that whoever adds a method, a loss or a data set can run on it; the suite's own tests run them too."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["Check"]


@dataclass(frozen=True)
class Check:
    """One promise.

    Attributes
    ----------
    name
        What is promised, in words.
    run
        Raises an AssertionError that says in a sentence what does not hold.
    """

    name: str
    run: Callable[[], None]
