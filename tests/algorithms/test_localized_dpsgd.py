"""Localized DP-SGD: a transcription, and phases of one pull as proximal point steps."""

import math

import numpy as np
import pytest

from tests.algorithms.literal_huang2019 import EPS, J, P, T, check_trajectory
from tests.algorithms.test_accelerated_dpsgd import Sites, ac_sa, losses, noisy_mean


@pytest.mark.parametrize("eps", [math.inf, EPS / 9])
@pytest.mark.parametrize("convexity", [0.02, 3.0])
def test_phases_are_the_literal_ones(convexity, eps):
    """With the strong pull, noise leads models to the edge of the ball."""
    steps, growth, rate = 2, 5.0, 60.0

    def literal(run):
        w = np.zeros(J)
        for i in range(T // steps):
            pull, center = convexity * growth**i, w
            radius = 2 / pull
            begin = i * steps

            def gradient(x, k, begin=begin, pull=pull, center=center):
                return noisy_mean(run, x, begin + k) + pull * (x - center)

            def nearest(v, center=center, radius=radius):
                way = v - center
                return center + way * min(1, radius / np.linalg.norm(way))

            a = 1 / (1 / rate + pull)
            for w in ac_sa(gradient, center, steps, lambda _, a=a: a, pull, nearest):
                yield w, [w] * P

    params = {"convexity": convexity, "growth": growth, "phase_rounds": steps}
    params["learning_rate"] = rate
    check_trajectory("localized_dpsgd", params, literal, eps)


def test_phases_of_one_pull_are_proximal_point_steps():
    run, pull, steps = Sites(), 0.3, 400
    params = {"learning_rate": 4.0, "convexity": pull, "growth": 1.0, "phase_rounds": steps}
    found, center = losses("localized_dpsgd", params, 4 * steps), np.zeros(J)
    for i in range(4):
        center = run.solve_all(pull, center)
        assert found[(i + 1) * steps - 4 * steps - 1] == pytest.approx(
            run.objective(center), rel=1e-4
        )
