"""Mu of Gaussian differential privacy and its regret, against closed forms, exact curves, dp-accounting and gdpnum."""

import itertools
import math
from functools import partial

import numpy as np
import pytest
from scipy.stats import binom, norm

from admmbench.privacy import Approximate, Gaussian, Laplace, Ledger, Pure, Replaced
from admmbench.privacy.curves import LEFT_OUT, calibrate_mu, curve
from tests.privacy.ledgers import ledger_of, theirs


def of(cost, count=1):
    return curve(ledger_of((cost, count)).composition()).gaussian


def laplace(epsilon):
    return Laplace(epsilon, epsilon, epsilon)


def largest_mu(alarms, misses):
    """Return the least mu that points of an exact curve allow, those that mu says nothing about aside."""
    kept = (alarms >= LEFT_OUT) & (misses >= LEFT_OUT)
    return np.max(norm.isf(alarms[kept]) + norm.isf(misses[kept]))


def responses(epsilon, count):
    """Return the exact curve of so many randomised responses: the best tests count answers."""
    answers, chance = np.arange(count + 1), 1 / (1 + math.exp(epsilon))
    return binom.sf(answers - 0.5, count, chance), binom.cdf(answers - 0.5, count, 1 - chance)


def mixtures(cost):
    """Yield the exact curve of one release of a sample, for each order: the best test compares it with a threshold."""
    x, q, m = np.linspace(-60, 60, 40_001), cost.sampling, cost.multiplier
    first, second = (-1, 1) if isinstance(cost, Replaced) else (0, 1)
    shift = cost.radius / m if isinstance(cost, Replaced) else 1 / m
    above = (1 - q) * norm.sf(x) + q * norm.sf(x - first * shift)
    below = (1 - q) * norm.cdf(x) + q * norm.cdf(x - second * shift)
    yield above, below
    yield below, above


KNOWN = [
    # gdpnum 0.1.2: PLDConverter(from_gaussian_mechanism(10).self_compose(100)).get_mu_and_regret(): 1.000, 3e-9
    (Gaussian(10.0), 100, 1.0, 0.0),
    # from_laplace_mechanism(20).self_compose(100): 0.49637, 7.22e-5; (5) of 20: 0.87070, 6.80e-4; (1): 1.03006, 0.03702
    (laplace(0.05), 100, 0.49637, 7.22e-5),
    (laplace(0.2), 20, 0.87070, 6.80e-4),
    (laplace(1.0), 1, 1.03007, 0.03702),
    # from_randomized_response(2 / (1 + e), 2): 1.232035, 0.057546
    (Pure(1.0), 1, 1.232035, 0.057546),
    # get_mu_and_regret_for_dpsgd(9.4, 0.328, 2000): 1.56856, 1.021e-3
    (Gaussian(9.4, 0.328), 2000, 1.56856, 1.021e-3),
]


@pytest.mark.parametrize(("cost", "count", "mu", "regret"), KNOWN)
def test_known_numbers_are_found(cost, count, mu, regret):
    found = of(cost, count)
    assert found.mu == pytest.approx(mu, rel=1e-4)
    assert found.regret == pytest.approx(regret, rel=0.02, abs=1e-8)


def test_one_release_has_its_closed_form():
    """Curves of Laplace noise and of randomised response touch their normal curve where both errors are equal."""
    for epsilon in np.geomspace(1e-3, 8, 30):
        for cost, error in (
            (laplace(epsilon), math.exp(-epsilon / 2) / 2),
            (Pure(epsilon), 1 / (1 + math.exp(epsilon))),
        ):
            mu = 2 * norm.isf(error)
            assert mu <= of(cost).mu <= mu * 1.001


@pytest.mark.parametrize("count", [1, 2, 3, 5, 10, 30, 100, 300])
def test_it_is_never_below_that_of_randomised_responses(count):
    for size in (0.05, 0.1, 0.3, 0.7, 1.5, 3.0, 5.0):
        epsilon = size / math.sqrt(count)
        exact = largest_mu(*responses(epsilon, count))
        assert exact * (1 - 1e-12) <= of(Pure(epsilon), count).mu <= exact * 1.003


@pytest.mark.parametrize("multiplier", [0.3, 0.5, 0.8, 1.0, 1.5, 2.0, 4.0, 10.0])
def test_it_is_never_below_that_of_a_sample(multiplier):
    for sampling in (0.001, 0.01, 0.05, 0.1, 0.2, 0.5, 0.9):
        for cost in (Gaussian(multiplier, sampling), Replaced(multiplier, sampling)):
            exact = max(largest_mu(*each) for each in mixtures(cost))
            found = of(cost).mu
            assert exact * (1 - 1e-9) <= found, cost
            assert found <= exact * 1.02 + 1e-3 or math.isinf(found), cost


@pytest.mark.parametrize("count", [2, 20])
def test_it_is_that_of_the_distributions_of_dp_accounting(count):
    # Lines that are further apart have corners far above the curve.
    epsilons = np.linspace(0, 5, 1001)
    for size in (0.3, 1.0):
        for cost in (
            laplace(size / math.sqrt(count)),
            Gaussian(math.sqrt(count) / size, 0.3),
            Gaussian(math.sqrt(count) / size / 4, 0.02),
        ):
            expected = _mu_of_divergences(theirs((cost, count)), epsilons)
            found = of(cost, count).mu
            assert expected * 0.99 <= found, cost
            # Tails of samples, in which theirs has too few points, make mu larger.
            assert cost.sampling < 1 or found <= expected * 1.01, cost


def test_that_of_many_different_samples_is_found_without_renyi_divergences(monkeypatch):
    """They would take seconds, and distributions allow less."""

    def fail(*_):
        raise AssertionError("was not asked for")

    monkeypatch.setattr(Gaussian, "renyi", fail)
    monkeypatch.setattr("admmbench.privacy.curves._by_renyi", fail)
    releases = [(Gaussian(multiplier, 0.3), 3) for multiplier in np.linspace(12, 18, 7)]
    found = curve(ledger_of(*releases).composition())
    assert found.proved
    expected = _mu_of_divergences(theirs(*releases), np.linspace(0, 5, 1001))
    assert expected * 0.99 <= found.gaussian.mu <= expected * 1.02


def _mu_of_divergences(distribution, epsilons):
    """Return the mu of the lines of a distribution of losses at some epsilons."""
    deltas = np.array(distribution.get_delta_for_epsilon(epsilons))
    drops = -np.diff(deltas) / np.expm1(np.diff(epsilons))
    alarms, hits = np.exp(-epsilons[:-1]) * drops, deltas[:-1] + drops
    kept = (alarms > 1e-7) & (hits < 1 - 1e-7) & (drops > 1e-7)
    return np.max(norm.ppf(hits[kept]) - norm.ppf(alarms[kept]))


def test_the_regret_is_that_of_a_fine_search():
    """By the definition, at many rates: the curve moved by the regret is below the normal one."""
    for epsilon in (0.3, 1.0, 2.0, 4.0):
        mu, regret = of(laplace(epsilon))
        rates = np.linspace(1e-6, 1 - 1e-6, 20_001)
        normal = norm.cdf(norm.isf(rates) - mu)
        ways = np.linspace(0, 0.15, 1501)
        exact = np.exp(-epsilon) / 4

        def misses(rate, exact=exact, epsilon=epsilon):
            low, high = math.exp(-epsilon) / 2, 0.5
            middle = exact / np.maximum(rate, low)
            ends = np.where(
                rate < low, 1 - math.exp(epsilon) * rate, (1 - rate) * math.exp(-epsilon)
            )
            return np.where((rate < low) | (rate > high), ends, middle)

        fits = [(misses(np.minimum(rates + way, 1)) - way <= normal + 1e-12).all() for way in ways]
        assert regret == pytest.approx(ways[np.argmax(fits)], abs=2e-4)


def test_nothing_is_known_of_what_states_epsilon_and_delta_alone():
    assert of(Approximate(0.5, 1e-6), 3) == (math.inf, pytest.approx(math.nan, nan_ok=True))
    assert math.isinf(of(Gaussian(0.0)).mu)
    assert curve(Ledger().composition()).gaussian == (0, 0)
    mixed = ledger_of((Approximate(0.5, 1e-6), 1), (Gaussian(10.0), 5)).composition()
    assert math.isinf(curve(mixed).gaussian.mu)


def test_a_loss_beyond_reach_has_none():
    assert math.isinf(of(laplace(20.0), 100).mu)
    assert of(Gaussian(0.01), 100).mu == pytest.approx(1000)


def repeated(cost, count, epsilon):
    return ledger_of((cost(epsilon), count))


def sample(epsilon):
    return Gaussian(1 / epsilon, 0.2)


@pytest.mark.parametrize("cost", [laplace, Pure, sample])
def test_noise_for_a_mu_has_it(cost):
    for mu, count in itertools.product((0.1, 0.5, 1.0, 3.0), (1, 30)):
        epsilon = calibrate_mu(partial(repeated, cost, count), mu)
        assert 0.99 * mu <= of(cost(epsilon), count).mu <= mu


def test_there_is_no_noise_for_a_mu_without_a_curve():
    with pytest.raises(ValueError, match="mu: no trade-off curve is proved of these releases"):
        calibrate_mu(lambda budget: ledger_of(Approximate(budget, 1e-6)), 1.0)
    with pytest.raises(ValueError, match="mu: no noise gives a mu of 20, but one of"):
        calibrate_mu(lambda budget: ledger_of(laplace(budget)), 20.0)
