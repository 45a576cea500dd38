"""What tests of the methods of he2023 share: instances of its problems, and runs by hand."""

import numpy as np

from admmbench.contracts.made_up_data import make_dataset
from admmbench.spec.run import RunSpec
from tests.algorithms.runs import rounds
from tests.problems.helpers import with_sex


def at_most(bound, **more):
    """Constraint on the mean loss of the second class."""
    return {"mean_loss": {"where": {"label": 1}}, "at_most": bound, **more}


QP = {"name": "synthetic_qp", "d": 12, "m": 2}
LARGER = {**QP, "d": 40, "m": 1}
NEYMAN_PEARSON = {
    "loss": "logistic",
    "objective": {"mean_loss": {"where": {"label": 0}}},
    "constraints": [at_most(0.4)],
}
# Parameters with which prox_al ends soon on it.
SMOOTH = {"beta": 300.0, "rho": 0.02, "q": 0.5}


def run_of(name, params, rounds, data=QP, **given):
    """A run with two agents and one seed unless it says otherwise."""
    usual = {"agents": 2, "seeds": 1, **given}
    return RunSpec(dataset=data, algorithm=name, params=params, rounds=rounds, **usual)


def instance(agents, seed, **dataset):
    """Arrays of (25) for one seed: A, b, C, d, those of the server last in C and d."""
    spec = run_of("prox_al", {}, 1, {**QP, **dataset}, agents=agents, seeds=[seed])
    problem = next(rounds(spec))[0].problem
    own, server = problem.block(slice(0, agents)), problem.server
    C = np.concatenate([own.matrix, server.matrix])[:, 0]
    d = np.concatenate([own.offset, server.offset])[:, 0]
    return own.A[:, 0], own.b[:, 0], C, d


def final_state(spec):
    """State and outcomes after a run."""
    for _, state, _ in rounds(spec):
        if state.ended.all():
            break
    return state, state.ended.tolist()


def two_classes(n=90, seed=0):
    return with_sex(make_dataset(n, 40, n_classes=2, seed=seed), seed)


def losses(data, rows, w, label):
    X, y = data.X_train[rows].astype(float), data.y_train[rows]
    u = X[y == label] @ w
    return np.logaddexp(0, u if label == 0 else -u).mean()
