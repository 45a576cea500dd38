"""Algorithms: one module per method, named after it; the update equations and nothing else.

Modules are loaded by name when they are needed, so that the fingerprint of a run covers its own method only. Methods
outside the package are found by the entry-point group ``admmbench.algorithms`` or by the path of a Python file.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from admmbench import plugins
from admmbench.base.algorithm import Algorithm

_ALGORITHMS = plugins.Registry(
    kind="algorithm",
    package=__name__,
    group="admmbench.algorithms",
    base=Algorithm,  # type: ignore[type-abstract]
)
find_module, resolve = _ALGORITHMS.find_module, _ALGORITHMS.resolve

#: Names that people look for, the methods that they stand for, and the parameters that these then have.
ALIASES: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "dp_gd": ("dpsgd", {"sampling": 1}),
    "dp_sgd": ("dpsgd", {}),
    "gauss_seidel_sharing": ("admm_sharing", {"coupling": "sequential"}),
    "objpm": ("objp", {"local_updates": 10}),
}


def unalias(values: Any, key: str) -> Any:
    """Write a method's own name, with its parameters, in the place of another name for it.

    A ValueError says if one of the ``params`` that a user wrote is another one than the name stands for.
    """
    alias = values.get(key) if isinstance(values, Mapping) else None
    if not isinstance(alias, str) or alias not in ALIASES:
        return values
    name, fixed = ALIASES[alias]
    params = values.get("params") or {}
    for parameter, value in fixed.items():
        if isinstance(params, Mapping) and params.get(parameter, value) != value:
            raise ValueError(
                f"params.{parameter}: {alias} is {name} with {parameter}: {value}; write {key}: {name}"
            )
    return {**values, key: name, "params": {**params, **fixed}}


def list_algorithms() -> list[str]:
    """Return the names of the algorithms: built in, and installed as plug-ins."""
    return _ALGORITHMS.names()
