"""Augmented Lagrangians: where runs of all methods end."""

import numpy as np
import pytest
from scipy import optimize

from admmbench import simulate
from admmbench.base.outcomes import Outcome
from admmbench.spec.run import RunSpec
from tests.algorithms.he2023 import (
    NEYMAN_PEARSON,
    QP,
    SMOOTH,
    final_state,
    instance,
    losses,
    two_classes,
)


@pytest.mark.parametrize("name", ["prox_al", "cprox_al"])
def test_quadratic_programs_end_at_the_solution_of_the_kkt_system(name):
    tight = {"eps1": 1e-9, "eps2": 1e-10, "s": 1e-9, "beta": 10.0, "rho": 10.0, "q": 0.5}
    if name == "cprox_al":  # L-BFGS does not go further
        tight = {"eps1": 1e-5, "eps2": 1e-6, "s": 1e-5, "beta": 10.0}
    agents, seeds, larger = 3, [0, 1], {"d": 30, "m": 1}
    run = RunSpec(
        dataset={**QP, **larger},
        algorithm=name,
        params=tight,
        agents=agents,
        seeds=seeds,
        rounds=20_000,
    )
    state, status = final_state(run)
    assert status == [Outcome.CONVERGED] * 2
    for s, seed in enumerate(seeds):
        A, b, C, d = instance(agents, seed, **larger)
        C, d = C.reshape(-1, 30), d.ravel()
        system = np.block([[A.sum(axis=0), C.T], [C, np.zeros((len(C), len(C)))]])
        exact = np.linalg.solve(system, np.concatenate([-b.sum(axis=0), -d]))
        accuracy = 1e-8 if name == "prox_al" else 1e-5
        np.testing.assert_allclose(state.model[s], exact[:30], atol=accuracy)
        own = np.concatenate([state.mu[:, s].ravel(), state.mu_server[0, s]])
        np.testing.assert_allclose(own, exact[30:], atol=10 * accuracy)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["prox_al", "cprox_al"])
@pytest.mark.parametrize("agents", [1, 3])
def test_neyman_pearson_ends_where_scipy_does(name, agents):
    data = two_classes()
    tight = {"eps1": 1e-4, "eps2": 1e-7, "s": 1e-4, "beta": 300.0}
    spec = RunSpec(
        dataset=data,
        algorithm=name,
        params={**tight, **(SMOOTH if name == "prox_al" else {})},
        problem=NEYMAN_PEARSON,
        agents=agents,
        seeds=1,
        rounds=9000,
    )
    state, status = final_state(spec)
    assert status == [Outcome.CONVERGED]
    parts = np.array_split(np.arange(data.n_train), agents)
    found = optimize.minimize(
        lambda w: np.mean([losses(data, rows, w, 0) for rows in parts]),
        state.model[0] + 0.1,
        method="trust-constr",
        constraints=optimize.NonlinearConstraint(
            lambda w: [losses(data, rows, w, 1) for rows in parts], -np.inf, 0.4
        ),
        options={"gtol": 1e-9, "xtol": 1e-12, "barrier_tol": 1e-10, "maxiter": 5000},
    )
    ours = np.mean([losses(data, rows, state.model[0], 0) for rows in parts])
    assert ours == pytest.approx(found.fun, abs=1e-5)
    np.testing.assert_allclose(state.mu[:, 0, 0], found.v[0], atol=1e-3)


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
