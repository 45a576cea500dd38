"""Partitions: which rows of the training data belong to which agent, or which columns to which party."""

from __future__ import annotations

import itertools
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Self, get_args

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, TypeAdapter, model_validator
from scipy.special import rel_entr

from admmbench.datasets import Dataset, DatasetInfo
from admmbench.validation import Count, Number, Strict, suggestion, unknown

RowSelection = slice | NDArray[np.int64]
Shares = list[tuple[slice, RowSelection]]
"""Pairs of a slice of the seed axis and the training rows of these seeds: one pair where all seeds share them, and one
pair per seed otherwise."""
Draw = Callable[[], np.random.Generator]
"""Random numbers of a seed for its partition, from their beginning."""
Stream = Callable[[int | None], np.random.Generator]
"""Random numbers of an agent, or of the server (None)."""


def n_rows(rows: RowSelection) -> int:
    """Count rows; a slice has both ends."""
    return int(rows.stop - rows.start) if isinstance(rows, slice) else len(rows)


class Split(NamedTuple):
    """Who trains on which rows, and which rows test."""

    dataset: Dataset
    """What rows refer to: its training part, where test rows were drawn from it too with those of the test part."""
    shares: list[Shares]
    """For every agent, its training rows."""
    held_out: Shares | None = None
    """The rows of the training part that test; None where the test part does."""
    instances: Sequence[Stream] = ()
    """For each seed, where an agent's part of a drawn problem comes from."""


class ColumnSplit(NamedTuple):
    """Who holds which features."""

    dataset: Dataset
    columns: list[slice]
    """For every party, the columns of the data."""


class _Scheme(Strict):
    sharing: ClassVar[Literal["rows", "columns"]] = "rows"
    """What is shared out."""
    by_labels: ClassVar[bool] = False
    """Whether labels decide who holds a row, so that a record with another label would move others."""

    @property
    def shuffled(self) -> bool:
        """Whether seeds draw their own rows."""
        return False

    @property
    def uneven(self) -> bool:
        """Whether seeds give an agent other numbers of rows."""
        return False

    def n_train(self, data: DatasetInfo | Dataset) -> int:
        """Count the training rows of all agents together; at most, where it depends on targets and `data` has none."""
        return data.n_train

    def n_test(self, data: DatasetInfo | Dataset) -> int:
        """Count the rows that test."""
        return data.n_test

    def n_features(self, info: DatasetInfo) -> int:
        """Count the columns that are used."""
        return info.n_features

    def shares(self, dataset: Dataset) -> str:
        """Say what agents hold, as far as the name of the scheme does not."""
        return ""

    @property
    def tests_on_test_part(self) -> bool:
        """Whether the rows of the test part test, and none of them trains."""
        return getattr(self, "train", None) is None

    def order_warning(self, dataset: Dataset) -> str:
        """Say that the order of the rows gives agents other targets than chance would; empty if it does not."""
        return ""

    @property
    def fixed(self) -> Partition:
        """The partition with equally many agents for which all seeds share out the rows in the same way."""
        drawn = {"shuffle": False, "train": None}
        own = {name: drawn[name] for name in drawn if name in type(self).model_fields}
        return self.model_copy(update=own)  # type: ignore[return-value]

    @abstractmethod
    def split(self, dataset: Dataset, draws: Sequence[Draw]) -> Split | ColumnSplit:
        """Share out the training rows or the columns of a data set, for a batch of seeds.

        Parameters
        ----------
        dataset
            The data set.
        draws
            For each seed, what gives its random numbers.
        """


# Probability below which targets of agents are said not to differ by chance.
_CHANCE = 1e-4
# Kinds of numbers, by their ranks.
_KINDS = 10
# What `shares` says.
_UNEQUAL = "of each label other shares for each agent, drawn for each seed"
_TOUCHES = (
    "labels decide who holds a row, so that neighbours are of the rows as they are shared out"
)

Alpha = Annotated[Number, Field(gt=0, le=1e6)]
"""Concentration of a Dirichlet distribution."""


def _with_a_row_each(agents: int, n_train: int, info: DatasetInfo) -> int:
    """Count the agents; ValueError if there are fewer training rows. Drawn problems have no rows to share."""
    if agents > n_train and not info.drawn:
        raise ValueError(
            f"agents: {agents} agents cannot share the {n_train} training rows of {info.name}; at most one agent a row"
        )
    return agents


class IID(_Scheme):
    """Equal shares of the rows, as ``numpy.array_split`` cuts them (sizes differ by one at most).

    ``shuffle: false`` keeps the file order, as the code of ryu2021 and ryu2022 does, so that all seeds share one
    partition; ``true`` draws another permutation for every seed. ``train`` draws so many of all rows, those of the test
    part included, and tests on the rest, as huang2019 does; another draw for every seed.
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
        """Whether seeds draw their own rows."""
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
        return _with_a_row_each(self.agents, self.n_train(info), info)

    def shares(self, dataset: Dataset) -> str:
        """Say in which order rows are shared out, and how labels then differ between agents."""
        if dataset.info.drawn:
            return ""
        if self.shuffle:
            return "rows in random order, another for each seed"
        return (
            f"rows in file order; {_targets(dataset, _equal_parts(dataset.n_train, self.agents))}"
        )

    def order_warning(self, dataset: Dataset) -> str:
        """See `_Scheme`."""
        if self.shuffle or dataset.drawn or not _differ(dataset, self.agents):
            return ""
        return (
            f"agents: {self.shares(dataset)}: more than by chance, as the file is in an order that tells of targets; "
            f"for rows in random order set agents: {{scheme: iid, agents: {self.agents}, shuffle: true}}"
        )

    def split(self, dataset: Dataset, draws: Sequence[Draw]) -> Split:
        """See `split`."""
        everyone = slice(0, len(draws))
        if not self.shuffle:
            return Split(
                dataset, [[(everyone, rows)] for rows in _equal_parts(dataset.n_train, self.agents)]
            )
        if self.train:
            dataset = _with_all_rows(dataset)
        orders, n = _orders(dataset, draws), self.n_train(dataset)

        def drawn(part: slice) -> Shares:
            return [(seeds, np.sort(order[part])) for seeds, order in orders]

        shares = [drawn(part) for part in _equal_parts(n, self.agents)]
        return Split(dataset, shares, drawn(slice(n, None)) if self.train else None)


class Stratified(_Scheme):
    """Equal shares of the rows of each class, so that all agents have equally many rows and the same class ratio.

    he2023 (section 5.2) has such folds. What a class has beyond a multiple of ``agents`` is left out: its last rows, or
    with ``shuffle: true`` those drawn last, another draw for every seed. ``train: all`` shares out the rows of the test
    part too, as he2023 tests on none; what is measured on the test part is then no test.
    """

    by_labels: ClassVar[bool] = True

    scheme: Literal["stratified"]
    agents: Count
    shuffle: bool = False
    train: Literal["all"] | None = None

    @property
    def shuffled(self) -> bool:
        """Whether seeds draw their own rows."""
        return self.shuffle

    def n_train(self, data: DatasetInfo | Dataset) -> int:
        """Count the training rows of all agents; of a `DatasetInfo`, before anything is left out."""
        if isinstance(data, DatasetInfo):
            return data.n_train + (data.n_test if self.train else 0)
        return sum(count - count % self.agents for count in self._counts(data))

    def n_agents(self, info: DatasetInfo) -> int:
        """Count the agents; ValueError if the targets are no classes, or there are too few rows."""
        if not info.n_classes:
            raise ValueError(f"agents: targets of {info.name} are no classes; use scheme: iid")
        return _with_a_row_each(self.agents, self.n_train(info), info)

    def split(self, dataset: Dataset, draws: Sequence[Draw]) -> Split:
        """See `split`; ValueError if a class has fewer rows than there are agents."""
        for name, count in zip(dataset.class_names, self._counts(dataset), strict=True):
            if 0 < count < self.agents:
                raise ValueError(
                    f"agents: {self.agents} agents cannot share the {count} rows of class {name!r} of {dataset.name}"
                )
        if self.train:
            dataset = _with_all_rows(dataset)
        orders = [(slice(0, len(draws)), np.arange(dataset.n_train))]
        if self.shuffle:
            orders = _orders(dataset, draws)
        folds = [(seeds, self._folds(dataset, order)) for seeds, order in orders]
        return Split(
            dataset, [[(seeds, rows[p]) for seeds, rows in folds] for p in range(self.agents)]
        )

    def _counts(self, dataset: Dataset) -> list[int]:
        """Count the rows of each class that may train."""
        parts = [dataset.y_train, dataset.y_test] if self.train else [dataset.y_train]
        return np.bincount(np.concatenate(parts), minlength=dataset.n_classes).tolist()

    def _folds(self, dataset: Dataset, order: NDArray[np.int64]) -> NDArray[np.int64]:
        """Cut each class in this order of the rows; rows of each agent, shape (agents, n), increasing."""
        classes = [order[dataset.y_train[order] == k] for k in range(dataset.n_classes)]
        cut = [rows[: len(rows) - len(rows) % self.agents] for rows in classes]
        return np.sort(np.hstack([rows.reshape(self.agents, -1) for rows in cut]), axis=1)


class By(_Scheme):
    """An agent for each value of an attribute of the records, such as a hospital; a value may have no rows."""

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
        """Say how labels differ between agents."""
        return _targets(dataset, self._rows(dataset))

    def split(self, dataset: Dataset, draws: Sequence[Draw]) -> Split:
        """See `split`."""
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
        return [order[each] for each in slices]


class ByWriter(By):
    """One agent per writer: `By`, for the attribute ``writer``."""

    scheme: Literal["by_writer"]  # type: ignore[assignment]
    column: Literal["writer"] = Field(default="writer", exclude=True)


class _Drawn(_Scheme):
    """Rows in an order that is drawn for each seed, as are the shares of agents."""

    agents: Count

    @property
    def shuffled(self) -> bool:
        """Seeds draw their own rows."""
        return True

    @property
    def uneven(self) -> bool:
        """Seeds draw how many rows an agent has."""
        return True

    @property
    def fixed(self) -> Partition:
        """Equal shares in file order."""
        return IID(agents=self.agents)

    def n_agents(self, info: DatasetInfo) -> int:
        """Count the agents; ValueError if the data set cannot serve them."""
        if self.by_labels and not info.n_classes:
            raise ValueError(f"agents: targets of {info.name} are no classes; use scheme: iid")
        return _with_a_row_each(self.agents, info.n_train, info)

    def split(self, dataset: Dataset, draws: Sequence[Draw]) -> Split:
        """See `split`."""
        owners = [self._owners(dataset, draw()) for draw in draws]
        return Split(
            dataset,
            [
                [(slice(k, k + 1), np.flatnonzero(own == p)) for k, own in enumerate(owners)]
                for p in range(self.agents)
            ],
        )

    @abstractmethod
    def _owners(self, dataset: Dataset, rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw the agent of each training row."""


class Quantity(_Drawn):
    """Unequal numbers of rows: their shares are drawn from a symmetric Dirichlet distribution.

    The share of an agent has mean ``1 / agents`` and variance ``(1 - 1 / agents) / (agents (agents alpha + 1))``:
    the smaller ``alpha``, the more do agents differ (Li et al. 2022, "quantity skew"). Labels play no part.
    """

    scheme: Literal["quantity"]
    alpha: Alpha

    def shares(self, dataset: Dataset) -> str:
        """Say how rows are shared out."""
        return "unequal numbers of rows, drawn for each seed"

    def _owners(self, dataset: Dataset, rng: np.random.Generator) -> NDArray[np.int64]:
        order = rng.permutation(dataset.n_train)
        return _dealt(order, rng.dirichlet(np.full(self.agents, self.alpha)))


class Dirichlet(_Drawn):
    """Unequal labels: the rows of each class are shared out as a symmetric Dirichlet distribution says.

    So the share of a class that an agent has varies as `Quantity` says of all rows, for each class by itself (Yurochkin
    et al. 2019; Li et al. 2022).
    """

    by_labels: ClassVar[bool] = True

    scheme: Literal["dirichlet"]
    alpha: Alpha

    def shares(self, dataset: Dataset) -> str:
        """Say how rows are shared out."""
        return f"{_UNEQUAL}; {_TOUCHES}"

    def _owners(self, dataset: Dataset, rng: np.random.Generator) -> NDArray[np.int64]:
        order, owners = rng.permutation(dataset.n_train), np.empty(dataset.n_train, np.int64)
        for label in range(dataset.n_classes):
            rows = order[dataset.y_train[order] == label]
            shares = rng.dirichlet(np.full(self.agents, self.alpha))
            owners[rows] = _dealt(np.arange(len(rows)), shares)
        return owners


class Labels(_Drawn):
    """Few labels: each agent has rows of ``per_agent`` classes, and the agents of a class share its rows equally.

    Which classes are an agent's is drawn: each with the probability ``per_agent / K`` of K classes, and numbers of
    agents of two classes differ by one at most (McMahan et al. 2017 has two classes for most agents).
    """

    by_labels: ClassVar[bool] = True

    scheme: Literal["labels"]
    per_agent: Count

    def n_agents(self, info: DatasetInfo) -> int:
        """Count the agents; ValueError if classes are too few, or some would be nobody's."""
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
        """Say how rows are shared out."""
        return f"labels of an agent: {self.per_agent}, drawn for each seed; {_TOUCHES}"

    def _owners(self, dataset: Dataset, rng: np.random.Generator) -> NDArray[np.int64]:
        order, owners = rng.permutation(dataset.n_train), np.empty(dataset.n_train, np.int64)
        labels, agents = rng.permutation(dataset.n_classes), rng.permutation(self.agents)
        # Agents, in a drawn order, take the next classes of a drawn circle.
        taken = np.arange(self.agents * self.per_agent) % dataset.n_classes
        for place, label in enumerate(labels):
            rows = order[dataset.y_train[order] == label]
            own = agents[np.flatnonzero(taken == place) // self.per_agent]
            owners[rows] = np.repeat(own, [len(part) for part in np.array_split(rows, len(own))])
        return owners


class Columns(_Scheme):
    """Features over parties: every party holds a block of columns of all rows, as in hu2019.

    ``blocks`` gives the number of columns of each party, in the order of the data, or the number of parties, whose
    blocks then differ by one column at most. ``features`` leaves out all but the first so many columns.
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
        """See `split`; all seeds share the blocks."""
        if isinstance(self.blocks, int):
            return ColumnSplit(dataset, _equal_parts(self.n_features(dataset.info), self.blocks))
        return ColumnSplit(dataset, _consecutive(self.blocks))


def _dealt(order: NDArray[np.int64], shares: NDArray[np.float64]) -> NDArray[np.int64]:
    """Owner of each of ``range(n)``, which get their shares in this order, each rounded so that all is shared out."""
    ends = np.round(np.cumsum(shares)[:-1] * len(order)).astype(int)
    owners = np.empty(len(order), np.int64)
    owners[order] = np.searchsorted(ends, np.arange(len(order)), side="right")
    return owners


def _differ(dataset: Dataset, agents: int) -> bool:
    """Tell whether targets in equal parts differ by more than chance.

    Agents may have too few rows to tell. Larger parts then show whether the file is sorted, so the number of parts is
    halved again and again.
    """
    n, found = dataset.n_train, []
    if not 1 < agents < n:
        return False
    kinds = _kinds(dataset)
    while agents > 1:
        found.append(_chance(kinds, np.arange(n) * agents // n))
        agents //= 2
    return min(found) * len(found) < _CHANCE


def _kinds(dataset: Dataset) -> NDArray[np.int64]:
    """Kind of each target: its class, or of numbers the tenth that its rank is in, which equal numbers share."""
    if dataset.n_classes:
        return dataset.y_train.astype(np.int64)
    _, own, counts = np.unique(dataset.y_train, return_inverse=True, return_counts=True)
    ranks = counts.cumsum() - counts / 2
    return (ranks * _KINDS / dataset.n_train).astype(np.int64)[own]


def _chance(kinds: NDArray[np.int64], parts: NDArray[np.int64]) -> float:
    """Bound the probability that any part has as much more of a kind than its share in a random order.

    For each part and kind it is Chernoff's bound, which holds without replacement (Hoeffding, 1963, section 6): a part
    draws rows, or a kind draws places.
    """
    in_part, in_all = np.bincount(parts), np.bincount(kinds)
    cells, counts = np.unique(parts * len(in_all) + kinds, return_counts=True)
    part, kind = np.divmod(cells, len(in_all))
    rows, total = in_part[part], in_all[kind]
    usual = rows * total / len(kinds)
    exponents = [
        rel_entr(counts, usual) + rel_entr(drawn - counts, drawn - usual) for drawn in (rows, total)
    ]
    largest = np.max(exponents, axis=0)[counts > usual].max(initial=0)
    return float(len(in_part) * np.count_nonzero(in_all) * np.exp(-largest))


def _targets(dataset: Dataset, parts: Sequence[RowSelection]) -> str:
    """Say how targets differ between agents: means, or the shares of the class that differs most."""
    if not dataset.n_classes:
        means = [dataset.y_train[rows].mean(dtype=np.float64) for rows in parts if n_rows(rows)]
        low, high, whole = dataset.in_unit(
            np.array([min(means), max(means), dataset.y_train.mean(dtype=np.float64)])
        )
        return f"the mean of an agent's targets is {low:.4g} to {high:.4g}, of all {whole:.4g} ({len(parts)} agents)"
    labels = dataset.y_train.astype(np.int64)
    counts = np.array([np.bincount(labels[rows], minlength=dataset.n_classes) for rows in parts])
    whole = counts.sum(axis=0) / counts.sum()
    own = counts[counts.any(axis=1)]
    shares = own / own.sum(axis=1, keepdims=True)
    label = int(np.abs(shares - whole).max(axis=0).argmax())
    low, high = 100 * shares[:, label].min(), 100 * shares[:, label].max()
    return (
        f"of an agent's rows {low:.0f} to {high:.0f} % have the label {dataset.class_names[label]!r}, "
        f"of all rows {100 * whole[label]:.0f} % ({len(parts)} agents)"
    )


def _orders(dataset: Dataset, draws: Sequence[Draw]) -> list[tuple[slice, NDArray[np.int64]]]:
    """Draw an order of the training rows for each seed."""
    return [(slice(k, k + 1), draw().permutation(dataset.n_train)) for k, draw in enumerate(draws)]


def _with_all_rows(dataset: Dataset) -> Dataset:
    """Return the data set whose training part has the rows of the test part too, after its own; the test part stays."""
    return replace(
        dataset,
        X_train=np.concatenate([dataset.X_train, dataset.X_test]),
        y_train=np.concatenate([dataset.y_train, dataset.y_test]),
        attributes={
            name: replace(each, train=np.concatenate([each.train, each.test]))
            for name, each in dataset.attributes.items()
        },
    )


def _equal_parts(n: int, parts: int) -> list[slice]:
    """Cut ``range(n)`` as ``numpy.array_split`` does."""
    return _consecutive([len(part) for part in np.array_split(np.empty(n, np.int8), parts)])


def _consecutive(sizes: Sequence[int]) -> list[slice]:
    """Return slices of these sizes, each from where the last ends."""
    ends = itertools.accumulate(sizes, initial=0)
    return [slice(*bounds) for bounds in itertools.pairwise(ends)]


Partition = IID | Stratified | By | ByWriter | Dirichlet | Labels | Quantity | Columns
_ADAPTER: TypeAdapter[Partition] = TypeAdapter(Annotated[Partition, Field(discriminator="scheme")])


def as_partition(spec: int | dict[str, Any] | Partition) -> Partition:
    """Make a partition from a number of agents, or from a mapping with the key ``scheme``."""
    if isinstance(spec, int):
        spec = {"scheme": "iid", "agents": spec}
    if spec == {"scheme": "by", "column": "writer"}:
        spec = {"scheme": "by_writer"}  # one spelling, so that equal runs are one
    if isinstance(spec, dict) and spec.get("scheme") not in (names := _schemes()):
        if "scheme" not in spec:
            raise ValueError(f"agents: lacks the key scheme: {', '.join(names)}")
        raise ValueError(f"agents.scheme: {unknown('scheme', spec['scheme'], names)}")
    return _ADAPTER.validate_python(spec)


def _schemes() -> list[str]:
    """Names of all schemes."""
    return [
        name
        for each in get_args(Partition)
        for name in get_args(each.model_fields["scheme"].annotation)
    ]


def usual(info: DatasetInfo) -> Partition:
    """Return the partition if nobody says who holds which rows: an agent for each group, or ten equal shares."""
    return as_partition({"scheme": "by", "column": info.group} if info.group else 10)
