"""IADMM-Prox and IADMM-Trust: a transcription, and their limit."""

import numpy as np
import pytest

from admmbench import simulate
from admmbench.contracts.made_up_data import make_dataset
from tests.algorithms.literal_ryu2022 import (
    BETA,
    J,
    K,
    N,
    P,
    check_trajectory,
    loss,
    objective_perturbation,
    proximal,
    trust_region,
)


@pytest.mark.parametrize("variant", ["paper", "reference"])
def test_trajectory_is_the_literal_one(variant):
    def literal(run, rounds):
        return objective_perturbation(run, proximal(1), rounds, private=False)

    check_trajectory("iadmm", literal, {}, variant)


@pytest.mark.parametrize("variant", ["paper", "reference"])
def test_trajectory_in_a_trust_region_is_the_literal_one(variant):
    def literal(run, rounds):
        step = trust_region(lambda t: 0.3 if run.reference else 0.3 / t**2)
        return objective_perturbation(run, step, rounds, private=False)

    check_trajectory("iadmm", literal, {"subproblem": "trust_region", "a": 0.3}, variant)


def test_iadmm_reaches_the_optimum_of_scikit_learn():
    from sklearn.linear_model import LogisticRegression

    dataset = make_dataset(N, 30, J, K)
    trace = simulate(
        dataset,
        "iadmm",
        {"rho": 0.05, "a": 60},
        problem={"loss": "softmax", "strength": 2 * BETA, "per": "total"},
        agents=P,
        rounds=6000,
        evaluate_every=6000,
        dtype="float64",
    )
    model = LogisticRegression(
        C=1 / (2 * BETA * N), fit_intercept=False, solver="newton-cg", tol=1e-10, max_iter=1000
    )
    model.fit(dataset.X_train.astype(np.float64), dataset.y_train)
    optimum = loss(dataset, model.coef_, {"average": "records", "per": "total"})
    assert float(trace.train_loss[0, -1]) == pytest.approx(optimum, abs=1e-8)
    assert float(trace.consensus_violation[0, -1]) < 1e-3
