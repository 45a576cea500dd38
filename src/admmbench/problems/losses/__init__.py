"""Losses: one module for each, found by name, entry point or the path of a file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from admmbench import plugins
from admmbench.problems.loss import Loss
from admmbench.validation import configured

_LOSSES = plugins.Registry(
    kind="loss",
    package=__name__,
    group="admmbench.losses",
    base=Loss,  # type: ignore[type-abstract]
)
find_module, resolve = _LOSSES.find_module, _LOSSES.resolve


def list_losses() -> list[str]:
    """List the names of the losses: built in, and installed as plug-ins."""
    return _LOSSES.names()


def as_loss(spec: str | Mapping[str, Any]) -> Loss:
    """Make a loss from its name, or from a mapping with the key ``name`` and parameters."""
    settings = {"name": spec} if isinstance(spec, str) else dict(spec)
    if "name" not in settings:
        raise ValueError("loss: the key 'name' is missing")
    name = settings.pop("name")
    if not isinstance(name, str):
        raise ValueError(f"loss: name: expected the name of a loss, got {name!r}")
    return configured(resolve(name), settings, "problem.loss", f"loss {name}")
