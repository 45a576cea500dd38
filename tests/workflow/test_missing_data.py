"""A study whose data lack files: `snakemake` runs it on the others, and again on all of them when they appear."""

import os
import subprocess
import sys

import pytest

from admmbench import scaffold
from admmbench.files import netcdf
from tests.plugins import write_parts
from tests.studies import SMALL, write_study

pytestmark = pytest.mark.slow


def call(folder, *words):
    environment = {
        **os.environ,
        "ADMMBENCH_MIRROR": str(folder / "mirror"),
        "NO_PROXY": "127.0.0.1",
    }
    environment["ADMMBENCH_CACHE"] = str(folder / "cache")
    done = subprocess.run(
        [sys.executable, "-m", *words],
        cwd=folder,
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def test_a_study_runs_on_the_files_that_are_there(tmp_path):
    folder = tmp_path / "study"
    scaffold.write_study(folder)
    partition = {"scheme": "by_writer"}
    write_study(folder, small={**SMALL, "dataset": write_parts(folder), "agents": partition})
    label, results = "2 of 4 writers", folder / "results/small/results.nc"

    shown = call(folder, "snakemake", "--cores", "2")
    assert f"small uses {label}, as files of its data are missing" in shown
    assert netcdf.read(results).attrs["title"] == f"Small ({label})"
    assert f"Small ({label})" in call(folder, "admmbench", "show", str(results))
    page = (folder / "results/report/config/index.html").read_text()
    assert "What is missing" in page
    assert '<a href="http://127.0.0.1:9/part_1">part_1</a>' in page
    assert "did not end well" not in page
    assert "0 that no configuration asks for" in call(folder, "admmbench", "gc")

    write_parts(folder, mirrored=2)
    call(folder, "snakemake", "--cores", "2")
    whole = netcdf.read(results)
    assert (whole.attrs["title"], int(whole["agents"].max())) == ("Small", 4)
    assert "What is missing" not in (folder / "results/report/config/index.html").read_text()
