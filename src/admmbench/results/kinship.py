"""What methods declare about themselves, where a file of results lacks it."""

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


def with_kinship(results: xr.Dataset) -> xr.Dataset:
    """Give results the coordinates ``family``, ``role`` and ``stops``, which methods declare, see `Algorithm`.

    Files of earlier versions lack them. There the methods are asked, by the coordinates ``method`` and ``params``; one
    that is not to be found, such as a plug-in of another machine, is a contender without a family.
    """
    lacking = [name for name in _DECLARED if name not in results.coords]
    if not lacking:
        return results
    columns = (results[name].values.tolist() for name in ("method", "variant", "params"))
    declared = [_declared(*each) for each in zip(*columns, strict=True)]
    return results.assign_coords(
        {name: ("algorithm", [each[name] for each in declared]) for name in lacking}
    )


def _declared(name: str, variant: str, params: str) -> Mapping[str, Any]:
    try:
        given = {**json.loads(params), "variant": variant}
        method: Algorithm[Any, Any] = configured(algorithms.resolve(name), given, "params", name)
    except ValueError:
        return _DECLARED
    family = method.family
    return {"family": family.mechanism, "role": family.role, "stops": family.stops}
