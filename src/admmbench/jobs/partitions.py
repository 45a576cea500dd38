"""Partitions as files: drawn once for a data set, a scheme and a block of seeds, and read by all of their runs."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Sequence
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, cast

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from pydantic import PrivateAttr

from admmbench.datasets import Dataset
from admmbench.engine.streams import FEDERATION, stream
from admmbench.files import MADE_AGAIN
from admmbench.jobs import fingerprint, seal
from admmbench.partition import ColumnSplit, Draw, Partition, RowSelection, Shares, Split
from admmbench.spec.run import RunSpec

NOBODY, TESTS = -1, -2
"""In the place of an agent: the row or column is nobody's; the row was drawn to test."""


def draw(scheme: Partition, data: Dataset, seeds: Sequence[int]) -> xr.Dataset:
    """Draw a partition for some seeds.

    Parameters
    ----------
    scheme
        How rows or columns are shared out.
    data
        The data set.
    seeds
        One partition is drawn for each; a scheme that draws nothing has one for all of them.

    Returns
    -------
    xarray.Dataset
        ``owner``, dims ``seed`` (only where seeds differ) and ``row`` or ``column``: the agent, `NOBODY` or `TESTS`.
        ``counts``, dims ``seed``, ``agent`` and, of rows with classes, ``class``: how many an agent has.
    """
    split = scheme.split(data, [partial(stream, seed, FEDERATION, "partition") for seed in seeds])
    dims = ("seed", "row") if isinstance(split, Split) else ("seed", "column")
    if isinstance(split, ColumnSplit):
        everyone = slice(0, len(seeds))
        shares: list[Shares] = [[(everyone, columns)] for columns in split.columns]
        owner = np.full((len(seeds), data.n_features), NOBODY, np.int32)
    else:
        shares = split.shares
        owner = np.full((len(seeds), split.dataset.n_train), NOBODY, np.int32)
        for at, rows in split.held_out or ():
            owner[at, rows] = TESTS
    for agent, own in enumerate(shares):
        for at, rows in own:
            owner[at, rows] = agent
    agents = len(shares)
    if isinstance(split, Split) and data.n_classes:
        labels = split.dataset.y_train
        counts = np.stack([_table(each, agents, labels, data.n_classes) for each in owner])
        counted: tuple[str, ...] = ("seed", "agent", "class")
    else:
        counts = np.stack([np.bincount(each[each >= 0], minlength=agents) for each in owner])
        counted = ("seed", "agent")
    coords = {"seed": [*seeds], **({"class": [*data.class_names]} if "class" in counted else {})}
    drawn = xr.Dataset(
        {"owner": (dims, owner), "counts": (counted, counts)}, coords, _identity(scheme, data)
    )
    return drawn if scheme.shuffled else drawn.isel(seed=0, drop=True)


def partitioned(spec: RunSpec, data: Dataset, files: Iterable[Path]) -> RunSpec:
    """Return a run whose partition is that of files, or the run itself, which draws it, if there are none.

    Raises
    ------
    StaleResultError
        If a file is damaged, or of another data set or scheme, or if the files lack a seed.
    """
    found = {path: seal.read(path) for path in files}
    if not found:
        return spec
    for path, each in found.items():
        if other := [
            key for key, own in _identity(spec.scheme, data).items() if each.attrs.get(key) != own
        ]:
            raise seal.StaleResultError(
                f"{path}: its partition is of another {' and '.join(other)}; remove it, and {MADE_AGAIN}"
            )
    owner = [each["owner"] for each in found.values()]
    joined = xr.concat(owner, "seed") if "seed" in owner[0].dims else owner[0]
    if "seed" in joined.dims and (lacking := {*spec.seeds} - {*joined["seed"].values.tolist()}):
        raise seal.StaleResultError(
            f"{', '.join(map(str, found))}: no partition for seed {min(lacking)}; name the files of all seeds"
        )
    settings = {name: getattr(spec, name) for name in RunSpec.model_fields}
    run = _PartitionedRun.model_construct(spec.model_fields_set, **settings)
    run._owner = joined
    return run


class _PartitionedRun(RunSpec):
    """A run whose partition was drawn before."""

    _owner: xr.DataArray = PrivateAttr()

    @property
    def scheme(self) -> Partition:
        """Return the partition that the settings state, with the agents that were drawn."""
        return cast("Partition", _Read(super().scheme, self._owner, self.seeds))


class _Read:
    """A scheme that does not draw again, but is otherwise itself."""

    def __init__(self, scheme: Partition, owner: xr.DataArray, seeds: Sequence[int]) -> None:
        self._scheme = scheme
        self._owner = owner.sel(seed=[*seeds]) if "seed" in owner.dims else owner
        self._n_seeds = len(seeds)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._scheme, name)

    def split(self, dataset: Dataset, draws: Sequence[Draw]) -> Split | ColumnSplit:
        """Share out the rows or columns as they were drawn."""
        # Without seeds nothing is drawn: what else there is of a split.
        split, owner = self._scheme.split(dataset, []), np.atleast_2d(self._owner.values)
        if isinstance(split, ColumnSplit):
            columns = cast("list[slice]", _selections(owner[0], len(split.columns)))
            return split._replace(columns=columns)
        at = [slice(place, place + 1) for place in range(len(owner))]
        if "seed" not in self._owner.dims:
            at = [slice(0, self._n_seeds)]
        rows = [_selections(each, len(split.shares)) for each in owner]
        shares: list[Shares] = [[*zip(at, own, strict=True)] for own in zip(*rows, strict=True)]
        held_out: Shares | None = None
        if split.held_out is not None:
            held_out = [*zip(at, (np.flatnonzero(each == TESTS) for each in owner), strict=True)]
        return split._replace(shares=shares, held_out=held_out)


def _selections(owner: NDArray[np.int32], agents: int) -> list[RowSelection]:
    """Return what each agent has, in increasing order: slices, which copy nothing, where owners are in order."""
    order = np.argsort(owner, kind="stable")
    ends = np.searchsorted(owner[order], np.arange(agents + 1))
    owned, ends = order[ends[0] :], ends - ends[0]
    bounds = itertools.pairwise(ends.tolist())
    if (np.diff(owned) == 1).all():
        first = int(owned[0]) if len(owned) else 0
        return [slice(first + start, first + end) for start, end in bounds]
    return [owned[start:end] for start, end in bounds]


def _table(
    owner: NDArray[np.int32], agents: int, labels: NDArray[Any], classes: int
) -> NDArray[np.int64]:
    """Count the rows of each agent and class, shape (agents, classes)."""
    own = owner >= 0
    cells = owner[own] * classes + labels[own]
    return np.bincount(cells, minlength=agents * classes).reshape(agents, classes)


def code() -> str:
    """Hash the code that draws partitions; runs depend on it, too, so that only outdated runs get another partition."""
    drawn_by = fingerprint.of_modules(("admmbench.partition", "admmbench.engine.streams"))
    return fingerprint.of_text(f"{drawn_by} {version('numpy')}")


def _identity(scheme: Partition, data: Dataset) -> dict[str, str]:
    """Return what a partition is of, as attributes of its file."""
    return {
        "dataset": data.name,
        "records": data.key,
        "scheme": json.dumps(scheme.model_dump(), sort_keys=True),
    }
