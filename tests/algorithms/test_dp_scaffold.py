"""DP-SCAFFOLD: a transcription, and closed forms."""

import math
from dataclasses import replace

import numpy as np
import pytest

from tests.algorithms.literal_baselines import (
    EPS,
    LOGISTIC,
    STRENGTH,
    T,
    check_trajectory,
    gradients,
    perturbed,
    played,
)
from tests.algorithms.records import SIZES, J, P, in_unit_ball

SCAFFOLD = {"learning_rate": 0.6, "local_updates": 3}


def scaffold(seed, eps):
    """train_dp of user_scaffold.py and add_parameters of server_scaffold.py, with the server's rate 1."""
    gradient, x, c = gradients(), np.zeros(J), np.zeros(J)
    rate, steps = SCAFFOLD.values()
    controls = [np.zeros(J) for _ in range(P)]
    for t in range(1, T + 1):
        models, new = [], []
        for i, m in enumerate(SIZES):
            y = x.copy()
            for k in range(steps):
                g = perturbed(gradient(i, y), 1 / m, (seed, i, t, k), eps) + STRENGTH * y
                y = y - rate * (g + c - controls[i])
            models.append(y)
            new.append(controls[i] - c - (y - x) / (steps * rate))
        x = x + sum(y - x for y in models) / P
        c = c + sum(a - b for a, b in zip(new, controls, strict=True)) / P
        controls = new
        yield x, models


@pytest.mark.parametrize("eps", [math.inf, EPS])
def test_trajectory_is_the_literal_one(eps):
    check_trajectory("dp_scaffold", SCAFFOLD, scaffold, eps)


def test_one_local_step_is_that_of_dpsgd():
    """In the mean over agents control variates cancel."""
    step = {"learning_rate": 0.4}
    states = played("dp_scaffold", {**step, "local_updates": 1}, T)
    for state, other in zip(states, played("dpsgd", step, T), strict=True):
        np.testing.assert_allclose(state["w"], other["w"], rtol=1e-10, atol=1e-13)


def test_control_variates_take_the_drift_of_local_steps():
    """Agents differ: DP-FedAvg stops where their local steps cancel, DP-SCAFFOLD at the optimum."""
    made = in_unit_ball()
    order = np.argsort(made.X_train[:, 0] + made.y_train)
    data = replace(made, X_train=made.X_train[order], y_train=made.y_train[order])
    strong = {**LOGISTIC, "strength": 0.1}
    given = {"data": data, "problem": strong}
    params = {"learning_rate": 1.0, "local_updates": 10}
    wanted = played("centralized", {}, 1, **given)[-1]["w"]
    scaffold = played("dp_scaffold", params, 400, **given)[-1]["w"]
    fedavg = played("dp_fedavg", {**params, "clip": 1e6}, 400, **given)[-1]["w"]
    np.testing.assert_allclose(scaffold, wanted, atol=1e-6)
    assert np.abs(fedavg - wanted).max() > 1e-3
