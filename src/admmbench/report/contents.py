"""What a report is made of: the results in the folder of an experiment, and what is missing there, with the reason."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from admmbench.audit.findings import Audit
from admmbench.figures import drawing
from admmbench.figures.base import FORMATS
from admmbench.files import read_checked, read_sealed
from admmbench.jobs import seal
from admmbench.report.data import Missing, Reason, collected, grouped
from admmbench.report.rendering import Section
from admmbench.study.address import LOG
from admmbench.study.aggregate import join_runs, read
from admmbench.study.config import AUDITS, ConfigError, read_drawn_experiment

if TYPE_CHECKING:
    import xarray as xr

    from admmbench.study.experiment import Experiment
    from admmbench.study.runs import Run

# How a command's message begins in its log.
_MESSAGE = "admmbench: "


Why = tuple[Reason, str]
"""Why a run is missing, and what failed said."""
Gathered = tuple[Section | None, list[Missing]]
"""An experiment as far as it is there, None if none of its runs is; and what is missing of it."""


def gather(folder: Path, page: Path, partitions: Path | None = None) -> Gathered:
    """Take a complete experiment from its folder; a figure that is not there is drawn when the report is made.

    Parameters
    ----------
    folder
        Of the experiment.
    page
        Where the report is written: its links to files of figures go from there.
    partitions
        Folder of partitions, of which those of the experiment are taken that are there.

    Raises
    ------
    ConfigError, ValueError, StaleResultError
        If its definition, an audit or the results are missing or damaged, or a figure is damaged.
    """
    _, experiment, looks = read_drawn_experiment(folder)
    paths = {figure.name: folder / f"figures/{figure.name}.svg" for figure in experiment.figures}
    drawings = {name: read_checked(path).decode() for name, path in paths.items() if path.exists()}
    audits = [(run, _audit(folder, name)) for name, run in experiment.audits.items()]
    results = seal.read(folder / "results.nc")
    links = {
        name: {
            suffix: quote(
                Path(os.path.relpath(path.with_suffix(f".{suffix}"), page.parent)).as_posix()
            )
            for suffix in FORMATS
            if path.with_suffix(f".{suffix}").exists()
        }
        for name, path in paths.items()
    }
    parts = _partitions(experiment, partitions)
    missing = list(_missing_data(experiment))
    return (Section(results, experiment, drawings, links, looks, audits, parts), missing)


def gather_what_exists(folder: Path, partitions: Path | None = None) -> Gathered:
    """Take what is there of an experiment: its runs are joined anew, and its figures drawn from these; see `gather`."""
    try:
        name, experiment, looks = read_drawn_experiment(folder)
    except ConfigError as error:
        return (None, [Missing(folder.name, "everything", "said", said=str(error))])
    place = experiment.runs_folder(folder)
    there: list[tuple[Run, xr.Dataset]] = []
    gone: list[tuple[Run, Why]] = []
    for run in experiment.runs:
        path = place / run.path
        try:
            if path.exists():
                there.append((run, read(path, run)))
            else:
                gone.append((run, _why_no_run(folder, experiment, run)))
        except seal.StaleResultError as error:
            gone.append((run, ("said", str(error))))
    missing = [*_missing_data(experiment), *_missing_runs(experiment, gone)]
    if not there:
        return (None, missing)
    if len(there) == len(experiment.runs):
        try:
            seal.read(folder / "results.nc")
        except seal.StaleResultError as error:
            why, said = _why(folder / "logs/aggregate.log")
            if (folder / "results.nc").exists():
                why, said = "said", str(error)
            missing.append(Missing(experiment.title, "file", why, "results.nc", said))
    results = join_runs(name, experiment, there)
    drawings, audits = {}, []
    for figure in experiment.figures:
        try:
            drawings[figure.name] = drawing.svg(results, figure, looks)
        except Exception as error:  # of a kind of figure that counts on all runs, perhaps a plug-in
            missing.append(
                Missing(experiment.title, "figure", "not_drawn", figure.name, str(error))
            )
    for file, run in experiment.audits.items():
        try:
            audits.append((run, _audit(folder, file)))
        except (OSError, ValueError):
            why, said = _why(folder / "logs" / AUDITS / Path(file).with_suffix(".log"))
            missing.append(Missing(experiment.title, "audit", why, _named([run]), said))
    drawn = [figure for figure in experiment.figures if figure.name in drawings]
    experiment = experiment.model_copy(update={"figures": drawn})
    try:
        parts = _partitions(experiment, partitions)
    except seal.StaleResultError as error:
        parts = []
        missing.append(Missing(experiment.title, "file", "said", "partitions", str(error)))
    return (Section(results, experiment, drawings, {}, looks, audits, parts), missing)


def _partitions(experiment: Experiment, folder: Path | None) -> list[list[xr.Dataset]]:
    """Read the partitions of an experiment's seeds that are there, all files of one together."""
    if folder is None:
        return []
    files = dict.fromkeys(path for run in experiment.runs for path in run.partitions)
    found = [seal.read(folder / path) for path in files if (folder / path).exists()]
    seeds = [seed for run in experiment.runs for seed in run.spec.seeds]
    found = [
        each.isel(seed=each["seed"].isin(seeds)) if "seed" in each.dims else each for each in found
    ]
    return [*grouped(found, lambda each: each.attrs["scheme"]).values()]


def _audit(folder: Path, name: str) -> Audit:
    return Audit.from_dict(read_sealed(folder / AUDITS / name))


def _missing_data(experiment: Experiment) -> Iterator[Missing]:
    """Yield the part of the data that the runs do not have, as its files could not be had."""
    if found := experiment.missing_data:
        yield Missing(experiment.title, "data", "no_files", str(found), files=found.files)


def _missing_runs(experiment: Experiment, gone: list[tuple[Run, Why]]) -> Iterator[Missing]:
    """Runs that are missing, those with the same reason together, and the reason."""
    places = collected((reason, place) for place, (_, reason) in enumerate(gone))
    for (why, said), own in places.items():
        runs = [gone[place][0] for place in own]
        if len(runs) == len(experiment.runs):
            yield Missing(experiment.title, "all_runs", why, said=said)
        else:
            yield Missing(experiment.title, "runs", why, _named(runs), said)
    for method in experiment.untuned:
        yield Missing(experiment.title, "runs", "untuned", [(method, [])])


def _named(runs: Iterable[Run]) -> list[tuple[str, list[float]]]:
    """Methods with their budgets."""
    return [*collected((run.label, run.spec.stated_budget) for run in runs).items()]


def _why_no_run(folder: Path, experiment: Experiment, run: Run) -> Why:
    """Why a run is missing: what its log says, or that of the data set or the partition that it waits for."""
    logs = folder.parent / "logs"
    prepared = _said(logs / "prepare" / f"{experiment.dataset_folder}.log")
    runs = experiment.runs_folder(folder)
    log = folder / "logs/time.log" if experiment.timed else runs / run.address.file(LOG)
    if log.exists():
        return _why(log)
    if prepared:
        return ("no_data", prepared)
    drawn = ((logs / "partition" / path).with_suffix(".log") for path in run.partitions)
    return _why(next(filter(_said, drawn), log))


def _why(log: Path) -> Why:
    if not log.exists():
        return ("not_started", "")
    said = _said(log)
    return ("said", said) if said else ("no_message", str(log))


def _said(log: Path) -> str:
    """Last message of a log; empty if there is none."""
    text = log.read_text("utf-8", "replace") if log.exists() else ""
    _, begins, message = f"\n{text}".rpartition(f"\n{_MESSAGE}")
    return message.strip() if begins else ""
