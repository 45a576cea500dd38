"""Names and settings, and the parsers on files made here."""

import gzip
import json
import struct

import numpy as np
import pytest

from admmbench import plugins
from admmbench.datasets import (
    DatasetError,
    RemoteFile,
    describe,
    femnist,
    list_datasets,
    load_dataset,
    mnist,
    normalize,
    prepare,
    without,
)
from admmbench.datasets._fetch import checksum


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("mnist", {"name": "mnist"}),
        ({"name": "digits"}, {"name": "digits"}),
        ("gisette_like", {"name": "gisette_like", "scaling": "libsvm"}),
        ("femnist", {"name": "femnist", "shards": "all"}),
        ({"name": "femnist", "shards": [3, 0]}, {"name": "femnist", "shards": [0, 3]}),
        ({"name": "femnist", "shards": range(36)}, {"name": "femnist", "shards": "all"}),
        (
            {"name": "femnist", "shards": "small"},
            {"name": "femnist", "shards": [*range(5), *range(15, 31)]},
        ),
    ],
)
def test_normalize(spec, expected):
    assert normalize(spec) == expected
    assert normalize(normalize(spec)) == expected


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("minst", "unknown data set 'minst'; did you mean 'mnist'"),
        ({"name": "femnits"}, "did you mean 'femnist'"),
        ({"name": "femnist", "shard": [1]}, "no setting 'shard'; did you mean 'shards'"),
        ({"name": "mnist", "shards": [1]}, r"no setting 'shards' \(there are features\)"),
        ({"shards": [1]}, "lacks the key 'name'"),
        ({"name": "adult_b", "scaled": "no"}, "adult_b: scaled is true or false, not 'no'"),
        *(
            ({"name": name, "scaling": scaling}, f"{name}: scaling: .* is none of libsvm, unit")
            for name, scaling in (("gisette", "minmax"), ("gisette_like", None))
        ),
        *(
            ({"name": "femnist", "shards": shards}, "shards must be")
            for shards in ([], [36], [-1], [1, 1], [True], [0.0], ["1"], "some", 3, None)
        ),
    ],
)
def test_wrong_specifications_are_explained(spec, message):
    with pytest.raises(ValueError, match=message):
        normalize(spec)


def test_something_else_is_no_specification():
    with pytest.raises(TypeError, match="a data set is a name, a mapping or a Dataset, not 42"):
        normalize(42)


@pytest.mark.parametrize("name", ["digits", "diabetes"])
def test_altered_library_data_are_found(name, monkeypatch, tmp_path):
    zeros = np.zeros((1797, 64)), np.zeros(1797, int)
    monkeypatch.setattr(f"sklearn.datasets.load_{name}", lambda **_: zeros)
    with pytest.raises(DatasetError, match="reinstall scikit-learn"):
        prepare(name, tmp_path / name)


def test_femnist_counts():
    whole = describe("femnist")
    assert (whole.n_train, whole.n_test) == (36_708, 4_167)
    assert whole.attributes == {"writer": 195}
    assert whole.n_classes == 62
    assert whole.note == ""
    assert not whole.exact
    assert len(whole.files) == 72
    single = [describe({"name": "femnist", "shards": [n]}) for n in range(36)]
    assert sum(info.n_train for info in single) == 36_708
    assert (single[0].n_train, single[0].exact) == (754, True)
    assert not single[5].exact
    assert single[5].n_train == pytest.approx(9 * single[5].n_test, rel=0.05)


def idx(array):
    return struct.pack(f">4B{array.ndim}I", 0, 0, 8, array.ndim, *array.shape) + array.tobytes()


def test_mnist_is_scaled_and_in_file_order(tmp_path):
    images = np.random.default_rng(0).integers(0, 256, (2, 28, 28), dtype=np.uint8)
    paths = {}
    for file in mnist.FILES:
        array = images if "images" in file.name else np.array([0, 9], np.uint8)
        paths[file.name] = tmp_path / file.name
        paths[file.name].write_bytes(gzip.compress(idx(array)))
    arrays = mnist.Mnist().read(describe("mnist"), paths)
    np.testing.assert_array_equal(
        arrays.X_train, images.reshape(2, 784).astype(np.float32) / 255, strict=True
    )
    assert arrays.y_test.tolist() == [0, 9]


# FEMNIST shards


def leaf(writers):
    """Return a LEAF file with one white image per label, its first pixel label / 255."""
    data = {
        user: {"x": [[label / 255] + [1.0] * 783 for label in labels], "y": labels}
        for user, labels in writers.items()
    }
    counts = [len(labels) for labels in writers.values()]
    return json.dumps({"users": list(writers), "num_samples": counts, "user_data": data}).encode()


@pytest.fixture
def two_shards(monkeypatch, tmp_path):
    """Replace the table of shards by two small ones, whose files are in a mirror."""
    contents = [
        (leaf({"b": [3, 61, 0], "none": [], "a": [5]}), leaf({"b": [7], "none": [8], "a": [9]})),
        (leaf({"c": [1, 2]}), leaf({"c": [4]})),
    ]
    shards = []
    for number, pair in enumerate(contents):
        files = []
        for split, content in zip(("train", "test"), pair, strict=True):
            name = f"{split}_{number}.json"
            (tmp_path / name).write_bytes(content)
            blob = checksum(content, "git-blob-sha1")
            files.append(RemoteFile(name, (), name, blob, len(content)))
        n_writers, n_train, n_test = ((3, 4, 3), (1, 2, 1))[number]
        shards.append(femnist.Shard(number, n_writers, n_train, n_test, True, *files))
    monkeypatch.setattr(femnist, "_shards", lambda: tuple(shards))
    return tmp_path


def test_femnist_rows_follow_shards_and_writers(two_shards):
    data = load_dataset("femnist", mirror=two_shards)
    assert list(data.attributes) == ["writer"]
    assert data.attributes["writer"].values == ("b", "none", "a", "c")
    assert data.attributes["writer"].train.tolist() == [0, 0, 0, 2, 3, 3]
    assert data.attributes["writer"].test.tolist() == [0, 1, 2, 3]
    assert data.y_train.tolist() == [3, 61, 0, 5, 1, 2]
    assert data.y_test.tolist() == [7, 8, 9, 4]
    np.testing.assert_allclose(data.X_train[:, 0], 1 - data.y_train / 255, rtol=1e-6)
    assert not data.X_train[:, 1:].any()  # the white background
    assert data.note == ""


def test_femnist_shards_are_selected_with_their_test_files(two_shards):
    (two_shards / "train_0.json").unlink()
    with pytest.raises(DatasetError, match=r"cannot get train_0\.json"):
        load_dataset("femnist", mirror=two_shards)
    data = load_dataset({"name": "femnist", "shards": [1]}, mirror=two_shards)
    assert data.y_train.tolist() == [1, 2]
    assert data.y_test.tolist() == [4]
    assert data.attributes["writer"].train.tolist() == [0, 0]
    assert data.attributes["writer"].values == ("c",)
    assert data.note == "1 of 4 writers (1 of 2 training shards)"


def test_femnist_without_files_has_the_other_shards(two_shards):
    whole = {"name": "femnist", "shards": "all"}
    assert without(whole, ["train_0.json"]) == {"name": "femnist", "shards": [1]}
    assert without(whole, ["test_1.json"]) == {"name": "femnist", "shards": [0]}
    assert without(whole, []) == whole
    assert without(whole, ["train_0.json", "test_1.json"]) is None
    assert without("digits", ["any"]) is None


BITS = """
import numpy as np

from admmbench.api import Arrays, DatasetDefinition, DatasetInfo, RemoteFile


class Bits(DatasetDefinition):
    name = "bits"

    def describe(self, settings):
        return DatasetInfo(
            name="bits", title="Bits", settings=settings, n_train=2, n_test=2, n_features=1,
            class_names=("even", "odd"), licence="none", citation="nobody", files=({file},)
        )

    def read(self, info, paths):
        y = np.array(paths["bits.txt"].read_text().split(), dtype=np.int64)
        X = y[:, None].astype(np.float32)
        return Arrays(X[:2], y[:2], X[2:], y[2:])
"""


def test_a_new_data_set_is_one_class(monkeypatch, server, tmp_path):
    content = b"0 1 1 0"
    file = RemoteFile(
        "bits.txt", (server.serve("/bits", content),), "bits/bits.txt", checksum(content, "sha256")
    )

    (tmp_path / "bits.py").write_text(BITS.format(file=file))
    monkeypatch.setattr(plugins, "installed", lambda group: {"bits": "bits"})
    monkeypatch.syspath_prepend(tmp_path)
    assert "bits" in list_datasets()
    for name in ("bits", str(tmp_path / "bits.py")):
        data = load_dataset(name, cache=tmp_path, progress=False)
        assert data.y_test.tolist() == [1, 0]
        assert data.checksums == {"bits.txt": file.checksum}
