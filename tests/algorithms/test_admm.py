"""ADMM: a transcription, and its limit."""

import pytest

from admmbench import simulate
from tests.algorithms.literal_huang2019 import RHO, P, check_rounds, in_unit_ball


def admm(run, k):
    """Algorithm 1."""
    run.z = [run.solve(i, run.gamma[i]) for i in range(P)]
    run.finish()


@pytest.mark.parametrize("penalty", ["l1", "l2"])
def test_trajectory_is_the_literal_one(penalty):
    check_rounds("admm", {"rho": RHO, "tolerance": 1e-11}, admm, penalty)


@pytest.mark.parametrize("penalty", ["l1", "l2"])
def test_admm_converges_to_the_centralized_optimum(penalty):
    problem = {"loss": "logistic", "penalty": penalty, "strength": 0.01}
    shared = {"problem": problem, "agents": P, "rounds": 400, "evaluate_every": 400}
    exact = simulate(in_unit_ball(), "admm", {"tolerance": 1e-9}, dtype="float64", **shared)
    best = simulate(in_unit_ball(), "centralized", dtype="float64", **shared)
    assert float(exact.train_loss[0, -1]) == pytest.approx(float(best.train_loss[0, -1]), rel=1e-4)
    assert float(exact.consensus_violation[0, -1]) < 1e-2
