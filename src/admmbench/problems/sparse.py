"""Products of records that are mostly zeros with several models at once.

Of the pixels of a written digit one in five is not black. A product that leaves out the others adds, for each record,
the models' entries at some pixels; and for each pixel, the derivatives of some records. Both are one operation: sums of
some rows of a matrix, weighted by the entries of a record or of a column.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array

from admmbench.problems.weighted_sums import STEP, Weights, sum_columns, sum_rows

Array = NDArray[Any]

# Part of the entries that are not 0, up to which a product without zeros is the faster one.
MOST = 0.4
# Numbers that a byte stands for.
_MOST_LEVELS = 256


@dataclass(frozen=True, eq=False)
class Sparse:
    """Some records without their zeros."""

    used: Array
    """Columns of a model that the features are."""
    rows: Weights
    """Entries of each record, which are the weights of features in its predictions."""
    columns: Weights
    """Entries of each feature, which are the weights of records in its gradient."""

    @classmethod
    def from_records(cls, X: Array, used: Array | None = None) -> Sparse | None:
        """Take records X, shape (n, W), of W features of a model, by default of all; None if they are not sparse."""
        n, W = X.shape
        if density(X) > MOST:
            return None
        used = np.arange(W, dtype=np.uint32) if used is None else used
        rows = csr_array(X)
        last = rows.indices.max(initial=0)  # features behind it are there for other agents
        return cls(used[: last + 1], _weights(rows, W), _weights(rows.tocsc(), n))

    def predict(self, models: Array, u: Array) -> None:
        """Set u, shape (n, M), to the predictions of models, shape (M, J)."""
        sum_columns(self.rows, models, self.used, u)

    def back(self, derivatives: Array, gradient: Array, add: bool = False) -> None:
        """Set a gradient, shape (M, W), to the sum of records times their derivatives, shape (n, M); or add it."""
        sum_rows(self.columns, derivatives, gradient, add)


def _weights(matrix: csr_array | csc_array, width: int) -> Weights:
    """Return the entries of the rows of a matrix, or of its columns, with places below the width.

    Sums are made in steps, which zeros fill up; each zero has the place of the first entry of its row.
    """
    counts = np.diff(matrix.indptr)
    full = -(-counts // STEP) * STEP
    starts = np.cumsum([0, *full], dtype=np.intp)
    within = np.arange(starts[-1]) - np.repeat(starts[:-1], full)
    filled = within < np.repeat(counts, full)
    source = np.repeat(matrix.indptr[:-1], full) + np.where(filled, within, 0)
    values = np.where(filled, matrix.data[source], 0)
    places = matrix.indices[source].astype(column_type(width))
    # Pixels have 256 levels at most: reading bytes takes less time than reading numbers.
    levels = np.unique(values)
    if len(levels) > _MOST_LEVELS:
        return Weights(values, levels[:0], places, starts)
    return Weights(np.searchsorted(levels, values).astype(np.uint8), levels, places, starts)


def column_type(J: int) -> np.dtype[Any]:
    """Return a type for columns: small, as all are read each round; unsigned, so that none counts from the end."""
    return np.min_scalar_type(J)


def density(X: Array) -> float:
    """Return the part of the entries that are not 0."""
    return float(np.count_nonzero(X) / max(X.size, 1))
