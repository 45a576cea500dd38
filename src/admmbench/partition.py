"""Partitions: which rows of the training data belong to which agent."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from admmbench.datasets import Dataset, DatasetInfo

Rows = slice | NDArray[np.int64]


class _Scheme(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class IID(_Scheme):
    """Equal shares of the rows, as ``numpy.array_split`` cuts them (sizes differ by one at most).

    ``shuffle: false`` keeps the file order, as the code of ryu2021 and ryu2022 does, so that all seeds share one
    partition; ``true`` draws another permutation for every seed.
    """

    scheme: Literal["iid"] = "iid"
    agents: Annotated[int, Field(ge=1)]
    shuffle: bool = False

    def check(self, info: DatasetInfo) -> int:
        """Number of agents; ValueError if the data set cannot serve them."""
        if self.agents > info.n_train:
            raise ValueError(
                f"agents: {self.agents} agents cannot share the {info.n_train} training rows of "
                f"{info.name}; at most one agent a row"
            )
        return self.agents

    def split(
        self, dataset: Dataset, permutations: Sequence[Callable[[int], NDArray[np.int64]]]
    ) -> list[list[tuple[slice, Rows]]]:
        """See `split`."""
        n = dataset.n_train
        bounds = [len(part) for part in np.array_split(np.empty(n, np.int8), self.agents)]
        ends = np.cumsum(bounds)
        slices = [slice(int(end - size), int(end)) for end, size in zip(ends, bounds, strict=True)]
        everyone = slice(0, len(permutations))
        if not self.shuffle:
            return [[(everyone, rows)] for rows in slices]
        orders = [permutation(n) for permutation in permutations]
        return [
            [(slice(k, k + 1), np.sort(order[rows])) for k, order in enumerate(orders)]
            for rows in slices
        ]


class ByWriter(_Scheme):
    """One agent per writer (group) of the data set."""

    scheme: Literal["by_writer"]

    def check(self, info: DatasetInfo) -> int:
        """Number of agents; ValueError if the data set does not know its writers."""
        if not info.n_groups:
            raise ValueError(f"agents: {info.name} does not say who wrote a row; use scheme: iid")
        return info.n_groups

    def split(
        self, dataset: Dataset, permutations: Sequence[Callable[[int], NDArray[np.int64]]]
    ) -> list[list[tuple[slice, Rows]]]:
        """See `split`."""
        assert dataset.groups is not None
        starts = np.searchsorted(dataset.groups, np.arange(dataset.n_groups + 1)).tolist()
        everyone = slice(0, len(permutations))
        return [[(everyone, slice(*bounds))] for bounds in itertools.pairwise(starts)]


Partition = IID | ByWriter
_ADAPTER: TypeAdapter[Partition] = TypeAdapter(
    Annotated[IID | ByWriter, Field(discriminator="scheme")]
)


def as_partition(spec: int | dict[str, Any] | Partition) -> Partition:
    """Partition from a number of agents, or from a mapping with the key ``scheme``."""
    if isinstance(spec, int):
        spec = {"scheme": "iid", "agents": spec}
    return _ADAPTER.validate_python(spec)


def split(
    partition: Partition,
    dataset: Dataset,
    permutations: Sequence[Callable[[int], NDArray[np.int64]]],
) -> list[list[tuple[slice, Rows]]]:
    """Rows of every agent, for a batch of seeds.

    Parameters
    ----------
    partition
        The scheme.
    dataset
        Data set whose training rows are shared out.
    permutations
        For each seed, a function that draws a permutation of ``range(n)`` from this seed's stream.

    Returns
    -------
    For every agent, pairs of a slice of the seed axis and the rows that these seeds give to the agent: one pair where
    all seeds share the partition, and one pair per seed otherwise.
    """
    return partition.split(dataset, permutations)
