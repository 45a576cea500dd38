"""OutP: a transcription."""

import math

import numpy as np
import pytest

from tests.algorithms.literal_ryu2022 import BETA, DELTA, J, K, P, check_trajectory, rho
from tests.noise import noisy


def output_perturbation(run, rounds, a):
    """Algorithm 3 of huang2019, and what the authors of ryu2022 made of it."""
    size = J * K
    c_w = math.sqrt(4 * J * K)
    calibration = math.sqrt(2 * math.log(1.25 / DELTA)) / run.eps
    for t in range(1, rounds + 1):
        r = rho(t, run.eps)
        for p in range(P):
            m = len(run.X[p])
            largest = np.linalg.norm(run.X[p], axis=1).max()
            c1 = m if run.reference else math.sqrt(2) * largest
            c3 = 0.25 * m if run.reference else largest**2 / 2
            smooth = 0 if run.reference else 2 * BETA / P
            root = math.sqrt(size * t * math.log(1.25 / DELTA))
            eta = a / (c3 + smooth + 4 * c1 * root / (m * run.eps * c_w))
            g = run.gradient(p, run.z[p], m) + run.penalty(run.z[p])
            z = (-g + r * run.w + run.dual[p] + run.z[p] / eta) / (r + 1 / eta)
            bound = c1 / (m * (r + 1 / eta))
            std = (2 * bound * calibration) ** 2 if run.reference else None
            if run.reference:  # of admissible records, in the unit box
                bound = math.sqrt(2 * J) / (m * (r + 1 / eta))
            # For a replaced record, which has two contributions.
            run.z[p] = noisy(z, "gaussian", bound, 2 * calibration, (run.seed, p, t, 0), std)
        run.w = run.server(r)
        for p in range(P):
            run.dual[p] = run.dual[p] + r * (run.w - run.z[p])
        yield run.w, run.z


@pytest.mark.parametrize("variant", ["paper", "reference"])
@pytest.mark.parametrize(("params", "a"), [({}, 1), ({"a": 9}, 9)])
def test_trajectory_is_the_literal_one(params, a, variant):
    check_trajectory("outp", lambda run, n: output_perturbation(run, n, a), params, variant)
