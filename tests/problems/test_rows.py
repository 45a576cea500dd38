"""Problems over rows, against the formulas of huang2019 record by record, brute force over neighbours, and scipy."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import optimize, special

from admmbench.base.linearized import proximal_step
from admmbench.contracts.made_up_data import make_dataset, written_by
from admmbench.datasets import Split
from admmbench.problems import as_problem
from admmbench.problems.base import RecordBounds
from admmbench.problems.batches import scale_down
from admmbench.spec.run import RunSpec
from tests.problems.helpers import (
    BY_WRITER,
    DRAWN,
    SHUFFLED,
    bind_rows,
    everyone,
    gradient_of,
    models,
    one_by_one,
    records,
    rngs,
    shares,
    with_records,
)
from tests.problems.losses import literal_penalty

LOGISTIC = {"penalty": "l2", "strength": 1e-6, "per": "agent", "average": "agents"}


def bind(dataset, scheme=1, seeds=(0,), sensitivity="local", dtype="float64", **settings):
    """The problem of huang2019, with records as they are unless settings say otherwise."""
    settings = {**LOGISTIC, **settings}
    return bind_rows(dataset, "logistic", scheme, seeds, sensitivity, dtype, **settings)


def mean_losses(block, z):
    """Mean loss of each agent's own records."""
    return block.losses(z) / block.n_samples.clip(1)[:, None]


def loss(a, b, w):
    """Formula (2)."""
    return np.logaddexp(0, -b * (w @ a))


def gradient(a, b, w):
    """Of one record, as it stands in (38) and (39)."""
    return -b * a * special.expit(-b * (w @ a))


def mean(function, a, b, w, rows):
    """(1 / m_i) sum_j over the records of one agent."""
    return sum(function(a[j], b[j], w) for j in rows) / len(rows)


# The loss and its gradient


@settings(max_examples=25)
@given(
    rng=rngs,
    n=st.integers(7, 40),
    J=st.integers(1, 9),
    S=st.integers(1, 3),
    scale=st.sampled_from([0.0, 1.0, 50.0]),
)
def test_loss_gradient_and_sensitivity_are_the_papers(rng, n, J, S, scale):
    dataset = make_dataset(n, 3, J, 2, seed=int(rng.integers(1000)))
    block = everyone(bind(dataset, SHUFFLED, range(S)))
    z = scale * rng.normal(size=(7, S, 1, J))
    value, sensitivity = gradient_of(block, z, block.n_samples)
    losses = mean_losses(block, z)
    a, b = records(dataset)
    for s in range(S):
        for i, rows in enumerate(shares(SHUFFLED, dataset, s)[0]):
            w = z[i, s, 0]
            np.testing.assert_allclose(value[i, s, 0], mean(gradient, a, b, w, rows), atol=1e-12)
            assert losses[i, s] == pytest.approx(mean(loss, a, b, w, rows), rel=1e-10, abs=1e-300)
            terms = [np.abs(gradient(a[j], b[j], w)).sum() / len(rows) for j in rows]
            assert sensitivity[i, s] == pytest.approx(max(terms), rel=1e-9, abs=1e-300)


def test_single_precision_is_close_to_double_precision(two):
    z = np.random.default_rng(3).normal(size=(5, 2, 1, 7)).astype(np.float32)
    single, double = (everyone(bind(two, 5, range(2), dtype=t)) for t in ("float32", "float64"))
    value = single.gradient(z, single.n_samples).value
    assert value.dtype == np.float32
    exact = double.gradient(z.astype(np.float64), double.n_samples).value
    np.testing.assert_allclose(value, exact, atol=1e-6)
    np.testing.assert_allclose(
        mean_losses(single, z), mean_losses(double, z.astype(np.float64)), rtol=1e-6
    )


# What one record can change


# Two records that almost agree, in the quadrant that is admissible, and a model that is confidently wrong about both:
# their gradients are almost a and -a, which is the worst that a replacement can do. It is as sure of the others.
ANGLES = np.deg2rad([[10.0], [25.0], [80.0], [43.0], [47.0]])
CIRCLE = np.hstack([np.cos(ANGLES), np.sin(ANGLES)])
EXTREME_MODEL = 1e5 * (CIRCLE[4] - CIRCLE[3])


def neighbours(rng, J, extreme):
    """Records of an agent, the same with one of them replaced, and a model."""
    if extreme:
        a, b, w = CIRCLE[:4], np.array([1, -1, 1, 1.0]), EXTREME_MODEL
        i, new, label = 3, CIRCLE[4], -1
    else:
        a, w = rng.random((int(rng.integers(2, 8)), J)), rng.normal(size=J) * rng.choice([1, 10])
        b = rng.choice([-1.0, 1.0], len(a))
        i, new, label = int(rng.integers(len(a))), rng.random(J), rng.choice([-1, 1])
        norm = np.linalg.norm(np.vstack([a, new]), axis=1).max()
        a, new = a / norm, new / norm
    other_a, other_b = a.copy(), b.copy()
    other_a[i], other_b[i] = new, label
    return (a, b), (other_a, other_b), w


def bind_pair(one, other, kind, **params):
    """Blocks of both neighbours, and c1 that is common to them."""
    found = [
        everyone(
            bind(with_records(a, b > 0), sensitivity=kind, records={"max_l2_norm": 1.0}, **params)
        )
        for a, b in (one, other)
    ]
    return found, max(block.gradient_bound[0, 0] for block in found)


@settings(max_examples=40)
@given(
    rng=rngs,
    J=st.integers(1, 6),
    extreme=st.booleans(),
    kind=st.sampled_from(["local", "global"]),
    regularizer=st.sampled_from(["l1", "l2"]),
    rho=st.floats(0.01, 10),
    inverse_eta=st.floats(0, 10),
)
def test_replacing_a_record_moves_the_step_of_dp_admm_as_far_as_lemma_1_says(
    rng, J, extreme, kind, regularizer, rho, inverse_eta
):
    one, other, z = neighbours(rng, J, extreme)
    blocks, c1 = bind_pair(one, other, kind, penalty=regularizer, strength=0.1)
    m, w, dual = len(one[0]), rng.normal(size=len(z)), rng.normal(size=len(z))
    gradients, steps = [], []
    for block, (a, b) in zip(blocks, (one, other), strict=True):
        value = block.gradient(z.reshape(1, 1, 1, -1), block.n_samples).value
        gradients.append(value.ravel().copy())
        block.whole.add_penalty_gradient(value, z.reshape(1, 1, 1, -1))
        steps.append(proximal_step(value.ravel(), z, w, dual, rho, inverse_eta))
        # (38a) and (39a)
        slope = np.sign(z) if regularizer == "l1" else z
        literal = -mean(gradient, a, b, z, range(m)) - 0.1 * slope
        literal = (literal + dual + rho * w + z * inverse_eta) / (rho + inverse_eta)
        np.testing.assert_allclose(steps[-1], literal, rtol=1e-5, atol=1e-5 / rho)
    # Records are stored in single precision, and clipped a little below 1.
    slack = 1 + 2e-6
    assert np.linalg.norm(gradients[0] - gradients[1]) <= 2 * c1 / m * slack
    bound = 2 * c1 / (m * (rho + inverse_eta))
    assert np.linalg.norm(steps[0] - steps[1]) <= bound * slack
    if extreme:
        assert np.linalg.norm(steps[0] - steps[1]) >= 0.99 * bound


def solve(block, w, dual, rho):
    """Minimise f_i(v) - <dual, v> + (rho / 2) ||v - w||^2: (6), line 4 of algorithm 2."""
    # Where the minimiser would be without a loss; what is searched for is the way from there.
    start = (rho * w + dual) / (rho + block.whole.penalty_curvature)

    def slope(way):
        at = (start + way).reshape(1, 1, 1, -1)
        own = block.whole.add_penalty_gradient(block.gradient(at, block.n_samples).value, at)
        return own.ravel() - dual + rho * (start + way - w)

    found = optimize.root(slope, np.zeros_like(w), tol=1e-13).x
    # The objective is rho-strongly convex: this bounds the distance to the minimiser.
    assert np.linalg.norm(slope(found)) / rho <= 1e-8
    return start + found


@settings(max_examples=30)
@given(
    rng=rngs,
    J=st.integers(1, 6),
    extreme=st.booleans(),
    kind=st.sampled_from(["local", "global"]),
    rho=st.floats(0.05, 2),
    strength=st.sampled_from([1e-6, 0.05, 1.0]),
)
def test_replacing_a_record_moves_the_solution_of_pvp_as_far_as_lemma_4_says(
    rng, J, extreme, kind, rho, strength
):
    one, other, w = neighbours(rng, J, extreme)
    blocks, c1 = bind_pair(one, other, kind, strength=strength)
    dual = rng.normal(size=len(w))
    solutions = [solve(block, w, dual, rho) for block in blocks]
    # n = 1 agent: lambda is lambda / n.
    bound = 2 * c1 / ((strength + rho) * len(one[0]))
    distance = np.linalg.norm(solutions[0] - solutions[1])
    assert distance <= bound * (1 + 2e-6) + 2e-8
    if extreme:
        assert distance >= 0.98 * bound


# Curvature


def hessian(a, b, w):
    s = special.expit(b * (w @ a))
    return s * (1 - s) * np.outer(a, a)


def test_the_largest_curvature_is_that_of_all_features_at_their_bound(two):
    block = everyone(bind(two, 4, sensitivity="global"))
    assert block.curvature_bound[0, 0] == pytest.approx(7 / 4)


def test_smoothness_bounds_the_hessian_of_each_agents_part(written):
    block = everyone(bind(written, BY_WRITER, strength=0.01, average="records"))
    a, b = records(written)
    for i, rows in enumerate(shares(BY_WRITER, written, 0)[0]):
        worst = 0.0
        for seed in range(10):
            w = np.random.default_rng(seed).normal(size=7) * (seed % 4)
            part = sum(hessian(a[j], b[j], w) for j in rows) / 60 + 0.01 * np.eye(7)
            worst = max(worst, np.linalg.eigvalsh(part).max())
        assert 0.5 * block.smoothness[i, 0] <= worst <= block.smoothness[i, 0] * (1 + 1e-12)


def test_smoothness_is_that_of_equal_records():
    records = with_records(np.tile([0.6, 0.8], (10, 1)), [0, 1] * 5)
    dataset = written_by(records, np.repeat([0, 1], [3, 7]), ["a", "b"])
    block = everyone(bind(dataset, BY_WRITER, strength=0.01, average="records"))
    np.testing.assert_allclose(block.smoothness[:, 0], np.array([3, 7]) / 40 + 0.01, rtol=1e-6)


# Scaled records


# Subnormal numbers, those that float32 ends at, and all between.
SIZES = (1e-45, 1e-40, 1e-20, 1.0, 1e20, 1e38, 3.4e38)


@settings(max_examples=200)
@given(
    sizes=st.lists(st.sampled_from(SIZES), min_size=1, max_size=12),
    rng=rngs,
    bound=st.integers(-45, 38).map(lambda power: 10.0**power),
    bounds=st.sampled_from([("max_l1_norm",), ("max_l2_norm",), ("max_l1_norm", "max_l2_norm")]),
    dtype=st.sampled_from(["float32", "float64"]),
)
@example([3.4e38] * 12, np.random.default_rng(0), 1e-6, ("max_l2_norm",), "float32")
@example([3.4e38] * 12, np.random.default_rng(0), 1e-45, ("max_l1_norm",), "float32")
def test_no_record_is_longer_than_its_bound_whatever_its_size(sizes, rng, bound, bounds, dtype):
    """Where a record is that much longer than its bound, their ratio is no normal number of float32."""
    X = (np.array(sizes) * rng.uniform(-1, 1, (20, len(sizes)))).astype(np.float32)
    found = scale_down(X, RecordBounds(**dict.fromkeys(bounds, bound)), np.dtype(dtype))
    exact, before = (each.astype(np.longdouble) for each in (found, X))
    norms = {"max_l1_norm": np.abs(exact).sum(1), "max_l2_norm": np.sqrt((exact**2).sum(1))}
    longest = np.max([norms[name] for name in bounds], axis=0)
    assert (longest <= bound).all()
    # Nor much shorter, but for what the smallest number is of the bound.
    changed = (found != X).any(axis=1)
    least = bound * (1 - 2e-6) - 3 * len(sizes) * np.finfo(dtype).smallest_subnormal
    assert (longest[changed] >= least).all()
    # Directions stay.
    size = np.abs(before).max(axis=1, keepdims=True)
    along = exact * size - before * np.abs(exact).max(axis=1, keepdims=True)
    rounding = 1e-6 * np.abs(exact).max(axis=1) + 3 * np.finfo(dtype).smallest_subnormal
    assert (np.abs(along).max(axis=1) <= size[:, 0] * rounding).all()


@pytest.mark.parametrize("scheme", [SHUFFLED, DRAWN], ids=["files", "drawn"])
def test_scaling_here_is_as_good_as_scaling_the_data(two, scheme):
    def scaled(X):
        return X * np.minimum(1, 0.7 / np.linalg.norm(X, axis=1, keepdims=True))

    before = replace(two, X_train=scaled(two.X_train), X_test=scaled(two.X_test))
    facts = []
    for dataset, bound in ((two, 0.7), (before, None)):
        problem = bind(dataset, scheme, range(2), records={"max_l2_norm": bound}, strength=0.01)
        block = everyone(problem)
        z = np.random.default_rng(7).normal(size=(7, 2, 1, 7))
        metrics = problem.evaluate(models(z[0], z), [block], one_by_one)
        facts.append([*gradient_of(block, z, 60), mean_losses(block, z), block.smoothness])
        facts[-1] += [problem.optimum(), *metrics.values()]
    for ours, theirs in zip(*facts, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-6)


def test_without_a_bound_records_are_as_they_are(two):
    problem = bind(two, dtype="float32")
    np.testing.assert_array_equal(problem.X, two.X_train)
    assert problem.bound_l2 == pytest.approx(7**0.5)


@pytest.mark.parametrize(
    ("domain", "records", "l1", "l2"),
    [
        ((0, 1), {"max_l1_norm": 2.5}, 2.5, 2.5**0.5),  # (1, 1, 0.5, 0, ...) is shorter
        ((0, 9), {"max_l1_norm": 2.5}, 2.5, 2.5),  # all in one entry
        ((-math.inf, math.inf), {"max_l1_norm": 2.5}, 2.5, 2.5),
        ((-math.inf, math.inf), {"max_l2_norm": 2.5}, 2.5 * 7**0.5, 2.5),
    ],
)
def test_bounds_on_admissible_records(two, domain, records, l1, l2):
    problem = bind(replace(two, domain=domain), sensitivity="global", records=records)
    assert problem.bound_l1 == pytest.approx(l1)
    assert problem.bound_l2 == pytest.approx(l2)


def test_records_without_a_bound_have_no_worst_case(two):
    free = replace(two, domain=(-math.inf, math.inf))
    bind(free, records={})
    with pytest.raises(
        ValueError, match=r"sensitivity: global needs bounded records; those of made"
    ):
        bind(free, sensitivity="global", records={})
    with pytest.raises(ValueError, match="sensitivity: global needs bounded records"):
        RunSpec(dataset=free, algorithm="objp", problem={"loss": "softmax"}, sensitivity="global")
    with pytest.raises(ValueError, match="needs bounded records"):
        _ = bind(free, records={}).gradient_bound


# Evaluation


@pytest.mark.parametrize("kind", ["l1", "l2"])
@pytest.mark.parametrize("scheme", [SHUFFLED, DRAWN, BY_WRITER], ids=["files", "drawn", "writers"])
def test_evaluation_is_the_literal_one(written, scheme, kind):
    problem = bind(written, scheme, range(2), penalty=kind, strength=0.01)
    rng = np.random.default_rng(10)
    n = problem.n_agents
    w, z = rng.normal(size=(2, 1, 7)), rng.normal(size=(n, 2, 1, 7))
    blocks = [problem.block(slice(0, 2)), problem.block(slice(2, n))]
    found = problem.evaluate(models(w, z), blocks, one_by_one)
    a, b = records(written)
    for s in range(2):
        parts, test = shares(scheme, written, s)
        v = w[s, 0]
        wrong = [(1 if v @ a[j] > 0 else -1) != b[j] for j in test]
        assert found["test_error"][s] == np.mean(wrong)
        assert found["test_loss"][s] == pytest.approx(np.mean([loss(a[j], b[j], v) for j in test]))
        f = [mean(loss, a, b, v, rows) + 0.01 * literal_penalty(kind, v) for rows in parts]
        assert found["train_loss"][s] == pytest.approx(sum(f))
        own = [mean(loss, a, b, z[i, s, 0], rows) for i, rows in enumerate(parts)]
        assert found["empirical_loss"][s] == pytest.approx(sum(own) / n)


def test_rows_that_test_are_those_that_nobody_trains_on(two):
    """One feature per record tells which record a model sees."""
    marked = replace(
        two,
        X_train=np.eye(90, dtype=np.float32)[:60],
        X_test=np.eye(90, dtype=np.float32)[60:],
        y_train=np.ones(60, np.int64),
        y_test=np.ones(30, np.int64),
    )
    problem = bind(marked, DRAWN, range(3))
    block = everyone(problem)
    z = np.zeros((7, 3, 1, 90))
    trained = block.gradient(z, 1).value.any(axis=0)[:, 0]
    assert (trained.sum(axis=1) == 61).all()
    # Right about the records that test only if these are the others.
    w = np.where(trained, -1.0, 1.0)[:, None]
    assert problem.evaluate(models(w, z), [block], one_by_one)["test_error"].tolist() == [0, 0, 0]


# Agents and seeds together


@pytest.mark.parametrize(("loss", "scheme"), [("logistic", SHUFFLED), ("softmax", 7)], ids=str)
def test_blocks_of_agents_do_not_change_a_bit(two, made, loss, scheme):
    data = two if loss == "logistic" else made
    problem = bind_rows(data, loss, scheme, range(2), dtype="float32")
    z = np.random.default_rng(11).normal(size=(7, 2, *problem.model_shape)).astype(np.float32)
    together = everyone(problem)
    all_ = together.gradient(z, together.n_samples)
    for p in range(7):
        alone = problem.block(slice(p, p + 1))
        value, sensitivity = gradient_of(alone, z[p : p + 1], alone.n_samples)
        np.testing.assert_array_equal(all_.value[p], value[0])
        np.testing.assert_array_equal(all_.sensitivity.l1[p], sensitivity[0])
        np.testing.assert_array_equal(
            mean_losses(together, z)[p], mean_losses(alone, z[p : p + 1])[0]
        )
        for fact in ("gradient_bound", "curvature_bound", "smoothness"):
            np.testing.assert_array_equal(getattr(together, fact)[p], getattr(alone, fact)[0])


@pytest.mark.parametrize(
    "scheme", [{"scheme": "iid", "agents": 7}, SHUFFLED, DRAWN], ids=["fixed", "shuffled", "drawn"]
)
def test_seeds_in_a_batch_do_not_change_each_other(two, scheme):
    """Beyond rounding: a product may sum in another order, and numpy rounds an exponential by its place in an array."""
    rtol = 3e-6
    problem = bind(two, scheme, range(3), dtype="float32", strength=0.01)
    z = np.random.default_rng(12).normal(size=(7, 3, 1, 7)).astype(np.float32)
    block = everyone(problem)
    value, sensitivity = gradient_of(block, z, block.n_samples)
    metrics, optimum = problem.evaluate(models(z[0], z), [block], one_by_one), problem.optimum()
    for s in range(3):
        single = bind(two, scheme, [s], dtype="float32", strength=0.01)
        alone = everyone(single)
        z_s = z[:, s : s + 1]
        found = alone.gradient(z_s, alone.n_samples)
        for together, own in (
            (value[:, s], found.value[:, 0]),
            (sensitivity[:, s], found.sensitivity.l1[:, 0]),
            (mean_losses(block, z)[:, s], mean_losses(alone, z_s)[:, 0]),
            (block.smoothness[:, s], alone.smoothness[:, 0]),
            (block.curvature_bound[:, s], alone.curvature_bound[:, 0]),
        ):
            np.testing.assert_allclose(together, own, rtol=rtol, atol=rtol / 10)
        np.testing.assert_array_equal(optimum[s], single.optimum()[0])
        for name, values in single.evaluate(models(z_s[0], z_s), [alone], one_by_one).items():
            np.testing.assert_allclose(metrics[name][s], values[0], rtol=1e-6, err_msg=name)


@pytest.mark.parametrize("shared", [True, False])
def test_seeds_have_the_optimum_of_their_own_records(two, shared):
    """Of both agents, or of one where the other's records are those of both seeds."""
    fourth = [slice(k, k + 15) for k in range(0, 60, 15)]
    problem = as_problem({"loss": "logistic", "records": {}, **LOGISTIC, "strength": 0.01}, "rows")
    first = [fourth[0], fourth[0] if shared else fourth[1]]
    shares = [[(slice(s, s + 1), rows[s]) for s in range(2)] for rows in (first, fourth[2:])]
    if shared:
        shares[0] = [(slice(0, 2), fourth[0])]
    together = problem.bind(Split(two, shares), 2, dtype="float64").optimum()
    for s in range(2):
        own = [[(slice(0, 1), rows[s])] for rows in (first, fourth[2:])]
        alone = problem.bind(Split(two, own), 1, dtype="float64").optimum()
        np.testing.assert_array_equal(together[s], alone[0])


@pytest.mark.parametrize("empty", [0, 1, 2])
def test_an_agent_without_records_contributes_nothing(empty):
    dataset = make_dataset(20, 5, n_classes=2, writers=3)
    others = [g for g in range(3) if g != empty]
    dataset = written_by(dataset, np.repeat(others, 10))
    problem = bind(dataset, BY_WRITER, strength=0.01)
    block = everyone(problem)
    z = np.ones((3, 1, 1, 7))
    value, sensitivity = gradient_of(block, z, block.n_samples)
    assert block.n_samples.tolist() == [0 if g == empty else 10 for g in range(3)]
    facts = (value, sensitivity, mean_losses(block, z), block.gradient_bound, block.curvature_bound)
    for fact in facts:
        assert not fact[empty].any()
        assert all(fact[g].any() for g in others)
