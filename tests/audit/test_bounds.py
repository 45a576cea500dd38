"""Lower bounds: known values, and how often they are wrong."""

import math

import numpy as np
import pytest
from dp_accounting import get_epsilon_gaussian
from scipy.stats import betabinom, binom, binomtest

from admmbench.audit.attacks import epsilon_lower, is_hopeless, look_sizes, lower_bound, points
from admmbench.audit.bets import _log_gains, _outcomes, bound, evidence
from admmbench.audit.words import words
from admmbench.inference.intervals import anytime_proportion
from admmbench.privacy import Gaussian, Ledger
from admmbench.privacy.curves import Curve


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
    found = [bound(first, second, 200, 0.0, 0.95) for first, second in scores]
    assert np.mean(np.array(found) == 0) >= 0.95


def test_constant_scores_have_no_bound():
    assert bound(np.ones(40), np.ones(40), 40, 0.0, 0.95) == 0


@pytest.mark.parametrize("mu", [0.5, 2.0, 4.0])
def test_bound_is_below_the_truth(mu):
    rng, delta = np.random.default_rng(1), 1e-2
    truth = get_epsilon_gaussian(1 / mu, delta)
    scores = [(rng.normal(mu, size=200), rng.normal(size=200)) for _ in range(200)]
    found = np.array([bound(*each, 200, delta, 0.95) for each in scores])
    assert np.mean(found <= truth) >= 0.95
    assert np.median(found) >= {0.5: 0, 2.0: 1.3, 4.0: 2.3}[mu]


@pytest.mark.parametrize("delta", [0.0, 0.1])
def test_no_bet_gains_on_average_where_privacy_just_holds(delta):
    """By a sum over both outcomes of two neighbours, one of which happens more often, as far as allowed."""
    epsilon, rare = 1.0, 0.2
    often = math.exp(epsilon) * rare + delta
    gains = np.exp(_log_gains(np.array([math.exp(epsilon)]), np.array([delta])))[0]
    chances = [often * (1 - rare), often * rare, (1 - often) * (1 - rare), (1 - often) * rare]
    np.testing.assert_allclose(gains @ chances, 1)
    assert (gains > 0).all()
    outcomes = _outcomes(np.array([3.0, 0, 3, 0]), np.array([0.0, 0, 3, 3]), np.array([1.0]))
    assert (outcomes == 1).all()


PLANNED, CONFIDENCE, STUDIES = 64, 0.8, 200


def stopped(draw, refutes):
    """Part of studies in which a false statement is made at any of eight looks."""
    rng, wrong = np.random.default_rng(2), 0
    for _ in range(STUDIES):
        first, second = draw(rng)
        looks = range(8, PLANNED + 1, 8)
        wrong += any(refutes(first[:n], second[:n]) for n in looks)
    return wrong / STUDIES


def responses(rng):
    """Randomised responses at epsilon 1, with other scores for the same answer."""
    p = 1 / (1 + math.exp(-1))
    answers = rng.random(PLANNED) < p, rng.random(PLANNED) < 1 - p
    return tuple(answer + rng.random(PLANNED) / 2 for answer in answers)


def normals(rng):
    return rng.normal(1, size=PLANNED), rng.normal(size=PLANNED)


def test_bounds_hold_wherever_runs_stop():
    most = 1 - CONFIDENCE
    error = 3 * (most / STUDIES) ** 0.5
    exact = get_epsilon_gaussian(1, 1e-2)
    for draw, epsilon, delta in ((responses, 1.0, 0.0), (normals, exact, 1e-2)):
        rate = stopped(
            draw, lambda a, b, e=epsilon, d=delta: bound(a, b, PLANNED, d, CONFIDENCE) > e
        )
        assert rate <= most + error


def test_evidence_against_a_true_curve_is_rare_wherever_runs_stop():
    rate = stopped(normals, lambda a, b: evidence(a, b, PLANNED, Curve(1.0).power, CONFIDENCE) > 1)
    assert rate <= 1 - CONFIDENCE + 3 * ((1 - CONFIDENCE) / STUDIES) ** 0.5
    found = stopped(normals, lambda a, b: evidence(a, b, PLANNED, Curve(0.1).power, CONFIDENCE) > 1)
    assert found > 0.7


@pytest.mark.parametrize(("successes", "trials"), [(0, 10), (7, 20), (50, 50), (0, 0)])
def test_an_anytime_interval_is_where_the_mixture_is_not_much_likelier(successes, trials):
    low, high = anytime_proportion(successes, trials, 0.9)
    mixture = betabinom.pmf(successes, trials, 0.5, 0.5)
    for p in (low + 2e-4, (low + high) / 2, high - 2e-4):
        assert mixture <= 10 * binom.pmf(successes, trials, p)
    for p in (low - 2e-4, high + 2e-4):
        assert not 0 <= p <= 1 or mixture > 10 * binom.pmf(successes, trials, p)


def test_anytime_intervals_hold_wherever_trials_stop():
    def misses(first, _):
        low, high = anytime_proportion(int(first.sum()), len(first), CONFIDENCE)
        return not low <= 0.3 <= high

    def draw(rng):
        return rng.random((2, PLANNED)) < 0.3

    assert 0.02 < stopped(draw, misses) <= 1 - CONFIDENCE


def test_looks_are_few_and_the_last_is_the_planned_number():
    assert [look_sizes(n) for n in (8, 16, 24, 40, 100, 400)] == [
        [8],
        [16],
        [16, 24],
        [16, 32, 40],
        [25, 50, 100],
        [100, 200, 400],
    ]


def test_scores_that_look_alike_are_hopeless():
    rng = np.random.default_rng(4)
    alike = [is_hopeless((rng.normal(size=25), rng.normal(size=25))) for _ in range(100)]
    apart = [is_hopeless((rng.normal(2, size=25), rng.normal(size=25))) for _ in range(100)]
    assert np.mean(alike) > 0.85
    assert not any(apart)


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
    assert ("The total does not hold" in words().sentence(found)) is not holds
    assert found.rates
    (hits, _), (_, alarms) = found.rates
    assert bool(hits <= np.interp(alarms, *np.transpose(points(ledger)))) is holds
