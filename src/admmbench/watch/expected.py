"""What a study knows of its jobs before they run: what to call them, and how long they should take."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from admmbench.config import AUDITS, TUNING, Experiment, Study
from admmbench.engine.spec import RunSpec
from admmbench.forecast import cost
from admmbench.forecast.plan import Machine, core_seconds
from admmbench.runs import CHECKPOINT, LOG, Run

# Core-seconds of a job that hardly computes.
START = 2.0
# A method runs in two worlds, in double precision.
_OF_AN_ATTACK = 4


@dataclass(frozen=True)
class Expected:
    """A job before it runs.

    Attributes
    ----------
    title
        What to call it.
    kind
        Forecasts of jobs of one kind are wrong by about the same factor.
    seconds
        Forecast, of all its cores together.
    checkpoint
        Where it leaves its state; None if it does not.
    """

    title: str
    kind: str
    seconds: float = START
    checkpoint: Path | None = None


def expected(study: Study, machine: Machine | None) -> dict[str, Expected]:
    """Jobs that compute, by the path of their log.

    Parameters
    ----------
    study
        The configuration.
    machine
        What was measured; None takes upper bounds instead, whose proportions are about right.
    """

    def forecast(spec: RunSpec) -> float:
        if machine is None:
            return START + cost.work(spec)
        return core_seconds(spec, study.config.threads, machine)

    found: dict[str, Expected] = {}
    for name, experiment in study.experiments.items():
        folder = Path(study.config.results, name)
        if experiment.timed:
            together = sum(forecast(run.spec) for run in experiment.runs)
            found[str(folder / "logs/time.log")] = Expected(f"{name}, run by run", "time", together)
        else:
            for run in experiment.runs:
                runs = study.runs_folder(name)
                checkpoint = runs / run.checkpoint_folder / CHECKPOINT.format(point=run.point)
                found.setdefault(
                    str(runs / run.file(LOG)),
                    Expected(_title(run), run.folder, forecast(run.spec), checkpoint),
                )
        for log, title, kind, seconds in (*_attacks(experiment), *_searches(experiment)):
            found[str(folder / "logs" / kind / log)] = Expected(title, kind, START + seconds)
    return found


def _attacks(experiment: Experiment) -> Iterator[tuple[str, str, str, float]]:
    """Log, title, kind and core-seconds of each audit."""
    settings = experiment.audit
    if settings is None:
        return
    for file, run in experiment.audits.items():
        rounds = min(settings.rounds / run.spec.rounds, 1)
        repeats = settings.repeats / len(run.spec.seeds) * len(settings.canaries)
        seconds = _OF_AN_ATTACK * rounds * repeats * cost.work(run.spec)
        yield _log(file), f"attacks on {_title(run, seeds=False)}", AUDITS, seconds


def _searches(experiment: Experiment) -> Iterator[tuple[str, str, str, float]]:
    """Log, title, kind and core-seconds of each search for settings."""
    settings = experiment.tuning
    if settings is None:
        return
    for file, search in experiment.searches.items():
        run = Run(search.label, search.spec)
        seconds = settings.trials * len(settings.seeds) * cost.work(run.spec)
        yield _log(file), f"tuning of {_title(run, seeds=False)}", TUNING, seconds


def _log(file: str) -> str:
    return f"{file.removesuffix('.json')}.log"


def _title(run: Run, *, seeds: bool = True) -> str:
    """Such as ``ObjP, epsilon 0.5, seeds 0-9``."""
    parts = run.point.split("+") if seeds else run.point.split("+")[:1]
    return ", ".join([run.label, *(part.replace("=", " ").replace("_", " ") for part in parts)])
