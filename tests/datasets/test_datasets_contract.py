"""What holds for every data set that is registered, checked on the data themselves."""

import numpy as np
import pytest

from admmbench.datasets import (
    Dataset,
    DatasetError,
    _fetch,
    describe,
    list_datasets,
    load_dataset,
    normalize,
    open_prepared,
    prepare,
)

# The shards whose training files are small enough to be widely mirrored.
FEMNIST_21 = {"name": "femnist", "shards": [*range(5), *range(15, 31)]}
SPECS = {"femnist": FEMNIST_21}
SMALL_SPECS = {"femnist": {"name": "femnist", "shards": [0]}}


@pytest.fixture(params=list_datasets())
def name(request):
    return request.param


@pytest.fixture
def mirror(name, request):
    """Return the mirror if the data set needs one; skip if it lacks a file of it."""
    files = describe(SPECS.get(name, name)).files
    if not files:
        return None
    folder = request.getfixturevalue("real_mirror")
    for path in (folder / file.mirror_path for file in files):
        if not (path.exists() or path.with_name(path.name + ".xz").exists()):
            pytest.skip(f"the mirror lacks {path}")
    return folder


@pytest.fixture(scope="session")
def session_cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def dataset(name, mirror, session_cache):
    return load_dataset(SPECS.get(name, name), mirror=mirror, cache=session_cache)


def test_is_as_described(name, dataset):
    info = describe(SPECS.get(name, name))
    assert info.exact
    assert dataset.X_train.shape == (info.n_train, info.n_features)
    assert dataset.X_test.shape == (info.n_test, info.n_features)
    for fact in ("name", "n_train", "n_test", "n_features", "n_classes", "n_groups", "settings"):
        assert getattr(dataset, fact) == getattr(info, fact), fact
    for fact in ("class_names", "domain", "checksums", "note", "citation", "licence"):
        assert getattr(dataset, fact) == getattr(info, fact), fact


def test_arrays_are_typed_contiguous_mapped_and_read_only(dataset):
    for part in ("X_train", "X_test"):
        assert getattr(dataset, part).dtype == np.float32
        assert getattr(dataset, part).flags.c_contiguous
    for part in ("X_train", "y_train", "X_test", "y_test"):
        assert isinstance(getattr(dataset, part), np.memmap)
        assert not getattr(dataset, part).flags.writeable


def test_values_are_admissible(dataset):
    low, high = dataset.domain
    for X, y in ((dataset.X_train, dataset.y_train), (dataset.X_test, dataset.y_test)):
        assert np.isfinite(X).all()
        assert X.min() >= low
        assert X.max() <= high
        assert y.shape == (len(X),)
        assert y.dtype == (np.int64 if dataset.n_classes else np.float32)
        if dataset.n_classes:
            assert set(np.unique(y)) <= set(range(dataset.n_classes))
        else:
            assert np.isfinite(y).all()
            assert dataset.target_unit


def test_groups_are_increasing(dataset):
    if dataset.groups is None:
        assert dataset.n_groups == 0
        return
    assert dataset.groups.dtype == np.int32
    assert dataset.groups.shape == (dataset.n_train,)
    assert (np.diff(dataset.groups) >= 0).all()
    assert 0 <= dataset.groups[0] <= dataset.groups[-1] < dataset.n_groups
    assert len(set(dataset.group_names)) == dataset.n_groups


def test_preparing_twice_gives_the_same_bytes(name, mirror, tmp_path):
    spec = SMALL_SPECS.get(name, name)
    for folder in ("one", "two"):
        prepare(spec, tmp_path / folder, mirror=mirror)
    files = sorted(path.name for path in (tmp_path / "one").iterdir())
    assert files == sorted(path.name for path in (tmp_path / "two").iterdir())
    for file in files:
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()
    open_prepared(tmp_path / "one", verify=True)


def test_a_loaded_data_set_is_a_specification_of_itself(dataset):
    assert isinstance(dataset, Dataset)
    assert load_dataset(dataset) is dataset
    assert normalize(dataset) == normalize({"name": dataset.name, **dataset.settings})


def test_facts_are_complete(name):
    info = describe(name)
    assert info.title
    assert info.licence
    assert info.citation
    assert info.checksums
    assert all(info.checksums[file.name] == file.checksum for file in info.files)
    assert len({file.mirror_path for file in info.files}) == len(info.files)


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
    data = load_dataset(FEMNIST_21, mirror=real_mirror, cache=session_cache)
    assert (data.n_groups, data.n_train, data.n_test) == (114, 15_440, 1_765)
    assert data.note == "114 of 195 writers (21 of 36 training shards)"
    assert data.group_names[0] == "f3795_00"
    sizes = np.bincount(data.groups)
    assert (sizes.min(), sizes.max(), sizes[0]) == (3, 164, 149)
    # Digits, upper case, lower case; and a background of 0 after the inversion.
    kinds = np.histogram(data.y_train, bins=[0, 10, 36, 62])[0]
    assert kinds.tolist() == [10_933, 2_252, 2_255]
    assert np.median(data.X_train[:1000]) == 0


def test_missing_femnist_shards_are_named_with_those_that_are_there(
    real_mirror, tmp_path, monkeypatch
):
    folder = real_mirror / "femnist" / "dpfl-iadmm" / "Inputs" / "Femnist_Train_small"
    if list(folder.glob("all_data_5_*")):
        pytest.skip("the mirror has shard 5")
    monkeypatch.setattr(_fetch, "_transfer", lambda *_: "no network in this test")
    with pytest.raises(DatasetError, match="all_data_5_niid_05_keep_0_train_9") as error:
        load_dataset("femnist", mirror=real_mirror, cache=tmp_path)
    assert "all_data_6_niid_05_keep_0_train_9.json" in str(error.value)
    assert "and 10 more" in str(error.value)
    assert f"`shards: {FEMNIST_21['shards']}`" in str(error.value)
