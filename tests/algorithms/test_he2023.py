"""The methods of he2023 against a literal transcription, closed forms, scipy's solvers, and the paper's theorems."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import optimize

from admmbench import simulate
from admmbench.contracts.made import make_dataset
from admmbench.datasets import Attribute, load_dataset
from admmbench.engine.federation import workers
from admmbench.engine.rounds import assemble
from admmbench.engine.spec import RunSpec
from admmbench.frames.outcomes import Outcome

QP = {"name": "synthetic_qp", "d": 12, "m": 2}
LARGER = {**QP, "d": 40, "m": 1}
NEYMAN_PEARSON = {
    "loss": "logistic",
    "objective": {"mean_loss": {"where": {"label": 0}}},
    "constraints": [{"mean_loss": {"where": {"label": 1}}, "at_most": 0.4}],
}


def instance(agents, seed, **dataset):
    """Arrays of (25) for one seed: A, b, C, d, those of the server last in C and d."""
    spec = RunSpec(dataset={**QP, **dataset}, algorithm="prox_al", agents=agents, seeds=[seed])
    with workers(1) as pool:
        problem = assemble(spec, load_dataset(spec.dataset), pool).problem
    own, server = problem.block(slice(0, agents)), problem.server
    C = np.concatenate([own.linear.matrix, server.linear.matrix])[:, 0]
    d = np.concatenate([own.linear.offset, server.linear.offset])[:, 0]
    return own.A[:, 0], own.b[:, 0], C, d


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


def final_state(spec):
    """State and outcomes after a run."""
    dataset = load_dataset(spec.dataset)
    with workers(1) as pool:
        federation = assemble(spec, dataset, pool)
        state = spec.method.init(federation)
        for t in range(1, spec.rounds + 1):
            spec.method.round(t, state, federation)
            if state.ended.all():
                break
    return state, state.ended.tolist()


def two_classes(n=90, seed=0):
    data = make_dataset(n, 40, n_classes=2, seed=seed)
    rng = np.random.default_rng(seed)
    sex = Attribute(
        ("F", "M"),
        rng.integers(0, 2, data.n_train).astype(np.int32),
        rng.integers(0, 2, data.n_test).astype(np.int32),
    )
    return data.__class__(**{**vars(data), "attributes": {"sex": sex}})


def losses(data, rows, w, label):
    X, y = data.X_train[rows].astype(float), data.y_train[rows]
    u = X[y == label] @ w
    return np.logaddexp(0, u if label == 0 else -u).mean()


SMOOTH = {"beta": 300.0, "rho": 0.02, "q": 0.5}


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


@settings(max_examples=8)
@given(
    seed=st.integers(0, 10_000),
    agents=st.integers(1, 4),
    m=st.integers(1, 2),
    beta=st.sampled_from([1.0, 10.0]),
)
def test_theorem_31_on_quadratics(seed, agents, m, beta):
    """A run that ends has an (eps1, eps2)-KKT point, by residuals that know nothing of its own test."""
    trace = simulate(
        {**QP, "d": 40, "m": m},
        "prox_al",
        params={"beta": beta, "rho": beta},
        agents=agents,
        seeds=[seed],
        rounds=10_000,
    ).isel(seed=0, round=-1)
    assert trace.status == Outcome.CONVERGED
    assert trace.stationarity <= 1e-3
    assert trace.complementarity <= 1e-3
    assert trace.dual_feasibility == 0


@settings(max_examples=3)
@given(seed=st.integers(0, 10_000), agents=st.integers(1, 3), bound=st.floats(0.3, 0.6))
def test_theorem_31_on_neyman_pearson(seed, agents, bound):
    problem = {
        **NEYMAN_PEARSON,
        "constraints": [{"mean_loss": {"where": {"label": 1}}, "at_most": bound}],
    }
    trace = simulate(
        two_classes(seed=seed),
        "prox_al",
        params={**SMOOTH, "s": 0.001},
        problem=problem,
        agents=agents,
        seeds=1,
        rounds=9000,
        evaluate_every=100,
    ).isel(seed=0, round=-1)
    if trace.status == Outcome.UNDEFINED:
        return
    assert trace.status == Outcome.CONVERGED
    assert trace.stationarity <= 1e-3
    assert trace.complementarity <= 1e-3
    assert trace.dual_feasibility == 0


def subproblems(spec):
    """(seed, k, w^k, w^{k+1}, mu^k, mu^k of the server) of each subproblem that Algorithm 2 ended."""
    with workers(1) as pool:
        federation = assemble(spec, load_dataset(spec.dataset), pool)
        state = spec.method.init(federation)
        for t in range(1, spec.rounds + 1):
            outer, mu, server = state.outer.copy(), state.mu.copy(), state.mu_server.copy()
            centre = state.centre.copy()
            spec.method.round(t, state, federation)
            for s in np.flatnonzero(state.outer > outer):
                yield s, outer[s], centre[s], state.model[s].copy(), mu[:, s], server[0, s]
            if state.ended.all():
                break


@settings(max_examples=8)
@given(
    seed=st.integers(0, 10_000),
    agents=st.integers(1, 4),
    beta=st.sampled_from([1.0, 5.0]),
    q=st.sampled_from([0.3, 0.9]),
)
def test_theorem_41_on_quadratics(seed, agents, beta, q):
    """Algorithm 2 ends at a point whose gradient of (10) has no entry above tau_k."""
    params = {"beta": beta, "rho": 2.0, "q": q, "s": 0.1}
    spec = RunSpec(
        dataset=QP, algorithm="prox_al", params=params, agents=agents, seeds=[seed], rounds=2000
    )
    A, b, C, d = instance(agents, seed)
    ended = list(subproblems(spec))
    assert len(ended) > 1
    for _, k, centre, w, mu, server in ended:
        estimates = np.concatenate([mu, server[None]]) + beta * (C @ w + d)
        gradient = A.sum(axis=0) @ w + b.sum(axis=0) + np.einsum("imd,im->d", C, estimates)
        gradient += (w - centre) / beta
        assert np.abs(gradient).max() <= 0.1 / (k + 1) ** 2 * (1 + 1e-9)


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
    spec = RunSpec(
        dataset=data,
        algorithm="prox_al",
        params={**SMOOTH, "s": 0.001},
        problem={**NEYMAN_PEARSON, "penalty": penalty, "strength": strength},
        agents=agents,
        seeds=1,
        rounds=9000,  # constraints that can hardly be met take thousands
    )
    ended = list(subproblems(spec))
    assert ended
    for _, k, centre, w, mu, _ in ended:

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
    spec = RunSpec(
        dataset=data,
        algorithm="prox_al",
        params={"beta": 50.0, "rho": 0.1, "eps1": 1e-5, "eps2": 1e-8, "s": 1e-5, "q": 0.5},
        problem={"loss": "logistic", "objective": {}, "constraints": [ball]},
        agents=2,
        seeds=1,
        rounds=9000,
    )
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


@pytest.mark.parametrize("penalty", ["l1", "l2"])
def test_a_penalty_is_part_of_the_objective(penalty):
    data = two_classes()
    spec = RunSpec(
        dataset=data,
        algorithm="prox_al",
        params={**SMOOTH, "rho": 0.1, "eps1": 1e-4, "eps2": 1e-6, "s": 1e-4},
        problem={**NEYMAN_PEARSON, "penalty": penalty, "strength": 0.02},
        agents=2,
        seeds=1,
        rounds=9000,
    )
    state, status = final_state(spec)
    assert status == [Outcome.CONVERGED]
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


def test_subproblems_are_solved_far_enough_for_the_residual_to_fall():
    """beta multiplies what an inexact solution leaves in (18); a loose one makes the inner loop cycle."""
    problem = {
        **NEYMAN_PEARSON,
        "constraints": [{"mean_loss": {"where": {"label": 1}}, "at_most": 0.2}],
    }
    params = {"s": 0.001, "beta": 3000.0, "rho": 0.003}
    trace = simulate(
        two_classes(), "prox_al", params=params, problem=problem, agents=1, seeds=1, rounds=1500
    )
    assert trace.status[0] == Outcome.CONVERGED


# How runs end


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


def test_a_feasible_point_is_never_out_of_reach():
    """However short the reach."""
    loose = {
        **NEYMAN_PEARSON,
        "constraints": [{"mean_loss": {"where": {"label": 1}}, "at_most": 99}],
    }
    trace = simulate(
        two_classes(),
        "cprox_al",
        params={"beta": 10.0, "reach": 1e-9},
        problem=loose,
        agents=2,
        seeds=1,
        rounds=200,
    )
    assert trace.status[0] == Outcome.CONVERGED


def test_an_inner_loop_that_does_not_end_is_an_outcome():
    params = {"rho": 1e8, "inner_limit": 30}
    trace = simulate(QP, "prox_al", params=params, agents=2, seeds=2, rounds=5000)
    assert (trace.status == Outcome.STALLED).all()
    assert (trace.inner_iterations[:, -1] == 30).all()


def test_an_agent_without_a_class_is_an_outcome():
    data = two_classes()
    order = np.argsort(data.y_train, kind="stable")
    sorted_ = data.__class__(
        **{**vars(data), "X_train": data.X_train[order], "y_train": data.y_train[order]}
    )
    trace = simulate(sorted_, "prox_al", problem=NEYMAN_PEARSON, agents=3, seeds=1, rounds=50)
    assert trace.status[0] == Outcome.UNDEFINED


def test_an_objective_without_bound_is_an_outcome():
    """Steps that are too long for the penalty."""
    trace = simulate(
        QP, "fedavg_penalty", params={"learning_rate": 1.0}, agents=2, seeds=2, rounds=3000
    )
    assert (trace.status == Outcome.DIVERGED).all()


def test_measured_residuals_are_those_of_definition_21():
    """Of w and mu in the middle of a run, for equations: by hand."""
    spec = RunSpec(dataset=QP, algorithm="prox_al", agents=3, seeds=[4, 9], rounds=1)
    with workers(1) as pool:
        federation = assemble(spec, load_dataset(spec.dataset), pool)
        state = spec.method.init(federation)
        for t in range(1, 400):
            spec.method.round(t, state, federation)
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
    spec = RunSpec(
        dataset=two_classes(),
        algorithm="prox_al",
        problem=NEYMAN_PEARSON,
        agents=3,
        seeds=[0, 1],
        rounds=1,
    )
    with workers(1) as pool:
        federation = assemble(spec, spec.dataset, pool)
        state = spec.method.init(federation)
        state.mu[1, 0] = -0.5  # multipliers of inequalities are not negative
        found = spec.method.measure(1, state, federation)
    np.testing.assert_allclose(found["dual_feasibility"], [0.5, 0])


def test_a_round_of_the_penalty_method_is_the_literal_one():
    params = {"weight": 3.0, "learning_rate": 0.01, "local_updates": 2, "start": 0.5}
    spec = RunSpec(
        dataset=QP, algorithm="fedavg_penalty", params=params, agents=3, seeds=[7], rounds=1
    )
    state, _ = final_state(spec)
    A, b, C, d = instance(3, 7)

    def slope(i, w):
        own = A[i] @ w + b[i] if i < 3 else 0
        return own + 3 * C[i].T @ (C[i] @ w + d[i])

    models = []
    for i in range(3):
        w = np.full(12, 0.5)
        for _ in range(2):
            w = w - 0.01 * 3 * slope(i, w)
        models.append(w)
    w = np.mean(models, axis=0)
    for _ in range(2):
        w = w - 0.01 * slope(3, w)
    np.testing.assert_allclose(state.model[0], w, rtol=1e-12)
    np.testing.assert_allclose(state.mu[:, 0], 3 * (C[:3] @ w + d[:3]), rtol=1e-10)


def test_local_steps_on_a_penalty_end_beside_the_constraints():
    """The fixed point violates them in inverse proportion to the weight."""
    ends = []
    for weight in (10.0, 100.0):
        params = {"weight": weight, "learning_rate": 0.01 / weight, "local_updates": 1}
        trace = simulate(LARGER, "fedavg_penalty", params=params, agents=2, seeds=2, rounds=8000)
        ends.append(trace.feasibility[:, -1].values)
    np.testing.assert_allclose(ends[0] / ends[1], 10, rtol=0.2)


def test_methods_and_problems_must_fit():
    data = two_classes()
    with pytest.raises(
        ValueError, match="objp minimises without constraints, the problem has some; prox_al"
    ):
        simulate(data, "objp", problem=NEYMAN_PEARSON)
    with pytest.raises(ValueError, match="prox_al takes problems that state an objective"):
        simulate(data, "prox_al")
    l1 = {**NEYMAN_PEARSON, "penalty": "l1", "strength": 1}
    with pytest.raises(ValueError, match="needs a penalty with a gradient"):
        simulate(data, "cprox_al", problem=l1)
    at_server = {
        **l1,
        "server": 1,
        "constraints": [{"mean_loss": {}, "at_most": 1, "at": "server"}],
    }
    with pytest.raises(ValueError, match="constraints at the server go with the penalty l2"):
        simulate(data, "prox_al", problem=at_server)
    # Without weight a penalty has no kinks.
    weightless = {**at_server, "strength": 0}
    assert simulate(data, "prox_al", problem=weightless, rounds=1, seeds=1).status[0] == 0
