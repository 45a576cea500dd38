"""Products of records without their zeros, against numpy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from admmbench.problems import sparse


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
