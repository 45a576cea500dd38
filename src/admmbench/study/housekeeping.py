"""Files in the folders of results and data that no study asks for: how they are found and removed."""

from __future__ import annotations

import itertools
import re
import shutil
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from admmbench.figures.base import FORMATS
from admmbench.files import cache_folder
from admmbench.study.address import BENCHMARK, LOG, RESULT, files_of_partitions, files_of_runs
from admmbench.study.config import AUDITS, FIGURES, MANIFEST, Study

_OF_AN_EXPERIMENT = (
    MANIFEST,
    FIGURES,
    "results.nc",
    *(f"figures/*.{suffix}" for suffix in FORMATS),
    "logs/*.log",
)
# By the name of the audit, without suffix.
_OF_AN_AUDIT = (f"{AUDITS}/{{}}.json", f"logs/{AUDITS}/{{}}.log")
# Folders of data: as studies and Python prepare them, and what was downloaded.
_OF_A_CACHE = ("datasets", "prepared", "files", "partitions")
# What a killed process was writing; younger ones may belong to a living one.
_UNFINISHED = re.compile(r"\..+\.(tmp|part|old)")
_HOUR = 3600.0


class BusyError(RuntimeError):
    """Snakemake is at work in this folder."""


def leftovers(studies: Iterable[Study]) -> list[Path]:
    """Find files that none of the given studies asks for.

    Only files that the workflow makes are looked at, by their place and name: those of runs, of whole experiments, and
    folders of prepared data, and partitions of these, besides what killed processes left unfinished more than an hour
    ago, there or in the user's cache.

    Parameters
    ----------
    studies
        All studies whose results are to stay.

    Returns
    -------
    Files, and folders of prepared data, in order.
    """
    studies = list(studies)
    found: set[Path] = set()
    results = {Path(study.config.results) for study in studies}
    caches = {Path(study.config.data.cache) for study in studies}
    for folder in results:
        found.update(_of_results(folder))
    for folder in caches:
        found.update(_of_data(folder / "datasets"))
        found.update(files_of_partitions(folder / "partitions"))
    parts = (cache / part for cache in {*caches, cache_folder()} for part in _OF_A_CACHE)
    for folder in (*results, *parts):
        found.update(path for path in folder.rglob(".*") if _unfinished(path))
    for study in studies:
        found.difference_update(_asked(study))
    return sorted(found)


def _of_results(results: Path) -> Iterator[Path]:
    for runs in (results / "runs", *results.glob("*/runs")):
        yield from files_of_runs(runs)
    for experiment in results.iterdir() if results.exists() else ():
        if (experiment / MANIFEST).exists() or (experiment / "runs").exists():
            for pattern in (*_OF_AN_EXPERIMENT, *(each.format("*") for each in _OF_AN_AUDIT)):
                yield from experiment.glob(pattern)


def _of_data(folder: Path) -> Iterator[Path]:
    for path in folder.iterdir() if folder.exists() else ():
        if (path / "dataset.json").exists() and not _UNFINISHED.fullmatch(path.name):
            yield path


def _unfinished(path: Path) -> bool:
    return bool(_UNFINISHED.fullmatch(path.name)) and time.time() - path.stat().st_mtime > _HOUR


def _asked(study: Study) -> Iterator[Path]:
    results, datasets = Path(study.config.results), Path(study.config.data.cache) / "datasets"
    for name, experiment in study.experiments.items():
        runs = study.runs_folder(name)
        for run in experiment.runs:
            yield from (runs / run.address.file(pattern) for pattern in (RESULT, LOG, BENCHMARK))
            yield runs / run.checkpoint
        for pattern in _OF_AN_EXPERIMENT:
            yield from (results / name).glob(pattern)
        for audit, pattern in itertools.product(experiment.audits, _OF_AN_AUDIT):
            yield results / name / pattern.format(audit.removesuffix(".json"))
    yield from (datasets / name for name in study.datasets)
    yield from (datasets.parent / "partitions" / path for path in study.partitions)


def size(path: Path) -> int:
    """Count the bytes of a file, or of the files of a folder."""
    files = path.rglob("*") if path.is_dir() and not path.is_symlink() else [path]
    return sum(file.lstat().st_size for file in files if not file.is_dir())


def is_locked() -> bool:
    """Return whether Snakemake works in this folder."""
    return any(Path(".snakemake/locks").glob("*"))


def refuse_busy(outcome: str) -> None:
    """Raise a `BusyError`, which states the outcome, if Snakemake works in this folder."""
    if is_locked():
        raise BusyError(
            f"Snakemake is running in this folder: {outcome}; wait for its end, or call "
            "`snakemake --unlock` if it was killed"
        )


def remove(paths: Iterable[Path]) -> None:
    """Delete files and folders, and the folders that this empties.

    Raises
    ------
    BusyError
        If Snakemake works in this folder; nothing is deleted.
    """
    refuse_busy("nothing was removed")
    for path in paths:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
            continue
        path.unlink()
        for folder in list(path.parents)[:4]:
            if any(folder.iterdir()):
                break
            folder.rmdir()
