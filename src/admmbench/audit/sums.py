"""Secure sums: the adversary sees the sum of the agents' messages, and so do all levels of an audit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from admmbench.audit.tapes import Entry, Tape, Taped
from admmbench.frames.base import Array, Block


def seen(tapes: Sequence[Tape]) -> list[Tape]:
    """Tapes of what the adversary sees: the first has one release for each sum, the others have none.

    Any agent may own the record in which the worlds differ, so a sum costs what the agent was told that was told least.
    """
    summed = [
        replace(
            of[0],
            **{name: _sum(of, name) for name in ("value", "total", "released")},
            scale=np.sqrt(np.square(np.concatenate([each.scale for each in of])).sum(0))[None],
            entered=[min((told for each in of for told in each.entered), key=_cost)],
        )
        for of in zip(*tapes, strict=True)
    ]
    return [summed, *([] for _ in tapes[1:])]


def sent_by_one(tapes: Sequence[Tape], blocks: Sequence[Block[Any]]) -> list[Tape]:
    """Tapes to play: the first agent sends all of each sum, and the others send 0.

    Who sees the sum cannot tell. A method whose server looks at single messages, or whose agents compute at models that
    depend on their own, goes on in another way.
    """
    counts = [block.agents.stop - block.agents.start for block in blocks]
    return [
        [replace(each, released=_first(each.released, count, k == 0)) for each in tapes[0]]
        for k, count in enumerate(counts)
    ]


def _sum(of: Sequence[Taped], name: str) -> Array:
    """Sum over all agents, shape (1, S, ...)."""
    found: Array = np.concatenate([getattr(each, name) for each in of]).sum(axis=0, keepdims=True)
    return found


def _first(message: Array, count: int, whole: bool) -> Array:
    """A message of the first of so many agents, or of none of them."""
    found = np.zeros((count, *message.shape[1:]))
    found[0] = message[0] if whole else 0
    return found


def _cost(told: Sequence[Entry]) -> float:
    return sum(each.times * each.cost.shift[1] for each in told)
