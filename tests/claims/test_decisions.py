"""How often each kind of verdict is right and wrong, by simulation, and in closed form where there is one.

Rates are of 400 simulated studies unless a test says another number, so that their standard error is at most 0.025, and
0.011 at 5 %. Tolerances are three of them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest
import xarray as xr
from numpy.typing import NDArray
from scipy import stats

from admmbench.claims import decisions
from admmbench.claims.decisions import Part, Region, above_zero, apart, at_most, within
from admmbench.claims.estimates import Estimate, jackknife, normal_minimum

STUDIES = 400
FIVE_PERCENT = 0.05 + 3 * 0.011


def part(values: NDArray[np.float64], region: Region, depth: float = 0.0, **given: object) -> Part:
    """One quantity, from its values over seeds."""
    estimate = Estimate.of(xr.DataArray(values, dims="seed"), depth=depth)
    return Part("It", region, estimate, **given)


def rates(
    make: Callable[[np.random.Generator], list[Part]], studies: int = STUDIES, *, some: bool = False
) -> dict[str, float]:
    """How often each outcome comes of simulated studies."""
    rng = np.random.default_rng(7)
    found = Counter(decisions.decide(make(rng), some=some) for _ in range(studies))
    return {outcome: found[outcome] / studies for outcome in decisions.MEANING}


def normal(mean: float, region: Region, n: int = 10, depth: float = 0.0):
    """Studies of one quantity whose standard deviation is 1."""
    return lambda rng: [part(rng.normal(mean, 1, n), region, depth)]


def tost_power(off: float, margin: float, n: int) -> float:
    """Probability that an interval of 90 % lies within the margin, by numerical integration over s."""
    t = stats.t.ppf(0.95, n - 1)
    s = np.sqrt(stats.chi2.ppf((np.arange(4000) + 0.5) / 4000, n - 1) / (n - 1))
    room = np.maximum(margin - t * s / math.sqrt(n), 0)
    high, low = ((sign * room - off) * math.sqrt(n) for sign in (1, -1))
    return float((stats.norm.cdf(high) - stats.norm.cdf(low)).mean())


@pytest.mark.parametrize(("off", "n"), [(0.0, 10), (0.5, 10), (1.0, 10), (0.0, 3), (1.3, 30)])
def test_equivalence_has_the_power_of_theory(off, n):
    found = rates(normal(off, within(0, 1, ""), n))
    assert found["supported"] == pytest.approx(tost_power(off, 1, n), abs=0.075)


def test_equivalence_is_shown_or_refuted_by_chance_in_5_percent_at_most():
    edge = rates(normal(1.0, within(0, 1, "")))
    assert edge["supported"] <= FIVE_PERCENT
    assert edge["contradicted"] <= FIVE_PERCENT / 2 + 0.01
    contrary = rates(normal(1.0, apart(0, 1, "")))
    assert contrary["supported"] <= FIVE_PERCENT / 2 + 0.01
    assert contrary["contradicted"] <= FIVE_PERCENT
    assert rates(normal(3.0, within(0, 1, "")))["contradicted"] > 0.95
    assert rates(normal(3.0, apart(0, 1, "")))["supported"] > 0.95


@pytest.mark.parametrize(("gap", "n"), [(0.0, 10), (0.5, 10), (1.0, 10), (1.0, 3), (2.0, 3)])
def test_an_order_has_the_power_of_the_t_test(gap, n):
    found = rates(normal(gap, above_zero(0.01, ""), n))
    power = stats.nct.sf(stats.t.ppf(0.975, n - 1), n - 1, gap * math.sqrt(n))
    assert found["supported"] == pytest.approx(power, abs=0.075)
    if gap == 0:
        assert found["contradicted"] <= FIVE_PERCENT
    else:
        assert found["contradicted"] <= 0.02


def order(gaps: list[float]):
    """Studies of an order with several differences."""
    return lambda rng: [part(rng.normal(gap, 1, 10), above_zero(0.01, "")) for gap in gaps]


def test_more_comparisons_make_no_more_wrong_verdicts():
    """The worst case of a false order has one difference of 0; that of a true one has all at the relevant size."""
    assert rates(order([0.0, 5.0, 5.0, 5.0]))["supported"] <= FIVE_PERCENT / 2 + 0.01
    assert rates(order([0.01] * 8))["contradicted"] <= FIVE_PERCENT / 2 + 0.01
    assert rates(order([-3.0, 5.0, 5.0, 5.0]))["contradicted"] > 0.95


def test_of_many_cases_one_is_no_example_by_chance():
    """The worst case of a false statement has no difference at all; that of a true one has one of the relevant size."""
    assert rates(order([0.0] * 8), some=True)["supported"] <= FIVE_PERCENT / 2 + 0.01
    assert rates(order([0.01, -5.0, -5.0, -5.0]), some=True)["contradicted"] <= FIVE_PERCENT / 2
    assert rates(order([3.0, -5.0, -5.0, -5.0]), some=True)["supported"] > 0.95
    assert rates(order([-3.0] * 4), some=True)["contradicted"] > 0.95


def trend(means: list[float], n: int = 10, relevant: float = 0.5):
    """Studies of one method whose error should fall from budget to budget; seeds differ by 0.3."""

    def make(rng: np.random.Generator) -> list[Part]:
        values = np.array(means) + rng.normal(0, 0.3, (n, len(means)))
        fall = part(values[:, 0] - values[:, -1], above_zero(relevant, ""))
        rises = (part(step, at_most(relevant, "")) for step in np.diff(values).T)
        return [fall, *rises]

    return make


def test_a_curve_that_falls_is_seen_to_fall_and_one_that_rises_is_not():
    falls = [5.0, 4.0, 3.0, 2.9, 2.85]
    assert rates(trend(falls))["supported"] > 0.8
    assert rates(trend(falls, n=3))["contradicted"] <= FIVE_PERCENT
    for rises in ([5.0, 4.0, 4.5, 2.9, 2.8], [5.0, 4.0, 3.0, 3.5, 2.8]):
        found = rates(trend(rises))
        assert found["supported"] <= FIVE_PERCENT
        assert found["contradicted"] <= FIVE_PERCENT  # on the edge
    assert rates(trend([5.0, 4.0, 5.5, 2.9, 2.8]))["contradicted"] > 0.9
    assert rates(trend([5.0, 5.0, 5.0, 5.0, 5.0]))["supported"] <= FIVE_PERCENT / 2 + 0.01


def spread(narrow: float, wide: float):
    """Studies of two groups of five budgets, whose means differ by so much; seeds differ by 0.3."""

    def excess(values: xr.DataArray) -> float:
        ranges = np.ptp(values.values.mean(-1), axis=-1)
        return float(ranges[1] - ranges[0])

    def make(rng: np.random.Generator) -> list[Part]:
        ends = np.array([narrow, wide])[:, None] * np.linspace(0, 1, 5)
        values = ends[..., None] + rng.normal(0, 0.3, (2, 5, 10))
        grid = xr.DataArray(values, dims=("group", "level", "seed"))
        return [part(jackknife(grid, excess).values, above_zero(0.1, ""))]

    return make


def test_a_range_is_told_from_a_larger_one():
    """A hundred studies each: three standard errors at 2.5 % are 0.047."""
    assert rates(spread(1, 3), 100)["supported"] > 0.95
    assert rates(spread(3, 1), 100)["contradicted"] > 0.95
    for same in (0, 2):
        assert rates(spread(same, same), 100)["supported"] <= 0.025 + 0.047


def test_the_lowest_of_ten_runs_is_judged_at_its_level():
    depth = normal_minimum(10)
    on_edge = rates(normal(0.0, within(-depth - 1, 1, ""), depth=depth))
    assert on_edge["supported"] <= FIVE_PERCENT
    assert on_edge["contradicted"] <= FIVE_PERCENT / 2 + 0.01
    assert rates(normal(0.0, within(-depth, 2.0, ""), depth=depth))["supported"] > 0.8
    assert rates(normal(0.0, within(-depth - 4, 1.0, ""), depth=depth))["contradicted"] > 0.9


def test_parts_that_are_lost_or_few_settle_a_claim():
    values = np.random.default_rng(0).normal(5, 1, 10)
    fine = part(values, above_zero(0.1, ""))
    assert decisions.decide([fine]) == "supported"
    lost = part(values, above_zero(0.1, ""), lost="1 diverged")
    cut = part(values, above_zero(0.1, ""), lost="1 timed out", limited=True)
    few = part(values[:2], above_zero(0.1, ""))
    assert decisions.decide([fine, lost, cut, few]) == "contradicted"
    assert decisions.decide([fine, cut, few]) == "not run"
    assert decisions.decide([fine, cut]) == "undecided"
    assert decisions.decide([]) == "not run"
    assert decisions.seeds_to_decide([cut]) is None


def test_seeds_that_would_decide_are_the_fewest():
    region = within(0, 1, "")
    values = np.random.default_rng(3).normal(0.5, 1, 5)
    one, other = part(values, region), part(np.tile(values, 2)[:8] + 0.05, region)
    assert decisions.decide([one, other]) == "undecided"
    n = decisions.seeds_to_decide([one, other])
    assert n is not None
    assert n > 8
    outcomes = [
        decisions.decide([each.with_seeds(m) for each in (one, other)]) for m in range(9, n + 5)
    ]
    assert outcomes.index("supported") == n - 9
    assert outcomes[: n - 9] == ["undecided"] * (n - 9)
    # One more may be enough.
    assert decisions.seeds_to_decide([each.with_seeds(n - 1) for each in (one, other)]) == n
