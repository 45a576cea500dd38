"""Each loss with data that suit it, and problems made of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import pytest

from admmbench.contracts.losses import STEP, Array, LossCase
from admmbench.datasets import Dataset, RowSelection, Split
from admmbench.engine.threads import one_by_one
from admmbench.problems import as_problem, list_losses
from admmbench.problems.rows import BoundRows

ALL = one_by_one
STRENGTH = 0.3
HUBERS: list[Mapping[str, Any]] = [
    {"name": "huber", "threshold": 0.3},
    {"name": "huber", "threshold": 12},
]
LOSSES: list[str | Mapping[str, Any]] = [*list_losses(), *HUBERS]


def bind_shares(
    case: LossCase,
    data: Dataset,
    shares: Sequence[Sequence[tuple[slice, RowSelection]]],
    n_seeds: int,
    sensitivity: Literal["local", "global"] = "local",
    **settings: Any,
) -> BoundRows:
    """A problem whose rows are shared out by hand; records are as they are unless settings say otherwise."""
    problem = as_problem({"loss": case.spec, "records": {}, **settings}, "rows")
    bound = problem.bind(Split(data, list(map(list, shares))), n_seeds, sensitivity, np.float64)
    assert isinstance(bound, BoundRows)
    return bound


def label(spec: str | Mapping[str, Any]) -> str:
    """Name of a loss in a test's name."""
    return spec if isinstance(spec, str) else f"{spec['name']} {spec['threshold']}"


CASES = [pytest.param(LossCase(spec), id=label(spec)) for spec in LOSSES]
each_loss = pytest.mark.parametrize("case", CASES)
each_scalar = pytest.mark.parametrize("case", [param for param in CASES if param.values[0].scalar])


def literal_penalty(name: str, w: Array) -> float:
    """Value of a penalty, as its name says."""
    return float(np.abs(w).sum() if name == "l1" else np.square(w).sum() / 2)


def differences(function: Callable[[Array], Array], at: Array, lead: int) -> Array:
    """Central differences in the trailing axes; the function keeps the leading ones."""
    found = np.empty_like(at)
    for place in np.ndindex(at.shape[lead:]):
        way = np.zeros(at.shape[lead:])
        way[place] = STEP
        found[(..., *place)] = (function(at + way) - function(at - way)) / (2 * STEP)
    return found
