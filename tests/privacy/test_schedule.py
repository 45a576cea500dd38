"""Noise that changes over rounds: factors, noise and ledgers of runs, and totals of many different samples."""

import itertools
import math
from unittest.mock import patch

import numpy as np
import pytest
from dp_accounting.gaussian_mechanism import get_epsilon_gaussian
from hypothesis import given, settings
from hypothesis import strategies as st

from admmbench.contracts.made_up_data import make_dataset
from admmbench.contracts.runs import run_without_engine
from admmbench.privacy import Gaussian, Pure, Replaced, Schedule, calibrate, composition, events
from admmbench.privacy.distributions import total_epsilon
from admmbench.spec import accounting
from admmbench.spec.run import RunSpec
from tests.privacy.ledgers import ledger_of, theirs

DELTA = 1e-5
DATA = make_dataset(90, n_classes=2)
TOTAL = {"sensitivity": "global", "privacy": {"total": 2.0, "delta": DELTA}}


def falling(number, ratio, one):
    """Return costs whose multipliers change from that of one cost on."""
    return [one.louder(ratio ** (t / (number - 1))) for t in range(number)]


@given(st.floats(0.01, 100), st.integers(2, 300))
def test_factors_change_in_a_constant_ratio_and_keep_the_gaussian_total(ratio, rounds):
    factors = [Schedule(ratio, rounds).factor(t) for t in range(1, rounds + 1)]
    assert factors[-1] / factors[0] == pytest.approx(ratio)
    steps = np.divide(factors[1:], factors[:-1])
    assert steps == pytest.approx(np.full(rounds - 1, ratio ** (1 / (rounds - 1))))
    assert np.mean(np.power(factors, -2)) == pytest.approx(1)


def test_without_a_ratio_or_with_one_round_nothing_changes():
    assert [Schedule(1.0, 7).factor(t) for t in (1, 4, 7)] == [1, 1, 1]
    assert Schedule(0.5, 1).factor(1) == 1


def test_only_gaussian_noise_has_a_schedule():
    assert Pure(1.0).louder(1) == Pure(1.0)
    with pytest.raises(ValueError, match="pure releases have no schedule"):
        Pure(1.0).louder(2)


@pytest.mark.parametrize("ratio", [0.5, 0.75, 3.0])
def test_totals_of_changing_noise_are_those_of_the_closed_form(ratio):
    """Inverse squares of multipliers add up."""
    costs = falling(30, ratio, Gaussian(20.0))
    mu = math.sqrt(sum(cost.multiplier**-2 for cost in costs))
    found = ledger_of(*costs).epsilon(DELTA)
    assert found == pytest.approx(get_epsilon_gaussian(1 / mu, DELTA), rel=1e-9)


@pytest.mark.parametrize(
    "one", [Gaussian(1.5, 0.1), Gaussian(0.9, 0.02), Replaced(2.0, 0.2), Replaced(2.0, 0.2, 1.0)]
)
def test_no_mixture_has_smaller_divergences_than_what_it_stands_for(one):
    for cost, absent in itertools.product(falling(40, 0.07, one.louder(3)), (False, True)):
        (louder, quieter), share = cost.bounds
        assert louder.multiplier <= cost.multiplier <= quieter.multiplier
        low, high = louder.ends(absent, 30.0)
        losses = np.linspace(low, high, 400)
        own, one_side, other = (
            each.hockey_stick(losses, absent) for each in (cost, louder, quieter)
        )
        mixture = share * one_side + (1 - share) * other
        assert (own <= mixture + 1e-15).all()
        assert (mixture <= own * 1.02 + 1e-12).mean() > 0.5


@pytest.mark.parametrize(
    ("one", "ratio"),
    [(Gaussian(2.0, 0.2), 0.5), (Gaussian(0.9, 0.05), 0.7), (Replaced(2.0, 0.3), 2.0)],
)
def test_totals_of_many_different_samples_are_those_of_dp_accounting(one, ratio):
    """Whose totals are by the same chords, on a finer grid: hardly less, and at most 0.1 % more."""
    costs = falling(6, ratio, one)
    found = ledger_of(*costs).epsilon(DELTA)
    other = theirs(*((cost, 1) for cost in costs), grid=5e-4).get_epsilon_for_delta(DELTA)
    assert 0.9999 * other <= found <= 1.001 * other


@settings(max_examples=15, deadline=None)
@given(
    st.sampled_from([Gaussian, Replaced]),
    st.floats(-0.7, 3),
    st.floats(0.01, 0.9),
    st.floats(0.3, 3).filter(lambda ratio: abs(ratio - 1) > 1e-3),
    st.integers(5, 12),
)
def test_mixtures_cost_at_most_a_thousandth_more(kind, log, sampling, ratio, number):
    """Than the same samples, composed as they are."""
    mechanisms = ledger_of(*falling(number, ratio, kind(math.exp(log), sampling))).composition()
    assert mechanisms.varied
    found = total_epsilon(mechanisms, DELTA)
    with patch.object(events, "_DIFFERENT", 100):
        assert not mechanisms.varied
        exact = total_epsilon(mechanisms, DELTA)
    assert (1 - 1e-6) * exact <= found <= 1.001 * exact


def test_few_different_samples_are_composed_as_they_are():
    """By the least of both accountants, as ever."""
    mechanisms = ledger_of(*falling(4, 0.5, Gaussian(2.0, 0.1))).composition()
    with patch.object(Gaussian, "bounds", None):
        both = composition._renyi(mechanisms, DELTA), total_epsilon(mechanisms, DELTA)
    assert composition.total(mechanisms, DELTA) == min(both)


def test_noise_of_160_different_samples_is_solved_for():
    def spend(epsilon):
        return ledger_of(*falling(160, 0.6, Gaussian(1 / epsilon, 0.1)))

    budget = calibrate(spend, 1.0, DELTA)
    assert 0.99 <= spend(budget).epsilon(DELTA) <= 1


RUNS = [
    ("dpsgd", {}, {}),
    ("dpsgd", {"params": {"sampling": 0.3}}, {}),
    ("dp_scaffold", {}, {}),
    ("outp", {"variant": "reference"}, {}),
    ("pvp", {}, {"relation": "replace"}),
    ("objp", {"params": {"local_updates": 2}}, {"noise": "gaussian"}),
    ("dp_fedavg", {"problem": {"loss": "logistic", "average": "agents"}}, {"unit": "agent"}),
    ("dpsgd", {}, {"trust": "secure_sum"}),
]


@pytest.mark.parametrize(("name", "given", "privacy"), RUNS, ids=str)
def test_the_ledger_of_each_round_is_that_of_its_noise(name, given, privacy):
    """And all rounds have the total that was asked for, or that of noise that does not change."""
    arguments = {"problem": "logistic", "agents": 3, "seeds": 1, "rounds": 7, **TOTAL, **given}
    arguments["privacy"] = TOTAL["privacy"] | privacy
    spec, steady = (
        RunSpec(dataset=DATA, algorithm=name, noise_ratio=ratio, **arguments) for ratio in (0.5, 1)
    )
    rounds = spec.rounds + spec.method.extra_rounds
    shifts = []
    federations = [run_without_engine(spec, DATA, t).federation for t in range(rounds + 1)]
    for before, after in itertools.pairwise(federations):
        then, now = (dict(f.ledgers[0].composition()) for f in (before, after))
        ((cost, count),) = ((c, n - then.get(c, 0)) for c, n in now.items() if n != then.get(c))
        shifts.append(math.sqrt(count / spec.method.updates) / cost.multiplier)
    schedule = federations[0].privacy.schedule
    factors = np.array([schedule.factor(t) for t in range(1, rounds + 1)])
    if spec.method.steady:
        assert factors * shifts == pytest.approx(np.full(rounds, shifts[0] * factors[0]))
    stated = accounting.ledger(spec, federations[0].problem, federations[0].privacy)
    totals = [each.epsilon(spec.delta) for each in (stated, federations[-1].ledgers[0])]
    assert totals == pytest.approx([totals[0]] * 2, rel=1e-6)
    assert 0.99 * 2 <= totals[0] <= 2
    if spec.sampling == 1 and spec.method.steady:
        usual = run_without_engine(steady, DATA, 0).federation.privacy.epsilon
        assert federations[0].privacy.epsilon == pytest.approx(usual, rel=1e-4)
