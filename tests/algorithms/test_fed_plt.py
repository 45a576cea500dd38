"""Fed-PLT: a transcription, and federated private ADMM as its limit of many local steps."""

import math

import numpy as np
import pytest

from admmbench import simulate
from tests.algorithms.literal_huang2019 import (
    EPS,
    LOGISTIC,
    SIZES,
    J,
    P,
    T,
    check_trajectory,
    in_unit_ball,
)

PLT = {"learning_rate": 0.6, "local_updates": 3, "rho": 0.2}


def fed_plt(run):
    """Algorithm 1 of arXiv 2403.17572 with noisy gradient descent and rho for 1 / rho."""
    rate, steps, rho = PLT.values()
    x, z = np.zeros((P, J)), np.zeros((P, J))
    for t in range(1, T + 1):
        y = z.mean(axis=0)
        for i, m in enumerate(SIZES):
            v = 2 * y - z[i]
            for k in range(steps):
                g = run.noisy(run.loss_gradient(i, x[i]), i, 1 / m, t, k) + run.penalty(x[i])
                x[i] = x[i] - rate * (g + rho * (x[i] - v))
            z[i] = z[i] + 2 * (x[i] - y)
        yield z.mean(axis=0), x


@pytest.mark.parametrize("eps", [math.inf, EPS])
def test_trajectory_is_the_literal_one(eps):
    check_trajectory("fed_plt", PLT, fed_plt, eps)


def test_many_steps_without_noise_are_private_admm():
    """Each subproblem is solved then, and the reflection is that of relaxation 1."""
    settings = {
        "dataset": in_unit_ball(),
        "problem": LOGISTIC | {"average": "agents"},
        "agents": P,
        "rounds": 8,
        "dtype": "float64",
    }
    steps = {"rho": 0.2, "learning_rate": 1.0, "local_updates": 400}
    plt = simulate(algorithm="fed_plt", params=steps, **settings)
    admm = simulate(
        algorithm="private_admm",
        params={"rho": 0.2, "relaxation": 1, "tolerance": 1e-12},
        **settings,
    )
    np.testing.assert_allclose(plt.train_loss, admm.train_loss, rtol=1e-9)
    short = simulate(algorithm="fed_plt", params=steps | {"local_updates": 1}, **settings)
    assert abs(short.train_loss[:, -1] - admm.train_loss[:, -1]).min() > 1e-4
