"""The optimum over the records of all agents."""

import numpy as np
from scipy import optimize

from admmbench import simulate
from tests.algorithms.literal_huang2019 import STRENGTH, J, Literal, P, in_unit_ball


def test_centralized_is_the_optimum_of_all_records():
    dataset = in_unit_ball()
    trace = simulate(
        dataset,
        "centralized",
        problem={"loss": "logistic", "strength": STRENGTH},
        agents=P,
        rounds=2,
        evaluate_every=1,
        dtype="float64",
    )
    run = Literal()
    best = optimize.minimize(
        lambda w: sum(run.f(i, w) for i in range(P)), np.zeros(J), tol=1e-12
    ).fun
    np.testing.assert_allclose(trace.train_loss[0, 1:], best, rtol=1e-9)
    assert not trace.floats_sent.any()
