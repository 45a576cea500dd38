"""Softmax over rows, against literal formulas, finite differences, brute force and scipy."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special

from admmbench.contracts.made_up_data import make_dataset
from tests.problems.helpers import bind_rows, everyone, models, one_by_one, rngs, with_classes


def bind(
    dataset, agents=1, seeds=1, shuffle=False, sensitivity="local", dtype="float64", **settings
):
    scheme = {"scheme": "iid", "agents": agents, "shuffle": shuffle}
    return bind_rows(dataset, "softmax", scheme, range(seeds), sensitivity, dtype, **settings)


def gradient_of(block, z, mean_over, floor=0.0):
    """Gradients and their sensitivities in l1."""
    found = block.gradient(z, mean_over=mean_over, floor=floor)
    return found.value, found.sensitivity.l1


def literal_gradient(X, y, W, n):
    """Equation (63) of ryu2022, class by class."""
    h = special.softmax(X @ W.T, axis=1)
    return (h - np.eye(len(W))[y]).T @ X / n


def literal_terms(X, y, W, n):
    """All J x K terms of every record, as the papers define the sensitivity."""
    h = special.softmax(X @ W.T, axis=1)
    residual = h - np.eye(len(W))[y]
    return np.abs(X[:, None, :] * residual[:, :, None]).sum(axis=(1, 2)) / n


@settings(max_examples=25)
@given(
    rng=rngs,
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
    (value,), (sensitivity,) = gradient_of(local, z[None], n)
    X, y = dataset.X_train.astype(np.float64), dataset.y_train
    for s in range(S):
        np.testing.assert_allclose(value[s], literal_gradient(X, y, z[s], n), atol=1e-12)
        assert sensitivity[s] == pytest.approx(literal_terms(X, y, z[s], n).max(), rel=1e-9)


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("chunk", [7, 25])
def test_chunks_of_records_add_up(made, chunk, shuffle):
    """Agents of 20 records, in pieces of at most a chunk, several agents' together."""
    z = np.random.default_rng(0).normal(size=(3, 2, 3, 7))
    whole = bind(made, 3, seeds=2, shuffle=shuffle)
    value, sensitivity = gradient_of(everyone(whole), z, 60)
    losses = everyone(whole).losses(z)
    whole.chunk = whole.whole_chunk = chunk
    parts = everyone(whole)
    found = gradient_of(parts, z, 60)
    np.testing.assert_allclose(found[0], value, atol=1e-14)
    np.testing.assert_allclose(found[1], sensitivity, rtol=1e-12)
    np.testing.assert_allclose(parts.losses(z), losses, rtol=1e-12)
    state = models(z[0], z)
    large = bind(made, 3, seeds=2, shuffle=shuffle).evaluate(state, [parts], one_by_one)
    small = whole.evaluate(state, [parts], one_by_one)
    for name, values in large.items():
        np.testing.assert_allclose(small[name], values, rtol=1e-12, err_msg=name)


def test_removing_any_record_stays_within_the_sensitivity(made):
    """Brute force over all neighbours that lack one record."""
    w = np.random.default_rng(2).normal(size=(1, 3, 7))
    for kind in ("local", "global"):
        local = everyone(bind(made, sensitivity=kind))
        (full,), (bound,) = gradient_of(local, w[None], 60)
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
    found, stated = np.abs(bound.value), bound.sensitivity
    assert found.sum() == pytest.approx(stated.l1[0, 0]) == pytest.approx(10)
    assert np.linalg.norm(found) == pytest.approx(stated.l2[0, 0]) == pytest.approx(10**0.5)
    assert stated.l2_over_l1 == pytest.approx(10**-0.5)
    assert found.max() == pytest.approx(10 * stated.linf_over_l1) == pytest.approx(1)


@settings(max_examples=20)
@given(rng=rngs, bound=st.floats(0.1, 5))
def test_clipped_records_obey_their_bound(rng, bound):
    dataset = make_dataset(20, 3, 6, 3, seed=int(rng.integers(1000)))
    problem = bind(dataset, sensitivity="global", records={"max_l1_norm": bound})
    share = everyone(problem)._shares[0]
    assert share.norms.l1.max() <= bound * (1 + 1e-9)
    assert share.norms.l2.max() <= problem.bound_l2 * (1 + 1e-9)
    kept = np.abs(dataset.X_train).sum(axis=1) <= bound
    X = share.X
    np.testing.assert_allclose(X[kept], dataset.X_train[kept])
    sensitivity = gradient_of(everyone(problem), rng.normal(size=(1, 1, 3, 6)), 20)[1]
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
        hessian = problem.penalty_curvature * np.eye(21)
        for x in X:
            h = special.softmax(w @ x)
            hessian += np.kron(np.diag(h) - np.outer(h, h), np.outer(x, x)) / 60
        worst = max(worst, float(np.linalg.norm(hessian, 2)))
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
    (value,), (sensitivity,) = gradient_of(everyone(bind(made)), w[None], 60, floor=1e-3)
    X, y = made.X_train.astype(np.float64), made.y_train
    h = np.clip(special.softmax(X @ w[0].T, axis=1), 1e-3, 1)
    residual = h - np.eye(3)[y]
    np.testing.assert_allclose(value[0], residual.T @ X / 60, atol=1e-12)
    expected = (np.abs(X).sum(1) * np.abs(residual).sum(1)).max() / 60
    assert sensitivity[0] == pytest.approx(expected)


def test_clipped_probabilities_stay_within_the_global_sensitivity():
    """Ten classes of which all but one are as probable as the floor lets them be: ||h - y||_1 is more than 2."""
    dataset = with_classes(np.ones((1, 5)), [0], 10)
    w = np.zeros((1, 1, 10, 5))
    w[0, 0, 1] = 100
    for own in ({"floor": 0.1}, {}):
        problem = bind_rows(
            dataset, {"name": "softmax", **own}, sensitivity="global", dtype="float64"
        )
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


def test_shuffled_shares_hold_every_record_once_and_differ_by_seed(made):
    """One feature per record tells which agent holds it."""
    marked = replace(
        made, X_train=np.eye(60, dtype=np.float32), X_test=np.zeros((30, 60), np.float32)
    )
    value = (
        everyone(bind(marked, 4, seeds=3, shuffle=True)).gradient(np.zeros((4, 3, 3, 60)), 60).value
    )
    held = value.any(axis=2)
    assert (held.sum(axis=0) == 1).all()
    assert (held.sum(axis=2) == 15).all()
    assert (held[:, 0] != held[:, 1]).any()
    w = np.random.default_rng(4).normal(size=(3, 3, 7))
    block = everyone(bind(made, 4, seeds=3, shuffle=True))
    total = block.gradient(np.broadcast_to(w, (4, 3, 3, 7)), 60).value.sum(axis=0)
    X, y = made.X_train.astype(np.float64), made.y_train
    for s in range(3):
        np.testing.assert_allclose(total[s], literal_gradient(X, y, w[s], 60), atol=1e-12)


def test_evaluation_is_the_literal_one(made):
    problem = bind(made, agents=3, seeds=2, strength=0.02)
    w = np.random.default_rng(5).normal(size=(2, 3, 7))
    blocks = [problem.block(slice(0, 2)), problem.block(slice(2, 3))]
    state = models(w)
    found = problem.evaluate(state, blocks, one_by_one)
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


def test_test_records_are_scaled_as_training_records_are(made):
    bounded = bind(made, records={"max_l1_norm": 2.5})
    w = np.random.default_rng(5).normal(size=(1, 3, 7))
    found = bounded.evaluate(models(w), [everyone(bounded)], one_by_one)
    X = made.X_test.astype(np.float64)
    X *= np.minimum(1, 2.5 / X.sum(axis=1, keepdims=True))
    logp = special.log_softmax(X @ w[0].T, axis=1)
    assert found["test_loss"][0] == pytest.approx(
        -logp[np.arange(30), made.y_test].mean(), rel=1e-5
    )


def test_blocks_of_agents_do_not_change_a_bit(made):
    problem = bind(made, agents=5, seeds=2, dtype="float32")
    z = np.random.default_rng(6).normal(size=(5, 2, 3, 7)).astype(np.float32)
    together = everyone(problem).gradient(z, 60)
    for p in range(5):
        alone = problem.block(slice(p, p + 1)).gradient(z[p : p + 1], 60)
        np.testing.assert_array_equal(together.value[p], alone.value[0])
        np.testing.assert_array_equal(together.sensitivity.l1[p], alone.sensitivity.l1[0])
