"""Models in the columns that an agent's records use, on a GPU: see `admmbench.problems.used_columns`."""

from __future__ import annotations

from typing import Any

from numba import cuda

from admmbench_cuda.arrays import Array, cupy, view

_THREADS = 128
# Rows of a thread: it looks up its place in them once. It reads some of them before it writes, to wait for all at once.
_ROWS, _TOGETHER = 16, 4


def gather(entries: Array, index: Array, dtype: Any) -> Array:
    """Take entries of the last axis at the places of each agent.

    Parameters
    ----------
    entries
        Shape (B, S, K, N), or (1, S, K, N) for those that all agents share.
    index
        Places in it, shape (B, M).
    dtype
        Of what is returned.

    Returns
    -------
    Shape (B, S, K, M).
    """
    xp, (B, M), (S, K, N) = cupy(), index.shape, entries.shape[1:]
    entries = xp.ascontiguousarray(entries).reshape(-1, S * K, N)
    gathered = xp.empty((B, S, K, M), dtype)
    blocks = -(-M // _THREADS), -(-S * K // _ROWS), B
    _gather[blocks, _THREADS](view(entries), view(index), view(gathered.reshape(B, S * K, M)))
    return gathered


@cuda.jit
def _gather(entries: Array, index: Array, gathered: Array) -> None:
    j, first, b = cuda.grid(1), cuda.blockIdx.y * _ROWS, cuda.blockIdx.z
    if j >= gathered.shape[2]:
        return
    source, place = min(b, entries.shape[0] - 1), index[b, j]
    end = min(first + _ROWS, gathered.shape[1])
    values = cuda.local.array(_TOGETHER, entries.dtype)
    for row in range(first, end, _TOGETHER):
        for q in range(_TOGETHER):
            if row + q < end:
                values[q] = entries[source, row + q, place]
        for q in range(_TOGETHER):
            if row + q < end:
                gathered[b, row + q, j] = values[q]
