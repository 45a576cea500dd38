"""Composition, against closed forms and dp-accounting."""

import math

import dp_accounting as dp
import numpy as np
import pytest
from dp_accounting.rdp import RdpAccountant
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import optimize, stats
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
from tests.privacy.ledgers import ledger_of, theirs


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


SAMPLE = Gaussian(1.5, 0.05), 400
TOTALS = [
    ([(number(0.05), 200)], 1e-4),
    ([(number(0.1), 50)], 2e-4),
    ([(number(1.0), 30)], 2e-3),
    ([(number(5.0), 10)], 1e-2),
    # Our grid is as fine as the smaller of the two losses needs it.
    ([(number(4.0), 3), (Gaussian(40.0), 10)], 5e-5),
    ([(number(0.05), 3), (Gaussian(2.0), 10)], 1e-4),
    ([(Gaussian(4.0, 0.01), 10_000)], 1e-4),
    ([(Gaussian(1.1, 0.05), 300)], 1e-4),
    ([(Gaussian(20.0, 0.3), 100), (Gaussian(7.0, 0.02), 500)], 1e-4),
    ([(Gaussian(0.8, 0.001), 2000)], 1e-4),
    ([(Gaussian(0.263, 0.001), 100)], 1e-3),  # 19.8 by Renyi divergences
    ([(Gaussian(0.2, 0.0001), 3000)], 1e-3),
    ([(Gaussian(3.0, 0.9), 5)], 1e-4),
    ([SAMPLE, (number(0.1), 10)], 1e-3),
    ([SAMPLE, (Pure(0.25), 3)], 1e-3),
    ([SAMPLE, (Gaussian(5.0), 3)], 1e-3),
    ([SAMPLE, (Approximate(0.5, 1e-8), 2)], 1e-3),
    (
        [
            SAMPLE,
            (number(0.1), 10),
            (Pure(0.25), 3),
            (Gaussian(5.0), 3),
            (Approximate(0.5, 1e-8), 2),
        ],
        1e-3,
    ),
    ([(Approximate(0.3, 1e-8), 4), (Approximate(1.5, 0.0), 2), (number(0.4), 2)], 1e-3),
    *(
        pytest.param([(Replaced(*cost), count)], 1e-4, marks=pytest.mark.slow)
        for *cost, count in [(2.0, 0.01, 1000), (0.55, 0.05, 300), (0.4, 0.001, 2000)]
    ),
    pytest.param([(Replaced(1.5, 0.9), 5)], 1e-4, marks=pytest.mark.slow),
    pytest.param([(Replaced(0.25, 0.2), 10)], 1e-4, marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("releases", "grid"), TOTALS, ids=str)
def test_totals_are_those_of_dp_accounting(releases, grid):
    """By privacy loss distributions, on a grid that is fine enough for theirs."""
    ledger, distribution = ledger_of(*releases), theirs(*releases, grid=grid)
    for delta in (1e-3, 1e-6, 1e-10):
        expected = distribution.get_epsilon_for_delta(delta)
        assert ledger.epsilon(delta, "pld") == pytest.approx(expected, rel=0.01)
        assert ledger.epsilon(delta) <= ledger.epsilon(delta, "pld")


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


@settings(max_examples=12)
@given(epsilon=st.floats(0.01, 1), count=st.integers(1, 60), delta=st.sampled_from([1e-3, 1e-6]))
@example(0.016326081773627307, 1, 1e-6)  # seven times the spacing, but for rounding
@example(0.02, 2049, 1e-3)  # thousands are added in groups
@example(0.02, 30_000, 1e-8)
@example(1.0, 5000, 1e-8)
def test_pure_releases_compose_as_randomised_response_does(epsilon, count, delta):
    """The worst pure release (Kairouz, Oh and Viswanath 2015), composed exactly from binomial counts."""
    truth = 1 / (1 + math.exp(-epsilon))
    k = np.arange(count + 1)
    chances, losses = stats.binom.pmf(k, count, truth), (2 * k - count) * epsilon

    def excess(total):
        return (chances * np.maximum(-np.expm1(np.minimum(total - losses, 0)), 0)).sum() - delta

    exact = optimize.brentq(excess, 0, count * epsilon, xtol=1e-9) if excess(0) > 0 else 0.0
    ledger, most = ledger_of((Pure(epsilon), count)), 1.001 if count < 2000 else 1.005
    assert exact * (1 - 1e-9) <= ledger.epsilon(delta, "pld") <= exact * most + 1e-6
    assert ledger.epsilon(delta) <= ledger.epsilon(delta, "pld")


# Samples


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
    ledger, accountant = ledger_of((Gaussian(multiplier, q), count)), RdpAccountant()
    sample = dp.PoissonSampledDpEvent(q, dp.GaussianDpEvent(multiplier))
    accountant.compose(sample, count)
    assert distributions.total_epsilon(ledger.composition(), delta) == math.inf
    found, theirs = ledger.epsilon(delta), accountant.get_epsilon(delta)  # by other orders
    assert 0.97 * theirs < found < 1.001 * theirs


def test_samples_cost_what_all_records_do_where_a_loss_is_too_large():
    ledger = ledger_of((Gaussian(1e-3), 1000))
    assert ledger_of((Gaussian(1e-3, 0.1), 1000)).epsilon(1e-5) == ledger.epsilon(1e-5) < math.inf


@pytest.mark.parametrize(
    ("cost", "least"),
    [
        (Gaussian(0.004, 0.5), 32_401.1615),  # by its divergence, with 60 digits
        (Replaced(0.004, 0.5), 0),
        (Gaussian(0.004, 1e-4), 0),
    ],
    ids=str,
)
def test_losses_may_be_too_large_for_their_exponentials(cost, least):
    """One release at the total has a divergence of at most delta, and at a little less it has a larger one."""
    found = distributions.total_epsilon(Composition([(cost, 1)]), 1e-6)
    at, below = cost.hockey_stick(np.array([found, 0.99 * found]), absent=False)
    assert at <= 1e-6 < below
    assert least <= found <= ledger_of(cost).epsilon(1e-6, "rdp")


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
    assert ledger_of((Gaussian(5.0, 0.1), 10)).epsilon(5e-324) < math.inf


@pytest.mark.parametrize("cost", [Pure(0.5), Gaussian(1.0, 0.5), number(0.5)], ids=str)
def test_a_part_of_a_release_is_no_less_than_one(cost):
    """Nothing is left out where releases are counted."""
    more, one, two = (
        distributions.total_epsilon(Composition([(cost, count)]), 1e-6) for count in (1.1, 1, 2)
    )
    assert one < more == two


def test_a_sample_of_all_records_is_a_plain_release():
    ledger = ledger_of((Gaussian(3.0), 7))
    assert not ledger.composition().sampled
    assert ledger_of((Gaussian(3.0, 1.0), 7)).variables() == ledger.variables()


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


@pytest.mark.parametrize("accountant", ["rdp", None])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.3, 1e-6), (2.7, 1e-3), (40.0, 0.1)])
def test_one_approximate_release_costs_its_epsilon(epsilon, delta, accountant):
    ledger = ledger_of(Approximate(epsilon, delta))
    assert ledger.epsilon(delta, accountant) == pytest.approx(epsilon, rel=2e-9)
    assert ledger.epsilon(delta / 2, accountant) == math.inf
    assert ledger


def test_epsilons_and_deltas_add_up():
    """Also where the sum of deltas is that of the total, but for rounding; beyond it there is no total."""
    ledger = ledger_of((Approximate(0.3, 1e-7), 7), (Approximate(0.4, 1e-6), 3))
    assert ledger.epsilon(7e-7 + 3e-6, "rdp") == pytest.approx(7 * 0.3 + 3 * 0.4, rel=1e-12)
    assert ledger.epsilon(3.6e-6, "rdp") == math.inf
    thirds = ledger_of((Approximate(0.1, 1e-5 / 3), 3))
    assert thirds.epsilon(1e-5, "rdp") == pytest.approx(0.3, rel=1e-12)


def test_others_have_the_delta_that_is_left():
    ledger, other = ledger_of((Approximate(0.3, 1e-6), 2)), Ledger()
    for each in (ledger, other):
        each.add(Gaussian(3.0), 4)
        each.add(Pure(0.2))
    assert ledger.epsilon(1e-5, "rdp") == pytest.approx(0.6 + other.epsilon(8e-6, "rdp"), rel=1e-9)
    assert ledger.epsilon(2e-6, "rdp") == math.inf  # Gaussian releases need some delta
    pure = ledger_of((Approximate(0.3, 1e-6), 2))
    pure.add(Pure(0.2), 3)
    pure.add(number(0.1), 2)
    assert pure.epsilon(2e-6, "rdp") == pytest.approx(0.6 + 0.6 + 0.2)


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
        (Gaussian(1.0), wrong),
        (Gaussian(1.0, 0.1), wrong),
        (number(1), wrong),
        Laplace(wrong, 1, 1),
        Laplace(1, wrong, 1),
        Laplace(1, 1, wrong),
        Pure(wrong),
        Approximate(wrong, 1e-9),
        Approximate(0.1, wrong),
    ]
    if wrong != math.inf:
        told += [Gaussian(wrong), Gaussian(wrong, 0.1), Gaussian(1.0, wrong)]
    for each in told:
        ledger, sound = ledger_of(each), ledger_of(Gaussian(4.0))
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
