"""Issue of a certificate, from the results of a competition's study."""

from __future__ import annotations

import datetime
import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import xarray as xr

from admmbench.audit.findings import Audit
from admmbench.certificate.content import (
    Attacked,
    Certificate,
    Method,
    Setting,
    Versus,
    finite,
    interval,
    mean,
)
from admmbench.files import netcdf, read_checksummed
from admmbench.jobs import fingerprint, provenance
from admmbench.results import reference, statistics
from admmbench.results.who_wins import compare
from admmbench.spec import guarantees
from admmbench.spec.run import RunSpec
from admmbench.study.competition import joined
from admmbench.study.config import AUDITS, Study

if TYPE_CHECKING:
    from admmbench.study.experiment import Experiment
    from admmbench.study.runs import Run

NOT_CHECKED = [
    "Whether the settings that the file states, such as axes of its search, were chosen by looking at test records.",
    "How many methods were tried before this one: its intervals are those of one method that is added next.",
    "Privacy of the search for settings: totals are of the last run alone.",
    "Rivals were not run again: their results are the kept ones.",
]
"""What no certificate checks."""


class Competed(NamedTuple):
    """Competition of a method: its certificate, and what its page draws."""

    certificate: Certificate
    comparison: xr.Dataset
    results: dict[str, xr.Dataset]
    """Results of rivals and method, by experiment."""


def issue(study: Study, rivals: Mapping[str, xr.Dataset], method: Path, track: str) -> Competed:
    """Issue the certificate of a method whose study is complete.

    Parameters
    ----------
    study
        Study of the competition; the working directory is its folder.
    rivals
        Kept results, by experiment.
    method
        File of the method.
    track
        Name of the track.

    Raises
    ------
    StaleResultError, ValueError
        If results are missing, damaged or of another study.
    """
    results = {
        name: joined(netcdf.read(Path(study.config.results, name, "results.nc")), kept, experiment)
        for name, experiment in study.experiments.items()
        for kept in [rivals[name]]
    }
    comparison = compare(results.values())
    assert comparison is not None
    settings = [
        setting
        for name, experiment in study.experiments.items()
        for setting in _settings(name, experiment, study, results[name], comparison)
    ]
    (label,) = next(iter(study.experiments.values())).only or [""]
    digest = hashlib.sha256(method.read_bytes()).hexdigest()
    certificate = Certificate(
        track=track,
        made=datetime.datetime.now(datetime.UTC).date().isoformat(),
        method=Method(file=method.name, sha256=digest, label=label),
        settings=settings,
        not_checked=NOT_CHECKED,
        versions=provenance.versions(),
        arithmetic=provenance.arithmetic(),
        machine=provenance.machine(),
        seal="",
    )
    return Competed(certificate.sealed(), comparison, results)


def _settings(
    name: str, experiment: Experiment, study: Study, results: xr.Dataset, comparison: xr.Dataset
) -> Iterator[Setting]:
    """Yield what the method reached at each of its totals."""
    runs: dict[float, Run] = {}
    for run in experiment.runs:
        runs.setdefault(run.spec.stated_budget, run)
    audits = {run.spec.stated_budget: file for file, run in experiment.audits.items()}
    digest = reference.digests([name])[name]
    for epsilon, run in runs.items():
        spec, folder = run.spec, Path(study.config.results, name)
        trace = netcdf.read(study.runs_folder(name) / run.path)
        audit = read_checksummed(folder / AUDITS / audits[epsilon]) if epsilon in audits else {}
        point = results.sel(algorithm=run.label, epsilon=epsilon)
        point = point.isel(seed=(point["status"] >= 0).values)
        metric = results.attrs["metric"]
        values, losses = (
            [finite(value) for value in statistics.final(point, variable).values.tolist()]
            for variable in (metric, "train_loss")
        )
        yield Setting(
            experiment=name,
            reference=digest,
            dataset=str(results.attrs["dataset"]),
            metric=metric,
            n_test=int(results.attrs["n_test"]),
            epsilon=epsilon,
            **stated(spec),
            mu=finite(trace["mu"].item()) if "mu" in trace else None,
            regret=finite(trace["regret"].item()) if "regret" in trace else None,
            run=settings_of(spec),
            seeds=point["seed"].values.tolist(),
            values=values,
            losses=losses,
            mean=mean(values, statistics.redrawn(results)),
            versus=versus(run.label, name, epsilon, comparison),
            floats_sent=float(point["floats_sent"].max()),
            audit=Attacked.of(Audit.from_dict(audit)) if audit else None,
        )


def settings_of(spec: RunSpec) -> dict[str, object]:
    """Return the settings of a run that a certificate states."""
    settings: dict[str, object] = spec.model_dump(
        mode="json", exclude_defaults=True, exclude={"algorithm", "seeds"}
    )
    return settings


def stated(spec: RunSpec) -> dict[str, object]:
    """Return what follows from the settings of a run: its privacy, its guarantee, its cost and its code."""
    worth = guarantees.guarantee(spec)
    return {
        "delta": spec.delta,
        "relation": spec.neighbours.relation,
        "unit": spec.neighbours.unit,
        "trust": spec.privacy.trust,
        "guarantee": worth.kind,
        "conditions": worth.conditions,
        "rounds": spec.rounds,
        "gradients": spec.rounds * spec.method.gradients + spec.method.resources.gradients_once,
        "code": fingerprint.parts(spec),
    }


def versus(label: str, experiment: str, epsilon: float, comparison: xr.Dataset) -> Versus:
    """Return the comparison of a method with the best rival of a setting."""
    here = (comparison["experiment"] == experiment) & (comparison["epsilon"] == epsilon)
    setting = comparison.isel(setting=int(here.values.argmax()))
    rival = str(setting["lowest"].item())
    pair = setting.sel(algorithm=str(setting["same_as"].sel(algorithm=label).item()), rival=rival)
    ends = [float(pair[f"difference{end}"]) for end in ("", "_lower", "_upper")]
    verdict = str(setting["added"].sel(algorithm=label).item()) or "not compared"
    return Versus(
        rival=rival,
        rivals=int((setting["compared"] & (setting["added"] == "")).sum()),
        margin=float(setting["margin"]),
        difference=interval(*ends),
        verdict=verdict,
    )
