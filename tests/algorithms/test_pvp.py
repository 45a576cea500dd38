"""PVP: a transcription, and the noise that it needs."""

import math

import pytest

from admmbench import simulate
from admmbench.contracts.made_up_data import make_dataset
from tests.algorithms.literal_huang2019 import DELTA, RHO, STRENGTH, P, check_rounds


def pvp(run, k):
    """Algorithm 2."""
    for i in range(P):
        exact = run.solve(i, run.gamma[i])
        run.z[i] = run.noisy(exact, i, run.c1[i] / run.m[i] / (STRENGTH + RHO), k)
    run.finish()


def test_trajectory_is_the_literal_one():
    check_rounds("pvp", {"rho": RHO, "tolerance": 1e-11}, pvp)


def test_pvp_protects_an_agent_of_one_record():
    given = {"epsilon": 1.0, "delta": DELTA, "sensitivity": "global", "problem": "logistic"}
    data = make_dataset(60, n_classes=2)
    trace = simulate(data, "pvp", {"rho": RHO}, agents=60, seeds=range(5), rounds=1, **given)
    std = 2 * math.sqrt(2 * math.log(1.25 / DELTA)) / RHO
    expected = std * math.sqrt(2 / math.pi)
    assert float(trace.noise_magnitude.mean()) == pytest.approx(expected, rel=0.1)
