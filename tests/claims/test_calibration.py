"""How often verdicts are wrong, for each kind of claim, by simulated studies with known true values.

A verdict is wrong if a claim is supported though it is false, or contradicted though it is true. On the edge of its
region a claim is as good as both. Each row has the level that its rates have at most; three standard errors are allowed
beyond it.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import xarray as xr
from pydantic import TypeAdapter

from admmbench.claims.evidence import Evidence
from admmbench.claims.judge import regions_of
from admmbench.claims.kinds import Piece
from admmbench.claims.runs import Contrast, Quantity, Runs
from admmbench.inference.contrasts import Decision, joint_decision
from admmbench.inference.intervals import Difference, Estimate, normal_minimum
from tests.made import build

STUDIES = 1000
BY_RUNS = 200
SEEDS = 10
DEPTH = normal_minimum(SEEDS)
"""Standard deviations by which the lowest of ten values lies below their mean."""
OUTCOMES = {"supported": Decision.SUPPORTED, "contradicted": Decision.CONTRADICTED}

VALUE = {"kind": "value", "algorithm": "a", "epsilon": 1.0, "published": 20.0, "tolerance": 1.0}
BEST = VALUE | {"over_seeds": "best"}
LABELS = {"kind": "order", "labels": ["a", "b", "c"], "epsilon": [1.0, 2.0], "relevant": 0.5}
SOME = LABELS | {"somewhere": True}
CLOSE = {
    "kind": "close",
    "algorithm": "a",
    "others": ["b", "c"],
    "epsilon": 1.0,
    "reference": {"algorithm": "r", "epsilon": 2.0},
    "tolerance": 1.0,
}
TREND = {
    "kind": "trend",
    "along": "epsilon",
    "algorithms": ["a"],
    "epsilon": [1.0, 2.0, 3.0, 4.0],
    "relevant": 0.5,
}


def evidence(given: dict[str, Any]) -> Evidence:
    """Make a piece of evidence of a made-up study."""
    return TypeAdapter(Piece).validate_python({"experiment": "study", **given})


def budgets(**means: Any) -> dict[str, dict[float, float]]:
    """Means of methods in percent: one for both budgets 1 and 2, or one for each budget from 1 on."""
    lists = {label: [each] * 2 if np.isscalar(each) else each for label, each in means.items()}
    return {label: dict(enumerate(each, 1)) for label, each in lists.items()}


# Evidence, true means in percent, whose standard deviation over seeds is 1, and highest rates of outcomes.
FAR = 10.0
ROWS = {
    "value, on the edge": (VALUE, budgets(a=21.0), {"supported": 0.05, "contradicted": 0.025}),
    "value, within": (VALUE, budgets(a=20.8), {"contradicted": 0.025}),
    "value, outside": (VALUE, budgets(a=21.2), {"supported": 0.05}),
    "best, on the edge": (
        BEST,
        budgets(a=21.0 + DEPTH),
        {"supported": 0.05, "contradicted": 0.025},
    ),
    "difference, on the edge": (
        VALUE | {"minus": "b", "published": 5.0},
        budgets(a=26.0, b=20.0),
        {"supported": 0.05, "contradicted": 0.025},
    ),
    "difference of the best, on the edge": (
        BEST | {"minus": "b", "published": 5.0},
        budgets(a=26.0, b=20.0),
        {"supported": 0.05, "contradicted": 0.025},
    ),
    "order, one difference of 0": (
        LABELS,
        budgets(a=10.0, b=[20.0, 20.0], c=[30.0, 20.0]),
        {"supported": 0.025},
    ),
    "order, all differences relevant": (
        LABELS,
        budgets(a=10.0, b=10.5, c=11.0),
        {"contradicted": 0.025},
    ),
    "somewhere, no difference": (SOME, budgets(a=10.0, b=10.0, c=10.0), {"supported": 0.025}),
    "somewhere, one relevant difference": (
        SOME,
        budgets(a=[10.0, 10.0], b=[10.5, 5.0], c=[5.0, 1.0]),
        {"contradicted": 0.025},
    ),
    "close, on the edge": (
        CLOSE,
        budgets(a=21.0, b=21.0, c=19.0, r=20.0),
        {"supported": 0.025, "contradicted": 0.05},
    ),
    "close, another one close": (
        CLOSE,
        budgets(a=20.0, b=20.9, c=FAR, r=20.0),
        {"supported": 0.025},
    ),
    "trend, no fall": (TREND, budgets(a=[10.0] * 4), {"supported": 0.025}),
    "trend, a rise on the edge": (
        TREND,
        budgets(a=[20.0, 15.0, 15.5, 10.0]),
        {"supported": 0.05, "contradicted": 0.05},
    ),
    "trend, a relevant fall": (TREND, budgets(a=[10.5, 10.4, 10.3, 10.0]), {"contradicted": 0.05}),
}
CLEAR = {
    "value": (VALUE, budgets(a=20.0), "supported", 0.7),
    "value far off": (VALUE, budgets(a=FAR), "contradicted", 0.99),
    "order": (LABELS, budgets(a=10.0, b=20.0, c=30.0), "supported", 0.99),
    "turned order": (LABELS, budgets(a=30.0, b=20.0, c=10.0), "contradicted", 0.99),
    "somewhere": (SOME, budgets(a=30.0, b=20.0, c=[10.0, 30.0]), "supported", 0.99),
    "close": (CLOSE, budgets(a=20.0, b=FAR, c=FAR, r=20.0), "supported", 0.2),
    "trend": (TREND, budgets(a=[20.0, 15.0, 11.0, 10.0]), "supported", 0.9),
}


def rates(given: dict[str, Any], means: dict[str, dict[float, float]]) -> dict[str, float]:
    """Parts of the simulated studies with each outcome: contrasts are those of a study with the true means."""
    errors = {label: {e: mean / 100 for e, mean in each.items()} for label, each in means.items()}
    piece = evidence(given)
    ds = build(errors, spread=0.0)
    runs = Runs(ds, list(dict.fromkeys(piece.selections())), "test_error", "final", 100)
    contrasts = list(piece.contrasts(runs))
    regions = regions_of(contrasts, 1 if piece.some else len(contrasts), some=piece.some)
    rng = np.random.default_rng(7)
    values = {
        (label, epsilon): rng.normal(mean, 1, (STUDIES, SEEDS))
        for label, each in means.items()
        for epsilon, mean in each.items()
    }
    estimates = [simulated(contrast, values) for contrast in contrasts]
    found = Counter(
        joint_decision(map(judge, regions, study), some=piece.some)
        for study in zip(*estimates, strict=True)
    )
    return {name: found[outcome] / STUDIES for name, outcome in OUTCOMES.items()}


def judge(region, estimate):
    return region.judge(estimate)


def simulated(contrast: Contrast, values) -> list[Estimate | Difference]:
    """Estimates of a contrast, which is a value or the difference of two."""

    def estimates(like: Estimate, each) -> list[Estimate]:
        moments = zip(each.mean(1), each.std(1, ddof=1), strict=True)
        return [replace(like, mean=mean, deviation=sd, n=SEEDS) for mean, sd in moments]

    first, like = values[contrast.runs[0]], contrast.estimate
    if isinstance(like, Difference):
        second = values[contrast.runs[1]]
        pairs = zip(estimates(like.first, first), estimates(like.second, second), strict=True)
        return [Difference(*pair) for pair in pairs]
    if contrast.quantity != Quantity.VALUE:
        first = first - values[contrast.runs[1]]
        first *= -1 if contrast.quantity == Quantity.RISE else 1
    return list(estimates(like, first))


def allowed(level: float, studies: int) -> float:
    """Highest rate of a level, with three standard errors."""
    return level + 3 * math.sqrt(level * (1 - level) / studies)


@pytest.mark.parametrize("name", ROWS)
def test_verdicts_on_and_around_the_edge_of_a_region_are_wrong_in_5_percent_at_most(name):
    given, means, limits = ROWS[name]
    found = rates(given, means)
    for outcome, level in limits.items():
        assert found[outcome] <= allowed(level, STUDIES)


@pytest.mark.parametrize("name", CLEAR)
def test_verdicts_far_from_the_edge_are_right(name):
    given, means, outcome, least = CLEAR[name]
    assert rates(given, means)[outcome] >= least


# Kinds whose contrasts are no differences of two runs go through the code that makes them.

ONE = {"algorithms": ["a"], "epsilon": [1.0], "unit": "1"}
RATIO = VALUE | {"over": "b", "unit": "1", "published": 2.0, "tolerance": 0.1}
ROUND = ONE | {"kind": "trend", "along": "round", "metric": "left", "fraction": 0.2}
BOUND = ONE | {"kind": "bound", "metric": "left", "right": "right"}
RATE = ONE | {"kind": "rate", "metric": "left", "exponent": -0.5, "tolerance": 0.1}
GROWTH = RATE | {"along": "epsilon", "epsilon": [1.0, 2.0, 3.0]}
GROUPS = {
    "narrow": {"algorithms": ["a"], "epsilon": [1.0, 2.0, 3.0], "over": "epsilon"},
    "wide": {"algorithms": ["b"], "epsilon": [1.0, 2.0, 3.0], "over": "epsilon"},
}
SPREAD = {"kind": "spread", "relevant": 0.5, **GROUPS}


def draw(name: str, ds: xr.Dataset, rng: np.random.Generator) -> xr.Dataset:
    """Results of a study in which a claim of this kind lies on the edge of its region."""
    dims, shape = ds["test_error"].dims, ds["test_error"].shape
    noise, t = rng.normal(size=shape), ds["round"].values
    sides = {"right": (dims, np.ones(shape))}
    if name == "ratio":
        second = 0.2 + 0.005 * noise
        second[0] = second[1] * (2.1 + 0.1 * noise[0])
        return ds.assign(test_error=(dims, second))
    if name == "round":
        falls = np.where(t == t[-1], 0.2 + 0.02 * noise, 1.0)
        return ds.assign(left=(dims, falls))
    if name == "bound":
        left = np.where(t == t[-1], 1.0, 0.5) + 0.1 * noise
        return ds.assign(left=(dims, left), **sides)
    if name in ("rate", "rise"):
        return ds.assign(left=(dims, t ** (-0.4 if name == "rate" else 0.0) * (1 + 0.1 * noise)))
    if name == "growth":
        return ds.assign(left=ds["epsilon"] ** -0.6 * xr.DataArray(1 + 0.1 * noise, dims=dims))
    ends = np.array([0.1, 0.15, 0.3])[:, None, None]
    wide = 0.005 if name == "relevant spread" else 0.0
    stretch = 1 + wide / 0.2 * np.array([0, 1])[:, None, None, None]
    return ds.assign(test_error=(dims, 0.1 + (ends - 0.1) * stretch + 0.01 * noise))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "given", "limits"),
    [
        ("ratio", RATIO, {"supported": 0.05, "contradicted": 0.025}),
        ("round", ROUND, {"supported": 0.05, "contradicted": 0.025}),
        ("bound", BOUND, {"supported": 0.05, "contradicted": 0.025}),
        ("rate", RATE, {"supported": 0.05, "contradicted": 0.025}),
        ("rise", RATE, {"contradicted": 0.025}),
        ("growth", GROWTH, {"supported": 0.05, "contradicted": 0.025}),
        ("spread", SPREAD, {"supported": 0.025}),
        ("relevant spread", SPREAD, {"contradicted": 0.025}),
    ],
)
def test_verdicts_of_other_kinds_on_the_edge_are_wrong_in_5_percent_at_most(name, given, limits):
    means = {"a": {1.0: 0.2, 2.0: 0.2, 3.0: 0.2}, "b": {1.0: 0.1, 2.0: 0.1, 3.0: 0.1}}
    piece, rng = evidence(given), np.random.default_rng(7)
    ds = build(means, seeds=SEEDS, rounds=(30, 100, 300))
    factor, found = 100 if piece.unit == "%" else 1, Counter[Decision]()
    for _ in range(BY_RUNS):
        drawn = draw(name, ds, rng)
        there = [run for run in dict.fromkeys(piece.selections()) if math.isfinite(run[1])]
        runs = Runs(drawn, there, piece.metric, "final", factor)
        contrasts = list(piece.contrasts(runs))
        regions = regions_of(contrasts, len(contrasts), some=False)
        found[
            joint_decision(r.judge(c.estimate) for r, c in zip(regions, contrasts, strict=True))
        ] += 1
    for outcome, level in limits.items():
        assert found[OUTCOMES[outcome]] / BY_RUNS <= allowed(level, BY_RUNS)
    assert found.total() == BY_RUNS
