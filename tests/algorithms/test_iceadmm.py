"""ICEADMM: a transcription, and its limit."""

import numpy as np
import pytest

from tests.algorithms.literal_ryu2022 import EPS, J, K, N, P, check_trajectory, rho
from tests.noise import noisy


@pytest.mark.parametrize(
    ("params", "a", "k0"), [({}, 1, 1), ({"a": 0.5, "local_updates": 4}, 0.5, 4)]
)
def test_trajectory_is_the_literal_one(params, a, k0):
    """Loop of ICEADMM4LogistReg.m in its notation, with the identity over a for its matrix, and noise."""

    def literal(run, rounds):
        X, PI = [np.zeros((K, J)) for _ in range(P)], [np.zeros((K, J)) for _ in range(P)]
        for iteration in range(k0 * rounds):
            t, e = iteration // k0 + 1, iteration % k0
            sigma = rho(t, EPS)
            if e == 0:
                Z = [sigma * X[i] + PI[i] for i in range(P)]
                y = sum(Z) / (P * sigma)
                X = [y for _ in range(P)]
            for i in range(P):
                bound = run.sensitivity(i, X[i]) / N
                g = run.gradient(i, X[i], N)
                g = noisy(g, "laplace", bound, 1 / EPS, (run.seed, i, t, e)) + run.penalty(X[i])
                rhs = sigma * (y - X[i]) - (g + PI[i])
                X[i] = X[i] + rhs / (1 / a + sigma)
                PI[i] = PI[i] + (X[i] - y) * sigma
            if e == k0 - 1:
                yield y, X

    check_trajectory("iceadmm", literal, params, "paper")
