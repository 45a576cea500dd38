"""What holds of every data set that enters a run, whoever made it: a module, a plug-in, or a user in Python."""

from __future__ import annotations

import operator
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from numbers import Real
from pathlib import PurePosixPath
from typing import Any

import numpy as np

from admmbench.datasets._base import (
    Arrays,
    Attribute,
    Dataset,
    DatasetDefinition,
    DatasetInfo,
    Facts,
    check_samples,
)
from admmbench.datasets._fetch import CHECKSUM, DatasetError, RemoteFile

__all__ = ["check_arrays", "check_dataset", "check_name", "checked_info"]

#: Arrays of a data set, besides those of its attributes.
ARRAYS = ("X_train", "y_train", "X_test", "y_test")
# Names of data sets and of attributes are parts of names of files.
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")
_TEXTS = ("title", "licence", "citation", "note", "default_problem", "target_unit")
_COUNTS = ("n_train", "n_test", "n_features")


def check_name(name: object, what: str = "name") -> None:
    """Refuse a name that cannot be a part of the name of a file, or that is a path of a plug-in.

    Raises
    ------
    ValueError
        If it is such a name.
    """
    if not (isinstance(name, str) and _NAME.fullmatch(name)) or name.endswith(".py"):
        raise ValueError(
            f"{what}: {name!r} is no name: take up to 64 letters, digits, _, - and ., the first a letter, a digit or _"
        )


def checked_info(
    info: Any, definition: DatasetDefinition, settings: Mapping[str, Any]
) -> DatasetInfo:
    """Facts that a definition describes for some settings, in plain types.

    Raises
    ------
    ValueError
        If they are none; the message names the fact.
    """
    if not isinstance(info, DatasetInfo):
        raise ValueError(f"describe() returned {_kind(info)}, expected a DatasetInfo")
    if info.name != definition.name:
        raise ValueError(f"name: describe() says {info.name!r}, the class {definition.name!r}")
    if dict(info.settings) != settings:
        raise ValueError(
            f"settings: describe() says {info.settings!r}, was given {settings!r}: pass them on"
        )
    counts: dict[str, Any] = {key: _count(key, getattr(info, key), info.drawn) for key in _COUNTS}
    for file in info.files:
        _check_file(file)
    for key, number in info.attributes.items():
        check_name(key, "attributes")
        _count(f"attributes[{key!r}]", number, info.drawn)
    checksums = {file.name: file.checksum for file in info.files} | info.checksums
    return replace(
        info,
        settings=dict(settings),
        files=tuple(info.files),
        checksums=checksums,
        **counts,
        **_checked_facts(info),
    )


def _checked_facts(of: Facts) -> dict[str, Any]:
    """What is true of facts from a description, and of those that come with arrays."""
    for key in _TEXTS:
        if not isinstance(getattr(of, key, ""), str):
            raise ValueError(f"{key}: {getattr(of, key)!r} is no text")
    for source, checksum in of.checksums.items():
        if not (isinstance(source, str) and isinstance(checksum, str)):
            raise ValueError(f"checksums: {source!r}: {checksum!r} is no text")
    return {"class_names": _class_names(of.class_names), "domain": _domain(of.domain)}


def _class_names(names: Any) -> tuple[str, ...]:
    found = list(names) if isinstance(names, Iterable) and not isinstance(names, str) else [names]
    if isinstance(names, str) or not all(isinstance(name, str) for name in found):
        raise ValueError(f"class_names: {names!r} is no tuple of texts: take tuple(map(str, ...))")
    if len(found) == 1 or len(set(found)) < len(found):
        raise ValueError(
            f"class_names: {names!r}: expected two different names or more, or none where targets are numbers"
        )
    return tuple(map(str, found))


def _domain(domain: Any) -> tuple[float, float]:
    ends = list(domain) if isinstance(domain, Iterable) else []
    if len(ends) != 2 or not all(isinstance(end, Real) for end in ends) or not ends[0] <= ends[1]:
        raise ValueError(f"domain: {domain!r} is no pair of numbers (low, high)")
    return float(ends[0]), float(ends[1])


def _count(key: str, value: Any, drawn: bool) -> int:
    """A number of rows or columns as Python's; drawn problems have no records."""
    try:
        number = -1 if isinstance(value, bool | np.bool_) else operator.index(value)
    except TypeError:
        number = -1
    if number < (0 if drawn else 1):
        raise ValueError(f"{key}: {value!r} is no whole number of 1 or more")
    return number


def _check_file(file: Any) -> None:
    if not isinstance(file, RemoteFile):
        raise ValueError(f"files: {file!r} is no RemoteFile")
    where, urls = f"files: {file.name!r}", file.urls
    if not isinstance(urls, tuple | list):
        raise ValueError(f"{where}: urls: {urls!r} is no tuple of texts")
    path = PurePosixPath(file.mirror_path)
    if path.is_absolute() or ".." in path.parts or not path.parts:
        raise ValueError(f"{where}: mirror_path: {file.mirror_path!r} leads out of the mirror")
    if not CHECKSUM.fullmatch(str(file.checksum)):
        raise ValueError(f"{where}: checksum: {file.checksum!r} is no sha256:<64 hex digits>")
    if file.size is not None:
        _count(f"{where}: size", file.size, drawn=True)


def check_dataset(data: Dataset) -> None:
    """Check a data set that was made in Python.

    Raises
    ------
    ValueError
        If a fact of it, or an array, is not as it should be; the message names it.
    """
    if not (isinstance(data.name, str) and data.name):
        raise ValueError(f"name: {data.name!r} is no text")
    _checked_facts(data)
    for key, attribute in data.attributes.items():
        if not isinstance(attribute, Attribute):
            raise ValueError(f"attributes: {key!r} is {_kind(attribute)}, expected an Attribute")
    try:
        for part in ARRAYS:
            _check_kind(part, getattr(data, part), data.name, data.class_names)
        _count("n_features", data.n_features, data.drawn)
        check_arrays(data.info, data)
    except DatasetError as error:
        raise ValueError(str(error)) from None


def check_arrays(info: DatasetInfo, arrays: Arrays) -> None:
    """Check that arrays are those that a data set promises.

    Raises
    ------
    DatasetError
        If one is not; the message names it.
    """
    if not isinstance(arrays, Arrays):
        raise DatasetError(f"{info.name}: read() returned {_kind(arrays)}, expected Arrays")
    for part in ARRAYS:
        _check_kind(part, getattr(arrays, part), info.name, info.class_names)
    check_samples(arrays.X_train, arrays.y_train, info, f"{info.name}, training part")
    check_samples(arrays.X_test, arrays.y_test, info, f"{info.name}, test part")
    counts = {
        "training rows": (arrays.y_train.size, info.n_train if info.exact else arrays.y_train.size),
        "test rows": (arrays.y_test.size, info.n_test),
    }
    for what, (found, expected) in counts.items():
        if found != expected:
            raise DatasetError(f"{info.name}: {found:,} {what}, expected {expected:,}")
        if not found and not info.drawn:
            raise DatasetError(f"{info.name}: no {what}; each part needs one or more")
    _check_attributes(info, arrays)


def _check_kind(part: str, array: Any, name: str, class_names: tuple[str, ...]) -> None:
    """Refuse what is no plain array of the right type."""
    features, n_classes = part.startswith("X"), len(class_names)
    expected = np.dtype(np.int64 if n_classes and not features else np.float32)
    where = f"{name}: {part}"
    if hasattr(array, "toarray"):
        what = "features" if features else "targets"
        raise DatasetError(f"{where}: {what} are sparse, call toarray()")
    if type(array) not in (np.ndarray, np.memmap):
        raise DatasetError(
            f"{where} is {_kind(array)}, expected a plain array of {expected}: np.asarray, nothing masked"
        )
    if array.dtype != expected:
        fix = f"; call astype(np.{expected})" if array.dtype.kind in "biuf" else ""
        meaning = f" for labels 0 to {n_classes - 1}" if n_classes and not features else ""
        raise DatasetError(f"{where} is {array.dtype}, expected {expected}{meaning}{fix}")
    if array.ndim != 1 + features:
        shape = "(n, n_features)" if features else "(n,)"
        raise DatasetError(f"{where} has shape {array.shape}, expected {shape}")


def _check_attributes(info: DatasetInfo, arrays: Arrays) -> None:
    found = {name: len(attribute.values) for name, attribute in arrays.attributes.items()}
    if found != info.attributes:
        raise DatasetError(
            f"{info.name}: attributes with numbers of values {found}, expected {info.attributes}"
        )
    for name, attribute in arrays.attributes.items():
        if len(set(attribute.values)) < found[name]:
            raise DatasetError(f"{info.name}: two values of {name} have the same name")
        for codes, y in ((attribute.train, arrays.y_train), (attribute.test, arrays.y_test)):
            if codes.dtype != np.int32 or codes.shape != y.shape:
                raise DatasetError(
                    f"{info.name}: {name} has {codes.size:,} values of type {codes.dtype} for {y.size:,} rows, "
                    "expected one int32 for each"
                )
            if codes.size and not (codes.min() >= 0 and codes.max() < found[name]):
                raise DatasetError(f"{info.name}: {name} has a value without a name")
        if name == "writer" and np.any(np.diff(attribute.train) < 0):
            raise DatasetError(f"{info.name}: training rows are not in the order of their writers")


def _kind(value: Any) -> str:
    """Name of a value's type, with the package that it comes from."""
    kind = type(value)
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"
