"""The softmax loss on a GPU: a thread has the K predictions of a record by a model.

The equation of the derivatives is that of the loss.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

from numba import cuda, float64, uint64

from admmbench.problems.loss import Loss
from admmbench_cuda.arrays import Array, view

_THREADS = 64
# Bytes that a block of threads has beside each other; predictions that fit are worked on there.
_SHARED = 48_000


def to_derivatives(
    loss: Loss,
    u: Array,
    places: Array,
    y: Array,
    scale: Array,
    owners: Array,
    norms: Array,
    largest: Array,
    outputs: int,
) -> None:
    """Turn predictions into derivatives in place, and raise bounds to what a record contributes.

    Parameters
    ----------
    loss
        The loss.
    u
        Predictions of n records by the models of S seeds.
    places
        Where they are, shape (2, n): see `Products`.
    y
        Classes, shape (n,); negative where there is no record, which has derivatives and losses of 0.
    scale
        Factors of the derivatives, shape (n,).
    owners
        Agent and first seed of each record, shape (2, n).
    norms
        Of the records, in l1 and l2, shape (2, n).
    largest
        Largest contributions of agents and seeds in both, shape (2, P, seeds), which are raised.
    outputs
        K, predictions for a record by one model.
    """
    arrays = map(view, (u, places, y, scale, owners, norms, largest))
    room = _THREADS * outputs * u.dtype.itemsize
    shared = room <= _SHARED
    kernel = _to_derivatives(loss.row_to_derivatives, outputs, shared)
    kernel[_grid(u, y, outputs), _THREADS](*arrays, u.dtype.type(loss.floor))


def evaluate(
    u: Array, places: Array, y: Array, losses: Array, mistakes: Array, outputs: int
) -> None:
    """Set losses and mistakes, both of shape (n, S), from predictions, which are overwritten; see `to_derivatives`."""
    arrays = map(view, (u, places, y, losses, mistakes))
    _evaluate[_grid(u, y, outputs), _THREADS](*arrays, outputs)


def _grid(u: Array, y: Array, outputs: int) -> tuple[int, int]:
    """Blocks of threads for records and seeds: those of a block have records that are one after another."""
    return -(-len(y) // _THREADS), u.size // (len(y) * outputs)


@cache
def _to_derivatives(row_to_derivatives: Any, outputs: int, shared: bool) -> Any:
    equation = cuda.jit(device=True)(row_to_derivatives.py_func)

    @cuda.jit
    def kernel(
        u: Array,
        places: Array,
        y: Array,
        scale: Array,
        owners: Array,
        norms: Array,
        largest: Array,
        lowest: float,
    ) -> None:
        i, s, lane = cuda.grid(1), cuda.blockIdx.y, cuda.threadIdx.x
        # Of the agent that has the first record of the block; most blocks have records of one agent.
        largest_here, start = cuda.shared.array(2, float64), cuda.blockIdx.x * _THREADS
        if lane < 2:
            largest_here[lane] = 0
        cuda.syncthreads()
        first, apart = _place(places, min(i, len(y) - 1), s, outputs)
        if i < len(y) and y[i] < 0:
            for k in range(outputs):
                u[first + uint64(k) * apart] = 0
        elif i < len(y):
            if shared:
                row, at = cuda.shared.array((outputs, _THREADS), u.dtype)[:, lane], first
                for k in range(uint64(outputs)):
                    row[k] = u[at]
                    at += apart
            else:
                row = u[first : first + outputs * apart : apart]
            _exponentials(row)
            exponential = row[y[i]]
            row[y[i]] = 0
            l1, l2 = equation(row, exponential, y[i], scale[i], lowest)
            if shared:
                at = first
                for k in range(uint64(outputs)):
                    u[at] = row[k]
                    at += apart
            p, seed = owners[0, i], owners[1, i]
            if p == owners[0, start] and seed == owners[1, start]:
                _raise(largest_here, 0, l1 * norms[0, i])
                _raise(largest_here, 1, l2 * norms[1, i])
            else:
                _raise(largest, (0, p, seed + s), l1 * norms[0, i])
                _raise(largest, (1, p, seed + s), l2 * norms[1, i])
        cuda.syncthreads()
        if lane < 2:
            _raise(largest, (lane, owners[0, start], owners[1, start] + s), largest_here[lane])

    return kernel


@cuda.jit
def _evaluate(
    u: Array, places: Array, y: Array, losses: Array, mistakes: Array, outputs: int
) -> None:
    i, s = cuda.grid(1), cuda.blockIdx.y
    if i >= len(y):
        return
    losses[i, s] = mistakes[i, s] = 0
    if y[i] < 0:
        return
    first, apart = _place(places, i, s, outputs)
    row = u[first : first + outputs * apart : apart]
    best = 0
    for k in range(1, len(row)):
        if row[k] > row[best]:
            best = k
    mistakes[i, s] = best != y[i]
    difference = float64(row[y[i]] - row[best])
    _exponentials(row)
    total = float64(0)
    for k in range(len(row)):
        total += row[k]
    losses[i, s] = math.log(total) - difference


@cuda.jit(device=True)
def _raise(largest: Array, place: Any, value: float) -> None:
    # Most are not above what was found already, and threads take turns to raise it; NaN, which they would not, stays.
    if value != value:
        largest[place] = value
    elif value > largest[place]:
        cuda.atomic.max(largest, place, value)


@cuda.jit(device=True)
def _place(places: Array, i: int, s: int, outputs: int) -> tuple[int, int]:
    """Say where the predictions for a record by the model of a seed begin, and how far apart they are."""
    apart = uint64(places[1, i])
    return uint64(places[0, i]) + uint64(s * outputs) * apart, apart


@cuda.jit(device=True)
def _exponentials(row: Array) -> None:
    largest = row[0]
    for k in range(uint64(len(row))):
        largest = max(largest, row[k])
    for k in range(uint64(len(row))):
        row[k] = math.exp(row[k] - largest)
