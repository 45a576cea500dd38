"""Variables of a run as JSON and arrays: nothing that is read back can run code.

Numbers, text, lists, mappings and dataclasses become JSON. An array is written beside it, once, however many names it
has. Reading fills existing variables of the same kind, so a file only sets values.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

_ARRAY, _FIELDS, _DATACLASS = "array", "fields", "dataclass"


def pack(value: Any, arrays: list[Array]) -> Any:
    """Return a value as JSON; its arrays are appended to ``arrays``.

    Raises
    ------
    TypeError
        If it holds something else; the message says what.
    """
    return _pack(value, arrays, {id(array): number for number, array in enumerate(arrays)})


def _pack(value: Any, arrays: list[Array], numbers: dict[int, int]) -> Any:
    """`pack`; ``numbers`` has the place of each array, by its identity."""

    def inner(other: Any) -> Any:
        return _pack(other, arrays, numbers)

    if isinstance(value, np.generic):  # as an array without dimensions: it keeps its type
        value = np.asarray(value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.ndarray):
        if id(value) not in numbers:
            numbers[id(value)] = len(arrays)
            arrays.append(value)  # which also keeps its identity from being used again
        return {_ARRAY: numbers[id(value)]}
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
        A value of the same kind; dataclasses and arrays are filled, and what they are called elsewhere sees it.

    Raises
    ------
    ValueError
        If the two are not of one kind.
    """
    return _unpack(packed, arrays, into, {})


def _unpack(packed: Any, arrays: Sequence[Array], into: Any, filled: dict[int, int]) -> Any:
    """`unpack`; ``filled`` has the array that each of the present ones was filled with.

    Arrays that were one may be two by now: the second takes a place of its own.
    """

    def inner(value: Any, other: Any) -> Any:
        return _unpack(value, arrays, other, filled)

    if isinstance(packed, list):
        alike = isinstance(into, list) and len(into) == len(packed)
        others = into if alike else [None] * len(packed)
        return [inner(value, other) for value, other in zip(packed, others, strict=True)]
    if not isinstance(packed, dict):
        return packed
    if _ARRAY in packed:
        number = packed[_ARRAY]
        array = arrays[number]
        if not isinstance(into, np.ndarray):
            return array if array.ndim else array[()]
        alike = (into.shape, into.dtype) == (array.shape, array.dtype) and into.flags.writeable
        if not alike or filled.setdefault(id(into), number) != number:
            return array
        into[...] = array
        return into
    if _DATACLASS in packed:
        return _filled(packed[_DATACLASS], into, inner)
    known = into if isinstance(into, dict) else {}
    return {key: inner(value, known.get(key)) for key, value in packed[_FIELDS].items()}


def _filled(found: dict[str, Any], into: Any, inner: Callable[[Any, Any], Any]) -> Any:
    """Fill a dataclass."""
    if not dataclasses.is_dataclass(into) or isinstance(into, type):
        raise ValueError("it has a dataclass where there is none now")
    names = [field.name for field in dataclasses.fields(into)]
    if sorted(found) != sorted(names):
        raise ValueError(f"it has the variables {sorted(found)}, expected {sorted(names)}")
    for name in names:
        setattr(into, name, inner(found[name], getattr(into, name)))
    return into
