"""The forecast of seeds against the noncentral t distribution and by simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
import xarray as xr
from scipy import stats

from admmbench.inference.contrasts import (
    above_zero,
    apart,
    at_most,
    equivalent,
    judge_pairs,
    within,
)
from admmbench.inference.intervals import Difference, Estimate, normal_minimum, student
from admmbench.inference.power import difference_shown, seeds_needed


def pair(mean, deviation, margin, level, redrawn=0.0):
    """Forecast for a pair of methods, as it is judged by one interval of this level."""
    estimate = Estimate(mean, deviation, 10, redrawn)
    return seeds_needed([(estimate, equivalent(margin, level))])


def test_a_pair_of_methods_and_an_order_of_a_paper_take_equally_many_seeds():
    """By the power of the t test: 89 have less than 80 %."""
    order = seeds_needed([(Estimate(0.3, 1.0, 10), above_zero(0.01))])
    assert order == pair(0.3, 1.0, 0.0, 0.95) == 90
    powers = [stats.nct.sf(stats.t.ppf(0.975, n - 1), n - 1, 0.3 * math.sqrt(n)) for n in (89, 90)]
    assert powers[0] < 0.8 < powers[1]


@pytest.mark.parametrize("size", [0.1, 0.5, 1.0, 2.0])
@pytest.mark.parametrize("level", [0.95, 0.999, 0.99999])
def test_seeds_have_the_power_of_the_t_test(size, level):
    n = int(pair(size, 1.0, 0.0, level))
    powers = [
        stats.nct.sf(stats.t.ppf((1 + level) / 2, m - 1), m - 1, size * math.sqrt(m))
        for m in (n - 1, n + 1)
    ]
    assert powers[0] < 0.8 < powers[1]


@pytest.mark.parametrize("n", [3, 10, 40, 160])
@pytest.mark.parametrize("level", [0.95, 0.999, 0.99999])
def test_a_difference_is_shown_four_times_out_of_five(n, level):
    size = difference_shown(2.0, n, level) / 2.0 * math.sqrt(n)
    reach = stats.t.ppf((1 + level) / 2, n - 1)
    assert stats.nct.sf(reach, n - 1, size) == pytest.approx(0.8, abs=0.015 if n == 3 else 0.005)
    pooled = difference_shown(2.0, n, level, redrawn=3 / n)
    assert pooled == pytest.approx(2 * difference_shown(2.0, n, level))


def test_the_forecast_is_the_number_of_seeds_that_decides_four_studies_of_five():
    """By simulation: means and standard deviation are as they seem."""
    level, random = 0.999, np.random.default_rng(3)
    for mean, margin, wanted in (
        (0.5, 0.1, "worse"),
        (0.0, 0.4, "equivalent"),
        (0.2, 0.5, "equivalent"),
    ):
        n = pair(mean, 1.0, margin, level)
        drawn = xr.DataArray(random.normal(mean, size=(4000, int(n))), dims=("study", "seed"))
        found = judge_pairs(student(drawn, level), margin)
        assert float((found == wanted).mean()) == pytest.approx(0.8, abs=0.02)
    assert pair(1, 0, 0.1, level) == 2
    assert pair(0, 1, 0, level) == math.inf
    assert pair(0.1, 1, 0.2, level, redrawn=0.1) == math.inf


def test_several_contrasts_take_what_the_hardest_takes_and_a_counterexample_is_enough():
    easy, hard = Estimate(1.0, 1.0, 5), Estimate(0.2, 1.0, 5)
    region = above_zero(0.01).among(refuted=2)
    both = seeds_needed([(easy, region), (hard, region)])
    assert both == seeds_needed([(hard, region)]) > seeds_needed([(easy, region)])
    # Of some, one that holds is enough; and one that does not refutes all.
    either = above_zero(0.01).among(shown=2)
    found = seeds_needed([(easy, either), (hard, either)], some=True)
    assert found == seeds_needed([(easy, either)], some=True)
    wrong = Estimate(-1.0, 1.0, 5)
    assert seeds_needed([(wrong, region), (hard, region)]) == seeds_needed([(wrong, region)])


def test_what_no_seeds_decide_has_no_forecast():
    on_the_edge, unknown = Estimate(1.0, 1.0, 5), Estimate(math.nan, math.nan, 1)
    assert seeds_needed([(on_the_edge, at_most(1.0))]) == math.inf
    assert seeds_needed([(unknown, within(0, 1))]) == math.inf
    assert seeds_needed([(Estimate(-2.0, 1.0, 5), at_most(1.0, math.inf))]) < 10
    assert seeds_needed([(Estimate(2.0, 1.0, 5), at_most(1.0, math.inf))]) == math.inf


def test_a_minimum_and_a_difference_of_two_are_forecast_from_their_intervals():
    """By simulation: the lowest of ten runs."""
    depth, random = normal_minimum(10), np.random.default_rng(5)
    first = Estimate(3.0, 1.0, 10, depth=depth)
    other = Estimate(2.2, 1.0, 10, depth=depth)
    for contrast, region in ((first, apart(0, 1)), (Difference(first, other), above_zero(0.01))):
        n = int(seeds_needed([(contrast, region)]))

        def drawn(mean, n=n):
            return Estimate.of(xr.DataArray(random.normal(mean, 1, n), dims="seed"), depth=depth)

        shown = 0
        for _ in range(1000):
            now = drawn(3.0)
            if isinstance(contrast, Difference):
                now = Difference(now, drawn(2.2))
            shown += region.shown.shown(now)
        assert 0.72 < shown / 1000 < 0.92
