"""Lower bounds: known values, and how often they are wrong."""

import math

import numpy as np
import pytest
from dp_accounting import get_epsilon_gaussian
from scipy.stats import binomtest

from admmbench.audit.attacks import bound_of_scores, epsilon_lower, lower_bound, points
from admmbench.privacy import Gaussian, Ledger


def interval(count, n, level):
    return binomtest(count, n).proportion_ci(level, method="exact")


@pytest.mark.parametrize(("hits", "alarms"), [(90, 10), (100, 0), (60, 1), (99, 40), (10, 90)])
def test_bound_is_the_ratio_of_the_ends_of_intervals(hits, alarms):
    delta = 0.01
    rate, other = interval(hits, 100, 0.975), interval(alarms, 100, 0.975)
    pairs = [
        (rate.low, other.high),
        (1 - other.high, 1 - rate.low),
        (other.low, rate.high),
        (1 - rate.high, 1 - other.low),
    ]
    expected = max(math.log(max(a - delta, b) / b) for a, b in pairs)
    found = epsilon_lower(hits, 100, alarms, 100, delta, 0.95)
    assert found == pytest.approx(expected)
    assert found > 0


def test_what_tells_nothing_bounds_nothing():
    for hits, alarms in [(50, 50), (0, 0), (100, 100), (52, 48)]:
        assert epsilon_lower(hits, 100, alarms, 100, 0.0, 0.95) == 0
    # A run that may fail as often as it tells.
    assert epsilon_lower(60, 100, 0, 100, 0.9, 0.95) == 0


def test_equal_worlds_have_no_bound():
    rng = np.random.default_rng(0)
    scores = [rng.normal(size=(2, 200)) for _ in range(200)]
    found = [bound_of_scores(first, second, 0.0, 0.95) for first, second in scores]
    assert np.mean(np.array(found) == 0) >= 0.95


def test_constant_scores_have_no_bound():
    assert bound_of_scores(np.ones(40), np.ones(40), 0.0, 0.95) == 0


@pytest.mark.parametrize("mu", [0.5, 2.0, 4.0])
def test_bound_is_below_the_truth(mu):
    rng, delta = np.random.default_rng(1), 1e-2
    truth = get_epsilon_gaussian(1 / mu, delta)
    scores = [(rng.normal(mu, size=200), rng.normal(size=200)) for _ in range(200)]
    found = np.array([bound_of_scores(*each, delta, 0.95) for each in scores])
    assert np.mean(found <= truth) >= 0.95
    assert np.median(found) >= {0.5: 0, 2.0: 0.8, 4.0: 1.5}[mu]


def test_threshold_does_not_see_what_it_is_tested_on():
    # The first quarter says nothing, so that the rest is tested by a threshold that suits it badly.
    first, second = np.full(40, 5.0), np.full(40, 4.0)
    assert bound_of_scores(first, second, 0.0, 0.95) > 1
    first[:10], second[:10] = 1, 0
    assert bound_of_scores(first, second, 0.0, 0.95) == 0


@pytest.mark.parametrize(("moved", "holds"), [(0.9, True), (1.0, True), (2.2, False)])
def test_rates_are_compared_with_the_trade_off_curve(moved, holds):
    """Noise that is too small crosses the curve where the bound on epsilon, at a small delta, sees nothing yet."""
    rng = np.random.default_rng(3)
    scores = rng.normal(moved, 1, 2000), rng.normal(0, 1, 2000)
    ledger = Ledger()
    ledger.add(Gaussian(1.0))
    found = lower_bound("black box", "natural", scores, 1e-9, 0.95, ledger)
    assert found.value < ledger.epsilon(1e-9)
    assert found.passed is holds
    assert ("The total does not hold" in found.sentence) is not holds
    assert found.rates
    (hits, _), (_, alarms) = found.rates
    assert bool(hits <= np.interp(alarms, *np.transpose(points(ledger)))) is holds
