"""Gradients over samples of the records, against the formulas record by record."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from admmbench.contracts.made_up_data import make_dataset, written_by
from tests.problems.helpers import BY_WRITER, SHUFFLED, bind_rows, everyone, rngs, with_records

SHARED = {"scheme": "iid", "agents": 7, "shuffle": False}
SEEDS = (3, 5, 8)


def bound(loss, scheme, chunk=None):
    """A problem on 61 records; the first three of 11 columns are never used, so that narrow ones serve."""
    n_classes = 4 if loss == "softmax" else 2
    made = make_dataset(61, 1, 11, n_classes)
    X = made.X_train.copy()
    X[:, :3] = 0
    data = with_records(X, made.y_train, n_classes=n_classes)
    if scheme == BY_WRITER:
        data = written_by(data, np.arange(61) % 5, [f"writer {k}" for k in range(6)])
    problem = bind_rows(data, loss, scheme, SEEDS)
    if chunk:
        problem.chunk = problem.whole_chunk = chunk
    return problem


def samples(problem, rng, q):
    """Of each agent and seed, some records."""
    counts = everyone(problem).n_samples
    return [[np.flatnonzero(rng.random(n) < q) for _ in SEEDS] for n in counts]


def literal(problem, z, sample, divisor):
    """Sums of slope x^T, and the largest l2 norm of a term, record by record."""
    value, largest = np.zeros(z.shape), np.zeros(z.shape[:2])
    for p, own in enumerate(problem.split.shares):
        for s, drawn in enumerate(sample[p]):
            rows = next(rows for seeds, rows in own if seeds.start <= s < seeds.stop)
            for i in np.arange(len(problem.y))[rows][drawn]:
                x = problem.X[i].astype(float)
                u = z[p, s] @ x
                if len(u) > 1:
                    slope = np.exp(u - u.max()) / np.exp(u - u.max()).sum()
                    slope[problem.y[i]] -= 1
                else:
                    b = 1 if problem.y[i] > 0 else -1
                    slope = -b / (1 + np.exp(b * u))
                value[p, s] += np.outer(slope, x) / divisor[p]
                norm = np.linalg.norm(slope) * np.linalg.norm(x) / divisor[p]
                largest[p, s] = max(largest[p, s], norm)
    return value, largest


@settings(max_examples=60, deadline=None)
@given(
    rngs,
    st.sampled_from(["softmax", "logistic"]),
    st.sampled_from([SHARED, SHUFFLED, BY_WRITER]),
    st.sampled_from([0.0, 0.05, 0.5, 1.0]),
    st.sampled_from([None, 4]),
)
def test_a_sum_over_a_sample_has_its_records_alone(rng, loss, scheme, q, chunk):
    problem = bound(loss, scheme, chunk=chunk)
    parts, sample = everyone(problem), samples(problem, rng, q)
    z = rng.normal(size=(problem.n_agents, len(SEEDS), *problem.model_shape))
    divisor = rng.uniform(0.2, 3, problem.n_agents)  # an expected size may be below 1
    found = parts.gradient(z, mean_over=divisor, sample=sample)
    value, largest = literal(problem, z, sample, divisor)
    np.testing.assert_allclose(found.value, value, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found.sensitivity.l2, largest, rtol=1e-6)
