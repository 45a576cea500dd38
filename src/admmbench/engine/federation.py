"""The federation that an algorithm sees: agents with their problems and noise, spread over threads."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import numpy as np
from threadpoolctl import threadpool_limits

from admmbench.engine.memory import keep_freed_memory
from admmbench.frames.kernel import COMPILED, Strategy
from admmbench.privacy import Ledger, Noise, Privacy, Sampler
from admmbench.problems.base import Array, BoundProblem, Parts

T = TypeVar("T")
ItemT = TypeVar("ItemT")
PartsT = TypeVar("PartsT", bound=Parts)

# A block's models should fit into a core's cache, and its work should outweigh the cost of handing it to a thread.
BLOCK_BYTES = 2**20
_BLOCK_WORK = 4e8
# Blocks whose sums are one array, as many for any number of threads.
_GROUPS = 16


@dataclass(frozen=True)
class Block(Generic[PartsT]):
    """Some agents that a thread serves together; arrays about them start with the axis of agents."""

    agents: slice
    """Positions of these agents among all agents."""
    parts: PartsT
    noise: Noise
    sampler: Sampler


@dataclass(frozen=True)
class Federation(Generic[PartsT]):
    """All agents, and the means to let them work at the same time.

    Results do not depend on the number of threads: an agent's work is done by one thread, with one BLAS thread, and
    whatever is summed over agents is summed in their order.
    """

    problem: BoundProblem[PartsT]
    privacy: Privacy
    blocks: list[Block[PartsT]]
    choices: list[np.random.Generator]
    """For each seed, the source of random numbers that all agents know; none if the method declares no draws."""
    pool: Workers = field(repr=False)
    strategy: Strategy = COMPILED
    """How local updates are computed."""

    @property
    def ledgers(self) -> list[Ledger]:
        """What each agent has released so far."""
        return [ledger for block in self.blocks for ledger in block.noise.ledgers]

    def each(self, step: Callable[[Block[PartsT]], T]) -> list[T]:
        """Let every block of agents do a step, in parallel, and collect what it returns."""
        return self.pool.map(step, self.blocks)

    def sum(self, add: Callable[[Block[PartsT], Array], None], like: Array) -> Array:
        """Sum over all agents.

        Parameters
        ----------
        add
            A step of a block of agents, which adds their part to an array.
        like
            Array of the sum's shape and type.
        """

        def group(blocks: Sequence[Block[PartsT]]) -> Array:
            partial = np.zeros_like(like)
            for block in blocks:
                add(block, partial)
            return partial

        size = -(-len(self.blocks) // _GROUPS)
        starts = range(0, len(self.blocks), size)
        total, *others = self.pool.map(group, [self.blocks[k : k + size] for k in starts])
        for other in others:
            total += other
        return total

    def draw(self, sample: Callable[[np.random.Generator], Array]) -> Array:
        """Draw, for every seed, random numbers that all agents know; shape (S, ...).

        Raises
        ------
        ValueError
            If the method does not declare that it draws: all seeds would count as one.
        """
        if not self.choices:
            raise ValueError("federation.draw needs a method with draws = True")
        return np.stack([sample(generator) for generator in self.choices])


def block_size(problem: BoundProblem[Any]) -> int:
    """Agents that are served together: several where they are small, as threads are slow to hand over small tasks."""
    model_bytes = problem.n_seeds * math.prod(problem.model_shape) * problem.dtype.itemsize
    most = min(BLOCK_BYTES / model_bytes, _BLOCK_WORK / max(problem.work_per_agent, 1))
    blocks = math.ceil(problem.n_agents / max(1, int(most)))
    return math.ceil(problem.n_agents / blocks)  # as equal as can be


class Workers:
    """Threads that share out a list among them.

    Each worker takes the next item as soon as it is free, as agents differ in size.
    """

    def __init__(self, threads: int) -> None:
        self._executor = ThreadPoolExecutor(threads) if threads > 1 else None
        self._threads = threads

    def map(self, function: Callable[[ItemT], T], items: Sequence[ItemT]) -> list[T]:
        """Apply a function to all items; results in their order."""
        if self._executor is None:
            return [function(item) for item in items]
        results: dict[int, T] = {}
        queue = iter(enumerate(items))  # next() on it is atomic
        futures = [
            self._executor.submit(_drain, function, queue, results) for _ in range(self._threads)
        ]
        for future in futures:
            future.result()
        return [results[position] for position in range(len(items))]

    def close(self) -> None:
        """End the threads."""
        if self._executor is not None:
            self._executor.shutdown(cancel_futures=True)


def _drain(
    function: Callable[[ItemT], T], queue: Iterable[tuple[int, ItemT]], results: dict[int, T]
) -> None:
    for position, item in queue:
        results[position] = function(item)


@contextlib.contextmanager
def workers(threads: int) -> Iterator[Workers]:
    """Threads for a run; meanwhile every BLAS call uses one thread.

    Raises
    ------
    ValueError
        If the number is below 1.
    """
    if threads < 1:
        raise ValueError(f"threads: expected at least 1, got {threads}")
    keep_freed_memory()
    pool = Workers(threads)
    with threadpool_limits(1, user_api="blas"):
        try:
            yield pool
        finally:
            pool.close()
