"""Jobs: files that are complete or absent, and the same bytes every time."""

import os
import resource
import subprocess
import sys

import numpy as np
import pytest
import xarray as xr

from admmbench import simulate
from admmbench.datasets import load_dataset
from admmbench.engine.context import Context
from admmbench.files import netcdf
from admmbench.jobs import fingerprint, job, provenance
from admmbench.spec.run import RunSpec

SPEC = RunSpec(
    dataset="digits",
    algorithm="objp",
    agents=3,
    epsilon=1.0,
    rounds=6,
    evaluate_every=3,
    seeds=(0, 1),
)


@pytest.fixture(scope="module")
def data():
    return load_dataset("digits")


def test_same_job_gives_the_same_bytes(tmp_path, data):
    files = [tmp_path / name for name in ("first.nc", "second.nc")]
    for threads, file in enumerate(files, 1):
        job.execute(SPEC, data, file, Context(threads))
    assert files[0].read_bytes() == files[1].read_bytes()
    with xr.open_dataset(files[0]) as trace:
        assert dict(trace.sizes) == {"seed": 2, "round": 3, "record": 360, "false_alarms": 21}
        assert "seconds" not in trace


def test_changed_code_is_refused(tmp_path, data):
    with pytest.raises(job.StaleCodeError, match="nothing was run"):
        job.execute(SPEC, data, tmp_path / "x.nc", expected="0" * 16)
    assert not list(tmp_path.iterdir())
    job.execute(SPEC, data, tmp_path / "x.nc", expected=fingerprint.of_run(SPEC))
    assert (tmp_path / "x.nc").exists()


def test_a_failed_write_leaves_the_old_file_and_no_other(tmp_path):
    """A limit on the size of files fails as a full disk does."""
    path = tmp_path / "x.nc"
    netcdf.write(xr.Dataset({"a": ("x", np.arange(3))}), path)
    before = path.read_bytes()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, limits[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            netcdf.write(xr.Dataset({"a": ("x", np.random.default_rng(0).random(9_000))}), path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_results_name_what_they_are_rounded_by():
    """Kernels of linear algebra and instructions; both may be chosen by the environment."""
    code = "from admmbench.jobs import provenance; print(provenance.arithmetic())"
    chosen = {"OPENBLAS_CORETYPE": "Nehalem", "NUMBA_CPU_NAME": "generic"}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **chosen},
        capture_output=True,
        text=True,
        check=True,
    )
    assert simulate("digits", "iadmm", rounds=1).arithmetic == provenance.arithmetic()
    assert done.stdout.startswith("openblas Nehalem; numba generic ")
