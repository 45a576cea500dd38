"""Files of earlier versions, which held sentences, are read as files of today."""

import json

import h5py
import numpy as np
import pytest
import xarray as xr

from admmbench.files import former, netcdf
from admmbench.report.tables import protected
from admmbench.results import reference
from admmbench.results.statistics import equally_private
from tests.made import build

# What neighbouring data sets differ in, as two versions wrote it, and a plug-in.
FIRST = "a record of one contributes nothing in the other, and numbers of records are the same"
SECOND = "they differ in one record, which is blank in one of them"
SENTENCES = {
    FIRST: ("zero_out", "record"),
    SECOND: ("zero_out", "record"),
    "a record of one is another record in the other": ("replace", "record"),
    "one feature column of one party is another": ("replace", "column"),
    "one pixel is another": ("replace", "pixel"),
    "": ("none", "none"),
}
SEARCH = "With best_trial, budgets cover a search of 30 trials for the settings, and the run, if it is so."
OF_RUN = {
    "unit_of_privacy": "one agent, with all of its records",
    "guarantee": "proved",
    "comment": "for the worst case; neighbours: they differ in one record, which is blank in one of them",
    "warning": "delta = 0.3 is above 1/n = 0.25 of the n = 4 agents",
}


def as_before(results, sentences, caveats):
    """Give results the coordinates of an earlier version."""
    n = results.sizes["algorithm"]
    results = results.drop_vars(["relation", "unit"]).assign_coords(
        neighbours=("algorithm", np.resize(sentences, n)),
        caveats=("algorithm", np.resize([json.dumps(caveats)], n)),
    )
    results["epsilon_total"].attrs["unit_of_privacy"] = (
        "one record of one agent, not an agent or a user"
    )
    return results


def made():
    return build({"ObjP": {1.0: 0.2}, "ObjT": {1.0: 0.3}}, sensitivity="global")


@pytest.mark.parametrize(("sentence", "keys"), SENTENCES.items())
def test_sentences_of_results_are_read_as_keys_with_one_warning(tmp_path, caplog, keys, sentence):
    caveats = ["A round with E local updates spends E budgets: each.", "It is mine.", SEARCH]
    results = former.in_keys(as_before(made(), [sentence], caveats), tmp_path / "results.nc")
    assert {*zip(results.coords["relation"].values, results["unit"].values, strict=True)} == {keys}
    assert json.loads(results["caveats"].values[0]) == {
        "local_updates": {},
        "It is mine.": {},
        "covered_search": {"covers": "best_trial", "trials": 30},
    }
    assert "unit_of_privacy" not in results["epsilon_total"].attrs
    (record,) = caplog.records
    assert "results.nc: an earlier version wrote this file" in record.message
    assert "`admmbench study` writes results of a study anew" in record.message
    assert former.in_keys(results, tmp_path).identical(results)


def test_methods_of_two_versions_are_rivals_and_warned_of(tmp_path):
    """What methods share is compared by keys, whatever sentences said it."""
    stored = as_before(made().assign_attrs(n_train=100), [FIRST, SECOND], [])
    results = former.in_keys(stored, tmp_path)
    assert equally_private(results).all()
    results["delta"][:] = 0.5
    assert [each.n for each in protected(results)] == [None, 100]


def test_kept_results_of_an_earlier_version_are_read_and_kept_as_keys(tmp_path, caplog):
    path = reference.keep(as_before(made(), [FIRST], []), "snakemake", tmp_path)
    results = reference.read(path)
    assert set(results.coords["relation"].values) == {"zero_out"}
    assert len(caplog.records) == 1
    reference.keep(results, "snakemake", tmp_path)
    caplog.clear()
    xr.testing.assert_identical(reference.read(path), results)
    assert not caplog.records


def test_a_run_of_an_earlier_version_is_read_as_keys(tmp_path, caplog):
    path = tmp_path / "run.nc"
    netcdf.write(xr.Dataset({"epsilon_total": ("round", [0.0, 1.0], OF_RUN)}), path)
    attrs = netcdf.read(path)["epsilon_total"].attrs
    assert attrs["unit_of_privacy"] == "agent"
    assert attrs["relation"] == "zero_out"
    assert attrs["warning"] == "large_delta"
    assert len(caplog.records) == 1


def test_no_kept_file_has_sentences():
    files = [*reference.REFERENCE.glob("*.nc")]
    for path in files:
        with h5py.File(path) as kept:  # reading all numbers takes fifty times as long
            assert {*kept["unit"].asstr()} <= {"none", "record", "agent", "column"}
            assert "neighbours" not in kept
    assert len(files) > 50


def test_former_names_of_attributes_and_coordinates_are_read_by_those_of_today(tmp_path, caplog):
    growth = (("algorithm", "epsilon"), [[0.1]])
    coords = {"lost_beside": growth, "family": ("algorithm", ["a sum, a scaled penalty"])}
    stored = xr.Dataset(coords=coords, attrs={"looks": "[1, 2]", "title": "x"})
    path = tmp_path / "results.nc"
    netcdf.write(stored, path)
    results = netcdf.read(path)
    assert results.attrs == {"interim_analyses": "[1, 2]", "title": "x"}
    assert results["error_growth"].dims == ("algorithm", "epsilon")
    assert results["family"] == ["a_sum_a_scaled_penalty"]
    assert not caplog.records
