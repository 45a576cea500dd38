"""Speeds of runs: from the times of earlier runs of a study, or from a few measured rounds without any."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from admmbench.datasets import Dataset, load_dataset
from admmbench.engine.devices import CPU, Machine, chosen
from admmbench.engine.rounds import AlgorithmError, run_rounds
from admmbench.files.cache import Cache
from admmbench.forecast.cost import LIMITS, estimate, rounds_seconds, work
from admmbench.jobs import fingerprint, provenance
from admmbench.spec.run import RunSpec
from admmbench.study.address import BENCHMARK, dataset_folder
from admmbench.study.config import Study
from admmbench.study.runs import Run

_MEASURED = Cache[float]("speeds.json")
# Rounds that are timed, after one that also compiles.
_ROUNDS = 3
# Largest numbers of their seeds, and of the entries of their records.
_SEEDS, _NUMBERS = 3, 4_000_000


class Speeds:
    """Ratios of the seconds that runs take to their upper bounds, by kind of run.

    Runs of one kind have the same method, data set, loss and number of agents. The bounds scale their ratio to other
    rounds, seeds and local updates.

    Parameters
    ----------
    study
        The configuration. Times of its finished runs are read, and ratios that were measured before.

    Attributes
    ----------
    took
        Core-seconds that finished runs took on processors, by file, as timed runs have a folder of their own.
    """

    def __init__(self, study: Study) -> None:
        self.took = dict[Path, float]()
        self._specs = dict[str, RunSpec]()
        # Bounds of finished runs, by file; by kind, the sums of what they took and of their bounds.
        self._bounds = dict[Path, float]()
        self._sums = defaultdict[str, tuple[float, float]](lambda: (0.0, 0.0))
        self._dataset_folders = dict[str, str]()
        for name, experiment in study.experiments.items():
            folder = study.runs_folder(name)
            for runs in by_folder(experiment.runs):
                spec = runs[0].spec
                if chosen(spec, study.config.device) != CPU:
                    continue  # the time on a device tells nothing of a processor
                kind, threads = self._kind(spec), estimate(spec, study.config.threads).threads
                bound = threads * LIMITS.start + work(spec)
                self._specs.setdefault(kind, spec)
                for run in runs:
                    path = folder / run.path
                    if path not in self.took and (seconds := _recorded(folder, run)):
                        self.took[path], self._bounds[path] = threads * seconds, bound
                        took, bounds = self._sums[kind]
                        self._sums[kind] = took + self.took[path], bounds + bound
        known = _MEASURED.read()
        names = {kind: _name(kind, spec) for kind, spec in self._specs.items()}
        self._measured = {kind: known[name] for kind, name in names.items() if name in known}

    def measure(self, progress: Callable[[int, int], None], *, renew: bool = False) -> None:
        """Time a few rounds of each kind of run that has no finished run, unless the same code was measured here.

        With ``renew``, every kind is measured again.
        """
        known = {} if renew else {**self._sums, **self._measured}
        new = {kind: spec for kind, spec in self._specs.items() if kind not in known}
        for number, (kind, spec) in enumerate(new.items(), start=1):
            self._measured[kind] = _time_rounds(spec)
            progress(number, len(new))
        if new:
            _MEASURED.add({_name(kind, spec): self._measured[kind] for kind, spec in new.items()})

    def machine(self, spec: RunSpec, without: Path | None = None) -> Machine:
        """Return a machine that takes as long as this machine for runs of a kind.

        Parameters
        ----------
        spec
            A run of this kind. If nothing is known of the kind, the machine is a slow one.
        without
            File of a run whose own time is left out.
        """
        kind = self._kind(spec)
        took, bounds = self._sums.get(kind, (0.0, 0.0))
        if without in self._bounds:
            took, bounds = took - self.took[without], bounds - self._bounds[without]
        if bounds > 0:
            ratio = took / bounds
            return Machine(*(ratio * limit for limit in LIMITS))
        ratio = self._measured.get(kind, 1.0)
        return Machine(*(ratio * limit for limit in LIMITS))._replace(start=LIMITS.start)

    def _kind(self, spec: RunSpec) -> str:
        """Name the kind of a run: all that its speed depends on besides its size."""
        data = repr(spec.dataset)
        if data not in self._dataset_folders:
            self._dataset_folders[data] = dataset_folder(spec.dataset)
        code = fingerprint.code(spec)
        return f"{self._dataset_folders[data]} {code} {spec.variant} {spec.n_agents} {spec.dtype}"


def by_folder(runs: Iterable[Run]) -> list[list[Run]]:
    """Group runs by their folder: those in one folder differ in budget and seeds alone, and cost alike."""
    groups = defaultdict[str, list[Run]](list)
    for run in runs:
        groups[run.folder].append(run)
    return [*groups.values()]


def _time_rounds(spec: RunSpec) -> float:
    """Return the ratio of the time of a round to its bound.

    The ratio is 1, so that the bound counts, for a method that does most of its work once or ends before some rounds,
    and for a problem that needs other than random records.
    """
    if spec.method.resources.gradients_once:
        return 1.0
    try:
        short, data = _shorten(spec)
        seconds = np.diff(run_rounds(short, data).dataset(short, {})["seconds"])
    except (ValueError, AlgorithmError):
        return 1.0
    bound = rounds_seconds(short, 2, LIMITS) - rounds_seconds(short, 1, LIMITS)
    ratio = float(np.min(seconds[1:])) / bound
    return ratio if 0 < ratio < np.inf else 1.0


def _shorten(spec: RunSpec) -> tuple[RunSpec, Dataset]:
    """Return a run of a few rounds, and random records of the shape of its data, in equal shares."""
    info, generator = spec.info, np.random.default_rng(0)
    changes: dict[str, Any] = {"seeds": spec.seeds[:_SEEDS], "rounds": 1 + _ROUNDS}
    if info.drawn:
        data = load_dataset(spec.dataset)
    else:
        n = min(info.n_train, max(_NUMBERS // info.n_features, spec.n_agents))
        X = generator.random((n, info.n_features), dtype=np.float32)
        y = generator.integers(0, info.n_classes, n) if info.n_classes else X[:, 0]
        data = Dataset(
            name="random",
            settings={},
            class_names=info.class_names,
            X_train=X,
            y_train=y,
            X_test=X[:10],
            y_test=y[:10],
        )
        agents = spec.agents if spec.as_problem.sharing == "columns" else spec.n_agents
        changes |= {"dataset": data, "problem": spec.as_problem.describe(), "agents": agents}
    fields = {name: getattr(spec, name) for name in RunSpec.model_fields}
    changes |= {"evaluate_every": 1, "accountants": ("rdp",)}
    return RunSpec.model_validate({**fields, **changes}), data


def _name(kind: str, spec: RunSpec) -> str:
    """Name a kind of run on this machine, with the code that it executes."""
    return f"{provenance.machine()} | {fingerprint.of_run(spec)} | {kind}"


def _recorded(folder: Path, run: Run) -> float | None:
    """Return the seconds of the last attempt, with interpreter and imports; None if the run is not finished."""
    table = folder / run.file(BENCHMARK)
    if not (folder / run.path).exists() or not table.exists():
        return None
    # The file is empty if the result came from a cache; a shell writes the decimal sign of its locale.
    match = re.match(r"s\b.*\n(\d+([.,]\d+)?)\b", table.read_text("utf-8", "replace"))
    return float(match[1].replace(",", ".")) if match else None
