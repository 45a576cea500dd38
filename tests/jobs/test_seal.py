"""Whatever changes in a sealed result is noticed, after a way through a file too."""

import numpy as np
import pytest
import xarray as xr

from admmbench.cli import main
from admmbench.jobs.job import write
from admmbench.jobs.seal import StaleResultError, intact, read, sealed
from admmbench.validation import Text, checked


@pytest.fixture
def result(tmp_path):
    values = ("seed", [0.1, np.nan, 0.3], {"units": "1", "flag_values": np.array([0, 1], np.int8)})
    coordinates = {"seed": [0, 1, 2], "algorithm": ["ε", "ObjP"], "delta": 1e-6}
    made = xr.Dataset({"a": values}, coordinates, {"epsilon": np.inf, "note": "ε", "n": 3})
    made["label"] = ("algorithm", np.array(["x", "longer"], object))
    sealed(made).to_netcdf(tmp_path / "x.nc", engine="h5netcdf")
    with xr.open_dataset(tmp_path / "x.nc", engine="h5netcdf") as file:
        return file.load()


def test_untouched_it_is_intact(result):
    assert intact(result)


def _value(ds):
    ds.a.values[2] = np.nextafter(0.3, 1)


def _attribute(ds):
    ds.attrs["n"] = 4


def _units(ds):
    ds.a.attrs["units"] = "nat"


def _coordinate(ds):
    ds["seed"] = [0, 1, 3]


def _label(ds):
    ds["label"][1] = "shorter"


def _name(ds):
    ds["b"] = ds.a


def _seal(ds):
    del ds.attrs["sha256"]


@pytest.mark.parametrize("text", ["a\tb", "a\nb", "a\r\n", "\x7f", "\x85", "\u202e", "\ufffe", "é"])
def test_text_that_is_not_refused_is_written(text, tmp_path):
    assert checked(Text, text, "title") == text
    write(xr.Dataset(coords={"algorithm": [text]}, attrs={"title": text}), tmp_path / "x.nc")
    found = read(tmp_path / "x.nc")
    assert found.attrs["title"] == text
    assert found["algorithm"].values.tolist() == [text]


@pytest.mark.parametrize("change", [_value, _attribute, _units, _coordinate, _label, _name, _seal])
def test_a_change_is_noticed(result, change):
    change(result)
    assert not intact(result)


def damaged(content):
    yield "cannot be read", content[: len(content) // 2]
    yield "cannot be read", b""
    yield "cannot be read", b"text" * 99
    changed = bytearray(content)
    changed[content.index(np.float64(0.1).tobytes())] ^= 1
    yield "was altered", bytes(changed)


def test_a_file_that_is_read_is_the_one_that_was_written(result, tmp_path, caplog):
    path = tmp_path / "results.nc"
    write(result.drop_attrs(deep=False), path)
    assert "sha256" not in read(path).attrs
    xr.testing.assert_identical(read(path), result.drop_attrs(deep=False))
    for message, content in damaged(path.read_bytes()):
        path.write_bytes(content)
        with pytest.raises(StaleResultError, match=f"results.nc: {message}.*; delete .*results.nc"):
            read(path)
    result.drop_attrs(deep=False).to_netcdf(path, engine="h5netcdf")
    with pytest.raises(StaleResultError, match="altered"):
        read(path)
    read(path, strict=False)
    assert f"{path} has no checksum" in caplog.text


def test_nothing_is_drawn_compared_or_kept_of_an_altered_file(result, tmp_path, capsys):
    result["a"][0] = 7  # with the checksum of what it was
    path = tmp_path / "results.nc"
    result.to_netcdf(path, engine="h5netcdf")
    (tmp_path / "figures.json").write_text("[]")
    for words in (
        ["show", path],
        ["compare", path, path],
        ["keep", path, "--made-by", "x", "--folder", tmp_path / "kept"],
        ["figures", tmp_path / "figures.json", "--results", path, "--output", tmp_path / "drawn"],
    ):
        assert main([str(word) for word in words]) == 1
        assert "results.nc: was altered after it was computed; delete" in capsys.readouterr().err
    assert {each.name for each in tmp_path.iterdir()} <= {"results.nc", "figures.json", "x.nc"}
