"""What the best of many runs costs, against the printed theorem and a mechanism whose law is known."""

import math

import pytest
from dp_accounting.rdp.rdp_privacy_accountant import compute_epsilon
from scipy import optimize

from admmbench import load_dataset, simulate
from admmbench.engine.rounds import bind
from admmbench.privacy import ORDERS, Approximate, Gaussian, Laplace, Pure
from admmbench.privacy.selection import SHAPES, epsilon_in_scope, selected
from admmbench.spec import accounting, guarantees
from admmbench.spec.run import RunSpec
from tests.privacy.ledgers import ledger_of


def spent(*pairs):
    return ledger_of(*pairs).composition()


def parameter(shape, trials):
    """The gamma with which the number of runs has this mean (Papernot and Steinke 2022, definition 1)."""
    if shape == "geometric":
        return 1 / trials
    return optimize.brentq(lambda g: (1 - 1 / g) / math.log(g) - trials, 1e-9, 1 - 1e-9)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("trials", [2, 24, 500])
@pytest.mark.parametrize("runs_after", [0, 1])
@pytest.mark.parametrize(
    ("cost", "count"),
    [
        (Gaussian(5.0), 20),
        (Gaussian(5.0, 0.1), 20),
        (Laplace(0.1, 0.1, 0.1), 30),
        (Laplace(1.2, 0.7, 0.4), 3),
        (Pure(0.1), 30),
    ],
    ids=["gaussian", "sampled", "laplace", "entries", "pure"],
)
def test_it_is_the_total_of_the_theorem(shape, trials, runs_after, cost, count):
    """Theorem 2, with the divergences of one run, at orders (lambda and its hat) that are best."""
    one, gamma, eta = count * cost.renyi(), parameter(shape, trials), SHAPES[shape]
    hat = (1 + eta) * min((1 - 1 / ORDERS) * one - math.log(gamma) / ORDERS)
    of_all = (1 + runs_after) * one + hat + math.log(trials) / (ORDERS - 1)
    expected, _ = compute_epsilon(ORDERS, of_all, 1e-5)
    found = selected(spent((cost, count)), 1e-5, trials, shape, runs_after)
    assert found == pytest.approx(expected, rel=1e-3)


def test_what_has_no_divergences_has_no_total():
    assert selected(spent((Approximate(0.5, 1e-7), 1)), 1e-5, 24, "geometric") == math.inf
    assert selected(spent((Gaussian(0.0), 1)), 1e-5, 24, "geometric") == math.inf


def test_every_trial_has_the_least_total_and_the_best_that_of_its_theorem():
    """The theorem is about Renyi divergences, also where distributions find less."""
    ledger = ledger_of((Laplace(0.1, 0.01, 0.001), 30))
    every = ledger_of((Laplace(0.1, 0.01, 0.001), 25 * 30))
    for covers, of in (("run", ledger), ("every_trial", every)):
        found = epsilon_in_scope(ledger, 1e-5, covers, 24)
        assert found == of.epsilon(1e-5, "pld") < 0.95 * of.epsilon(1e-5, "rdp")
    best = selected(ledger.composition(), 1e-5, 24, "logarithmic", runs_after=1)
    assert epsilon_in_scope(ledger, 1e-5, "best_trial", 24) == best > ledger.epsilon(1e-5, "rdp")


@pytest.mark.parametrize(
    ("covers", "single"),
    [("run", (1.98, 2.0)), ("best_trial", (0.72, 0.76)), ("every_trial", (0.32, 0.37))],
)
def test_a_total_may_cover_the_search_for_settings(covers, single):
    """Of a total of 2, less is left for the run that is measured."""
    privacy = {"total": 2, "delta": 1e-5, "noise": "gaussian", "covers": covers}
    if covers != "run":
        privacy["trials"] = 24
    given = {"dataset": "digits", "algorithm": "objp", "agents": 5, "sensitivity": "global"}
    spec = RunSpec(**given, privacy=privacy, rounds=3, seeds=1)
    problem = bind(spec, load_dataset("digits"))
    ledger = accounting.ledger(spec, problem, accounting.budget(spec, problem))
    assert 1.98 <= accounting.total_in_scope(spec, ledger, 1e-5) <= 2
    assert single[0] <= ledger.epsilon(1e-5) <= single[1]
    covered = {"covered_search": {"covers": covers, "trials": 24}}
    assert guarantees.caveats(spec) == (covered if covers != "run" else {})
    trace = simulate(**given, privacy=privacy, rounds=3, seeds=1)
    assert float(trace.epsilon_composed[-1]) == pytest.approx(ledger.epsilon(1e-5))
