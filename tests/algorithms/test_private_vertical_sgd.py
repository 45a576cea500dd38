"""Private SGD over features: its limit without noise, its total, and how far a row of a party moves releases."""

import math

import numpy as np
import pytest
from dp_accounting import get_epsilon_gaussian

from admmbench.contracts.runs import run_without_engine
from admmbench.engine import rounds as engine
from admmbench.privacy.noise import Shared
from admmbench.spec.run import RunSpec
from tests.algorithms.literal_hu2019 import (
    BLOCKS,
    DELTA,
    EPS,
    N,
    awkward,
    final,
    specification,
    trace_of,
    with_columns,
)

NAME = "private_vertical_sgd"
PARAMS = {"batch_size": 5, "clip": 0.3, "clip_predictions": 0.7, "share": 0.2}


def test_without_noise_and_bounds_it_is_vertical_sgd():
    shared = {"learning_rate": 0.4, "batch_size": 5, "init_std": 0.3}
    wide = {"clip": 1e9, "clip_predictions": 1e9}
    models = [
        final(awkward(), name, {**shared, **more}, BLOCKS, rounds=4, seeds=[3, 5])[0].w
        for name, more in (("vertical_sgd", {}), (NAME, wide))
    ]
    np.testing.assert_allclose(*models, rtol=1e-10)


@pytest.mark.parametrize("relation", ["zero_out", "replace"])
def test_an_epoch_costs_one_normal_release(relation):
    """Independently: both noises of a row's only batch, each with its own multiplier, in every epoch."""
    trace = trace_of(
        awkward(),
        NAME,
        PARAMS,
        BLOCKS,
        rounds=7,
        epsilon=EPS,
        delta=DELTA,
        privacy={"relation": relation},
    )
    contributions = {"zero_out": 1, "replace": 2}[relation]
    multiplier = math.sqrt(2 * math.log(1.25 / DELTA)) / EPS / contributions
    predictions, gradient = multiplier / math.sqrt(0.2), multiplier / math.sqrt(0.8)
    whole = 1 / math.sqrt(7 / predictions**2 + 7 / gradient**2)
    assert float(trace.epsilon_total[-1]) == pytest.approx(
        get_epsilon_gaussian(whole, DELTA), rel=1e-6
    )


def released(monkeypatch, dataset, relation, second=None, name=NAME, params=None):
    """Return the values of every release of the first party, and the sizes of their noise.

    With the released values of another run in their place, see `second`.
    """
    values, drawn = [], Shared.share

    class Recorded:
        def __init__(self, noise, place):
            self.noise, self.place = noise, place

        __array_ufunc__ = None

        def __radd__(self, value):
            noisy = value + self.noise if second is None else second[self.place][2]
            values.append((np.array(value), float(self.noise.drawn.scale[0, 0]), noisy))
            return noisy

    def share(self, *args):
        noise = drawn(self, *args)
        if self._noise.keys is not first.keys:
            return noise
        return Recorded(noise, len(values))

    spec = RunSpec(
        **specification(
            dataset,
            name,
            {**PARAMS, "init_std": 3} if params is None else params,
            [3, 4],
            rounds=3,
            epsilon=EPS,
            delta=DELTA,
            seeds=[0],
            privacy={"relation": relation},
        )
    )
    federation = run_without_engine(spec, dataset, 0).federation
    first = federation.blocks[0].noise
    monkeypatch.setattr(Shared, "share", share)
    method, state = spec.method, engine.start(spec.method, federation)
    for t in (1, 2, 3):
        for block in federation.blocks:
            block.noise.begin_round(t)
        engine.do_round(method, t, state, federation)
    monkeypatch.undo()
    return values


def neighbours(seed, relation):
    """Two data sets of two parties, which differ in the first party's columns of a row, perhaps extreme ones."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(N + 4, 7)), rng.integers(0, 2, N + 4)
    X[0, :3] *= 10 ** rng.uniform(-3, 6)
    other = X.copy()
    other[0, :3] = 0 if relation == "zero_out" else -X[0, :3] * 10 ** rng.uniform(-1, 1)
    return (with_columns(each, y, 4) for each in (X, other))


@pytest.mark.parametrize("relation", ["zero_out", "replace"])
def test_no_row_of_a_party_moves_releases_further_than_the_ledger_says(monkeypatch, relation):
    """Brute force: the same messages for both neighbours; squared shifts over noise add up over a whole run."""
    times = {"zero_out": 1, "replace": 2}[relation]
    budget = 3 * (times * EPS) ** 2 / (2 * math.log(1.25 / DELTA))
    worst = 0.0
    for seed in range(20):
        one, two = neighbours(seed, relation)
        transcript = released(monkeypatch, one, relation)
        replayed = released(monkeypatch, two, relation, transcript)
        shifts = [
            np.linalg.norm(a - b) / scale
            for (a, scale, _), (b, *_) in zip(transcript, replayed, strict=True)
        ]
        # 16 rows in batches of 5: four predictions and four gradients in each of three epochs.
        assert len(shifts) == 3 * 8
        worst = max(worst, np.square(shifts).sum())
    assert 0.6 * budget < worst <= budget
