"""Variables of a run as JSON and arrays: nothing that is read back can run code.

Numbers, text, lists, mappings and dataclasses become JSON; arrays are written beside it. Reading fills existing
dataclasses, so a file only sets values. Each field is a variable of its own: a state in which one array has two names
says so by a property, as `admmbench.base.types.ConsensusState.iterates`.
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
    """Return a value as JSON; its arrays are appended to ``arrays``.

    Raises
    ------
    TypeError
        If it holds something else; the message says what.
    """

    def inner(other: Any) -> Any:
        return pack(other, arrays)

    value = on_host(value)
    if isinstance(value, np.generic):  # as an array without dimensions: it keeps its type
        value = np.asarray(value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.ndarray):
        arrays.append(value)
        return {_ARRAY: len(arrays) - 1}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in dataclasses.fields(value)]
        return {_DATACLASS: {name: inner(getattr(value, name)) for name in names}}
    if isinstance(value, list):
        return [inner(each) for each in value]
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {_FIELDS: {key: inner(each) for key, each in value.items()}}
    raise TypeError(
        "a state may hold numbers, text, arrays, lists, dataclasses, and mappings with text as keys, "
        f"not {type(value).__name__}"
    )


def unpack(packed: Any, arrays: Sequence[Array], into: Any) -> Any:
    """Give back a packed value.

    Parameters
    ----------
    packed, arrays
        What `pack` made.
    into
        A value of the same kind; dataclasses are filled.
    """
    if isinstance(packed, list):
        alike = isinstance(into, list) and len(into) == len(packed)
        others = into if alike else [None] * len(packed)
        return [unpack(value, arrays, other) for value, other in zip(packed, others, strict=True)]
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
    known = into if isinstance(into, dict) else {}
    return {key: unpack(value, arrays, known.get(key)) for key, value in packed[_FIELDS].items()}
