"""Local steps on a quadratic penalty: a transcription, and where they end."""

import numpy as np
import pytest

from admmbench import simulate
from tests.algorithms.he2023 import LARGER, final_state, instance, run_of


def test_a_round_of_the_penalty_method_is_the_literal_one():
    params = {"weight": 3.0, "learning_rate": 0.01, "local_updates": 2, "start": 0.5}
    state, _ = final_state(run_of("fedavg_penalty", params, 1, agents=3, seeds=[7]))
    A, b, C, d = instance(3, 7)

    def slope(i, w):
        own = A[i] @ w + b[i] if i < 3 else 0
        return own + 3 * C[i].T @ (C[i] @ w + d[i])

    models = []
    for i in range(3):
        w = np.full(12, 0.5)
        for _ in range(2):
            w = w - 0.01 * 3 * slope(i, w)
        models.append(w)
    w = np.mean(models, axis=0)
    for _ in range(2):
        w = w - 0.01 * slope(3, w)
    np.testing.assert_allclose(state.model[0], w, rtol=1e-12)
    np.testing.assert_allclose(state.mu[:, 0], 3 * (C[:3] @ w + d[:3]), rtol=1e-10)


@pytest.mark.slow
def test_local_steps_on_a_penalty_end_beside_the_constraints():
    """The fixed point violates them in inverse proportion to the weight."""
    ends = []
    for weight in (10.0, 100.0):
        params = {"weight": weight, "learning_rate": 0.01 / weight, "local_updates": 1}
        trace = simulate(LARGER, "fedavg_penalty", params=params, agents=2, seeds=2, rounds=8000)
        ends.append(trace.feasibility[:, -1].values)
    np.testing.assert_allclose(ends[0] / ends[1], 10, rtol=0.2)
