"""Axes that ``admmbench rank`` searches for a method: those that its class declares, or default ones."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import TypeAdapter

AUTO = "auto"
_ROUNDS = {"rounds": 20}
# A schedule may be one number, of the size from which the suite's own searches begin.
_RHO = {"type": "number", "exclusiveMinimum": 0, "default": 0.02}
# Distance from an end that a parameter may not have, as a part of it.
_INSIDE = 0.01


def axes(cls: type[Any]) -> Mapping[str, Any]:
    """Return the axes of a method's class, by the paths of their keys, see `Axis`.

    With ``tune = "auto"`` these are the rounds and each numeric parameter that has a bound: from its default, or for a
    default of 0 from 1 or the middle of its range.
    """
    if cls.tune != AUTO:
        return dict(cls.tune)
    found = {f"params.{name}": axis for name, axis in _bounded(cls)}
    return found if cls.one_shot else _ROUNDS | found


def untuned(cls: type[Any]) -> list[str]:
    """Return the numeric parameters of a class that no axis is about, if the class declares no ``tune`` of its own."""
    if "tune" in vars(cls):
        return []
    searched = {path.removeprefix("params.") for path in axes(cls)}
    return [name for name, _ in _numbers(cls) if name not in searched]


def _numbers(cls: type[Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the name and the JSON schema of each numeric parameter."""
    for name, schema in TypeAdapter(cls).json_schema().get("properties", {}).items():
        if str(schema.get("$ref")).endswith("/RhoSchedule"):
            schema = _RHO
        numbers = (
            one
            for one in (schema, *schema.get("anyOf", ()))
            if one.get("type") in ("number", "integer")
        )
        for one in itertools.islice(numbers, 1):
            yield name, {**schema, **one}


def _bounded(cls: type[Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the name and the axis of each numeric parameter with a bound; axes are of positive numbers."""
    for name, schema in _numbers(cls):
        # A number that may be infinite has the words of annotated-types.
        low, high = schema.get("minimum", schema.get("ge")), schema.get("maximum", math.inf)
        high = schema.get("le", high)
        if (above := schema.get("exclusiveMinimum", schema.get("gt"))) is not None:
            low = above + _INSIDE * abs(above)
        if (below := schema.get("exclusiveMaximum", schema.get("lt"))) is not None:
            high = below - _INSIDE * abs(below)
        if (low is None and high == math.inf) or high <= 0:
            continue
        least = max(low or 0.0, 0.0)
        start = schema.get("default") or 0.0
        if not start > 0:
            start = (least + high) / 2 if high < math.inf else max(least, 1.0)
        axis: dict[str, Any] = {"start": min(max(start, least), high), "least": least}
        if high < math.inf:
            axis["most"] = high
        if schema["type"] == "integer":
            axis["whole"] = True
        yield name, axis
