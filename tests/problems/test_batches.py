"""Gradients of all records or samples, shared by seeds or not, with and without zeros: formulas record by record."""

from unittest.mock import patch

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from admmbench.contracts.made_up_data import make_dataset, written_by
from admmbench.problems import batches
from tests.problems.helpers import BY_WRITER, SHUFFLED, bind_rows, everyone, rngs, with_records

SHARED = {"scheme": "iid", "agents": 7, "shuffle": False}
SEEDS = (3, 5, 8)


def bound(rng, loss, scheme, density, dtype, chunk):
    """A problem on 61 records; the first three of 11 columns are never used, so that narrow ones serve."""
    n_classes = 4 if loss == "softmax" else 2
    made = make_dataset(61, 1, 11, n_classes)
    X = np.where(rng.random((61, 11)) < density, made.X_train, 0)
    X[:, :3] = 0
    data = with_records(X, made.y_train, n_classes=n_classes)
    if scheme == BY_WRITER:
        data = written_by(data, np.arange(61) % 5, [f"writer {k}" for k in range(6)])
    problem = bind_rows(data, loss, scheme, SEEDS, dtype=dtype)
    if chunk:
        problem.chunk = problem.whole_chunk = chunk
    return problem


def draw(rng, parts, q):
    """Numbers of records of each agent and seed that take part."""
    return [[np.flatnonzero(rng.random(n) < q) for _ in SEEDS] for n in parts.n_samples]


def literal(problem, z, sample, divisor):
    """Sums of slope x^T, and the largest l1 and l2 norms of a term, record by record."""
    value, largest = np.zeros(z.shape), np.zeros((2, *z.shape[:2]))
    for p, own in enumerate(problem.split.shares):
        for s, drawn in enumerate(sample[p]):
            rows = next(rows for seeds, rows in own if seeds.start <= s < seeds.stop)
            for i in np.arange(len(problem.y))[rows][drawn]:
                x = problem.X[i].astype(float)
                u = z[p, s].astype(float) @ x
                if len(u) > 1:
                    slope = np.exp(u - u.max()) / np.exp(u - u.max()).sum()
                    slope[problem.y[i]] -= 1
                else:
                    b = 1 if problem.y[i] > 0 else -1
                    slope = -b / (1 + np.exp(b * u))
                value[p, s] += np.outer(slope, x) / divisor[p]
                norms = [np.linalg.norm(slope, k) * np.linalg.norm(x, k) for k in (1, 2)]
                largest[:, p, s] = np.maximum(largest[:, p, s], np.array(norms) / divisor[p])
    return value, largest


@settings(max_examples=150, deadline=None)
@given(
    rngs,
    st.sampled_from(["softmax", "logistic"]),
    st.sampled_from([SHARED, SHUFFLED, BY_WRITER]),
    st.sampled_from([None, 0.0, 0.05, 0.5, 1.0]),
    st.sampled_from([0.1, 1.0]),
    st.sampled_from(["float32", "float64"]),
    st.sampled_from([None, 4]),
)
def test_a_gradient_sums_the_records_that_take_part(rng, loss, scheme, q, density, dtype, chunk):
    """All records without a sample; those that are mostly zeros are multiplied without them."""
    problem = bound(rng, loss, scheme, density, dtype, chunk)
    parts = everyone(problem)
    sample = None if q is None else draw(rng, parts, q)
    z = rng.normal(size=(problem.n_agents, len(SEEDS), *problem.model_shape)).astype(dtype)
    divisor = rng.uniform(0.2, 3, problem.n_agents)  # an expected size may be below 1
    with patch.object(batches, "_FEWEST_SPARSE", 3):
        found = parts.gradient(z, mean_over=divisor, sample=sample)
        pieces = [piece for batch in parts._batches for piece in batch._sparse]
    assert any(pieces) == (density < 1)
    value, largest = literal(problem, z, sample or draw(rng, parts, 1), divisor)
    rtol, atol = (1e-9, 1e-12) if dtype == "float64" else (1e-4, 1e-4)
    np.testing.assert_allclose(found.value, value, rtol=rtol, atol=atol)
    for k, norms in enumerate((found.sensitivity.l1, found.sensitivity.l2)):
        np.testing.assert_allclose(norms, largest[k], rtol=1e-4 if dtype == "float32" else 1e-6)
