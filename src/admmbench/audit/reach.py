"""Numbers that can be reached from an object: all that a method keeps, wherever it keeps them."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import is_dataclass
from types import FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from admmbench.base.algorithm import Algorithm
from admmbench.base.types import Array, Block, Federation
from admmbench.datasets import Dataset

# Largest depth of objects in objects that is searched.
_DEEPEST = 12
_NUMBERS = (bool, int, float, complex, str, bytes, np.generic)
# Packages whose classes are not those of a plug-in.
_BUILT_IN = ("admmbench", "abc", "builtins", "typing")
# Types in which a method keeps no numbers, and types of an agent's inputs, which differ between data sets.
_INPUTS = (ModuleType, type, Federation, Block, Dataset)


def variables(root: Any) -> dict[str, Array]:
    """Return all numbers and texts that can be reached from an object, by the path to them."""
    return {name.lstrip("."): array for name, array in _walk(root, "", {}, 0)}


def global_variables(method: Algorithm[Any, Any]) -> dict[str, Array]:
    """Return numbers with a fraction that a method from outside the package keeps in its classes and its modules."""
    classes = [cls for cls in type(method).__mro__ if cls.__module__.split(".")[0] not in _BUILT_IN]
    modules = {cls.__module__: vars(sys.modules[cls.__module__]) for cls in classes}
    by_class = {cls.__name__: dict(vars(cls)) for cls in classes}
    reached = variables(by_class) | variables(modules)
    # Whole numbers may count calls, of both runs together.
    return {name: array for name, array in reached.items() if array.dtype.kind in "fc"}


def _walk(value: Any, name: str, seen: dict[int, Any], depth: int) -> Iterator[tuple[str, Array]]:
    """Yield the numbers that can be reached from a value, each with its path; `seen` holds visited objects by id."""
    if isinstance(value, _NUMBERS):
        yield name, np.asarray(value)
        return
    if depth > _DEEPEST or value is None or id(value) in seen:
        return
    # A reference keeps the object, so that no other object gets its id.
    seen[id(value)] = value
    if isinstance(value, np.ndarray) and value.dtype != object:
        yield name, value
        return
    for key, item in _items(value):
        yield from _walk(item, f"{name}.{key}", seen, depth + 1)


def _items(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the parts of an object, each with its name."""
    if isinstance(value, Mapping):
        yield from value.items()
    elif isinstance(value, list | tuple | np.ndarray) or type(value).__name__ == "deque":
        yield "length", len(value)
        yield from enumerate(value)
    elif isinstance(value, set | frozenset):
        yield from enumerate(sorted(value, key=repr))
    elif isinstance(value, MethodType):
        yield "self", value.__self__
    elif isinstance(value, FunctionType):
        yield from vars(value).items()
        yield from enumerate(value.__defaults__ or ())
        for variable, cell in zip(value.__code__.co_freevars, value.__closure__ or (), strict=True):
            try:
                yield variable, cell.cell_contents
            except ValueError:  # nothing is in it yet
                continue
    elif _has_parts(value):
        yield from getattr(value, "__dict__", {}).items()
        for cls in type(value).__mro__:
            slots = getattr(cls, "__slots__", ())
            for slot in (slots,) if isinstance(slots, str) else slots:
                if hasattr(value, slot) and not slot.startswith("__"):
                    yield slot, getattr(value, slot)


def _has_parts(value: Any) -> bool:
    """Return whether attributes of an object are searched: not those of modules, classes and inputs of agents."""
    if isinstance(value, _INPUTS):
        return False
    return is_dataclass(value) or not type(value).__module__.startswith("admmbench.")
