"""Claims that are theorems: bounds and rates on made-up sides, and what a planted fault comes to."""

from __future__ import annotations

import math

import numpy as np
import pytest
import xarray as xr

from admmbench.audit.findings import Audit, Finding, Kind, fact
from admmbench.base.outcomes import Outcome
from admmbench.claims.judge import Missing
from admmbench.claims.requirements import Shortfall
from admmbench.claims.runs import Row
from admmbench.files.installed import REFERENCE
from admmbench.report.audited import with_audits
from admmbench.results import reference, statistics
from admmbench.spec.run import RunSpec
from admmbench.study.runs import Run
from tests.claims.statements import judge
from tests.made import ERRORS, build

BOUND = {
    "kind": "bound",
    "metric": "left",
    "right": "right",
    "least": "least",
    "unit": "1",
    "algorithms": ["ObjP", "ObjPM"],
    "epsilon": [0.1, 1.0],
}
RATE = {
    "kind": "rate",
    "metric": "left",
    "unit": "1",
    "exponent": -0.5,
    "algorithms": ["ObjP"],
    "epsilon": [0.1],
}
LAW = BOUND | {"each_run": True}


def sides(slope=-0.5, spread=0.05, right=2.0, least=None) -> xr.Dataset:
    """A left side that falls as a power of the round, and right sides that are multiples of its mean."""
    ds = build(ERRORS)
    like = ds["test_error"]
    rng = np.random.default_rng(0)
    falls = xr.ones_like(like) * ds["round"].clip(1).astype(float) ** slope
    left = falls * (1 + spread * rng.standard_normal(like.shape))
    mean = left.mean("seed")
    more = {"right": right * mean, "least": (least or right) * mean}
    return ds.assign(left=left, **{k: v.broadcast_like(like) for k, v in more.items()})


def test_a_bound_holds_and_says_by_how_much():
    verdict = judge(sides(right=2.0), **BOUND)
    assert verdict.verdict == "supported"
    row = verdict.findings[0].rows[0]
    assert (row.label, row.epsilon) == ("ObjP", 0.1)
    assert row.tiers == ((pytest.approx(2),),) * 2


def test_a_bound_whose_constant_may_be_ten_times_as_small_is_not_falsified():
    for right, outcome in ((9.5, "supported"), (10.5, "not falsified")):
        verdict = judge(sides(right=right), **BOUND)
        assert verdict.verdict == outcome
        assert verdict.tightest == pytest.approx(right)
        planted = {"supported": "contradicted", "not falsified": "supported"}[outcome]
        assert judge(sides(right=right / 10), **BOUND).verdict == planted


def test_nine_tenths_of_the_left_side_are_refuted_at_every_round():
    ds = sides(right=0.9)
    assert judge(ds, **BOUND).verdict == "contradicted"
    for t in ds["round"].values[ds["round"].values > 0]:
        alone = ds.sel(round=[t])
        assert judge(alone, **BOUND).verdict == "contradicted"


def test_what_lies_between_the_constants_is_undecided():
    """Below the right side with the largest constants, above that with the smallest."""
    assert judge(sides(right=1.5, least=0.8), **BOUND).verdict == "undecided"
    assert judge(sides(right=0.9, least=0.8), **BOUND).verdict == "contradicted"
    assert judge(sides(right=1.5, least=1.2), **BOUND).verdict == "supported"


def test_noise_that_hides_the_difference_leaves_a_bound_undecided():
    assert judge(sides(spread=0.5, right=1.02), **BOUND).verdict == "undecided"


def test_one_run_refutes_an_inequality_of_every_run():
    ds = sides(right=2.0)
    assert judge(ds, **LAW).verdict == "supported"
    left = ds["left"].copy()
    left[{"seed": 3, "round": -1, "algorithm": 0, "epsilon": 0}] *= 2.5
    first = {"algorithms": [str(ds["algorithm"].values[0])], "epsilon": [float(ds["epsilon"][0])]}
    bad = ds.assign(left=left)
    assert judge(bad, **LAW | first).verdict == "contradicted"
    assert judge(bad, **BOUND | first).verdict == "supported"


@pytest.mark.parametrize(
    ("lower", "composed", "proved", "outcome"),
    [
        (0.0, 0.04, True, "supported"),
        (0.0, 0.2, True, "undecided"),
        (0.0, 0.04, False, "undecided"),
        (2.7, 0.04, False, "contradicted"),
        (2.7, 4.0, True, "contradicted"),
    ],
)
def test_a_privacy_loss_lies_between_what_attacks_show_and_what_is_proved(
    lower, composed, proved, outcome
):
    spec = RunSpec(dataset="digits", algorithm="objp", epsilon=0.1)
    good = Finding(
        level="coupling", canary="worst", passed=True, value=0, bound=1, fact=fact(Kind.SAME)
    )
    epsilons = {"epsilon_lower": lower, "epsilon_ledger": composed, "epsilon_claimed": 0.1}
    results = build(ERRORS)
    results["guarantee"] = ("algorithm", ["proved" if proved else "none"] * len(ERRORS))
    attacked = with_audits(
        results,
        [
            (Run("ObjP", spec), Audit(findings=(good,), rounds=1, **epsilons)),
            (Run("ObjPM", spec), Audit(reason=fact(Kind.DIVERGES))),
            (Run("Not run", spec), Audit(findings=(good,), rounds=1, **epsilons)),
        ],
    )
    statement = {"kind": "privacy", "algorithms": ["ObjP"], "epsilon": [0.1]}
    verdict = judge(attacked, **statement)
    assert verdict.verdict == outcome
    shown = (lower,), (composed if proved else math.inf,), (0.1,)
    assert verdict.findings[0].rows == [Row(shown, "ObjP", 0.1)]
    assert judge(results, **statement).findings[0].missing == Missing.METRIC
    # Failed runs are none of the audit's.
    attacked["status"].loc[{"algorithm": "ObjP", "seed": 0}] = Outcome.DIVERGED
    assert judge(attacked, **statement).verdict == outcome


@pytest.mark.parametrize(
    ("slope", "tolerance", "outcome"),
    [
        (-0.6, 0.0, "supported"),
        (-0.4, 0.0, "undecided"),
        (-0.4, 0.2, "supported"),
        (-0.1, 0.2, "undecided"),
        (-0.1, 0.6, "supported"),
        (0.05, 0.2, "contradicted"),
        (0.05, 0.6, "supported"),
    ],
)
def test_a_rate_has_a_tolerance_and_only_a_rise_contradicts_a_fall(slope, tolerance, outcome):
    verdict = judge(sides(slope, spread=0.01), **RATE, tolerance=tolerance)
    assert verdict.verdict == outcome
    (part,) = verdict.findings[0].parts
    assert part.limit == pytest.approx(-0.5 + tolerance)
    assert part.estimate == pytest.approx(slope, abs=0.02)


def test_a_rate_that_is_exact_is_supported_and_a_growth_may_not_be_faster():
    assert judge(sides(-0.5, spread=0.01), **RATE).verdict == "supported"
    root = sides(0.5, spread=0.01)
    assert judge(root, **RATE | {"exponent": 0.5}).verdict == "supported"
    assert judge(root, **RATE | {"exponent": 0.4}).verdict == "contradicted"


@pytest.mark.parametrize(
    ("exponent", "floor", "outcome"),
    [
        (-1.0, 0.01, "supported"),
        (-2.0, 0.01, "supported"),
        (-0.5, 0.01, "contradicted"),
        (-1.0, 0.2, "not run"),
    ],
)
def test_a_rate_along_epsilon_is_judged_where_noise_makes_the_metric(exponent, floor, outcome):
    """A metric of 1 / epsilon, and a floor that is there without noise."""
    ds = build({"ObjP": dict.fromkeys([0.1, 1.0, np.inf], 0.1)})
    rng = np.random.default_rng(0)
    like = xr.ones_like(ds["test_error"])
    noise = like / ds["epsilon"] * (1 + 0.01 * rng.standard_normal(like.shape))
    ds = ds.assign(left=floor * like + noise)
    grows = RATE | {"along": "epsilon", "epsilon": [0.1, 1.0], "exponent": exponent}
    verdict = judge(ds, **grows)
    assert verdict.verdict == outcome
    (part,) = verdict.findings[0].parts
    assert part.estimate == pytest.approx(-1, abs=0.08)
    short = [("noise", "ObjP", 1.0)] if outcome == "not run" else []
    assert [(s.what, s.label, s.epsilon) for s in verdict.findings[0].shortfalls] == short


def test_a_loss_without_seeds_has_a_rate():
    ds = build(ERRORS)
    ds["epsilon_claimed"] = ds["epsilon_claimed"] * 0 + ds["round"] ** 0.5
    loss = RATE | {"metric": "epsilon_claimed", "exponent": 0.5}
    assert judge(ds, **loss).verdict == "supported"
    assert judge(ds, **loss | {"exponent": 0.3}).verdict == "contradicted"


def test_too_few_rounds_in_the_last_decade_show_no_rate():
    ds = sides(-0.6, spread=0.01).sel(round=[1, 100, 300])
    verdict = judge(ds, **RATE)
    assert verdict.verdict == "undecided"
    assert verdict.findings[0].shortfalls == [Shortfall("decade", 2, 3)]


def test_a_line_needs_two_means_above_zero():
    left = sides()["left"].sel(algorithm="ObjP", epsilon=0.1)
    assert np.isnan(statistics.last_slope(left.sel(round=[300])))
    left.loc[{"round": 300}] = 0
    assert statistics.last_slope(left) == pytest.approx(-0.5, abs=0.1)


def test_sides_that_are_not_measured():
    verdict = judge(sides().drop_vars("least"), **BOUND)
    (finding,) = verdict.findings
    assert (finding.missing, finding.unmeasured) == (Missing.METRIC, "least")


@pytest.mark.parametrize("name", ["theorems_inside", "theorems_cut", "theorems_grid"])
def test_nine_tenths_of_a_real_left_side_are_refuted_at_every_round(name):
    """Of kept runs: as a mean over seeds, and in every run; as the right sides of the theorems are, they hold."""
    kept = reference.load([name], [REFERENCE])[name]
    runs: dict[str, object] = {"algorithms": [str(kept["algorithm"].values[1])], "epsilon": [1.0]}
    runs["requires"] = {"rounds": 1, "seeds": 10, "agents": 1, "n_train": 1}
    left = kept["theorem_left"]
    planted = kept.assign(right=0.9 * left.mean("seed").broadcast_like(left), drawn=0.9 * left)
    for t in kept["round"].values[kept["round"].values > 0]:
        alone = planted.sel(round=[t])
        for given in (BOUND | {"right": "right"}, LAW | {"right": "drawn"}):
            claim = given | runs | {"metric": "theorem_left", "least": ""}
            assert judge(alone, **claim).verdict == "contradicted"
            repaired = claim | {"right": "theorem_repaired"}
            assert judge(alone, **repaired).verdict in ("supported", "not falsified")
