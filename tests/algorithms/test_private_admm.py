"""Federated private ADMM: a transcription, its limit, and the noise that it needs."""

import math

import numpy as np
import pytest

from admmbench import simulate
from tests.algorithms.literal_huang2019 import (
    EPS,
    LOGISTIC,
    SIZES,
    STRENGTH,
    J,
    N,
    P,
    T,
    check_trajectory,
    in_unit_ball,
    played,
)

ADMM = {"rho": 0.2, "relaxation": 0.8, "tolerance": 1e-11}


def private_admm(run):
    """Lines 61 to 71 of dpadmm.py, with exact subproblems by scipy, gamma = 1 / rho and no clipping."""
    u, rho, part = np.zeros((P, J)), ADMM["rho"], ADMM["relaxation"]
    for t in range(1, T + 1):
        w = run.w = u.mean(axis=0)
        for i, m in enumerate(SIZES):
            # ||v - (2 w - u_i)||^2 is that of v - w and a linear term.
            x = run.solve(i, rho * (w - u[i]), rho=rho)
            bound = 2 * part * (1 / m + 2 * ADMM["tolerance"]) / (STRENGTH + rho)
            # The suite rounds the local model to the grid, which stands for u.
            u[i] += run.noisy(w + 2 * part * (x - w), i, bound, t) - w
        yield u.mean(axis=0), None


@pytest.mark.parametrize("eps", [math.inf, EPS])
def test_trajectory_is_the_literal_one(eps):
    check_trajectory("private_admm", ADMM, private_admm, eps)


def test_private_admm_without_relaxation_is_pvp():
    """Douglas and Rachford: relaxation 1/2 is ADMM."""
    params = {"rho": 0.2, "tolerance": 1e-11}
    one = played("private_admm", {**params, "relaxation": 0.5}, T, epsilon=EPS)
    other = played("pvp", params, T, epsilon=EPS)
    for state, wanted in zip(one, other, strict=True):
        # The grids differ in nothing, and the sums by rounding.
        np.testing.assert_allclose(state["w"], wanted["w"], rtol=1e-8)


def test_the_noise_of_private_admm_covers_what_its_solver_leaves():
    """2 tolerance beside c1 / m, relaxed as well."""
    given = {"agents": 2, "epsilon": EPS, "sensitivity": "global", "rounds": 1, "problem": LOGISTIC}
    loose, exact = (
        simulate(
            in_unit_ball(), "private_admm", {**ADMM, "tolerance": each}, dtype="float64", **given
        )
        for each in (0.02, 1e-10)
    )
    ratio = float((loose.noise_magnitude / exact.noise_magnitude).mean())
    assert ratio == pytest.approx(1 + 2 * 0.02 * N / 2, rel=0.02)
