"""Federated private ADMM: a transcription."""

import math

import numpy as np
import pytest

from tests.algorithms.literal_huang2019 import (
    EPS,
    SIZES,
    STRENGTH,
    J,
    P,
    T,
    check_trajectory,
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
