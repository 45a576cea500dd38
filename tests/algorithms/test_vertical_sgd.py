"""SGD over shared columns: a transcription."""

import math

import numpy as np
import pytest

from admmbench.engine.streams import stream
from tests.algorithms.literal_hu2019 import (
    BLOCKS,
    SEEDS,
    STRENGTH,
    Literal,
    N,
    T,
    awkward,
    slope,
    trace_of,
)


@pytest.mark.parametrize("seed", SEEDS)
def test_vertical_sgd_is_the_literal_minibatch_loop(seed):
    dataset = awkward()
    params = {"learning_rate": 0.4, "batch_size": 5, "init_std": 0.3}
    for kind in ("logistic", "sigmoid"):
        trace = trace_of(
            dataset,
            "vertical_sgd",
            params,
            BLOCKS,
            problem={"strength": STRENGTH, "loss": kind},
            rounds=T,
            evaluate_every=1,
            seeds=[7, seed],
        )
        run = Literal(dataset, BLOCKS, kind)
        draws = stream(seed, 0, "choices")
        start = 0.3 * draws.standard_normal((1, 27), np.float32)[0].astype(np.float64)
        run.x = np.split(start, np.cumsum(BLOCKS)[:-1])
        for epoch in range(1, T + 1):
            order = draws.permutation(N)
            # 16 samples in batches of 5: the last has one.
            for batch in (order[:5], order[5:10], order[10:15], order[15:]):
                gradient = [2 * STRENGTH * x for x in run.x]
                for i in batch:
                    prediction = sum(D[i] @ x for D, x in zip(run.D, run.x, strict=True))
                    pull = slope(kind, prediction, run.b[i]) / len(batch)
                    gradient = [g + pull * D[i] for g, D in zip(gradient, run.D, strict=True)]
                step = 0.4 / math.sqrt(epoch)
                run.x = [x - step * g for x, g in zip(run.x, gradient, strict=True)]
            found = trace.sel(seed=seed, round=epoch)
            assert float(found.train_loss) == pytest.approx(run.train_loss(), rel=1e-5)
            assert float(found.test_loss) == pytest.approx(run.test_loss(), rel=1e-5)
            assert float(found.consensus_violation) == 0
