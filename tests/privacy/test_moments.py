"""The accountant of huang2019, appendix B, against its printed formula and against tighter ones."""

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from admmbench.privacy import Gaussian, Laplace, Ledger, Pure, epsilon_total, gaussian_multiplier
from tests.privacy.ledgers import ledger_of

TAUS = np.arange(1, 10_001)

deltas = st.floats(-12, -1).map(lambda power: 10**power)
releases = st.lists(
    st.tuples(st.floats(0.5, 1000), st.integers(1, 100_000)), min_size=1, max_size=6
)


def of_budget(t, epsilon, delta):
    """Releases that spend (epsilon, delta) each, and the delta."""
    return {"releases": [(gaussian_multiplier(epsilon, delta), t)], "delta": delta}


@settings(max_examples=200)
@given(releases=releases, delta=deltas)
@example(**of_budget(100, 0.05, 1e-6))  # of the paper
@example(**of_budget(100, 0.2, 1e-3))
def test_any_total_is_the_printed_minimum_over_the_integers(releases, delta):
    """Smallest total with delta = exp(alpha(tau) - tau total) for some tau: (51) and the tail bound below it.

    alpha(tau) adds up the tau-th log moments of N(0, s^2) against N(1, s^2).
    """
    alpha = sum(count * TAUS * (TAUS + 1) / (2 * m**2) for m, count in releases)
    total = ((alpha + math.log(1 / delta)) / TAUS).min()
    ledger = ledger_of(*((Gaussian(m), count) for m, count in releases))
    assert ledger.epsilon(delta, "huang2019") == pytest.approx(total, rel=1e-12)


@pytest.mark.parametrize("inverse_multiplier", [32, 33, 33.3, 33.5, 33.7, 34])
def test_never_below_the_tight_total_where_single_losses_underflow(inverse_multiplier):
    """Tight totals from 650 to 750, where exp(-loss) and its inverse leave the range of floats."""
    ledger = ledger_of(Gaussian(1 / inverse_multiplier))
    assert ledger.epsilon(1e-6, "huang2019") >= ledger.epsilon(1e-6)


@pytest.mark.parametrize("other", [Laplace(0.1, 0.1, 0.1), Pure(10), Gaussian(5, 0.1)], ids=str)
def test_releases_that_are_not_gaussian_have_no_total(other):
    gaussian, both = ledger_of(Gaussian(5)), ledger_of(Gaussian(5), other)
    assert math.isnan(both.epsilon(1e-6, "huang2019"))
    # An agent without a total leaves the federation without one, whatever the order.
    for ledgers in ([gaussian, both], [both, gaussian]):
        assert math.isnan(epsilon_total(ledgers, 1e-6, "huang2019"))


def test_nothing_released_costs_nothing():
    assert Ledger().epsilon(1e-6, "huang2019") == 0
    assert epsilon_total([], 1e-6, "huang2019") == 0
