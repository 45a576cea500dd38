"""DP-SCAFFOLD: a transcription."""

import math
from functools import partial

import numpy as np
import pytest

from tests.algorithms.literal_huang2019 import EPS, SIZES, J, P, T, check_trajectory

SCAFFOLD = {"learning_rate": 0.6, "local_updates": 3}


def scaffold(run, falls=False):
    """train_dp of user_scaffold.py and add_parameters of server_scaffold.py, with the server's rate 1."""
    x, c = np.zeros(J), np.zeros(J)
    first, steps = SCAFFOLD.values()
    controls = [np.zeros(J) for _ in range(P)]
    for t in range(1, T + 1):
        models, new = [], []
        rate = first / math.sqrt(t) if falls else first
        for i, m in enumerate(SIZES):
            y = x.copy()
            for k in range(steps):
                g = run.noisy(run.loss_gradient(i, y), i, 1 / m, t, k) + run.penalty(y)
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


def test_steps_may_fall():
    check_trajectory("dp_scaffold", {**SCAFFOLD, "step": "sqrt"}, partial(scaffold, falls=True))
