"""Samples in which another record takes the place of one: brute force, dp-accounting, calibration."""

import itertools
import math

import dp_accounting as dp
import numpy as np
import pytest
from dp_accounting.pld.pld_privacy_accountant import PLDAccountant
from dp_accounting.rdp import RdpAccountant
from scipy import integrate
from scipy.stats import norm

from admmbench.privacy import (
    ORDERS,
    Gaussian,
    Privacy,
    Release,
    Replaced,
    calibrate,
    gaussian_multiplier,
)
from admmbench.privacy.curves import curve
from tests.privacy.ledgers import ledger_of

REPLACE_ONE = dp.NeighboringRelation.REPLACE_ONE
# Standard deviation over the norm of one contribution, the probability, and the number of releases.
SAMPLES = [(4.0, 0.01, 1000), (1.1, 0.05, 300), (0.8, 0.001, 2000), (3.0, 0.9, 5), (0.5, 0.2, 10)]


def ledger(cost, count=1):
    return ledger_of((cost, count))


def poisson(multiplier, q):
    return dp.PoissonSampledDpEvent(q, dp.GaussianDpEvent(multiplier))


def mixtures(m, q, *values, x):
    """Densities of outputs on a line, of a sample of a record with each value."""
    return [(1 - q) * norm.pdf(x, 0, m) + q * norm.pdf(x, value, m) for value in values]


def divergence(p, other, epsilon, x):
    return np.trapezoid(np.maximum(p - math.exp(epsilon) * other, 0), x)


@pytest.mark.slow
@pytest.mark.parametrize(("m", "q"), [(0.3, 0.3), (1.0, 0.1), (4.0, 0.01), (0.8, 0.9)])
@pytest.mark.parametrize("epsilon", [-1.0, 0.0, 0.01, 0.5, 2.0])
def test_a_multiplier_is_of_all_that_neighbours_differ_by(m, q, epsilon):
    """By brute force, for contributions of norm 1 on opposite sides.

    The multiplier of dp-accounting's sampled event is that of one contribution, and so it is without samples.
    """
    x = np.linspace(-12 * m - 1, 12 * m + 1, 400_001)
    one, other = mixtures(m, q, 1, -1, x=x)
    exact = divergence(one, other, epsilon, x)
    found = Replaced(m / 2, q).hockey_stick(np.array([epsilon]), False)
    assert found == pytest.approx(exact, abs=1e-8)
    accountant = PLDAccountant(REPLACE_ONE)
    accountant.compose(poisson(m, q))
    assert accountant.get_delta(epsilon) == pytest.approx(exact, rel=1e-3, abs=1e-6)


@pytest.mark.parametrize(("m", "q"), [(0.7, 0.3), (1.5, 0.1)])
def test_no_other_contributions_tell_neighbours_apart_better(m, q):
    """By brute force in the plane: of any two contributions that are at most 1 long."""
    axis = np.linspace(-8 * m - 1, 8 * m + 1, 501)
    x = np.stack(np.meshgrid(axis, axis))
    cell = (axis[1] - axis[0]) ** 2
    epsilons = np.array([0.0, 0.3, 1.0])
    worst = Replaced(m / 2, q).hockey_stick(epsilons, False)
    generator = np.random.default_rng(1)
    values = [(r * math.cos(a), r * math.sin(a)) for r, a in itertools.product((0, 0.5, 1), (0, 2))]
    values += list(generator.uniform(-1, 1, (3, 2)) / math.sqrt(2))

    def density(u):
        of = norm.pdf(x, np.reshape(u, (2, 1, 1)), m).prod(axis=0)
        return (1 - q) * norm.pdf(x, 0, m).prod(axis=0) + q * of

    densities = [density(u) for u in [*values, (1, 0), (-1, 0)]]
    found = [
        [np.maximum(one - math.exp(e) * other, 0).sum() * cell for e in epsilons]
        for one, other in itertools.permutations(densities, 2)
    ]
    assert np.max(found, axis=0) == pytest.approx(worst, rel=1e-3)  # on opposite sides


@pytest.mark.parametrize(("m", "size"), [(0.7, 1), (1.5, 2), (3.0, 3)])
def test_cohorts_never_tell_neighbours_apart_better(m, size):
    """By brute force on a line: of four agents so many take part, with any messages that are at most 1 long."""
    x = np.linspace(-8 * m - 4, 8 * m + 4, 4001)
    epsilons = np.array([0.0, 0.3, 1.0])
    most = Replaced(m / 2, size / 4, 1.0).hockey_stick(epsilons, False)

    def density(*messages):
        sums = [sum(each) for each in itertools.combinations(messages, size)]
        return np.mean([norm.pdf(x, value, m) for value in sums], axis=0)

    generator = np.random.default_rng(2)
    others = [(1, 1, 1), (-1, -1, 1), (0, 0, 0), *generator.uniform(-1, 1, (4, 3)).tolist()]
    found = np.array(
        [
            [divergence(density(own, *rest), density(other, *rest), e, x) for e in epsilons]
            for rest in others
            for own, other in [(1, -1), (-1, 1), (1, 0), (0, -1), (0.5, -0.3)]
        ]
    )
    assert (found <= most).all()
    assert found.max(axis=0)[0] > 0.3 * most[0]


@pytest.mark.parametrize(("m", "q", "count"), SAMPLES)
def test_cohorts_cost_less_than_by_the_bound_of_wang_balle_and_kasiviswanathan(m, q, count):
    """Composed, and at small orders where few take part; at most what it costs if everybody does."""
    orders = [2, 3, 4]
    accountant = RdpAccountant(neighboring_relation=REPLACE_ONE)
    sampled = dp.SampledWithoutReplacementDpEvent(1000, int(1000 * q), dp.GaussianDpEvent(m / 2))
    accountant.compose(dp.SelfComposedDpEvent(sampled, count))
    total = ledger(Replaced(m / 2, q, 1.0), count)
    theirs = accountant.get_epsilon(1e-5)
    assert total.epsilon(1e-5) < theirs
    assert total.epsilon(1e-5) <= ledger(Gaussian(m / 2), count).epsilon(1e-5)
    ours = np.interp(np.log(orders), np.log(ORDERS), Replaced(m / 2, q, 1.0).renyi())
    bound = np.array([by_wang(q, m / 2, order) for order in orders])
    assert q > 0.1 or (ours <= bound * (1 + 1e-3)).all()


def by_wang(q, multiplier, order):
    """Theorem 9 of Wang, Balle and Kasiviswanathan (2019), for Gaussian releases, whose divergences have no limit."""

    def renyi(a):
        return a / (2 * multiplier**2)

    first = math.log(math.comb(order, 2)) + 2 * math.log(q)
    terms = [0.0, first + min(math.log(4 * math.expm1(renyi(2))), renyi(2) + math.log(2))]
    terms += [
        j * math.log(q) + math.log(math.comb(order, j)) + (j - 1) * renyi(j) + math.log(2)
        for j in range(3, order + 1)
    ]
    return np.logaddexp.reduce(terms) / (order - 1)


@pytest.mark.slow
@pytest.mark.parametrize("delta", [1e-3, 1e-5])
@pytest.mark.parametrize(("m", "q", "count"), SAMPLES)
def test_totals_are_those_of_dp_accounting(m, q, count, delta):
    accountant = PLDAccountant(REPLACE_ONE)
    accountant.compose(dp.SelfComposedDpEvent(poisson(m, q), count))
    found = ledger(Replaced(m / 2, q), count).epsilon(delta)
    assert found == pytest.approx(accountant.get_epsilon(delta), rel=0.01)
    # More than where a record contributes nothing, less than where every record takes part.
    assert ledger(Gaussian(m, q), count).epsilon(delta) < found
    assert found <= ledger(Gaussian(m / 2), count).epsilon(delta)


@pytest.mark.parametrize(("m", "q"), [(0.3, 0.3), (0.8, 0.9), (3.0, 1e-3)])
@pytest.mark.parametrize("k", [0, 60, 120])
def test_renyi_divergences_are_their_integrals(m, q, k):
    order = ORDERS[k]

    def moment(x):
        one, other = (
            np.logaddexp(math.log1p(-q), math.log(q) + (side * x - 0.5) / m**2) for side in (1, -1)
        )
        return math.exp(norm.logpdf(x, 0, m) + order * one + (1 - order) * other)

    edges = np.arange(-12 * m - 1, 2 * order + 15 * m, 3 * m)
    parts = (
        integrate.quad(moment, *e, epsabs=0, epsrel=1e-12)[0] for e in itertools.pairwise(edges)
    )
    exact = min(math.log(sum(parts)) / (order - 1), 2 * order / m**2)
    assert Replaced(m / 2, q).renyi()[k] == pytest.approx(exact, rel=1e-8, abs=1e-10)


def test_the_curve_is_that_of_mixtures_on_both_sides():
    m, q = 1.0, 0.2
    x = np.linspace(-12, 13, 200_001)
    one, other = mixtures(m, q, 1, -1, x=x)
    hits, alarms = (np.cumsum(p[::-1])[::-1] * (x[1] - x[0]) for p in (one, other))
    rates = np.array([0.01, 0.1, 0.5])
    exact = np.interp(rates, alarms[::-1], hits[::-1])
    found = curve(ledger(Replaced(m / 2, q)).composition()).power(rates)
    assert found == pytest.approx(exact, rel=1e-3)
    assert (found > exact - 1e-9).all()


def test_noise_for_a_total_is_that_of_a_search_by_dp_accounting():
    release = Release("gaussian", "gradient", scaled_for="replace")

    def spend(epsilon):
        privacy = Privacy(epsilon, 1e-5, relation="replace")
        return ledger(release.cost(privacy, sampling=0.05), 500)

    budget = calibrate(spend, 2.0, 1e-5)
    accountant = PLDAccountant(REPLACE_ONE)
    # Noise is for two contributions.
    event = poisson(2 * gaussian_multiplier(budget, 1e-5), 0.05)
    accountant.compose(dp.SelfComposedDpEvent(event, 500))
    assert accountant.get_epsilon(1e-5) == pytest.approx(2.0, rel=0.01)
    assert 1.98 <= spend(budget).epsilon(1e-5) <= 2


def test_laplace_noise_takes_no_credit():
    release = Release("laplace", "gradient")
    privacy = Privacy(0.1, 1e-5, relation="replace")
    assert release.cost(privacy, sampling=0.1) == release.cost(privacy)
