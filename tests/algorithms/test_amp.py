"""AMP: a transcription, the authors' formulas, solutions of scipy, and its privacy by numerical integration."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter
from scipy import integrate, optimize, stats
from scipy.special import expit, softmax

from admmbench import simulate
from admmbench.algorithms.amp import AMP, norm_quantile
from admmbench.contracts.runs import run_without_engine
from admmbench.engine.streams import noise_key
from admmbench.privacy import Entered, Privacy
from tests.algorithms.literal_huang2019 import (
    DELTA,
    EPS,
    LOGISTIC,
    SEEDS,
    SIZES,
    STRENGTH,
    J,
    N,
    in_unit_ball,
    run_of,
)
from tests.noise import on_grid, standard

SOFTMAX = {**LOGISTIC, "loss": "softmax", "average": "agents", "records": {"max_l2_norm": 1}}


def played(data, problem, params=None, rounds=1, **given):
    """A run in double precision, after its round or before it."""
    spec = run_of("amp", params or {}, 1, data, problem, **given)
    return run_without_engine(spec, data, rounds)


def released(*of, **given):
    """Models of the agents and their mean, and the federation."""
    found = played(*of, **given)
    return found.state.z, found.state.w, found.federation


# The transcription


def theirs(n, eps, delta, L, beta, r, eps_frac=0.9, eps_out_frac=0.01):
    """Lines 35 to 75 of the authors' code, with r and beta from outside: Lambda and the deviation of b."""
    eps_out = eps * eps_out_frac
    eps_obj = eps - eps_out
    eps_p = eps_frac * eps_obj
    delta_out = eps_out_frac * delta
    delta_obj = delta - delta_out
    big_lambda = r * beta / (eps_obj - eps_p)
    sensitivity_obj = 2 * L / n
    std_obj = sensitivity_obj * (1 + np.sqrt(2 * np.log(1 / delta_obj))) / eps_p
    return big_lambda, std_obj


def slopes(u, y, kind):
    if kind == "logistic":
        return -y[:, None] * expit(-y[:, None] * u)
    return softmax(u, axis=1) - np.eye(u.shape[1])[y]


def solution(X, y, kind, outputs, ridge, b):
    """By scipy, of the perturbed objective with the penalty in its quadratic term."""

    def gradient(w):
        W = w.reshape(outputs, -1)
        return (slopes(X @ W.T, y, kind).T @ X / len(y) + ridge * W + b).ravel()

    found = optimize.root(gradient, np.zeros(b.size), tol=1e-13)
    assert np.abs(gradient(found.x)).max() < 1e-11
    return found.x.reshape(b.shape)


@pytest.mark.parametrize(
    ("eps", "strength", "shares"),
    [
        (0.02, STRENGTH, {}),
        (EPS, STRENGTH, {}),
        (7.0, STRENGTH, {"noise_share": 0.5, "output_share": 0.2}),
        (EPS, 30.0, {}),
    ],
)
@pytest.mark.parametrize("kind", ["logistic", "softmax"])
def test_models_are_the_literal_ones(kind, eps, strength, shares):
    """Each agent alone does what the code does; the penalty is a part of Lambda, or enough if it is strong."""
    K, problem = (1, LOGISTIC) if kind == "logistic" else (3, SOFTMAX)
    problem = {**problem, "strength": strength}
    data, gamma = in_unit_ball(max(K, 2)), 1e-10
    L, beta, r = (1.0, 0.25, 2) if K == 1 else (math.sqrt(2), 0.5, 4)
    y = 2 * data.y_train - 1 if K == 1 else data.y_train
    z, w, _ = released(data, problem, shares, epsilon=eps)
    noise, output = shares.get("noise_share", 0.9), shares.get("output_share", 0.01)
    agents = np.split(np.arange(N), np.cumsum(SIZES)[:-1])
    for s, seed in enumerate(SEEDS):
        sent = []
        for i, (rows, m) in enumerate(zip(agents, SIZES, strict=True)):
            big, std = theirs(m, eps, DELTA, L, beta, r, noise, output)
            if K > 1:  # for r = 2 this is the square root of the code
                quantile = stats.chi.isf((1 - output) * DELTA, r)
                std = 2 * L / m * (1 + quantile) / (noise * (1 - output) * eps)
            ridge = max(big / m, strength)
            key = noise_key(seed, i)
            b = std * standard("gaussian", K * J, key, 1, 0).reshape(K, J)
            v = solution(data.X_train[rows].astype(float), y[rows], kind, K, ridge, b)
            grid, apart = on_grid(2 * gamma / ridge, math.sqrt(K * J))
            std_out = apart * (1 + math.sqrt(2 * math.log(1 / (output * DELTA)))) / (output * eps)
            xi = std_out * standard("gaussian", K * J, key, 1, 1).reshape(K, J)
            sent.append(v + grid * np.round(xi / grid))
            np.testing.assert_allclose(z[i, s], sent[-1], rtol=1e-6, atol=1e-7)
        np.testing.assert_allclose(w[s], z[:, s].mean(axis=0), rtol=1e-12)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("gamma", [1e-14, 1e-4])
def test_noise_on_the_solution_covers_all_that_is_left(monkeypatch, gamma, dtype):
    """What the solver leaves, in exact arithmetic, and how far b is from real numbers; records are mostly zeros."""
    rng = np.random.default_rng(3)
    m, J, K = 200, 40, 3
    X = np.where(rng.uniform(size=(m, J)) < 0.1, rng.uniform(size=(m, J)), 0).astype(np.float32) / 4
    y = rng.integers(0, K, m)
    data = replace(in_unit_ball(K), X_train=X, y_train=y, X_test=X[:9], y_test=y[:9], domain=(0, 1))
    asked, sent, drawn, perturbed = [], [], Entered.draw, AMP.perturbed

    def noted(release, std, grid, counted=True):
        draw = drawn(release, std, grid, counted)
        asked.append((std, grid, draw + np.zeros(draw.shape)))
        return draw

    def released_by(*of):
        sent.append(perturbed(*of))
        return sent[0]

    monkeypatch.setattr(Entered, "draw", noted)
    monkeypatch.setattr(AMP, "perturbed", released_by)
    given = {"agents": 1, "epsilon": EPS, "dtype": dtype}
    released(data, SOFTMAX, {"tolerance": gamma}, **given)
    (std, grid, b), (std_out, grid_out, xi) = asked
    kappa = max(theirs(m, EPS, DELTA, math.sqrt(2), 0.5, 4)[0] / m, STRENGTH)
    t = math.sqrt(2 * math.log(1 / (0.01 * DELTA)))
    covered = std_out * 0.01 * EPS / (1 + t) * kappa / 2  # of the norm of a gradient
    assert (grid <= std * 2.0**-47).all()
    assert (covered >= gamma + math.sqrt(J * K) * np.maximum(grid / 2, std * 2.0**-46)).all()
    assert gamma < 1e-10 or covered == pytest.approx(gamma, rel=0.01)
    records, v, b = (each.astype(np.longdouble) for each in (X, sent[0] - xi, b))
    rounded = (kappa + 0.5) * math.sqrt(J * K) * grid_out / 2
    for s in range(len(SEEDS)):
        h = softmax(records @ v[0, s].T, axis=1)
        h[np.arange(m), y] -= 1
        left = h.T @ records / m + kappa * v[0, s] + b[0, s]
        assert np.linalg.norm(left) <= covered[0, s] + rounded[0, s]


# What it costs


def entered(federation):
    costs = {ledger.composition() for block in federation.blocks for ledger in block.noise.ledgers}
    (((stated, count),),) = costs
    assert (count, stated.delta) == (1, federation.privacy.delta)
    return stated.epsilon


@settings(max_examples=60, deadline=None)
@given(
    st.floats(0.001, 12),
    st.floats(0.05, 0.95),
    st.floats(0.005, 0.9),
    st.floats(-9, -2),
    st.sampled_from([(1, 1), (1, 30), (2, 30), (9, 7840)]),
)
@example(10.0, 0.5, 0.875, -2.0, (1, 30))  # the largest budgets of both parts differ
def test_a_release_costs_its_budget_at_most(epsilon, noise, output, power, sizes):
    """And where a record contributes nothing, half of the budget for the objective, and that for the solver.

    As for the classical Gaussian mechanism, there is a largest budget for which the formula of the noise is right. The
    ledger knows what it costs beyond.
    """
    rank, size = sizes
    method = AMP(noise_share=noise, output_share=output)

    class Problem:
        loss = type("Loss", (), {"rank": staticmethod(lambda outputs: rank)})
        model_shape = (rank, size)

    Problem.size = size
    budget = method.budget(Problem, Privacy(epsilon, 10**power))
    zero_out, replace_ = (budget.cost(c).epsilon for c in (1, 2))
    assert zero_out <= replace_
    inside = norm_quantile(budget.dimensions(2), budget.delta_objective)
    outside = norm_quantile(2, budget.delta_output)
    if budget.noise <= 2 * (1 + inside) and budget.output <= 2 * (1 + outside):
        assert replace_ <= epsilon * (1 + 1e-12)
        assert size == 1 or zero_out <= epsilon * ((1 - output) / 2 + output) * (1 + 1e-12)


@pytest.mark.parametrize("relation", ["zero_out", "replace"])
@pytest.mark.parametrize("kind", ["logistic", "softmax"])
def test_the_ledger_has_the_proofs_bound(kind, relation):
    """By hand, from the standard deviation and Lambda that were used."""
    K, problem = (1, LOGISTIC) if kind == "logistic" else (3, SOFTMAX)
    rank = max(K - 1, 1)
    times = 1 if relation == "zero_out" else 2
    *_, federation = released(
        in_unit_ball(max(K, 2)), problem, epsilon=EPS, privacy={"relation": relation}
    )
    inside, out = 0.99 * EPS, 0.01 * EPS
    std = 2 * (1 + stats.chi.isf(0.99 * DELTA, 2 * rank)) / (0.9 * inside)  # over L / m
    t = stats.chi.isf(0.99 * DELTA, times * rank)
    epsilon = times / std * t + (times / std) ** 2 / 2
    epsilon += rank * math.log(1 + 0.1 * inside / (2 * rank))
    t = math.sqrt(-2 * math.log(0.01 * DELTA))
    epsilon += out / (1 + t) * t + (out / (1 + t)) ** 2 / 2
    assert entered(federation) == pytest.approx(epsilon, rel=1e-9)


def density(v, X, y, std, ridge, std_out):
    """Of what an agent with one feature releases, at v: that of b times its derivative, and the noise on top."""

    def of_solution(v):
        s = expit(-y * X * v[..., None])
        b = -((-y * X * s).mean(axis=-1) + ridge * v)
        slope = (X**2 * s * (1 - s)).mean(axis=-1) + ridge
        return stats.norm.pdf(b, scale=std) * slope

    if std_out == 0:
        return of_solution(v)
    nodes, weights = np.polynomial.hermite_e.hermegauss(20)
    parts = zip(nodes, weights / weights.sum(), strict=True)
    return sum(weight * of_solution(v - std_out * node) for node, weight in parts)


@pytest.mark.parametrize("relation", ["zero_out", "replace"])
@pytest.mark.parametrize("epsilon", [0.3, 2.0, 8.0])
@pytest.mark.parametrize("m", [1, 5])
def test_the_divergence_of_neighbours_is_below_delta(m, epsilon, relation):
    """Hockey-stick divergences of the released value, for one feature, by quadrature; both ways."""
    delta = 1e-3
    rng = np.random.default_rng(m)
    X, y = rng.uniform(-1, 1, m), rng.choice([-1.0, 1.0], m)
    X[0] = 1.0
    other, labels = X.copy(), y.copy()
    if relation == "zero_out":
        other[0] = 0
    else:
        labels[0] = -y[0]
    data = in_unit_ball(2)
    data = replace(data, X_train=data.X_train[:, :1], X_test=data.X_test[:, :1])
    weak, given = {**LOGISTIC, "strength": 1e-9}, {"epsilon": epsilon, "delta": delta}
    federation = played(data, weak, rounds=0, **given).federation
    budget = AMP().budget(federation.problem, Privacy(epsilon, delta))
    std = budget.noise_std(np.array([[1.0]]), np.array([[m]])).item()
    ridge = budget.convexity(np.array([[0.25]])).item() / m
    left = 0.02 * std / ridge  # as if the solver left so much, to the worse side for each
    apart = np.array([[2 * left]])
    std_out = budget.output_std(apart).item()
    times = 1 if relation == "zero_out" else 2
    entered = budget.cost(times).epsilon
    reach = (10 * std + 1) / ridge + 12 * std_out
    v = np.linspace(-reach, reach, 20_001)
    for sign in (-1, 1):
        one = density(v - sign * left, X, y, std, ridge, std_out)
        two = density(v + sign * left, other, labels, std, ridge, std_out)
        assert integrate.trapezoid(one, v) == pytest.approx(1, abs=1e-6)
        for p, q in ((one, two), (two, one)):
            found = integrate.trapezoid(np.maximum(p - math.exp(entered) * q, 0), v)
            assert found <= delta


@settings(max_examples=150, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([0.05, 1.0, 6.0]),
    st.sampled_from([1, 2, 30]),
    st.sampled_from(["zero_out", "replace"]),
    st.sampled_from([2, 4]),
)
def test_solutions_lose_no_more_than_is_entered(seed, epsilon, m, relation, K):
    """Log ratio of the densities of a softmax solution, where its noise is likely as the proof says.

    The density is that of b times the determinant of the Hessian, of all K J entries.
    """
    rng = np.random.default_rng(seed)
    features, delta = 3, 1e-2
    X = rng.normal(size=(m, features))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    y = rng.integers(0, K, m)
    other, labels = X.copy(), y.copy()
    if relation == "zero_out":
        other[0] = 0
    else:
        away = rng.normal(size=features)
        other[0] = -X[0] if seed % 2 else away / np.linalg.norm(away)
        labels[0] = rng.integers(0, K)

    class Problem:
        loss = type("Loss", (), {"rank": staticmethod(lambda outputs: outputs - 1)})
        model_shape = (K, features)
        size = K * features

    budget = AMP().budget(Problem, Privacy(epsilon, delta))
    std = budget.noise_std(np.array([[math.sqrt(2)]]), np.array([[m]])).item()
    ridge = budget.convexity(np.array([[0.5]])).item() / m
    inside = budget.cost(1 if relation == "zero_out" else 2).epsilon
    b = std * rng.normal(size=(K, features)) * rng.choice([0.3, 1.0])

    def at(v, records, y):
        h = softmax(records @ v.T, axis=1)
        gradient = (h - np.eye(K)[y]).T @ records / m + ridge * v
        hessian = sum(
            np.kron(np.diag(p) - np.outer(p, p), np.outer(x, x))
            for p, x in zip(h, records, strict=True)
        ) / m + ridge * np.eye(K * features)
        return -gradient, np.linalg.slogdet(hessian)[1]

    def residual(v):
        return (at(v.reshape(K, features), X, y)[0] - b).ravel()

    v = optimize.root(residual, np.zeros(K * features), tol=1e-12).x.reshape(K, features)
    (mine, det), (needed, other_det) = at(v, X, y), at(v, other, labels)
    log_ratio = ((needed**2).sum() - (mine**2).sum()) / (2 * std**2) + det - other_det
    # The part of b in the space where gradients differ: of slopes that add up to 0, along the records.
    centred = mine - mine.mean(axis=0)
    records = X[:1] if relation == "zero_out" else np.stack([X[0], other[0]])
    part = np.linalg.norm(centred @ np.linalg.qr(records.T)[0]) / std
    contributions = 1 if relation == "zero_out" else 2
    if part <= norm_quantile(budget.dimensions(contributions), budget.delta_objective):
        assert log_ratio <= inside * (1 + 1e-9)


@pytest.mark.parametrize("relation", ["zero_out", "replace"])
@pytest.mark.parametrize("total", [0.5, 2.0])
def test_the_profile_leads_to_less_noise_at_one_total(total, relation):
    """It is reached by the same formulas for noise, with a larger budget, and independently by the mean excess."""
    found = {}
    privacy = {"total": total, "relation": relation}
    for bound in ("quantile", "profile"):
        *_, federation = released(in_unit_ball(), LOGISTIC, {"bound": bound}, privacy=privacy)
        assert 0.99 * total <= federation.ledgers[0].epsilon(DELTA) <= total
        found[bound] = federation.privacy.epsilon
    assert found["profile"] > 1.1 * found["quantile"]
    inside, out = 0.99 * found["profile"], 0.01 * found["profile"]
    times = 1 if relation == "zero_out" else 2
    u = times * 0.9 * inside / (2 * (1 + stats.chi.isf(0.99 * DELTA, 2)))
    t = math.sqrt(-2 * math.log(0.01 * DELTA))
    u_out = out / (1 + t)
    known = math.log1p(0.1 * inside / 2) + u**2 / 2 + u_out * t + u_out**2 / 2
    excess, _ = integrate.quad(
        lambda r: stats.chi.pdf(r, times) * max(-math.expm1(total - known - u * r), 0), 0, 20
    )
    assert 0.9 * DELTA < excess + 0.01 * DELTA * (1 - excess) <= 1.1 * DELTA


def test_bounds_change_no_noise_at_one_budget():
    models = [
        released(in_unit_ball(), LOGISTIC, {"bound": bound}, epsilon=EPS)[0]
        for bound in ("quantile", "profile")
    ]
    np.testing.assert_array_equal(*models)
    assert "bound" not in TypeAdapter(AMP).dump_python(AMP())


# What is refused


@pytest.mark.parametrize(
    ("problem", "given", "message"),
    [
        ({**LOGISTIC, "penalty": "l1"}, {}, "amp needs a penalty with a gradient"),
        ({"loss": "sigmoid"}, {}, "amp needs a convex loss"),
        ({"loss": "squared_hinge"}, {}, "amp needs a loss whose derivative is bounded"),
        ({"loss": {"name": "logistic", "floor": 0.1}}, {}, "amp needs a loss without a floor"),
        (SOFTMAX, {"params": {"bound": "profile"}}, "amp needs a loss"),
        (LOGISTIC, {"rounds": 3}, "rounds: amp does all in one round, got 3; set rounds: 1"),
        (LOGISTIC, {"variant": "reference"}, "variant: amp has no authors' code to follow"),
        (LOGISTIC, {"privacy": {"trust": "secure_sum"}}, "secure_sum does not suit amp"),
    ],
)
def test_what_it_does_not_suit_is_refused(problem, given, message):
    with pytest.raises(ValueError, match=message):
        simulate(in_unit_ball(2), "amp", problem=problem, epsilon=1, **{"rounds": 1, **given})
