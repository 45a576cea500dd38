"""Verification of a certificate: what follows from it is derived again, and some of its runs are computed again."""

from __future__ import annotations

import hashlib
import json
import math
import random
from collections.abc import Iterable, Iterator, Mapping
from enum import IntEnum
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr

from admmbench.audit import audit
from admmbench.base.outcomes import SUCCESSFUL, Outcome
from admmbench.certificate.content import Attacked, Certificate, Setting, finite, mean
from admmbench.certificate.issue import settings_of, stated, versus
from admmbench.datasets import DatasetError, load_dataset
from admmbench.engine.rounds import AlgorithmError
from admmbench.jobs import provenance
from admmbench.jobs.simulate import run_spec
from admmbench.results import reference, statistics
from admmbench.results.who_wins import compare
from admmbench.spec.run import RunSpec
from admmbench.study.competition import TRACKS, entry
from admmbench.study.config import ConfigError, check_experiment
from admmbench.study.experiment import Experiment

RECORDS = 3
"""Test records by which an error may differ on other versions or another processor."""


class Status(IntEnum):
    """Outcome of a verification, and exit status of the command."""

    EQUAL = 0
    DIFFERS = 1
    INCOMPARABLE = 2


class Line(NamedTuple):
    """Sentence of a verification, with what it means for the outcome."""

    status: Status
    text: str


def verify(
    certificate: Certificate, method: Path, part: float = 0.05, seed: int = 0
) -> Iterator[Line]:
    """Verify a certificate, and yield what is found.

    The file of the method is executed, unless it is another one than that of the certificate.

    Parameters
    ----------
    certificate
        The certificate.
    method
        File of the method.
    part
        Part of the runs of each setting that are computed again, one at least.
    seed
        Seed of the draw of these runs.
    """
    if certificate.sealed().seal != certificate.seal:
        yield Line(Status.DIFFERS, "seal: the certificate was changed after it was issued")
    digest = hashlib.sha256(method.read_bytes()).hexdigest()
    if digest != certificate.method.sha256:
        text = f"method.sha256: {method} is another file than the one that competed; it is not executed"
        yield Line(Status.DIFFERS, text)
        return
    if certificate.method.file != method.name:
        text = f"method.file: is {certificate.method.file}, and the file is {method.name}"
        yield Line(Status.DIFFERS, text)
    if not certificate.method.label.startswith(method.stem):
        yield Line(Status.DIFFERS, "method.label: is not that of the file")
    names = list(dict.fromkeys(setting.experiment for setting in certificate.settings))
    if {*names} != {*TRACKS.get(certificate.track, names)}:
        text = f"track: {certificate.track} has other experiments than {', '.join(names)}"
        yield Line(Status.DIFFERS, text)
    rivals = reference.load(names)
    for name in names:
        if name not in rivals:
            yield Line(Status.INCOMPARABLE, f"{name}: no kept results of its rivals are here")
            return
    others = list(_other_versions(certificate))
    yield from (Line(Status.EQUAL, text) for text in others)
    try:
        experiments = {
            name: check_experiment(entry(name, str(method), rivals[name], Path()).content)
            for name in names
        }
    except ConfigError as error:
        yield Line(Status.INCOMPARABLE, str(error))
        return
    yield from _missing_settings(certificate, experiments)
    checks = [
        _Check(setting, method, experiments[setting.experiment]) for setting in certificate.settings
    ]
    derived = [line for check in checks for line in check.derived()]
    yield from derived
    if any(line.status for line in derived):
        return
    yield from _compared_again(certificate, rivals)
    generator = random.Random(seed)
    attacked = generator.choice(checks)
    for check in checks:
        lines = list(check.again(part, generator, exactly=not others and check.same_code))
        yield from lines
        if any(line.status for line in lines):
            return
    yield from attacked.attacked(exactly=not others and attacked.same_code)


def _other_versions(certificate: Certificate) -> Iterator[str]:
    """Yield a sentence for each version that is another here, for which bits may differ."""
    here = provenance.versions()
    for name, version in certificate.versions.items():
        if here.get(name) != version:
            yield f"versions.{name}: {version} there, {here.get(name, 'none')} here: bits may differ"
    if certificate.arithmetic != provenance.arithmetic():
        yield f"arithmetic: {certificate.arithmetic} there, {provenance.arithmetic()} here: bits may differ"


def _missing_settings(
    certificate: Certificate, experiments: Mapping[str, Experiment]
) -> Iterator[Line]:
    """Yield a line if a certificate has other settings than its competition, or one twice."""
    there = sorted((setting.experiment, setting.epsilon) for setting in certificate.settings)
    asked = sorted(
        (name, budget) for name, experiment in experiments.items() for _, budget in experiment.grid
    )
    if there != asked:
        text = ", ".join(f"{name} at {budget:g}" for name, budget in asked)
        yield Line(Status.DIFFERS, f"settings: the competition is {text}, each once")


def _compared_again(certificate: Certificate, rivals: Mapping[str, xr.Dataset]) -> Iterator[Line]:
    """Yield a line for each setting whose comparison does not follow from its values."""
    digests = reference.digests(rivals)
    if others := [
        s.experiment for s in certificate.settings if s.reference != digests[s.experiment]
    ]:
        text = f"settings.reference: kept results of {others[0]} are others here, verdicts cannot be compared"
        yield Line(Status.INCOMPARABLE, text)
        return
    label = certificate.method.label
    comparison = compare(
        with_values(rivals[name], label, [s for s in certificate.settings if s.experiment == name])
        for name in rivals
    )
    assert comparison is not None
    for setting in certificate.settings:
        again = versus(label, setting.experiment, setting.epsilon, comparison)
        if again != setting.versus:
            text = f"{setting.title}: versus: does not follow from its values and kept results of rivals"
            yield Line(Status.DIFFERS, text)


def with_values(rivals: xr.Dataset, label: str, settings: list[Setting]) -> xr.Dataset:
    """Return kept results with a further method that has the values of a certificate."""
    # Facts but the values are those of a stated rival: a comparison needs the total alone, which is the same.
    method = rivals.isel(algorithm=[0]).assign_coords(algorithm=[label]).copy(deep=True)
    metric, last = rivals.attrs["metric"], rivals["round"].values[-1]
    for name in (metric, "train_loss"):
        method[name][:] = np.nan
    method["status"][:] = Outcome.NOT_RUN
    if "mistakes" in method:
        method["mistakes"][:] = np.nan
    for setting in settings:
        place = {"algorithm": label, "epsilon": setting.epsilon, "seed": setting.seeds}
        failed = np.array([value is None for value in setting.values])
        method["status"].loc[place] = np.where(failed, Outcome.DIVERGED, Outcome.COMPLETED)
        for name, values in ((metric, setting.values), ("train_loss", setting.losses)):
            method[name].loc[{**place, "round": last}] = np.array(values, float)
    both = xr.concat(
        [rivals, method],
        "algorithm",
        data_vars="all",
        coords="all",
        join="exact",
        compat="override",
    )
    added = [*statistics.added(rivals), label]
    return both.assign_attrs({**rivals.attrs, "added": json.dumps(added)})


def _is_below(name: str, keys: Iterable[str]) -> bool:
    return any(f"{name}.".startswith(f"{key}.") for key in keys)


class _Check:
    """Verification of a setting."""

    def __init__(self, setting: Setting, method: Path, experiment: Experiment) -> None:
        self.setting, self.method, self.experiment = setting, method, experiment
        self.same_code = False

    def spec(self, seeds: list[int]) -> RunSpec:
        run = {**self.setting.run, "algorithm": str(self.method), "seeds": seeds}
        return RunSpec.model_validate(run)

    def derived(self) -> Iterator[Line]:
        """Yield a line for each field that does not follow from others."""
        setting = self.setting
        numbers = len(setting.seeds), len(setting.values), len(setting.losses)
        if setting.seeds != [*range(len(setting.seeds))] or len({*numbers}) > 1:
            yield self._differs("seeds", "are not the first of the rivals, with a value of each")
            return
        try:
            spec = self.spec(setting.seeds)
        except ValueError as error:
            yield self._differs("run", f"is refused: {error}")
            return
        facts = stated(spec) | {
            "epsilon": spec.stated_budget,
            "dataset": spec.info.name,
            "metric": spec.as_problem.judged_by,
        }
        here: Any = facts.pop("code")
        self.same_code = setting.code == here
        if setting.code.get("method") != here["method"]:
            yield self._differs("code.method", "is not that of the file")
        elif not self.same_code:
            text = f"{setting.title}: code: that of the suite is another here: bits may differ"
            yield Line(Status.EQUAL, text)
        for name, value in facts.items():
            if getattr(setting, name) != value:
                yield self._differs(name, f"is {getattr(setting, name)}, and follows as {value}")
        for name in self._other_settings():
            yield self._differs(f"run.{name}", "is not that of the competition")
        if len(setting.seeds) not in {block[-1] + 1 for block in self.experiment.blocks}:
            # Seeds after the last whole block would never be computed again.
            yield self._differs("seeds", "end within a block of seeds")
        if setting.mean != mean(setting.values):
            yield self._differs("mean", "is not that of its values")

    def _other_settings(self) -> list[str]:
        """Return the settings of a run, tuned ones left out, that the competition states otherwise."""
        searches = [
            s for s in self.experiment.searches.values() if s.budget == self.setting.epsilon
        ]
        runs = [r for r in self.experiment.runs if r.spec.stated_budget == self.setting.epsilon]
        if not searches and not runs:
            return ["privacy.total"]
        free = ["evaluate_every", *(searches[0].axes if searches else ())]
        spec = searches[0].spec if searches else runs[0].spec
        asked, there = (
            {str(key): value for key, value in pd.json_normalize(run).iloc[0].items()}
            for run in (settings_of(spec), self.setting.run)
        )
        # A number that is tuned may be a part of a schedule.
        stays = (name for name in sorted({*asked, *there}) if not _is_below(name, free))
        return [name for name in stays if asked.get(name) != there.get(name)]

    def again(self, part: float, generator: random.Random, *, exactly: bool) -> Iterator[Line]:
        """Compute some runs again, and yield what they show."""
        n = len(self.setting.seeds)
        # Rounding depends on the seeds that are computed together.
        blocks: list[tuple[int, ...]] = [b for b in self.experiment.blocks if b[-1] < n]
        for block in sorted(generator.sample(blocks, math.ceil(part * len(blocks)))):
            yield from self._block_again(list(block), exactly=exactly)

    def _block_again(self, seeds: list[int], *, exactly: bool) -> Iterator[Line]:
        """Compute a block of seeds again, and yield what it shows."""
        setting, spec = self.setting, self.spec(seeds)
        try:
            trace = run_spec(spec, load_dataset(spec.dataset))
        except DatasetError as error:
            yield Line(Status.INCOMPARABLE, f"{setting.title}: {error}")
            return
        except (AlgorithmError, OSError) as error:
            cause = error.__cause__ or error
            yield self._differs("run", f"fails here: {type(cause).__name__}: {cause}")
            return
        fine = trace["status"].isin(SUCCESSFUL)
        ends = [trace[name].isel(round=-1).where(fine) for name in (setting.metric, "train_loss")]
        values, losses = ([finite(value) for value in end.values.tolist()] for end in ends)
        allowed = 0.0 if exactly else RECORDS / setting.n_test
        for seed, value, loss in zip(seeds, values, losses, strict=True):
            former, former_loss = setting.values[seed], setting.losses[seed]
            if value is None or former is None:
                same = value is former
            else:
                same = abs(value - former) <= allowed and (not exactly or loss == former_loss)
            if not same:
                text = f"of seed {seed} is {former} there (loss {former_loss}), and {value} here (loss {loss})"
                yield self._differs("values", text)
        facts: Mapping[str, Any] = {
            "n_test": int(trace.attrs["n_test"]),
            "floats_sent": float(trace["floats_sent"].max()),
            **(
                {name: finite(trace[name].item()) for name in ("mu", "regret")}
                if "mu" in trace
                else {}
            ),
        }
        for name, value in facts.items():
            former = getattr(setting, name)
            if former != value and (exactly or former is None or not np.isclose(former, value)):
                yield self._differs(name, f"is {former} there, and {value} here")
        how = "each bit" if exactly else f"up to {RECORDS} test records"
        text = (
            f"{setting.title}: seeds {seeds[0]} to {seeds[-1]} were computed again, {how} compared"
        )
        yield Line(Status.EQUAL, text)

    def attacked(self, *, exactly: bool) -> Iterator[Line]:
        """Attack the run again, and yield a line on the audit."""
        setting = self.setting
        spec = self.spec(setting.seeds[:1])
        if self.experiment.audit is None:
            return
        found = Attacked.of(audit(spec, load_dataset(spec.dataset), self.experiment.audit))
        pair = [each and (each if exactly else each.passed) for each in (found, setting.audit)]
        if pair[0] != pair[1]:
            yield self._differs("audit", f"is {setting.audit} there, and {found} here")
        else:
            yield Line(Status.EQUAL, f"{setting.title}: its audit was made again, and is the same")

    def _differs(self, field: str, text: str) -> Line:
        return Line(Status.DIFFERS, f"{self.setting.title}: {field}: {text}")
