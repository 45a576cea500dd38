"""Records of some agents, and how they go through a model and back: the products of `admmbench.problems.rows`."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from admmbench.partition import Rows as RowSelection
from admmbench.problems.base import Array
from admmbench.problems.losses.base import Loss, Norms


@dataclass(frozen=True, eq=False)
class Share:
    """Records that some seeds of the batch give to an agent; a copy where they are spread over the data."""

    agent: int
    seeds: slice
    X: Array
    y: Array

    @property
    def n_seeds(self) -> int:
        """Number of these seeds."""
        return int(self.seeds.stop - self.seeds.start)

    @cached_property
    def norms(self) -> Norms:
        """Norms of each record, shape (n,)."""
        return Norms(record_norms(self.X, 1), record_norms(self.X, 2))

    def largest_singular_value(self) -> float:
        """Of the matrix of records."""
        gram = (self.X.T @ self.X).astype(np.float64)
        return float(np.linalg.eigvalsh(gram)[-1].clip(0) ** 0.5)


class Batch:
    """Records of one or several agents whose slopes are computed together."""

    def __init__(self, pieces: Sequence[tuple[Share, slice]]) -> None:
        self._pieces = [(share.X[rows], share, rows.start == 0) for share, rows in pieces]
        sizes = [rows.stop - rows.start for _, rows in pieces]
        self._starts = np.cumsum([0, *sizes])
        self._y = np.concatenate([share.y[rows] for share, rows in pieces])
        self._norms = [
            np.concatenate([share.norms[which][rows] for share, rows in pieces])
            for which in range(2)
        ]
        self._owner = np.repeat([share.agent for share, _ in pieces], sizes)

    def gradient(self, loss: Loss, z: Array, value: Array, largest: Norms, scale: Array) -> None:
        """Set or add to the agents' scaled gradients, and raise ``largest`` to their contributions (unscaled)."""
        K, J = z.shape[2:]
        S = self._pieces[0][1].n_seeds
        u = np.empty((len(self._y), S, K), z.dtype)
        spans = list(itertools.starmap(slice, itertools.pairwise(self._starts)))
        for (X, share, _), span in zip(self._pieces, spans, strict=True):
            flat = z[share.agent, share.seeds].reshape(S * K, J)
            np.matmul(X, flat.T, out=u[span].reshape(len(X), S * K))
        slopes = loss.scaled_slopes(u, self._y, scale[self._owner])
        for of_slopes, of_records, most in zip(slopes, self._norms, largest, strict=True):
            contributions = of_slopes * of_records[:, None]
            for (_, share, _), own in zip(
                self._pieces, np.maximum.reduceat(contributions, self._starts[:-1]), strict=True
            ):
                place = most[share.agent, share.seeds]
                np.maximum(place, own, out=place)
        for (X, share, first), span in zip(self._pieces, spans, strict=True):
            back = u[span].reshape(len(X), S * K).T
            flat = value[share.agent, share.seeds].reshape(S * K, J)
            if first:
                np.matmul(back, X, out=flat)
            else:
                flat += back @ X


def record_norms(X: Array, order: int) -> Array:
    """Norm of every record, float64, without a copy of all in double precision."""
    parts = [
        np.linalg.norm(X[span].astype(np.float64), order, axis=1) for span in chunks(len(X), 4096)
    ]
    return np.concatenate(parts) if parts else np.zeros(0)


def chunks(n: int, size: int) -> Iterator[slice]:
    """Cut ``range(n)`` into stretches of at most ``size``."""
    return (slice(start, min(start + size, n)) for start in range(0, n, size))


def part_of(rows: RowSelection, span: slice) -> RowSelection:
    """Some of a selection of rows."""
    if isinstance(rows, slice):
        return slice(rows.start + span.start, rows.start + span.stop)
    return rows[span]


def rows_of_seed(own: Sequence[tuple[slice, RowSelection]], seed: int) -> RowSelection:
    """Rows that a seed gives to an agent."""
    return next(rows for seeds, rows in own if seeds.start <= seed < seeds.stop)


def predict(X: Array, w: Array) -> Array:
    """Products of the records with all models, shape (rows, S, K)."""
    S, K, J = w.shape
    return (X @ w.reshape(S * K, J).T).reshape(len(X), S, K)
