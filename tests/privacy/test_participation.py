"""Agents that take part by coins or in cohorts: noise of drawn sums, independent totals, an audit, refusals."""

import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from dp_accounting import dp_event
from dp_accounting.pld.pld_privacy_accountant import PLDAccountant
from dp_accounting.privacy_accountant import NeighboringRelation
from dp_accounting.rdp import RdpAccountant

from admmbench.audit.runs import Run, RunData
from admmbench.audit.settings import AuditSettings
from admmbench.privacy import Draw, Noise, Sampler, gaussian_multiplier
from admmbench.spec.guarantees import guarantee
from tests.audit.runs import TWO, failed, make_spec, short_audit
from tests.privacy.test_units import PARAMS, PROBLEM, SHARED

Q = 0.2
COHORT = {"unit": "agent", "trust": "secure_sum", "relation": "replace", "cohort": 2}
# What agents of the others keep depends on who took part before.
IN_COHORTS = [name for name in SHARED if name != "dp_fedadmm"]
COINS = {"unit": "agent", "trust": "secure_sum", "participation": Q}


def make(name, **changes):
    given = {"params": PARAMS[name], "problem": PROBLEM, "privacy": COINS, "dtype": "float64"}
    return make_spec(name, TWO, **{**given, **changes})


@pytest.mark.parametrize("name", SHARED)
def test_the_noise_of_a_sum_is_the_same_whatever_the_number_that_takes_part(name):
    """No agent takes part in two fifths of the rounds of four agents; all of them in few."""
    run = Run(make(name, seeds=600), RunData(TWO))
    run.round(1)
    ((release,), *_) = run.transcripts
    value = release.value.reshape(600, -1)
    noise = release.added.reshape(600, -1) / release.scale.reshape(600, 1)
    present = np.concatenate([b.sampler.coins(1, Q) for b in run.federation.blocks])[:, :, 0, 0]
    count = present.sum(axis=0)
    assert not value[count == 0].any()
    assert value[count > 0].any(axis=1).all()
    for number in (0, 1, 2):
        own = noise[count == number]
        assert len(own) > 50
        assert own.var() == pytest.approx(1, abs=5 * math.sqrt(2 / own.size))
    assert count.mean() == pytest.approx(4 * Q, abs=0.15)


@pytest.mark.parametrize(
    ("relation", "theirs"), [("zero_out", "REPLACE_SPECIAL"), ("replace", "REPLACE_ONE")]
)
@pytest.mark.parametrize("name", SHARED)
def test_totals_are_those_of_an_independent_accountant(name, relation, theirs):
    """The ledger composes a Poisson sample of agents, one of which sends something else in the neighbour."""
    spec = make(name, rounds=5, privacy={**COINS, "relation": relation})
    run = Run(spec, RunData(TWO))
    for t in range(1, 6):
        run.round(t)
    (total,) = {ledger.epsilon(1e-3) for ledger in run.federation.ledgers}
    multiplier = 2 * gaussian_multiplier(spec.epsilon, spec.delta)  # noise is for twice the bound
    release = dp_event.PoissonSampledDpEvent(Q, dp_event.GaussianDpEvent(multiplier))
    accountant = PLDAccountant(NeighboringRelation[theirs])
    accountant.compose(dp_event.SelfComposedDpEvent(release, 5))
    assert total == pytest.approx(accountant.get_epsilon(1e-3), rel=0.01)
    assert guarantee(spec).kind == "conditional"
    assert "nobody but an agent learns in which rounds it takes part" in guarantee(spec).conditions


@pytest.mark.parametrize("relation", ["zero_out", "replace"])
@pytest.mark.parametrize("name", SHARED)
def test_audits_find_nothing(name, relation):
    settings = AuditSettings(rounds=2, repeats=60, canaries=["worst"])
    coins = {**COINS, "relation": relation}
    given = {"problem": PROBLEM, "privacy": coins, "params": PARAMS[name], "epsilon": 8.0}
    assert short_audit(name, TWO, settings, **given).complete


@pytest.mark.parametrize("relation", ["zero_out", "replace"])
def test_agents_that_take_part_too_often_are_found(monkeypatch, relation):
    coins = Sampler.coins
    monkeypatch.setattr(Sampler, "coins", lambda self, t, q: coins(self, t, min(1, 2 * q)))
    settings = AuditSettings(rounds=3, repeats=100, canaries=["worst"])
    privacy = {**COINS, "relation": relation}
    given = {"problem": PROBLEM, "privacy": privacy, "params": PARAMS["dp_fedavg"]}
    found = failed(short_audit("dp_fedavg", TWO, settings, **given))
    assert "the ledger was told a probability of 0.2" in found["likelihood"]


def test_noise_of_those_alone_who_take_part_is_found(monkeypatch):
    """The sum then has a fifth of the variance on average, and none if nobody takes part."""
    part = Noise.part

    def of_some(self, *given):
        drawn = part(self, *given)
        assert isinstance(drawn, Draw)
        return replace(drawn, scale=drawn.scale * Sampler(self.keys).coins(self.t, Q)[:, :, 0, 0])

    monkeypatch.setattr(Noise, "part", of_some)
    settings = AuditSettings(rounds=2, repeats=40, canaries=["worst"])
    given = {"problem": PROBLEM, "privacy": COINS, "params": PARAMS["dp_fedavg"]}
    assert "noise law" in failed(short_audit("dp_fedavg", TWO, settings, **given))


@pytest.mark.parametrize("name", IN_COHORTS)
def test_a_cohort_has_the_stated_size_and_its_sum_the_stated_noise(name):
    """Two of four agents take part, each pair of them as often as any other, and others in each round."""
    spec = make(name, seeds=600, privacy=COHORT)
    run = Run(spec, RunData(TWO))
    run.round(1)
    ((release,), *_) = run.transcripts
    noise = release.added.reshape(-1) / np.repeat(release.scale, release.added.shape[-1])
    assert noise.var() == pytest.approx(1, abs=5 * math.sqrt(2 / noise.size))
    first, second = (run.federation.active(t)[:, :, 0, 0] for t in (1, 2))
    assert (first.sum(axis=0) == 2).all()
    pairs = Counter(map(tuple, first.T.tolist()))
    assert len(pairs) == 6
    assert max(abs(count - 100) for count in pairs.values()) < 45  # five standard deviations
    assert (first & second).sum() == pytest.approx(600, abs=90)
    # The sum is that of the messages of those who take part, over the number of all agents.
    alone = [
        Run(make(name, seeds=600, privacy=COHORT, epsilon=1e9), RunData(TWO, p)) for p in (None, 0)
    ]
    for each in alone:
        each.round(1)
    values = [each.transcripts[0][0].value.reshape(600, -1) for each in alone]
    assert ((values[0] != values[1]).any(axis=1) == first[0]).all()


@pytest.mark.parametrize("name", IN_COHORTS)
def test_totals_of_cohorts_are_those_of_an_independent_accountant(name):
    """Mixtures on both sides, each as far from the rest as neighbours may be; and near that by Renyi divergences."""
    spec = make(name, rounds=5, privacy=COHORT)
    run = Run(spec, RunData(TWO))
    for t in range(1, 6):
        run.round(t)
    (total,) = {ledger.epsilon(1e-3) for ledger in run.federation.ledgers}
    gaussian = dp_event.GaussianDpEvent(gaussian_multiplier(spec.epsilon, spec.delta))
    by_pld = PLDAccountant(NeighboringRelation.REPLACE_ONE)
    by_pld.compose(dp_event.SelfComposedDpEvent(dp_event.PoissonSampledDpEvent(0.5, gaussian), 5))
    assert total == pytest.approx(by_pld.get_epsilon(1e-3), rel=0.01)
    by_rdp = RdpAccountant(neighboring_relation=NeighboringRelation.REPLACE_ONE)
    sampled = dp_event.SampledWithoutReplacementDpEvent(4, 2, gaussian)
    by_rdp.compose(dp_event.SelfComposedDpEvent(sampled, 5))
    assert total == pytest.approx(by_rdp.get_epsilon(1e-3), rel=0.03)
    assert guarantee(spec).kind == "conditional"
    assert "nobody but an agent learns in which rounds it takes part;" in guarantee(spec).conditions


@pytest.mark.parametrize("name", IN_COHORTS)
def test_audits_of_cohorts_find_nothing(name):
    settings = AuditSettings(rounds=2, repeats=60, canaries=["worst"])
    given = {"problem": PROBLEM, "privacy": COHORT, "params": PARAMS[name], "epsilon": 8.0}
    assert short_audit(name, TWO, settings, **given).complete


def test_agents_that_are_in_every_cohort_are_found(monkeypatch):
    """The sizes of cohorts are right."""
    numbers = Sampler.numbers

    def first_of_all(self, t):
        found = numbers(self, t)
        found[-1] /= 4
        return found

    monkeypatch.setattr(Sampler, "numbers", first_of_all)
    settings = AuditSettings(rounds=3, repeats=100, canaries=["worst"])
    given = {"problem": PROBLEM, "privacy": COHORT, "params": PARAMS["dp_fedavg"]}
    found = failed(short_audit("dp_fedavg", TWO, settings, **given))
    assert "the ledger was told a probability of 0.5" in found["likelihood"]


def test_cohorts_that_are_drawn_once_are_found(monkeypatch):
    numbers = Sampler.numbers
    monkeypatch.setattr(Sampler, "numbers", lambda self, t: numbers(self, 1))
    settings = AuditSettings(rounds=3, repeats=200, canaries=["worst"])
    given = {"problem": PROBLEM, "privacy": {**COHORT, "cohort": 1}, "params": PARAMS["dp_fedavg"]}
    found = failed(short_audit("dp_fedavg", TWO, settings, **given))
    assert found["likelihood"].endswith("takes part in the same ones of rounds.")


def test_a_cohort_of_all_agents_is_no_sample():
    every, none = (make("dp_fedavg", privacy={**COHORT, "cohort": cohort}) for cohort in (4, None))
    assert every.sampling == none.sampling == 1
    assert guarantee(every) == guarantee(none)


@pytest.mark.parametrize(
    ("name", "privacy", "message"),
    [
        ("dp_fedavg", {"trust": "agents"}, "cohort: 2 needs trust: secure_sum"),
        ("dp_fedavg", {"unit": "record"}, "cohort: 2 needs unit: agent"),
        ("dp_fedavg", {"relation": "zero_out"}, "cohort: 2 needs relation: replace"),
        ("dp_fedavg", {"participation": 0.5}, "cohort: 2 does not go with privacy.participation"),
        ("dp_fedavg", {"cohort": 5}, "cohort: 5 is more than the 4 agents"),
        ("dp_fedadmm", {}, "cohort: 2 does not suit dp_fedadmm"),
    ],
)
def test_cohorts_that_nothing_is_proved_for_are_refused(name, privacy, message):
    with pytest.raises(ValueError, match=message):
        make(name, privacy={**COHORT, **privacy})


@pytest.mark.parametrize(
    ("privacy", "message"),
    [
        ({"trust": "agents"}, "participation: 0.2 needs trust: secure_sum"),
        ({"unit": "record"}, "participation: 0.2 needs unit: agent"),
    ],
)
def test_coins_that_hide_nothing_are_refused(privacy, message):
    with pytest.raises(ValueError, match=message):
        make("dp_fedavg", privacy={**COINS, **privacy})


@pytest.mark.parametrize(
    ("name", "given", "key"),
    [
        ("dpsgd", {"params": {"sampling": 2.3e-10}}, "params.sampling: 2.3e-10"),
        ("dp_fedavg", {"privacy": {**COINS, "participation": 1e-300}}, "privacy.participation"),
    ],
)
def test_probabilities_that_would_be_rounded_to_0_are_refused(name, given, key):
    with pytest.raises(ValueError, match=f"{key}.* is below .*: nobody would ever take part; use"):
        make(name, **given)


def test_the_smallest_probability_is_taken():
    assert make("dpsgd", privacy={}, params={"sampling": 2.0**-32}).sampling == 2.0**-32
