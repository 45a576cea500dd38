"""Made-up data: small, without files, and with something to learn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from admmbench.datasets import Attribute, Dataset


def make_dataset(
    n_train: int = 60,
    n_test: int = 30,
    n_features: int = 7,
    n_classes: int = 3,
    writers: int = 0,
    seed: int = 0,
) -> Dataset:
    """Make random records in [0, 1] whose class depends on them.

    Parameters
    ----------
    n_train, n_test, n_features, n_classes, writers
        Numbers of records, features, classes and writers; there is no attribute ``writer`` if ``writers`` is 0.
    seed
        Another seed gives other data.
    """
    rng = np.random.default_rng(seed)
    X, scores = _scores(rng, n_train + n_test, n_features, n_classes)
    y = scores.argmax(axis=1).astype(np.int64)
    data = _split("made", X, y, n_train, tuple(str(k) for k in range(n_classes)))
    if not writers:
        return data
    names = [f"writer {number}" for number in range(writers)]
    return written_by(data, rng.integers(0, writers, n_train), names)


def using_some_columns(data: Dataset, numbers: Sequence[int], seed: int = 0) -> Dataset:
    """Return the data with zeros in all but a random choice of columns of each writer's training records.

    Parameters
    ----------
    data
        The data set.
    numbers
        Number of columns that are left, for each writer.
    seed
        Another seed chooses other columns.
    """
    X, rng = data.X_train.copy(), np.random.default_rng(seed)
    for writer, number in enumerate(numbers):
        rows = np.flatnonzero(data.attributes["writer"].train == writer)
        X[np.ix_(rows, rng.permutation(data.n_features)[number:])] = 0
    return replace(data, X_train=X)


def written_by(
    data: Dataset, writers: NDArray[np.integer[Any]], names: Sequence[str] | None = None
) -> Dataset:
    """Make a data set whose training rows have writers, in their order; the first writer wrote all test rows.

    Parameters
    ----------
    data
        The data set.
    writers
        Number of the writer of each training row, shape (n_train,); sorted here.
    names
        Names of the writers; those of `data` if absent.
    """
    values = data.attributes["writer"].values if names is None else tuple(names)
    train = np.sort(writers).astype(np.int32)
    attribute = Attribute(values, train, np.zeros(data.n_test, np.int32))
    return replace(data, attributes={"writer": attribute})


def make_regression(
    n_train: int = 60, n_test: int = 30, n_features: int = 7, seed: int = 0
) -> Dataset:
    """Make random records in [0, 1], see `make_dataset`, with a target of mean 0 and size 1 that depends on them."""
    X, scores = _scores(np.random.default_rng(seed), n_train + n_test, n_features, 1)
    y = scores[:, 0].astype(np.float32)
    return replace(_split("made numbers", X, y, n_train, ()), default_problem="squared")


def _scores(rng: np.random.Generator, n: int, n_features: int, n_scores: int) -> tuple[Any, Any]:
    """Draw records, and noisy scores that depend on them."""
    X = rng.random((n, n_features), dtype=np.float32)
    signal = (X - 0.5) @ rng.normal(size=(n_features, n_scores))
    return X, signal + 0.1 * rng.normal(size=signal.shape)


def _split(name: str, X: Any, y: Any, n_train: int, class_names: tuple[str, ...]) -> Dataset:
    """Make a data set whose first records are for training, and the others for testing."""
    arrays = X[:n_train], y[:n_train], X[n_train:], y[n_train:]
    parts = dict(zip(("X_train", "y_train", "X_test", "y_test"), arrays, strict=True))
    return Dataset(name=name, settings={}, class_names=class_names, **parts)
