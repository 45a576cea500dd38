"""A study whose data lack files: `snakemake` runs it on the others, and again on all of them when they appear."""

import os
import sys

import pytest

from admmbench import scaffold
from admmbench.files import netcdf
from tests.plugins import write_parts
from tests.studies import SMALL, write_study
from tests.workflow.project import call

pytestmark = pytest.mark.slow


def printed(folder, *words):
    places = {f"ADMMBENCH_{name.upper()}": str(folder / name) for name in ("mirror", "cache")}
    environment = {**os.environ, **places, "NO_PROXY": "127.0.0.1"}
    done = call([sys.executable, "-m", *words], folder, environment)
    assert done.returncode == 0, done.stdout
    return done.stdout


def test_a_study_runs_on_the_files_that_are_there(tmp_path):
    folder = tmp_path / "study"
    scaffold.write_study(folder)
    partition = {"scheme": "by_writer"}
    write_study(folder, small={**SMALL, "dataset": write_parts(folder), "agents": partition})
    label, results = "2 of 4 writers", folder / "results/small/results.nc"

    shown = printed(folder, "snakemake", "--cores", "2")
    assert f"small uses {label}, as files of its data are missing" in shown
    assert netcdf.read(results).attrs["title"] == f"Small ({label})"
    assert f"Small ({label})" in printed(folder, "admmbench", "show", str(results))
    page = (folder / "results/report/config/index.html").read_text()
    assert "What is missing" in page
    assert '<a href="http://127.0.0.1:9/part_1">part_1</a>' in page
    assert "did not end well" not in page
    assert "0 that no configuration asks for" in printed(folder, "admmbench", "gc")

    write_parts(folder, mirrored=2)
    printed(folder, "snakemake", "--cores", "2")
    whole = netcdf.read(results)
    assert (whole.attrs["title"], int(whole["agents"].max())) == ("Small", 4)
    assert "What is missing" not in (folder / "results/report/config/index.html").read_text()
