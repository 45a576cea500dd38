"""Variables of a run as JSON and arrays: nothing that is read back can run code.

Numbers, text, lists, mappings and dataclasses become JSON; an array is written beside it, once, however many names it
has. Reading fills variables of the same kind that are there already, so that a file only ever sets values.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

_ARRAY, _FIELDS = "array", "fields"


def pack(value: Any, arrays: list[Array]) -> Any:
    """Return a value as JSON; its arrays are appended to ``arrays``.

    Raises
    ------
    TypeError
        If it holds something else; the message says what.
    """
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        for number, known in enumerate(arrays):
            if known is value:
                return {_ARRAY: number}
        arrays.append(value)
        return {_ARRAY: len(arrays) - 1}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in dataclasses.fields(value)]
        return {_FIELDS: {name: pack(getattr(value, name), arrays) for name in names}}
    if isinstance(value, list):
        return [pack(each, arrays) for each in value]
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {_FIELDS: {key: pack(each, arrays) for key, each in value.items()}}
    raise TypeError(
        f"a state may hold numbers, text, arrays, lists, mappings and dataclasses, not {type(value).__name__}"
    )


def unpack(packed: Any, arrays: Sequence[Array], into: Any) -> Any:
    """Give back a packed value.

    Parameters
    ----------
    packed, arrays
        What `pack` made.
    into
        A value of the same kind; dataclasses and arrays are filled, and what they are called elsewhere sees it.

    Raises
    ------
    ValueError
        If the two are not of one kind.
    """
    if dataclasses.is_dataclass(into) and not isinstance(into, type):
        found = _fields(packed)
        names = [field.name for field in dataclasses.fields(into)]
        if sorted(found) != sorted(names):
            raise ValueError(f"it has the variables {sorted(found)}, expected {sorted(names)}")
        for name in names:
            setattr(into, name, unpack(found[name], arrays, getattr(into, name)))
        return into
    if isinstance(packed, dict) and _ARRAY in packed:
        array = arrays[packed[_ARRAY]]
        alike = isinstance(into, np.ndarray) and (into.shape, into.dtype) == (
            array.shape,
            array.dtype,
        )
        if not alike or not into.flags.writeable:
            return array
        into[...] = array
        return into
    if isinstance(packed, dict):
        known = into if isinstance(into, dict) else {}
        return {
            key: unpack(value, arrays, known.get(key)) for key, value in _fields(packed).items()
        }
    if isinstance(packed, list):
        alike = isinstance(into, list) and len(into) == len(packed)
        others = into if alike else [None] * len(packed)
        return [unpack(value, arrays, other) for value, other in zip(packed, others, strict=True)]
    return packed


def _fields(packed: Any) -> dict[str, Any]:
    if not isinstance(packed, dict) or not isinstance(packed.get(_FIELDS), dict):
        raise ValueError("it is not what was saved")
    return dict(packed[_FIELDS])
