"""Memory of a run, in copies of all local models, besides the data."""

import tracemalloc

import pytest

from admmbench.contracts.made_up_data import make_dataset
from admmbench.engine.context import Context
from admmbench.engine.rounds import run_rounds
from admmbench.spec.run import RunSpec

AGENTS, SEEDS, CLASSES, FEATURES = 128, 4, 20, 2000
MODELS = 4 * AGENTS * SEEDS * CLASSES * FEATURES
"""Bytes of all local models."""


def run(updates, agents, seeds, *shape):
    data = make_dataset(3 * agents, 30, *shape)
    spec = RunSpec(
        dataset=data,
        algorithm="objp",
        params={"local_updates": updates},
        epsilon=1,
        agents=agents,
        seeds=seeds,
        rounds=2,
        evaluate_every=1,
    )
    run_rounds(spec, data, Context(threads=2))
    return data.X_train.nbytes + data.X_test.nbytes


@pytest.mark.slow
@pytest.mark.parametrize(("updates", "most"), [(1, 2.5), (3, 3.5)])
def test_a_run_holds_its_data_and_some_models(updates, most):
    run(updates, 4, 2, 9, 3)  # compiles, which is not counted
    tracemalloc.start()
    try:
        data = run(updates, AGENTS, SEEDS, FEATURES, CLASSES)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak - data <= most * MODELS
