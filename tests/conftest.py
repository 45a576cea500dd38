"""Shared fixtures: small data that need no files, and a cache that belongs to the test session."""

from __future__ import annotations

import hypothesis
import numpy as np
import pytest

from admmbench.datasets import Dataset

# A slow machine is no fault of the code.
hypothesis.settings.register_profile("patient", deadline=None)
hypothesis.settings.load_profile("patient")


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Prepared data of the tests do not touch the user's cache."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ADMMBENCH_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


def make_dataset(
    n_train: int = 60,
    n_test: int = 30,
    n_features: int = 7,
    n_classes: int = 3,
    groups: int = 0,
    seed: int = 0,
) -> Dataset:
    """Random records in [0, 1] whose class depends on them, so that there is something to learn."""
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


@pytest.fixture
def made() -> Dataset:
    return make_dataset()
