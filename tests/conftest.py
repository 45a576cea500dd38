"""Shared fixtures: small data that need no files, and a cache that belongs to the test session."""

from __future__ import annotations

import hypothesis
import pytest

from admmbench.checks.made import make_dataset
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


@pytest.fixture
def made() -> Dataset:
    return make_dataset()
