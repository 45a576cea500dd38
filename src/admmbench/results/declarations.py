"""Declarations of methods (family, role, own stopping test), for files of results that lack them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from admmbench import algorithms
from admmbench.base.algorithm import Algorithm
from admmbench.validation import configured

if TYPE_CHECKING:
    import xarray as xr


_DECLARED = {"family": "", "role": "contender", "stops": False}


def with_declarations(results: xr.Dataset) -> xr.Dataset:
    """Return results with the coordinates ``family``, ``role`` and ``stops``, which methods declare, see `Algorithm`.

    Files of earlier versions lack these coordinates. Their methods are found by the coordinates ``method``, ``variant``
    and ``params``; a method that is not found, such as a plug-in of another machine, is a contender without a family.
    """
    lacking = [name for name in _DECLARED if name not in results.coords]
    if not lacking:
        return results
    columns = (results[name].values.tolist() for name in ("method", "variant", "params"))
    declared = [_declared(*method) for method in zip(*columns, strict=True)]
    return results.assign_coords(
        {name: ("algorithm", [values[name] for values in declared]) for name in lacking}
    )


def _declared(name: str, variant: str, params: str) -> Mapping[str, Any]:
    """Return the declarations of a method; defaults if there is no such method."""
    try:
        settings = {**json.loads(params), "variant": variant}
        method: Algorithm[Any, Any] = configured(algorithms.resolve(name), settings, "params", name)
    except ValueError:
        return _DECLARED
    family = method.family
    return {"family": family.mechanism, "role": family.role, "stops": family.stops}
