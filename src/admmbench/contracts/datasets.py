"""Contracts of every data set: facts that fit its arrays, values in their domain, the same bytes each time."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from admmbench.contracts import Check, ensure
from admmbench.datasets import (
    Dataset,
    DatasetError,
    DatasetInfo,
    describe,
    normalize,
    open_prepared,
    prepare,
)
from admmbench.problems import as_problem

# Of whatever algorithm.
_CHECKSUM = re.compile(r"[a-z0-9-]+:[0-9a-f]{32,}")
_FACTS = (
    *("name", "settings", "n_train", "n_test", "n_features", "class_names", "domain"),
    *("checksums", "note", "citation", "licence", "default_problem", "target_unit", "drawn"),
)


@dataclass(frozen=True, eq=False)
class _Case:
    """A data set, prepared when it is first asked for."""

    spec: str | Mapping[str, Any]

    @cached_property
    def info(self) -> DatasetInfo:
        return describe(self.spec)

    @cached_property
    def _folder(self) -> tempfile.TemporaryDirectory[str]:
        return tempfile.TemporaryDirectory()

    @cached_property
    def folder(self) -> Path:
        """Its prepared form."""
        return self.prepare(Path(self._folder.name) / "one")

    @cached_property
    def dataset(self) -> Dataset:
        return open_prepared(self.folder, verify=True)

    def prepare(self, folder: Path) -> Path:
        """Prepare it; an error here is an error of the data set."""
        try:
            prepare(self.spec, folder)
        except DatasetError as error:
            raise AssertionError(str(error)) from None
        return folder


def of_dataset(spec: str | Mapping[str, Any]) -> Iterator[Check]:
    """Find all checks of a data set; they fetch its files if it has any.

    Parameters
    ----------
    spec
        Name, path of a plug-in, or a mapping with ``name`` and settings.
    """
    case = _Case(spec)
    for check in _CHECKS:
        yield Check(check.__name__.replace("_", " "), partial(check, case))


def facts_are_complete(case: _Case) -> None:
    """What a report says of it."""
    info = case.info
    for fact in ("name", "title", "licence", "citation"):
        ensure(bool(getattr(info, fact)), f"describe() gives no {fact}")
    ensure(
        bool(info.checksums) or info.drawn,
        "describe() gives no checksums: of its files, or of what it reads",
    )
    for source, checksum in info.checksums.items():
        ensure(
            _CHECKSUM.fullmatch(checksum),
            f"checksums: {checksum!r} of {source!r} is no checksum, such as sha256:<64 hex digits>: if the data "
            "changed, nobody would notice; state that of the data, and compare it in read()",
        )
    for file in info.files:
        ensure(
            info.checksums.get(file.name) == file.checksum,
            f"checksums lacks that of the file {file.name}",
        )
    ensure(
        len({file.mirror_path for file in info.files}) == len(info.files),
        "two files have the same place in a mirror",
    )


def its_default_problem_suits_it(case: _Case) -> None:
    """A run that names no problem takes it."""
    try:
        as_problem(case.info.default_problem, "rows").check(case.info)
    except ValueError as error:
        raise AssertionError(f"default_problem {case.info.default_problem!r}: {error}") from None


def arrays_are_as_described(case: _Case) -> None:
    """Shapes, names and all other facts."""
    data, info = case.dataset, case.info
    ensure(info.exact, "describe() estimates n_train: count it")
    shapes = [(info.n_train, info.n_features), (info.n_test, info.n_features)]
    found = [data.X_train.shape, data.X_test.shape]
    ensure(found == shapes, f"features have shapes {found}, described are {shapes}")
    attributes = data.info.attributes
    ensure(
        attributes == info.attributes,
        f"attributes have numbers of values {attributes}, described are {info.attributes}",
    )
    for fact in _FACTS:
        ensure(
            getattr(data, fact) == getattr(info, fact),
            f"{fact} is {getattr(data, fact)!r}, described is {getattr(info, fact)!r}",
        )


def features_are_within_their_domain(case: _Case) -> None:
    """Worst-case sensitivities rest on it."""
    if case.info.drawn:  # there are no records
        return
    low, high = case.dataset.domain
    for X in (case.dataset.X_train, case.dataset.X_test):
        ensure(bool(np.isfinite(X).all()), "features are not finite")
        ensure(
            bool(low <= X.min() and X.max() <= high),
            f"features are in [{X.min()}, {X.max()}], the domain is [{low}, {high}]",
        )


def targets_are_classes_or_numbers(case: _Case) -> None:
    """Indices of the named classes, or finite numbers where there are none."""
    if case.info.drawn:  # there are no records
        return
    data = case.dataset
    kind = np.int64 if data.n_classes else np.float32
    for X, y in ((data.X_train, data.y_train), (data.X_test, data.y_test)):
        ensure(y.shape == (len(X),), f"targets have shape {y.shape} for {len(X)} records")
        ensure(y.dtype == kind, f"targets are {y.dtype}, not {np.dtype(kind)}")
        if data.n_classes:
            unknown = set(np.unique(y).tolist()) - set(range(data.n_classes))
            ensure(not unknown, f"labels {sorted(unknown)} are none of {data.n_classes} classes")
        else:
            ensure(bool(np.isfinite(y).all()), "targets are not finite")
    ensure(len(np.unique(data.y_train)) > 1, "all training targets are the same")


def attributes_have_a_value_for_each_record(case: _Case) -> None:
    """In both parts, with a name for each value."""
    data = case.dataset
    for name, attribute in data.attributes.items():
        n = len(attribute.values)
        ensure(len(set(attribute.values)) == n, f"two values of {name} have the same name")
        for codes, rows in ((attribute.train, data.n_train), (attribute.test, data.n_test)):
            ensure(codes.dtype == np.int32, f"{name} is {codes.dtype}, not int32")
            ensure(codes.shape == (rows,), f"{name} has {codes.size} values for {rows} rows")
            ensure(bool((codes >= 0).all() and (codes < n).all()), f"a value of {name} has no name")


def rows_of_a_writer_are_together(case: _Case) -> None:
    """Those that train: each agent of the partition ``by_writer`` has a block of them."""
    if "writer" in case.dataset.attributes:
        codes = case.dataset.attributes["writer"].train
        ensure(bool((np.diff(codes) >= 0).all()), "rows are not in the order of their writers")


def preparing_it_again_gives_the_same_bytes(case: _Case) -> None:
    """Snakemake reruns jobs when their data changed, and not otherwise."""
    with tempfile.TemporaryDirectory() as folder:
        again = case.prepare(Path(folder) / "two")
        names = [sorted(path.name for path in each.iterdir()) for each in (case.folder, again)]
        ensure(names[0] == names[1], f"the prepared files are {names[0]}, then {names[1]}")
        for name in names[0]:
            same = (case.folder / name).read_bytes() == (again / name).read_bytes()
            ensure(same, f"{name} has other bytes the second time")


def its_settings_name_it(case: _Case) -> None:
    """A prepared data set is a specification of itself."""
    named = normalize(case.spec)
    found = {"name": named["name"], **case.dataset.settings}
    ensure(found == named, f"{found!r} is not {named!r}")
    ensure(normalize(named) == named, f"{named!r} is not in its canonical form")


_CHECKS: tuple[Callable[[_Case], None], ...] = (
    facts_are_complete,
    its_default_problem_suits_it,
    arrays_are_as_described,
    features_are_within_their_domain,
    targets_are_classes_or_numbers,
    attributes_have_a_value_for_each_record,
    rows_of_a_writer_are_together,
    preparing_it_again_gives_the_same_bytes,
    its_settings_name_it,
)
