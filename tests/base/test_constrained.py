"""Methods for constrained problems: where runs of all methods end."""

import numpy as np
import pytest
from scipy import optimize

from admmbench import simulate
from admmbench.base.outcomes import Outcome
from tests.algorithms.he2023 import (
    NEYMAN_PEARSON,
    QP,
    SMOOTH,
    final_state,
    instance,
    losses,
    run_of,
    two_classes,
)

SOON = {"eps1": 1e-4, "eps2": 1e-6, "s": 1e-4}


def assert_ended(name, status):
    """Methods of he2023 stop by themselves."""
    outcome = Outcome.COMPLETED if name == "primal_dual" else Outcome.CONVERGED
    assert set(status) == {outcome}


@pytest.mark.parametrize(
    ("name", "params", "rounds", "accuracy"),
    [
        (
            "prox_al",
            {"eps1": 1e-9, "eps2": 1e-10, "s": 1e-9, "beta": 10.0, "rho": 10.0, "q": 0.5},
            20_000,
            1e-8,
        ),
        # L-BFGS does not go further.
        ("cprox_al", {"eps1": 1e-5, "eps2": 1e-6, "s": 1e-5, "beta": 10.0}, 20_000, 1e-5),
        ("primal_dual", {"learning_rate": 0.02, "multiplier_rate": 0.02}, 6000, 1e-8),
    ],
)
def test_quadratic_programs_end_at_the_solution_of_the_kkt_system(name, params, rounds, accuracy):
    agents, seeds, larger = 3, [0, 1], {"d": 30, "m": 1}
    run = run_of(name, params, rounds, {**QP, **larger}, agents=agents, seeds=seeds)
    state, status = final_state(run)
    assert_ended(name, status)
    for s, seed in enumerate(seeds):
        A, b, C, d = instance(agents, seed, **larger)
        C, d = C.reshape(-1, 30), d.ravel()
        system = np.block([[A.sum(axis=0), C.T], [C, np.zeros((len(C), len(C)))]])
        exact = np.linalg.solve(system, np.concatenate([-b.sum(axis=0), -d]))
        np.testing.assert_allclose(state.model[s], exact[:30], atol=accuracy)
        own = np.concatenate([state.mu[:, s].ravel(), state.mu_server[0, s]])
        np.testing.assert_allclose(own, exact[30:], atol=10 * accuracy)


@pytest.mark.parametrize(
    ("name", "params", "penalty"),
    [
        ("prox_al", {**SMOOTH, **SOON, "rho": 0.1}, "l1"),
        ("prox_al", {**SMOOTH, **SOON, "rho": 0.1}, "l2"),
        ("cprox_al", {**SOON, "beta": 300.0}, "l2"),
        ("primal_dual", {"learning_rate": 2.0, "multiplier_rate": 0.5}, "l2"),
    ],
)
def test_neyman_pearson_ends_where_scipy_does(name, params, penalty):
    """With a penalty, which is a part of the objective."""
    data = two_classes()
    problem = {**NEYMAN_PEARSON, "penalty": penalty, "strength": 0.02}
    rounds = 2000 if name == "primal_dual" else 9000
    state, status = final_state(run_of(name, params, rounds, data, problem=problem))
    assert_ended(name, status)
    parts = np.array_split(np.arange(data.n_train), 2)

    def value(v):
        w = v[:7] - v[7:]
        size = v.sum() if penalty == "l1" else w @ w / 2
        return np.mean([losses(data, rows, w, 0) for rows in parts]) + 0.02 * size

    found = optimize.minimize(
        value,
        np.full(14, 0.1),
        method="SLSQP",
        bounds=[(0, None)] * 14,
        constraints={
            "type": "ineq",
            "fun": lambda v: [0.4 - losses(data, rows, v[:7] - v[7:], 1) for rows in parts],
        },
        options={"ftol": 1e-13, "maxiter": 3000},
    )
    w = state.model[0]
    ours = np.concatenate([np.maximum(w, 0), np.maximum(-w, 0)])
    assert value(ours) == pytest.approx(found.fun, abs=2e-5)
    assert max(losses(data, rows, w, 1) for rows in parts) <= 0.4 + 1e-4


@pytest.mark.parametrize("name", ["prox_al", "cprox_al"])
def test_no_feasible_point_is_an_outcome(name):
    """No weights sum to 0 and to 1."""
    both = [
        {"linear": {"matrix": [[1] * 7], "offset": [number]}, "cone": "zero"} for number in (0, -1)
    ]
    problem = {**NEYMAN_PEARSON, "constraints": both}
    params = {"beta": 10.0, **({"rho": 5.0} if name == "prox_al" else {})}
    trace = simulate(
        two_classes(), name, params=params, problem=problem, agents=2, seeds=1, rounds=9000
    )
    assert trace.status[0] == Outcome.INFEASIBLE
    assert np.isfinite(trace.feasibility[0, -1])
