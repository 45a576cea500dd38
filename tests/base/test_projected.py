"""Local updates that end in a feasible set: every method, order and number of updates, with noise and audits."""

import numpy as np
import pytest

from admmbench import simulate
from admmbench.contracts.runs import run_without_engine
from admmbench.problems.feasible import Feasible
from admmbench.spec.run import RunSpec
from tests.algorithms.literal_huang2019 import in_unit_ball

FREE = {"loss": "logistic", "strength": 1e-2, "per": "agent", "average": "agents"}
METHODS = [
    ("objp", {"local_updates": 3, "rho": 0.1}),
    ("objp", {"rho": 0.1}),
    ("objt", {"a": 0.2, "rho": 0.1}),
    ("iadmm", {"rho": 0.1}),
    ("outp", {"rho": 0.1}),
    ("dp_admm", {}),
    ("admm", {}),
    ("pvp", {}),
    ("dvp", {}),
]


def run(name, params, W, **given):
    problem = FREE if W is None else FREE | {"feasible": W}
    usual = {"agents": 3, "epsilon": 0.5, "rounds": 9, "evaluate_every": 3, "seeds": [0, 3]}
    more = usual | {"problem": problem, "dtype": "float64"} | given
    return simulate(in_unit_ball(), name, params, **more)


@pytest.mark.parametrize(("name", "params"), METHODS)
def test_a_set_that_holds_all_models_changes_nothing_but_rounding(name, params):
    free, wide = run(name, params, None), run(name, params, {"ball": 1e6})
    for each in ("train_loss", "consensus_violation", "epsilon_total", "noise_magnitude"):
        assert wide[each].values == pytest.approx(free[each].values, rel=1e-9, nan_ok=True)


@pytest.mark.parametrize(("name", "params"), METHODS)
@pytest.mark.parametrize("W", [{"box": 0.002}, {"ball": 0.005}])
def test_a_small_set_holds_all_models_and_costs_no_privacy(name, params, W):
    """Nothing else than the models changes."""
    cut, free = run(name, params, W), run(name, params, None)
    for each in ("epsilon_composed", "epsilon_claimed"):
        assert (cut[each].values == free[each].values).all()
    assert not np.allclose(cut.train_loss, free.train_loss)


@pytest.mark.parametrize("W", [{"box": 0.002}, {"ball": 0.005}])
def test_models_are_in_the_set_after_each_round(W):
    data, of = in_unit_ball(), Feasible(**W)
    for name, params in METHODS:
        spec = RunSpec(
            dataset=data,
            algorithm=name,
            params=params,
            problem=FREE | {"feasible": W},
            agents=3,
            epsilon=0.5,
            seeds=(0, 3),
            dtype="float64",
        )
        for t in (1, 2, 3):
            state = run_without_engine(spec, data, t).state
            for models in (state.z, state.iterates):
                assert of.project(models) == pytest.approx(models, abs=1e-12)
        assert np.abs(state.z).max() > 0.001


@pytest.mark.parametrize("name", ["objp", "dp_admm"])
def test_an_audit_finds_nothing_where_models_are_projected(name):
    """A projection is post-processing."""
    from tests.audit.runs import TWO, failed, short_audit

    problem = {"loss": "logistic", "strength": 1e-3, "feasible": {"ball": 0.01}}
    found = short_audit(name, TWO, problem=problem)
    assert failed(found) == {}
    free = short_audit(name, TWO, problem={**problem, "feasible": None})
    assert found.epsilon_ledger == free.epsilon_ledger
    assert found.epsilon_ledger is not None
