"""Subproblems that are solved exactly."""

import math
from dataclasses import replace

import numpy as np
import pytest

from admmbench import simulate
from admmbench.audit.runs import Run, RunData, record_rounds
from admmbench.base import exact
from admmbench.contracts.made_up_data import make_regression
from admmbench.engine.rounds import AlgorithmError
from admmbench.problems.rows import RowParts
from admmbench.spec.run import RunSpec
from tests.algorithms.literal_huang2019 import in_unit_ball


@pytest.mark.parametrize("penalty", ["l1", "l2"])
def test_one_large_record_does_not_slow_the_solver_down(penalty, monkeypatch):
    """The bound on curvature is 900 times larger; what the iterates meet is not."""
    steps = []
    gradient = RowParts.gradient

    def counted(self, *args, **given):
        steps.append(1)
        return gradient(self, *args, **given)

    monkeypatch.setattr(RowParts, "gradient", counted)
    problem = {"loss": "logistic", "penalty": penalty, "strength": 1e-5}
    data = in_unit_ball()
    small = data.X_train / 30
    mixed = np.concatenate([data.X_train[:1], small[1:]])

    def steps_on(X_train):
        steps.clear()
        simulate(
            replace(data, X_train=X_train),
            "admm",
            {"rho": 0.001, "tolerance": 1e-10},
            problem=problem,
            agents=1,
            rounds=1,
            dtype="float64",
        )
        return len(steps)

    assert steps_on(mixed) < 5 * steps_on(small)


def test_exact_methods_say_when_they_cannot_solve():
    with pytest.raises(AlgorithmError, match="raise the tolerance"):
        simulate(in_unit_ball(), "admm", {"tolerance": 1e-30}, problem="logistic", rounds=1)


def largest_shift(name, record, rounds=4, **params):
    """How far a record of four moves a solution with noise, over what the ledger is told."""
    data, runs = make_regression(4, 3, 1), list[Run]()
    for first in (record, 0.0):
        X = record * np.array([[1.0], [1.0], [1e-3], [0.5]], np.float32)
        X[0] = first
        spec = RunSpec(
            dataset=replace(
                data,
                X_train=X,
                y_train=np.zeros(4, np.float32),
                X_test=np.zeros_like(data.X_test),
                domain=(-math.inf, math.inf),
            ),
            algorithm=name,
            params={"rho": 10.0, **params},
            agents=1,
            sensitivity="global",
            epsilon=1,
            dtype="float64",
            rounds=rounds,
            seeds=2,
            problem={
                "loss": {"name": "huber", "threshold": 1e5},
                "average": "agents",
                "records": {"max_l2_norm": record},
            },
        )
        runs.append(record_rounds(spec, RunData(spec.dataset), range(1, rounds + 1), *runs))
    pairs = zip(*(run.transcripts[0] for run in runs), strict=True)
    return max(
        (np.abs(one.value - two.value)[..., 0, 0] / one.scale).max()
        * one.entered[0][0].cost.multiplier
        for one, two in pairs
    )


@pytest.mark.parametrize("name", ["pvp", "private_admm"])
def test_solutions_that_rounding_errors_move_are_refused(name, monkeypatch):
    """Long records have large curvatures, which make gradients of what is rounded off a model."""
    assert 0.1 < largest_shift(name, 10.0) <= 1
    with pytest.raises(AlgorithmError, match="nearly lost in its rounding errors"):
        largest_shift(name, 1e8)
    monkeypatch.setattr(exact, "ALLOWED", math.inf)
    assert largest_shift(name, 1e8) > 1


def test_clipped_solutions_are_as_near_whatever_their_rounding_errors():
    assert largest_shift("nbafl", 1e8, rounds=1, clip=1e-3) <= 1
    with pytest.raises(AlgorithmError, match="nearly lost in its rounding errors"):
        largest_shift("nbafl", 1e8, rounds=1, clip=1e30)
