"""Methods and data sets from outside the package: installed ones by entry point, others by the path of a file."""

from __future__ import annotations

import importlib.util
import sys
from functools import lru_cache
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import TypeVar

T = TypeVar("T")


def installed(group: str) -> dict[str, str]:
    """Modules that installed packages offer in an entry-point group, by name."""
    return {entry.name: entry.module for entry in entry_points(group=group)}


def load_file(path: Path) -> ModuleType:
    """Import a Python file that is in no package.

    Raises
    ------
    ValueError
        If there is no such file.
    """
    if not path.is_file():
        raise ValueError(f"plug-in {str(path)!r}: there is no such file")
    return _load(path, path.stat().st_mtime_ns)


@lru_cache
def _load(path: Path, changed: int) -> ModuleType:
    """Import it once for each content, as pickles of its objects ask for the module that made them."""
    name = f"_admmbench_plugin_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up by name
    spec.loader.exec_module(module)
    return module


def only_subclass(module: ModuleType, base: type[T]) -> type[T]:
    """Find the one subclass of ``base`` that a module defines.

    Raises
    ------
    ValueError
        If there is none, or more than one.
    """
    found = [
        value
        for value in vars(module).values()
        if isinstance(value, type)
        and issubclass(value, base)
        and value.__module__ == module.__name__
    ]
    if len(found) != 1:
        names = [cls.__name__ for cls in found]
        raise ValueError(
            f"{module.__file__}: expected one subclass of {base.__module__}.{base.__name__}, found {names}"
        )
    return found[0]
