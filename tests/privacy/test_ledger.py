"""Composition, against closed forms and dp-accounting."""

import math
from itertools import pairwise

import dp_accounting as dp
import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld
from dp_accounting.pld.common import DifferentialPrivacyParameters
from dp_accounting.pld.pld_privacy_accountant import PLDAccountant
from dp_accounting.rdp import RdpAccountant
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import integrate, optimize, stats
from scipy.signal import lfilter

from admmbench.privacy import (
    ORDERS,
    Approximate,
    Composition,
    Gaussian,
    Laplace,
    Ledger,
    Privacy,
    Pure,
    Release,
    Replaced,
    composition,
    distributions,
    epsilon_total,
)
from tests.privacy.ledgers import ledger_of


def number(shift: float) -> Laplace:
    """That of a single number."""
    return Laplace(shift, shift, shift)


def worst_record(epsilon: float, features: int) -> Laplace:
    """2 J entries, each with an equal part of the shift: a softmax record with all features at 1."""
    return Laplace(epsilon, epsilon / math.sqrt(2 * features), epsilon / (2 * features))


def gaussian_epsilon(multiplier: float, delta: float) -> float:
    """Balle and Wang 2018, theorem 8: the exact epsilon of one Gaussian release."""

    def excess(epsilon: float) -> float:
        a, b = 1 / (2 * multiplier), epsilon * multiplier
        return stats.norm.cdf(a - b) - math.exp(epsilon) * stats.norm.cdf(-a - b) - delta

    return optimize.brentq(excess, 0, 600)


@pytest.mark.filterwarnings("error")
def test_much_and_little_noise_cost_nothing_and_more_than_one_can_count():
    """Without a warning of a logarithm of 0."""
    for multiplier, bounds in ((1e-12, (1e23, 1e24)), (277721.2, (0, 1e-5))):
        ledger = ledger_of(Gaussian(multiplier))
        assert bounds[0] <= ledger.epsilon(1e-6) <= bounds[1]


@settings(max_examples=20)
@given(st.lists(st.floats(2, 50), min_size=1, max_size=6))
def test_gaussian_releases_compose_as_dp_accounting_composes_them(multipliers):
    ledger = Ledger()
    for multiplier in multipliers:
        ledger.add(Gaussian(multiplier))
    accountant = dp.rdp.RdpAccountant()
    accountant.compose(dp.ComposedDpEvent([dp.GaussianDpEvent(m) for m in multipliers]))
    exact = gaussian_epsilon(1 / math.sqrt(sum(m**-2 for m in multipliers)), 1e-6)
    assert ledger.epsilon(1e-6) == pytest.approx(exact, rel=5e-3, abs=1e-4)
    assert ledger.epsilon(1e-6) <= accountant.get_epsilon(1e-6) + 1e-6


@pytest.mark.parametrize(("epsilon", "count"), [(0.05, 200), (0.1, 50), (1, 30), (5, 10)])
def test_laplace_releases_agree_with_a_finer_grid(epsilon, count):
    ledger = ledger_of((number(epsilon), count))
    fine = PLDAccountant(value_discretization_interval=epsilon / 500)
    fine.compose(dp.SelfComposedDpEvent(dp.LaplaceDpEvent(1 / epsilon), count))
    total = ledger.epsilon(1e-6, "pld")
    assert total == pytest.approx(fine.get_epsilon(1e-6), rel=1e-3)
    assert total <= count * epsilon + 1e-9


@pytest.mark.parametrize(("epsilon", "multiplier"), [(4.0, 40.0), (0.05, 2.0)])
def test_mixed_releases_agree_with_a_finer_grid(epsilon, multiplier):
    """The grid is as fine as the smaller of the two losses needs it."""
    ledger = ledger_of((number(epsilon), 3), (Gaussian(multiplier), 10))
    fine = PLDAccountant(value_discretization_interval=min(epsilon, 1 / multiplier) / 500)
    fine.compose(dp.SelfComposedDpEvent(dp.LaplaceDpEvent(1 / epsilon), 3))
    fine.compose(dp.SelfComposedDpEvent(dp.GaussianDpEvent(multiplier), 10))
    assert ledger.epsilon(1e-6, "pld") == pytest.approx(fine.get_epsilon(1e-6), rel=2e-3)


def test_a_record_shifts_many_entries_a_little():
    """MNIST with epsilon 0.05: 0.80 after 20,000 releases where one number would cost 59.8, and 2.76 after ten times
    as many."""
    ledger = ledger_of((worst_record(0.05, 784), 20_000))
    tenfold = ledger_of((worst_record(0.05, 784), 200_000))
    single = ledger_of((number(0.05), 20_000))
    assert ledger.epsilon(1e-6, "rdp") == pytest.approx(0.797, abs=1e-3)
    # Losses of so many entries are normal, with the mean and half the variance n (r - 1 + e^-r).
    entries, r = 20_000 * 1568, 0.05 / 1568
    exact = gaussian_epsilon(1 / math.sqrt(entries * r**2 * (1 - r / 3)), 1e-6)
    assert exact <= ledger.epsilon(1e-6, "pld") <= 1.001 * exact
    assert tenfold.epsilon(1e-6, "rdp") == pytest.approx(2.764, abs=1e-3)
    assert single.epsilon(1e-6, "rdp") == pytest.approx(59.8, abs=0.1)


@settings(max_examples=30)
@given(
    epsilon=st.floats(0.01, 3),
    features=st.integers(1, 50),
    releases=st.integers(1, 200),
    multiplier=st.none() | st.floats(2, 20),
)
def test_renyi_totals_agree_with_dp_accounting(epsilon, features, releases, multiplier):
    """By its own accountant, with an event for every entry."""
    ledger, other = Ledger(), dp.rdp.RdpAccountant(list(ORDERS))
    ledger.add(worst_record(epsilon, features), releases)
    entry = dp.LaplaceDpEvent(2 * features / epsilon)
    other.compose(dp.SelfComposedDpEvent(entry, 2 * features * releases))
    if multiplier:
        ledger.add(Gaussian(multiplier))
        other.compose(dp.GaussianDpEvent(multiplier))
    basic = math.inf if multiplier else epsilon * releases
    wanted = min(other.get_epsilon(1e-6), basic)
    assert ledger.epsilon(1e-6, "rdp") == pytest.approx(wanted, rel=2e-3, abs=1e-6)


shifts = st.lists(st.floats(0, 4), min_size=1, max_size=8)


@given(shifts)
def test_no_shift_within_the_bounds_diverges_further(entries):
    """The divergence of what was drawn, entry by entry, against the bound by the norms alone."""
    shift = Laplace(sum(entries), math.hypot(*entries), max(entries))
    each = sum(number(entry).renyi() for entry in entries)
    assert (each <= shift.renyi() * (1 + 1e-9) + 1e-12).all()


@pytest.mark.parametrize("shift", [0.003, 0.2, 3.0])
@pytest.mark.parametrize("order", [0, 100, 180])
def test_divergences_are_their_integrals(shift, order):
    """Of Laplace noise, numerically; randomised response is the worst of all with the same largest loss."""
    a = ORDERS[order]

    def moment(x):
        return math.exp(-a * abs(x) - (1 - a) * abs(x - shift)) / 2

    edges = [-60, 0, shift, 60]
    integral = sum(
        integrate.quad(moment, *ends, epsabs=0, epsrel=1e-12)[0] for ends in pairwise(edges)
    )
    exact = math.log(integral) / (a - 1)
    assert number(shift).renyi()[order] == pytest.approx(exact, rel=2e-3)
    assert number(shift).renyi()[order] >= exact * (1 - 1e-6)
    p = 1 / (1 + math.exp(-shift))
    response = math.log(p**a * (1 - p) ** (1 - a) + (1 - p) ** a * p ** (1 - a)) / (a - 1)
    assert Pure(shift).renyi()[order] == pytest.approx(response, rel=2e-3)
    assert Pure(shift).renyi()[order] >= number(shift).renyi()[order] * (1 - 1e-9)


@pytest.mark.parametrize("epsilon", [30.0, 3000.0])
def test_large_losses_do_not_overflow(epsilon):
    laplace = ledger_of((number(epsilon), 10))
    pure = ledger_of((Pure(epsilon), 10))
    assert laplace.epsilon(1e-6) == pytest.approx(10 * epsilon, rel=0.1)
    assert pure.epsilon(1e-6) == pytest.approx(10 * epsilon, rel=0.1)


def test_federation_pays_what_its_worst_agent_pays():
    small = ledger_of(Gaussian(20))
    large = ledger_of(Gaussian(2))
    assert epsilon_total([small, large, small], 1e-6) == large.epsilon(1e-6)
    assert epsilon_total([], 1e-6) == 0


def test_memory_does_not_grow_with_rounds():
    ledger = Ledger()
    for t in range(1, 1000):
        ledger.add(Gaussian(1 + t))
        ledger.add(number(0.5))
    counts = dict(ledger.composition())
    assert counts.pop(number(0.5)) == 999
    assert list(counts) == [Gaussian(1.0)]
    assert counts[Gaussian(1.0)] == pytest.approx(sum((1 + t) ** -2 for t in range(1, 1000)))


@settings(max_examples=10)
@given(epsilon=st.floats(0.01, 1), count=st.integers(1, 60))
@example(epsilon=0.016326081773627307, count=1)  # seven times the spacing, but for rounding
def test_pure_releases_compose_as_randomised_response_does(epsilon, count):
    """The worst pure release (Kairouz, Oh and Viswanath 2015), composed exactly from binomial counts."""
    ledger = ledger_of((Pure(epsilon), count))
    truth = 1 / (1 + math.exp(-epsilon))
    k = np.arange(count + 1)
    losses = (2 * k - count) * epsilon

    def excess(total):
        return (
            stats.binom.pmf(k, count, truth) * np.maximum(1 - np.exp(total - losses), 0)
        ).sum() - 1e-6

    exact = optimize.brentq(excess, 0, count * epsilon) if excess(0) > 0 else 0.0
    assert exact * (1 - 1e-9) <= ledger.epsilon(1e-6, "pld") <= exact * 1.001 + 1e-6
    assert ledger.epsilon(1e-6, "pld") <= ledger.epsilon(1e-6) * (1 + 1e-6)


@pytest.mark.parametrize(("epsilon", "count"), [(0.02, 2049), (0.02, 30_000), (1.0, 5000)])
@pytest.mark.parametrize("delta", [1e-3, 1e-8])
def test_thousands_of_releases_are_added_in_groups(epsilon, count, delta):
    """Their total is that of randomised response, from binomial counts, or a little larger."""
    truth = 1 / (1 + math.exp(-epsilon))
    k = np.arange(count + 1)
    chances, losses = stats.binom.pmf(k, count, truth), (2 * k - count) * epsilon

    def excess(total):
        return (chances * -np.expm1(np.minimum(total - losses, 0))).sum() - delta

    exact = optimize.brentq(excess, 0, count * epsilon, xtol=1e-9)
    ledger = ledger_of((Pure(epsilon), count))
    assert exact * (1 - 1e-9) <= ledger.epsilon(delta, "pld") <= 1.005 * exact


# Samples


def sampled(*releases):
    """A ledger of (multiplier, probability, count)."""
    return ledger_of(*((Gaussian(m, q), count) for m, q, count in releases))


def event(*releases):
    """The same for dp-accounting."""
    return dp.ComposedDpEvent(
        [
            dp.SelfComposedDpEvent(dp.PoissonSampledDpEvent(q, dp.GaussianDpEvent(m)), count)
            for m, q, count in releases
        ]
    )


SAMPLES = [
    [(4.0, 0.01, 10_000)],
    [(1.1, 0.05, 300)],
    [(20.0, 0.3, 100), (7.0, 0.02, 500)],
    [(0.8, 0.001, 2000)],
    [(0.263, 0.001, 100)],  # 19.8 by Renyi divergences
    [(0.2, 0.0001, 3000)],
    [(3.0, 0.9, 5)],
]


@pytest.mark.parametrize("releases", SAMPLES)
def test_samples_have_the_privacy_loss_distributions_of_dp_accounting(releases):
    grid = 1e-3 if releases[0][0] < 0.5 else 1e-4
    accountant = PLDAccountant(dp.NeighboringRelation.REPLACE_SPECIAL, grid)
    accountant.compose(event(*releases))
    ledger = sampled(*releases)
    for delta in (1e-3, 1e-5, 1e-10):
        tight = accountant.get_epsilon(delta)
        assert ledger.epsilon(delta) == pytest.approx(tight, rel=0.01)
        assert ledger.epsilon(delta, "pld") == ledger.epsilon(delta)
        assert math.isnan(ledger.epsilon(delta, "huang2019"))


@pytest.mark.parametrize(
    ("multiplier", "q", "count", "delta"),
    [
        (4.0, 0.1, 1000, 1e-14),
        (1.0, 0.01, 10**6, 1e-10),
        (1.0, 0.01, 10**6, 1e-14),
        (1.0, 0.01, 1000, 1e-15),
    ],
)
def test_samples_have_the_renyi_total_of_dp_accounting_where_distributions_find_nothing(
    multiplier, q, count, delta
):
    """A delta may be too small for them."""
    ledger, accountant = sampled((multiplier, q, count)), RdpAccountant()
    accountant.compose(event((multiplier, q, count)))
    assert distributions.total_epsilon(ledger.composition(), delta) == math.inf
    found, theirs = ledger.epsilon(delta), accountant.get_epsilon(delta)  # by other orders
    assert 0.97 * theirs < found < 1.001 * theirs


def test_samples_cost_what_all_records_do_where_a_loss_is_too_large():
    ledger = ledger_of((Gaussian(1e-3), 1000))
    assert sampled((1e-3, 0.1, 1000)).epsilon(1e-5) == ledger.epsilon(1e-5) < math.inf


@pytest.mark.parametrize(("m", "q"), [(0.1, 0.3), (0.263, 0.001), (0.8, 0.9), (3.0, 1e-4)])
@pytest.mark.parametrize("k", [0, 60, 100, 120, 170])
def test_renyi_divergences_of_samples_are_their_integrals(m, q, k):
    """By adaptive quadrature, of orders below 2 and above; large ones are not reached with little noise."""
    k = min(k, 120) if m < 0.5 else k
    order = ORDERS[k]

    def moment(x):
        ratio = np.logaddexp(math.log1p(-q), math.log(q) + (x - 0.5) / m**2)
        return math.exp(stats.norm.logpdf(x, 0, m) + order * ratio)

    edges = np.append(np.arange(-12 * m, order + 12 * m, 3 * m), order + 12 * m)
    integral = sum(
        integrate.quad(moment, *ends, epsabs=0, epsrel=1e-12)[0] for ends in pairwise(edges)
    )
    exact = min(math.log(integral) / (order - 1), order / 2 / m**2)
    assert exact * (1 - 1e-9) - 1e-10 <= Gaussian(m, q).renyi()[k] <= exact * (1 + 1e-9) + 1e-10


def hockey_stick(p, q, epsilon):
    return np.maximum(p - math.exp(epsilon) * q, 0).sum()


@pytest.mark.slow
@settings(max_examples=20)
@given(
    st.floats(0.2, 20),
    st.floats(-4, -0.05).map(lambda power: 10**power),
    st.floats(-10, -3).map(lambda power: 10**power),
    st.sampled_from([1, 2]),
)
@example(0.2, 10**-0.25, 1e-8, 1)
@example(0.5, 1e-4, 1e-4, 2)  # a total that is small beside the losses
@example(0.5, 0.01, 0.0067, 1)
def test_the_divergence_of_samples_is_just_below_delta(multiplier, q, delta, count):
    """And above it at 0.98 epsilon: by brute force over the outputs of one release or of two, in both directions."""
    epsilon = sampled((multiplier, q, count)).epsilon(delta)
    x = np.linspace(-7.5 * multiplier, 7.5 * multiplier + 1, {1: 100_001, 2: 1001}[count])
    p, absent = (stats.norm.pdf(x, mean, multiplier) * (x[1] - x[0]) for mean in (1, 0))
    present = (1 - q) * absent + q * p
    if count == 2:
        present, absent = (np.outer(each, each) for each in (present, absent))
    found, less = (
        max(hockey_stick(present, absent, each), hockey_stick(absent, present, each))
        for each in (epsilon, 0.98 * epsilon)
    )
    assert found <= delta * (1 + 1e-3)
    assert epsilon == 0 or less >= delta * (1 - 1e-3)


@pytest.mark.parametrize(
    ("multiplier", "count", "delta"),
    [(20.0, 10_000, 1e-10), (5.0, 1000, 1e-5), (2.0, 30, 1e-3), (0.004, 1, 1e-6)],
)
def test_samples_of_nearly_all_records_cost_what_all_do(multiplier, count, delta):
    """Which is known exactly."""
    ledger = ledger_of((Gaussian(multiplier), count))
    exact = ledger.epsilon(delta)
    found = distributions.total_epsilon(
        sampled((multiplier, 1 - 1e-12, count)).composition(), delta
    )
    assert exact <= found <= 1.002 * exact


@pytest.mark.parametrize(
    "cost", [Gaussian(0.004, 0.5), Replaced(0.004, 0.5), Gaussian(0.004, 1e-4)], ids=str
)
def test_losses_may_be_too_large_for_their_exponentials(cost):
    """One release at the total has a divergence of at most delta, and at a little less it has a larger one."""
    found = distributions.total_epsilon(Composition([(cost, 1)]), 1e-6)
    at, below = cost.hockey_stick(np.array([found, 0.99 * found]), absent=False)
    assert at <= 1e-6 < below


@pytest.mark.parametrize("epsilon", [20_000.0, 49_000.0])
@pytest.mark.parametrize("count", [1, 1000])
@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-9])
def test_pure_releases_with_large_losses_cost_what_they_state(epsilon, count, delta):
    """Randomised response without noise, but for a chance of delta."""
    found = distributions.total_epsilon(Composition([(Pure(epsilon), count)]), delta)
    assert count * epsilon + 1.001 * math.log1p(-delta) <= found <= count * epsilon


def test_losses_whose_sum_no_grid_has_give_no_distribution():
    composition = Composition([(Gaussian(1.0, 0.5), 10**12)])
    assert distributions.total_epsilon(composition, 1e-3) == math.inf


def test_a_delta_may_be_next_to_nothing():
    assert sampled((5.0, 0.1, 10)).epsilon(5e-324) < math.inf


@pytest.mark.parametrize("cost", [Pure(0.5), Gaussian(1.0, 0.5), number(0.5)], ids=str)
def test_a_part_of_a_release_is_no_less_than_one(cost):
    """Nothing is left out where releases are counted."""
    more, one, two = (
        distributions.total_epsilon(Composition([(cost, count)]), 1e-6) for count in (1.1, 1, 2)
    )
    assert one < more == two


def test_the_printed_number_of_abadi2016():
    """Section 3.2: q = 0.01, sigma = 4, 10,000 steps, delta = 1e-5 give (1.26, 1e-5) by the moments accountant."""
    assert 0.9 < sampled((4.0, 0.01, 10_000)).epsilon(1e-5) < 1.26


def test_a_sample_of_all_records_is_a_plain_release():
    ledger = ledger_of((Gaussian(3.0), 7))
    assert not ledger.composition().sampled
    assert sampled((3.0, 1.0, 7)).variables() == ledger.variables()


@pytest.mark.parametrize("delta", [1e-4, 1e-8])
@pytest.mark.parametrize("others", ["laplace", "pure", "gaussian", "approximate", "all"])
def test_samples_compose_with_other_releases(others, delta):
    ledger, grid = sampled((1.5, 0.05, 400)), 1e-3
    total = pld.from_gaussian_mechanism(
        1.5, sampling_prob=0.05, value_discretization_interval=grid
    ).self_compose(400)
    if others in ("laplace", "all"):
        ledger.add(number(0.1), 10)
        single = pld.from_laplace_mechanism(10, value_discretization_interval=grid)
        total = total.compose(single.self_compose(10))
    if others in ("pure", "all"):
        ledger.add(Pure(0.25), 3)
        single = pld.from_privacy_parameters(DifferentialPrivacyParameters(0.25, 0), grid)
        total = total.compose(single.self_compose(3))
    if others in ("gaussian", "all"):
        ledger.add(Gaussian(5.0), 3)
        single = pld.from_gaussian_mechanism(5 / 3**0.5, value_discretization_interval=grid)
        total = total.compose(single)
    if others in ("approximate", "all"):
        ledger.add(Approximate(0.5, delta / 4), 2)
        single = pld.from_privacy_parameters(DifferentialPrivacyParameters(0.5, delta / 4), grid)
        total = total.compose(single.self_compose(2))
    assert ledger.epsilon(delta) == pytest.approx(total.get_epsilon_for_delta(delta), rel=0.01)


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("accountant", ["rdp", None])
@pytest.mark.parametrize("size", [1e-300, 1e-160, 1e-20, 1e20, 1e160, 1e300])
def test_budgets_out_of_reach_cost_nothing_or_everything(size, accountant):
    kinds = [
        Release("laplace", "gradient").cost(Privacy(size, 1e-5)),
        Release("gaussian", "gradient").cost(Privacy(size, 1e-5)),
        Release("gaussian", "gradient").cost(Privacy(size, 1e-5), sampling=0.1),
        Release("spherical", "gradient").cost(Privacy(size, 1e-5)),
        Approximate(size, 1e-6),
    ]
    everything = Ledger()
    for cost in kinds:
        ledger = ledger_of((cost, 3))
        everything.add(cost, 3)
        found = ledger.epsilon(1e-5, accountant)
        assert found <= 1e-15 if size < 1 else found > 1e15
    assert (everything.epsilon(1e-5, accountant) < 1) == (size < 1)


# Approximate releases


def approximate(*releases):
    """A ledger of (epsilon, delta, count)."""
    return ledger_of(*((Approximate(*each[:2]), *each[2:]) for each in releases))


@pytest.mark.parametrize("accountant", ["rdp", None])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.3, 1e-6), (2.7, 1e-3), (40.0, 0.1)])
def test_one_approximate_release_costs_its_epsilon(epsilon, delta, accountant):
    ledger = approximate((epsilon, delta))
    assert ledger.epsilon(delta, accountant) == pytest.approx(epsilon, rel=2e-9)
    assert ledger.epsilon(delta / 2, accountant) == math.inf
    assert ledger


def test_epsilons_and_deltas_add_up():
    """Also where the sum of deltas is that of the total, but for rounding; beyond it there is no total."""
    ledger = approximate((0.3, 1e-7, 7), (0.4, 1e-6, 3))
    assert ledger.epsilon(7e-7 + 3e-6, "rdp") == pytest.approx(7 * 0.3 + 3 * 0.4, rel=1e-12)
    assert ledger.epsilon(3.6e-6, "rdp") == math.inf
    thirds = approximate((0.1, 1e-5 / 3, 3))
    assert thirds.epsilon(1e-5, "rdp") == pytest.approx(0.3, rel=1e-12)


def test_others_have_the_delta_that_is_left():
    ledger, other = approximate((0.3, 1e-6, 2)), Ledger()
    for each in (ledger, other):
        each.add(Gaussian(3.0), 4)
        each.add(Pure(0.2))
    assert ledger.epsilon(1e-5, "rdp") == pytest.approx(0.6 + other.epsilon(8e-6, "rdp"), rel=1e-9)
    assert ledger.epsilon(2e-6, "rdp") == math.inf  # Gaussian releases need some delta
    pure = approximate((0.3, 1e-6, 2))
    pure.add(Pure(0.2), 3)
    pure.add(number(0.1), 2)
    assert pure.epsilon(2e-6, "rdp") == pytest.approx(0.6 + 0.6 + 0.2)


@settings(max_examples=15, deadline=None)
@given(
    releases=st.lists(
        st.tuples(st.floats(0.05, 2), st.sampled_from([0.0, 1e-8, 1e-7]), st.integers(1, 8)),
        min_size=1,
        max_size=3,
    ),
    multiplier=st.none() | st.floats(1, 20),
    laplace=st.none() | st.floats(0.05, 1),
)
def test_approximate_releases_cost_at_least_what_dp_accounting_finds(releases, multiplier, laplace):
    """By the privacy loss distributions of the worst mechanisms, which the accountant `pld` composes as well."""
    ledger = approximate(*releases)
    grid = min(epsilon for epsilon, _, _ in releases) / 20
    total = pld.identity(grid)
    for epsilon, delta, count in releases:
        worst = pld.from_privacy_parameters(DifferentialPrivacyParameters(epsilon, delta), grid)
        total = total.compose(worst.self_compose(count))
    if multiplier:
        ledger.add(Gaussian(multiplier))
        total = total.compose(
            pld.from_gaussian_mechanism(multiplier, value_discretization_interval=grid)
        )
    if laplace:
        ledger.add(number(laplace), 2)
        single = pld.from_laplace_mechanism(1 / laplace, value_discretization_interval=grid)
        total = total.compose(single.self_compose(2))
    exact = total.get_epsilon_for_delta(1e-5)
    # Losses are rounded up to the grid.
    rounding = grid * (sum(count for _, _, count in releases) + 3)
    assert exact - rounding <= ledger.epsilon(1e-5)
    assert ledger.epsilon(1e-5, "pld") == pytest.approx(exact, rel=0.02, abs=2 * rounding)


def test_an_accountant_that_says_nothing_of_approximate_releases_is_not_asked(monkeypatch):
    """What it does not know of, it would leave out."""
    monkeypatch.setattr(composition, "ACCOUNTANTS", {})
    composition.accountant("mine", "epsilon_mine", "", "")(lambda composition, delta: 1.0)
    (mine,) = composition.ACCOUNTANTS.values()
    ledger = ledger_of(Pure(0.1))
    assert mine.epsilon(ledger.composition(), 1e-5) == 1
    ledger.add(Approximate(0.1, 1e-6))
    assert math.isnan(mine.epsilon(ledger.composition(), 1e-5))


@pytest.mark.parametrize("wrong", [math.nan, -1.0, math.inf], ids=str)
@pytest.mark.parametrize("name", ["rdp", "pld", "huang2019"])
def test_what_is_no_number_costs_infinitely_much(wrong, name):
    told = [
        lambda ledger: ledger.add(Gaussian(1.0), wrong),
        lambda ledger: ledger.add(Gaussian(1.0, 0.1), wrong),
        lambda ledger: ledger.add(Laplace(wrong, 1, 1)),
        lambda ledger: ledger.add(Laplace(1, wrong, 1)),
        lambda ledger: ledger.add(Laplace(1, 1, wrong)),
        lambda ledger: ledger.add(number(1), wrong),
        lambda ledger: ledger.add(Pure(wrong)),
        lambda ledger: ledger.add(Approximate(wrong, 1e-9)),
        lambda ledger: ledger.add(Approximate(0.1, wrong)),
    ]
    if wrong != math.inf:
        told += [
            lambda ledger: ledger.add(Gaussian(wrong)),
            lambda ledger: ledger.add(Gaussian(wrong, 0.1)),
            lambda ledger: ledger.add(Gaussian(1.0, wrong)),
        ]
    for tell in told:
        ledger = ledger_of()
        sound = ledger_of(Gaussian(4.0))
        tell(ledger)
        assert ledger.epsilon(1e-6, name) == math.inf
        assert epsilon_total([sound, ledger, sound], 1e-6, name) == math.inf


def test_norms_of_no_vector_cost_infinitely_much():
    """An l2 norm of 0 would make any number of releases free."""
    for shift in (Laplace(1, 0, 1), Laplace(1, 0, 0.1), Laplace(1, 2, 0.5), Laplace(0, 0, 1)):
        ledger = ledger_of(shift)
        assert ledger.epsilon(1e-6) == math.inf


@pytest.mark.parametrize("entries", [1, 3, 14, 1568])
def test_entries_are_as_many_however_a_processor_rounds_their_norms(entries):
    """One more of few costs some percent, so that noise for a total would depend on the processor."""
    for linf in np.random.default_rng(entries).uniform(0.01, 1, 50):
        for ulps in range(-4, 5):
            l1 = entries * linf * (1 + ulps * 2.0**-52)
            part, number = Laplace(l1, math.sqrt(l1 * linf), linf).parts(3)
            assert number == 3 * entries
            assert part.linf * entries >= l1 * (1 - 2.0**-52)
            assert part.linf >= linf


@pytest.mark.parametrize("decay", [0.0, 0.3, 1 - 1e-9])
def test_sums_that_decay_are_those_of_scipy(decay):
    values = np.random.default_rng(0).exponential(size=1000)[::-1]
    expected = lfilter([1.0], [1.0, -decay], values)
    np.testing.assert_allclose(distributions._decaying_sums(values, decay), expected, rtol=1e-12)
