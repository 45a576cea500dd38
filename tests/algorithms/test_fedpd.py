"""FedPD: a transcription."""

import numpy as np
import pytest

from admmbench.engine.streams import stream
from tests.algorithms.literal_huang2019 import SEEDS, J, Literal, P, T, played

FEDPD = {"eta": 3.0, "learning_rate": 0.4, "local_updates": 3}


def fedpd(seed, skip):
    """Algorithms 2 and 3, option GD; what the agents know after each communication."""
    run, coin = Literal(), stream(seed, 0, "choices")
    eta, eta1, Q = FEDPD.values()
    x, x0, dual = (np.zeros((P, J)) for _ in range(3))
    for _ in range(T):
        for _ in range(coin.geometric(1 - skip)):
            for i in range(P):
                for _ in range(Q):
                    slope = run.gradient(i, x[i])
                    x[i] = x[i] - eta1 * (slope + dual[i] + (x[i] - x0[i]) / eta)
                dual[i] = dual[i] + (x[i] - x0[i]) / eta
                x0[i] = x[i] + eta * dual[i]
        x0[:] = x0.mean(axis=0)
        yield x0[0], x, dual


@pytest.mark.parametrize("skip", [0.0, 0.6])
def test_trajectory_is_the_literal_one(skip):
    states = played("fedpd", {**FEDPD, "skip": skip}, T)
    for s, seed in enumerate(SEEDS):
        for state, (w, x, dual) in zip(states, fedpd(seed, skip), strict=True):
            np.testing.assert_allclose(state["w"][s, 0], w, rtol=1e-7, atol=1e-9)
            np.testing.assert_allclose(state["z"][:, s, 0], x, rtol=1e-7, atol=1e-9)
            np.testing.assert_allclose(state["dual"][:, s, 0], dual, rtol=1e-7, atol=1e-9)
