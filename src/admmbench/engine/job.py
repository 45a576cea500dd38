"""One job of the pipeline: a run from prepared data to a result file, complete or not at all."""

from __future__ import annotations

from pathlib import Path

import xarray as xr

from admmbench.datasets import Dataset
from admmbench.engine import fingerprint
from admmbench.engine.simulate import Progress, run
from admmbench.engine.spec import RunSpec
from admmbench.files import replacing


class StaleCodeError(RuntimeError):
    """The code changed between planning a job and starting it."""


def execute(
    spec: RunSpec,
    data: Dataset,
    output: Path,
    threads: int,
    planned: str | None = None,
    progress: Progress | None = None,
) -> None:
    """Run and write the trace.

    The file holds what was computed and not how long it took (Snakemake's benchmark file does), so that the same
    job gives the same bytes every time.

    Parameters
    ----------
    spec
        What to run.
    data
        The data set.
    output
        File to write.
    threads
        Threads to use.
    planned
        Fingerprint that the job was planned with; other code is refused.
    progress
        See `simulate`.

    Raises
    ------
    StaleCodeError
        If the fingerprint is another one by now.
    """
    found = fingerprint.of_run(spec)
    if planned is not None and planned != found:
        raise StaleCodeError(
            f"the code of this job changed after it was planned (fingerprint {planned}, now {found}): "
            "nothing was run; start Snakemake again to plan with the present code"
        )
    trace = run(spec, data, threads, progress)
    write(trace.drop_vars("seconds"), output)


def write(dataset: xr.Dataset, path: Path) -> None:
    """Write a netCDF file: a reader sees the whole file or none."""
    with replacing(path) as temporary:
        dataset.to_netcdf(temporary, engine="h5netcdf")
