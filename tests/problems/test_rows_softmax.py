"""Softmax over rows, against literal formulas, finite differences, brute force and scipy."""

import numpy as np
import pytest
from scipy import special

from tests.problems.helpers import (
    bind_rows,
    everyone,
    gradient_of,
    models,
    one_by_one,
    with_records,
)


def bind(
    dataset, agents=1, seeds=1, shuffle=False, sensitivity="local", dtype="float64", **settings
):
    scheme = {"scheme": "iid", "agents": agents, "shuffle": shuffle}
    return bind_rows(dataset, "softmax", scheme, range(seeds), sensitivity, dtype, **settings)


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
    dataset = with_records(np.ones((1, 5)), [0], n_classes=10)
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
