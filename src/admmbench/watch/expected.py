"""What a study knows about its jobs before they run: their titles, and how long they should take."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from admmbench.forecast.cost import LIMITS, Machine, work
from admmbench.forecast.plan import attack_seconds, core_seconds
from admmbench.study.address import LOG, rule_name
from admmbench.study.config import AUDITS, TUNING, Study
from admmbench.study.experiment import Experiment, Search
from admmbench.study.runs import Run


@dataclass(frozen=True)
class Expected:
    """A job before it runs.

    Attributes
    ----------
    title
        What to call it.
    rule
        Its rule.
    seconds
        Forecast, of all its cores together.
    """

    title: str
    rule: str
    seconds: float = LIMITS.start


def expected(study: Study, machine: Machine) -> dict[str, Expected]:
    """Jobs that compute, by the path of their log.

    Parameters
    ----------
    study
        The configuration.
    machine
        What was measured, or else `LIMITS`, whose proportions are about right.
    """
    threads = study.config.threads
    found: dict[Path, Expected] = {}
    for name, experiment in study.experiments.items():
        logs, runs = Path(study.config.results, name, "logs"), study.runs_folder(name)
        if experiment.timed:
            together = sum(core_seconds(run.spec, threads, machine) for run in experiment.runs)
            found[logs / "time.log"] = Expected(
                f"{name}, run by run", rule_name("time", name), together
            )
        for run in () if experiment.timed else experiment.runs:
            rule = rule_name("run", run.address.folder)
            job = Expected(_title(run), rule, core_seconds(run.spec, threads, machine))
            found.setdefault(runs / run.address.file(LOG), job)
        for file, run in experiment.audits.items():
            title = f"attacks on {_title(run, seeds=False)}"
            assert experiment.audit is not None
            seconds = attack_seconds(run.spec, experiment.audit, machine)
            job = Expected(title, rule_name("audit", name), seconds)
            found[logs / AUDITS / Path(file).with_suffix(".log")] = job
        for file, search in experiment.searches.items():
            title = f"tuning of {_title(Run(search.label, search.spec), seeds=False)}"
            job = Expected(title, rule_name("tune", name), _search(search, experiment, machine))
            found[logs / TUNING / Path(file).with_suffix(".log")] = job
    return {str(log): job for log, job in found.items()}


def _search(search: Search, experiment: Experiment, machine: Machine) -> float:
    """Core-seconds of a search for settings, were its trials like the first."""
    settings = experiment.tuning
    assert settings is not None
    trials = settings.trials * len(settings.seeds)
    return machine.start + trials * work(search.spec, machine)


def _title(run: Run, *, seeds: bool = True) -> str:
    """Such as ``ObjP, epsilon 0.5, seeds 0-9``."""
    address = run.address
    title = f"{run.label}, {address.kind} {address.budget:g}"
    return f"{title}, seeds {address.first}-{address.last}" if seeds else title
