"""Base of the schemes, and common parts of them."""

from __future__ import annotations

import itertools
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from admmbench.datasets import ColumnSplit, Dataset, DatasetInfo, Split
from admmbench.validation import Strict

Draw = Callable[[], np.random.Generator]
"""Random numbers of a seed for its partition, from their beginning."""


class Scheme(Strict):
    """Rule by which the rows or the columns of a data set are partitioned."""

    sharing: ClassVar[Literal["rows", "columns"]] = "rows"
    """What is partitioned."""
    by_labels: ClassVar[bool] = False
    """Whether labels decide who holds a row, so that a record with another label would move others."""
    uneven: ClassVar[bool] = False
    """Whether seeds give an agent other numbers of rows."""

    @property
    def shuffled(self) -> bool:
        """Return whether seeds draw their own rows."""
        return getattr(self, "shuffle", False)

    @property
    def tests_on_test_part(self) -> bool:
        """Return whether the rows of the test part test, and none of them trains."""
        return getattr(self, "train", None) is None

    def n_train(self, data: DatasetInfo | Dataset) -> int:
        """Count the training rows of all agents together; at most, where it depends on targets and `data` has none."""
        return data.n_train

    def n_test(self, data: DatasetInfo | Dataset) -> int:
        """Count the rows that test."""
        return data.n_test

    def n_features(self, info: DatasetInfo) -> int:
        """Count the columns that are used."""
        return info.n_features

    @abstractmethod
    def n_agents(self, info: DatasetInfo) -> int:
        """Count the agents or parties; ValueError if the data set cannot serve them."""

    def test_owners(self, dataset: Dataset) -> NDArray[np.int32] | None:
        """Return the agent of each row of the test part; None where these belong to no agent."""
        return None

    def shares(self, dataset: Dataset) -> dict[str, Any]:
        """Return what agents hold, as far as the name of the scheme does not tell.

        Keys are ``order`` of the rows (``file`` or ``random``), ``drawn`` for each seed (``sizes`` or ``labels``),
        ``labels`` of an agent, and those of `admmbench.partition.targets.describe_targets`.
        """
        return {}

    def order_warning(self, dataset: Dataset) -> str:
        """Return a warning if the order of the rows gives agents other targets than chance would, else nothing."""
        return ""

    @property
    def fixed(self) -> Scheme:
        """Return the partition with equally many agents that is the same for all seeds."""
        undrawn = {"shuffle": False, "train": None}
        changes = {name: undrawn[name] for name in undrawn if name in type(self).model_fields}
        return self.model_copy(update=changes)

    @abstractmethod
    def split(self, dataset: Dataset, draws: Sequence[Draw]) -> Split | ColumnSplit:
        """Partition the training rows or the columns of a data set, for a batch of seeds.

        Parameters
        ----------
        dataset
            The data set.
        draws
            For each seed, the source of its random numbers.
        """


def equal_parts(n: int, parts: int) -> list[slice]:
    """Cut ``range(n)`` as ``numpy.array_split`` does."""
    return consecutive_slices([len(part) for part in np.array_split(np.empty(n, np.int8), parts)])


def consecutive_slices(sizes: Sequence[int]) -> list[slice]:
    """Return slices of these sizes, each from where the last ends."""
    ends = itertools.accumulate(sizes, initial=0)
    return [slice(*bounds) for bounds in itertools.pairwise(ends)]
