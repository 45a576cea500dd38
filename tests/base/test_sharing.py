"""What methods over shared columns have in common."""

import math

import numpy as np
import pytest

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
