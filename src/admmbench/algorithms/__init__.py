"""Algorithms: one module per method, named after it; the update equations and nothing else.

Modules are loaded by name when they are needed, so that the fingerprint of a run covers its own method only. Methods
outside the package are found by the entry-point group ``admmbench.algorithms`` or by the path of a Python file.
"""

from __future__ import annotations

from types import ModuleType

from admmbench import plugins
from admmbench.frames.base import Algorithm

_ALGORITHMS = plugins.Registry(
    kind="algorithm",
    package=__name__,
    group="admmbench.algorithms",
    base=Algorithm,  # type: ignore[type-abstract]
)


def list_algorithms() -> list[str]:
    """Names of the algorithms: built in, and installed as plug-ins."""
    return _ALGORITHMS.names()


def find_module(name: str) -> ModuleType:
    """Import the module of an algorithm, by a name in `list_algorithms` or the path of a file ending in ``.py``.

    Raises
    ------
    ValueError
        If there is none; the message gives the nearest name.
    """
    return _ALGORITHMS.find_module(name)


def resolve(name: str) -> type[Algorithm]:  # type: ignore[type-arg]
    """Class of an algorithm; see `find_module` for the names."""
    return _ALGORITHMS.resolve(name)
