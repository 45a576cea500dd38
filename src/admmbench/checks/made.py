"""Made-up data: small, without files, and with something to learn."""

from __future__ import annotations

import numpy as np

from admmbench.datasets import Dataset


def make_dataset(
    n_train: int = 60,
    n_test: int = 30,
    n_features: int = 7,
    n_classes: int = 3,
    groups: int = 0,
    seed: int = 0,
) -> Dataset:
    """Random records in [0, 1] whose class depends on them.

    Parameters
    ----------
    n_train, n_test, n_features, n_classes
        Sizes.
    groups
        Number of writers, 0 for none.
    seed
        Other data for another one.
    """
    rng = np.random.default_rng(seed)
    X = rng.random((n_train + n_test, n_features), dtype=np.float32)
    scores = (X - 0.5) @ rng.normal(size=(n_features, n_classes)) + 0.1 * rng.normal(
        size=(len(X), n_classes)
    )
    y = scores.argmax(axis=1).astype(np.int64)
    members = np.sort(rng.integers(0, groups, n_train)).astype(np.int32) if groups else None
    return Dataset(
        name="made",
        settings={},
        X_train=X[:n_train],
        y_train=y[:n_train],
        X_test=X[n_train:],
        y_test=y[n_train:],
        class_names=tuple(str(k) for k in range(n_classes)),
        groups=members,
        group_names=tuple(f"writer {g}" for g in range(groups)),
    )


def make_regression(
    n_train: int = 60, n_test: int = 30, n_features: int = 7, seed: int = 0
) -> Dataset:
    """Random records in [0, 1] with a number that depends on them, about 0, of the size of 1.

    Parameters
    ----------
    n_train, n_test, n_features
        Sizes.
    seed
        Other data for another one.
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
