"""DP-FedAvg: a transcription, closed forms, and its bound on neighbours."""

import math
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from admmbench.contracts.made_up_data import make_dataset
from admmbench.contracts.runs import run_without_engine
from tests.algorithms.literal_huang2019 import (
    EPS,
    SIZES,
    J,
    P,
    T,
    check_trajectory,
    in_unit_ball,
    released,
    run_of,
)

FEDAVG = {"learning_rate": 0.7, "local_updates": 3, "clip": 0.2}


def fedavg(run, falls=False):
    """Algorithm 1 of the paper with all agents; c1 = 1 and curvature 1/4 of records in the unit ball."""
    rate, steps, clip = FEDAVG.values()
    w = np.zeros(J)
    for t in range(1, T + 1):
        r = rate / math.sqrt(t) if falls else rate
        sent = []
        for i, m in enumerate(SIZES):
            z = w.copy()
            for _ in range(steps):
                z = z - r * run.gradient(i, z)
            delta = (z - w) * min(1.0, clip / float(np.linalg.norm(z - w)))
            sent.append(run.noisy(delta, i, min(2 * clip, steps * r / m), t))
        w, old = w + sum(sent) / P, w
        yield w, [old + each for each in sent]


@pytest.mark.parametrize("eps", [math.inf, EPS])
def test_trajectory_is_the_literal_one(eps):
    check_trajectory("dp_fedavg", FEDAVG, fedavg, eps)


def test_falling_steps_move_less_and_get_less_noise():
    check_trajectory("dp_fedavg", {**FEDAVG, "step": "sqrt"}, partial(fedavg, falls=True))


def test_the_bound_of_local_steps_is_attained():
    """One record at the worst model, with a step so small that the model stays there."""
    made = make_dataset(4, 4, 3, 2)
    X = np.zeros((4, 3), np.float32)
    one = replace(made, X_train=X.copy(), y_train=np.array([0, 1, 0, 1]), domain=(-1.0, 1.0))
    one.X_train[0] = 1
    null = replace(one, X_train=X)
    params = {"learning_rate": 1e-3, "local_updates": 7, "clip": 1e6}
    problem = {"loss": "logistic", "strength": 1e-9, "per": "agent", "records": {}}
    w = np.full((1, 3), 20.0)
    (value, bound), (other, _) = (
        released("dp_fedavg", params, data, "logistic", problem["records"], w)
        for data in (one, null)
    )
    assert np.linalg.norm(value - other) == pytest.approx(bound, rel=1e-3)


def stated(params, problem):
    """Sensitivities of the agents, for all records in the unit ball."""
    problem = {"records": {"max_l2_norm": 1}, "per": "agent", **problem}
    spec = run_of("dp_fedavg", params, 1, problem=problem, seeds=[0])
    blocks = run_without_engine(spec, in_unit_ball(), 0).federation.blocks
    return np.concatenate([spec.method.sensitivity(b.parts).l2[:, 0] for b in blocks])


@pytest.mark.parametrize(
    ("loss", "slope", "strength", "step", "steps"),
    [
        # The curvature is 1/4, and 1/2 with the penalty.
        ("logistic", 1, 0.0, 8.0, 4),
        ("logistic", 1, 0.25, 4.0, 4),
        ("logistic", 1, 0.25, 6.0, 1 + 2 + 4 + 8),
        ("logistic", 1, 0.0, 16.0, 1 + 3 + 9 + 27),
        # sqrt(3) / 18 of either sign.
        ("sigmoid", 1 / 4, 0.0, 18 / math.sqrt(3), 1 + 2 + 4 + 8),
    ],
)
def test_steps_beyond_two_over_the_curvature_expand(loss, slope, strength, step, steps):
    params = {"learning_rate": step, "local_updates": 4, "clip": 1e6}
    found = stated(params, {"loss": loss, "strength": strength})
    np.testing.assert_allclose(found, step * slope * steps / np.array(SIZES), rtol=1e-6)


def test_steps_of_an_l1_penalty_have_the_clip_alone():
    """Its subgradients have no curvature: signs part models that were as close as one likes."""
    for updates, wanted in ((1, 0.01 / np.array(SIZES)), (2, 0.6)):
        params = {"learning_rate": 0.01, "local_updates": updates, "clip": 0.3}
        found = stated(params, {"loss": "logistic", "penalty": "l1", "strength": 0.1})
        np.testing.assert_allclose(found, wanted, rtol=1e-6)
    one_step = {"learning_rate": 0.01, "local_updates": 2, "clip": 0.3}
    free = stated(one_step, {"loss": "logistic", "penalty": "l1", "strength": 0.0})
    assert np.isfinite(free).all()
