"""Damaged files of a study are found, whatever is done to their times, and read again only if they changed."""

import logging
import os
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import h5py
import pytest

from admmbench import files
from admmbench.datasets import open_prepared, prepare
from admmbench.watch import damage

WHOLE = files.with_checksum(b"<html></html>\n", files.MARKUP)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A folder that Snakemake works in, with two pages."""
    monkeypatch.chdir(tmp_path)
    Path(".snakemake").mkdir()
    for name in ("a.html", "b.html"):
        Path(name).write_bytes(WHOLE)
    return tmp_path


def altered(path):
    """Alter a file, which is then as old as before."""
    before = path.stat()
    path.write_bytes(path.read_bytes().replace(b"html", b"HTML", 1))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def test_what_is_whole_is_read_once(monkeypatch):
    read, read_bytes = [], Path.read_bytes

    def listed(path):
        read.append(path.name)
        return read_bytes(path)

    monkeypatch.setattr(Path, "read_bytes", listed)
    for _ in range(2):
        assert damage.damaged(["a.html", "b.html", "none.html", "a.html"]) == []
    assert sorted(name for name in read if name.endswith(".html")) == ["a.html", "b.html"]


def test_what_is_altered_is_found_though_its_times_are_set_back():
    assert damage.damaged(["a.html", "b.html"]) == []
    altered(Path("b.html"))
    assert damage.damaged(["a.html", "b.html"]) == ["b.html"]
    Path("b.html").write_bytes(WHOLE)
    assert damage.damaged(["a.html", "b.html"]) == []


def test_what_is_damaged_is_known_until_it_is_whole():
    """Snakemake removes it before it makes it, and may be killed in between; what is only missing is its own affair."""
    altered(Path("b.html"))
    assert damage.damaged(["b.html"]) == ["b.html"]
    for name in ("a.html", "b.html"):
        Path(name).unlink()
    assert damage.damaged(["a.html", "b.html"]) == ["b.html"]
    Path("b.html").write_bytes(WHOLE)
    assert damage.damaged(["a.html", "b.html"]) == []


def test_all_is_read_again_after_a_failure_and_what_is_to_be_made_stays_known():
    altered(Path("b.html"))
    assert damage.damaged(["a.html", "b.html"]) == ["b.html"]
    Path("b.html").unlink()
    damage._write_record({**damage._read_record(), "a.html": damage._file_state("a.html")})
    damage.read_all_again()
    assert damage._read_record() == {"b.html": []}


@pytest.mark.parametrize("content", [b"", b"{}", b"\x00" * 99])
def test_a_record_that_is_damaged_counts_as_none(content):
    damage.damaged(["a.html"])
    damage.RECORD.write_bytes(content)
    altered(Path("b.html"))
    assert damage.damaged(["a.html", "b.html"]) == ["b.html"]


def snakemake(**settings):
    """As far as this is concerned."""
    given = {"executor_plugin": "local", "dryrun": False, "touch": False, **settings}
    return SimpleNamespace(dag=SimpleNamespace(forcefiles=set()), **given)


def test_snakemake_is_told_of_what_is_damaged(caplog):
    names = [f"{number}.html" for number in range(9)]
    for name in names[:5]:
        Path(name).write_bytes(b"half of it")
    for name in names[5:]:
        Path(name).write_bytes(WHOLE)
    workflow = snakemake()
    with caplog.at_level(logging.INFO, "snakemake.logging"):
        damage.make_again(workflow, names, {}, "cache")
    assert workflow.dag.forcefiles == set(names[:5])
    assert caplog.messages == [
        *(
            f"{name} is incomplete, altered or of an earlier version; it is made again where it is needed."
            for name in names[:3]
        ),
        "So are 2 other files.",
    ]


def test_data_are_prepared_again_and_stay_as_old_as_they_were():
    """Otherwise all runs on them were made again."""
    folder = Path("datasets/digits")
    prepare("digits", folder)
    stamp = folder / ".snakemake_timestamp"
    stamp.touch()
    os.utime(stamp, (1, 1))
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    workflow = snakemake()
    for name in ("X_train.npy", "dataset.json"):
        path = folder / name
        path.write_bytes(path.read_bytes()[:-1])
        damage.make_again(snakemake(dryrun=True), [], {str(folder): "digits"}, "cache")
        assert path.read_bytes() != before[name]
        damage.make_again(workflow, [], {str(folder): "digits"}, "cache")
        assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
        assert stamp.stat().st_mtime == 1
        open_prepared(folder)
    assert not workflow.dag.forcefiles


@pytest.mark.parametrize("error", [damage.DatasetError("no network"), OSError("no disk")])
def test_data_that_cannot_be_prepared_stay_and_the_study_goes_on(error, monkeypatch, caplog):
    folder = Path("datasets/digits")
    prepare("digits", folder)
    (folder / "X_train.npy").write_bytes(b"")

    def fail(*_, **__):
        raise error

    monkeypatch.setattr(damage, "prepare", fail)
    workflow = snakemake()
    damage.make_again(workflow, [], {str(folder): "digits"}, "cache")
    assert not workflow.dag.forcefiles
    assert (folder / "dataset.json").exists()
    assert caplog.messages[-1].endswith(f"and jobs that read it fail: {error}")
    assert [each.name for each in folder.parent.iterdir()] == ["digits"]


def test_partitions_are_drawn_again_where_they_are_damaged():
    """Not by a job, as all runs that read them would be made again."""
    drawn = list[str]()
    made = {name: partial(drawn.append, name) for name in ("a.html", "b.html", "none.html")}
    altered(Path("b.html"))
    workflow = snakemake()
    damage.make_again(snakemake(dryrun=True), [], {}, "cache", made)
    assert not drawn
    damage.make_again(workflow, [], {}, "cache", made)
    assert drawn == ["b.html"]
    assert not workflow.dag.forcefiles


def test_nothing_is_replaced_while_another_snakemake_has_the_folder():
    folder = Path("datasets/digits")
    prepare("digits", folder)
    (folder / "dataset.json").unlink()
    lock = Path(".snakemake/locks/0.output.lock")
    lock.parent.mkdir()
    lock.touch()
    damage.make_again(snakemake(), [], {str(folder): "digits"}, "cache")
    assert not (folder / "dataset.json").exists()
    lock.unlink()
    damage.make_again(snakemake(), [], {str(folder): "digits"}, "cache")
    open_prepared(folder)


def test_a_shared_cache_keeps_what_an_earlier_version_made(monkeypatch):
    """It has another key for Snakemake; what is damaged there would be taken from it again."""
    shared = Path("shared")
    monkeypatch.setenv("SNAKEMAKE_OUTPUT_CACHE", str(shared))
    prepare("digits", shared / "digits")
    metadata = shared / "digits/dataset.json"
    metadata.write_text('{"format_version": 6}')
    for name in ("former", "cut"):
        with h5py.File(shared / f"{name}.nc", "w") as file:
            file["x"] = [1.0, 2.0]
        Path(f"{name}.nc").symlink_to((shared / f"{name}.nc").resolve())
    os.truncate(shared / "cut.nc", 100)
    Path("digits").symlink_to((shared / "digits").resolve())
    damage.make_again(snakemake(), ["former.nc", "cut.nc"], {"digits": "digits"}, "cache")
    assert metadata.read_text() == '{"format_version": 6}'
    assert (shared / "former.nc").exists()
    assert not (shared / "cut.nc").exists()
    metadata.write_text("{}")
    damage.make_again(snakemake(), [], {"digits": "digits"}, "cache")
    open_prepared(shared / "digits")
