"""Subproblems that are solved exactly."""

from dataclasses import replace

import numpy as np
import pytest

from admmbench import simulate
from admmbench.problems.rows import RowParts
from tests.algorithms.records import in_unit_ball


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
    from admmbench.engine.rounds import AlgorithmError

    with pytest.raises(AlgorithmError, match="raise the tolerance"):
        simulate(in_unit_ball(), "admm", {"tolerance": 1e-30}, problem="logistic", rounds=1)
