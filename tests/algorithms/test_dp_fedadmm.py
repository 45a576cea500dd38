"""DP-FedADMM: a transcription."""

import math
from functools import partial

import numpy as np
import pytest

from tests.algorithms.literal_huang2019 import (
    EPS,
    LOGISTIC,
    J,
    Literal,
    P,
    T,
    check_trajectory,
    played,
)
from tests.algorithms.runs import assert_trajectories

FEDADMM = {"rho": 0.3, "learning_rate": 0.7, "local_updates": 3, "clip": 0.2}


def fedadmm(run, bound=2 * FEDADMM["clip"], falls=False):
    """Algorithm 1 of the paper with all agents, whose messages are clipped and get noise."""
    rho, rate, steps, clip = FEDADMM.values()
    w, y, sent = np.zeros(J), np.zeros((P, J)), np.zeros((P, J))
    for t in range(1, T + 1):
        noisy = []
        r = rate / math.sqrt(t) if falls else rate
        for i in range(P):
            z = w.copy()
            for _ in range(steps):
                z = z - r * (run.gradient(i, z) + y[i] + rho * (z - w))
            y[i] += rho * (z - w)
            delta = z + y[i] / rho - sent[i]
            delta *= min(1.0, clip / float(np.linalg.norm(delta)))
            sent[i] += delta
            noisy.append(run.noisy(delta, i, bound, t))
        w, old = w + sum(noisy) / P, w
        yield w, [old + each for each in noisy]


@pytest.mark.parametrize("eps", [math.inf, EPS])
def test_trajectory_is_the_literal_one(eps):
    check_trajectory("dp_fedadmm", FEDADMM, fedadmm, eps)


def test_steps_may_fall():
    check_trajectory("dp_fedadmm", {**FEDADMM, "step": "sqrt"}, partial(fedadmm, falls=True))


def test_the_trajectory_for_whole_agents_has_half_of_the_noise():
    agents = {"problem": {**LOGISTIC, "average": "agents"}, "privacy": {"unit": "agent"}}
    found = played("dp_fedadmm", FEDADMM, T, epsilon=EPS, seeds=[4], **agents)
    assert_trajectories(found, [fedadmm(Literal(4), FEDADMM["clip"])])
