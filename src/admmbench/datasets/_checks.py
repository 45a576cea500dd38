"""Checks of every data set that enters a run, whoever made it: a module, a plug-in, or a user in Python."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from admmbench.datasets._base import (
    Arrays,
    Attribute,
    Dataset,
    DatasetDefinition,
    DatasetFacts,
    DatasetInfo,
    plain,
)
from admmbench.datasets._fetch import DatasetError
from admmbench.validation import checked

#: Arrays of a data set, besides those of its attributes.
ARRAYS = ("X_train", "y_train", "X_test", "y_test")


def check_description(
    info: Any, definition: DatasetDefinition, settings: Mapping[str, Any]
) -> DatasetInfo:
    """Return the facts that a definition describes for some settings, in plain types.

    Raises
    ------
    ValueError
        If ``info`` is no facts, or the facts of other settings; the message names the fact.
    """
    if not isinstance(info, DatasetInfo):
        raise ValueError(f"describe() returned {_kind(info)}, expected a DatasetInfo")
    if info.name != definition.name:
        raise ValueError(f"name: describe() says {info.name!r}, the class {definition.name!r}")
    stated = info.settings
    if not isinstance(stated, Mapping) or {k: plain(stated[k]) for k in stated} != settings:
        raise ValueError(
            f"settings: describe() says {info.settings!r}, was given {settings!r}: pass them on"
        )
    return checked_info(replace(info, settings=dict(settings)))


def checked_info(info: DatasetInfo) -> DatasetInfo:
    """Return facts in the types that they should have; a `ValueError` names the fact that has another."""
    _check_order(vars(info))
    facts = checked(DatasetInfo, vars(info), "")
    for key in ("n_train", "n_test", "n_features"):
        if not (getattr(facts, key) or facts.drawn):
            raise ValueError(f"{key}: 0 is no whole number of 1 or more")
    if facts.target_range and facts.class_names:
        raise ValueError("target_range: it is of targets that are numbers, and there are classes")
    checksums = {file.name: file.checksum for file in facts.files}
    return replace(facts, checksums=checksums | facts.checksums)


def _check_order(facts: Mapping[str, Any]) -> None:
    """Refuse facts without an order, and iterators, which are empty when they are read again."""
    for key, value in facts.items():
        if isinstance(value, Iterable) and not hasattr(value, "__getitem__"):
            raise ValueError(
                f"{key}: {_kind(value)} has no order, or can be read once; make it a tuple"
            )


def check_dataset(data: Dataset) -> None:
    """Check a data set that was made in Python.

    Raises
    ------
    ValueError
        If one of its facts or arrays is not as it should be; the message names it.
    """
    _check_order(data.facts)
    for key, attribute in data.attributes.items():
        if not isinstance(attribute, Attribute):
            raise ValueError(f"attributes: {key!r} is {_kind(attribute)}, expected an Attribute")
    facts = checked(DatasetFacts, data.facts, "")
    try:
        _check_kinds(facts.name, data, facts.n_classes)
        check_arrays(checked_info(data.info), data)
    except DatasetError as error:
        raise ValueError(str(error)) from None


def check_arrays(info: DatasetInfo, arrays: Arrays) -> None:
    """Check that arrays are as the facts of their data set promise.

    Raises
    ------
    DatasetError
        If an array is not; the message names it.
    """
    if not isinstance(arrays, Arrays):
        raise DatasetError(f"{info.name}: read() returned {_kind(arrays)}, expected Arrays")
    _check_kinds(info.name, arrays, info.n_classes)
    n_train = info.n_train if info.exact else len(arrays.y_train)
    _check_part(info, "training", arrays.X_train, arrays.y_train, n_train)
    _check_part(info, "test", arrays.X_test, arrays.y_test, info.n_test)
    _check_attributes(info, arrays)


def _check_kinds(name: str, arrays: Arrays, n_classes: int) -> None:
    """Refuse values that are no plain arrays of the right type and number of axes."""
    for part in ARRAYS:
        array, features = getattr(arrays, part), part.startswith("X")
        expected = np.dtype(np.int64 if n_classes and not features else np.float32)
        if type(array) not in (np.ndarray, np.memmap):
            raise DatasetError(
                f"{name}: {part} is {_kind(array)}, expected a plain array of {expected}: np.asarray, "
                "or toarray() of what is sparse"
            )
        if array.dtype != expected:
            raise DatasetError(
                f"{name}: {part} is {array.dtype}, expected {expected}; call astype(np.{expected})"
            )
        if array.ndim != 1 + features:
            shape = "(n, n_features)" if features else "(n,)"
            raise DatasetError(f"{name}: {part} has shape {array.shape}, expected {shape}")


def _check_part(info: DatasetInfo, part: str, X: Any, y: Any, n_rows: int) -> None:
    """Refuse rows whose number, features or labels are not as the facts promise."""
    where = f"{info.name}, {part} part"
    if X.shape != (len(y), info.n_features):
        raise DatasetError(
            f"{where}: features of shape {X.shape} and labels of shape {y.shape}, "
            f"expected (n, {info.n_features}) and (n,)"
        )
    if len(y) != n_rows:
        raise DatasetError(f"{where}: {len(y):,} rows, expected {n_rows:,}")
    if info.drawn:
        return
    low, high = info.domain
    smallest, largest = float(X.min()), float(X.max())  # NaN if any value is
    if not (low <= smallest and largest <= high and math.isfinite(largest - smallest)):
        raise DatasetError(
            f"{where}: features in [{smallest}, {largest}], expected finite ones within "
            f"[{low}, {high}], the domain: widen it to what any record may have, or scale the features"
        )
    if not info.n_classes:
        if not np.isfinite(y).all():
            raise DatasetError(
                f"{where}: targets that are no numbers, or too large for {y.dtype}; scale them"
            )
    elif y.min() < 0 or y.max() >= info.n_classes:
        raise DatasetError(
            f"{where}: labels in [{y.min()}, {y.max()}], expected 0 to {info.n_classes - 1}, "
            "the indices of class_names"
        )


def _check_attributes(info: DatasetInfo, arrays: Arrays) -> None:
    """Refuse attributes that are not as the facts promise, or that have a value without a name."""
    n_values = {name: len(attribute.values) for name, attribute in arrays.attributes.items()}
    if n_values != info.attributes:
        raise DatasetError(
            f"{info.name}: attributes with numbers of values {n_values}, expected {info.attributes}"
        )
    for name, attribute in arrays.attributes.items():
        if len(set(attribute.values)) < n_values[name]:
            raise DatasetError(f"{info.name}: two values of {name} have the same name")
        for codes, y in ((attribute.train, arrays.y_train), (attribute.test, arrays.y_test)):
            if codes.dtype != np.int32 or codes.shape != y.shape:
                raise DatasetError(
                    f"{info.name}: {name} has {codes.size:,} values of type {codes.dtype} for {y.size:,} rows, "
                    "expected one int32 for each"
                )
            if codes.size and not (codes.min() >= 0 and codes.max() < n_values[name]):
                raise DatasetError(f"{info.name}: {name} has a value without a name")


def _kind(value: Any) -> str:
    """Return the name of a value's type, with its module if it is not built in."""
    return f"{type(value).__module__}.{type(value).__name__}".removeprefix("builtins.")
