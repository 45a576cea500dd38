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
    """Random records in [0, 1] whose class depends on them.

    Parameters
    ----------
    n_train, n_test, n_features, n_classes
        Sizes.
    writers
        Number of writers, 0 for none.
    seed
        Another seed gives other data.
    """
    rng = np.random.default_rng(seed)
    X = rng.random((n_train + n_test, n_features), dtype=np.float32)
    scores = (X - 0.5) @ rng.normal(size=(n_features, n_classes)) + 0.1 * rng.normal(
        size=(len(X), n_classes)
    )
    y = scores.argmax(axis=1).astype(np.int64)
    made = Dataset(
        name="made",
        settings={},
        X_train=X[:n_train],
        y_train=y[:n_train],
        X_test=X[n_train:],
        y_test=y[n_train:],
        class_names=tuple(str(k) for k in range(n_classes)),
    )
    if not writers:
        return made
    names = [f"writer {number}" for number in range(writers)]
    return written_by(made, rng.integers(0, writers, n_train), names)


def written_by(
    data: Dataset, writers: NDArray[np.integer[Any]], names: Sequence[str] | None = None
) -> Dataset:
    """A data set whose training rows have writers, in the order of these; the first wrote all test rows.

    Parameters
    ----------
    data
        The data set.
    writers
        Number of the writer of each training row, shape (n_train,); sorted here.
    names
        Of the writers; those of `data` if absent.
    """
    values = data.attributes["writer"].values if names is None else tuple(names)
    train = np.sort(writers).astype(np.int32)
    attribute = Attribute(values, train, np.zeros(data.n_test, np.int32))
    return replace(data, attributes={"writer": attribute})


def make_regression(
    n_train: int = 60, n_test: int = 30, n_features: int = 7, seed: int = 0
) -> Dataset:
    """Random records in [0, 1] with a number that depends on them, about 0, of the size of 1.

    Parameters
    ----------
    n_train, n_test, n_features
        Sizes.
    seed
        Another seed gives other data.
    """
    rng = np.random.default_rng(seed)
    X = rng.random((n_train + n_test, n_features), dtype=np.float32)
    signal = (X - 0.5) @ rng.normal(size=n_features)
    y = (signal + 0.1 * rng.normal(size=len(X))).astype(np.float32)
    return Dataset(
        name="made numbers",
        settings={},
        X_train=X[:n_train],
        y_train=y[:n_train],
        X_test=X[n_train:],
        y_test=y[n_train:],
        class_names=(),
        default_problem="squared",
    )
