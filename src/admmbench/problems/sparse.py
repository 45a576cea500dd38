"""Products of records that are mostly zeros with several models at once.

Of the pixels of a written digit one in five is not black. A product that leaves out the others adds, for each record,
the models' entries at some pixels; and for each pixel, the slopes of some records. Both are one operation: sums of some
rows of a matrix, weighted by the entries of a record or of a column.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array

from admmbench.problems.weighted_sums import weighted_sums

Array = NDArray[Any]

# Part of the entries that are not 0, up to which a product without zeros is the faster one.
MOST = 0.3


class Entries(NamedTuple):
    """Entries that are not 0, of the rows of a matrix one after another, or of its columns.

    Attributes
    ----------
    values
        The entries.
    places
        Which columns they are in, or which rows.
    starts
        Where those of each row or column begin, and the end of the last one.
    """

    values: Array
    places: Array
    starts: Array

    @classmethod
    def of(cls, matrix: csr_array | csc_array, width: int) -> Entries:
        """Take those of a matrix, with places below the width."""
        places = matrix.indices.astype(column_type(width))
        return cls(matrix.data, places, matrix.indptr.astype(np.intp))


@dataclass(frozen=True, eq=False)
class Sparse:
    """Some records without their zeros.

    Attributes
    ----------
    rows
        Entries of each record.
    columns
        Entries of each feature.
    """

    rows: Entries
    columns: Entries

    @classmethod
    def of(cls, X: Array) -> Sparse | None:
        """Take records X, shape (n, J); None if they are not sparse."""
        n, J = X.shape
        if density(X) > MOST:
            return None
        rows = csr_array(X)
        return cls(Entries.of(rows, J), Entries.of(rows.tocsc(), n))

    def predict(self, models: Array, u: Array) -> None:
        """Set u, shape (n, M), to the predictions of models, shape (M, J)."""
        weighted_sums(*self.rows, models.T, u)

    def back(self, slopes: Array) -> Array:
        """Sum the records times their slopes, shape (n, M); the sums have shape (M, J)."""
        sums = np.empty((len(self.columns.starts) - 1, slopes.shape[1]), slopes.dtype)
        weighted_sums(*self.columns, slopes, sums)
        return sums.T


def column_type(J: int) -> np.dtype[Any]:
    """Return a type for columns: small, as all are read each round; unsigned, so that none counts from the end."""
    return np.min_scalar_type(J)


def density(X: Array) -> float:
    """Return the part of the entries that are not 0."""
    return float(np.count_nonzero(X) / max(X.size, 1))
