"""The prepared form: complete or absent, and damage is one clear message."""

import json
import multiprocessing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from admmbench import simulate
from admmbench.datasets import (
    Arrays,
    Attribute,
    DatasetError,
    DatasetInfo,
    load_dataset,
    open_prepared,
)
from admmbench.datasets._prepared import write_prepared

INFO = DatasetInfo(
    name="toy",
    title="Toy",
    settings={"shards": [1, 2]},
    n_train=4,
    n_test=2,
    n_features=3,
    class_names=("a", "b"),
    checksums={"toy.bin": "sha256:00"},
    licence="CC0",
    citation="nobody",
    attributes={"writer": 3, "kind": 2},
    note="part of it",
    default_problem="logistic",
)


def arrays(**changes):
    rng = np.random.default_rng(0)
    toy = Arrays(
        X_train=rng.random((4, 3), dtype=np.float32),
        y_train=np.array([0, 1, 0, 1]),
        X_test=rng.random((2, 3), dtype=np.float32),
        y_test=np.array([1, 0]),
        attributes={"writer": writer(), "kind": Attribute.of("xy", "yxyx", "yx")},
    )
    return replace(toy, **changes)


def writer(**changes):
    usual = Attribute.of(("w", "without rows", "v"), ["w", "w", "v", "v"], ["v", "v"])
    return replace(usual, **changes)


def written(**changes):
    """Attributes as usual, with changes of one."""
    return {"attributes": {**arrays().attributes, "writer": writer(**changes)}}


@pytest.fixture
def folder(tmp_path):
    write_prepared(tmp_path / "toy", INFO, arrays())
    return tmp_path / "toy"


def test_round_trip(folder):
    data = open_prepared(folder)
    for name in ("X_train", "y_train", "X_test", "y_test"):
        np.testing.assert_array_equal(getattr(data, name), getattr(arrays(), name))
    assert list(data.attributes) == ["kind", "writer"]
    for name, attribute in arrays().attributes.items():
        assert data.attributes[name].values == attribute.values
        np.testing.assert_array_equal(data.attributes[name].train, attribute.train, strict=True)
        np.testing.assert_array_equal(data.attributes[name].test, attribute.test, strict=True)
    assert data.settings == {"shards": [1, 2]}
    assert data.class_names == ("a", "b")
    assert data.domain == (0.0, 1.0)
    assert data.info.attributes == {"writer": 3, "kind": 2}
    assert data.note == "part of it"
    assert (data.default_problem, data.target_unit) == ("logistic", "1")


def numbers(**changes):
    info = replace(INFO, class_names=(), default_problem="squared", target_unit="kg")
    floats = {"y_train": np.arange(4, dtype=np.float32), "y_test": np.ones(2, np.float32)}
    return info, arrays(**{**floats, **changes})


def test_targets_may_be_numbers_with_a_unit(tmp_path):
    write_prepared(tmp_path / "toy", *numbers())
    data = open_prepared(tmp_path / "toy")
    assert data.y_train.tolist() == [0, 1, 2, 3]
    trace = simulate(data, "objp", agents=2, rounds=1)
    assert trace.test_rmse.attrs["units"] == "kg"
    assert trace.test_loss.attrs["units"] == "(kg)2"
    assert trace.attrs["metric"] == "test_rmse"
    assert trace.test_rmse.attrs["long_name"] == "root mean squared test error"
    assert "test_error" not in trace
    # The squared loss is half the squared error.
    np.testing.assert_allclose(trace.test_rmse**2 / 2, trace.test_loss, rtol=1e-6)


def test_writing_again_replaces_and_leaves_nothing_else(folder):
    write_prepared(folder, INFO, arrays(y_test=np.array([0, 0])))
    assert open_prepared(folder).y_test.tolist() == [0, 0]
    assert [path.name for path in folder.parent.iterdir() if path.name != "default-cache"] == [
        "toy"
    ]


def test_the_name_of_a_folder_may_be_long(tmp_path):
    folder = tmp_path / ("ä" * 120)
    write_prepared(folder, INFO, arrays())
    assert open_prepared(folder).name == "toy"


def test_foreign_folder_is_left_alone(tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(DatasetError, match="other files"):
        write_prepared(tmp_path, INFO, arrays())
    assert (tmp_path / "thesis.tex").exists()


def test_failure_while_writing_leaves_the_former_copy(folder, monkeypatch):
    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "save", full)
    with pytest.raises(DatasetError, match=r"cannot write prepared toy .*No space left"):
        write_prepared(folder, INFO, arrays(y_test=np.array([0, 0])))
    assert open_prepared(folder).y_test.tolist() == [1, 0]
    assert not list(folder.parent.glob(".toy*"))


def truncate(path):
    path.write_bytes(path.read_bytes()[:-1])


def flip(path):
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda f: (f / "dataset.json").unlink(), "dataset.json: cannot be read: No such file"),
        (lambda f: (f / "dataset.json").write_text("{"), "dataset.json: incomplete, altered"),
        (lambda f: (f / "dataset.json").write_text("[]"), "incomplete, altered"),
        (lambda f: edit(f, lambda m: m.pop("domain")), "incomplete, altered"),
        (lambda f: edit(f, lambda m: m.update(domain=[0.0, 9.0])), "incomplete, altered"),
        (lambda f: edit(f, lambda m: m.pop("sha256")), "incomplete, altered"),
        (lambda f: (f / "X_train.npy").unlink(), "X_train.npy: cannot be read: No such file"),
        (lambda f: truncate(f / "X_train.npy"), "X_train.npy: incomplete, altered"),
        (lambda f: flip(f / "X_train.npy"), "X_train.npy: incomplete, altered"),
    ],
)
def test_damage_is_named(folder, damage, message):
    damage(folder)
    with pytest.raises(DatasetError, match=message) as error:
        open_prepared(folder)
    assert str(folder) in str(error.value)
    assert "makes it again" in str(error.value)


def test_another_format_is_named(folder, monkeypatch):
    monkeypatch.setattr("admmbench.datasets._prepared.FORMAT_VERSION", 0)
    with pytest.raises(DatasetError, match="format version 7, expected 0"):
        open_prepared(folder)


def test_all_is_on_the_disk_before_the_folder_counts_as_complete(tmp_path, monkeypatch):
    on_disk = []
    monkeypatch.setattr("admmbench.datasets._prepared.sync", lambda path: on_disk.append(path.name))
    write_prepared(tmp_path / "toy", INFO, arrays())
    assert {path.name for path in (tmp_path / "toy").iterdir()} < set(on_disk)
    assert on_disk[-1] == tmp_path.name


def test_a_link_is_not_followed(folder, tmp_path):
    (tmp_path / "link").symlink_to(folder)
    with pytest.raises(DatasetError, match="link is a symbolic link and not followed"):
        write_prepared(tmp_path / "link", INFO, arrays())
    assert (tmp_path / "link").is_symlink()
    open_prepared(folder)


def edit(folder, change):
    path = folder / "dataset.json"
    metadata = json.loads(path.read_text())
    change(metadata)
    path.write_text(json.dumps(metadata))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"X_test": np.full((2, 3), 1.5, np.float32)}, "test part: features in .1.5"),
        ({"X_test": np.zeros((1, 3), np.float32), "y_test": np.array([0])}, "test part: 1 rows"),
        ({"attributes": {}}, "attributes with numbers of values {}, expected {'writer': 3"),
        (written(values=("w",)), "{'writer': 1, 'kind': 2}, expected {'writer': 3"),
        (written(train=np.array([0, 1, 2, 3], np.int32)), "writer has a value without a name"),
        (written(test=np.array([-1, 0], np.int32)), "writer has a value without a name"),
        (written(train=np.array([0, 1], np.int32)), "2 values of type int32 for 4 rows"),
        (written(test=np.array([0, 1])), "2 values of type int64 for 2 rows"),
    ],
)
def test_wrong_content_is_not_written(tmp_path, changes, message):
    with pytest.raises(DatasetError, match=message):
        write_prepared(tmp_path / "toy", INFO, arrays(**changes))
    assert not (tmp_path / "toy").exists()


def test_targets_that_are_no_numbers_are_refused(tmp_path):
    for targets, message in (
        (np.arange(4), "y_train is int64, expected float32"),
        (np.full(4, np.inf, np.float32), "training part: targets that are no numbers"),
    ):
        with pytest.raises(DatasetError, match=message):
            write_prepared(tmp_path / "toy", *numbers(y_train=targets))


def test_a_value_of_an_attribute_without_a_name_is_refused():
    with pytest.raises(DatasetError, match="'c' is none of the 2 values of an attribute"):
        Attribute.of("ab", "ba", "ac")


def test_a_stated_count_is_checked_and_an_estimate_is_not(tmp_path):
    with pytest.raises(DatasetError, match="training part: 4 rows, expected 5"):
        write_prepared(tmp_path / "toy", replace(INFO, n_train=5), arrays())
    write_prepared(tmp_path / "toy", replace(INFO, n_train=5, exact=False), arrays())
    assert open_prepared(tmp_path / "toy").n_train == 4


def test_load_prepares_once_and_heals_damage(tmp_path):
    data = load_dataset("digits", cache=tmp_path)
    path, before = Path(data.X_test.filename), np.array(data.X_test)
    written = path.stat().st_mtime_ns
    load_dataset("digits", cache=tmp_path)
    assert path.stat().st_mtime_ns == written
    for damage in (truncate, flip, lambda file: file.with_name("dataset.json").write_text("{}")):
        damage(path)
        assert np.array_equal(load_dataset("digits", cache=tmp_path).X_test, before)


LOGGED = """
from dataclasses import replace

from admmbench.datasets.digits import Digits


class Logged(Digits):
    name = "logged"

    def describe(self, settings):
        return replace(super().describe(settings), name="logged")

    def read(self, info, paths):
        with open({log!r}, "a") as stream:
            stream.write("read\\n")
        return super().read(info, paths)
"""


def test_processes_may_load_at_once_and_prepare_once(tmp_path):
    log, path = tmp_path / "log", tmp_path / "logged.py"
    path.write_text(LOGGED.format(log=str(log)))
    with multiprocessing.get_context("fork").Pool(4) as pool:
        loading = [pool.apply_async(shape, (path, tmp_path / "cache")) for _ in range(8)]
        assert {result.get(timeout=20) for result in loading} == {(1437, 64)}
    assert log.read_text() == "read\n"


def shape(path, cache):
    return load_dataset(str(path), cache=cache).X_train.shape


def test_unusable_cache_is_one_message(tmp_path):
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(DatasetError, match=r"data\.cache"):
        load_dataset("digits", cache=tmp_path / "file")
