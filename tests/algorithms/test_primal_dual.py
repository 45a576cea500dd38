"""Gradient steps on the Lagrangian: a transcription, and what decides whether they end."""

import numpy as np
import pytest

from admmbench import simulate
from admmbench.base.outcomes import Outcome
from tests.algorithms.he2023 import (
    NEYMAN_PEARSON,
    QP,
    at_most,
    final_state,
    instance,
    run_of,
    two_classes,
)


def test_rounds_on_a_quadratic_program_are_the_literal_ones():
    """Equations at agents and server; their multipliers have any sign."""
    params = {"learning_rate": 0.03, "multiplier_rate": 0.2, "multiplier": -0.4, "start": 0.5}
    state, status = final_state(run_of("primal_dual", params, 4, agents=3, seeds=[7, 2]))
    assert status == [0, 0]
    for s, seed in enumerate([7, 2]):
        A, b, C, d = instance(3, seed)
        w, mu = np.full(12, 0.5), np.full((4, 2), -0.4)
        for _ in range(4):
            slope = sum(A[i] @ w + b[i] + C[i].T @ mu[i] for i in range(3)) + C[3].T @ mu[3]
            mu = np.array([mu[i] + 0.2 * (C[i] @ w + d[i]) for i in range(4)])
            w = w - 0.03 * slope
        np.testing.assert_allclose(state.model[s], w, rtol=1e-12)
        np.testing.assert_allclose(state.mu[:, s], mu[:3], rtol=1e-12)
        np.testing.assert_allclose(state.mu_server[0, s], mu[3], rtol=1e-12)
    np.testing.assert_array_equal(state.sent, 4 * 2 * 3 * 12)


def test_rounds_with_inequalities_are_the_literal_ones():
    """Record by record; multipliers of inequalities are projected, those that start below 0 as well."""
    data, rate, dual_rate, offset = two_classes(), 0.7, 3.0, [0.6, -0.3, 0.2]
    everywhere = at_most(0.4, at="everywhere")
    ball = {"matrix": np.eye(7)[:3].tolist(), "offset": offset}
    problem = {
        **NEYMAN_PEARSON,
        "constraints": [everywhere, {"linear": ball, "cone": "second_order"}],
        "strength": 0.2,
        "server": 0.5,
    }
    for first in (0.3, -2.0):
        params = {"learning_rate": rate, "multiplier_rate": dual_rate, "multiplier": first}
        state, _ = final_state(run_of("primal_dual", params, 5, data, problem=problem))
        places = [(data.X_train[rows], data.y_train[rows]) for rows in np.split(np.arange(90), 2)]
        places.append((data.X_test[:20], data.y_test[:20]))

        def mean_and_slope(X, y, w, label):
            signed = [float(x @ w) * (1 if label == 0 else -1) for x in X[y == label].astype(float)]
            pulls = [
                x * (1 if label == 0 else -1) / (1 + np.exp(-u))
                for x, u in zip(X[y == label].astype(float), signed, strict=True)
            ]
            return np.mean(np.logaddexp(0, signed)), np.mean(pulls, axis=0)

        def on_cone(v):
            s, norm = v[0], np.linalg.norm(v[1:])
            if norm <= s:
                return v
            return np.zeros(3) if norm <= -s else (s + norm) / 2 * np.array([1, *(v[1:] / norm)])

        w = np.ones(7)
        mu = [max(first, 0)] * 3
        of_ball = [on_cone(np.full(3, first))] * 2
        for _ in range(5):
            slope, linear = 0.2 * w, w[:3] + np.array(offset)
            values = [mean_and_slope(*place, w, 1) for place in places]
            for i, (_, pull) in enumerate(values):
                slope = slope + mu[i] * pull
            for i in range(2):
                slope = slope + mean_and_slope(*places[i], w, 0)[1] / 2
                slope[:3] += of_ball[i]
            mu = [max(m + dual_rate * (c - 0.4), 0) for m, (c, _) in zip(mu, values, strict=True)]
            of_ball = [on_cone(v + dual_rate * linear) for v in of_ball]
            w = w - rate * slope
        np.testing.assert_allclose(state.model[0], w, rtol=1e-10)
        np.testing.assert_allclose(state.mu[:, 0, 0], mu[:2], rtol=1e-10, atol=1e-14)
        np.testing.assert_allclose(state.mu[:, 0, 1:], of_ball, rtol=1e-10, atol=1e-14)
        np.testing.assert_allclose(state.mu_server[0, 0], mu[2:], rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize(
    ("params", "outcome"),
    [({"learning_rate": 0.02, "multiplier_rate": 0.02}, 0), ({"multiplier_rate": 50.0}, 1)],
)
def test_the_step_of_the_multipliers_decides_whether_runs_converge(params, outcome):
    trace = simulate(QP, "primal_dual", params=params, agents=2, seeds=2, rounds=3000)
    assert (trace.status == Outcome(outcome)).all()
