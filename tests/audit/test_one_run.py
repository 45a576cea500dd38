"""Many canaries in one run: the bound against another implementation and mechanisms whose epsilon is known."""

import itertools

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import binom

from admmbench.audit import one_run
from admmbench.audit.settings import AuditSettings, one_run_rounds
from admmbench.audit.words import words
from admmbench.contracts.made_up_data import make_dataset, written_by
from admmbench.privacy import Noise
from tests.audit.runs import THREE, TWO, failed, make_spec, short_audit

MANY = AuditSettings(canaries=[], one_run={"canaries": 40})
WIDE = make_dataset(120, n_features=60, n_classes=2)


@pytest.mark.parametrize(
    ("given", "theirs"),
    [
        ((1000, 1000, 1000, 5.0, 0.0), 0.0012121635125159416),
        ((1000, 100, 90, 1.5, 1e-5), 0.018764588474672005),
        ((200, 50, 42, 1.0, 1e-4), 0.05602776710781454),
        ((1000, 400, 300, 0.8, 1e-3), 0.05594641534141167),
        ((60, 60, 40, 0.5, 1e-6), 0.2859635437662228),
    ],
)
def test_chances_are_those_of_jax_privacy(given, theirs):
    """Version 2.0.0, auditing._one_run_p_value."""
    assert sum(one_run.chances(*given)) == pytest.approx(theirs, rel=1e-9)


@pytest.mark.parametrize(
    ("given", "theirs"),
    [
        ((1000, 1000, 1000, 0.0, 0.95), 5.8090683371730325),
        ((1000, 1000, 1000, 1e-5, 0.95), 5.782283131572193),
        ((1000, 100, 90, 1e-5, 0.95), 1.6261436787042223),
        ((200, 50, 42, 1e-4, 0.99), 0.7297361152565496),
        ((1000, 400, 300, 1e-3, 0.95), 0.7722796652235344),
        ((100, 100, 55, 0.0, 0.95), 0.0),
    ],
)
def test_bounds_are_near_those_of_jax_privacy(given, theirs):
    """Version 2.0.0, auditing._epsilon_one_run, where scores do not choose the number of guesses.

    Ours are smaller where there is a delta, but not below those of half of the level.
    """
    canaries, guesses, right, delta, confidence = given
    found, half = one_run.epsilon_lower_by_guesses(*given), (1 - confidence) / (2 if delta else 1)
    assert found <= theirs
    if found:
        assert sum(one_run.chances(canaries, guesses, right, found + 3e-4, delta)) >= half


def refuted(canaries, guesses, right, epsilon, delta):
    """Share of attacks whose bound, with a confidence of 95 %, is above epsilon."""
    bounds = [
        one_run.epsilon_lower_by_guesses(canaries, guesses, v, delta, 0.95)
        for v in range(guesses + 1)
    ]
    return (np.array(bounds)[right] > epsilon).mean()


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_bounds_of_randomized_response_hold(epsilon):
    """Each canary is told with the largest chance that epsilon allows: the bound is wrong as often as it may be."""
    right = np.random.default_rng(3).binomial(100, expit(epsilon), size=20_000)
    assert 0.02 < refuted(100, 100, right, epsilon, 0.0) <= 0.053


def test_bounds_hold_where_the_scores_choose_the_number_of_guesses():
    """Eight of a thousand coins are told with a probability of 1 %, and nothing of the others; else all, with errors.

    Each coin is told with the probability delta.
    """
    m, k, epsilon, delta = 1000, 8, 0.25, 8.3e-5
    coins, told = np.ones(m, bool), np.zeros(m)
    told[:k] = 1000
    guesses, right = one_run.guess(told, coins, delta, 0.95)
    one = one_run.epsilon_lower_by_guesses(m, guesses, right, delta, 0.95) > epsilon
    guesses, _ = one_run.guess(np.full(m, 1000), coins, delta, 0.95)
    assert guesses == m
    all_told = [
        v for v in range(m + 1) if one_run.epsilon_lower_by_guesses(m, m, v, delta, 0.95) > epsilon
    ]
    other = binom.sf(min(all_told) - 1, m, expit(epsilon))
    leaks = delta * m / k
    assert 0.02 < leaks * one + (1 - leaks) * other <= 0.05


@pytest.mark.parametrize("law", ["gaussian", "laplace"])
def test_odds_are_what_they_say(law):
    """Canaries that overlap, in one release with noise of a law: guesses are right as often as the odds promise."""
    rng = np.random.default_rng(5)
    n, entries = 20, 2000
    shifts = 1.5 * (rng.random((n, entries)) < 0.5) / np.sqrt(entries / 2)
    right, promised = [], []
    for _ in range(100):
        coins = rng.random(n) < 0.5
        own = rng.normal(size=entries) if law == "gaussian" else rng.laplace(size=entries)
        odds = one_run.log_odds([(law, coins @ shifts + own)], shifts)
        right.append((odds > 0) == coins)
        promised.append(expit(abs(odds)))
    assert np.mean(promised) > 0.6
    assert np.mean(right) == pytest.approx(np.mean(promised), abs=0.03)


def gaussian_scores(rng, mu, canaries, hidden):
    """Return coins, and scores of a Gaussian mechanism that each canary moves by mu in a direction of its own."""
    coins = rng.random(canaries) < 0.5
    shifts = mu * np.linalg.qr(rng.normal(size=(canaries + hidden, canaries)))[0].T
    release = coins @ shifts + rng.normal(size=canaries + hidden)
    return coins, one_run.log_odds([("gaussian", release)], shifts)


def test_the_mu_of_a_gaussian_mechanism_is_estimated():
    """Over 240 settings, errors of the estimate are standard normal in units of its standard error."""
    rng, errors = np.random.default_rng(0), []
    for mu, canaries, hidden in itertools.product(
        (0.2, 0.4, 0.6, 0.8, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0),
        (40, 60, 100, 160),
        (1, 3, 9, 20, 40, 60),
    ):
        coins, scores = gaussian_scores(rng, mu, canaries, hidden)
        estimate, error = one_run.estimate_mu(scores, coins)
        assert estimate is not None
        assert error is not None
        errors.append((estimate - mu) / error)
    assert len(errors) == 240
    assert abs(np.mean(errors)) < 0.25
    assert 0.85 < np.std(errors) < 1.15
    assert np.abs(errors).max() < 4


@pytest.mark.parametrize(
    ("scores", "coins"),
    [([1.0, 2.0, 3.0], [True, True, False]), ([1.0] * 4, [True, True, False, False])],
)
def test_nothing_is_estimated_of_too_little(scores, coins):
    assert one_run.estimate_mu(np.array(scores), np.array(coins)) == (None, None)


def test_odds_of_one_canary_are_those_of_the_best_test():
    shift, noise = np.array([[0.3, -1.0]]), np.array([0.7, 0.2])
    best = ((noise**2).sum() - ((noise - shift[0]) ** 2).sum()) / 2
    assert one_run.log_odds([("gaussian", noise)], shift)[0] == pytest.approx(best)


def test_guesses_are_chosen_by_the_odds_alone():
    odds = np.r_[np.full(50, 6.0), np.full(150, 0.01)] * np.tile([1, -1], 100)
    coins = odds > 0
    (guesses, right), (same, wrong) = (
        one_run.guess(odds, each, 1e-5, 0.95) for each in (coins, ~coins)
    )
    assert (guesses, wrong) == (same, 0)
    assert right == guesses
    assert 30 < guesses < 80


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("objp", {}),
        ("outp", {"privacy": {"relation": "replace"}}),
        ("dvp", {"rounds": 1}),
        ("amp", {}),
        ("dpsgd", {"params": {"sampling": 0.3}}),
        ("dpsgd", {"privacy": {"trust": "secure_sum"}}),
    ],
    ids=str,
)
def test_methods_as_they_are_pass(name, changes):
    data = THREE if name in ("objp", "outp") else TWO
    found = short_audit(name, data, MANY, **{"epsilon": 3.0, **changes})
    assert found.passed
    assert found.one_run
    assert found.one_run.canaries == 40
    attack = f"In one run: 40 canaries, {found.one_run.rounds} rounds"
    assert attack in words().summary(found)
    assert found.one_run.epsilon_lower < found.one_run.epsilon_power
    assert found.one_run.epsilon_power == pytest.approx(2.25, abs=0.15)
    assert found.one_run.mu_estimate is not None
    assert 0 <= found.one_run.mu_estimate < 4
    assert "By an estimate, which is no bound, mu is" in words().sentence(found.findings[-1])


def test_too_little_noise_is_found_by_one_run(monkeypatch):
    """The ledger is told of noise that is 30 times what is added."""
    draw = Noise._draw
    monkeypatch.setattr(
        Noise, "_draw", lambda self, law, scale, *rest: draw(self, law, scale / 30, *rest)
    )
    settings = AuditSettings(canaries=[], one_run={"canaries": 60})
    for name, changes in (("objp", {}), ("dpsgd", {"params": {"sampling": 0.5}})):
        found = short_audit(name, WIDE, settings, epsilon=0.5, **changes)
        assert "The total does not hold: of " in failed(found)["one run"]


def test_one_run_stands_beside_other_attacks():
    settings = AuditSettings(rounds=2, repeats=8, canaries=["worst"], one_run={"rounds": 4})
    found = short_audit("objp", settings=settings)
    assert found.one_run
    assert [each.level for each in found.findings][-2:] == ["black box", "one run"]
    assert (found.rounds, found.one_run.rounds, found.one_run.canaries) == (2, 4, 60)


def test_rounds_that_do_not_fit_are_left_out(monkeypatch):
    spec = make_spec("objp")
    assert one_run_rounds(spec, THREE.info, MANY.one_run) == spec.rounds
    monkeypatch.setattr("admmbench.audit.settings._MOST_OF_A_SEED", 1)
    assert one_run_rounds(spec, THREE.info, MANY.one_run) == 1


def test_an_audit_looks_for_something():
    with pytest.raises(ValueError, match="canaries: name at least one, or attack one_run"):
        AuditSettings(canaries=[])


def test_agents_of_few_records_have_few_canaries():
    data = written_by(TWO, np.repeat([0, 1, 2], [20, 3, 37]), list("abc"))
    spec = make_spec("dpsgd", data, agents={"scheme": "by_writer"})
    canaries = one_run.Canaries(spec, data, 12)
    assert np.bincount(canaries.observers).tolist() == [5, 3, 4]
    assert canaries.turns.max() == 4
    everybody = canaries.data_with(np.ones(12, bool)).data.X_train
    assert (everybody[canaries.rows] != 0).any(axis=1).all()
    assert not canaries.data_with(np.zeros(12, bool)).data.X_train[canaries.rows].any()
