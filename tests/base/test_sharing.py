"""What methods over shared columns have in common."""

import math
from dataclasses import replace

import numpy as np
import pytest

from admmbench import list_losses
from admmbench.contracts.made_up_data import make_dataset
from admmbench.datasets import describe
from admmbench.problems.loss import RegressionLoss, ScalarLoss
from admmbench.problems.losses import resolve
from tests.algorithms.literal_hu2019 import (
    BLOCKS,
    EPS,
    RHO,
    SEEDS,
    N,
    awkward,
    final,
    learnable,
    slope,
    trace_of,
)


@pytest.mark.parametrize("coupling", ["parallel", "averaged"])
@pytest.mark.parametrize("name", ["admm_sharing", "dp_admm_sharing"])
def test_the_dual_variable_is_the_gradient_of_the_loss_after_every_round(name, coupling):
    """Lemma 2, with and without noise."""
    params = {"rho": RHO, "coupling": coupling}
    for t in range(1, 6):
        state, federation = final(awkward(), name, params, BLOCKS, epsilon=EPS, rounds=t)
        samples = zip(state.z[0], federation.problem.y, strict=True)
        gradient = [slope("logistic", z, b) for z, b in samples]
        np.testing.assert_allclose(state.dual[0], gradient, atol=1e-9)


def test_every_party_pulls_two_vectors_and_pushes_one():
    """Lines 3, 6 and 12 of algorithm 1; nothing of the local baseline."""
    dataset = awkward()
    for name, vectors in (("admm_sharing", 3), ("dp_admm_sharing", 3), ("vertical_sgd", 2)):
        trace = trace_of(dataset, name, blocks=BLOCKS, rounds=5, seeds=SEEDS)
        assert float(trace.floats_sent[-1]) == 5 * 3 * vectors * N
    assert not trace_of(dataset, "local_only", blocks=BLOCKS).floats_sent.any()


@pytest.mark.parametrize("rho", [0.05, math.sqrt(3) / 18])
@pytest.mark.parametrize("name", ["admm_sharing", "dp_admm_sharing"])
def test_the_sigmoid_loss_needs_a_penalty_above_its_curvature(name, rho):
    with pytest.raises(
        ValueError, match=r"rho: the loss is not convex, so it must be above L = 0\.0962"
    ):
        trace_of(learnable(), name, {"rho": rho}, problem={"loss": "sigmoid"})


def losses_with_one_output():
    info = {True: make_dataset(n_classes=2).info, False: describe("diabetes")}
    for name in list_losses():
        kind = resolve(name)()
        if isinstance(kind, ScalarLoss):
            classes = not isinstance(kind, RegressionLoss)
            kind.check(info[classes])
            yield name, classes


@pytest.mark.parametrize(("name", "classes"), list(losses_with_one_output()))
def test_every_loss_with_one_output_can_be_shared_by_columns(name, classes):
    """And all but the sigmoid's, which is not convex, come to the optimum of all columns."""
    dataset = learnable()
    if not classes:
        targets = dataset.X_train @ np.arange(6, dtype=np.float32)
        dataset = replace(dataset, y_train=targets, y_test=dataset.X_test[:, 0], class_names=())
    problem = {"loss": name, "strength": 0.01}
    shared = {"problem": problem, "rounds": 1500}
    params = {"rho": 0.5, "coupling": "averaged"}
    trace = trace_of(dataset, "admm_sharing", params, **shared)
    metric = "test_error" if classes else "test_rmse"
    assert np.isfinite(trace[metric]).all()
    assert trace.attrs["metric"] == metric
    assert float(trace.consensus_violation[0, -1]) < 1e-3
    if name != "sigmoid":
        best = trace_of(dataset, "centralized", **{**shared, "rounds": 1})
        assert float(trace.train_loss[0, -1]) == pytest.approx(
            float(best.train_loss[0, -1]), rel=1e-5
        )
    trace = trace_of(dataset, "vertical_sgd", {"learning_rate": 0.01}, **{**shared, "rounds": 20})
    assert np.isfinite(trace.train_loss).all()
