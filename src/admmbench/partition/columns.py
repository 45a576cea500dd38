"""Partitions of the columns of a data set over parties."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from admmbench.datasets import ColumnSplit, Dataset, DatasetInfo
from admmbench.partition.base import Draw, Scheme, consecutive_slices, equal_parts
from admmbench.validation import Count


class Columns(Scheme):
    """Partition of features over parties: every party holds a block of columns of all rows, as in hu2019.

    ``blocks`` gives the number of columns of each party, in the order of the data, or the number of parties, whose
    blocks then differ by one column at most. ``features`` is the number of columns that are used, the first ones.
    """

    sharing: ClassVar[Literal["rows", "columns"]] = "columns"

    scheme: Literal["columns"]
    blocks: Count | Annotated[list[Count], Field(min_length=1)]
    features: Count | None = None

    def n_features(self, info: DatasetInfo) -> int:
        """Count the columns that are used."""
        return self.features or info.n_features

    def n_agents(self, info: DatasetInfo) -> int:
        """Count the parties; ValueError if the blocks are not the features of the data set."""
        n = self.n_features(info)
        if n > info.n_features:
            raise ValueError(f"agents: {info.name} has {info.n_features} features, not {n}")
        if isinstance(self.blocks, int) and self.blocks > n:
            raise ValueError(
                f"agents: {self.blocks} parties cannot share the {n} features of {info.name}"
            )
        if isinstance(self.blocks, list) and sum(self.blocks) != n:
            raise ValueError(
                f"agents: blocks have {sum(self.blocks)} columns in all, {n} features of {info.name} are used"
            )
        return self.blocks if isinstance(self.blocks, int) else len(self.blocks)

    def split(self, dataset: Dataset, draws: Sequence[Draw]) -> ColumnSplit:
        """Cut the columns into blocks, the same for all seeds, see `Scheme.split`."""
        if isinstance(self.blocks, int):
            return ColumnSplit(dataset, equal_parts(self.n_features(dataset.info), self.blocks))
        return ColumnSplit(dataset, consecutive_slices(self.blocks))
