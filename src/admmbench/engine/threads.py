"""Threads of a run, and how many agents each of them serves together."""

from __future__ import annotations

import contextlib
import ctypes
import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

from threadpoolctl import threadpool_limits

from admmbench.problems.base import BoundProblem

# A block's models should not be far from a core, and its work should outweigh the cost of handing it to a thread.
BLOCK_BYTES = 6 * 2**20
_BLOCK_WORK = 4e8
# Part of all work that a block may have all the same: threads get even parts of some dozens of blocks.
_BLOCK_PART = 1 / 32
# Parameters of mallopt, from glibc's malloc.h, and the largest threshold that it takes on 64 bits.
_M_TRIM_THRESHOLD, _M_TOP_PAD, _M_MMAP_THRESHOLD = -1, -2, -3
_LARGEST_CHUNK = 32 * 2**20
_PAD = 64 * 2**20
_NEVER = 2**31 - 1


def block_size(problem: BoundProblem[Any]) -> int:
    """Say how many agents are served together: several where they are small, as handing over small tasks is slow."""
    model_bytes = problem.n_seeds * math.prod(problem.model_shape) * problem.dtype.itemsize
    work = max(problem.work_per_agent, 1)
    most = min(BLOCK_BYTES / model_bytes, max(_BLOCK_WORK / work, _BLOCK_PART * problem.n_agents))
    blocks = math.ceil(problem.n_agents / max(1, int(most)))
    return math.ceil(problem.n_agents / blocks)  # as equal as can be


Map = Callable[[Callable[[Any], Any], Sequence[Any]], list[Any]]
"""Applies a function to all items of a list, and returns results in their order."""


def one_by_one(function: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
    """Serve items in one thread."""
    return [function(item) for item in items]


@contextlib.contextmanager
def workers(threads: int) -> Iterator[Map]:
    """Keep threads for a run, that take the next item as soon as they are free; every BLAS call uses one thread.

    Raises
    ------
    ValueError
        If the number is below 1.
    """
    if threads < 1:
        raise ValueError(f"threads: expected at least 1, got {threads}")
    _keep_freed_memory()
    with threadpool_limits(1, user_api="blas"), contextlib.ExitStack() as stack:
        if threads == 1:
            yield one_by_one
            return
        executor = stack.enter_context(ThreadPoolExecutor(threads))
        yield lambda function, items: list(executor.map(function, items))


@cache
def _keep_freed_memory() -> None:
    """Ask glibc to reuse freed temporaries instead of returning them to the system.

    A round makes and frees arrays of about a megabyte thousands of times; fetching them from the system again, page by
    page, takes a quarter of FEMNIST's time. Costs some 64 MiB a thread, and does nothing with another C library.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return
    settings = {
        _M_MMAP_THRESHOLD: _LARGEST_CHUNK,
        _M_TRIM_THRESHOLD: _NEVER,
        _M_TOP_PAD: _PAD,
    }
    for key, value in settings.items():
        mallopt(key, value)
