"""DP-FedAvg, DP-SCAFFOLD and federated private ADMM: transcriptions, closed forms, and bounds on neighbours."""

import math
from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

from admmbench import simulate
from admmbench.contracts.made import make_dataset
from admmbench.datasets import Attribute
from admmbench.engine.federation import workers
from admmbench.engine.rounds import assemble
from admmbench.engine.spec import RunSpec
from admmbench.privacy import Noise
from tests.noise import noisy

P, J, N, STRENGTH, EPS, DELTA, T, SEEDS = 3, 6, 62, 0.003, 0.9, 1e-4, 5, [4, 1]
SIZES = [21, 21, 20]
LOGISTIC = {"loss": "logistic", "penalty": "l2", "strength": STRENGTH, "per": "agent"}
# That of two contributions.
MULTIPLIER = 2 * math.sqrt(2 * math.log(1.25 / DELTA)) / EPS
FEDAVG = {"learning_rate": 0.7, "local_updates": 3, "clip": 0.2}
SCAFFOLD = {"learning_rate": 0.6, "local_updates": 3}
ADMM = {"rho": 0.2, "relaxation": 0.8, "tolerance": 1e-11}


def binary():
    made = make_dataset(N, 30, J, 2)
    longest = 1.001 * np.linalg.norm(np.concatenate([made.X_train, made.X_test]), axis=1).max()
    return replace(made, X_train=made.X_train / longest, X_test=made.X_test / longest)


def played(name, params, rounds, data=None, problem=LOGISTIC, **given):
    """States after each round, of a run in double precision."""
    data = data or binary()
    spec = RunSpec(
        dataset=data,
        algorithm=name,
        params=params,
        problem=problem,
        dtype="float64",
        rounds=rounds,
        **{"agents": P, "seeds": SEEDS, "sensitivity": "global", "delta": DELTA, **given},
    )
    states = []
    with workers(1) as pool:
        federation = assemble(spec, data, pool)
        state = spec.method.init(federation)
        for t in range(1, rounds + 1):
            for block in federation.blocks:
                block.noise.begin_round(t)
            spec.method.round(t, state, federation)
            states.append({name: np.copy(each) for name, each in vars(state).items()})
    return states


# Transcriptions


def gradients():
    """The gradient of each agent's mean loss, at one model, without the penalty."""
    data = binary()
    b = 2.0 * data.y_train - 1
    shares = np.split(np.arange(N), np.cumsum(SIZES)[:-1])

    def gradient(i, w):
        total = np.zeros(J)
        for j in shares[i]:
            x = data.X_train[j].astype(np.float64)
            total -= b[j] * x / (1 + math.exp(b[j] * (x @ w)))
        return total / len(shares[i])

    return gradient


def perturbed(value, bound, where, eps):
    return value if math.isinf(eps) else noisy(value, "gaussian", bound, MULTIPLIER, where)


def fedavg(seed, eps):
    """Algorithm 1 of the paper with all agents; c1 = 1 and curvature 1/4 of records in the unit ball."""
    gradient, w = gradients(), np.zeros(J)
    r, steps, clip = FEDAVG.values()
    for t in range(1, T + 1):
        sent = []
        for i, m in enumerate(SIZES):
            z = w.copy()
            for _ in range(steps):
                z = z - r * (gradient(i, z) + STRENGTH * z)
            delta = (z - w) * min(1.0, clip / float(np.linalg.norm(z - w)))
            bound = min(2 * clip, steps * r / m)
            sent.append(perturbed(delta, bound, (seed, i, t, 0), eps))
        w = w + sum(sent) / P
        yield w, [w - sum(sent) / P + each for each in sent]


def scaffold(seed, eps):
    """train_dp of user_scaffold.py and add_parameters of server_scaffold.py, with the server's rate 1."""
    gradient, x, c = gradients(), np.zeros(J), np.zeros(J)
    rate, steps = SCAFFOLD.values()
    controls = [np.zeros(J) for _ in range(P)]
    for t in range(1, T + 1):
        models, new = [], []
        for i, m in enumerate(SIZES):
            y = x.copy()
            for k in range(steps):
                g = perturbed(gradient(i, y), 1 / m, (seed, i, t, k), eps) + STRENGTH * y
                y = y - rate * (g + c - controls[i])
            models.append(y)
            new.append(controls[i] - c - (y - x) / (steps * rate))
        x = x + sum(y - x for y in models) / P
        c = c + sum(a - b for a, b in zip(new, controls, strict=True)) / P
        controls = new
        yield x, models


def private_admm(seed, eps):
    """Lines 61 to 71 of dpadmm.py, with exact subproblems by scipy, gamma = 1 / rho and no clipping."""
    gradient, u = gradients(), [np.zeros(J) for _ in range(P)]
    gamma, part = 1 / ADMM["rho"], ADMM["relaxation"]
    for t in range(1, T + 1):
        w = np.mean(u, axis=0)
        for i, m in enumerate(SIZES):

            def slope(v, i=i, center=2 * w - u[i]):
                return gradient(i, v) + STRENGTH * v + (v - center) / gamma

            x = optimize.root(slope, w, tol=1e-13).x
            bound = 2 * part * (1 / m + 2 * ADMM["tolerance"]) / (STRENGTH + 1 / gamma)
            # The suite rounds the local model to the grid, which stands for u.
            z = perturbed(w + 2 * part * (x - w), bound, (seed, i, t, 0), eps)
            u[i] = u[i] + z - w
        yield np.mean(u, axis=0), None


@pytest.mark.parametrize("eps", [math.inf, EPS])
@pytest.mark.parametrize(
    ("name", "params", "literal"),
    [
        ("dp_fedavg", FEDAVG, fedavg),
        ("dp_scaffold", SCAFFOLD, scaffold),
        ("private_admm", ADMM, private_admm),
    ],
)
def test_trajectory_is_the_literal_one(name, params, literal, eps):
    states = played(name, params, T, epsilon=eps)
    for s, seed in enumerate(SEEDS):
        for state, (w, models) in zip(states, literal(seed, eps), strict=True):
            np.testing.assert_allclose(state["w"][s, 0], w, rtol=1e-7, atol=1e-9)
            for i, model in enumerate(models or []):
                np.testing.assert_allclose(state["z"][i, s, 0], model, rtol=1e-7, atol=1e-9)


# Closed forms


@pytest.mark.parametrize(
    ("name", "params"),
    [("dp_fedavg", {"clip": 1e6}), ("dp_scaffold", {})],
)
def test_one_local_step_is_that_of_dpsgd(name, params):
    """In the mean over agents control variates cancel."""
    step = {"learning_rate": 0.4}
    states = played(name, {**step, **params, "local_updates": 1}, T)
    for state, other in zip(states, played("dpsgd", step, T), strict=True):
        np.testing.assert_allclose(state["w"], other["w"], rtol=1e-10, atol=1e-13)


def test_the_noise_of_one_local_step_is_that_of_dpsgd():
    """On the step, not on the gradient, and of the other sign; the totals are the same."""
    given = {"agents": P, "epsilon": EPS, "sensitivity": "global", "rounds": 3, "problem": LOGISTIC}
    one = simulate(
        binary(), "dp_fedavg", {"learning_rate": 0.4, "local_updates": 1, "clip": 1e6}, **given
    )
    other = simulate(binary(), "dpsgd", {"learning_rate": 0.4}, **given)
    np.testing.assert_allclose(one.noise_magnitude, 0.4 * other.noise_magnitude, rtol=0.01)
    np.testing.assert_array_equal(one.epsilon_total, other.epsilon_total)


def test_private_admm_without_relaxation_is_pvp():
    """Douglas and Rachford: relaxation 1/2 is ADMM."""
    params = {"rho": 0.2, "tolerance": 1e-11}
    one = played("private_admm", {**params, "relaxation": 0.5}, T, epsilon=EPS)
    other = played("pvp", params, T, epsilon=EPS)
    for state, wanted in zip(one, other, strict=True):
        # The grids differ in nothing, and the sums by rounding.
        np.testing.assert_allclose(state["w"], wanted["w"], rtol=1e-8)


def test_the_noise_of_private_admm_covers_what_its_solver_leaves():
    """2 tolerance beside c1 / m, relaxed as well."""
    given = {"agents": 2, "epsilon": EPS, "sensitivity": "global", "rounds": 1, "problem": LOGISTIC}
    loose, exact = (
        simulate(binary(), "private_admm", {**ADMM, "tolerance": each}, dtype="float64", **given)
        for each in (0.02, 1e-10)
    )
    ratio = float((loose.noise_magnitude / exact.noise_magnitude).mean())
    assert ratio == pytest.approx(1 + 2 * 0.02 * N / 2, rel=0.02)


@pytest.mark.parametrize("relaxation", [0.3, 0.9])
def test_private_admm_finds_the_optimum(relaxation):
    params = {"rho": 0.05, "relaxation": relaxation, "tolerance": 1e-11}
    strong = {**LOGISTIC, "strength": 0.05}
    wanted = played("centralized", {}, 1, problem=strong)[-1]["w"]
    found = played("private_admm", params, 200, problem=strong)[-1]["w"]
    np.testing.assert_allclose(found, wanted, atol=2e-6)


def test_control_variates_take_the_drift_of_local_steps():
    """Agents differ: DP-FedAvg stops where their local steps cancel, DP-SCAFFOLD at the optimum."""
    made = binary()
    order = np.argsort(made.X_train[:, 0] + made.y_train)
    data = replace(made, X_train=made.X_train[order], y_train=made.y_train[order])
    strong = {**LOGISTIC, "strength": 0.1}
    given = {"data": data, "problem": strong}
    params = {"learning_rate": 1.0, "local_updates": 10}
    wanted = played("centralized", {}, 1, **given)[-1]["w"]
    scaffold = played("dp_scaffold", params, 400, **given)[-1]["w"]
    fedavg = played("dp_fedavg", {**params, "clip": 1e6}, 400, **given)[-1]["w"]
    np.testing.assert_allclose(scaffold, wanted, atol=1e-6)
    assert np.abs(fedavg - wanted).max() > 1e-3


def test_messages_are_counted():
    """What the server sends to each agent, and they to it, in models."""
    given = {"agents": P, "epsilon": EPS, "rounds": 1, "problem": LOGISTIC}
    for name, models in (("dp_fedavg", 2), ("dp_scaffold", 4), ("private_admm", 2)):
        assert float(simulate(binary(), name, **given).floats_sent[-1]) == models * P * J


# Neighbours


def released(name, params, data, loss, records, w):
    """What the only agent releases first, without noise, from a model that is known; and the stated sensitivity."""
    problem = {"loss": loss, "strength": 0.02, "per": "agent", "records": records}
    spec = RunSpec(
        dataset=data,
        algorithm=name,
        params=params,
        problem=problem,
        agents=1,
        seeds=[0],
        dtype="float64",
        sensitivity="global",
    )
    with workers(1) as pool:
        federation = assemble(spec, data, pool)
        state = spec.method.init(federation)
        state.w[:], state.z[:] = w, w
        drawn = []

        def none(noise, sensitivity):
            drawn.append(sensitivity.l2.item())
            return 0.0

        with patch.object(Noise, "gaussian", none):
            spec.method.round(1, state, federation)
    return state.z[0, 0], drawn[0]


def pair(rng, extreme, n_classes):
    """Data of a few records; the same where the first is null; and where it is another."""
    n = int(rng.integers(1, 6))
    X = rng.uniform(-1, 1, (n, 3)).astype(np.float32)
    y = rng.integers(0, n_classes, n)
    if extreme:
        X[0] = 1
    made = make_dataset(n, 4, 3, n_classes)
    one = replace(made, X_train=X, y_train=y, domain=(-1.0, 1.0))
    null, other = X.copy(), X.copy()
    null[0], other[0] = 0, -X[0] if extreme else rng.uniform(-1, 1, 3)
    return one, replace(one, X_train=null), replace(one, X_train=other)


METHODS = st.one_of(
    st.fixed_dictionaries(
        {
            "learning_rate": st.floats(0.01, 6),
            "local_updates": st.integers(1, 8),
            "clip": st.sampled_from([0.05, 0.5, 1e6]),
        }
    ).map(lambda params: ("dp_fedavg", params)),
    st.fixed_dictionaries(
        {
            "rho": st.floats(0.05, 2),
            "relaxation": st.floats(0.1, 1),
            "tolerance": st.sampled_from([1e-10, 0.05]),
        }
    ).map(lambda params: ("private_admm", params)),
    st.just(("dp_scaffold", {"learning_rate": 1.0, "local_updates": 1})),
)


@settings(max_examples=150, deadline=None)
@given(
    method=METHODS,
    seed=st.integers(0, 2**32),
    extreme=st.booleans(),
    loss=st.sampled_from(["logistic", "softmax", "sigmoid"]),
    records=st.sampled_from([{}, {"max_l2_norm": 0.5}]),
    scale=st.sampled_from([0.0, 0.3, 3.0]),
)
def test_a_record_moves_what_is_released_no_further_than_stated(
    method, seed, extreme, loss, records, scale
):
    name, params = method
    if name == "private_admm" and loss == "sigmoid":
        return
    rng = np.random.default_rng(seed)
    data = pair(rng, extreme, 3 if loss == "softmax" else 2)
    w = scale * rng.normal(size=(3 if loss == "softmax" else 1, 3))
    (value, bound), (null, same), (other, _) = (
        released(name, params, each, loss, records, w) for each in data
    )
    assert bound == same
    assert np.linalg.norm(value - null) <= bound * (1 + 1e-6) + 1e-12
    assert np.linalg.norm(value - other) <= 2 * bound * (1 + 1e-6) + 1e-12


def test_the_bound_of_local_steps_is_attained():
    """One record at the worst model, with a step so small that the model stays there."""
    made = make_dataset(4, 4, 3, 2)
    X = np.zeros((4, 3), np.float32)
    one = replace(made, X_train=X.copy(), y_train=np.array([0, 1, 0, 1]), domain=(-1.0, 1.0))
    one.X_train[0] = 1
    null = replace(one, X_train=X)
    params = {"learning_rate": 1e-3, "local_updates": 7, "clip": 1e6}
    problem = {"loss": "logistic", "strength": 1e-9, "per": "agent", "records": {}}
    w = np.full((1, 3), 20.0)
    (value, bound), (other, _) = (
        released("dp_fedavg", params, data, "logistic", problem["records"], w)
        for data in (one, null)
    )
    assert np.linalg.norm(value - other) == pytest.approx(bound, rel=1e-3)


def stated(params, problem):
    """Sensitivities of the agents, for all records in the unit ball."""
    spec = RunSpec(
        dataset=binary(),
        algorithm="dp_fedavg",
        params=params,
        problem={"records": {"max_l2_norm": 1}, "per": "agent", **problem},
        agents=P,
        seeds=[0],
        sensitivity="global",
    )
    with workers(1) as pool:
        federation = assemble(spec, binary(), pool)
        return np.concatenate(
            [spec.method.sensitivity(b.parts).l2[:, 0] for b in federation.blocks]
        )


@pytest.mark.parametrize(
    ("loss", "slope", "strength", "step", "steps"),
    [
        # The curvature is 1/4, and 1/2 with the penalty.
        ("logistic", 1, 0.0, 8.0, 4),
        ("logistic", 1, 0.25, 4.0, 4),
        ("logistic", 1, 0.25, 6.0, 1 + 2 + 4 + 8),
        ("logistic", 1, 0.0, 16.0, 1 + 3 + 9 + 27),
        # sqrt(3) / 18 of either sign.
        ("sigmoid", 1 / 4, 0.0, 18 / math.sqrt(3), 1 + 2 + 4 + 8),
    ],
)
def test_steps_beyond_two_over_the_curvature_expand(loss, slope, strength, step, steps):
    params = {"learning_rate": step, "local_updates": 4, "clip": 1e6}
    found = stated(params, {"loss": loss, "strength": strength})
    np.testing.assert_allclose(found, step * slope * steps / np.array(SIZES), rtol=1e-6)


def test_steps_of_an_l1_penalty_have_the_clip_alone():
    """Its subgradients have no curvature: signs part models that were as close as one likes."""
    for updates, wanted in ((1, 0.01 / np.array(SIZES)), (2, 0.6)):
        params = {"learning_rate": 0.01, "local_updates": updates, "clip": 0.3}
        found = stated(params, {"loss": "logistic", "penalty": "l1", "strength": 0.1})
        np.testing.assert_allclose(found, wanted, rtol=1e-6)
    one_step = {"learning_rate": 0.01, "local_updates": 2, "clip": 0.3}
    free = stated(one_step, {"loss": "logistic", "penalty": "l1", "strength": 0.0})
    assert np.isfinite(free).all()


def test_fedavg_makes_one_release_however_many_steps():
    given = {"agents": P, "epsilon": EPS, "sensitivity": "global", "rounds": 4, "problem": LOGISTIC}
    totals = [
        simulate(binary(), "dp_fedavg", {"local_updates": updates}, **given).epsilon_total[-1]
        for updates in (1, 9)
    ]
    assert totals[0] == totals[1]
    one, five = (
        simulate(binary(), "dp_scaffold", {"local_updates": e}, **{**given, "rounds": r})
        for e, r in ((1, 10), (5, 2))
    )
    assert float(one.epsilon_total[-1]) == pytest.approx(float(five.epsilon_total[-1]), rel=1e-9)


UNEQUAL = {"scheme": "by_writer"}


def unequal(sizes=(40, 15, 7)):
    """Agents of so many records, 62 together."""
    data = binary()
    of = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
    writer = Attribute(tuple("abcdefg"[: len(sizes)]), of, np.zeros(data.n_test, np.int32))
    return replace(data, attributes={"writer": writer})


def mean_gradient(data, w, rows):
    """Of the logistic loss, over some records."""
    X, y = data.X_train[rows].astype(float), np.where(data.y_train[rows] == 1, 1, -1)
    return -(X * (y / (1 + np.exp(y * (X @ w))))[:, None]).mean(axis=0)


@pytest.mark.parametrize("average", ["records", "agents"])
@pytest.mark.parametrize("name", ["dpsgd", "dp_fedavg", "dp_scaffold"])
def test_agents_weigh_as_in_the_objective(name, average):
    """With one local step, all three descend on the mean over records, or on that over agents."""
    data, rate = unequal(), 0.5
    own = [slice(0, 40), slice(40, 55), slice(55, 62)]
    params = {"learning_rate": rate}
    params |= {} if name == "dpsgd" else {"local_updates": 1}
    params |= {"clip": 100.0} if name == "dp_fedavg" else {}
    problem = {**LOGISTIC, "strength": 1e-12, "average": average}
    states = played(name, params, T, data, problem, agents=UNEQUAL, seeds=[0])
    w = np.zeros(J)
    weights = np.array([40, 15, 7]) / 62 if average == "records" else np.full(3, 1 / 3)
    for state in states:
        gradients = np.array([mean_gradient(data, w, rows) for rows in own])
        w = w - rate * weights @ gradients
        np.testing.assert_allclose(state["w"][0, 0], w, rtol=1e-9)


def slopes(data, w, seeds=1, **changes):
    """What the server steps along after a round from a model, shape (S, J), and what each ledger was told."""
    spec = RunSpec(
        dataset=data,
        algorithm="dpsgd",
        params={"learning_rate": 1.0},
        agents=UNEQUAL,
        seeds=seeds,
        rounds=1,
        dtype="float64",
        sensitivity="global",
        delta=DELTA,
        **changes,
    )
    with workers(1) as pool:
        federation = assemble(spec, data, pool)
        state = spec.method.init(federation)
        state.w[:] = w
        spec.method.round(1, state, federation)
    return (w - state.w)[:, 0], federation.ledgers


@pytest.mark.parametrize("budget", [{"epsilon": EPS}, {"privacy": {"total": 2.0}}], ids=str)
@pytest.mark.parametrize("average", ["agents", "records"])
@pytest.mark.parametrize(
    "sizes", [(40, 15, 7), (31, 0, 31), (0, 0, 9, 0, 53, 0, 0), (60, 1, 1)], ids=str
)
def test_under_a_secure_sum_the_noise_that_is_drawn_is_what_the_ledgers_are_told(
    sizes, average, budget
):
    """By brute force: the mean with noise, of many seeds, and without, where an agent has a record or a null one."""
    data, x = unequal(sizes), np.full(J, J**-0.5, np.float32)
    records = {"max_l2_norm": 1}
    given = {"problem": {**LOGISTIC, "strength": 1e-12, "average": average, "records": records}}
    secure = {"privacy": {"trust": "secure_sum", **budget.get("privacy", {})}}
    w = -50 * np.sign(2 * data.y_train[0] - 1) * x  # as wrong as can be about the record
    noisy, ledgers = slopes(data, w, 2000, **given, **{**budget, **secure})
    clean, _ = slopes(data, w, **given)
    std = (noisy - clean).std()
    moved = []
    for first, size in zip(np.cumsum(sizes) - sizes, sizes, strict=True):
        means = []
        for record in [x, 0 * x][: 2 * (size > 0)]:
            X, y = data.X_train.copy(), data.y_train.copy()
            X[first], y[first] = record, y[0]
            means.append(slopes(replace(data, X_train=X, y_train=y), w, **given)[0])
        moved.append(np.linalg.norm(means[0] - means[1]) if means else 0.0)
    told = [math.sqrt(ledger.releases().gaussian) for ledger in ledgers]
    assert len(told) == len(sizes)
    assert (np.array(moved) / std <= 1.03 * np.array(told)).all()
    assert max(moved) / std == pytest.approx(max(told), rel=0.03)
    if "privacy" in budget:
        assert 1.98 <= max(ledger.epsilon(DELTA) for ledger in ledgers) <= 2


@pytest.mark.parametrize(("average", "size"), [("agents", [7, 7, 7]), ("records", [40, 15, 7])])
def test_under_a_secure_sum_the_mean_has_the_noise_that_one_agent_would_need(average, size):
    """Agents of a sum add equal parts, whatever their weights: a record moves the mean by c1 times weight over m."""
    given = {"epsilon": EPS, "agents": UNEQUAL, "problem": {**LOGISTIC, "average": average}}
    trace = simulate(
        unequal(),
        "dpsgd",
        sensitivity="global",
        delta=DELTA,
        privacy={"trust": "secure_sum"},
        rounds=1,
        seeds=400,
        **given,
    )
    expected = MULTIPLIER * np.mean(1 / np.array(size)) / math.sqrt(P) * math.sqrt(2 / math.pi)
    assert float(trace.noise_magnitude.mean()) == pytest.approx(expected, rel=0.05)
