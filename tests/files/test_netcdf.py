"""Results: what is read is what was written, and whatever changes in a file is noticed."""

import h5py
import numpy as np
import pytest
import xarray as xr

from admmbench.cli import main
from admmbench.files.netcdf import StaleResultError, read, write
from admmbench.validation import Text, checked


@pytest.fixture
def result(tmp_path):
    values = ("seed", [0.1, np.nan, 0.3], {"units": "1", "flag_values": np.array([0, 1], np.int8)})
    coordinates = {"seed": [0, 1, 2], "algorithm": ["ε", "ObjP"], "delta": 1e-6}
    made = xr.Dataset({"a": values}, coordinates, {"epsilon": np.inf, "note": "ε", "n": 3})
    made["label"] = ("algorithm", np.array(["x", "longer"], object))
    write(made, tmp_path / "x.nc")
    return read(tmp_path / "x.nc")


@pytest.mark.parametrize("text", ["a\tb", "a\nb", "a\r\n", "\x7f", "\x85", "\u202e", "\ufffe", "é"])
def test_text_that_is_not_refused_is_written(text, tmp_path):
    assert checked(Text, text, "title") == text
    write(xr.Dataset(coords={"algorithm": [text]}, attrs={"title": text}), tmp_path / "x.nc")
    found = read(tmp_path / "x.nc")
    assert found.attrs["title"] == text
    assert found["algorithm"].values.tolist() == [text]


def damaged(content):
    yield "cannot be read", content[: len(content) // 2]
    yield "cannot be read", b""
    yield "cannot be read", b"text" * 99
    yield "cannot be read", bytes(len(content))
    changed = bytearray(content)
    changed[content.index(np.float64(0.1).tobytes())] ^= 1
    yield "incomplete, altered", bytes(changed)
    yield "incomplete, altered", content[:-1]


def test_a_file_that_is_read_is_the_one_that_was_written(result, tmp_path, caplog):
    path = tmp_path / "results.nc"
    write(result, path)
    xr.testing.assert_identical(read(path), result)
    other = xr.load_dataset(path)  # as another program reads it
    assert "last line" in other.attrs.pop("sha256")
    xr.testing.assert_identical(other, result)
    for message, content in damaged(path.read_bytes()):
        path.write_bytes(content)
        with pytest.raises(StaleResultError, match=f"results.nc: {message}.*; the command"):
            read(path)
    result.to_netcdf(path, engine="h5netcdf")
    with pytest.raises(StaleResultError, match="altered"):
        read(path)
    read(path, strict=False)
    assert f"{path} has no checksum" in caplog.text


def test_nothing_is_drawn_compared_or_kept_of_an_altered_file(result, tmp_path, capsys):
    path = tmp_path / "results.nc"
    write(result, path)
    with h5py.File(path, "r+") as file:
        file["a"][0] = 7
    (tmp_path / "mine.json").write_text("[]")
    for words in (
        ["show", path],
        ["compare", path, path],
        ["keep", path, "--made-by", "x", "--folder", tmp_path / "kept"],
        ["figures", tmp_path / "mine.json", "--results", path, "--output", tmp_path / "drawn"],
    ):
        assert main([str(word) for word in words]) == 1
        error = capsys.readouterr().err
        assert (
            "results.nc: incomplete, altered or of an earlier version: its SHA-256 differs" in error
        )
        assert "delete" not in error
    assert {each.name for each in tmp_path.iterdir()} <= {"results.nc", "mine.json", "x.nc"}
