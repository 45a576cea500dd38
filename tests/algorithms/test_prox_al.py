"""Prox-AL: a transcription, solutions of scipy, the theorems of he2023, and how runs end."""

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import optimize

from admmbench import simulate
from admmbench.base.outcomes import Outcome
from tests.algorithms.he2023 import (
    LARGER,
    NEYMAN_PEARSON,
    QP,
    SMOOTH,
    at_most,
    final_state,
    instance,
    losses,
    run_of,
    two_classes,
)
from tests.algorithms.runs import rounds


def literal(A, b, C, d, beta=1.0, rho=1.0, s=0.01, q=0.9, eps1=1e-3, eps2=1e-3):
    """Algorithms 1 and 2, client by client, for (25); the server's constraints are the last."""
    n, size = len(A), len(b[0])
    w, mu = np.ones(size), np.zeros(d.shape)
    total, outer = 0, 0
    while True:
        centre, tau = w.copy(), s / (outer + 1) ** 2

        def gradient(i, x, centre=centre, mu=mu):
            own = A[i] @ x + b[i] if i < n else 0
            return (
                own + C[i].T @ (mu[i] + beta * (C[i] @ x + d[i])) + (x - centre) / (beta * (n + 1))
            )

        def solve(i, linear, weight, to, centre=centre, mu=mu):
            """Minimise F_i(x) + <linear, x> + weight ||x - to||^2 / 2."""
            H = (A[i] if i < n else 0) + beta * C[i].T @ C[i]
            H = H + (1 / (beta * (n + 1)) + weight) * np.eye(size)
            right = C[i].T @ (mu[i] + beta * d[i]) - centre / (beta * (n + 1))
            return np.linalg.solve(H, weight * to - linear - right - (b[i] if i < n else 0))

        u = [w.copy() for _ in range(n)]
        lam = [-gradient(i, w) for i in range(n)]
        t = 0
        while True:
            mean = np.mean([u[i] + lam[i] / rho for i in range(n)], axis=0)
            w = solve(n, 0, n * rho, mean)
            residual = 0.0
            for i in range(n):
                residual += np.abs(gradient(i, w) + lam[i] - rho * (w - u[i])).max()
                u[i] = solve(i, lam[i], rho, w)
                lam[i] = lam[i] + rho * (u[i] - w)
            total += 1
            if q**t + residual <= tau:
                break
            t += 1
        new = np.array([mu[i] + beta * (C[i] @ w + d[i]) for i in range(n + 1)])
        moved, mu = np.abs(new - mu).max(), new
        outer += 1
        if np.abs(w - centre).max() + beta * tau <= beta * eps1 and moved <= beta * eps2:
            return w, mu, outer, total


@pytest.mark.parametrize(
    ("agents", "params"),
    [(1, {}), (3, {"eps1": 0.01, "eps2": 0.01}), (3, {"beta": 4.0, "rho": 2.5})],
)
def test_prox_al_is_the_literal_one(agents, params):
    arrays = instance(agents, seed=5)
    w, _, outer, inner = literal(*arrays, **params)
    trace = simulate(QP, "prox_al", params=params, agents=agents, seeds=[5], rounds=inner + 50)
    assert int(trace.outer_iterations[0, -1]) == outer
    assert int(trace.inner_iterations[0, -1]) == inner
    A, b, C, d = arrays
    value = sum(w @ A[i] @ w / 2 + b[i] @ w for i in range(agents))
    assert float(trace.train_loss[0, -1]) == pytest.approx(value, rel=1e-9)
    assert float(trace.feasibility[0, -1]) == pytest.approx(np.abs(C @ w + d).max(), rel=1e-6)
    each = agents * (2 * 12 + 1)
    assert float(trace.floats_sent[0, -1]) == inner * each + outer * agents * (12 + 1)


@settings(max_examples=3)
@given(seed=st.integers(0, 10_000), agents=st.integers(1, 3), bound=st.floats(0.3, 0.6))
def test_theorem_31_on_neyman_pearson(seed, agents, bound):
    problem = {**NEYMAN_PEARSON, "constraints": [at_most(bound)]}
    params, given = {**SMOOTH, "s": 0.001}, {"agents": agents, "seeds": 1, "rounds": 9000}
    trace = simulate(two_classes(seed=seed), "prox_al", params, problem=problem, **given)
    last = trace.isel(seed=0, round=-1)
    if last.status != Outcome.UNDEFINED:
        assert last.status == Outcome.CONVERGED
        assert last.stationarity <= 1e-3
        assert last.complementarity <= 1e-3
        assert last.dual_feasibility == 0


def subproblems(spec):
    """(k, w^k, w^{k+1}, mu^k, mu^k of the server) of each subproblem that Algorithm 2 ended, of the first seed."""
    begun: tuple[Any, ...] = ()
    for _, state, _ in rounds(spec):
        if begun and state.outer[0] > begun[0]:
            k, centre, mu, server = begun
            yield k, centre, state.model[0].copy(), mu, server
        mu, server = state.mu[:, 0].copy(), state.mu_server[0, 0].copy()
        begun = state.outer[0], state.centre[0].copy(), mu, server
        if state.ended.all():
            break


@pytest.mark.slow
@settings(max_examples=3)
@given(
    seed=st.integers(0, 10_000),
    agents=st.integers(1, 3),
    strength=st.sampled_from([0.0, 0.02]),
    penalty=st.sampled_from(["l1", "l2"]),
)
@example(seed=123, agents=2, strength=0.02, penalty="l2")
def test_theorem_41_on_neyman_pearson(seed, agents, strength, penalty):
    """With h: the subdifferential of F + h has a member with no entry above tau_k."""
    data, beta = two_classes(seed=seed), 300.0
    parts = np.array_split(np.arange(data.n_train), agents)
    if any(len(set(data.y_train[rows])) < 2 for rows in parts):
        return
    problem = {**NEYMAN_PEARSON, "penalty": penalty, "strength": strength}
    # Constraints that can hardly be met take thousands of rounds.
    params = {**SMOOTH, "s": 0.001}
    spec = run_of("prox_al", params, 9000, data, problem=problem, agents=agents)
    ended = list(subproblems(spec))
    assert ended
    for k, centre, w, mu, _ in ended:

        def of_agent(i, label, w=w):
            rows = parts[i]
            X, y = data.X_train[rows].astype(float), data.y_train[rows]
            X, sign = X[y == label], 1 if label == 0 else -1
            return (sign / (1 + np.exp(-sign * (X @ w)))) @ X / len(X)

        gradient = (w - centre) / beta
        for i, rows in enumerate(parts):
            estimate = max(0, mu[i, 0] + beta * (losses(data, rows, w, 1) - 0.4))
            gradient += of_agent(i, 0) / agents + estimate * of_agent(i, 1)
        if penalty == "l2":
            gradient += strength * w
        else:
            kink = np.sign(gradient) * np.maximum(np.abs(gradient) - strength, 0)
            gradient = np.where(w == 0, kink, gradient + strength * np.sign(w))
        assert np.abs(gradient).max() <= 0.001 / (k + 1) ** 2 * (1 + 1e-6)


def test_a_second_order_cone_bounds_the_norm():
    """||w|| <= 1/2 is c(w) = (-1/2, w) in -K."""
    d, data = 7, two_classes()
    linear = {"matrix": [[0.0] * d, *np.eye(d).tolist()], "offset": [-0.5, *[0.0] * d]}
    ball = {"linear": linear, "cone": "second_order", "at": "server"}
    params = {"beta": 50.0, "rho": 0.1, "eps1": 1e-5, "eps2": 1e-8, "s": 1e-5, "q": 0.5}
    problem = {"loss": "logistic", "objective": {}, "constraints": [ball]}
    spec = run_of("prox_al", params, 9000, data, problem=problem)
    state, status = final_state(spec)
    assert status == [Outcome.CONVERGED]
    w = state.model[0]
    assert np.linalg.norm(w) == pytest.approx(0.5, abs=1e-6)
    parts = np.array_split(np.arange(data.n_train), 2)

    def value(w):
        X, y = data.X_train.astype(float), 2 * data.y_train - 1
        return np.mean([np.logaddexp(0, -y[rows] * (X[rows] @ w)).mean() for rows in parts])

    found = optimize.minimize(
        value,
        np.full(d, 0.01),
        method="SLSQP",
        constraints={"type": "ineq", "fun": lambda w: 0.25 - w @ w},
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    assert value(w) == pytest.approx(found.fun, abs=1e-7)


def test_subproblems_are_solved_far_enough_for_the_residual_to_fall():
    """beta multiplies what an inexact solution leaves in (18); a loose one makes the inner loop cycle."""
    problem = {**NEYMAN_PEARSON, "constraints": [at_most(0.2)]}
    params = {"s": 0.001, "beta": 3000.0, "rho": 0.003}
    spec = run_of("prox_al", params, 1500, two_classes(), problem=problem, agents=1)
    assert final_state(spec)[1] == [Outcome.CONVERGED]


def test_a_run_that_converges_keeps_its_last_values():
    trace = simulate(LARGER, "prox_al", agents=2, seeds=3, rounds=2000, evaluate_every=7)
    assert (trace.status == Outcome.CONVERGED).all()
    ends = trace.inner_iterations.isel(round=-1)
    for s in range(3):
        own = trace.isel(seed=s)
        after = own.sel(round=own["round"] >= float(ends[s]))
        assert after.sizes["round"] > 1
        for name in ("train_loss", "feasibility", "floats_sent", "inner_iterations"):
            assert len(np.unique(after[name])) == 1
    assert len(np.unique(ends)) > 1  # seeds end at different times, each with its own numbers
    alone = simulate(LARGER, "prox_al", agents=2, seeds=[2], rounds=2000, evaluate_every=7)
    np.testing.assert_allclose(alone.train_loss[0], trace.train_loss[2], rtol=1e-9)


def test_an_inner_loop_that_does_not_end_is_an_outcome():
    state, status = final_state(run_of("prox_al", {"rho": 1e8, "inner_limit": 30}, 5000, seeds=2))
    assert status == [Outcome.STALLED] * 2
    assert (state.total == 30).all()


def test_an_agent_without_a_class_is_an_outcome():
    data = two_classes()
    order = np.argsort(data.y_train, kind="stable")
    sorted_ = data.__class__(
        **{**vars(data), "X_train": data.X_train[order], "y_train": data.y_train[order]}
    )
    trace = simulate(sorted_, "prox_al", problem=NEYMAN_PEARSON, agents=3, seeds=1, rounds=50)
    assert trace.status[0] == Outcome.UNDEFINED


def test_measured_residuals_are_those_of_definition_21():
    """Of w and mu in the middle of a run, for equations: by hand."""
    spec = run_of("prox_al", {}, 399, agents=3, seeds=[4, 9])
    *_, (federation, state, _) = rounds(spec)
    found = spec.method.measure(400, state, federation)
    assert (state.outer > 0).all()
    assert not state.ended.any()
    for s, seed in enumerate((4, 9)):
        A, b, C, d = instance(3, seed)
        w, mu = state.model[s], np.concatenate([state.mu[:, s], state.mu_server[:, s]])
        slope = A.sum(axis=0) @ w + b.sum(axis=0) + np.einsum("imd,im->d", C, mu)
        assert found["stationarity"][s] == pytest.approx(np.abs(slope).max())
        assert found["complementarity"][s] == pytest.approx(np.abs(C @ w + d).max())
        assert found["dual_feasibility"][s] == 0


def test_dual_feasibility_is_that_of_the_worst_agent():
    given = {"problem": NEYMAN_PEARSON, "agents": 3, "seeds": [0, 1]}
    spec = run_of("prox_al", {}, 1, two_classes(), **given)
    federation, state, _ = next(rounds(spec))
    state.mu[1, 0] = -0.5  # multipliers of inequalities are not negative
    found = spec.method.measure(1, state, federation)
    np.testing.assert_allclose(found["dual_feasibility"], [0.5, 0])


def test_an_l1_penalty_goes_with_constraints_at_the_server():
    """Problem (1) with h and c_0: the solution of scipy's SLSQP on ``w = p - m``, with the same zeros."""
    agents, seed, strength, n = 2, 3, 4.0, 9
    A, b, C, d = instance(agents, seed, d=n, m=1)
    H, slope, C, d = A.sum(axis=0), b.sum(axis=0), np.concatenate(C), np.concatenate(d)
    found = optimize.minimize(
        lambda x: (
            (w := x[:n] - x[n:]) @ H @ w / 2 + slope @ w + strength * x.sum(),
            np.concatenate([g := H @ w + slope, -g]) + strength,
        ),
        np.ones(2 * n),
        jac=True,
        bounds=[(0, None)] * (2 * n),
        constraints={"type": "eq", "fun": lambda x: C @ (x[:n] - x[n:]) + d},
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 1000},
    )
    wanted = found.x[:n] - found.x[n:]
    problem = {"loss": "quadratic", "penalty": "l1", "strength": strength}
    params, data = {"eps1": 1e-5, "eps2": 1e-5, "s": 1e-3, "beta": 10.0}, {**QP, "d": n, "m": 1}
    spec = run_of("prox_al", params, 3000, data, problem=problem, agents=agents, seeds=[seed])
    state, ended = final_state(spec)
    assert ended == [Outcome.CONVERGED]
    np.testing.assert_allclose(state.model[0], wanted, atol=1e-5)
    zeros = np.abs(wanted) < 1e-6
    assert 0 < zeros.sum() < n
    assert (state.model[0][zeros] == 0).all()


def test_an_l1_penalty_without_weight_changes_nothing():
    at_server = {**NEYMAN_PEARSON, "server": 1, "constraints": [at_most(1, at="server")]}
    data, given = two_classes(), {"rounds": 2, "seeds": 1}
    plain, weightless = (
        simulate(data, "prox_al", problem={**at_server, **more}, **given)
        for more in ({}, {"penalty": "l1", "strength": 0})
    )
    np.testing.assert_array_equal(plain.train_loss, weightless.train_loss)
