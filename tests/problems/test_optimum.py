"""The minimiser meets the conditions of a minimum, by formulas of the losses' slopes."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import special

from admmbench.contracts.made_up_data import make_dataset, written_by
from admmbench.problems import base
from admmbench.problems.losses import as_loss
from admmbench.problems.penalties import PENALTIES
from tests.problems.helpers import (
    BY_WRITER,
    bind_columns,
    bind_rows,
    everyone,
    rows_by_writer,
    with_numbers,
)

CONVEX = ["huber", "logistic", "softmax", "squared", "squared_hinge"]
THRESHOLD = 0.8
HUBER = {"name": "huber", "threshold": THRESHOLD}


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


def slopes(name, u, y):
    """Derivatives of the losses, shape (n, K), with y as in the data set."""
    b = 2 * y[:, None] - 1
    if name == "softmax":
        return special.softmax(u, axis=1) - np.eye(u.shape[1])[y]
    return {
        "logistic": lambda: -b * special.expit(-b * u),
        "squared_hinge": lambda: -2 * b * np.maximum(1 - b * u, 0),
        "squared": lambda: u - y[:, None],
        "huber": lambda: np.clip(u - y[:, None], -THRESHOLD, THRESHOLD),
    }[name]()


def assert_minimum(W, name, X, y, weights, penalty, strength):
    """0 is a subgradient of sum_i weights_i loss(W x_i, y_i) + strength R(W).

    It is missed by at most 1e-5 of the largest slope.
    """
    gradient = (weights[:, None] * slopes(name, X @ W.T, y)).T @ X
    largest = weights @ np.linalg.norm(X, axis=1) * (1 + np.abs(y).max())
    if penalty == "l2":
        missed = np.abs(gradient + strength * W)
    else:
        away = np.abs(gradient + strength * np.sign(W))
        missed = np.where(np.abs(W) < 1e-7, np.abs(gradient) - strength, away)
    assert missed.max() <= 1e-5 * largest


@pytest.mark.parametrize("per", ["agent", "total"])
@pytest.mark.parametrize("average", ["records", "agents"])
@pytest.mark.parametrize("penalty", ["l1", "l2"])
@pytest.mark.parametrize("name", CONVEX)
def test_the_optimum_over_rows(name, penalty, average, per):
    dataset, strength = data_for(name), 0.02
    stated = {"penalty": penalty, "strength": strength, "average": average, "per": per}
    found = bind_rows(dataset, spec_of(name), BY_WRITER, range(2), **stated).optimum()
    np.testing.assert_array_equal(found[0], found[1])
    weights = np.full(60, 1 / 60)
    if average == "agents":
        for rows in rows_by_writer(dataset):
            weights[rows] = 1 / len(rows)
    total = 3 * strength if per == "agent" else strength
    X, y = dataset.X_train.astype(np.float64), dataset.y_train
    assert_minimum(found[0], name, X, y, weights, penalty, total)


@pytest.mark.parametrize("parties", [None, 1, 2, 3])
@pytest.mark.parametrize("penalty", ["l1", "l2"])
@pytest.mark.parametrize("name", [name for name in CONVEX if name != "softmax"])
def test_the_optimum_over_columns(name, penalty, parties):
    dataset, strength = data_for(name), 0.05
    problem = bind_columns(
        dataset, spec_of(name), [2, 4, 1], seeds=2, penalty=penalty, strength=strength
    )
    columns = {None: 7, 1: 2, 2: 6, 3: 7}[parties]
    found = problem.optimum(parties)
    assert found.shape == (2, 1, 7)
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[..., columns:], 0)
    X, weights = dataset.X_train[:, :columns].astype(np.float64), np.full(60, 1 / 60)
    own = found[0, :, :columns]
    assert_minimum(own, name, X, dataset.y_train, weights, penalty, strength)


@pytest.mark.parametrize("empty", [0, 1, 2])
@pytest.mark.parametrize("per", ["agent", "total"])
def test_the_penalty_of_an_agent_without_records_counts(empty, per):
    dataset = make_dataset(20, 5, n_classes=2, writers=3)
    dataset = written_by(dataset, np.repeat([g for g in range(3) if g != empty], 10))
    problem = bind_rows(dataset, "logistic", BY_WRITER, strength=0.01, per=per, average="agents")
    assert everyone(problem).n_samples[empty] == 0
    X, y = dataset.X_train.astype(np.float64), dataset.y_train
    total = 0.03 if per == "agent" else 0.01
    assert_minimum(problem.optimum()[0], "logistic", X, y, np.full(20, 1 / 10), "l2", total)


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
