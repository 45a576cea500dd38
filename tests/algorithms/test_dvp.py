"""DVP: a transcription, and its privacy by the density of what it releases."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit

from admmbench.algorithms.dvp import DVP, noise_budget
from admmbench.privacy import Privacy
from tests.algorithms.literal_huang2019 import EPS, RHO, STRENGTH, J, P, check_rounds
from tests.noise import spherical


def dvp(run, k):
    """Objective perturbation of every subproblem; Phi makes up for a curvature that takes all of the budget."""
    for i in range(P):
        c3 = run.c1[i] ** 2 / 4
        left, phi = run.eps - 2 * math.log(1 + c3 / (run.m[i] * (STRENGTH + RHO))), 0.0
        assert (left > 0) == (run.eps == EPS)
        if left < 0:
            left = run.eps / 2
            phi = c3 / (run.m[i] * (math.exp(run.eps / 4) - 1)) - STRENGTH - RHO
        b = spherical(J, 2 * run.c1[i] / left, (run.seed, i, k, 0))
        run.z[i] = run.solve(i, run.gamma[i] - b / run.m[i], phi)
    run.finish()


@pytest.mark.parametrize("eps", [EPS, 0.05])
def test_trajectory_is_the_literal_one(eps):
    check_rounds("dvp", {"rho": RHO, "tolerance": 1e-11}, dvp, eps=eps)


def test_a_budget_of_thousands_needs_no_added_convexity():
    alpha, ridge = noise_budget(5000.0, np.array([[0.1]]), 0.5)
    assert alpha == pytest.approx(5000, rel=1e-3)
    assert ridge == 0


@settings(max_examples=300)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([0.01, 0.1, 1.0, 4.0]) | st.floats(0.01, 4),
    st.sampled_from([1, 3]) | st.integers(1, 40),
    st.just(0.1) | st.floats(0.01, 1),
    st.sampled_from(["zero_out", "replace"]),
)
def test_a_solution_of_dvp_costs_what_is_entered(seed, epsilon, m, rho, relation):
    """Its density at any solution, by the change of variables from the noise, for both neighbours."""
    rng = np.random.default_rng(seed)
    J, c1, c3, convexity = 3, 1.0, 0.25, STRENGTH + rho
    v, w, dual = rng.normal(size=(3, J)) * rng.choice([0.1, 1, 10])
    X = rng.normal(size=(m, J))
    X /= np.maximum(1, np.linalg.norm(X, axis=1, keepdims=True))
    y = rng.choice([-1, 1], m)
    other = X.copy()
    other[0] = 0 if relation == "zero_out" else rng.choice([-1, 1]) * X[0] / np.linalg.norm(X[0])
    labels = y.copy()
    labels[0] *= rng.choice([-1, 1])
    alpha, ridge = noise_budget(epsilon, np.array([[c3 / m]]), convexity)
    weight = float(ridge.item())

    def log_density(records, y):
        """Of b = m (dual - grad f(v) - rho (v - w) - ridge v), where lambda / n is a part of the convexity."""
        s = expit(-y * (records @ v))
        gradient = -(records * (y * s)[:, None]).mean(axis=0)
        b = m * (dual - gradient - convexity * v + rho * w - weight * v)
        hessian = (records.T * (s * (1 - s))) @ records / m + (convexity + weight) * np.eye(J)
        zeta = float(alpha.item()) / (2 * c1)
        return -zeta * np.linalg.norm(b) + np.linalg.slogdet(hessian)[1]

    loss = abs(log_density(X, y) - log_density(other, labels))
    release = DVP.release
    entered, _ = release.cost(Privacy(epsilon, relation=relation)).stated
    assert loss <= entered * (1 + 1e-9)
    assert entered == (epsilon if relation == "replace" else epsilon / 2)
