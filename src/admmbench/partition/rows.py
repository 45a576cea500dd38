"""Partitions of the rows of a data set into equal shares, or by an attribute of the records."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from admmbench.datasets import Dataset, DatasetInfo, RowSelection, Shares, Split
from admmbench.partition.base import Draw, Scheme, check_agents, equal_parts
from admmbench.partition.targets import describe_targets, targets_differ
from admmbench.validation import Count, suggestion


class IID(Scheme):
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

    @property
    def shuffled(self) -> bool:
        """Return whether seeds draw their own rows."""
        return self.shuffle

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
        return check_agents(self.agents, self.n_train(info), info)

    def shares(self, dataset: Dataset) -> str:
        """Return in words the order of the rows, and how labels then differ between agents."""
        if dataset.info.drawn:
            return ""
        if self.shuffle:
            return "rows in random order, another for each seed"
        return f"rows in file order; {describe_targets(dataset, equal_parts(dataset.n_train, self.agents))}"

    def order_warning(self, dataset: Dataset) -> str:
        """Return a warning if the file order gives agents other targets than chance would, else nothing."""
        if self.shuffle or dataset.drawn or not targets_differ(dataset, self.agents):
            return ""
        return (
            f"agents: {self.shares(dataset)}: more than by chance, as the file is in an order that tells of targets; "
            f"for rows in random order set agents: {{scheme: iid, agents: {self.agents}, shuffle: true}}"
        )

    def split(self, dataset: Dataset, draws: Sequence[Draw]) -> Split:
        """Cut the rows into equal shares, see `Scheme.split`."""
        everyone = slice(0, len(draws))
        if not self.shuffle:
            return Split(
                dataset, [[(everyone, rows)] for rows in equal_parts(dataset.n_train, self.agents)]
            )
        if self.train:
            dataset = _with_all_rows(dataset)
        orders, n = _draw_orders(dataset, draws), self.n_train(dataset)

        def take(part: slice) -> Shares:
            return [(seeds, np.sort(order[part])) for seeds, order in orders]

        shares = [take(part) for part in equal_parts(n, self.agents)]
        return Split(dataset, shares, take(slice(n, None)) if self.train else None)


class Stratified(Scheme):
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

    @property
    def shuffled(self) -> bool:
        """Return whether seeds draw their own rows."""
        return self.shuffle

    def n_train(self, data: DatasetInfo | Dataset) -> int:
        """Count the training rows of all agents; of a `DatasetInfo`, before rows are left out."""
        if isinstance(data, DatasetInfo):
            return data.n_train + (data.n_test if self.train else 0)
        return sum(count - count % self.agents for count in self._counts(data))

    def n_agents(self, info: DatasetInfo) -> int:
        """Count the agents; ValueError if the targets are no classes, or there are too few rows."""
        if not info.n_classes:
            raise ValueError(f"agents: targets of {info.name} are no classes; use scheme: iid")
        return check_agents(self.agents, self.n_train(info), info)

    def split(self, dataset: Dataset, draws: Sequence[Draw]) -> Split:
        """Cut each class into equal shares, see `Scheme.split`; ValueError if a class has fewer rows than agents."""
        for name, count in zip(dataset.class_names, self._counts(dataset), strict=True):
            if 0 < count < self.agents:
                raise ValueError(
                    f"agents: {self.agents} agents cannot share the {count} rows of class {name!r} of {dataset.name}"
                )
        if self.train:
            dataset = _with_all_rows(dataset)
        orders = [(slice(0, len(draws)), np.arange(dataset.n_train))]
        if self.shuffle:
            orders = _draw_orders(dataset, draws)
        folds = [(seeds, self._folds(dataset, order)) for seeds, order in orders]
        return Split(
            dataset, [[(seeds, rows[p]) for seeds, rows in folds] for p in range(self.agents)]
        )

    def _counts(self, dataset: Dataset) -> list[int]:
        """Count the rows of each class that may train."""
        parts = [dataset.y_train, dataset.y_test] if self.train else [dataset.y_train]
        return np.bincount(np.concatenate(parts), minlength=dataset.n_classes).tolist()

    def _folds(self, dataset: Dataset, order: NDArray[np.int64]) -> NDArray[np.int64]:
        """Cut each class in this order of the rows; return the rows of each agent, shape (agents, n), increasing."""
        classes = [order[dataset.y_train[order] == k] for k in range(dataset.n_classes)]
        cut = [rows[: len(rows) - len(rows) % self.agents] for rows in classes]
        return np.sort(np.hstack([rows.reshape(self.agents, -1) for rows in cut]), axis=1)


class By(Scheme):
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

    def shares(self, dataset: Dataset) -> str:
        """Return in words how labels differ between agents."""
        return describe_targets(dataset, self._rows(dataset))

    def split(self, dataset: Dataset, draws: Sequence[Draw]) -> Split:
        """Give each agent the rows of its value, see `Scheme.split`."""
        everyone = slice(0, len(draws))
        return Split(dataset, [[(everyone, rows)] for rows in self._rows(dataset)])

    def _rows(self, dataset: Dataset) -> Sequence[RowSelection]:
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


def _draw_orders(dataset: Dataset, draws: Sequence[Draw]) -> list[tuple[slice, NDArray[np.int64]]]:
    """Draw an order of the training rows for each seed."""
    return [(slice(k, k + 1), draw().permutation(dataset.n_train)) for k, draw in enumerate(draws)]


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
