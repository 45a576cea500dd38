"""What a study costs: a forecast for this machine, beside what its jobs took."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
from rich.table import Table

from admmbench import datasets
from admmbench.audit.settings import AuditSettings, compared_rounds, one_run_rounds
from admmbench.engine.devices import CPU, Machine, chosen, find
from admmbench.engine.variables import measured
from admmbench.forecast.cost import (
    LIMITS,
    estimate,
    rounds_seconds,
    state_bytes,
    work,
)
from admmbench.forecast.timing import Speeds
from admmbench.jobs.progress import duration
from admmbench.spec.run import RunSpec
from admmbench.study.address import rule_name
from admmbench.study.config import AUDITS, Study
from admmbench.study.runs import Run

# What is known of jobs, and how it is put together: forecasts and what was recorded in core-seconds, or in seconds of a
# GPU, the memory limit in MB, results and checkpoints in bytes.
_SUMS = ["jobs", "seconds", "on_gpu", "disk", "done", "left", "gpu_left", "forecast", "took"]
_JOINED = dict.fromkeys(_SUMS, "sum") | {"mem_mb": "max", "checkpoint": "max"}
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


class Expected(NamedTuple):
    """Jobs of one rule before they run."""

    title: str
    """What to call them."""
    seconds: float = LIMITS.start
    """Forecast for one of them, of all its cores together."""


def expected(study: Study, speeds: Speeds) -> dict[str, Expected]:
    """Describe the jobs that compute, by their rule: those of one rule take about equally long."""
    jobs = [*_runs(study, speeds), *_attacks(study, speeds), *_searches(study, speeds)]
    table = pd.DataFrame(jobs, columns=["rule", "title", "jobs", "seconds", "on_gpu"]).fillna(0.0)
    found = {}
    for rule, own in table.groupby("rule"):
        seconds = float((own["seconds"] + own["on_gpu"]).sum() / own["jobs"].sum())
        found[str(rule)] = Expected(own["title"].iloc[0], seconds)
    return found


def of_rule(jobs: Mapping[str, Expected], rule: str) -> Expected | None:
    """Find the jobs of a rule; another Snakefile may have put a word before its name."""
    return next((each for name, each in jobs.items() if rule.endswith(name)), None)


def plan(study: Study, speeds: Speeds) -> pd.DataFrame:
    """Forecast what each experiment costs, and the data sets.

    Parameters
    ----------
    study
        The configuration.
    speeds
        How fast its runs are.

    Returns
    -------
    A row for each experiment, one for the data sets, and one for all.
    """
    jobs = [*_runs(study, speeds), *_attacks(study, speeds)]
    for name, experiment in study.experiments.items():
        # The aggregation writes all numbers once more.
        numbers = sum(_numbers(run) for run in experiment.runs)
        jobs.append({"experiment": name, "jobs": _BESIDES, "disk": numbers})
    jobs += [{"experiment": "", **_of_data(each)} for each in study.datasets.values()]
    jobs += [{"experiment": "", "jobs": 1, "disk": _FILE} for _ in study.partitions]
    costs = pd.DataFrame(jobs, columns=["experiment", *_JOINED]).fillna(0.0)
    costs = costs.groupby("experiment").agg(_JOINED).loc[[*study.experiments, ""]]
    total = costs.agg(_JOINED)
    total["jobs"] += _TOGETHER
    costs.index = pd.Index([*study.experiments, "data"])
    return pd.concat([costs, total.to_frame("all").T])


def _runs(study: Study, speeds: Speeds) -> Iterator[dict[str, Any]]:
    """Costs of the runs of each experiment; those that several ask for are the first one's."""
    counted, threads = set[Path](), study.config.threads
    for name, experiment in study.experiments.items():
        for run in experiment.runs:
            path, spec = study.runs_folder(name) / run.path, run.spec
            if path in counted:
                continue
            counted.add(path)
            device = chosen(spec, study.config.device)
            seconds = core_seconds(spec, threads, speeds.machine(spec), device)
            cost = {
                "experiment": name,
                "rule": rule_name("run", run.address.folder),
                "title": run.label,
                "jobs": 1,
                "seconds" if device == CPU else "on_gpu": seconds,
                "mem_mb": estimate(spec, threads, device).mem_mb,
                "disk": _FILE + _numbers(run),
                "checkpoint": state_bytes(spec),
                "left" if device == CPU else "gpu_left": seconds,
            }
            if experiment.timed:  # one job makes them all
                cost |= {"rule": rule_name("time", name), "title": f"{name}, run by run"}
                cost |= {"jobs": 1 / len(experiment.runs)}
            if (took := speeds.took.get(path)) is not None:
                # The forecast of a run that is finished is that without its own time.
                forecast = core_seconds(spec, threads, speeds.machine(spec, path))
                cost |= {"done": 1, "left": 0, "forecast": forecast, "took": took}
            yield cost


def _attacks(study: Study, speeds: Speeds) -> Iterator[dict[str, Any]]:
    for name, experiment in study.experiments.items():
        about = {"experiment": name, "rule": rule_name("audit", name), "jobs": 1}
        about["title"] = f"attacks on {name}"
        for file, run in experiment.audits.items():
            assert experiment.audit is not None
            seconds = attack_seconds(run.spec, experiment.audit, speeds.machine(run.spec))
            made = Path(study.config.results, name, AUDITS, file).exists()
            yield {**about, "seconds": seconds, "left": 0 if made else seconds}


def _searches(study: Study, speeds: Speeds) -> Iterator[dict[str, Any]]:
    """Costs of tuning, as if all trials were like the first."""
    for name, experiment in study.experiments.items():
        about = {"rule": rule_name("tune", name), "title": f"tuning of {name}", "jobs": 1}
        for search in experiment.searches.values():
            assert experiment.tuning is not None
            trials = experiment.tuning.trials * len(experiment.tuning.seeds)
            machine = speeds.machine(search.spec)
            yield {**about, "seconds": machine.start + trials * work(search.spec, machine)}


def core_seconds(spec: RunSpec, threads: int, machine: Machine, device: str = CPU) -> float:
    """Forecast the seconds of a run that may have so many threads, of all its cores together, or of a GPU."""
    machine = machine if device == CPU else find(device).TYPICAL
    return estimate(spec, threads, device).threads * machine.start + work(spec, machine)


def attack_seconds(spec: RunSpec, settings: AuditSettings, machine: Machine) -> float:
    """Forecast an audit: two worlds for each canary and repeat, and runs in which they are compared.

    An attack on one run plays it once more for each canary of an agent, or of all if a sum alone is seen.
    """
    rounds = min(settings.rounds, spec.rounds)
    seconds = settings.repeats * rounds_seconds(spec, rounds, machine)
    if spec.as_problem.sharing != "columns":
        seconds += _COMPARED * rounds_seconds(spec, compared_rounds(spec, settings), machine)
    worlds = 2 * len(settings.canaries) / len(spec.seeds)
    seconds *= _LOOKED_AT * worlds
    if one := settings.one_run:
        seen_alone = 1 if spec.privacy.trust == "secure_sum" else spec.n_agents
        runs = 2 + -(-min(one.canaries, spec.info.n_train) // seen_alone)
        of_one = rounds_seconds(spec, one_run_rounds(spec, spec.info, one), machine)
        seconds += runs / len(spec.seeds) * of_one
    return machine.start + seconds


def _numbers(run: Run) -> int:
    """Bytes of a run's variables."""
    seeds = sum(
        len(run.spec.seeds) if "seed" in dims else 1 for dims, _, _ in measured(run.spec).values()
    )
    return 8 * seeds * math.ceil(run.spec.rounds / run.spec.evaluate_every)


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


def summary(costs: pd.DataFrame, cores: int) -> str:
    """Write the sentences below the table; what is left is what has no file."""
    total = costs.iloc[-1]
    takes = [_taken(total.seconds / cores, total.left / cores, f"on {cores} cores")]
    if total.on_gpu:
        takes.append(_taken(total.on_gpu, total.gpu_left, "of a GPU"))
    kept = f"A running job keeps up to {_size(total.checkpoint)} of checkpoint."
    besides = "besides fetching data, tuning, figures and report"
    return f"About {', and '.join(takes)}, {besides}. {kept}"


def _taken(seconds: float, left: float, where: str) -> str:
    takes, ahead = duration(seconds), duration(left)
    return f"{takes} {where}" + (f", of which {ahead} are left" if ahead != takes else "")


def _size(n_bytes: float) -> str:
    for unit, size in (("GB", 1e9), ("MB", 1e6)):
        if n_bytes >= size:
            return f"{n_bytes / size:.1f} {unit}"
    return f"{n_bytes / 1e3:.0f} kB"
