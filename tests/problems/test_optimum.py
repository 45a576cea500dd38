"""The minimiser, against scikit-learn, scipy, and the conditions that a minimum meets."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, special
from sklearn.linear_model import Lasso, LogisticRegression, Ridge
from sklearn.svm import LinearSVC

from admmbench.contracts.made_up_data import make_dataset, written_by
from admmbench.problems import base
from admmbench.problems.losses import as_loss
from admmbench.problems.penalties import PENALTIES
from tests.problems.helpers import (
    BY_WRITER,
    DRAWN,
    bind_columns,
    bind_rows,
    everyone,
    records,
    rngs,
    rows_by_writer,
    shares,
    with_numbers,
)

CONVEX = ["huber", "logistic", "softmax", "squared", "squared_hinge"]
HUBER = {"name": "huber", "threshold": 0.8}
# An objective that is within this of scikit-learn's, relative to it, is as small.
CLOSE = 1e-7


def minimum(loss, penalty, strength, X, y, weights, outputs=1):
    """The best model for records of one holder."""
    shape = (outputs, X.shape[1])
    problem = SimpleNamespace(loss=loss, penalty=penalty, model_shape=shape, feasible=None)
    return base.BoundLoss.minimize(problem, X, y, weights, strength)


def spec_of(name):
    return HUBER if name == "huber" else name


def data_for(name):
    """Three writers of 4, 40 and 16 records."""
    if name in ("huber", "squared"):
        data = with_numbers(writers=3)
    else:
        data = make_dataset(n_classes=3 if name == "softmax" else 2, writers=3)
    return written_by(data, np.repeat(np.arange(3), [4, 40, 16]))


def literal(name, X, y, weights, penalty, strength, W):
    """sum_i weights_i loss(W x_i, y_i) + strength R(W), with y as in the data set."""
    u, b = X @ W.T, 2 * y - 1
    if name == "softmax":
        losses = -special.log_softmax(u, axis=1)[np.arange(len(y)), y]
    elif name == "logistic":
        losses = np.logaddexp(0, -b * u[:, 0])
    elif name == "squared_hinge":
        losses = np.maximum(1 - b * u[:, 0], 0) ** 2
    elif name == "squared":
        losses = (u[:, 0] - y) ** 2 / 2
    else:
        losses = special.huber(HUBER["threshold"], u[:, 0] - y)
    regular = np.abs(W).sum() if penalty == "l1" else (W**2).sum() / 2
    return weights @ losses + strength * regular


def theirs(name, X, y, weights, penalty, strength):
    """Solution of scikit-learn, or of scipy where its objective is another."""
    l1, options = float(penalty == "l1"), {"fit_intercept": False, "max_iter": 100_000}
    if name in ("logistic", "softmax"):
        solver = "lbfgs"
        if l1:
            solver = "liblinear" if name == "logistic" else "saga"
        model = LogisticRegression(
            C=1 / strength, l1_ratio=l1, solver=solver, tol=1e-9, random_state=0, **options
        )
    elif name == "squared_hinge":
        model = LinearSVC(
            penalty=penalty, loss=name, C=1 / strength, dual=False, tol=1e-9, random_state=0, **options
        )  # fmt: skip
    elif name == "squared":
        if l1:
            model = Lasso(alpha=strength / weights.sum(), tol=1e-12, **options)
        else:
            model = Ridge(alpha=strength, tol=1e-12, **options)
    else:
        # HuberRegressor estimates a scale too. With plus - minus for l1, both not negative.
        J = X.shape[1]

        def split(v):
            w = v[:J] - v[J:]
            return literal(name, X, y, weights, "l2", 0, w[None]) + strength * v.sum()

        def whole(w):
            return literal(name, X, y, weights, "l2", strength, w[None])

        tight = {"ftol": 1e-15, "gtol": 1e-9, "maxfun": 10**6, "maxiter": 10**5}
        bounds = [(0, None)] * (2 * J) if l1 else None
        found = optimize.minimize(
            split if l1 else whole,
            np.zeros(2 * J if l1 else J),
            method="L-BFGS-B",
            bounds=bounds,
            options=tight,
        ).x
        return (found[:J] - found[J:] if l1 else found)[None]
    return np.atleast_2d(model.fit(X, y, sample_weight=weights).coef_)


@pytest.mark.parametrize("per", ["agent", "total"])
@pytest.mark.parametrize("average", ["records", "agents"])
@pytest.mark.parametrize("penalty", ["l1", "l2"])
@pytest.mark.parametrize("name", CONVEX)
def test_the_optimum_over_rows_is_scikit_learns(name, penalty, average, per):
    dataset, strength = data_for(name), 0.02
    problem = bind_rows(
        dataset,
        spec_of(name),
        BY_WRITER,
        range(2),
        penalty=penalty,
        strength=strength,
        average=average,
        per=per,
    )
    found = problem.optimum()
    np.testing.assert_array_equal(found[0], found[1])
    X, y = dataset.X_train.astype(np.float64), dataset.y_train
    weights = np.full(60, 1 / 60)
    if average == "agents":
        for rows in rows_by_writer(dataset):
            weights[rows] = 1 / len(rows)
    total = 3 * strength if per == "agent" else strength
    best = theirs(name, X, y, weights, penalty, total)
    ours, least = (literal(name, X, y, weights, penalty, total, each) for each in (found[0], best))
    assert ours <= least * (1 + CLOSE)
    assert least <= ours * (1 + 1e-4)
    np.testing.assert_allclose(found[0], best, atol=2e-3 * np.abs(best).max())
    # Every record, or every agent, with the same weight is another problem: the check above can tell.
    flat = np.full(60, weights.sum() / 60)
    if average == "agents":
        pooled = theirs(name, X, y, flat, penalty, total)
        assert literal(name, X, y, weights, penalty, total, pooled) > ours * 1.0001


@pytest.mark.parametrize("parties", [None, 1, 2, 3])
@pytest.mark.parametrize("penalty", ["l1", "l2"])
@pytest.mark.parametrize("name", [name for name in CONVEX if name != "softmax"])
def test_the_optimum_over_columns_is_scikit_learns(name, penalty, parties):
    dataset, strength = data_for(name), 0.05
    problem = bind_columns(
        dataset, spec_of(name), [2, 4, 1], seeds=2, penalty=penalty, strength=strength
    )
    columns = {None: 7, 1: 2, 2: 6, 3: 7}[parties]
    found = problem.optimum(parties)
    assert found.shape == (2, 1, 7)
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[..., columns:], 0)
    X, y = dataset.X_train[:, :columns].astype(np.float64), dataset.y_train
    weights = np.full(60, 1 / 60)
    best = theirs(name, X, y, weights, penalty, strength)
    ours, least = (
        literal(name, X, y, weights, penalty, strength, each)
        for each in (found[0, :, :columns], best)
    )
    assert ours <= least * (1 + CLOSE)
    assert least <= ours * (1 + 1e-4)


@pytest.mark.parametrize("name", CONVEX)
@settings(max_examples=12)
@given(
    rng=rngs,
    n=st.integers(3, 40),
    J=st.integers(1, 8),
    penalty=st.sampled_from(["l1", "l2"]),
    strength=st.floats(1e-3, 10),
)
def test_zero_is_a_subgradient_at_the_minimum(name, rng, n, J, penalty, strength):
    """With any weights: relative to them, the gradient misses by at most 1e-5 of the largest slope."""
    loss, K = as_loss(spec_of(name)), 3 if name == "softmax" else 1
    X, weights = rng.normal(size=(n, J)), rng.uniform(0.1, 3, n)
    y = 3 * rng.normal(size=n)
    if name == "softmax":
        y = rng.integers(0, K, n)
    elif name in ("logistic", "squared_hinge"):
        y = rng.choice([-1.0, 1.0], n)
    W = minimum(loss, PENALTIES[penalty], strength, X, y, weights, K)
    assert W.shape == (K, J)
    slopes = loss.derivatives((X @ W.T)[:, None], y[:, None])[:, 0]
    gradient = (weights[:, None] * slopes).T @ X
    largest = weights @ np.linalg.norm(X, axis=1) * (1 + np.abs(y).max())
    if penalty == "l2":
        missed = np.abs(gradient + strength * W)
    else:
        away = np.abs(gradient + strength * np.sign(W))
        missed = np.where(np.abs(W) < 1e-7, np.abs(gradient) - strength, away)
    assert missed.max() <= 1e-5 * largest


def test_seeds_that_draw_their_own_rows_have_their_own_optimum(written):
    problem = bind_rows(
        written,
        "logistic",
        DRAWN,
        range(2),
        strength=0.03,
        per="agent",
        average="agents",
    )
    found = problem.optimum()
    a, b = records(written)
    y = (b > 0).astype(int)
    for s in range(2):
        parts, _ = shares(DRAWN, written, s)
        rows = np.concatenate(parts)
        weights = np.concatenate([np.full(len(part), 1 / len(part)) for part in parts])
        best = theirs("logistic", a[rows], y[rows], weights, "l2", 7 * 0.03)
        np.testing.assert_allclose(found[s], best, atol=1e-4)
    assert not np.allclose(found[0], found[1], atol=1e-3)


@pytest.mark.parametrize("empty", [0, 1, 2])
@pytest.mark.parametrize("per", ["agent", "total"])
def test_the_penalty_of_an_agent_without_records_counts(empty, per):
    dataset = make_dataset(20, 5, n_classes=2, writers=3)
    others = [g for g in range(3) if g != empty]
    dataset = written_by(dataset, np.repeat(others, 10))
    problem = bind_rows(dataset, "logistic", BY_WRITER, strength=0.01, per=per, average="agents")
    assert everyone(problem).n_samples[empty] == 0
    X, y = dataset.X_train.astype(np.float64), dataset.y_train
    total = 0.03 if per == "agent" else 0.01
    best = theirs("logistic", X, y, np.full(20, 1 / 10), "l2", total)
    np.testing.assert_allclose(problem.optimum()[0], best, atol=1e-4)


def test_a_search_that_ends_early_is_taken_up_again(monkeypatch):
    """With kinks it may: here each search ends after two steps, and the minimum is found all the same."""
    data = data_for("logistic")
    given = as_loss("logistic"), PENALTIES["l1"], 0.5
    arrays = data.X_train.astype(float), data.y_train, np.ones(data.n_train)
    exact = minimum(*given, *arrays)
    monkeypatch.setattr(base, "_SEARCH", {**base._SEARCH, "maxiter": 2})
    monkeypatch.setattr(base, "_MOST_SEARCHES", 10_000)
    np.testing.assert_allclose(minimum(*given, *arrays), exact, atol=1e-4)
    assert np.abs(exact).max() > 0.1
