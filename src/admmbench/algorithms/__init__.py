"""Algorithms: one module per method, named after it; the update equations and nothing else.

Modules are loaded by name when they are asked for, so that a run reaches, and is fingerprinted with, its own
method only. Methods outside the package are found by the entry-point group ``admmbench.algorithms`` or by the
path of a Python file.
"""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import sys
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType

from admmbench.algorithms.base import Algorithm

BUILT_IN = ("iadmm", "objp", "objt", "outp")
_GROUP = "admmbench.algorithms"


def list_algorithms() -> list[str]:
    """Names of the algorithms: built in, and installed as plug-ins."""
    return sorted({*BUILT_IN, *(entry.name for entry in entry_points(group=_GROUP))})


def find_module(name: str) -> ModuleType:
    """Import the module of an algorithm.

    Parameters
    ----------
    name
        A name in `list_algorithms`, or the path of a file ending in ``.py``.

    Raises
    ------
    ValueError
        If there is none; the message gives the nearest name.
    """
    if name.endswith(".py"):
        return _from_file(Path(name))
    if name in BUILT_IN:
        return importlib.import_module(f"admmbench.algorithms.{name}")
    for entry in entry_points(group=_GROUP, name=name):
        return importlib.import_module(entry.module)
    near = difflib.get_close_matches(name, list_algorithms(), 1, 0.0)
    raise ValueError(
        f"unknown algorithm {name!r}; did you mean {near[0]!r}? (there are {', '.join(list_algorithms())})"
    )


def resolve(name: str) -> type[Algorithm]:
    """Class of an algorithm; see `find_module` for the names."""
    module = find_module(name)
    found = [
        value
        for value in vars(module).values()
        if isinstance(value, type)
        and issubclass(value, Algorithm)
        and value.__module__ == module.__name__
    ]
    if len(found) != 1:
        raise ValueError(
            f"algorithm {name!r}: its module must define one subclass of admmbench.algorithms.base.Algorithm, "
            f"found {[cls.__name__ for cls in found]}"
        )
    return found[0]


def _from_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise ValueError(f"algorithm {str(path)!r}: there is no such file")
    name = f"_admmbench_plugin_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up by name
    spec.loader.exec_module(module)
    return module
