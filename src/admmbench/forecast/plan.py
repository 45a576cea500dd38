"""Plan of a study: the forecast cost of its jobs on this machine, with the measured cost of finished ones."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
from rich.filesize import decimal
from rich.table import Table

from admmbench import datasets
from admmbench.audit.settings import AuditSettings, compared_rounds, one_run_rounds
from admmbench.engine.devices import CPU, Machine, chosen, find
from admmbench.engine.variables import measured
from admmbench.forecast.cost import LIMITS, estimate, rounds_seconds, state_bytes, work
from admmbench.forecast.timing import Speeds, by_folder
from admmbench.jobs.progress import duration
from admmbench.spec.run import RunSpec
from admmbench.study.address import rule_name
from admmbench.study.config import AUDITS, Study
from admmbench.study.runs import Run

# Columns of a table of jobs, and how they are aggregated: forecast and recorded times in core-seconds, or in seconds of
# a GPU, the memory limit in MB, results and checkpoints in bytes.
_SUMS = ["jobs", "seconds", "on_gpu", "disk", "done", "left", "gpu_left", "forecast", "took"]
_AGGREGATIONS = dict.fromkeys(_SUMS, "sum") | {"mem_mb": "max", "checkpoint": "max"}
# Jobs of an experiment besides its runs: two that write its settings, the aggregation, the figures.
_FURTHER_JOBS = 4
# Jobs of the study: the report, the page that leads to all reports, the target of the workflow.
_STUDY_JOBS = 3
# Bytes of a result besides its numbers.
_FILE = 60_000
# Time of a round whose transcript is recorded, in double precision, and of its analysis, over that of a round of a run.
_AUDITED_ROUND = 4
# Runs in which an audit compares neighbouring data sets: one, and for ten rounds eleven, under two relations.
_COMPARED, _LOUD = 1, 22


class Expected(NamedTuple):
    """Jobs of one rule before they run."""

    title: str
    """Name of the jobs for users."""
    seconds: float = LIMITS.start
    """Forecast for one of them, of all its cores together."""


def expected(study: Study, speeds: Speeds) -> dict[str, Expected]:
    """Describe the jobs that compute, by their rule; jobs of one rule take about equally long."""
    jobs = [*_runs(study, speeds), *_attacks(study, speeds), *_searches(study, speeds)]
    table = pd.DataFrame(jobs, columns=["rule", "title", "jobs", "seconds", "on_gpu"]).fillna(0.0)
    expected_jobs = {}
    for rule, group in table.groupby("rule"):
        seconds = float((group["seconds"] + group["on_gpu"]).sum() / group["jobs"].sum())
        expected_jobs[str(rule)] = Expected(group["title"].iloc[0], seconds)
    return expected_jobs


def plan(study: Study, speeds: Speeds) -> pd.DataFrame:
    """Forecast costs: a row for each experiment, one for the data sets, and one for all."""
    jobs = [*_runs(study, speeds), *_attacks(study, speeds)]
    for name, experiment in study.experiments.items():
        # The aggregation writes all numbers once more.
        numbers = sum(len(runs) * _numbers(runs[0]) for runs in by_folder(experiment.runs))
        jobs.append({"experiment": name, "jobs": _FURTHER_JOBS, "disk": numbers})
    jobs += [{"experiment": "", **_dataset_cost(spec)} for spec in study.datasets.values()]
    jobs += [{"experiment": "", "jobs": 1, "disk": _FILE} for _ in study.partitions]
    costs = pd.DataFrame(jobs, columns=["experiment", *_AGGREGATIONS]).fillna(0.0)
    costs = costs.groupby("experiment").agg(_AGGREGATIONS).loc[[*study.experiments, ""]]
    total = costs.agg(_AGGREGATIONS)
    total["jobs"] += _STUDY_JOBS
    costs.index = pd.Index([*study.experiments, "data"])
    return pd.concat([costs, total.to_frame("all").T])


def _runs(study: Study, speeds: Speeds) -> Iterator[dict[str, Any]]:
    """Yield the costs of the runs of each experiment; a run of several experiments counts for the first."""
    counted, threads = set[Path](), study.config.threads
    for name, experiment in study.experiments.items():
        runs_folder = study.runs_folder(name)
        for runs in by_folder(experiment.runs):
            spec = runs[0].spec
            device = chosen(spec, study.config.device)
            seconds = core_seconds(spec, threads, speeds.machine(spec), device)
            cost: dict[str, Any] = {
                "experiment": name,
                "title": runs[0].label,
                "rule": rule_name("run", runs[0].folder),
                "jobs": 1,
                "seconds" if device == CPU else "on_gpu": seconds,
                "mem_mb": estimate(spec, threads, device).mem_mb,
                "disk": _FILE + _numbers(runs[0]),
                "checkpoint": state_bytes(spec),
                "left" if device == CPU else "gpu_left": seconds,
            }
            if experiment.timed:  # one job makes all runs
                cost |= {"rule": rule_name("time", name), "title": f"{name}, run by run"}
                cost |= {"jobs": 1 / len(experiment.runs)}
            for run in runs:
                path = runs_folder / run.path
                if path in counted:
                    continue
                counted.add(path)
                finished: dict[str, float] = {}
                if (took := speeds.took.get(path)) is not None:
                    # A finished run is forecast without its own time, so that the ratio of the two is honest.
                    forecast = core_seconds(run.spec, threads, speeds.machine(run.spec, path))
                    finished = {"done": 1, "left": 0, "forecast": forecast, "took": took}
                yield cost | finished


def _attacks(study: Study, speeds: Speeds) -> Iterator[dict[str, Any]]:
    """Yield the costs of the audits of each experiment."""
    for name, experiment in study.experiments.items():
        job = {"experiment": name, "rule": rule_name("audit", name), "jobs": 1}
        job["title"] = f"attacks on {name}"
        for file, run in experiment.audits.items():
            assert experiment.audit is not None
            seconds = attack_seconds(run.spec, experiment.audit, speeds.machine(run.spec))
            finished = Path(study.config.results, name, AUDITS, file).exists()
            yield {**job, "seconds": seconds, "left": 0 if finished else seconds}


def _searches(study: Study, speeds: Speeds) -> Iterator[dict[str, Any]]:
    """Yield the costs of tuning, as if all trials were like the first."""
    for name, experiment in study.experiments.items():
        job = {"rule": rule_name("tune", name), "title": f"tuning of {name}", "jobs": 1}
        for search in experiment.searches.values():
            assert experiment.tuning is not None
            trials = experiment.tuning.trials * len(experiment.tuning.seeds)
            machine = speeds.machine(search.spec)
            yield {**job, "seconds": machine.start + trials * work(search.spec, machine)}


def before_tuning(study: Study, speeds: Speeds, growth: Mapping[tuple[str, float], float]) -> float:
    """Forecast the core-seconds of searches, and of the runs and attacks that follow them.

    Parameters
    ----------
    study
        The configuration, whose methods are to be tuned.
    speeds
        Speeds of runs on this machine.
    growth
        Tuned rounds over those that a search begins with, by experiment and budget.
    """
    seconds = sum(job["seconds"] for job in _searches(study, speeds))
    for name, experiment in study.experiments.items():
        for search in experiment.searches.values():
            factor = growth.get((name, search.budget), 1.0)
            spec, machine = search.spec, speeds.machine(search.spec)
            trials = (
                experiment.tuning.trials * len(experiment.tuning.seeds) if experiment.tuning else 0
            )
            n_seeds = sum(map(len, experiment.blocks_of(search.label, search.budget)))
            seconds += ((factor - 1) * trials + factor * n_seeds) * work(spec, machine)
            if experiment.audit:
                seconds += attack_seconds(spec, experiment.audit, machine)
    return seconds


def core_seconds(spec: RunSpec, threads: int, machine: Machine, device: str = CPU) -> float:
    """Forecast the seconds of a run with at most so many threads, of all its cores together, or of a GPU."""
    machine = machine if device == CPU else find(device).TYPICAL
    return estimate(spec, threads, device).threads * machine.start + work(spec, machine)


def attack_seconds(spec: RunSpec, settings: AuditSettings, machine: Machine) -> float:
    """Forecast the seconds of an audit: runs on two neighbouring data sets for each canary and repeat, and comparisons.

    An attack on one run repeats it for each canary of an agent, or for all canaries if only the sum is visible.
    """
    rounds = min(settings.rounds, spec.rounds)
    seconds = settings.repeats * rounds_seconds(spec, rounds, machine)
    if spec.as_problem.sharing != "columns":
        rounds = compared_rounds(spec, settings)
        seconds += _COMPARED * rounds_seconds(spec, rounds, machine)
        seconds += _LOUD * rounds_seconds(spec, min(rounds, 10), machine)
    data_sets = 2 * len(settings.canaries) / len(spec.seeds)
    seconds *= _AUDITED_ROUND * data_sets
    if one := settings.one_run:
        visible = 1 if spec.privacy.trust == "secure_sum" else spec.n_agents
        runs = 2 + -(-min(one.canaries, spec.info.n_train) // visible)
        run_seconds = rounds_seconds(spec, one_run_rounds(spec, spec.info, one), machine)
        seconds += runs / len(spec.seeds) * run_seconds
    return machine.start + seconds


def _numbers(run: Run) -> int:
    """Return the bytes of a run's variables."""
    seeds = sum(
        len(run.spec.seeds) if "seed" in dims else 1 for dims, _, _ in measured(run.spec).values()
    )
    return 8 * seeds * math.ceil(run.spec.rounds / run.spec.evaluate_every)


def _dataset_cost(spec: str | dict[str, object]) -> dict[str, float]:
    """Return the cost of a data set: its download, and arrays in single precision with a label for each row."""
    info = datasets.describe(spec)
    arrays = (info.n_train + info.n_test) * (4 * info.n_features + 8)
    return {"jobs": 1, "disk": arrays + sum(file.size or 0 for file in info.files)}


def table(costs: pd.DataFrame) -> Table:
    """Return the costs as a table for a terminal."""
    compared = costs.forecast.any()
    hours = {"seconds": "core-hours"} | ({"on_gpu": "GPU-hours"} if costs.on_gpu.any() else {})
    headers = ["jobs", *hours.values(), "memory of a job", "disk"]
    headers += ["runs done", "forecast for them", "they took", "ratio"] if compared else []
    shown = Table("")
    for header in headers:
        shown.add_column(header, justify="right")
    for place, (name, cost) in enumerate(costs.iterrows()):
        cells = [f"{cost.jobs:.0f}", *(f"{cost[column] / 3600:.2f}" for column in hours)]
        cells += [decimal(int(cost.mem_mb * 2**20)) if cost.mem_mb else "", decimal(int(cost.disk))]
        if cost.forecast:
            cells += [f"{cost.done:.0f}", duration(cost.forecast), duration(cost.took)]
            cells += [f"{cost.took / cost.forecast:.2f}"]
        shown.add_row(str(name), *cells, end_section=place == len(costs) - 2)
    return shown


def summary(costs: pd.DataFrame, cores: int) -> str:
    """Return the sentences below the table; jobs without a file are left to do."""
    total = costs.iloc[-1]
    times = [_describe_time(total.seconds / cores, total.left / cores, f"on {cores} cores")]
    if total.on_gpu:
        times.append(_describe_time(total.on_gpu, total.gpu_left, "of a GPU"))
    checkpoint = f"A running job keeps up to {decimal(int(total.checkpoint))} of checkpoint."
    besides = "besides fetching data, tuning, figures and report"
    return f"About {', and '.join(times)}, {besides}. {checkpoint}"


def _describe_time(seconds: float, left: float, where: str) -> str:
    """Return a time in words, and the part of it that is left to do."""
    whole, rest = duration(seconds), duration(left)
    return f"{whole} {where}" + (f", of which {rest} are left" if rest != whole else "")
