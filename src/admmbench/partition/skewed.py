"""Partitions in which the agents' numbers of rows or their labels differ, drawn for each seed."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from admmbench.datasets import Dataset, DatasetInfo, Split
from admmbench.partition.base import Draw, Scheme, check_agents
from admmbench.partition.rows import IID
from admmbench.validation import Count, Number

# What `Scheme.shares` returns.
_UNEQUAL = "of each label other shares for each agent, drawn for each seed"
_TOUCHES = (
    "labels decide who holds a row, so that neighbours are of the rows as they are shared out"
)

Alpha = Annotated[Number, Field(gt=0, le=1e6)]
"""Concentration of a Dirichlet distribution."""


class _SkewedScheme(Scheme):
    """Partition of rows in an order that is drawn for each seed, as are the shares of agents."""

    agents: Count

    @property
    def shuffled(self) -> bool:
        """Return true: seeds draw their own rows."""
        return True

    @property
    def uneven(self) -> bool:
        """Return true: seeds draw how many rows an agent has."""
        return True

    @property
    def fixed(self) -> IID:
        """Return the partition into equal shares in file order."""
        return IID(agents=self.agents)

    def n_agents(self, info: DatasetInfo) -> int:
        """Count the agents; ValueError if the data set cannot serve them."""
        if self.by_labels and not info.n_classes:
            raise ValueError(f"agents: targets of {info.name} are no classes; use scheme: iid")
        return check_agents(self.agents, info.n_train, info)

    def split(self, dataset: Dataset, draws: Sequence[Draw]) -> Split:
        """Draw the owner of each row, see `Scheme.split`."""
        owners = [self._owners(dataset, draw()) for draw in draws]
        return Split(
            dataset,
            [
                [(slice(k, k + 1), np.flatnonzero(owner == p)) for k, owner in enumerate(owners)]
                for p in range(self.agents)
            ],
        )

    @abstractmethod
    def _owners(self, dataset: Dataset, rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw the agent of each training row."""


class Quantity(_SkewedScheme):
    """Partition into unequal numbers of rows: their shares are drawn from a symmetric Dirichlet distribution.

    The share of an agent has mean ``1 / agents`` and variance ``(1 - 1 / agents) / (agents (agents alpha + 1))``:
    the smaller ``alpha``, the more do agents differ (Li et al. 2022, "quantity skew"). Labels play no part.
    """

    scheme: Literal["quantity"]
    alpha: Alpha

    def shares(self, dataset: Dataset) -> str:
        """Return in words how rows are partitioned."""
        return "unequal numbers of rows, drawn for each seed"

    def _owners(self, dataset: Dataset, rng: np.random.Generator) -> NDArray[np.int64]:
        order = rng.permutation(dataset.n_train)
        return _owners_from_shares(order, rng.dirichlet(np.full(self.agents, self.alpha)))


class Dirichlet(_SkewedScheme):
    """Partition with unequal labels: each class has its own shares, drawn from a symmetric Dirichlet distribution.

    An agent's share of a class has the mean and the variance that `Quantity` states for all rows, for each class by
    itself (Yurochkin et al. 2019; Li et al. 2022).
    """

    by_labels: ClassVar[bool] = True

    scheme: Literal["dirichlet"]
    alpha: Alpha

    def shares(self, dataset: Dataset) -> str:
        """Return in words how rows are partitioned."""
        return f"{_UNEQUAL}; {_TOUCHES}"

    def _owners(self, dataset: Dataset, rng: np.random.Generator) -> NDArray[np.int64]:
        order, owners = rng.permutation(dataset.n_train), np.empty(dataset.n_train, np.int64)
        for label in range(dataset.n_classes):
            rows = order[dataset.y_train[order] == label]
            shares = rng.dirichlet(np.full(self.agents, self.alpha))
            owners[rows] = _owners_from_shares(np.arange(len(rows)), shares)
        return owners


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

    def shares(self, dataset: Dataset) -> str:
        """Return in words how rows are partitioned."""
        return f"labels of an agent: {self.per_agent}, drawn for each seed; {_TOUCHES}"

    def _owners(self, dataset: Dataset, rng: np.random.Generator) -> NDArray[np.int64]:
        order, owners = rng.permutation(dataset.n_train), np.empty(dataset.n_train, np.int64)
        labels, agents = rng.permutation(dataset.n_classes), rng.permutation(self.agents)
        # Agents, in a drawn order, take the next classes of a drawn circle.
        taken = np.arange(self.agents * self.per_agent) % dataset.n_classes
        for place, label in enumerate(labels):
            rows = order[dataset.y_train[order] == label]
            holders = agents[np.flatnonzero(taken == place) // self.per_agent]
            sizes = [len(part) for part in np.array_split(rows, len(holders))]
            owners[rows] = np.repeat(holders, sizes)
        return owners


def _owners_from_shares(order: NDArray[np.int64], shares: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the owner of each of ``range(n)``: shares follow each other in this order, rounded to whole rows."""
    ends = np.round(np.cumsum(shares)[:-1] * len(order)).astype(int)
    owners = np.empty(len(order), np.int64)
    owners[order] = np.searchsorted(ends, np.arange(len(order)), side="right")
    return owners
