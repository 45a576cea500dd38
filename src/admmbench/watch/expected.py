"""What a study knows about its jobs before they run: what to call them, and how long they should take."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import mean
from typing import NamedTuple

from admmbench.device import chosen
from admmbench.forecast.cost import LIMITS, Machine, work
from admmbench.forecast.plan import attack_seconds, core_seconds
from admmbench.study.address import rule_name
from admmbench.study.config import Study


class Expected(NamedTuple):
    """Jobs of one rule are described so before they run."""

    title: str
    """What to call them."""
    seconds: float = LIMITS.start
    """Forecast for one of them, of all its cores together."""


def expected(study: Study, machine: Machine) -> dict[str, Expected]:
    """Describe the jobs that compute, by their rule: those of one rule take about equally long.

    Parameters
    ----------
    study
        The configuration.
    machine
        What was measured, or else `LIMITS`, whose proportions are about right.
    """
    threads = study.config.threads
    found = {}
    for folder, runs in study.shared.items():
        seconds = mean(
            core_seconds(run.spec, threads, machine, chosen(run.spec, study.config.device))
            for run in runs.values()
        )
        found[rule_name("run", folder)] = Expected(next(iter(runs.values())).label, seconds)
    for name, experiment in study.experiments.items():
        if experiment.timed:
            together = sum(core_seconds(run.spec, threads, machine) for run in experiment.runs)
            found[rule_name("time", name)] = Expected(f"{name}, run by run", together)
        if experiment.audit and experiment.audits:
            runs_ = experiment.audits.values()
            attacks = mean(attack_seconds(run.spec, experiment.audit, machine) for run in runs_)
            found[rule_name("audit", name)] = Expected(f"attacks on {name}", attacks)
        if experiment.tuning and experiment.searches:
            # As if all trials were like the first.
            trials = experiment.tuning.trials * len(experiment.tuning.seeds)
            trial = mean(work(each.spec, machine) for each in experiment.searches.values())
            search = Expected(f"tuning of {name}", machine.start + trials * trial)
            found[rule_name("tune", name)] = search
    return found


def of_rule(jobs: Mapping[str, Expected], rule: str) -> Expected | None:
    """Find what is known of the jobs of a rule; another Snakefile may have put a word before its name."""
    return next((each for name, each in jobs.items() if rule.endswith(name)), None)
