"""What can be reached from an object: all numbers that a method keeps, wherever it keeps them."""

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

# Objects in objects; nothing is looked for deeper than that.
_DEEPEST = 12
_NUMBERS = (bool, int, float, complex, str, bytes, np.generic)
# Packages of classes that are not those of a plug-in.
_OWN = ("admmbench", "abc", "builtins", "typing")
# What a method does not keep numbers in, and what agents are given, which differs between data sets.
_GIVEN = (ModuleType, type, Federation, Block, Dataset)


def variables(what: Any) -> dict[str, Array]:
    """Return all numbers that can be reached from an object, by the path to them; text counts as well."""
    return {name.lstrip("."): array for name, array in _walk(what, "", {}, 0)}


def beside(method: Algorithm[Any, Any]) -> dict[str, Array]:
    """Return numbers with a fraction that a method from outside the package keeps in its classes and its module."""
    classes = [cls for cls in type(method).__mro__ if cls.__module__.split(".")[0] not in _OWN]
    modules = {cls.__module__: vars(sys.modules[cls.__module__]) for cls in classes}
    kept = {cls.__name__: dict(vars(cls)) for cls in classes}
    found = variables(kept) | variables(modules)
    # Whole numbers may count calls, of both worlds together.
    return {name: array for name, array in found.items() if array.dtype.kind in "fc"}


def _walk(what: Any, name: str, seen: dict[int, Any], depth: int) -> Iterator[tuple[str, Array]]:
    if isinstance(what, _NUMBERS):
        yield name, np.asarray(what)
        return
    if depth > _DEEPEST or what is None or id(what) in seen:
        return
    seen[id(what)] = what  # kept, so that nothing else gets its number
    if isinstance(what, np.ndarray) and what.dtype != object:
        yield name, what
        return
    for key, each in _inside(what):
        yield from _walk(each, f"{name}.{key}", seen, depth + 1)


def _inside(what: Any) -> Iterator[tuple[Any, Any]]:
    """Parts of an object, each with its name."""
    if isinstance(what, Mapping):
        yield from what.items()
    elif isinstance(what, list | tuple | np.ndarray) or type(what).__name__ == "deque":
        yield "length", len(what)
        yield from enumerate(what)
    elif isinstance(what, set | frozenset):
        yield from enumerate(sorted(what, key=repr))
    elif isinstance(what, MethodType):
        yield "self", what.__self__
    elif isinstance(what, FunctionType):
        yield from vars(what).items()
        yield from enumerate(what.__defaults__ or ())
        for variable, cell in zip(what.__code__.co_freevars, what.__closure__ or (), strict=True):
            try:
                yield variable, cell.cell_contents
            except ValueError:  # nothing is in it yet
                continue
    elif _has_parts(what):
        yield from getattr(what, "__dict__", {}).items()
        for cls in type(what).__mro__:
            slots = getattr(cls, "__slots__", ())
            for slot in (slots,) if isinstance(slots, str) else slots:
                if hasattr(what, slot) and not slot.startswith("__"):
                    yield slot, getattr(what, slot)


def _has_parts(what: Any) -> bool:
    """Whether an object is neither a module, nor a class, nor what agents are given."""
    if isinstance(what, _GIVEN):
        return False
    return is_dataclass(what) or not type(what).__module__.startswith("admmbench.")
