"""How a run is computed, which changes its numbers by rounding at most."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from admmbench.base.kernel import COMPILED
from admmbench.base.types import Strategy
from admmbench.datasets import ColumnSplit, Dataset, Split
from admmbench.engine.devices import CPU
from admmbench.engine.snapshot import Keeper
from admmbench.partition import Partition


class Splitter(Protocol):
    """Partition that was drawn before the run."""

    def split(
        self, scheme: Partition, dataset: Dataset, seeds: Sequence[int]
    ) -> Split | ColumnSplit:
        """Return the split of the rows or columns by a scheme, for some seeds."""


Progress = Callable[[int, int], None]
"""Takes the round, or what else is done, and how many there are."""


@dataclass(frozen=True)
class Context:
    """Means to compute a run.

    Attributes
    ----------
    threads
        Threads to spread the agents over; they do not change the result.
    device
        What computes, see `admmbench.engine.devices`.
    strategy
        How the processor computes local updates; a device has a strategy of its own.
    progress
        Called with the round and the number of rounds.
    checkpoint
        Keeps the run, and may have a state to continue from; without it the run starts with the first round.
    partition
        Partition of the data; without it the run draws the same.

    Raises
    ------
    ValueError
        If a device would not obey the strategy.
    """

    threads: int = 1
    device: str = CPU
    strategy: Strategy = COMPILED
    progress: Progress | None = None
    checkpoint: Keeper | None = None
    partition: Splitter | None = None

    def __post_init__(self) -> None:
        if self.device != CPU and self.strategy is not COMPILED:
            raise ValueError(
                f"device: {self.device} computes local updates in a way of its own; leave out the strategy, or use cpu"
            )


ONE_THREAD = Context()
"""One thread of the processor, without progress and checkpoints."""
