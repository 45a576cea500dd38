"""What methods declare about themselves, where a file of results lacks it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from admmbench import algorithms
from admmbench.frames.base import Algorithm
from admmbench.validation import configured

if TYPE_CHECKING:
    import xarray as xr


def kinship(method: Algorithm[Any, Any]) -> dict[str, str]:
    """Coordinates of a method that say how it stands to others, see `Algorithm`."""
    return {"family": method.family, "role": method.role}


def with_kinship(results: xr.Dataset) -> xr.Dataset:
    """Results with the coordinates ``family`` and ``role``.

    Files of earlier versions lack them. There the methods are asked, by the coordinates ``method`` and ``params``; one
    that is not to be found, such as a plug-in of another machine, is a contender without a family.
    """
    if {"family", "role"} <= set(results.coords):
        return results
    columns = (results[name].values.tolist() for name in ("method", "variant", "params"))
    facts = [_kinship_of(*each) for each in zip(*columns, strict=True)]
    return results.assign_coords(
        {name: ("algorithm", [each[name] for each in facts]) for name in ("family", "role")}
    )


def _kinship_of(name: str, variant: str, params: str) -> dict[str, str]:
    try:
        given = {**json.loads(params), "variant": variant}
        return kinship(configured(algorithms.resolve(name), given, "params", name))
    except ValueError:
        return {"family": "", "role": "contender"}
