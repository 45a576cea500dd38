"""Partitions as files: drawn once for a data set, a scheme and a block of seeds, and read by all of their runs."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import cast

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from admmbench.datasets import ColumnSplit, Dataset, RowSelection, Shares, Split
from admmbench.engine.streams import FEDERATION, stream
from admmbench.files import MADE_AGAIN, netcdf
from admmbench.jobs import fingerprint
from admmbench.partition import Partition
from admmbench.spec.run import RunSpec

NOBODY, TESTS = -1, -2
"""In the place of an agent: no agent has the row or column; the row was drawn to test."""


def draw(scheme: Partition, data: Dataset, seeds: Sequence[int]) -> xr.Dataset:
    """Draw a partition for some seeds; a scheme that draws nothing has one partition for all seeds.

    Returns
    -------
    xarray.Dataset
        ``owner``, dims ``seed`` (only where seeds differ) and ``row`` or ``column``: the agent, `NOBODY` or `TESTS`.
        ``counts``, dims ``seed``, ``agent`` and, of rows with classes, ``class``: rows or columns of an agent.
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
        for seed_places, rows in split.held_out or ():
            owner[seed_places, rows] = TESTS
    for agent, selections in enumerate(shares):
        for seed_places, rows in selections:
            owner[seed_places, rows] = agent
    n_classes, labels = 0, np.zeros(owner.shape[1], int)
    if isinstance(split, Split) and data.n_classes:
        n_classes, labels = data.n_classes, split.dataset.y_train
    counts = np.zeros((len(seeds), len(shares), max(n_classes, 1)), np.int64)
    for place, owners in enumerate(owner):
        owned = owners >= 0
        np.add.at(counts[place], (owners[owned], labels[owned]), 1)
    drawn = xr.Dataset(
        {"owner": (dims, owner), "counts": (("seed", "agent", "class"), counts)},
        {"seed": [*seeds]},
        _identity(scheme, data),
    )
    names = {"class": [*data.class_names]}
    drawn = drawn.assign_coords(names) if n_classes else drawn.isel({"class": 0})
    return drawn if scheme.shuffled else drawn.isel(seed=0, drop=True)


def read(spec: RunSpec, data: Dataset, files: Iterable[Path]) -> DrawnPartition | None:
    """Read the partition of a run; None without files, as the run then draws it.

    Raises
    ------
    StaleResultError
        If a file is damaged, or of another data set or scheme, or if the files lack a seed.
    """
    partitions = {path: netcdf.read(path) for path in files}
    if not partitions:
        return None
    for path, partition in partitions.items():
        if differing := [
            key
            for key, expected in _identity(spec.scheme, data).items()
            if partition.attrs.get(key) != expected
        ]:
            raise netcdf.StaleResultError(
                f"{path}: its partition is of another {' and '.join(differing)}; remove it, and {MADE_AGAIN}"
            )
    owner = [partition["owner"] for partition in partitions.values()]
    joined = xr.concat(owner, "seed") if "seed" in owner[0].dims else owner[0]
    if "seed" in joined.dims and (lacking := {*spec.seeds} - {*joined["seed"].values.tolist()}):
        raise netcdf.StaleResultError(
            f"{', '.join(map(str, partitions))}: no partition for seed {min(lacking)}; name the files of all seeds"
        )
    return DrawnPartition(joined)


@dataclass(frozen=True)
class DrawnPartition:
    """Partition that was drawn before."""

    owner: xr.DataArray
    """As `draw` returns it."""

    def split(
        self, scheme: Partition, dataset: Dataset, seeds: Sequence[int]
    ) -> Split | ColumnSplit:
        """Return the split of the rows or columns as they were drawn for some seeds."""
        drawn = self.owner.sel(seed=[*seeds]) if "seed" in self.owner.dims else self.owner
        # A split without seeds draws nothing, and has all facts but who has which rows or columns.
        split, owner = scheme.split(dataset, []), np.atleast_2d(drawn.values)
        if isinstance(split, ColumnSplit):
            columns = cast("list[slice]", _selections(owner[0], len(split.columns)))
            return split._replace(columns=columns)
        seed_places = [slice(place, place + 1) for place in range(len(owner))]
        if "seed" not in drawn.dims:
            seed_places = [slice(0, len(seeds))]
        rows = [_selections(owners, len(split.shares)) for owners in owner]
        shares: list[Shares] = [
            [*zip(seed_places, selections, strict=True)] for selections in zip(*rows, strict=True)
        ]
        if split.held_out is None:
            return split._replace(shares=shares)
        tests = (np.flatnonzero(owners == TESTS) for owners in owner)
        return split._replace(shares=shares, held_out=[*zip(seed_places, tests, strict=True)])


def _selections(owner: NDArray[np.int32], agents: int) -> list[RowSelection]:
    """Return the increasing rows or columns of each agent: slices, which copy nothing, where owners are in order."""
    order = np.argsort(owner, kind="stable")
    ends = np.searchsorted(owner[order], np.arange(agents + 1))
    owned, ends = order[ends[0] :], ends - ends[0]
    bounds = itertools.pairwise(ends.tolist())
    if (np.diff(owned) == 1).all():
        first = int(owned[0]) if len(owned) else 0
        return [slice(first + start, first + end) for start, end in bounds]
    return [owned[start:end] for start, end in bounds]


def code() -> str:
    """Return the hash of the code that draws partitions.

    Runs depend on this hash, too, so that only outdated runs get another partition.
    """
    drawn_by = fingerprint.of_modules(("admmbench.partition", "admmbench.engine.streams"))
    return fingerprint.of_text(f"{drawn_by} {version('numpy')}")


def _identity(scheme: Partition, data: Dataset) -> dict[str, str]:
    """Return the data set and the scheme of a partition, as attributes of its file."""
    return {
        "dataset": data.name,
        "records": data.key,
        "scheme": json.dumps(scheme.model_dump(), sort_keys=True),
    }
