"""Means of models over rounds, of every method of consensus ADMM: they are what they say, and change nothing."""

import numpy as np
import pytest

from admmbench.algorithms import list_algorithms, resolve
from admmbench.base.consensus import Consensus
from admmbench.privacy import epsilon_total
from admmbench.spec.run import RunSpec
from tests.algorithms.runs import rounds
from tests.audit.runs import TWO

METHODS = [name for name in list_algorithms() if issubclass(resolve(name), Consensus)]
CASES = [(name, params) for name in METHODS for params in ({}, *resolve(name).examples)]
# It has what all of them need.
STRONG = {"loss": "logistic", "penalty": "l2", "strength": 0.1}
T = 4


def run(name, params, average=None, problem=STRONG):
    """Federation, state and messages after each round."""
    spec = RunSpec(
        dataset=TWO,
        algorithm=name,
        params={**params, "average": average},
        problem=problem,
        agents=3,
        epsilon=1,
        delta=1e-3,
        sensitivity="global",
        rounds=T,
        seeds=(0, 1),
        dtype="float64",
    )
    return rounds(spec)


@pytest.mark.parametrize(("name", "params"), CASES, ids=str)
def test_means_are_those_of_the_models(name, params):
    once = params.get("local_updates", 1) == 1
    for average in resolve(name).averages.keys() & ({"before", "after"} if once else {"after"}):
        before: np.ndarray = np.zeros(0)
        w: list[np.ndarray] = []
        z: list[np.ndarray] = []
        for t, (federation, state, sent) in enumerate(run(name, params, average)):
            if sent is not None:
                w.append(state.w.copy())
                z.append((before if average == "before" else state.z).copy())
                mean = np.mean(z, axis=0)
                found = federation.observers[-1].measure(t, state, federation)
                apart = ((np.mean(w, axis=0) - mean) ** 2).sum(axis=(0, 2, 3))
                np.testing.assert_allclose(found["averaged_gap"], np.sqrt(apart), rtol=1e-9)
                objectives = objective(federation, mean)
                np.testing.assert_allclose(found["averaged_objective"], objectives, rtol=1e-9)
            before = state.z.copy()


def objective(federation, z):
    """Sum over agents, record by record, for the logistic loss."""
    total, problem = np.zeros(z.shape[1]), federation.problem
    for p in range(problem.n_agents):
        ((_, rows),) = problem.split.shares[p]
        X, y = problem.X[rows], np.where(problem.y[rows] > 0, 1, -1)
        margins = y * np.einsum("skj,nj->sn", z[p], X)
        n = len(y) if problem.problem.average == "agents" else problem.n_samples
        total += np.log1p(np.exp(-margins)).sum(axis=1) / n
        total += problem.own_strength / 2 * (z[p] ** 2).sum(axis=(1, 2))
    return total


THEOREMS = [
    ("objp", {}, "theorem3", "records"),
    ("objp", {"proximity": "strong", "local_updates": 2}, "theorem4", "records"),
    ("dp_admm", {}, "theorem4", "agents"),
]
MEASURED = [
    *((*case, average, None) for case in CASES for average in ("before", "after")),
    *THEOREMS,
]


@pytest.mark.parametrize(("name", "params", "average", "divided"), MEASURED, ids=str)
def test_what_is_measured_changes_no_model_no_message_and_no_total(name, params, average, divided):
    """Means, and both sides of theorems."""
    if average not in resolve(name).averages:
        return
    more = {"average": divided, "feasible": {"ball": 0.5}} if divided else {}
    pairs = (run(name, params, each, STRONG | more) for each in (None, average))
    for (one, plain, sent), (other, asked, sent_too) in zip(*pairs, strict=True):
        for part in ("w", "z", "dual", "average", "iterates"):
            np.testing.assert_array_equal(getattr(plain, part), getattr(asked, part))
        if sent is not None:
            messages = sent.up + sent.down, sent_too.up + sent_too.down
            for ours, theirs in zip(*messages, strict=True):
                np.testing.assert_array_equal(ours, theirs)
        assert epsilon_total(one.ledgers, 1e-3) == epsilon_total(other.ledgers, 1e-3)
        assert len(other.observers) == len(one.observers) + 1


def test_means_that_a_method_does_not_have_are_refused():
    with pytest.raises(ValueError, match="average of ICEADMM: 'before' is none of after"):
        next(run("iceadmm", {}, average="before"))
