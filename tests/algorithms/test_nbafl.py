"""NbAFL: a transcription, and what the printed bound misses."""

import math
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from admmbench import simulate
from admmbench.algorithms.nbafl import NbAFL
from tests.algorithms.literal_huang2019 import (
    EPS,
    LOGISTIC,
    SIZES,
    STRENGTH,
    J,
    P,
    T,
    check_trajectory,
    in_unit_ball,
    played,
    released,
)

# The clip binds in some rounds only.
NBAFL = {"rho": 0.2, "clip": 0.9, "tolerance": 1e-11}
GLOBAL = {"agents": P, "epsilon": EPS, "sensitivity": "global", "problem": LOGISTIC}


def nbafl(run, printed=False):
    """Algorithm 1 with all agents and no noise of the server; exact subproblems by scipy, c1 = 1."""
    rho, clip, tolerance = NBAFL.values()
    for t in range(1, T + 1):
        sent = []
        for i, m in enumerate(SIZES):
            x = run.solve(i, 0.0, rho=rho)
            x = x / max(1.0, float(np.linalg.norm(x)) / clip)
            bound = min(2 * clip, (1 / m + 2 * tolerance) / (STRENGTH + rho))
            sent.append(run.noisy(x, i, clip / m if printed else bound, t))
        run.w = sum(sent) / P
        yield run.w, sent


@pytest.mark.parametrize("eps", [math.inf, EPS])
def test_trajectory_is_the_literal_one(eps):
    check_trajectory("nbafl", NBAFL, nbafl, eps)


def test_trajectory_with_the_printed_bound_is_the_literal_one():
    check_trajectory("nbafl", {**NBAFL, "bound": "printed"}, partial(nbafl, printed=True))


def test_the_clip_binds():
    """Else the transcription would not see it."""
    long = [np.linalg.norm(state["z"], axis=-1).max() for state in played("nbafl", NBAFL, T)]
    assert long[0] < NBAFL["clip"] - 1e-3
    assert long[-1] == pytest.approx(NBAFL["clip"], rel=1e-6)


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
