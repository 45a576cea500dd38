"""Composition, against closed forms and dp-accounting."""

import math

import dp_accounting as dp
import numpy as np
import pytest
from dp_accounting.pld.pld_privacy_accountant import PLDAccountant
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, stats

from admmbench.privacy import Ledger, epsilon_total


def gaussian_epsilon(multiplier: float, delta: float) -> float:
    """Balle and Wang 2018, theorem 8: the exact epsilon of one Gaussian release."""

    def excess(epsilon: float) -> float:
        a, b = 1 / (2 * multiplier), epsilon * multiplier
        return stats.norm.cdf(a - b) - math.exp(epsilon) * stats.norm.cdf(-a - b) - delta

    return optimize.brentq(excess, 0, 600)


@pytest.mark.parametrize("multiplier", [0.5, 1, 4, 30])
def test_one_gaussian_release(multiplier):
    ledger = Ledger()
    ledger.gaussian(multiplier)
    assert ledger.epsilon(1e-6) == pytest.approx(gaussian_epsilon(multiplier, 1e-6), rel=2e-3)


@settings(max_examples=20)
@given(st.lists(st.floats(2, 50), min_size=1, max_size=6))
def test_gaussian_releases_compose_as_dp_accounting_composes_them(multipliers):
    ledger = Ledger()
    for multiplier in multipliers:
        ledger.gaussian(multiplier)
    accountant = dp.rdp.RdpAccountant()
    accountant.compose(dp.ComposedDpEvent([dp.GaussianDpEvent(m) for m in multipliers]))
    exact = gaussian_epsilon(1 / math.sqrt(sum(m**-2 for m in multipliers)), 1e-6)
    assert ledger.epsilon(1e-6) == pytest.approx(exact, rel=5e-3, abs=1e-4)
    assert ledger.epsilon(1e-6) <= accountant.get_epsilon(1e-6) + 1e-6


@pytest.mark.parametrize(("epsilon", "count"), [(0.05, 200), (0.1, 50), (1, 30), (5, 10)])
def test_laplace_releases_agree_with_a_finer_grid(epsilon, count):
    ledger = Ledger()
    ledger.laplace(1 / epsilon, count)
    fine = PLDAccountant(value_discretization_interval=epsilon / 500)
    fine.compose(dp.SelfComposedDpEvent(dp.LaplaceDpEvent(1 / epsilon), count))
    total = ledger.epsilon(1e-6)
    assert total == pytest.approx(fine.get_epsilon(1e-6), rel=1e-3)
    assert total <= count * epsilon + 1e-9


@pytest.mark.parametrize(("epsilon", "multiplier"), [(4.0, 40.0), (0.05, 2.0)])
def test_mixed_releases_agree_with_a_finer_grid(epsilon, multiplier):
    """The grid is as fine as the smaller of the two losses needs it."""
    ledger = Ledger()
    ledger.laplace(1 / epsilon, 3)
    ledger.gaussian(multiplier, 10)
    fine = PLDAccountant(value_discretization_interval=min(epsilon, 1 / multiplier) / 500)
    fine.compose(dp.SelfComposedDpEvent(dp.LaplaceDpEvent(1 / epsilon), 3))
    fine.compose(dp.SelfComposedDpEvent(dp.GaussianDpEvent(multiplier), 10))
    assert ledger.epsilon(1e-6) == pytest.approx(fine.get_epsilon(1e-6), rel=2e-3)


def test_one_laplace_release_costs_at_most_its_budget():
    ledger = Ledger()
    ledger.laplace(1 / 0.3)
    assert ledger.epsilon(1e-12) == pytest.approx(0.3, rel=1e-3)


def test_total_grows_with_releases_and_with_delta_shrinking():
    totals = []
    for count in (1, 10, 100):
        ledger = Ledger()
        ledger.laplace(10, count)
        totals.append(ledger.epsilon(1e-6))
    assert totals == sorted(totals)
    assert ledger.epsilon(1e-9) > ledger.epsilon(1e-3)


def test_mechanisms_compose_together():
    both, laplace, gaussian = Ledger(), Ledger(), Ledger()
    for ledger in (both, laplace):
        ledger.laplace(10, 20)
    for ledger in (both, gaussian):
        ledger.gaussian(5, 20)
    total = both.epsilon(1e-6)
    assert total > max(laplace.epsilon(1e-6), gaussian.epsilon(1e-6))
    assert total <= laplace.epsilon(5e-7) + gaussian.epsilon(5e-7)


def test_federation_pays_what_its_worst_agent_pays():
    small, large = Ledger(), Ledger()
    small.gaussian(20)
    large.gaussian(2)
    assert epsilon_total([small, large, small], 1e-6) == large.epsilon(1e-6)
    assert epsilon_total([], 1e-6) == 0


def test_memory_does_not_grow_with_rounds():
    ledger = Ledger()
    for t in range(1, 1000):
        ledger.gaussian(1 + t)
        ledger.laplace(2.0)
    releases = ledger.releases()
    assert releases.laplace == ((2.0, 999),)
    assert releases.gaussian == pytest.approx(sum((1 + t) ** -2 for t in range(1, 1000)))


@settings(max_examples=10)
@given(epsilon=st.floats(0.01, 1), count=st.integers(1, 60))
def test_pure_releases_compose_as_randomised_response_does(epsilon, count):
    """The worst pure release (Kairouz, Oh and Viswanath 2015), composed exactly from binomial counts."""
    ledger = Ledger()
    ledger.pure(epsilon, count)
    truth = 1 / (1 + math.exp(-epsilon))
    k = np.arange(count + 1)
    losses = (2 * k - count) * epsilon

    def excess(total):
        return (
            stats.binom.pmf(k, count, truth) * np.maximum(1 - np.exp(total - losses), 0)
        ).sum() - 1e-6

    exact = optimize.brentq(excess, 0, count * epsilon) if excess(0) > 0 else 0.0
    assert exact * (1 - 1e-9) <= ledger.epsilon(1e-6) <= exact * 1.05 + 1e-3


def test_a_pure_release_may_be_worse_than_laplace_noise():
    pure, laplace = Ledger(), Ledger()
    pure.pure(0.1, 100)
    laplace.laplace(10, 100)
    assert laplace.epsilon(1e-6) < pure.epsilon(1e-6) < 10
