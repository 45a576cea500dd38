"""Data sets with files keep the contracts, and some hold what is known of them."""

import numpy as np
import pytest

from admmbench.contracts.datasets import dataset_checks
from admmbench.datasets import (
    describe,
    list_datasets,
    load_dataset,
)

pytestmark = pytest.mark.slow

SPECS = {"femnist": {"name": "femnist", "shards": [0]}}


@pytest.fixture(scope="session")
def session_cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def mirror(name, real_mirror, monkeypatch):
    """The mirror, if it has the files of the data set; skip if it lacks one."""
    for path in (real_mirror / file.mirror_path for file in describe(SPECS.get(name, name)).files):
        if not (path.exists() or path.with_name(path.name + ".xz").exists()):
            pytest.skip(f"the mirror lacks {path}")
    monkeypatch.setenv("ADMMBENCH_MIRROR", str(real_mirror))


@pytest.mark.parametrize(
    "name", [name for name in list_datasets() if name != "table" and describe(name).files]
)
def test_keeps_its_contract(name, mirror):
    """What `tests/contracts` does for those that need no download."""
    for check in dataset_checks(SPECS.get(name, name)):
        check.run()


def test_digits():
    data = load_dataset("digits")
    assert np.bincount(data.y_train).tolist() == [143, 146, 142, 146, 144, 145, 144, 143, 141, 143]
    # Known to scikit-learn's users: the first image is a 0, its first row 0 0 5 13 9 1 0 0.
    assert (data.X_train[0, :8] * 16).tolist() == [0, 0, 5, 13, 9, 1, 0, 0]
    assert data.y_train[0] == 0


def test_mnist(real_mirror, session_cache):
    data = load_dataset("mnist", mirror=real_mirror, cache=session_cache)
    assert np.bincount(data.y_train).tolist() == [
        *(5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949)
    ]
    assert np.bincount(data.y_test).tolist() == [
        *(980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009)
    ]
    assert data.X_train.mean(dtype=float) * 255 == pytest.approx(33.318, abs=5e-4)
    assert data.X_test.mean(dtype=float) * 255 == pytest.approx(33.791, abs=5e-4)
    assert data.X_train.std(dtype=float) * 255 == pytest.approx(78.567, abs=5e-4)


def test_femnist(real_mirror, session_cache):
    small = {"name": "femnist", "shards": "small"}
    data = load_dataset(small, mirror=real_mirror, cache=session_cache)
    assert (data.n_train, data.n_test) == (15_440, 1_765)
    assert data.note == "114 of 195 writers (21 of 36 training shards)"
    writer = data.attributes["writer"]
    assert len(writer.values) == 114
    assert writer.values[0] == "f3795_00"
    sizes = np.bincount(writer.train)
    assert (sizes.min(), sizes.max(), sizes[0]) == (3, 164, 149)
    # Nine tenths of what a writer wrote are training rows, so that all have test rows too.
    tests = np.bincount(writer.test, minlength=114)
    assert (tests.min(), tests.max()) == (1, 19)
    assert np.array_equal(sizes, (sizes + tests) * 9 // 10)
    # Digits, upper case, lower case; and a background of 0 after the inversion.
    kinds = np.histogram(data.y_train, bins=[0, 10, 36, 62])[0]
    assert kinds.tolist() == [10_933, 2_252, 2_255]
    assert np.median(data.X_train[:1000]) == 0
