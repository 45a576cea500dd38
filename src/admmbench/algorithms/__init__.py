"""Algorithms: one module per method, named after it; the update equations and nothing else.

Modules are loaded by name when they are needed, so that the fingerprint of a run covers its own method only. Methods
outside the package are found by the entry-point group ``admmbench.algorithms`` or by the path of a Python file.
"""

from __future__ import annotations

from admmbench import plugins
from admmbench.frames.base import Algorithm

_ALGORITHMS = plugins.Registry(
    kind="algorithm",
    package=__name__,
    group="admmbench.algorithms",
    base=Algorithm,  # type: ignore[type-abstract]
)
find_module, resolve = _ALGORITHMS.find_module, _ALGORITHMS.resolve


def list_algorithms() -> list[str]:
    """Names of the algorithms: built in, and installed as plug-ins."""
    return _ALGORITHMS.names()
