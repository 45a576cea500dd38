"""VIMADMM: a transcription, ADMM sharing as its limit, its total, and how far a row of a party moves releases."""

import math

import numpy as np
import pytest
from dp_accounting import get_epsilon_gaussian

from tests.algorithms.literal_hu2019 import (
    BLOCKS,
    DELTA,
    EPS,
    RHO,
    STRENGTH,
    Literal,
    N,
    T,
    awkward,
    final,
    scikit_learn,
    trace_of,
)
from tests.algorithms.test_private_vertical_sgd import neighbours, released

NAME = "vimadmm"
PROBLEM = {"strength": STRENGTH}
WIDE = {"clip": 1e9, "clip_predictions": 1e9}


def clipped(value, most):
    return min(max(value, -most), most)


@pytest.mark.parametrize("bounds", [WIDE, {"clip": 0.05, "clip_predictions": 0.02}], ids=str)
def test_trajectory_is_the_literal_one(bounds):
    """The loops of the authors' code, with clipped gradients of each record."""
    steps, rate = 3, 0.2
    params = {"rho": RHO, "learning_rate": rate, "local_updates": steps, **bounds}
    state, _ = final(awkward(), NAME, params, BLOCKS, problem=PROBLEM, rounds=T)
    run = Literal(awkward(), BLOCKS)
    cut = 0
    for _ in range(T):
        for m in run.parties():
            sent = run.D[m] @ run.x[m]
            run.sent[m] = np.array([clipped(each, bounds["clip_predictions"]) for each in sent])
            cut += (run.sent[m] != sent).any()
        run.finish()
        for m in run.parties():
            others = sum(run.sent[k] for k in run.parties() if k != m)
            for _ in range(steps):
                gradient = np.zeros_like(run.x[m])
                for i, row in enumerate(run.D[m]):
                    g = run.y[i] + RHO * (others[i] + row @ run.x[m] - run.z[i])
                    length = np.linalg.norm(g * row)
                    gradient += (
                        g * row * (1 if length <= bounds["clip"] else bounds["clip"] / length)
                    )
                run.x[m] = run.x[m] - rate * (gradient / N + 2 * STRENGTH * run.x[m])
    assert (cut > 0) == (bounds is not WIDE)
    for m in run.parties():
        np.testing.assert_allclose(state.x[m][0], run.x[m], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(state.z[0], run.z, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("coupling", ["parallel", "averaged"])
def test_many_local_steps_are_admm_sharing(coupling):
    """Its parties begin a round, and have solved a subproblem more in the end."""
    shared = {"rho": RHO, "coupling": coupling}
    many = {"learning_rate": 0.2, "local_updates": 5000, **WIDE}
    given = {"blocks": BLOCKS, "problem": PROBLEM}
    found, _ = final(awkward(), NAME, shared | many, rounds=3, **given)
    exact, _ = final(awkward(), "admm_sharing", shared, rounds=4, **given)
    np.testing.assert_allclose(found.w, exact.w, rtol=1e-6, atol=1e-9)


def test_without_noise_it_reaches_the_optimum():
    best, _ = scikit_learn(awkward(), STRENGTH)
    params = {"rho": 0.1, "coupling": "averaged", "learning_rate": 0.8, "local_updates": 20, **WIDE}
    trace = trace_of(awkward(), NAME, params, BLOCKS, problem=PROBLEM, rounds=800)
    assert float(trace.train_loss[0, -1]) == pytest.approx(best, abs=1e-6)


@pytest.mark.parametrize("relation", ["zero_out", "replace"])
def test_a_round_costs_one_normal_release(relation):
    """Independently: the noise of predictions and of both local steps, each with its own multiplier."""
    params = {"local_updates": 2, "share": 0.2}
    private = {"epsilon": EPS, "delta": DELTA, "privacy": {"relation": relation}}
    trace = trace_of(awkward(), NAME, params, BLOCKS, rounds=7, **private)
    contributions = {"zero_out": 1, "replace": 2}[relation]
    multiplier = math.sqrt(2 * math.log(1.25 / DELTA)) / EPS / contributions
    each = [multiplier / math.sqrt(share) for share in (0.2, 0.4, 0.4)]
    whole = 1 / math.sqrt(7 * sum(m**-2 for m in each))
    found = float(trace.epsilon_total[-1])
    assert found == pytest.approx(get_epsilon_gaussian(whole, DELTA), rel=1e-6)
    assert trace.epsilon_total.attrs["guarantee"] == "proved"


@pytest.mark.parametrize("relation", ["zero_out", "replace"])
@pytest.mark.parametrize("coupling", ["parallel", "averaged"])
def test_no_row_of_a_party_moves_releases_further_than_the_ledger_says(
    monkeypatch, coupling, relation
):
    """Brute force: the same messages for both neighbours; squared shifts over noise add up over a whole run."""
    params = {"local_updates": 2, "share": 0.2, "clip": 0.3, "clip_predictions": 0.7}
    params |= {"learning_rate": 20.0, "coupling": coupling}
    times = {"zero_out": 1, "replace": 2}[relation]
    budget = 3 * (times * EPS) ** 2 / (2 * math.log(1.25 / DELTA))
    worst = 0.0
    for seed in range(20):
        one, two = neighbours(seed, relation)
        transcript = released(monkeypatch, one, relation, None, NAME, params)
        replayed = released(monkeypatch, two, relation, transcript, NAME, params)
        shifts = [
            np.linalg.norm(a - b) / scale
            for (a, scale, _), (b, *_) in zip(transcript, replayed, strict=True)
        ]
        assert len(shifts) == 3 * 3
        worst = max(worst, np.square(shifts).sum())
    assert 0.5 * budget < worst <= budget
