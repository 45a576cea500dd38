"""Trade-off curves against closed forms, dp-accounting and runs of mechanisms."""

import math

import dp_accounting as dp
import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld
from dp_accounting.rdp.rdp_privacy_accountant import compute_delta
from scipy.stats import laplace, norm

from admmbench.privacy import Approximate, Gaussian, Laplace, Ledger, Pure
from admmbench.privacy.curves import curve
from tests.privacy.ledgers import ledger_of

ALARMS = np.array([1e-4, 1e-3, 0.01, 0.1, 0.3, 0.5, 0.9, 0.999])
EPSILONS = [0.0, 0.1, 0.5, 1.0, 2.0]


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
    ("cost", "count", "theirs"),
    [
        (Laplace(0.2, 0.2, 0.2), 30, lambda: pld.from_laplace_mechanism(5.0)),
        (Gaussian(2.0, 0.1), 50, lambda: pld.from_gaussian_mechanism(2.0, sampling_prob=0.1)),
    ],
    ids=["laplace", "samples"],
)
def test_deltas_are_those_of_dp_accounting(cost, count, theirs):
    found, composed = of(cost, count), theirs().self_compose(count)
    for epsilon in EPSILONS:
        expected = composed.get_delta_for_epsilon(epsilon)
        assert found.delta(epsilon) == pytest.approx(expected, rel=0.01, abs=1e-9)


def test_samples_give_a_curve_for_the_worse_order():
    """Each order of the neighbours against a fine sum over outputs of one release."""
    multiplier, sampling = 1.0, 0.2
    outputs = np.linspace(-12, 14, 400_001)
    without = norm.pdf(outputs, scale=multiplier)
    mixed = (1 - sampling) * without + sampling * norm.pdf(outputs, 1, multiplier)
    step = outputs[1] - outputs[0]
    best = np.zeros(len(ALARMS))
    for one, other in ((mixed, without), (without, mixed)):
        order = np.argsort(-one / other)
        alarms, hits = np.cumsum(other[order]) * step, np.cumsum(one[order]) * step
        best = np.maximum(best, np.interp(ALARMS, alarms, hits))
    found = of(Gaussian(multiplier, sampling)).power(ALARMS)
    assert (found >= best * (1 - 1e-6)).all()
    np.testing.assert_allclose(found, best, rtol=2e-3)


def test_composed_lines_are_never_below_what_runs_show():
    """The best attack on three Laplace releases, with a million runs of each world."""
    rng = np.random.default_rng(7)
    noise = rng.laplace(size=(1_000_000, 3))

    def score(outputs):
        ratio = (np.abs(outputs) - np.abs(outputs - 0.5)).sum(axis=1)
        return ratio + 1e-9 * rng.random(len(outputs))  # no ties

    without, present = np.sort(score(noise)), np.sort(score(noise + 0.5))
    thresholds = np.quantile(without, 1 - ALARMS[2:])
    hits = 1 - np.searchsorted(present, thresholds, side="right") / len(present)
    alarms = 1 - np.searchsorted(without, thresholds, side="right") / len(without)
    shown = of(Laplace(0.5, 0.5, 0.5), 3).power(alarms)
    assert (hits <= shown + 3e-3).all()
    np.testing.assert_allclose(hits, shown, atol=4e-3)


def test_what_is_not_known_is_everything():
    assert (of(Gaussian(0.0)).power(ALARMS) == 1).all()
    assert of(Gaussian(0.0)).advantage == 1
    nothing = curve(Ledger().composition())
    np.testing.assert_allclose(nothing.power(ALARMS), ALARMS)
    assert nothing.advantage == 0
    failing = of(Approximate(0.5, 1e-3), 2)
    assert failing.delta(1.0) >= 2e-3 - 1e-6


def test_losses_may_be_too_large_for_their_exponentials():
    large = of(Pure(20_000.0))
    np.testing.assert_allclose(large.power([0, 1e-300, 1e-4, 1]), [0, 1, 1, 1], atol=1e-9)
    assert [large.delta(each) for each in (0, 800, 30_000)] == pytest.approx([1, 1, 0], abs=1e-9)
    # Of normal noise, by the loss at which both tails are compared.
    assert of(Gaussian(0.01)).delta(5000) == pytest.approx(0.5, rel=0.01)


def test_the_curve_of_noise_without_divergences_has_numbers():
    """The multiplier is too small for its square."""
    np.testing.assert_allclose(of(Gaussian(1e-160, 0.5), 2).power([0, 1e-4, 1]), 1)


def test_epsilon_and_delta_are_each_others_inverse():
    ledger = ledger_of((Gaussian(3.0, 0.2), 40))
    epsilon = ledger.epsilon(1e-5, "pld")
    assert curve(ledger.composition()).delta(epsilon) == pytest.approx(1e-5, rel=0.02)
    assert dp.get_epsilon_gaussian(2.0, 1e-5) == pytest.approx(
        next(e for e in np.linspace(0, 5, 50_001) if of(Gaussian(2.0)).delta(e) <= 1e-5), rel=1e-3
    )


@pytest.mark.parametrize(
    ("cost", "count", "misses", "advantage"),
    [
        (
            Gaussian(1 / 1.5),
            1,
            [0.9441087745278574, 0.7956966082404342, 0.4135398656938536, 0.06680720126885801],
            0.5467452952462635,
        ),
        (
            Laplace(0.2, 0.2, 0.2),
            30,
            [0.979613835009363, 0.8983107421427946, 0.5870922799646051, 0.14381784340819018],
            0.40496991808129984,
        ),
        (
            Gaussian(2.0, 0.1),
            50,
            [0.9963516114256821, 0.9731773823964222, 0.8156506336238524, 0.355351591797264],
            0.1462927809274333,
        ),
    ],
    ids=["normal", "laplace", "samples"],
)
def test_curves_are_those_of_riskcal(cost, count, misses, advantage):
    """Version 1.5.1: analysis.conversions.get_beta_from_gdp and, for dp-accounting's distributions, _from_pld."""
    found = of(cost, count)
    np.testing.assert_allclose(1 - found.power([1e-3, 0.01, 0.1, 0.5]), misses, rtol=2e-5)
    assert found.advantage == pytest.approx(advantage, rel=4e-5)
    assert (1 - found.power([1e-3, 0.01, 0.1, 0.5]) <= np.array(misses) * (1 + 1e-12)).all()


def test_noise_on_many_entries_hides_what_its_norms_allow():
    """A hundred releases move 400 of many entries by 0.0025 scales, but the ledger knows only the norms."""
    found = of(Laplace(1.0, 0.05, 0.02), 100)
    orders = np.arange(2, 100)
    for epsilon in (0.1, 0.5, 1.0, 2.0):
        theirs, _ = compute_delta(orders, 100 * orders * 0.05**2 / 2, epsilon)
        assert found.delta(epsilon) <= theirs * 1.01
    assert norm.cdf(0.25) - norm.cdf(-0.25) <= found.advantage <= math.sqrt(-math.expm1(-0.125))
    # So many small shifts are as good as normal noise.
    assert (found.power(ALARMS) >= norm.sf(norm.isf(ALARMS) - 0.5)).all()
