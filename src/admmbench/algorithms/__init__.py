"""Algorithms: one module per method, named after it; the update equations and nothing else.

Modules are loaded by name when they are asked for, so that a run reaches, and is fingerprinted with, its own
method only. Methods outside the package are found by the entry-point group ``admmbench.algorithms`` or by the
path of a Python file.
"""

from __future__ import annotations

import importlib
from functools import lru_cache
from pathlib import Path
from types import ModuleType

from admmbench import plugins
from admmbench.algorithms.base import Algorithm
from admmbench.validation import unknown

BUILT_IN = (
    "admm",
    "admm_sharing",
    "centralized",
    "dp_admm",
    "dp_admm_sharing",
    "dpsgd",
    "dvp",
    "iadmm",
    "local_only",
    "objp",
    "objt",
    "outp",
    "pvp",
    "vertical_sgd",
)
_GROUP = "admmbench.algorithms"


def list_algorithms() -> list[str]:
    """Names of the algorithms: built in, and installed as plug-ins."""
    return sorted({*BUILT_IN, *plugins.installed(_GROUP)})


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
        return plugins.load_file(Path(name))
    if name in BUILT_IN:
        return importlib.import_module(f"admmbench.algorithms.{name}")
    if name in plugins.installed(_GROUP):
        return importlib.import_module(plugins.installed(_GROUP)[name])
    names = list_algorithms()
    raise ValueError(f"{unknown('algorithm', name, names)} (there are {', '.join(names)})")


def resolve(name: str) -> type[Algorithm]:
    """Class of an algorithm; see `find_module` for the names."""
    return _only_algorithm(find_module(name))


@lru_cache
def _only_algorithm(module: ModuleType) -> type[Algorithm]:
    return plugins.only_subclass(module, Algorithm)  # type: ignore[type-abstract]
