"""Contracts of every data set: complete facts, arrays that fit the facts, the same bytes each time."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from admmbench.contracts import Check, ensure
from admmbench.datasets import (
    Dataset,
    DatasetError,
    DatasetInfo,
    compare_stated,
    describe,
    normalize,
    open_prepared,
    prepare,
)
from admmbench.problems import as_problem

# A checksum by any algorithm.
_CHECKSUM = re.compile(r"[a-z0-9-]+:[0-9a-f]{32,}")


@dataclass(frozen=True, eq=False)
class DatasetCase:
    """Data set that is prepared at the first use."""

    spec: str | Mapping[str, Any]

    @cached_property
    def info(self) -> DatasetInfo:
        """Return the stated facts of the data set."""
        return describe(self.spec)

    @cached_property
    def _folder(self) -> tempfile.TemporaryDirectory[str]:
        return tempfile.TemporaryDirectory()

    @cached_property
    def folder(self) -> Path:
        """Return the folder of the prepared data set."""
        return self.prepare(Path(self._folder.name) / "one")

    @cached_property
    def dataset(self) -> Dataset:
        """Return the arrays, as a run reads them."""
        return open_prepared(self.folder)

    def prepare(self, folder: Path) -> Path:
        """Prepare the data set in a folder; a DatasetError fails the check."""
        try:
            prepare(self.spec, folder)
        except DatasetError as error:
            raise AssertionError(str(error)) from None
        return folder


def dataset_checks(spec: str | Mapping[str, Any]) -> Iterator[Check]:
    """Yield all checks of a data set, which fetch its files if it has any.

    Parameters
    ----------
    spec
        Name of the data set, path of a plug-in, or mapping with ``name`` and settings.
    """
    case = DatasetCase(spec)
    for check in _CHECKS:
        yield Check.from_function(check, case)


def facts_are_complete(case: DatasetCase) -> None:
    """Ensure that title, licence, citation and checksums are stated: reports show them."""
    info = case.info
    for fact in ("name", "title", "licence", "citation"):
        ensure(getattr(info, fact), f"describe() gives no {fact}")
    ensure(
        bool(info.checksums) or info.drawn,
        "describe() gives no checksums: of its files, or of what it reads",
    )
    for source, stated in info.checksums.items():
        ensure(
            _CHECKSUM.fullmatch(stated),
            f"checksums: {stated!r} of {source!r} is no checksum, such as sha256:<64 hex digits>: if the data "
            "changed, nobody would notice; state that of the data, and compare it in read()",
        )
    try:
        compare_stated(case.spec)
    except DatasetError as error:
        raise AssertionError(str(error)) from None


def its_default_problem_suits_it(case: DatasetCase) -> None:
    """Ensure that the default problem, which a run takes that names none, accepts the data set."""
    try:
        as_problem(case.info.default_problem, "rows").check(case.info)
    except ValueError as error:
        raise AssertionError(f"default_problem {case.info.default_problem!r}: {error}") from None


def arrays_are_as_described(case: DatasetCase) -> None:
    """Ensure that sizes are exact and targets vary; preparing the data set checks all else."""
    data = case.dataset
    ensure(case.info.exact, "describe() estimates n_train: count it")
    ensure(data.drawn or len(np.unique(data.y_train)) > 1, "all training targets are the same")


def preparing_it_again_gives_the_same_bytes(case: DatasetCase) -> None:
    """Ensure that a second preparation gives the same files: Snakemake reruns jobs when their data changed."""
    with tempfile.TemporaryDirectory() as folder:
        first, second = case.folder, case.prepare(Path(folder) / "two")
        names = [sorted(path.name for path in place.iterdir()) for place in (first, second)]
        ensure(names[0] == names[1], f"the prepared files are {names[0]}, then {names[1]}")
        for name in names[0]:
            same = (first / name).read_bytes() == (second / name).read_bytes()
            ensure(same, f"{name} has other bytes the second time")


def its_settings_name_it(case: DatasetCase) -> None:
    """Ensure that name and settings of a prepared data set specify the same data set."""
    named = normalize(case.spec)
    prepared = {"name": named["name"], **case.dataset.settings}
    ensure(prepared == named, f"{prepared!r} is not {named!r}")
    ensure(normalize(named) == named, f"{named!r} is not in its canonical form")


_CHECKS: tuple[Callable[[DatasetCase], None], ...] = (
    facts_are_complete,
    its_default_problem_suits_it,
    arrays_are_as_described,
    preparing_it_again_gives_the_same_bytes,
    its_settings_name_it,
)
