"""Products for one prediction a record against numpy, for records with and without their zeros."""

import numpy as np
import pytest

from admmbench.checks.made import make_dataset
from admmbench.partition import Split
from admmbench.problems import as_problem, batches

SIZES = [7, 1, 22]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("density", [0.1, 1.0])
def test_gradients_of_seeds_with_records_of_their_own(density, dtype):
    rng = np.random.default_rng(3)
    data = make_dataset(30, n_features=40, n_classes=2)
    data.X_train[rng.random(data.X_train.shape) > density] = 0
    ends = np.cumsum([0, *SIZES])
    orders = [rng.permutation(30) for _ in range(2)]
    shares = [
        [(slice(s, s + 1), orders[s][ends[p] : ends[p + 1]]) for s in range(2)] for p in range(3)
    ]
    whole = as_problem("logistic", "rows").bind(Split(data, shares), 2, dtype=dtype)
    whole.chunk = 10  # the records of the last agent are cut
    assert (batches.sparse_width(whole.X) is None) == (density == 1)
    z = rng.normal(size=(3, 2, 1, 40)).astype(dtype)
    parts = whole.block(slice(0, 3))
    found = parts.gradient(z, mean_over=parts.n_samples)
    tolerance = 1e-12 if dtype == "float64" else 1e-5
    for p in range(3):
        for s in range(2):
            rows = shares[p][s][1]
            X, y = whole.X[rows].astype(np.float64), whole.y[rows]
            slopes = -y / (1 + np.exp(y * (X @ z[p, s, 0])))
            wanted = slopes @ X / len(rows)
            np.testing.assert_allclose(found.value[p, s, 0], wanted, rtol=0, atol=tolerance)
            largest = (np.abs(slopes) * np.abs(X).sum(axis=1)).max() / len(rows)
            assert found.sensitivity.l1[p, s] == pytest.approx(largest, rel=1e-5)
