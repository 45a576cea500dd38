"""Partitions of the rows of a data set into equal shares, or by an attribute of the records."""

from __future__ import annotations

import itertools
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from admmbench.datasets import Dataset, DatasetInfo, RowSelection, Shares, Split
from admmbench.partition.base import Draw, Scheme, equal_parts
from admmbench.partition.targets import describe_targets, targets_differ
from admmbench.validation import Count, suggestion

Random = np.random.Generator | None
"""Random numbers of a seed; None where nothing is drawn."""


class RowScheme(Scheme):
    """Rule by which the rows of a data set are partitioned, once for all seeds or anew for each."""

    if TYPE_CHECKING:  # the place of the key in files differs between schemes
        agents: int

    def n_agents(self, info: DatasetInfo) -> int:
        """Count the agents; ValueError if the data set cannot serve them. Drawn problems have no rows."""
        if self.by_labels and not info.n_classes:
            raise ValueError(f"agents: targets of {info.name} are no classes; use scheme: iid")
        if self.agents > (n := self.n_train(info)) and not info.drawn:
            raise ValueError(
                f"agents: {self.agents} agents cannot share the {n} training rows of {info.name}; at most one agent a "
                "row"
            )
        return self.agents

    def split(self, dataset: Dataset, draws: Sequence[Draw]) -> Split:
        """Partition the rows, see `Scheme.split`; rows that train come from both parts if `train` is stated."""
        agents = range(self.n_agents(dataset.info))
        train = getattr(self, "train", None)
        if train:
            dataset = _with_all_rows(dataset)
        if self.shuffled:
            cuts = [(slice(k, k + 1), self.cut(dataset, draw())) for k, draw in enumerate(draws)]
        else:
            cuts = [(slice(0, len(draws)), self.cut(dataset))]
        shares = [[(seeds, rows[agent]) for seeds, rows in cuts] for agent in agents]
        if not isinstance(train, int):
            return Split(dataset, shares, test_owners=self.test_owners(dataset))
        everything = np.arange(dataset.n_train, dtype=np.int64)
        tests: Shares = []
        for seeds, rows in cuts:
            used = np.concatenate([everything[part] for part in rows])
            tests.append((seeds, np.setdiff1d(everything, used)))
        return Split(dataset, shares, tests)

    @abstractmethod
    def cut(self, dataset: Dataset, rng: Random = None) -> Sequence[RowSelection]:
        """Return the training rows of each agent, in increasing order."""


class IID(RowScheme):
    """Partition into equal shares of the rows, as ``numpy.array_split`` cuts them (sizes differ by one at most).

    ``shuffle: false`` keeps the file order, as the code of ryu2021 and ryu2022 does, so that all seeds share one
    partition; ``true`` draws another permutation for every seed. ``train`` is the number of
    training rows: they are drawn for every seed from all rows, those of the test part included, and the rest tests, as
    huang2019 does.
    """

    scheme: Literal["iid"] = "iid"
    agents: Count
    shuffle: bool = False
    train: Count | None = None

    @model_validator(mode="after")
    def _drawn_rows_are_shuffled(self) -> Self:
        if self.train and not self.shuffle:
            raise ValueError("train draws rows at random; it needs shuffle: true")
        return self

    def n_train(self, data: DatasetInfo | Dataset) -> int:
        """Count the training rows of all agents."""
        return self.train or data.n_train

    def n_test(self, data: DatasetInfo | Dataset) -> int:
        """Count the rows that test."""
        return data.n_train + data.n_test - self.train if self.train else data.n_test

    def n_agents(self, info: DatasetInfo) -> int:
        """Count the agents; ValueError if the data set cannot serve them."""
        total = info.n_train + info.n_test
        if self.train and self.train >= total:
            raise ValueError(
                f"train: {self.train} of the {total} rows of {info.name} leave none to test on"
            )
        return super().n_agents(info)

    def shares(self, dataset: Dataset) -> dict[str, Any]:
        """Return the order of the rows, and how targets then differ between agents."""
        if dataset.info.drawn:
            return {}
        if self.shuffle:
            return {"order": "random"}
        return {"order": "file", **describe_targets(dataset, self.cut(dataset))}

    def order_warning(self, dataset: Dataset) -> str:
        """Return a warning if the file order gives agents other targets than chance would, else nothing."""
        if self.shuffle or dataset.drawn or not targets_differ(dataset, self.agents):
            return ""
        return (
            "agents: rows in file order give agents targets that differ by more than chance, as the order tells of "
            f"targets; for rows in random order set agents: {{scheme: iid, agents: {self.agents}, shuffle: true}}"
        )

    def cut(self, dataset: Dataset, rng: Random = None) -> Sequence[RowSelection]:
        """Cut the rows into equal shares, see `RowScheme.cut`."""
        parts = equal_parts(self.n_train(dataset), self.agents)
        if rng is None:
            return parts
        order = rng.permutation(dataset.n_train)
        return [np.sort(order[part]) for part in parts]


class Stratified(RowScheme):
    """Partition into equal shares of each class, so that all agents have equally many rows and the same class ratio.

    he2023 (section 5.2) has such folds. The rows of a class beyond a multiple of ``agents`` are left out: its last
    rows, or with ``shuffle: true`` those drawn last, another draw for every seed. With ``train: all`` the agents hold
    the rows of the test part too, as he2023 tests on none; errors on the test part are then no test.
    """

    by_labels: ClassVar[bool] = True

    scheme: Literal["stratified"]
    agents: Count
    shuffle: bool = False
    train: Literal["all"] | None = None

    def n_train(self, data: DatasetInfo | Dataset) -> int:
        """Count the training rows of all agents; of a `DatasetInfo`, before rows are left out."""
        if isinstance(data, DatasetInfo):
            return data.n_train + (data.n_test if self.train else 0)
        parts = [data.y_train, data.y_test] if self.train else [data.y_train]
        counts = np.bincount(np.concatenate(parts)).tolist()
        return sum(count - count % self.agents for count in counts)

    def cut(self, dataset: Dataset, rng: Random = None) -> Sequence[RowSelection]:
        """Cut each class into equal shares, see `RowScheme.cut`; ValueError if a class has fewer rows than agents."""
        order = np.arange(dataset.n_train) if rng is None else rng.permutation(dataset.n_train)
        shares = []
        for label, name in enumerate(dataset.class_names):
            rows = order[dataset.y_train[order] == label]
            if 0 < len(rows) < self.agents:
                raise ValueError(
                    f"agents: {self.agents} agents cannot share the {len(rows)} rows of class {name!r} of "
                    f"{dataset.name}"
                )
            shares.append(rows[: len(rows) - len(rows) % self.agents].reshape(self.agents, -1))
        return [*np.sort(np.hstack(shares), axis=1)]


class By(RowScheme):
    """Partition by an attribute of the records, such as a hospital: an agent for each value, perhaps without rows."""

    scheme: Literal["by"]
    column: str

    def n_agents(self, info: DatasetInfo) -> int:
        """Count the agents; ValueError if the records have no such attribute."""
        known = info.attributes
        if self.column not in known:
            fix = (
                suggestion(self.column, known)
                or "; its records have no attributes, use scheme: iid"
            )
            raise ValueError(f"agents: {info.name} does not say the {self.column!r} of a row{fix}")
        return known[self.column]

    def test_owners(self, dataset: Dataset) -> NDArray[np.int32]:
        """Return the agent of each row of the test part, see `Scheme.test_owners`."""
        return dataset.attributes[self.column].test

    def shares(self, dataset: Dataset) -> dict[str, Any]:
        """Return how targets differ between agents."""
        return describe_targets(dataset, self.cut(dataset))

    def cut(self, dataset: Dataset, rng: Random = None) -> Sequence[RowSelection]:
        """Return the training rows of each value: slices, which copy nothing, where rows are in its order."""
        attribute = dataset.attributes[self.column]
        codes, values = attribute.train, np.arange(len(attribute.values) + 1)
        order = np.argsort(codes, kind="stable")
        starts = np.searchsorted(codes[order], values).tolist()
        slices = list(itertools.starmap(slice, itertools.pairwise(starts)))
        if (np.diff(codes) >= 0).all():
            return slices
        return [order[part] for part in slices]


class ByWriter(By):
    """Partition with one agent per writer: `By`, for the attribute ``writer``."""

    scheme: Literal["by_writer"]  # type: ignore[assignment]
    column: Literal["writer"] = Field(default="writer", exclude=True)


def _with_all_rows(dataset: Dataset) -> Dataset:
    """Return the data set whose training part has the rows of the test part too, after its own; the test part stays."""
    return replace(
        dataset,
        X_train=np.concatenate([dataset.X_train, dataset.X_test]),
        y_train=np.concatenate([dataset.y_train, dataset.y_test]),
        attributes={
            name: replace(attribute, train=np.concatenate([attribute.train, attribute.test]))
            for name, attribute in dataset.attributes.items()
        },
    )
