"""Brute force over neighbours of random tiny problems: no release shifts further than its ledger is told.

A run and its neighbour get the same noise, and what was released before is the same in both. Agents have between no
record and hundreds, records are at the ends of what is admissible, and loud noise leads models to where losses are
steepest.
"""

from dataclasses import replace

import numpy as np
import pytest
from pydantic import ValidationError

from admmbench.algorithms import list_algorithms, resolve
from admmbench.audit.levels import compare_shifts
from admmbench.audit.runs import Run, RunData
from admmbench.contracts.made_up_data import make_dataset, make_regression, written_by
from admmbench.privacy import epsilon_total
from admmbench.spec.accounting import ledger
from admmbench.spec.run import RunSpec

FEW, MANY = 2, 29
AVERAGES = ["records", "agents"]
LOUDER = 8.0 ** np.arange(4)
FEATURES = 3
CLASSES = {"softmax": 3, "logistic": 2, "sigmoid": 2}
STEPS = {"learning_rate": [0.1, 4.0], "local_updates": [1, 3]}
CLIPPED = STEPS | {"clip": [0.01, 1.0, 1e3]}
ADMM = {"rho": [0.01, 0.3, 5.0]}
INEXACT = ADMM | {"a": [0.1, 5.0], "local_updates": [1, 3]}
METHODS = {
    "accelerated_dpsgd": {"learning_rate": [0.1, 4.0], "sampling": [0.5, 1.0]},
    "amp": {"noise_share": [0.5, 0.9], "bound": ["quantile", "profile"]},
    "dp_admm": ADMM | {"a": [0.1, 1.0]},
    "dp_fedadmm": CLIPPED,
    "dp_fedavg": CLIPPED,
    "dp_scaffold": STEPS,
    "fed_plt": STEPS,
    "dpsgd": {"learning_rate": [0.1, 4.0], "sampling": [0.5, 1.0]},
    "dvp": ADMM,
    "iceadmm": INEXACT,
    "localized_dpsgd": {"convexity": [0.01, 10.0], "phase_rounds": [1, 2]},
    "nbafl": ADMM | {"clip": [0.01, 10.0]},
    "objp": INEXACT | {"proximity": ["sqrt", "smooth", "strong"]},
    "objt": INEXACT,
    "outp": ADMM | {"a": [0.1, 1.0]},
    "private_admm": ADMM | {"relaxation": [0.3, 0.5, 1.0]},
    "pvp": ADMM,
}
PROBLEM = {
    "loss": ["softmax", "logistic", "huber", "sigmoid"],
    "penalty": ["l1", "l2"],
    "strength": [0.0, 1e-3, 0.5],
    "per": ["agent", "total"],
    "feasible": [None, None, {"ball": 1.0}, {"box": 0.5}],
    "records": [{}, {"max_l2_norm": 0.5}, {"max_l1_norm": 2.0}],
}
SUMMED = {"trust": "secure_sum"}
AGENTS = {"unit": "agent"}
COINS = AGENTS | SUMMED | {"participation": 0.4}
COHORT = AGENTS | SUMMED | {"cohort": 2}
PRIVACY = {
    "kind": [{}, {}, SUMMED, AGENTS, AGENTS | SUMMED, COINS, COHORT],
    "relation": ["zero_out", "replace"],
    "noise": ["published", "laplace", "gaussian"],
}
SETTINGS = {
    "variant": ["paper", "reference"],
    "epsilon": [0.1, 1.0, 20.0],
    "dtype": ["float32", "float64"],
}


def drawn(rng, choices):
    return {key: values[rng.integers(len(values))] for key, values in choices.items()}


def drawn_records(rng, loss, number):
    """Records at the ends of the domain or within, with targets of any kind."""
    X = rng.choice([-2.0, 0.0, 2.0], (number, FEATURES))
    X = np.where(rng.random((number, 1)) < 0.5, X, rng.uniform(-2, 2, X.shape))
    if loss == "huber":
        return X, rng.choice([-1e4, -1.0, 0.1, 1e4], number)
    return X, rng.integers(CLASSES[loss], size=number)


def shared_out(loss, sizes, X, y):
    """Make a data set of which each agent has so many records."""
    sizes_of = len(y), 3, FEATURES
    made = make_regression(*sizes_of) if loss == "huber" else make_dataset(*sizes_of, CLASSES[loss])
    owner = np.repeat(np.arange(len(sizes)), sizes)
    records = {"X_train": X.astype(np.float32), "y_train": y.astype(made.y_train.dtype)}
    made = replace(made, domain=(-2.0, 2.0), **records)
    return written_by(made, owner, [f"agent {p}" for p in range(len(sizes))])


def drawn_sizes(rng):
    """Draw how many records each agent has, and an agent that has some."""
    sizes = rng.choice([0, 1, 2, 4, 9], rng.integers(2, 5))
    if rng.random() < 0.3:
        sizes[0] = 300
    own = int(rng.integers(len(sizes)))
    sizes[own] = max(sizes[own], 1)
    return sizes, own


def neighbours(rng, loss, privacy):
    """Draw two worlds, and for each the rows that only it has."""
    sizes, own = drawn_sizes(rng)
    X, y = drawn_records(rng, loss, sizes.sum())
    first = RunData(shared_out(loss, sizes, X, y))
    start, blank = sizes[:own].sum(), privacy["relation"] == "zero_out"
    if "unit" not in privacy:
        row = start + rng.integers(sizes[own])
        (other,), (target,) = drawn_records(rng, loss, 1)
        X, y = X.copy(), y.copy()
        X[row], y[row] = (0, y[row]) if blank else (other, target)
        return (first, row), (RunData(shared_out(loss, sizes, X, y)), row)
    rows = np.arange(start, start + sizes[own])
    if blank:
        return (first, rows), (first._replace(absent=own), rows)
    kept = np.delete(X, rows, axis=0), np.delete(y, rows)
    sizes[own] = rng.integers(1, 10)
    others = drawn_records(rng, loss, sizes[own])
    X, y = (
        np.insert(old, [start] * sizes[own], new, axis=0)
        for old, new in zip(kept, others, strict=True)
    )
    own_rows = np.arange(start, start + sizes[own])
    return (first, rows), (RunData(shared_out(loss, sizes, X, y)), own_rows)


def drawn_problem(rng, name, average):
    """Draw settings, until the method takes them, and neighbours."""
    while True:
        privacy, problem = drawn(rng, PRIVACY), drawn(rng, PROBLEM)
        privacy |= privacy.pop("kind")
        worlds = neighbours(rng, problem["loss"], privacy)
        try:
            spec = RunSpec(
                dataset=worlds[0][0].data,
                algorithm=name,
                params=drawn(rng, METHODS[name]),
                problem=problem | {"average": average},
                agents={"scheme": "by_writer"},
                privacy=privacy,
                sensitivity="global",
                delta=1e-5,
                rounds=1 if resolve(name).one_shot else 2,
                seeds=len(LOUDER),
                **drawn(rng, SETTINGS),
            )
        except ValidationError:
            continue
        return spec, worlds


def farthest(spec, worlds):
    """Return the largest shift over what the ledger is told, where what is drawn takes part in each round."""
    runs = list[Run]()
    for world, rows in worlds:
        own = spec.model_copy(update={"dataset": world.data})
        run = Run(own, world, rows if spec.sampling < 1 else None, LOUDER)
        for t in range(1, spec.rounds + spec.method.extra_rounds + 1):
            run.round(t, *runs)
        assert not run.uncovered
        runs.append(run)
    first, second = runs
    found = compare_shifts(first, second, "drawn")
    settings = spec.model_dump(exclude={"dataset"})
    assert found.passed, f"{found.fact} {settings}"
    federation = first.federation
    stated = ledger(spec, federation.problem, federation.privacy).epsilon(spec.delta)
    assert epsilon_total(federation.ledgers, spec.delta) <= stated * (1 + 1e-9), settings
    return found.value


def shifts(name, average, number):
    """Return the largest shift of each of so many problems."""
    rng = np.random.default_rng([list(METHODS).index(name), AVERAGES.index(average)])
    return [farthest(*drawn_problem(rng, name, average)) for _ in range(number)]


def test_every_method_over_rows_with_noise_is_here():
    over_rows = (name for name in list_algorithms() if "rows" in resolve(name).sharing)
    assert {name for name in over_rows if resolve(name).release} == set(METHODS)


@pytest.mark.parametrize(
    "number", [pytest.param(FEW, id="few"), pytest.param(MANY, marks=pytest.mark.slow, id="many")]
)
@pytest.mark.parametrize("average", AVERAGES)
@pytest.mark.parametrize("name", METHODS)
def test_no_neighbour_moves_a_release_further_than_its_ledger_is_told(name, average, number):
    found = shifts(name, average, number)
    assert max(found) <= 1
    if number == MANY:
        assert max(found) > 0.4
