"""Records of some agents, and how they go through a model and back: the products of `admmbench.problems.rows`.

Where several predictions are made for each record, of classes or of seeds that share it, matrix products make them;
where records are mostly zeros, those of `admmbench.problems.sparse`. Where there is one prediction, as each seed has
records of its own, no product serves several seeds: compiled loops go through the records of many agents and seeds at
once.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from admmbench.datasets import RowSelection, n_rows
from admmbench.problems import products_per_seed
from admmbench.problems.base import Array, RecordBounds, weights_and_intercepts
from admmbench.problems.loss import Loss, Norms
from admmbench.problems.sparse import MOST, Sparse, column_type
from admmbench.problems.used_columns import gather

# Up to so many predictions a record, products are of so many records: OpenBLAS does not copy matrices that are small.
_FEW_PREDICTIONS = 16
_FEW_RECORDS = 64
# Records from which on it is worth to turn the models for the product without zeros.
_FEWEST_SPARSE = 64


@dataclass(frozen=True, eq=False)
class Share:
    """Records that some seeds of the batch give to an agent."""

    agent: int
    seeds: slice
    X: Array
    y: Array

    @cached_property
    def norms(self) -> Norms:
        """Return the norms of each record, shape (n,)."""
        return Norms(record_norms(self.X, 1), record_norms(self.X, 2))

    def largest_singular_value(self) -> float:
        """Return the largest singular value of the matrix of records."""
        gram = (self.X.T @ self.X).astype(np.float64)
        return float(np.linalg.eigvalsh(gram)[-1].clip(0) ** 0.5)


@dataclass(frozen=True, eq=False)
class Piece:
    """Some records of a share, for some of its seeds."""

    share: Share
    """Share that the records are from."""
    seeds: slice
    """Seeds of the share, or one of them that has drawn the records."""
    rows: RowSelection
    """Rows of the share: consecutive, or those of a sample."""
    first: bool
    """Whether no records before these count in the same gradients."""

    @property
    def size(self) -> int:
        """Return the number of records."""
        return n_rows(self.rows)

    @property
    def n_seeds(self) -> int:
        """Return the number of seeds."""
        return int(self.seeds.stop - self.seeds.start)

    @property
    def place(self) -> tuple[int, slice]:
        """Place of the models of the agent and the seeds."""
        return self.share.agent, self.seeds


class Batch:
    """Records of one or several agents whose derivatives are computed together.

    Parameters
    ----------
    X, y
        Records and their targets, of all agents that are served together.
    used
        Columns of each agent that the records have, shape (B, W); None: all.
    rows
        Rows of the batch: consecutive ones, or some that are copied for each gradient.
    pieces
        Pieces that the rows make up, in their order.
    """

    def __init__(
        self,
        X: Array,
        y: Array,
        used: Array | None,
        rows: RowSelection,
        pieces: Sequence[Piece],
    ) -> None:
        self._all, self._used, self._rows, self._pieces = (X, y), used, rows, pieces
        sizes = [piece.size for piece in pieces]
        self._starts = np.cumsum([0, *sizes])
        self._spans = list(itertools.starmap(slice, itertools.pairwise(self._starts)))
        self._n_seeds = pieces[0].n_seeds
        self._first = np.array([piece.first for piece in pieces])
        self._places = (
            np.array([piece.share.agent for piece in pieces])[:, None],
            np.array([np.arange(piece.seeds.start, piece.seeds.stop) for piece in pieces]),
        )

    def gradient(self, loss: Loss, z: Array, value: Array, scale: Array) -> Norms:
        """Set or add to the agents' scaled gradients.

        Parameters
        ----------
        loss, z
            The loss, and local models of shape (B, S, K, J).
        value
            Gradients, shape (B, S, K, W); all is computed in their precision.
        scale
            Factor of each agent, shape (B,).

        Returns
        -------
        Norms of the derivatives, unscaled, shape (n, S).
        """
        X, y = (array[self._rows] for array in self._all)
        scales = np.repeat(scale.astype(value.dtype)[self._places[0][:, 0]], np.diff(self._starts))
        if self._n_seeds * z.shape[2] == 1:
            return self._gradient_of_single_predictions(X, y, loss, z, value, scales)
        u = self._predict(X, z, value.dtype)
        derivatives = loss.scaled_derivatives(u, y, scales)
        self._back(X, u, value)
        return derivatives

    def _gradient_of_single_predictions(
        self, X: Array, y: Array, loss: Loss, z: Array, value: Array, scales: Array
    ) -> Norms:
        """Do what `gradient` does, where a record has one prediction."""
        agents, seeds = (place.ravel() for place in self._places)  # one seed each
        places = self._starts, agents, seeds
        z = (z if self._used is None else gather(z, self._used)).astype(value.dtype, copy=False)
        u = np.empty((len(y), 1, 1), value.dtype)
        value[agents[self._first], seeds[self._first]] = 0
        if self._filled is None:
            products_per_seed.predict(X, *places, z, u[:, 0, 0])
            derivatives = loss.scaled_derivatives(u, y, scales)
            products_per_seed.add_back(X, *places, u[:, 0, 0], value)
        else:
            products_per_seed.predict_sparse(*self._filled, *places, z, u[:, 0, 0])
            derivatives = loss.scaled_derivatives(u, y, scales)
            products_per_seed.add_back_sparse(*self._filled, *places, u[:, 0, 0], value)
        return derivatives

    @cached_property
    def _sparse(self) -> list[Sparse | None]:
        """Pieces without their zeros; None for those that are kept with them."""
        if not isinstance(self._rows, slice):
            return [None] * len(self._pieces)
        X = self._all[0][self._rows]
        enough = [piece.size >= _FEWEST_SPARSE for piece in self._pieces]
        return [
            Sparse.from_records(
                X[span], None if self._used is None else self._used[piece.share.agent]
            )
            if many
            else None
            for piece, span, many in zip(self._pieces, self._spans, enough, strict=True)
        ]

    @cached_property
    def _filled(self) -> tuple[Array, Array] | None:
        """Values of the records and their columns, as many as the fullest record has.

        None if these are too many, or if the records are those of a sample, which serve one gradient.
        """
        if not isinstance(self._rows, slice):
            return None
        X = self._all[0][self._rows]
        width = sparse_width(X)
        if width is None:
            return None
        # Columns of a record's values come first, in their order.
        columns = np.argsort(X == 0, axis=1, kind="stable")[:, :width]
        values = np.take_along_axis(X, columns, axis=1)
        return values, columns.astype(column_type(X.shape[1]))

    @cached_property
    def _norms(self) -> list[Array]:
        """Norms of the records, l1 and l2, each of shape (n,)."""
        return [
            np.concatenate([piece.share.norms[which][piece.rows] for piece in self._pieces])
            for which in range(2)
        ]

    def raise_to_contributions(self, derivatives: Norms, largest: Norms) -> None:
        """Raise ``largest``, shape (B, S), to the largest contribution of one record, unscaled."""
        for derivative_norms, x_norms, bounds in zip(
            derivatives, self._norms, largest, strict=True
        ):
            contributions = derivative_norms * x_norms[:, None]
            most = np.maximum.reduceat(contributions, self._starts[:-1])
            # A share has one piece in a batch: a second one begins the next.
            bounds[self._places] = np.maximum(bounds[self._places], most)

    def _predict(self, X: Array, z: Array, dtype: np.dtype[Any]) -> Array:
        """Return predictions of local models, shape (n, seeds, K)."""
        S, K, J = self._n_seeds, *z.shape[2:]
        u = np.empty((len(X), S, K), dtype)
        flat = u.reshape(-1, S * K)
        chunk = _FEW_RECORDS if S * K <= _FEW_PREDICTIONS else len(flat)
        for piece, span, sparse in zip(self._pieces, self._spans, self._sparse, strict=True):
            models = z[piece.place].reshape(S * K, J)
            if sparse:
                sparse.predict(models, flat[span])
                continue
            models = models.astype(dtype, copy=False)
            if self._used is not None:
                models = gather(models[None, None], self._used[[piece.share.agent]])[0, 0]
            for start in range(span.start, span.stop, chunk):
                rows = slice(start, min(start + chunk, span.stop))
                np.matmul(X[rows], models.T, out=flat[rows])
        return u

    def _back(self, X: Array, derivatives: Array, value: Array) -> None:
        """Set or add to the gradients of the agents."""
        S, K, J = self._n_seeds, *value.shape[2:]
        for piece, span, sparse in zip(self._pieces, self._spans, self._sparse, strict=True):
            left, flat = derivatives[span].reshape(-1, S * K), value[piece.place].reshape(S * K, J)
            if sparse:
                sparse.back(left, flat, add=not piece.first)
            elif piece.first:
                np.matmul(left.T, X[span], out=flat)
            else:
                flat += left.T @ X[span]


def make_batches(
    X: Array,
    y: Array,
    used: Array | None,
    pieces: Iterable[tuple[RowSelection, Piece]],
    size: int,
) -> list[Batch]:
    """Make batches of pieces, each with the places of its records.

    A batch has at most ``size`` rows, and equally many seeds of each piece; a larger piece is a batch by itself.
    """
    groups: list[list[tuple[RowSelection, Piece]]] = []
    n_used = 0
    for rows, piece in pieces:
        fits = groups and groups[-1][0][1].n_seeds == piece.n_seeds
        if not fits or n_used + piece.size > size:
            groups.append([])
            n_used = 0
        groups[-1].append((rows, piece))
        n_used += piece.size
    return [
        Batch(X, y, used, join_rows([rows for rows, _ in group]), [piece for _, piece in group])
        for group in groups
    ]


def join_rows(selections: Sequence[RowSelection]) -> RowSelection:
    """Join selections of rows: a slice, which costs no copy, where they follow each other in the data."""
    slices = [rows for rows in selections if isinstance(rows, slice)]
    adjacent = all(a.stop == b.start for a, b in itertools.pairwise(slices))
    if len(slices) == len(selections) and adjacent:
        return slice(slices[0].start, slices[-1].stop)
    return np.concatenate(
        [
            np.arange(rows.start, rows.stop) if isinstance(rows, slice) else rows
            for rows in selections
        ]
    )


def sparse_width(X: Array) -> int | None:
    """Count the entries of the fullest record that are not 0; None if these are too many to leave the others out."""
    width = int(np.count_nonzero(X, axis=1).max(initial=1))
    return width if width <= MOST * X.shape[1] else None


def scale_down(X: Array, bounds: RecordBounds, dtype: np.dtype[Any]) -> Array:
    """Scale down records that are longer than the bounds, in the precision of a problem; no copy where none is."""
    X = np.asarray(X, dtype)
    factors = np.ones(len(X))
    for order, bound in ((1, bounds.max_l1_norm), (2, bounds.max_l2_norm)):
        if bound is not None:
            norms = record_norms(X, order)
            # A little below the bound, so that rounding to float32 stays below it too: by a part of each entry, or by
            # the smallest number that there is.
            smallest = float(np.finfo(dtype).smallest_subnormal) * X.shape[1] ** (1 / order)
            most = max(bound * (1 - 1e-6) - smallest, 0.0)
            factors = np.minimum(
                factors, np.where(norms > bound, most / np.maximum(norms, bound), 1)
            )
    if (factors == 1).all():
        return X
    # A factor may be a subnormal number, which has few digits: it is split in two that are none, one of them a power of
    # two, which takes no digits from a product.
    powers = np.ldexp(1.0, np.frexp(factors)[1] // 2)
    scaled: Array = X * (factors / powers)[:, None].astype(dtype)
    scaled *= powers[:, None].astype(dtype)
    return scaled


def record_norms(X: Array, order: int) -> Array:
    """Return the norm of every record, float64, without a copy of all in double precision."""
    parts = [
        np.linalg.norm(X[span].astype(np.float64), order, axis=1) for span in chunks(len(X), 4096)
    ]
    return np.concatenate(parts) if parts else np.zeros(0)


def chunks(n: int, size: int) -> Iterator[slice]:
    """Return slices that cut ``range(n)`` into stretches of at most ``size``."""
    return (slice(start, min(start + size, n)) for start in range(0, n, size))


def rows_in_span(rows: RowSelection, span: slice) -> RowSelection:
    """Return the rows of a selection from the start of a span to its end."""
    if isinstance(rows, slice):
        return slice(rows.start + span.start, rows.start + span.stop)
    return rows[span]


def rows_of_seed(shares: Sequence[tuple[slice, RowSelection]], seed: int) -> RowSelection:
    """Return the rows that a seed gives to an agent."""
    return next(rows for seeds, rows in shares if seeds.start <= seed < seeds.stop)


def predict(X: Array, w: Array) -> Array:
    """Return predictions of all models for the records, shape (rows, S, K)."""
    S, K, J = *w.shape[:2], X.shape[1]
    weights, intercepts = weights_and_intercepts(w, J)
    u = (X @ weights.reshape(S * K, J).T).reshape(len(X), S, K)
    if w.shape[2] > J:
        u += intercepts
    return u
