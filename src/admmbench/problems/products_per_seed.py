"""Products for one prediction a record, where each seed has records of its own: no matrix product serves several seeds.

One loop goes through the records of many agents and seeds: ``starts`` has the places where the records of each begin,
``agents`` and ``seeds`` the places of the models in arrays of shape (B, S, 1, J). Sums may be reordered, which lets the
compiler use vector instructions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from admmbench.compiled import njit

Array = NDArray[Any]

_compiled = njit(nogil=True, fastmath={"reassoc", "contract"})


@_compiled
def predict(X: Array, starts: Array, agents: Array, seeds: Array, z: Array, u: Array) -> None:
    """Set u to the predictions of the records X, shape (n, J)."""
    for p in range(len(starts) - 1):
        w = z[agents[p], seeds[p], 0]
        for i in range(starts[p], starts[p + 1]):
            x = X[i]
            total = w[0] * x[0]
            for j in range(1, len(w)):
                total += w[j] * x[j]
            u[i] = total


@_compiled
def add_back(
    X: Array, starts: Array, agents: Array, seeds: Array, derivatives: Array, g: Array
) -> None:
    """Add the sums of the records times their derivatives to gradients."""
    for p in range(len(starts) - 1):
        total = g[agents[p], seeds[p], 0]
        stop = starts[p + 1]
        fours = stop - (stop - starts[p]) % 4
        # Four at a time: the sum is loaded and stored less often.
        for i in range(starts[p], fours, 4):
            a, b, c, d = derivatives[i], derivatives[i + 1], derivatives[i + 2], derivatives[i + 3]
            x0, x1, x2, x3 = X[i], X[i + 1], X[i + 2], X[i + 3]
            for j in range(len(total)):
                total[j] += a * x0[j] + b * x1[j] + c * x2[j] + d * x3[j]
        for i in range(fours, stop):
            a, x0 = derivatives[i], X[i]
            for j in range(len(total)):
                total[j] += a * x0[j]


@_compiled
def predict_sparse(
    values: Array, columns: Array, starts: Array, agents: Array, seeds: Array, z: Array, u: Array
) -> None:
    """Set u to the predictions of records from their values and the columns of these, both of shape (n, W)."""
    for p in range(len(starts) - 1):
        w = z[agents[p], seeds[p], 0]
        for i in range(starts[p], starts[p + 1]):
            x, places = values[i], columns[i]
            total = w.dtype.type(0)
            for j in range(len(x)):
                total += w[places[j]] * x[j]
            u[i] = total


@_compiled
def add_back_sparse(
    values: Array,
    columns: Array,
    starts: Array,
    agents: Array,
    seeds: Array,
    derivatives: Array,
    g: Array,
) -> None:
    """Add the sums of the records times their derivatives to gradients; see `predict_sparse` for values and columns."""
    W = values.shape[1]
    # Additions to one entry wait for each other: each of four records has sums of its own.
    sums = np.empty((4, g.shape[3]), g.dtype)
    g0, g1, g2, g3 = sums[0], sums[1], sums[2], sums[3]
    for p in range(len(starts) - 1):
        total = g[agents[p], seeds[p], 0]
        stop = starts[p + 1]
        fours = stop - (stop - starts[p]) % 4
        sums[:] = 0
        for i in range(starts[p], fours, 4):
            a, b, c, d = derivatives[i], derivatives[i + 1], derivatives[i + 2], derivatives[i + 3]
            for j in range(W):
                g0[columns[i, j]] += a * values[i, j]
                g1[columns[i + 1, j]] += b * values[i + 1, j]
                g2[columns[i + 2, j]] += c * values[i + 2, j]
                g3[columns[i + 3, j]] += d * values[i + 3, j]
        for i in range(fours, stop):
            for j in range(W):
                g0[columns[i, j]] += derivatives[i] * values[i, j]
        for j in range(len(total)):
            total[j] += (g0[j] + g1[j]) + (g2[j] + g3[j])
