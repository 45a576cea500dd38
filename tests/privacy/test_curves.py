"""Trade-off curves against closed forms, dp-accounting and runs of mechanisms."""

import itertools
import math

import numpy as np
import pytest
from dp_accounting.rdp.rdp_privacy_accountant import compute_delta
from scipy.stats import laplace, norm

from admmbench.privacy import Approximate, Gaussian, Laplace, Ledger, Pure, Replaced
from admmbench.privacy.curves import curve
from tests.privacy.ledgers import ledger_of

ALARMS = np.array([1e-4, 1e-3, 0.01, 0.1, 0.3, 0.5, 0.9, 0.999])


def of(cost, count=1):
    return curve(ledger_of((cost, count)).composition())


def test_normal_noise_has_the_normal_curve():
    """The best test compares one output with a threshold."""
    found = of(Gaussian(4.0), 16)
    assert found.mu == pytest.approx(1)
    thresholds = norm.isf(ALARMS)
    np.testing.assert_allclose(found.power(ALARMS), norm.sf(thresholds - 1), rtol=1e-12)
    assert found.advantage == pytest.approx(norm.cdf(0.5) - norm.cdf(-0.5))


def test_laplace_noise_has_its_curve():
    """Of one entry: hits of the test that compares the output with a threshold, which is the best one."""
    found = of(Laplace(0.8, 0.8, 0.8))
    assert math.isnan(found.mu)
    best = laplace.sf(laplace.isf(ALARMS) - 0.8)
    assert (found.power(ALARMS) >= best * (1 - 1e-9)).all()
    np.testing.assert_allclose(found.power(ALARMS), best, rtol=2e-3)


def test_any_pure_release_has_two_lines():
    found = of(Pure(1.0))
    both = np.minimum(np.exp(1.0) * ALARMS, 1 - np.exp(-1.0) * (1 - ALARMS))
    np.testing.assert_allclose(found.power(ALARMS), both, rtol=1e-5)
    assert found.advantage == pytest.approx(np.tanh(0.5), rel=1e-5)


@pytest.mark.parametrize(
    ("cost", "values"),
    [(Gaussian(1.0, 0.2), (1, 0)), (Replaced(0.5, 0.2), (1, -1))],
    ids=["zero_out", "replace"],
)
def test_samples_give_a_curve_for_the_worse_order(cost, values):
    """Each order of the neighbours against a fine sum over outputs of one release."""
    outputs = np.linspace(-12, 14, 400_001)
    mixtures = [
        (1 - cost.sampling) * norm.pdf(outputs) + cost.sampling * norm.pdf(outputs, value)
        for value in values
    ]
    step = outputs[1] - outputs[0]
    best = np.zeros(len(ALARMS))
    for one, other in itertools.permutations(mixtures):
        order = np.argsort(-one / other)
        alarms, hits = np.cumsum(other[order]) * step, np.cumsum(one[order]) * step
        best = np.maximum(best, np.interp(ALARMS, alarms, hits))
    found = of(cost).power(ALARMS)
    assert (found >= best * (1 - 1e-6)).all()
    np.testing.assert_allclose(found, best, rtol=2e-3)


def test_what_is_not_known_is_everything():
    assert (of(Gaussian(0.0)).power(ALARMS) == 1).all()
    assert of(Gaussian(0.0)).advantage == 1
    nothing = curve(Ledger().composition())
    np.testing.assert_allclose(nothing.power(ALARMS), ALARMS)
    assert nothing.advantage == 0
    failing = of(Approximate(0.5, 1e-3), 2)
    assert failing.power([0.0]) >= 2e-3 - 1e-6


def test_losses_may_be_too_large_for_their_exponentials():
    large = of(Pure(20_000.0))
    np.testing.assert_allclose(large.power([0, 1e-300, 1e-4, 1]), [0, 1, 1, 1], atol=1e-9)
    assert large.advantage == pytest.approx(1, abs=1e-9)


def test_the_curve_of_noise_without_divergences_has_numbers():
    """The multiplier is too small for its square."""
    np.testing.assert_allclose(of(Gaussian(1e-160, 0.5), 2).power([0, 1e-4, 1]), 1)


def test_noise_on_many_entries_hides_what_its_norms_allow():
    """A hundred releases move 400 of many entries by 0.0025 scales, but the ledger knows only the norms."""
    found = of(Laplace(1.0, 0.05, 0.02), 100)
    orders = np.arange(2, 100)
    for epsilon in (0.1, 0.5, 1.0, 2.0):
        theirs, _ = compute_delta(orders, 100 * orders * 0.05**2 / 2, epsilon)
        assert (found.power(ALARMS) <= theirs * 1.01 + math.exp(epsilon) * ALARMS).all()
    assert norm.cdf(0.25) - norm.cdf(-0.25) <= found.advantage <= math.sqrt(-math.expm1(-0.125))
    # So many small shifts are as good as normal noise.
    assert (found.power(ALARMS) >= norm.sf(norm.isf(ALARMS) - 0.5)).all()
