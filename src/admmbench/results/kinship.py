"""What methods declare about themselves, where a file of results lacks it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from admmbench import algorithms
from admmbench.frames.base import Algorithm
from admmbench.validation import configured

if TYPE_CHECKING:
    import xarray as xr


def with_kinship(results: xr.Dataset) -> xr.Dataset:
    """Give results the coordinates ``family`` and ``role``, which say how a method stands to others, see `Algorithm`.

    Files of earlier versions lack them. There the methods are asked, by the coordinates ``method`` and ``params``; one
    that is not to be found, such as a plug-in of another machine, is a contender without a family.
    """
    if {"family", "role"} <= set(results.coords):
        return results
    columns = (results[name].values.tolist() for name in ("method", "variant", "params"))
    families, roles = zip(*map(_kinship, *columns), strict=True)
    return results.assign_coords(
        family=("algorithm", list(families)), role=("algorithm", list(roles))
    )


def _kinship(name: str, variant: str, params: str) -> tuple[str, str]:
    try:
        given = {**json.loads(params), "variant": variant}
        method: Algorithm[Any, Any] = configured(algorithms.resolve(name), given, "params", name)
    except ValueError:
        return "", "contender"
    return method.family, method.role
