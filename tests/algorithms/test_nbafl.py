"""NbAFL: a transcription, its limit, and what the printed bound misses."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import optimize

from admmbench import simulate
from admmbench.algorithms.nbafl import NbAFL
from tests.algorithms.literal_baselines import (
    EPS,
    LOGISTIC,
    STRENGTH,
    T,
    check_trajectory,
    gradients,
    perturbed,
    played,
    released,
)
from tests.algorithms.records import SIZES, J, P, in_unit_ball

# The clip binds in some rounds only.
NBAFL = {"rho": 0.2, "clip": 0.9, "tolerance": 1e-11}
GLOBAL = {"agents": P, "epsilon": EPS, "sensitivity": "global", "problem": LOGISTIC}


def nbafl(seed, eps, printed=False):
    """Algorithm 1 with all agents and no noise of the server; exact subproblems by scipy, c1 = 1."""
    gradient, w = gradients(), np.zeros(J)
    rho, clip, tolerance = NBAFL.values()
    for t in range(1, T + 1):
        sent = []
        for i, m in enumerate(SIZES):

            def slope(v, i=i, w=w):
                return gradient(i, v) + STRENGTH * v + rho * (v - w)

            x = optimize.root(slope, w, tol=1e-13).x
            x = x / max(1.0, float(np.linalg.norm(x)) / clip)
            bound = min(2 * clip, (1 / m + 2 * tolerance) / (STRENGTH + rho))
            sent.append(perturbed(x, clip / m if printed else bound, (seed, i, t, 0), eps))
        w = sum(sent) / P
        yield w, sent


@pytest.mark.parametrize("eps", [math.inf, EPS])
def test_trajectory_is_the_literal_one(eps):
    check_trajectory("nbafl", NBAFL, nbafl, eps)


def test_trajectory_with_the_printed_bound_is_the_literal_one():
    def printed(seed, eps):
        return nbafl(seed, eps, printed=True)

    check_trajectory("nbafl", {**NBAFL, "bound": "printed"}, printed, EPS)


def test_the_clip_binds():
    """Else the transcription would not see it."""
    long = [np.linalg.norm(state["z"], axis=-1).max() for state in played("nbafl", NBAFL, T)]
    assert long[0] < NBAFL["clip"] - 1e-3
    assert long[-1] == pytest.approx(NBAFL["clip"], rel=1e-6)


def test_one_agent_finds_the_optimum():
    """Proximal point steps; with more agents the limit depends on rho."""
    strong = {**LOGISTIC, "strength": 0.05}
    wanted = played("centralized", {}, 1, problem=strong, agents=1)[-1]["w"]
    params = {"rho": 0.05, "clip": 1e6, "tolerance": 1e-11}
    found = played("nbafl", params, 100, problem=strong, agents=1)[-1]["w"]
    np.testing.assert_allclose(found, wanted, atol=2e-6)


def test_the_printed_bound_is_no_bound():
    """One record whose model is far from clipped moves it more than 2 clip / m, twice what is stated for one."""
    data = in_unit_ball()
    params = {"rho": 0.02, "clip": 0.5, "tolerance": 1e-10}
    null = np.zeros_like(data.X_train)
    one = null.copy()
    one[0, 0] = 1
    w, moved = np.zeros((1, J)), []
    for X in (one, null):
        given = replace(data, X_train=X)
        value, proved = released("nbafl", params, given, "logistic", {}, w)
        stated = released("nbafl", {**params, "bound": "printed"}, given, "logistic", {}, w)[1]
        moved.append(value)
    distance = np.linalg.norm(moved[0] - moved[1])
    assert 2 * stated < distance <= proved


def test_the_printed_bound_has_no_guarantee():
    assert NbAFL(bound="proved").guarantee("global").kind == "proved"
    assert NbAFL(bound="printed").guarantee("global").kind == "none"
    trace = simulate(in_unit_ball(), "nbafl", {"bound": "printed"}, rounds=1, **GLOBAL)
    assert math.isinf(trace.epsilon_total[-1])
