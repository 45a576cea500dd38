"""Job of the pipeline: a run from prepared data to a result file, which is complete or not written at all."""

from __future__ import annotations

import contextlib
import math
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import xarray as xr

from admmbench.base.outcomes import Outcome
from admmbench.datasets import Dataset
from admmbench.engine.context import ONE_THREAD, Context
from admmbench.files import netcdf
from admmbench.jobs import fingerprint, provenance
from admmbench.jobs.checkpoint import Checkpoint
from admmbench.jobs.simulate import run_spec
from admmbench.spec.run import RunSpec

CHECKPOINT_MINUTES = 5.0


class StaleCodeError(RuntimeError):
    """Change of the code between planning a job and starting it."""


def execute(
    spec: RunSpec,
    data: Dataset,
    output: Path,
    context: Context = ONE_THREAD,
    expected: str | None = None,
    checkpoint: Path | None = None,
) -> xr.Dataset:
    """Carry out a run, and write and return its trace.

    The file has no computing time (Snakemake's benchmark file has it), so that the same job gives the same bytes every
    time.

    Parameters
    ----------
    spec, data, output, context
        The run, its data, the file to write, and the means to compute it.
    expected
        Fingerprint that the job was planned with; other code is refused.
    checkpoint
        File to which the run writes its state every few minutes, and from which it continues; none by default.
        ``CHECKPOINT_MINUTES``, or the environment variable ``ADMMBENCH_CHECKPOINT_MINUTES``, is the interval.

    Raises
    ------
    StaleCodeError
        If the code has another fingerprint by now.
    InterruptedRunError
        If a signal stopped the run; its checkpoint is written.
    """
    refuse_other_code(spec, expected)
    if checkpoint is None:
        return _write(run_spec(spec, data, context), output)
    keeper = Checkpoint(
        checkpoint, _identity(spec, data, context.device), 60 * checkpoint_minutes()
    )
    with keeper.listening():
        trace = run_spec(spec, data, replace(context, checkpoint=keeper))
    written = _write(trace, output)
    if not (trace.status == Outcome.TIMED_OUT).any():
        keeper.remove()
    return written


def _write(trace: xr.Dataset, output: Path) -> xr.Dataset:
    """Write a trace without its computing time, and return what is written."""
    written = trace.drop_vars("seconds")
    netcdf.write(written, output)
    return written


def time_alone(spec: RunSpec, data: Dataset, output: Path, context: Context = ONE_THREAD) -> None:
    """Carry out a run alone, and write its trace with the computing time.

    A run of one round comes first, so that nothing is compiled or loaded while the clock runs.
    """
    run_spec(spec.model_copy(update={"rounds": 1}), data, context)
    netcdf.write(run_spec(spec, data, context), output)


def refuse_other_code(spec: RunSpec, expected: str | None) -> None:
    """Raise `StaleCodeError` if a job was planned with another fingerprint."""
    actual = fingerprint.of_run(spec)
    if expected is not None and expected != actual:
        raise StaleCodeError(
            f"the code of this job changed after it was planned (fingerprint {expected}, now {actual}): "
            "nothing was run; start Snakemake again to plan with the present code"
        )


def checkpoint_minutes() -> float:
    """Return the minutes between two checkpoints.

    Raises
    ------
    ValueError
        If the environment variable ``ADMMBENCH_CHECKPOINT_MINUTES`` is not a positive number.
    """
    text = os.environ.get("ADMMBENCH_CHECKPOINT_MINUTES", str(CHECKPOINT_MINUTES))
    with contextlib.suppress(ValueError):
        if float(text) > 0:
            return float(text)
    raise ValueError(f"ADMMBENCH_CHECKPOINT_MINUTES: expected a positive number, got {text!r}")


def _identity(spec: RunSpec, data: Dataset, device: str) -> dict[str, Any]:
    """Return the facts that a run must share with a checkpoint to go on from it; the time limit may differ."""
    return {
        **provenance.requested(spec.model_copy(update={"time_limit": math.inf})),
        "seeds": list(spec.seeds),
        "data": data.key,
        "data_checksums": data.checksums,
        "versions": provenance.versions(),
        "arithmetic": provenance.arithmetic(device),
    }
