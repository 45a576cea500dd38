"""Agents that take part by coins or in cohorts: noise of drawn sums, independent totals, an audit, refusals."""

import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from admmbench.audit.runs import Run, RunData
from admmbench.audit.settings import AuditSettings
from admmbench.engine.account import of_run
from admmbench.privacy import Draw, Noise, Sampler
from admmbench.spec.guarantees import guarantee
from tests.audit.runs import TWO, WEIGHED_BY_AGENT, failed, make_spec, short_audit
from tests.privacy.test_units import PARAMS, SHARED

Q = 0.2
COHORT = {"unit": "agent", "trust": "secure_sum", "relation": "replace", "cohort": 2}
# What agents of the others keep depends on who took part before.
IN_COHORTS = [name for name in SHARED if name != "dp_fedadmm"]
COINS = {"unit": "agent", "trust": "secure_sum", "participation": Q}


SAMPLED = [
    *((name, COINS | {"relation": each}) for name in SHARED for each in ("zero_out", "replace")),
    *((name, COHORT) for name in IN_COHORTS),
]


def make(name, **changes):
    given = {
        "params": PARAMS[name],
        "problem": WEIGHED_BY_AGENT,
        "privacy": COINS,
        "dtype": "float64",
    }
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


@pytest.mark.parametrize(("name", "privacy"), SAMPLED, ids=str)
def test_the_ledgers_of_a_run_have_what_its_account_has(name, privacy):
    """Of which other accountants find the same total, see `test_combinations.py`."""
    spec = make(name, rounds=5, privacy=privacy)
    run = Run(spec, RunData(TWO))
    for t in range(1, 6):
        run.round(t)
    (told,) = {ledger.composition() for ledger in run.federation.ledgers}
    assert told == of_run(spec, TWO).ledger.composition()
    assert guarantee(spec).kind == "conditional"
    assert "nobody but an agent learns in which rounds it takes part" in guarantee(spec).conditions


def too_often(coins, self, t, q):
    return coins(self, t, min(1, 2 * q))


def of_those_alone_who_take_part(part, self, *given):
    """The sum then has a fifth of the variance on average, and none if nobody takes part."""
    drawn = part(self, *given)
    assert isinstance(drawn, Draw)
    scale = drawn.drawn.scale * Sampler(self.keys).coins(self.t, Q)[:, :, 0, 0]
    return replace(drawn, drawn=drawn.drawn._replace(scale=scale))


def one_in_every_cohort(numbers, self, t):
    """The sizes of cohorts are right."""
    found = numbers(self, t)
    found[-1] /= 4
    return found


def the_first_cohort(numbers, self, t):
    return numbers(self, 1)


@pytest.mark.parametrize(
    ("method", "fault", "privacy", "level", "sentence"),
    [
        (Sampler.coins, too_often, COINS, "likelihood", "was told a probability of 0.2"),
        (
            Sampler.coins,
            too_often,
            COINS | {"relation": "replace"},
            "likelihood",
            "was told a probability of 0.2",
        ),
        (Noise.part, of_those_alone_who_take_part, COINS, "noise law", "have the same noise"),
        (
            Sampler.numbers,
            one_in_every_cohort,
            COHORT,
            "likelihood",
            "was told a probability of 0.5",
        ),
        (
            Sampler.numbers,
            the_first_cohort,
            COHORT | {"cohort": 1},
            "likelihood",
            "takes part in the same ones of rounds.",
        ),
    ],
)
def test_faults_of_participation_are_found(monkeypatch, method, fault, privacy, level, sentence):
    owner = Noise if method is Noise.part else Sampler
    monkeypatch.setattr(owner, method.__name__, lambda *given: fault(method, *given))
    settings = AuditSettings(rounds=3, repeats=200, canaries=["worst"])
    given = {"problem": WEIGHED_BY_AGENT, "privacy": privacy, "params": PARAMS["dp_fedavg"]}
    assert sentence in failed(short_audit("dp_fedavg", TWO, settings, **given))[level]


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


def test_a_cohort_of_all_agents_is_no_sample():
    every, none = (make("dp_fedavg", privacy={**COHORT, "cohort": cohort}) for cohort in (4, None))
    assert every.sampling == none.sampling == 1
    assert guarantee(every) == guarantee(none)


def test_the_smallest_probability_is_taken():
    assert make("dpsgd", privacy={}, params={"sampling": 2.0**-32}).sampling == 2.0**-32
