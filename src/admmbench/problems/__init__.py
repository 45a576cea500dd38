"""Problems: objectives with value, gradient, sensitivity bounds and optimum.

A problem is a module here with a pydantic model of its parameters and the method ``bind(split, ...)``.
"""

from __future__ import annotations

import importlib
from typing import Any

from admmbench.validation import unknown

_MODULES = {"logistic": "Logistic", "softmax": "Softmax", "vertical": "Vertical"}


def list_problems() -> list[str]:
    """Names of the problems."""
    return sorted(_MODULES)


def resolve(name: str) -> Any:
    """Model class of a problem; ValueError names the nearest one."""
    if name not in _MODULES:
        raise ValueError(unknown("problem", name, _MODULES))
    return getattr(importlib.import_module(f"admmbench.problems.{name}"), _MODULES[name])


def as_problem(spec: str | dict[str, Any]) -> Any:
    """Problem from its name, or from a mapping with the key ``name`` and parameters."""
    settings = {"name": spec} if isinstance(spec, str) else dict(spec)
    if "name" not in settings:
        raise ValueError("problem: the key 'name' is missing")
    return resolve(settings.pop("name"))(**settings)
