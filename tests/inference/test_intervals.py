"""Intervals against numpy, scipy and simulation."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from admmbench.inference.contrasts import jackknife
from admmbench.inference.intervals import (
    Difference,
    Estimate,
    clopper_pearson,
    lowest,
    normal_minimum,
    sampling_error,
    student,
)
from tests.made import seeds

FINITE = st.floats(-1e3, 1e3, allow_nan=False)


@pytest.mark.parametrize("of", [1, 2, 4, 5, 9])
def test_lowest_is_that_of_so_many_runs(of):
    values = [0.3, 0.1, 0.7, 0.2, 0.5]
    choices = itertools.combinations(values, min(of, 5))
    expected = np.mean([min(choice) for choice in choices])
    assert lowest(seeds(*values, np.nan), of) == pytest.approx(expected)
    assert np.isnan(lowest(seeds(np.nan), of))


@given(st.lists(FINITE, min_size=2, max_size=5), st.integers(1, 20))
def test_sampling_error_is_that_of_another_mean(values, others):
    """Two seeds have one; NaN does not count, and one seed has none."""
    t = stats.t.ppf(0.975, len(values) - 1)
    expected = t * np.std(values, ddof=1) / np.sqrt(others)
    found = sampling_error(seeds(*values, np.nan), others)
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert np.isnan(sampling_error(seeds(values[0], np.nan), others))


def test_corrected_intervals_cover_where_seeds_share_a_pool():
    """A pool of 300 records, errors of a model that is the mean of its training part: 4 in 5 train."""
    rng = np.random.default_rng(5)
    covered = np.zeros(2)
    for _ in range(400):
        pool = rng.normal(size=300)
        orders = np.argsort(rng.random((10, 300)), axis=1)
        train, test = pool[orders[:, :240]], pool[orders[:, 240:]]
        errors = ((test - train.mean(1, keepdims=True)) ** 2).mean(1)
        for k, ratio in enumerate((0.0, 60 / 240)):
            low, high = Estimate.of(seeds(*errors), ratio).interval(0.95)
            covered[k] += low < 1 + 1 / 240 < high
    plain, corrected = covered / 400
    assert plain < 0.85
    assert 0.9 < corrected < 0.99


def test_normal_minimum():
    """Means of the largest of n standard normal numbers: 1 / sqrt(pi), and Harter's tables (1961)."""
    for n, expected in ((1, 0), (2, np.pi**-0.5), (5, 1.16296), (10, 1.53875), (20, 1.86748)):
        assert normal_minimum(n) == pytest.approx(expected, abs=1e-5)


def test_intervals_of_minima_cover():
    """Of the lowest of ten, and of the difference of two: at least 95 %, within three standard errors."""
    rng = np.random.default_rng(2)
    depth, runs = normal_minimum(10), 2000
    covered = np.zeros(2)
    for _ in range(runs):
        first, second = (Estimate.of(seeds(*rng.normal(0, sd, 10)), depth=depth) for sd in (1, 2))
        low, high = first.interval(0.95)
        covered[0] += low < -depth < high
        low, high = Difference(first, second).interval(0.95)
        covered[1] += low < depth < high
    assert covered / runs == pytest.approx([0.95, 0.95], abs=0.02)


@given(st.lists(FINITE, min_size=2, max_size=12), st.floats(0.5, 0.99))
def test_intervals_of_a_mean_are_students(values, level):
    labelled, single = student(seeds(*values, np.nan), level), Estimate.of(seeds(*values, np.nan))
    assert labelled["n"] == single.n == len(values)
    ends = labelled["lower"].item(), labelled["upper"].item()
    assert single.interval(level) == pytest.approx(ends, nan_ok=True)
    scale = stats.sem(values)
    if scale > 1e-6:
        expected = stats.t.interval(level, len(values) - 1, np.mean(values), scale)
        assert ends == pytest.approx(expected, rel=1e-6, abs=1e-6)


def test_one_seed_has_no_interval_and_seeds_that_agree_have_no_width():
    found = student(seeds(0.3))
    assert found["mean"] == 0.3
    assert np.isnan(found[["lower", "upper", "deviation"]].to_array()).all()
    same = Estimate.of(seeds(0.3, 0.3, 0.3 + 1e-12))
    assert same.deviation == 0
    assert same.interval(0.9) == (same.value, same.value)
    assert student(seeds(0.3, 0.3), least=0.1)["deviation"] == 0.1


@pytest.mark.parametrize("level", [0.9, 0.9999])
def test_the_interval_of_a_probability_is_that_of_binomtest(level):
    low, high = clopper_pearson(np.arange(8), 7, level)
    exact = [stats.binomtest(k, 7).proportion_ci(level, method="exact") for k in range(8)]
    np.testing.assert_allclose(low, [each.low for each in exact])
    np.testing.assert_allclose(high, [each.high for each in exact])


def test_pseudo_values_are_those_of_seeds_for_a_linear_statistic():
    grid = np.random.default_rng(0).normal(size=(3, 6))
    values = xr.DataArray(grid, dims=("algorithm", "seed"))
    found = jackknife(values, lambda x: float((x[0] - 2 * x[1]).mean("seed")))
    np.testing.assert_allclose(found, grid[0] - 2 * grid[1])
    # Tukey's pseudo-values of a variance with n are unbiased.
    one = values.isel(algorithm=0)
    variance = jackknife(one, lambda x: float(x.var("seed")))
    assert variance.mean() == pytest.approx(np.var(grid[0], ddof=1))
    assert jackknife(one[:1], lambda x: float(x.mean("seed"))).values == grid[0, 0]
    assert jackknife(one[:0], lambda x: float(x.mean("seed"))).size == 0
