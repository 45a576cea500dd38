"""Whatever changes in a sealed result is noticed, after a way through a file too."""

import numpy as np
import pytest
import xarray as xr

from admmbench.jobs.seal import intact, sealed


@pytest.fixture
def result(tmp_path):
    values = ("seed", [0.1, np.nan, 0.3], {"units": "1", "flag_values": np.array([0, 1], np.int8)})
    made = xr.Dataset({"a": values}, {"seed": [0, 1, 2]}, {"epsilon": np.inf, "note": "ε", "n": 3})
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


def _name(ds):
    ds["b"] = ds.a


def _seal(ds):
    del ds.attrs["sha256"]


@pytest.mark.parametrize("change", [_value, _attribute, _units, _coordinate, _name, _seal])
def test_a_change_is_noticed(result, change):
    change(result)
    assert not intact(result)
