"""Partitions in which the agents' numbers of rows or their labels differ, drawn for each seed."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from admmbench.datasets import Dataset, DatasetInfo, RowSelection, n_rows
from admmbench.partition.base import equal_parts
from admmbench.partition.rows import IID, Random, RowScheme
from admmbench.validation import Count, Number


class _SkewedScheme(RowScheme):
    """Partition of rows in an order that is drawn for each seed, as are the shares of agents."""

    uneven: ClassVar[bool] = True

    agents: Count

    @property
    def shuffled(self) -> bool:
        """Return true: seeds draw their own rows."""
        return True

    @property
    def fixed(self) -> IID:
        """Return the partition into equal shares in file order."""
        return IID(agents=self.agents)

    def cut(self, dataset: Dataset, rng: Random = None) -> Sequence[RowSelection]:
        """Draw the owner of each row, by classes if labels decide, see `RowScheme.cut`."""
        assert rng is not None
        groups = [rng.permutation(dataset.n_train)]
        if self.by_labels:
            labels, (order,) = dataset.y_train[groups[0]], groups
            groups = [order[labels == label] for label in range(dataset.n_classes)]
        owners = np.empty(dataset.n_train, np.int64)
        for rows, agents in zip(groups, self._owners([*map(len, groups)], rng), strict=True):
            owners[rows] = agents
        return [np.flatnonzero(owners == agent) for agent in range(self.agents)]

    @abstractmethod
    def _owners(self, sizes: list[int], rng: np.random.Generator) -> Iterator[NDArray[np.int64]]:
        """Draw the agent of each row of groups with these numbers of rows."""


class Quantity(_SkewedScheme):
    """Partition into unequal numbers of rows: their shares are drawn from a symmetric Dirichlet distribution.

    The share of an agent has mean ``1 / agents`` and variance ``(1 - 1 / agents) / (agents (agents alpha + 1))``:
    the smaller ``alpha``, the more do agents differ (Li et al. 2022, "quantity skew"). Labels play no part.
    """

    scheme: Literal["quantity"]
    alpha: Annotated[Number, Field(gt=0, le=1e6)]

    def shares(self, dataset: Dataset) -> dict[str, Any]:
        """Return what is drawn for each seed."""
        return {"drawn": "labels" if self.by_labels else "sizes"}

    def _owners(self, sizes: list[int], rng: np.random.Generator) -> Iterator[NDArray[np.int64]]:
        for size in sizes:
            shares = rng.dirichlet(np.full(self.agents, self.alpha))
            ends = np.round(np.cumsum(shares)[:-1] * size).astype(int)
            yield np.searchsorted(ends, np.arange(size), side="right")


class Dirichlet(Quantity):
    """Partition with unequal labels: each class has its own shares, drawn from a symmetric Dirichlet distribution.

    An agent's share of a class has the mean and the variance that `Quantity` states for all rows, for each class by
    itself (Yurochkin et al. 2019; Li et al. 2022).
    """

    by_labels: ClassVar[bool] = True

    scheme: Literal["dirichlet"]  # type: ignore[assignment]


class Labels(_SkewedScheme):
    """Partition with few labels: an agent has rows of ``per_agent`` classes, whose agents share the rows equally.

    Which classes are an agent's is drawn: each with the probability ``per_agent / K`` of K classes, and numbers of
    agents of two classes differ by one at most (McMahan et al. 2017 has two classes for most agents).
    """

    by_labels: ClassVar[bool] = True

    scheme: Literal["labels"]
    per_agent: Count

    def n_agents(self, info: DatasetInfo) -> int:
        """Count the agents; ValueError if classes are too few, or some would have no agent."""
        agents, k = super().n_agents(info), info.n_classes
        if self.per_agent > k:
            raise ValueError(f"agents.per_agent: {info.name} has {k} classes, not {self.per_agent}")
        if agents * self.per_agent < k:
            raise ValueError(
                f"agents.per_agent: {agents} agents with {self.per_agent} of the {k} classes of {info.name} each leave "
                "some to nobody"
            )
        return agents

    def shares(self, dataset: Dataset) -> dict[str, Any]:
        """Return the number of labels of an agent, which are drawn for each seed."""
        return {"drawn": "labels", "labels": self.per_agent}

    def _owners(self, sizes: list[int], rng: np.random.Generator) -> Iterator[NDArray[np.int64]]:
        labels, agents = rng.permutation(len(sizes)), rng.permutation(self.agents)
        # Agents, in a drawn order, take the next classes of a drawn circle.
        taken = labels[np.arange(self.agents * self.per_agent) % len(sizes)]
        for label, size in enumerate(sizes):
            holders = agents[np.flatnonzero(taken == label) // self.per_agent]
            yield np.repeat(holders, [n_rows(part) for part in equal_parts(size, len(holders))])
