"""Contents of a report: the results in the folder of an experiment, and the results missing there, with the reason."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from admmbench.audit.findings import Audit
from admmbench.figures import drawing
from admmbench.figures.base import FORMATS
from admmbench.files import netcdf, read_checked, read_checksummed
from admmbench.report.data import Missing, Reason, collected, grouped
from admmbench.report.rendering import Section
from admmbench.results import reference
from admmbench.study.address import LOG
from admmbench.study.aggregate import join_runs, read
from admmbench.study.config import AUDITS, ConfigError, read_drawn_experiment
from admmbench.study.configurations import read_study

if TYPE_CHECKING:
    import xarray as xr

    from admmbench.study.experiment import Experiment
    from admmbench.study.runs import Run

# Beginning of a command's message in its log.
_MESSAGE = "admmbench: "


Explanation = tuple[Reason, str]
"""Reason for which a run is missing, with the message of the job that failed."""
Gathered = tuple[Section | None, list[Missing]]
"""An experiment as far as it exists, None if none of its runs does; and its missing parts."""


def gather(folder: Path, page: Path, partitions: Path | None = None) -> Gathered:
    """Read a complete experiment from its folder; a figure without a file is drawn when the report is made.

    Parameters
    ----------
    folder
        Folder of the experiment.
    page
        File of the report, from which links to files of figures start.
    partitions
        Folder of partitions, from which the existing partitions of the experiment are read.

    Raises
    ------
    ConfigError, ValueError, StaleResultError
        If the definition, an audit or the results are missing or damaged, or a figure is damaged.
    """
    _, experiment, looks = read_drawn_experiment(folder)
    paths = {figure.name: folder / f"figures/{figure.name}.svg" for figure in experiment.figures}
    drawings = {name: read_checked(path).decode() for name, path in paths.items() if path.exists()}
    audits = [(run, _audit(folder, name)) for name, run in experiment.audits.items()]
    results = netcdf.read(folder / "results.nc")
    links: dict[str, dict[str, str]] = {name: {} for name in paths}
    for name, suffix in itertools.product(paths, FORMATS):
        file = paths[name].with_suffix(f".{suffix}")
        if file.exists():
            links[name][suffix] = _address(file, page)
    parts = _partitions(experiment, partitions)
    missing = list(_missing_data(experiment))
    address = _address(folder / "results.nc", page)
    section = Section(results, experiment, drawings, links, looks, audits, parts, address=address)
    return (section, missing)


def _address(file: Path, page: Path) -> str:
    """Return the address of a file as a page sees it."""
    return quote(Path(os.path.relpath(file, page.parent)).as_posix())


def gather_what_exists(folder: Path, partitions: Path | None = None) -> Gathered:
    """Read the existing parts of an experiment: runs are joined anew, and figures drawn from these; see `gather`."""
    try:
        name, experiment, looks = read_drawn_experiment(folder, complete=False)
    except ConfigError as error:
        return (None, [Missing(folder.name, "everything", "said", said=str(error))])
    runs_folder = experiment.runs_folder(folder)
    traces: list[tuple[Run, xr.Dataset]] = []
    missing_runs: list[tuple[Run, Explanation]] = []
    for run in experiment.runs:
        path = runs_folder / run.path
        try:
            if path.exists():
                traces.append((run, read(path, run)))
            else:
                missing_runs.append((run, _reason_of_missing_run(folder, experiment, run)))
        except netcdf.StaleResultError as error:
            missing_runs.append((run, ("said", str(error))))
    missing = [*_missing_data(experiment), *_missing_runs(experiment, missing_runs)]
    lacking = partial(Missing, experiment.title)
    if all(run.spec.mirror for run, _ in traces):
        return (None, missing)
    if len(traces) == len(experiment.runs):
        try:
            netcdf.read(folder / "results.nc")
        except netcdf.StaleResultError as error:
            reason, message = _reason_in_log(folder / "logs/aggregate.log")
            if (folder / "results.nc").exists():
                reason, message = "said", str(error)
            missing.append(lacking("file", reason, "results.nc", message))
    results = join_runs(name, experiment, traces)
    drawings, audits = {}, []
    for figure in experiment.figures:
        try:
            drawings[figure.name] = drawing.svg(results, figure, looks)
        except Exception as error:  # a kind of figure, perhaps a plug-in, may need all runs
            missing.append(lacking("figure", "not_drawn", figure.name, str(error)))
    for file, run in experiment.audits.items():
        try:
            audits.append((run, _audit(folder, file)))
        except (OSError, ValueError):
            log = folder / "logs" / AUDITS / Path(file).with_suffix(".log")
            reason, message = _reason_in_log(log)
            missing.append(lacking("audit", reason, _methods_with_budgets([run]), message))
    drawn = [figure for figure in experiment.figures if figure.name in drawings]
    experiment = experiment.model_copy(update={"figures": drawn})
    try:
        parts = _partitions(experiment, partitions)
    except netcdf.StaleResultError as error:
        parts = []
        missing.append(lacking("file", "said", "partitions", str(error)))
    return (Section(results, experiment, drawings, {}, looks, audits, parts), missing)


def gather_reference(configuration: str) -> list[Gathered]:
    """Read the reference results of a configuration's experiments; those without any are missing.

    Raises
    ------
    ValueError
        If there is no such configuration, or none of its experiments has reference results.
    """
    study = read_study(configuration)
    references = reference.load(study.experiments)
    if not references:
        raise ValueError(f"{configuration}: its experiments have no reference results")
    digests = reference.digests(references)
    return [
        (Section(references[name], experiment, looks=study.looks, digest=digests[name]), [])
        if name in references
        else (None, [Missing(experiment.title, "all_runs", "not_kept")])
        for name, experiment in study.experiments.items()
    ]


def _partitions(experiment: Experiment, folder: Path | None) -> list[list[xr.Dataset]]:
    """Read the existing partitions of an experiment's seeds; the files of one partition are in one list."""
    if folder is None:
        return []
    files = dict.fromkeys(path for run in experiment.runs for path in run.partitions)
    partitions = [netcdf.read(folder / path) for path in files if (folder / path).exists()]
    seeds = [seed for run in experiment.runs for seed in run.spec.seeds]
    partitions = [
        part.isel(seed=part["seed"].isin(seeds)) if "seed" in part.dims else part
        for part in partitions
    ]
    return [*grouped(partitions, lambda partition: partition.attrs["scheme"]).values()]


def read_audits(folder: Path) -> list[tuple[Run, Audit]]:
    """Return the attacked runs of an experiment's folder with their audits, as far as these exist."""
    if not (folder / AUDITS).is_dir():
        return []
    _, experiment, _ = read_drawn_experiment(folder, complete=False)
    return [
        (run, _audit(folder, name))
        for name, run in experiment.audits.items()
        if (folder / AUDITS / name).exists()
    ]


def _audit(folder: Path, name: str) -> Audit:
    return Audit.from_dict(read_checksummed(folder / AUDITS / name))


def _missing_data(experiment: Experiment) -> Iterator[Missing]:
    """Yield the part of the data that runs lack, as its files could not be had."""
    if missing_data := experiment.missing_data:
        yield Missing(
            experiment.title, "data", "no_files", str(missing_data), files=missing_data.files
        )


def _missing_runs(
    experiment: Experiment, missing_runs: list[tuple[Run, Explanation]]
) -> Iterator[Missing]:
    """Yield the missing runs, grouped by the reason."""
    places = collected((explanation, place) for place, (_, explanation) in enumerate(missing_runs))
    for (reason, message), places_of_reason in places.items():
        runs = [missing_runs[place][0] for place in places_of_reason]
        if len(runs) == len(experiment.runs):
            yield Missing(experiment.title, "all_runs", reason, said=message)
        else:
            yield Missing(experiment.title, "runs", reason, _methods_with_budgets(runs), message)
    for method in experiment.untuned:
        yield Missing(experiment.title, "runs", "untuned", [(method, [])])


def _methods_with_budgets(runs: Iterable[Run]) -> list[tuple[str, list[float]]]:
    """Return the labels of methods with the budgets of their runs."""
    return [*collected((run.label, run.spec.stated_budget) for run in runs).items()]


def _reason_of_missing_run(folder: Path, experiment: Experiment, run: Run) -> Explanation:
    """Return why a run is missing: by its own log, or the log of the data set or the partition that it waits for."""
    logs = folder.parent / "logs"
    prepared = _last_message(logs / "prepare" / f"{experiment.dataset_folder}.log")
    runs = experiment.runs_folder(folder)
    log = folder / "logs/time.log" if experiment.timed else runs / run.file(LOG)
    if log.exists():
        return _reason_in_log(log)
    if prepared:
        return ("no_data", prepared)
    drawn = ((logs / "partition" / path).with_suffix(".log") for path in run.partitions)
    return _reason_in_log(next(filter(_last_message, drawn), log))


def _reason_in_log(log: Path) -> Explanation:
    if not log.exists():
        return ("not_started", "")
    message = _last_message(log)
    return ("said", message) if message else ("no_message", str(log))


def _last_message(log: Path) -> str:
    """Return the last message of a log; empty if there is none."""
    text = log.read_text("utf-8", "replace") if log.exists() else ""
    _, begins, message = f"\n{text}".rpartition(f"\n{_MESSAGE}")
    return message.strip() if begins else ""
