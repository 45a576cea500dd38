"""Softmax problem, against literal formulas, finite differences, brute force and scipy."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, special

from admmbench import partition
from admmbench.checks.made import make_dataset
from admmbench.problems import as_problem, softmax


def bind(dataset, agents=1, seeds=1, shuffle=False, sensitivity="local", dtype="float64", **params):
    permutations = [np.random.default_rng(seed).permutation for seed in range(seeds)]
    scheme = partition.as_partition({"scheme": "iid", "agents": agents, "shuffle": shuffle})
    split = partition.split(scheme, dataset, permutations)
    return as_problem({"name": "softmax", **params}).bind(split, seeds, sensitivity, dtype)


def everyone(problem):
    """All agents in one block."""
    return problem.block(slice(0, problem.n_agents))


def literal_gradient(X, y, W, n):
    """Equation (63) of ryu2022, class by class."""
    h = special.softmax(X @ W.T, axis=1)
    return (h - np.eye(len(W))[y]).T @ X / n


def literal_terms(X, y, W, n):
    """All J x K terms of every record, as the papers define the sensitivity."""
    h = special.softmax(X @ W.T, axis=1)
    residual = h - np.eye(len(W))[y]
    return np.abs(X[:, None, :] * residual[:, :, None]).sum(axis=(1, 2)) / n


models = st.integers(0, 10**6).map(lambda seed: np.random.default_rng(seed))


@settings(max_examples=25)
@given(
    rng=models,
    n=st.integers(1, 40),
    J=st.integers(1, 9),
    K=st.integers(2, 5),
    S=st.integers(1, 3),
    scale=st.sampled_from([0.0, 1.0, 50.0]),
)
def test_gradient_and_sensitivity_are_the_papers(rng, n, J, K, S, scale):
    dataset = make_dataset(n, 3, J, K, seed=int(rng.integers(1000)))
    local = everyone(bind(dataset, seeds=S))
    z = scale * rng.normal(size=(S, K, J))
    (value,), (sensitivity,) = local.gradient(z[None], mean_over=n)
    X, y = dataset.X_train.astype(np.float64), dataset.y_train
    for s in range(S):
        np.testing.assert_allclose(value[s], literal_gradient(X, y, z[s], n), atol=1e-12)
        assert sensitivity[s] == pytest.approx(literal_terms(X, y, z[s], n).max(), rel=1e-9)


def test_blocks_of_rows_add_up(monkeypatch, made):
    z = np.random.default_rng(0).normal(size=(2, 3, 7))
    whole = everyone(bind(made, seeds=2)).gradient(z[None], 60)
    monkeypatch.setattr(softmax, "ROWS", 7)
    parts = everyone(bind(made, seeds=2)).gradient(z[None], 60)
    np.testing.assert_allclose(whole.value, parts.value, atol=1e-14)
    np.testing.assert_array_equal(whole.sensitivity, parts.sensitivity)


def test_gradient_is_the_derivative_of_the_loss(made):
    local = everyone(bind(made))
    w = np.random.default_rng(1).normal(size=(1, 3, 7))
    numerical = optimize.approx_fprime(
        w.ravel(), lambda v: float(local.loss(v.reshape(1, 3, 7))[0]) / 60, 1e-6
    )
    np.testing.assert_allclose(local.gradient(w[None], 60).value.ravel(), numerical, atol=1e-5)


def test_removing_any_record_stays_within_the_sensitivity(made):
    """Brute force over all neighbours that lack one record."""
    w = np.random.default_rng(2).normal(size=(1, 3, 7))
    for kind in ("local", "global"):
        local = everyone(bind(made, sensitivity=kind))
        (full,), (bound,) = local.gradient(w[None], 60)
        distances = []
        for i in range(60):
            X, y = np.delete(made.X_train, i, 0), np.delete(made.y_train, i)
            rest = literal_gradient(X.astype(np.float64), y, w[0], 60)
            distances.append(np.abs(full[0] - rest).sum())
        assert max(distances) <= bound[0] * (1 + 1e-6)
        if kind == "local":  # and it is attained
            assert max(distances) == pytest.approx(bound[0], rel=1e-6)


def test_global_sensitivity_is_attained_by_an_admissible_record():
    """All features at 1 and a confident wrong answer: ||x||_1 = J and ||h - y||_1 = 2."""
    dataset = make_dataset(1, 1, 5, 2)
    extreme = dataset.X_train.copy()
    extreme[:] = 1
    object.__setattr__(dataset, "X_train", extreme)
    object.__setattr__(dataset, "y_train", np.array([0]))
    w = np.zeros((1, 2, 5))
    w[0, 1] = 100
    bound = everyone(bind(dataset, sensitivity="global")).gradient(w[None], 1)
    assert np.abs(bound.value).sum() == pytest.approx(bound.sensitivity[0, 0]) == pytest.approx(10)


@settings(max_examples=20)
@given(rng=models, bound=st.floats(0.1, 5))
def test_clipped_records_obey_their_bound(rng, bound):
    dataset = make_dataset(20, 3, 6, 3, seed=int(rng.integers(1000)))
    problem = bind(dataset, sensitivity="global", max_l1_norm=bound)
    share = everyone(problem)._shares[0]
    assert share.l1_norms.max() <= bound * (1 + 1e-9)
    assert share.norms(2).max() <= problem.bound_l2 * (1 + 1e-9)
    kept = np.abs(dataset.X_train).sum(axis=1) <= bound
    X = share.records(slice(0, 20))
    np.testing.assert_allclose(X[kept], dataset.X_train[kept])
    sensitivity = everyone(problem).gradient(rng.normal(size=(1, 1, 3, 6)), 20).sensitivity
    assert sensitivity[0, 0] == pytest.approx(2 * problem.bound_l1 / 20)


def test_gradient_bound_and_curvature_hold_for_every_record(made):
    local = everyone(bind(made))
    rng = np.random.default_rng(3)
    for _ in range(20):
        w = 5 * rng.normal(size=(3, 7))
        for x, y in zip(made.X_train.astype(np.float64), made.y_train, strict=True):
            h = special.softmax(w @ x)
            assert (
                np.linalg.norm(np.outer(h - np.eye(3)[y], x)) <= local.gradient_bound[0, 0] + 1e-9
            )
            hessian = np.kron(np.diag(h) - np.outer(h, h), np.outer(x, x))
            assert np.linalg.norm(hessian, 2) <= local.curvature_bound[0, 0] + 1e-9


def test_smoothness_bounds_the_hessian_of_the_agent(made):
    problem = bind(made, agents=2)
    local = problem.block(slice(0, 1))
    X = made.X_train[:30].astype(np.float64)
    worst = 0.0
    for seed in range(20):
        w = np.random.default_rng(seed).normal(size=(3, 7)) * (seed % 4)
        hessian = problem.regularizer_weight * np.eye(21)
        for x in X:
            h = special.softmax(w @ x)
            hessian += np.kron(np.diag(h) - np.outer(h, h), np.outer(x, x)) / 60
        worst = max(worst, np.linalg.norm(hessian, 2))
    assert 0.5 * local.smoothness[0, 0] <= worst <= local.smoothness[0, 0] + 1e-9


def test_global_smoothness_covers_every_agents_own(made):
    own, worst = (
        everyone(bind(made, agents=3, sensitivity=kind)).smoothness for kind in ("local", "global")
    )
    assert (worst >= own).all()


def test_order_of_memory_does_not_matter(made):
    z = np.random.default_rng(7).normal(size=(2, 1, 3, 7))
    block = everyone(bind(made, agents=2))
    np.testing.assert_array_equal(
        block.gradient(z, 60).value, block.gradient(np.asfortranarray(z), 60).value
    )


def test_probability_floor_is_the_clip_of_the_authors_code(made):
    w = np.zeros((1, 3, 7))
    w[0, 0] = 60
    (value,), (sensitivity,) = everyone(bind(made)).gradient(w[None], 60, floor=1e-3)
    X, y = made.X_train.astype(np.float64), made.y_train
    h = np.clip(special.softmax(X @ w[0].T, axis=1), 1e-3, 1)
    residual = h - np.eye(3)[y]
    np.testing.assert_allclose(value[0], residual.T @ X / 60, atol=1e-12)
    expected = (np.abs(X).sum(1) * np.abs(residual).sum(1)).max() / 60
    assert sensitivity[0] == pytest.approx(expected)


def test_shuffled_shares_hold_every_record_once_and_differ_by_seed(made):
    problem = bind(made, agents=4, seeds=3, shuffle=True)
    block = everyone(problem)
    for s in range(3):
        rows = np.concatenate([share.rows for share in block._shares if share.seeds.start == s])
        assert sorted(rows) == list(range(60))
    first, second = block._shares[:2]
    assert first.agent == second.agent
    assert list(first.rows) != list(second.rows)
    w = np.random.default_rng(4).normal(size=(3, 3, 7))
    total = block.gradient(np.broadcast_to(w, (4, 3, 3, 7)), 60).value.sum(axis=0)
    X, y = made.X_train.astype(np.float64), made.y_train
    for s in range(3):
        np.testing.assert_allclose(total[s], literal_gradient(X, y, w[s], 60), atol=1e-12)


def test_evaluation_is_the_literal_one(made):
    problem = bind(made, agents=3, seeds=2, regularization=0.01)
    w = np.random.default_rng(5).normal(size=(2, 3, 7))
    blocks = [problem.block(slice(0, 2)), problem.block(slice(2, 3))]
    state = SimpleNamespace(w=w)
    found = problem.evaluate(state, blocks, lambda function, items: [function(i) for i in items])
    for s in range(2):
        for X, y, name in (
            (made.X_test, made.y_test, "test_loss"),
            (made.X_train, made.y_train, "train_loss"),
        ):
            logp = special.log_softmax(X.astype(np.float64) @ w[s].T, axis=1)
            loss = -logp[np.arange(len(y)), y].mean()
            loss += 0.01 * (w[s] ** 2).sum() if name == "train_loss" else 0
            assert found[name][s] == pytest.approx(loss, rel=1e-9)
        wrong = (made.X_test @ w[s].T).argmax(axis=1) != made.y_test
        assert found["test_error"][s] == wrong.mean()


def test_an_agent_without_records_contributes_nothing():
    dataset = make_dataset(20, 5, groups=2)
    object.__setattr__(dataset, "groups", np.zeros(20, np.int32))
    split = partition.split(
        partition.as_partition({"scheme": "by_writer"}), dataset, [lambda n: np.arange(n)]
    )
    block = everyone(as_problem("softmax").bind(split, 1))
    value, sensitivity = block.gradient(np.ones((2, 1, 3, 7), np.float32), block.n_samples)
    assert list(block.n_samples) == [20, 0]
    assert value[0].any()
    assert not value[1].any()
    assert sensitivity[1, 0] == 0


def test_blocks_of_agents_do_not_change_a_bit(made):
    problem = bind(made, agents=5, seeds=2, dtype="float32")
    z = np.random.default_rng(6).normal(size=(5, 2, 3, 7)).astype(np.float32)
    together = everyone(problem).gradient(z, 60)
    for p in range(5):
        alone = problem.block(slice(p, p + 1)).gradient(z[p : p + 1], 60)
        np.testing.assert_array_equal(together.value[p], alone.value[0])
        np.testing.assert_array_equal(together.sensitivity[p], alone.sensitivity[0])


def test_unknown_problem_and_parameter():
    with pytest.raises(ValueError, match="did you mean 'softmax'"):
        as_problem("sofmax")
    with pytest.raises(ValueError, match="regularisation"):
        as_problem({"name": "softmax", "regularisation": 1})
