"""Products on the columns that an agent's records use.

In all images of one writer most pixels of the border are white: 300 of 784 columns are used. The other columns change
no prediction, and the loss has no gradient there. So the products leave them out, and work with narrower arrays of an
agent's records, models and gradients.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from admmbench.compiled import njit

Array = NDArray[Any]

# Part of the columns that are used, above which narrower arrays are not worth the copy.
_WORTH = 0.9


@dataclass(frozen=True, eq=False)
class Narrow:
    """Records of B agents, each with W - 1 of its own columns, or fewer and zeros, and a last one of zeros."""

    X: Array
    """Shape (n, W)."""
    index: Array
    """Origin of each column, shape (B, W); any for columns of zeros."""
    position: Array
    """Place of each of the J columns, shape (B, J); the last one for columns that are not used."""
    used: Array
    """Number of columns that each agent uses, shape (B,)."""

    @classmethod
    def from_records(cls, X: Array, rows: Sequence[slice]) -> Narrow | None:
        """Narrow the records of agents with these rows; None if they use most columns."""
        J = X.shape[1]
        used = [np.flatnonzero(X[span].any(axis=0)) for span in rows]
        W = 1 + max(map(len, used))
        if W > _WORTH * J:
            return None
        narrow = np.zeros((len(X), W), X.dtype)
        # Unsigned, so that compiled loops need not look for indices from the end.
        index = np.zeros((len(rows), W), np.uint32)
        position = np.full((len(rows), J), W - 1, np.uint32)
        for b, (span, columns) in enumerate(zip(rows, used, strict=True)):
            narrow[span, : len(columns)] = X[span][:, columns]
            index[b, : len(columns)] = columns
            position[b, columns] = np.arange(len(columns))
        return cls(narrow, index, position, np.array([len(columns) for columns in used]))


def gather(entries: Array, index: Array) -> Array:
    """Take entries, shape (B, S, K, N), at the places of each agent, shape (B, M), in the last axis."""
    B, S, K, N = entries.shape
    flat = np.ascontiguousarray(entries).reshape(B, S * K, N)
    gathered = np.empty((B, S * K, index.shape[1]), entries.dtype)
    _gather(flat, index, gathered)
    return gathered.reshape(B, S, K, -1)


@njit(nogil=True)
def _gather(entries: Array, index: Array, gathered: Array) -> None:
    for b in range(entries.shape[0]):
        places = index[b]
        for row in range(entries.shape[1]):
            source, target = entries[b, row], gathered[b, row]
            # By entries: with an array, numba compiles its message on wrong shapes as well.
            for j in range(len(places)):
                target[j] = source[places[j]]


@njit(nogil=True)
def take_tile(entries: Array, position: Array, start: int, tile: Array) -> None:
    """Fill a tile, which starts at ``start`` of the K J entries of a model, from narrow entries, shape (K, W).

    ``position`` is the place in a row of each of the J columns; empty: all are there, in their order.
    """
    if len(position) == 0:
        flat = entries.ravel()[start : start + len(tile)]
        for j in range(len(tile)):
            tile[j] = flat[j]
        return
    k, column = divmod(start, len(position))
    done = 0
    while done < len(tile):
        part = tile[done : done + len(position) - column]
        places, row = position[column : column + len(part)], entries[k]
        for j in range(len(part)):
            part[j] = row[places[j]]
        done += len(part)
        k, column = k + 1, 0
