"""DP-FedADMM: a transcription, where its models go without noise, and its bounds."""

import math

import numpy as np
import pytest

from admmbench import simulate
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

FEDADMM = {"rho": 0.3, "learning_rate": 0.7, "local_updates": 3, "clip": 0.2}


def fedadmm(seed, eps, bound=2 * FEDADMM["clip"]):
    """Algorithm 1 of the paper with all agents, whose messages are clipped and get noise."""
    gradient, w = gradients(), np.zeros(J)
    rho, r, steps, clip = FEDADMM.values()
    y, sent = np.zeros((P, J)), np.zeros((P, J))
    for t in range(1, T + 1):
        noisy = []
        for i in range(len(SIZES)):
            z = w.copy()
            for _ in range(steps):
                z = z - r * (gradient(i, z) + STRENGTH * z + y[i] + rho * (z - w))
            y[i] += rho * (z - w)
            delta = z + y[i] / rho - sent[i]
            delta *= min(1.0, clip / float(np.linalg.norm(delta)))
            sent[i] += delta
            noisy.append(perturbed(delta, bound, (seed, i, t, 0), eps))
        w, old = w + sum(noisy) / P, w
        yield w, [old + each for each in noisy]


@pytest.mark.parametrize("eps", [math.inf, EPS])
def test_trajectory_is_the_literal_one(eps):
    check_trajectory("dp_fedadmm", FEDADMM, fedadmm, eps)


def test_the_trajectory_for_whole_agents_has_half_of_the_noise():
    agents = {"problem": {**LOGISTIC, "average": "agents"}, "privacy": {"unit": "agent"}}
    states = played("dp_fedadmm", FEDADMM, T, epsilon=EPS, seeds=[4], **agents)
    literal = fedadmm(4, EPS, FEDADMM["clip"])
    for state, (w, _) in zip(states, literal, strict=True):
        np.testing.assert_allclose(state["w"][0, 0], w, rtol=1e-7, atol=1e-9)


def test_without_noise_it_ends_at_the_optimum():
    """Clipping only delays what agents send."""
    given = {"agents": P, "problem": {**LOGISTIC, "strength": 0.1}, "dtype": "float64", "seeds": 1}
    best = simulate(in_unit_ball(), "centralized", rounds=1, **given).train_loss[0, -1]
    params = {"rho": 0.3, "learning_rate": 0.5, "local_updates": 20, "clip": 0.1}
    trace = simulate(in_unit_ball(), "dp_fedadmm", params, rounds=300, **given)
    assert 0 <= float(trace.train_loss[0, -1] - best) < 1e-9


def test_its_first_round_is_that_of_fedavg_with_twice_the_difference():
    """With a tiny penalty, what agents send is then 2 (z - w)."""
    step = {"learning_rate": 0.4, "local_updates": 3, "clip": 1e6}
    one = played("dp_fedadmm", {**step, "rho": 1e-9}, 1)
    other = played("dp_fedavg", step, 1)
    np.testing.assert_allclose(one[0]["w"], 2 * other[0]["w"], rtol=1e-6)
