"""Splits of a data set: the training rows of each agent, or the columns of each party."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from admmbench.datasets._base import Dataset

RowSelection = slice | NDArray[np.int64]
Shares = list[tuple[slice, RowSelection]]
"""Pairs of a slice of the seed axis and the training rows of these seeds: one pair where all seeds share them, and one
pair per seed otherwise."""
Stream = Callable[[int | None], np.random.Generator]
"""Random numbers of an agent, or of the server (None)."""


def n_rows(rows: RowSelection) -> int:
    """Count rows; a slice has both ends."""
    return int(rows.stop - rows.start) if isinstance(rows, slice) else len(rows)


class Split(NamedTuple):
    """Training rows of each agent, and the rows that test."""

    dataset: Dataset
    """Data set whose training part the rows refer to; it holds the test part too where test rows are drawn from
    both."""
    shares: list[Shares]
    """For every agent, its training rows."""
    held_out: Shares | None = None
    """The rows of the training part that test; None where the test part does."""
    test_owners: NDArray[np.int32] | None = None
    """The agent of each row of the test part; None where they belong to no agent."""
    instances: Sequence[Stream] = ()
    """For each seed, the random numbers of each agent's part of a drawn problem."""


class ColumnSplit(NamedTuple):
    """Features of each party."""

    dataset: Dataset
    columns: list[slice]
    """For every party, the columns of the data."""
