"""What a study costs: a forecast from a few seconds of measuring, beside what its jobs took."""

from __future__ import annotations

import csv
import math
import operator
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from rich.table import Table

from admmbench import algorithms, datasets
from admmbench.audit.settings import AuditSettings, compared_rounds
from admmbench.engine.spec import RunSpec
from admmbench.engine.variables import measured
from admmbench.files.cache import Cache
from admmbench.forecast.cost import estimate, state_bytes
from admmbench.forecast.timing import Speed, kind, time_rounds
from admmbench.jobs import fingerprint, provenance
from admmbench.jobs.progress import duration
from admmbench.study.address import BENCHMARK
from admmbench.study.config import Study
from admmbench.study.runs import Run

_LARGEST = ("mem_mb", "checkpoint")
# Jobs of an experiment besides its runs.
_BESIDES = 4
# Time of a round whose noise is on tape, in double precision, and of its analysis, over that of a round of a run.
_LOOKED_AT = 4
# Runs in which an audit compares both worlds: eleven, under two relations.
_COMPARED = 22
_SPEEDS = Cache[Any]("speeds.json")
_SMALLEST_JOB = "smallest job"
# Machine, code and kind of run, by which numbers are kept, and what measures them.
_Measurement = tuple[str, Callable[[], list[float]]]


@dataclass(frozen=True)
class Cost:
    """Cost of some jobs; costs can be added."""

    jobs: int = 0
    seconds: float = 0.0
    """Forecast, of all cores together."""
    disk: int = 0
    """Bytes of results or data."""
    done: int = 0
    """Runs that are finished and timed."""
    forecast: float = 0.0
    """Forecast for the finished runs, as ``seconds``."""
    actual: float = 0.0
    """What the finished runs took, as ``seconds``."""
    mem_mb: int = 0
    """Limit of the largest job."""
    checkpoint: int = 0
    """Bytes on disk of the largest job while it runs."""
    shared: int = 0
    """Runs that are counted with another experiment."""

    def __add__(self, other: Cost) -> Cost:
        def joined(name: str) -> Any:
            join: Callable[..., Any] = max if name in _LARGEST else operator.add
            return join(getattr(self, name), getattr(other, name))

        return Cost(**{field.name: joined(field.name) for field in fields(Cost)})


@dataclass(frozen=True)
class Machine:
    """What was measured here."""

    start: float
    """Seconds that a job takes besides computing: interpreter, imports, files."""
    file: int
    """Bytes of a result besides its numbers."""
    speeds: dict[str, Speed]
    """By kind of run."""


def measure(study: Study, progress: Callable[[int, int], None], *, renew: bool = False) -> Machine:
    """Measure the smallest job, and some rounds of every kind of run in a study.

    What was measured on this machine is not measured again, until the code changes.

    Parameters
    ----------
    study
        The configuration.
    progress
        Called with the number of measurements made, and of all that are missing.
    renew
        Whether to measure everything again.
    """
    wanted = _measurements(study)
    found = {} if renew else _SPEEDS.read()
    missing = {name: make for name, make in wanted.values() if name not in found}
    for number, (name, make) in enumerate(missing.items(), start=1):
        _SPEEDS.add({name: make()})
        progress(number, len(missing))
    machine = _machine(wanted)
    assert machine is not None
    return machine


def known(study: Study) -> Machine | None:
    """What was measured here; None if something is missing."""
    return _machine(_measurements(study))


def _machine(wanted: Mapping[str, _Measurement]) -> Machine | None:
    kept = _SPEEDS.read()
    if not all(name in kept for name, _ in wanted.values()):
        return None
    found = {what: kept[name] for what, (name, _) in wanted.items()}
    start, file = found.pop(_SMALLEST_JOB)
    return Machine(start, int(file), {what: Speed(*numbers) for what, numbers in found.items()})


def _measurements(study: Study) -> dict[str, _Measurement]:
    """What a study's forecast needs, by kind of run."""
    wanted: dict[str, _Measurement] = {}
    for experiment in study.experiments.values():
        for run in experiment.runs[::-1]:
            threads = estimate(run.spec, study.config.threads).threads
            what = kind(run.spec, threads)
            if what not in wanted:
                wanted[what] = _name(run.spec, what), partial(_time_run, run.spec, threads)
    # The last: what it runs has been compiled by then.
    smallest = RunSpec(dataset="digits", algorithm=_undemanding(), rounds=1)
    wanted[_SMALLEST_JOB] = _name(smallest, _SMALLEST_JOB), partial(_time_job, smallest)
    return wanted


def _name(spec: RunSpec, what: str) -> str:
    return " | ".join([provenance.machine(), fingerprint.of_run(spec), what])


def _time_run(spec: RunSpec, threads: int) -> list[float]:
    return list(astuple(time_rounds(spec, threads)))


def _time_job(spec: RunSpec) -> list[float]:
    """Seconds of a job that hardly computes, and bytes of its result."""
    with tempfile.TemporaryDirectory() as folder:
        data, result = Path(folder, "data"), Path(folder, "result.nc")
        datasets.prepare(spec.dataset, data)
        words = ["run", *spec.arguments(), f"--data={data}", f"--output={result}"]
        command = [sys.executable, "-m", "admmbench", *words]
        start = time.perf_counter()
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
        return [time.perf_counter() - start, result.stat().st_size]


def _undemanding() -> str:
    """A method over rows that needs nothing of its problem."""
    return next(
        name
        for name in algorithms.list_algorithms()
        if "rows" in (cls := algorithms.resolve(name)).sharing and not cls().needs
    )


class Plan(NamedTuple):
    """Costs of a study, part by part."""

    experiments: dict[str, Cost]
    data: Cost

    @property
    def total(self) -> Cost:
        """Of all, with three jobs more: the report, the page that leads to all reports, the target of the workflow."""
        return sum((*self.experiments.values(), self.data), Cost(jobs=3))


def plan(study: Study, machine: Machine) -> Plan:
    """Forecast what each experiment costs, and the data sets.

    Parameters
    ----------
    study
        The configuration. Times of runs that are finished are read from its results.
    machine
        What `measure` returns.
    """
    counted: set[Path] = set()
    return Plan(
        {name: _of_experiment(name, study, machine, counted) for name in study.experiments},
        sum((_of_data(each) for each in study.datasets.values()), Cost()),
    )


def _of_experiment(name: str, study: Study, machine: Machine, counted: set[Path]) -> Cost:
    """Cost of an experiment, without runs that another one was counted with."""
    experiment, folder = study.experiments[name], study.runs_folder(name)
    own = [run for run in experiment.runs if folder / run.path not in counted]
    counted.update(folder / run.path for run in own)
    runs = [_of_run(run, study, machine, folder) for run in own]
    # Jobs besides: two files that say what it is, the aggregation, which writes all numbers once more, the figures.
    numbers = sum(_numbers(run) for run in experiment.runs)
    total = sum(runs, Cost(jobs=_BESIDES, disk=numbers, shared=len(experiment.runs) - len(own)))
    if experiment.timed:
        total = replace(total, jobs=_BESIDES + 1)
    for run in experiment.audits.values():
        assert experiment.audit is not None
        seconds = attack_seconds(run.spec, experiment.audit, study.config.threads, machine)
        total += Cost(jobs=1, seconds=seconds)
    return total


def _of_run(run: Run, study: Study, machine: Machine, folder: Path) -> Cost:
    limits = estimate(run.spec, study.config.threads)
    seconds = core_seconds(run.spec, study.config.threads, machine)
    actual = _recorded(folder, run)
    return Cost(
        jobs=1,
        seconds=seconds,
        disk=machine.file + _numbers(run),
        done=actual is not None,
        forecast=0.0 if actual is None else seconds,
        actual=0.0 if actual is None else limits.threads * actual,
        mem_mb=limits.mem_mb,
        checkpoint=state_bytes(run.spec),
    )


def core_seconds(spec: RunSpec, threads: int, machine: Machine) -> float:
    """Forecast of a run that may have so many threads, of all its cores together."""
    used = estimate(spec, threads).threads
    return used * (machine.start + machine.speeds[kind(spec, used)].seconds(spec))


def attack_seconds(spec: RunSpec, settings: AuditSettings, threads: int, machine: Machine) -> float:
    """Forecast of an audit, likewise: two worlds for each canary and repeat, and runs in which they are compared."""
    used = estimate(spec, threads).threads
    speed = machine.speeds[kind(spec, used)]
    attacked, compared = min(settings.rounds, spec.rounds), compared_rounds(spec, settings)
    runs = settings.repeats * (speed.once + attacked * speed.round)
    if spec.as_problem.sharing != "columns":
        runs += _COMPARED * (speed.once + compared * speed.round)
    return machine.start + used * _LOOKED_AT * 2 * len(settings.canaries) * runs / len(spec.seeds)


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
    with table.open(newline="", encoding="utf-8") as stream:
        row = next(csv.DictReader(stream, delimiter="\t"), None)
    # The file is empty if the result came from a cache; a shell writes the decimal sign of its locale.
    return float(row["s"].replace(",", ".")) if row else None


def _of_data(spec: str | dict[str, Any]) -> Cost:
    """Downloads, and the arrays made from them: single precision and a label for each row."""
    info = datasets.describe(spec)
    arrays = (info.n_train + info.n_test) * (4 * info.n_features + 8)
    return Cost(jobs=1, disk=arrays + sum(file.size or 0 for file in info.files))


def table(costs: Plan) -> Table:
    """Lay the costs out for reading."""
    total = costs.total
    shown = Table()
    shown.add_column("")
    headers = ["jobs", "core-hours", "memory of a job", "disk"]
    if total.done:
        headers += ["runs done", "forecast for them", "they took", "ratio"]
    for header in headers:
        shown.add_column(header, justify="right")
    for name, cost in costs.experiments.items():
        shown.add_row(name, *_cells(cost, bool(total.done)))
    shown.add_row("data", *_cells(costs.data, bool(total.done)), end_section=True)
    shown.add_row("all", *_cells(total, bool(total.done)))
    return shown


def outlook(study: Study, cores: int | None) -> str:
    """Summary of a plan without measuring anything."""
    machine = known(study)
    if machine is None:
        return "`admmbench plan`, with the same --configfile and --config, tells what this study costs."
    return summary(plan(study, machine).total, cores or os.cpu_count() or 1)


def summary(total: Cost, cores: int) -> str:
    """Sentences below the table."""
    shared = f" {total.shared} runs are shared by experiments." if total.shared else ""
    return (
        f"About {duration(total.seconds / cores)} on {cores} cores, besides fetching data, tuning, figures and report. "
        f"A running job keeps up to {_size(total.checkpoint)} of checkpoint.{shared}"
    )


def _cells(cost: Cost, compared: bool) -> Sequence[str]:
    cells = [str(cost.jobs), f"{cost.seconds / 3600:.2f}"]
    cells += [_size(cost.mem_mb * 2**20) if cost.mem_mb else "", _size(cost.disk)]
    if compared and cost.done:
        cells += [str(cost.done), duration(cost.forecast), duration(cost.actual)]
        cells += [f"{cost.actual / cost.forecast:.2f}"]
    return cells


def _size(n_bytes: float) -> str:
    for unit, size in (("GB", 1e9), ("MB", 1e6)):
        if n_bytes >= size:
            return f"{n_bytes / size:.1f} {unit}"
    return f"{n_bytes / 1e3:.0f} kB"
