"""Products against numpy, for records with and without their zeros."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from admmbench.contracts.made_up_data import make_dataset
from admmbench.datasets import Split
from admmbench.problems import as_problem, batches, sparse

SIZES = [7, 1, 22]


def slopes_of(u, y):
    """Of one prediction for a target of +-1, or of one for each class."""
    if u.shape[1] == 1:
        return -y[:, None] / (1 + np.exp(y[:, None] * u))
    slopes = np.exp(u) / np.exp(u).sum(axis=1, keepdims=True)
    slopes[np.arange(len(y)), y] -= 1
    return slopes


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("density", [0.1, 1.0])
def test_gradients_of_records_that_seeds_share_or_have_alone(shared, density, dtype, monkeypatch):
    monkeypatch.setattr(batches, "_FEWEST_SPARSE", 8)
    S, K, J, loss = (5, 4, 40, "softmax") if shared else (2, 1, 40, "logistic")
    rng = np.random.default_rng(3)
    data = make_dataset(30, n_features=J, n_classes=max(K, 2))
    data.X_train[rng.random(data.X_train.shape) > density] = 0
    orders = [rng.permutation(30) for _ in range(S)]
    shares = [
        [(slice(0, S), slice(*own))]
        if shared
        else [(slice(s, s + 1), orders[s][slice(*own)]) for s in range(S)]
        for own in itertools.pairwise(np.cumsum([0, *SIZES]))
    ]
    whole = as_problem(loss, "rows").bind(Split(data, shares), S, dtype=dtype)
    whole.chunk = 10  # the records of the last agent are cut
    z = rng.normal(size=(3, S, K, J)).astype(dtype)
    parts = whole.block(slice(0, 3))
    if shared:
        kept = [piece is not None for batch in parts._batches for piece in batch._sparse]
        # Too few records: two agents, and the last piece.
        assert kept == [density < 1 and n == 10 for n in [7, 1, 10, 10, 2]]
    assert (batches.sparse_width(whole.X) is None) == (density == 1)
    found = parts.gradient(z, mean_over=parts.n_samples)
    tolerance, rel = (1e-12, 1e-9) if dtype == "float64" else (1e-5, 1e-5)
    for p, s in np.ndindex(3, S):
        _, rows = shares[p][0 if shared else s]
        X, y = whole.X[rows].astype(np.float64), whole.y[rows]
        slopes = slopes_of(X @ z[p, s].T.astype(np.float64), y)
        wanted = slopes.T @ X / len(y)
        np.testing.assert_allclose(found.value[p, s], wanted, rtol=0, atol=tolerance)
        largest = (np.abs(slopes).sum(axis=1) * np.abs(X).sum(axis=1)).max() / len(y)
        assert found.sensitivity.l1[p, s] == pytest.approx(largest, rel=rel)


@settings(max_examples=50, deadline=None)
@given(
    n=st.integers(1, 300),
    W=st.integers(1, 300),
    unused=st.sampled_from([0, 3, 100]),
    M=st.integers(1, 100),
    seed=st.integers(0, 99),
    dtypes=st.sampled_from(["ff", "dd", "fd"]),
)
def test_products_without_zeros(n, W, unused, M, seed, dtypes):
    """Records on some columns of models, in any order; models may have a lower precision than products."""
    rng, (of_models, dtype) = np.random.default_rng(seed), dtypes
    X = (rng.normal(size=(n, W)) * (rng.random((n, W)) < 0.2)).astype(dtype)
    used = rng.permutation(W + unused)[:W].astype(np.uint32)
    models = rng.normal(size=(M, W + unused)).astype(of_models)
    kept = sparse.Sparse.from_records(X, used)
    assert (kept is None) == (sparse.density(X) > sparse.MOST)
    if kept:
        u = np.full((n, M), np.nan, dtype)
        kept.predict(models, u)
        tolerance = 100 * np.finfo(dtype).eps
        np.testing.assert_allclose(u, X @ models[:, used].T, atol=10 * tolerance)
        gradient = np.empty((M, W), dtype)
        kept.back(u, gradient)
        np.testing.assert_allclose(gradient, u.T @ X, atol=200 * tolerance)
        kept.back(u, gradient, add=True)
        np.testing.assert_allclose(gradient, 2 * u.T @ X, atol=400 * tolerance)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("M", [3, 40])
def test_numbers_that_bytes_stand_for_have_the_same_sums(M, dtype, monkeypatch):
    """With 256 numbers in all, as pixels have; one more, and records are kept as they are."""
    rng = np.random.default_rng(6)
    pixels = rng.permutation(np.arange(90 * 256) % 256).reshape(-1, 90) / 255
    X = (pixels * (rng.random(pixels.shape) < 0.2)).astype(dtype)
    bytes_ = sparse.Sparse.from_records(X)
    monkeypatch.setattr(sparse, "_MOST_LEVELS", 255)
    numbers = sparse.Sparse.from_records(X)
    assert [each.rows.values.dtype for each in (bytes_, numbers)] == [np.uint8, dtype]
    models = rng.normal(size=(M, 90)).astype(dtype)
    u, gradient = np.empty((2, len(X), M), dtype), np.empty((2, M, 90), dtype)
    for i, kept in enumerate((bytes_, numbers)):
        kept.predict(models, u[i])
        kept.back(u[i], gradient[i])
    np.testing.assert_array_equal(*u)
    np.testing.assert_array_equal(*gradient)


def test_one_of_several_columns_is_summed_as_all_are():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(200, 90)) * (rng.random((200, 90)) < 0.2)
    kept, models = sparse.Sparse.from_records(X), rng.normal(size=(70, 90))
    alone, together = np.empty((200, 32)), np.empty((200, 70))
    kept.predict(models[:32], alone)
    kept.predict(models, together)
    np.testing.assert_array_equal(together[:, :32], alone)
