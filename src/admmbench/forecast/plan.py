"""What a study costs: a forecast for this machine, beside what its jobs took."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import pandas as pd
from rich.table import Table

from admmbench import datasets
from admmbench.audit.settings import AuditSettings, compared_rounds, one_run_rounds
from admmbench.device import Device, chosen
from admmbench.engine.spec import RunSpec
from admmbench.engine.variables import measured
from admmbench.forecast import timing
from admmbench.forecast.cost import GPU, Machine, estimate, rounds_counts, state_bytes, work
from admmbench.jobs.progress import duration
from admmbench.study.address import BENCHMARK
from admmbench.study.config import AUDITS, Study
from admmbench.study.runs import Run

# What is known of jobs, and how it is put together: forecasts and what was recorded in core-seconds, or in seconds of a
# GPU, the memory limit in MB, results and checkpoints in bytes.
_JOINED = {
    "jobs": "sum",
    "seconds": "sum",
    "on_gpu": "sum",
    "mem_mb": "max",
    "disk": "sum",
    "checkpoint": "max",
    "done": "sum",
    "left": "sum",
    "gpu_left": "sum",
    "forecast": "sum",
    "took": "sum",
    "shared": "sum",
}
# Jobs of an experiment besides its runs: two that say what it is, the aggregation, the figures.
_BESIDES = 4
# Of the study: the report, the page that leads to all reports, the target of the workflow.
_TOGETHER = 3
# Bytes of a result besides its numbers.
_FILE = 60_000
# Time of a round whose noise is on tape, in double precision, and of its analysis, over that of a round of a run.
_LOOKED_AT = 4
# Runs in which an audit compares both worlds: eleven, under two relations.
_COMPARED = 22


def plan(study: Study, machine: Machine) -> pd.DataFrame:
    """Forecast what each experiment costs, and the data sets.

    Parameters
    ----------
    study
        The configuration. Times of runs that are finished are read from its results.
    machine
        What was measured.

    Returns
    -------
    A row for each experiment, one for the data sets, and one for all.
    """
    counted: set[Path] = set()
    parts = [_joined(_of_experiment(name, study, machine, counted)) for name in study.experiments]
    parts.append(_joined(_of_data(each) for each in study.datasets.values()))
    parts.append(_joined([*parts, {"jobs": _TOGETHER}]))
    return pd.DataFrame(parts, index=[*study.experiments, "data", "all"])


def _joined(jobs: Iterable[Mapping[str, float]]) -> Mapping[str, float]:
    """Put jobs together; what is not said of one is 0."""
    return dict(pd.DataFrame(list(jobs), columns=list(_JOINED)).fillna(0).agg(_JOINED))


def _of_experiment(
    name: str, study: Study, machine: Machine, counted: set[Path]
) -> Iterator[dict[str, float]]:
    """Costs of an experiment's jobs, without those of runs that another one was counted with."""
    experiment, folder = study.experiments[name], study.runs_folder(name)
    # The aggregation writes all numbers once more.
    numbers = sum(_numbers(run) for run in experiment.runs)
    yield {"jobs": _BESIDES + experiment.timed, "disk": numbers}
    for run in experiment.runs:
        path = folder / run.path
        yield {"shared": 1} if path in counted else _of_run(run, study, machine, folder)
        counted.add(path)
    for file, run in experiment.audits.items():
        assert experiment.audit is not None
        seconds = attack_seconds(run.spec, experiment.audit, machine)
        made = Path(study.config.results, name, AUDITS, file).exists()
        yield {"jobs": 1, "seconds": seconds, "left": 0 if made else seconds}


def _of_run(run: Run, study: Study, machine: Machine, folder: Path) -> dict[str, float]:
    device = chosen(run.spec, study.config.device)
    limits = estimate(run.spec, study.config.threads, device)
    seconds = core_seconds(run.spec, study.config.threads, machine, device)
    took = _recorded(folder, run)
    # What a processor took tells nothing of a GPU.
    compared = (
        {}
        if took is None or device == "cuda"
        else {"forecast": seconds, "took": limits.threads * took}
    )
    return {
        "jobs": 1,
        "seconds" if device == "cpu" else "on_gpu": seconds,
        "mem_mb": limits.mem_mb,
        "disk": _FILE + _numbers(run),
        "checkpoint": state_bytes(run.spec),
        "done": took is not None,
        "left" if device == "cpu" else "gpu_left": 0 if took is not None else seconds,
        **compared,
    }


def core_seconds(spec: RunSpec, threads: int, machine: Machine, device: Device = "cpu") -> float:
    """Forecast the seconds of a run that may have so many threads, of all its cores together, or of a GPU."""
    machine = GPU if device == "cuda" else machine
    return estimate(spec, threads, device).threads * machine.start + work(spec, machine)


def attack_seconds(spec: RunSpec, settings: AuditSettings, machine: Machine) -> float:
    """Forecast an audit: two worlds for each canary and repeat, and runs in which they are compared.

    An attack on one run plays it once more for each canary of an agent, or of all if a sum alone is seen.
    """
    counts = settings.repeats * rounds_counts(spec, min(settings.rounds, spec.rounds))
    if spec.as_problem.sharing != "columns":
        counts += _COMPARED * rounds_counts(spec, compared_rounds(spec, settings))
    worlds = 2 * len(settings.canaries) / len(spec.seeds)
    seconds = _LOOKED_AT * worlds * float(counts @ machine)
    if one := settings.one_run:
        seen_alone = 1 if spec.privacy.trust == "secure_sum" else spec.n_agents
        counts = rounds_counts(spec, one_run_rounds(spec, spec.info, one))
        runs = 2 + -(-min(one.canaries, spec.info.n_train) // seen_alone)
        seconds += runs / len(spec.seeds) * float(counts @ machine)
    return machine.start + seconds


def _numbers(run: Run) -> int:
    """Bytes of a run's variables."""
    seeds = sum(
        len(run.spec.seeds) if "seed" in dims else 1 for dims, _, _ in measured(run.spec).values()
    )
    return 8 * seeds * math.ceil(run.spec.rounds / run.spec.evaluate_every)


def _recorded(folder: Path, run: Run) -> float | None:
    """Seconds of the last attempt, interpreter and imports included; None if the run is not finished."""
    table = folder / run.address.file(BENCHMARK)
    if not (folder / run.path).exists() or not table.exists():
        return None
    # The file is empty if the result came from a cache; a shell writes the decimal sign of its locale.
    found = re.match(r"s\b.*\n(\d+([.,]\d+)?)\b", table.read_text("utf-8", "replace"))
    return float(found[1].replace(",", ".")) if found else None


def _of_data(spec: str | dict[str, object]) -> dict[str, float]:
    """Downloads, and the arrays made from them: single precision and a label for each row."""
    info = datasets.describe(spec)
    arrays = (info.n_train + info.n_test) * (4 * info.n_features + 8)
    return {"jobs": 1, "disk": arrays + sum(file.size or 0 for file in info.files)}


def table(costs: pd.DataFrame) -> Table:
    """Lay the costs out for reading."""
    compared = costs.forecast.any()
    hours = {"seconds": "core-hours"} | ({"on_gpu": "GPU-hours"} if costs.on_gpu.any() else {})
    headers = ["jobs", *hours.values(), "memory of a job", "disk"]
    headers += ["runs done", "forecast for them", "they took", "ratio"] if compared else []
    shown = Table("")
    for header in headers:
        shown.add_column(header, justify="right")
    for place, (name, cost) in enumerate(costs.iterrows()):
        cells = [f"{cost.jobs:.0f}", *(f"{cost[each] / 3600:.2f}" for each in hours)]
        cells += [_size(cost.mem_mb * 2**20) if cost.mem_mb else "", _size(cost.disk)]
        if cost.forecast:
            cells += [f"{cost.done:.0f}", duration(cost.forecast), duration(cost.took)]
            cells += [f"{cost.took / cost.forecast:.2f}"]
        shown.add_row(str(name), *cells, end_section=place == len(costs) - 2)
    return shown


def outlook(study: Study, cores: int | None, left: float) -> str:
    """Sum a plan up without measuring anything; ``left`` are the seconds of the jobs that Snakemake would do."""
    if machine := timing.known():
        # These are of cores and of a GPU together.
        of_cores = left if study.config.device == "cpu" else None
        return summary(plan(study, machine), cores or os.cpu_count() or 1, of_cores)
    return "`admmbench plan`, with the same --configfile and --config, tells what this study costs."


def summary(costs: pd.DataFrame, cores: int, left: float | None = None) -> str:
    """Write the sentences below the table; what is left is what has no file, unless it is said."""
    total = costs.iloc[-1]
    shared = f" {total.shared:.0f} runs are shared by experiments." if total.shared else ""
    left = total.left if left is None else left
    takes = [_taken(total.seconds / cores, left / cores, f"on {cores} cores")]
    if total.on_gpu:
        takes.append(_taken(total.on_gpu, total.gpu_left, "of a GPU"))
    return (
        f"About {', and '.join(takes)}, besides fetching data, tuning, figures and "
        f"report. A running job keeps up to {_size(total.checkpoint)} of checkpoint.{shared}"
    )


def _taken(seconds: float, left: float, where: str) -> str:
    takes, ahead = duration(seconds), duration(left)
    return f"{takes} {where}" + (f", of which {ahead} are left" if ahead != takes else "")


def _size(n_bytes: float) -> str:
    for unit, size in (("GB", 1e9), ("MB", 1e6)):
        if n_bytes >= size:
            return f"{n_bytes / size:.1f} {unit}"
    return f"{n_bytes / 1e3:.0f} kB"
