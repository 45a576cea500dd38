"""In single precision too, no record moves what noise is added to by more than the ledger was told."""

import dataclasses
from dataclasses import replace

import pytest

from admmbench.algorithms import list_algorithms, resolve
from admmbench.algorithms.fed_plt import FedPLT
from admmbench.audit.auditor import probe
from admmbench.audit.neighbours import NeighbouringData
from admmbench.audit.runs import RunData
from admmbench.contracts.made_up_data import make_dataset
from admmbench.engine.rounds import AlgorithmError
from admmbench.spec.run import RunSpec

# Parameters that set how far a method steps: far below and far above their defaults, and growing.
FAST = {"c1": 1e-2, "c2": 0, "growth": 30, "period": 1}
STEPS = {"learning_rate": (1e-6, 1e3), "rho": (1e-2, 1e4, FAST), "a": (1e-4, 1e2), "clip": (1e-5,)}
DATA = make_dataset(48, n_features=40, n_classes=2)
# What one release moves by is known where noise is added to a value, or to a subproblem that is solved exactly. Of
# DP-FedADMM a record moves little of what is clipped for a whole agent, and steps of 1e3 overflow.
METHODS = [
    (name, variant)
    for name in list_algorithms()
    if name != "dp_fedadmm"
    and "rows" in resolve(name).sharing
    and (release := resolve(name).release)
    and release.value != "objective"
    for variant in resolve(name).variants
]


def worlds():
    """The largest record has a wrong class; it is null, or has the right one."""
    X, y = DATA.X_train.copy(), DATA.y_train.copy()
    X[0], y[0] = 1, 0
    null, right = X.copy(), y.copy()
    null[0], right[0] = 0, 1
    first = replace(DATA, X_train=X, y_train=y)
    moved = replace(first, y_train=right), replace(first, X_train=null)
    return NeighbouringData("worst", 0, *(RunData(data) for data in (first, *moved)))


# Its local steps multiply what a model is off by up to 999, so that more than one in a round overflow.
SPLIT = {"learning_rate": (1e-6, 1e3), "rho": (1e-2, 1e4)}


def settings(method):
    if method is FedPLT:
        yield {}
        yield from ({"local_updates": 1, name: value} for name in SPLIT for value in SPLIT[name])
        return
    own = {field.name for field in dataclasses.fields(method)}
    yield from ({}, *method.examples)
    yield from ({name: value} for name in STEPS if name in own for value in STEPS[name])


def probed(algorithm, params, variant="paper", **given):
    """Findings by level: both worlds in five rounds, with noise of the budget and up to a million times louder."""
    spec = RunSpec(
        dataset=DATA,
        algorithm=algorithm,
        params=params,
        variant=variant,
        problem="logistic",
        agents=2,
        epsilon=1,
        privacy={"relation": "replace"},
        rounds=5,
        **{"sensitivity": "global", **given},
    )
    return {each.level: each for each in probe(spec, worlds(), range(1, 6))}


@pytest.mark.parametrize(
    ("name", "variant", "sensitivity"),
    [
        ("outp", "paper", "global"),
        ("outp", "reference", "local"),  # has a guarantee all the same
        ("dp_admm", "paper", "global"),
        ("pvp", "paper", "global"),
        ("private_admm", "paper", "global"),
        ("nbafl", "paper", "global"),
    ],
)
def test_a_bound_that_is_lost_in_rounding_errors_of_models_ends_the_run(name, variant, sensitivity):
    growing = {"c1": 1e-2, "c2": 0, "growth": 1e5, "period": 1, "cap": 1e20}
    with pytest.raises(AlgorithmError, match=r"in round [2-5].*FloatingPointError.*smaller"):
        probed(name, {"rho": growing}, variant, sensitivity=sensitivity)


@pytest.mark.parametrize(("name", "variant"), METHODS)
def test_no_record_moves_a_value_by_more_than_the_ledger_was_told(name, variant):
    for params in settings(resolve(name)):
        found = probed(name, params, variant)
        assert found["coupling"].value == 0, params
        assert 0.05 < found["likelihood"].value <= 1, params
