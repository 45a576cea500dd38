"""Problems over rows, against the formulas of huang2019 record by record."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import special

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


def mean(function, a, b, w, rows):
    """(1 / m_i) sum_j over the records of one agent."""
    return sum(function(a[j], b[j], w) for j in rows) / len(rows)


# Curvature


def hessian(a, b, w):
    s = special.expit(b * (w @ a))
    return s * (1 - s) * np.outer(a, a)


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


@pytest.mark.parametrize(
    ("domain", "records", "l1", "l2"),
    [
        ((0, 1), {}, 7, 7**0.5),
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
@pytest.mark.parametrize("chunk", [7, 1000])
def test_evaluation_is_the_literal_one(written, scheme, kind, chunk):
    problem = bind(written, scheme, range(2), penalty=kind, strength=0.01, local_error=True)
    problem.whole_chunk = chunk
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
        wrong = [(1 if z[i, s, 0] @ a[j] > 0 else -1) != b[j] for i in range(n) for j in test]
        assert found["local_error"][s] == pytest.approx(np.mean(wrong))


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


# Several predictions


def bind_softmax(dataset, agents, seeds=1, shuffle=False):
    """A problem over softmax with equal agents."""
    scheme = {"scheme": "iid", "agents": agents, "shuffle": shuffle}
    return bind_rows(dataset, "softmax", scheme, range(seeds))


def test_order_of_memory_does_not_matter(made):
    z = np.random.default_rng(7).normal(size=(2, 1, 3, 7))
    block = everyone(bind_softmax(made, 2))
    np.testing.assert_array_equal(
        block.gradient(z, 60).value, block.gradient(np.asfortranarray(z), 60).value
    )


def test_clipped_probabilities_stay_within_the_global_sensitivity():
    """Ten classes of which all but one are as probable as the floor lets them be: ||h - y||_1 is more than 2."""
    dataset = with_records(np.ones((1, 5)), [0], n_classes=10)
    w = np.zeros((1, 1, 10, 5))
    w[0, 0, 1] = 100
    for own in ({"floor": 0.1}, {}):
        problem = bind_rows(dataset, {"name": "softmax", **own}, sensitivity="global")
        block = everyone(problem)
        found = block.gradient(w, 1, floor=0.0 if own else 0.1)
        change = found.value.ravel()
        assert np.abs(change).sum() == pytest.approx(5 * 2.7)
        assert np.abs(change).sum() <= found.sensitivity.l1[0, 0] <= 1.2 * np.abs(change).sum()
        assert np.linalg.norm(change) <= found.sensitivity.l2[0, 0]
        if own:
            assert (
                block.gradient_bound[0, 0] == found.sensitivity.l2[0, 0] == problem.gradient_bound
            )
