"""Columns that no record of an agent uses are left out, and nothing changes."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from admmbench.contracts.made_up_data import make_dataset
from admmbench.datasets import Split
from admmbench.problems import as_problem
from admmbench.problems.rows import RowParts
from admmbench.problems.used_columns import Narrow, gather, take_tile


@settings(max_examples=60)
@given(
    sizes=st.lists(st.integers(0, 5), min_size=1, max_size=4),
    J=st.integers(1, 30),
    density=st.floats(0, 0.4),
    seed=st.integers(0, 10**6),
)
def test_products_are_those_of_all_columns(sizes, J, density, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(sum(sizes), J)) * (rng.random((sum(sizes), J)) < density)
    ends = np.cumsum([0, *sizes])
    rows = list(itertools.starmap(slice, itertools.pairwise(ends)))
    narrow = Narrow.from_records(X, rows)
    used = max(int(X[own].any(axis=0).sum()) for own in rows)
    assert (narrow is None) == (used + 1 > 0.9 * J)
    if narrow is None:
        return
    z = rng.normal(size=(len(rows), 2, 3, J))
    models = gather(z, narrow.index)
    for b, own in enumerate(rows):
        np.testing.assert_allclose(models[b] @ narrow.X[own].T, z[b] @ X[own].T, atol=1e-12)
        slopes = rng.normal(size=(2, 3, sizes[b]))
        entries = np.zeros((len(rows), 2, 3, narrow.X.shape[1]))
        entries[b] = slopes @ narrow.X[own]
        wide = gather(entries, narrow.position)[b]
        np.testing.assert_allclose(wide, slopes @ X[own], atol=1e-12)


@settings(max_examples=60)
@given(
    K=st.integers(1, 4), J=st.integers(1, 50), start=st.integers(0, 199), size=st.integers(0, 99)
)
def test_a_tile_is_a_part_of_the_wide_model(K, J, start, size):
    rng = np.random.default_rng(K * J)
    entries = rng.normal(size=(1, 1, K, 6))
    position = rng.integers(0, 6, (1, J)).astype(np.uint32)
    wide = gather(entries, position).ravel()
    start = min(start, wide.size - 1)
    for places, whole in ((position[0], wide), (position[0, :0], entries.ravel())):
        tile = np.full(max(min(size, whole.size - start), 0), np.nan)
        take_tile(entries[0, 0], places, start, tile)
        np.testing.assert_array_equal(tile, whole[start : start + len(tile)])


@pytest.mark.parametrize("loss", ["softmax", "logistic"])
def test_gradients_and_sensitivities_are_those_of_all_columns(monkeypatch, loss):
    data = make_dataset(60, n_features=20, n_classes=2 if loss == "logistic" else 3)
    data.X_train[:, 5:17] = 0
    data.X_train[:20, 3] = 0  # unused by one agent alone
    shares = [[(slice(0, 2), slice(start, start + 20))] for start in (0, 20, 40)]
    z = np.random.default_rng(0).normal(size=(3, 2, 1 if loss == "logistic" else 3, 20))

    def gradient():
        whole = as_problem(loss, "rows").bind(Split(data, shares), 2, dtype="float64")
        return whole.block(slice(0, 3)).gradient(z, mean_over=60)

    narrow = gradient()
    assert narrow.entries.shape[-1] == 9
    monkeypatch.setattr(RowParts, "_narrow", None)
    wide = gradient()
    assert wide.position is None
    np.testing.assert_allclose(narrow.value, wide.value, atol=1e-14)
    for norm in ("l1", "l2"):
        found, wanted = (getattr(each.sensitivity, norm) for each in (narrow, wide))
        np.testing.assert_allclose(found, wanted, rtol=1e-12)
