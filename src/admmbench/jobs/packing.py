"""Packing: variables of a run as JSON and arrays, from which reading runs no code.

Numbers, text, lists, mappings and dataclasses become JSON; arrays are written beside the JSON. Reading fills existing
dataclasses, so that a file only sets values. Each field is a variable of its own: a state in which one array has two
names has a property for the second, as `admmbench.base.types.ConsensusState.iterates`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from admmbench.problems.base import on_host

Array = NDArray[Any]

_ARRAY, _FIELDS, _DATACLASS = "array", "fields", "dataclass"


def pack(value: Any, arrays: list[Array]) -> Any:
    """Return a value as JSON, and append its arrays to ``arrays``.

    Raises
    ------
    TypeError
        If the value holds an object of another type, which the message names.
    """
    value = on_host(value)
    if isinstance(value, np.generic):  # an array without dimensions keeps the type
        value = np.asarray(value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.ndarray):
        arrays.append(value)
        return {_ARRAY: len(arrays) - 1}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in dataclasses.fields(value)]
        return {_DATACLASS: {name: pack(getattr(value, name), arrays) for name in names}}
    if isinstance(value, list):
        return [pack(element, arrays) for element in value]
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {_FIELDS: {key: pack(element, arrays) for key, element in value.items()}}
    raise TypeError(
        "a state may hold numbers, text, arrays, lists, dataclasses, and mappings with text as keys, "
        f"not {type(value).__name__}"
    )


def unpack(packed: Any, arrays: Sequence[Array], into: Any) -> Any:
    """Return the value that was packed; dataclasses of ``into``, a value of the same kind, are filled in place."""
    if isinstance(packed, list):
        same_length = isinstance(into, list) and len(into) == len(packed)
        targets = into if same_length else [None] * len(packed)
        return [
            unpack(value, arrays, target) for value, target in zip(packed, targets, strict=True)
        ]
    if not isinstance(packed, dict):
        return packed
    if _ARRAY in packed:
        array = arrays[packed[_ARRAY]]
        if hasattr(into, "__cuda_array_interface__"):
            return np.asarray(array, like=into)
        return array if array.ndim or isinstance(into, np.ndarray) else array[()]
    if _DATACLASS in packed:
        for name, value in packed[_DATACLASS].items():
            setattr(into, name, unpack(value, arrays, getattr(into, name)))
        return into
    target_values = into if isinstance(into, dict) else {}
    return {
        key: unpack(value, arrays, target_values.get(key)) for key, value in packed[_FIELDS].items()
    }
