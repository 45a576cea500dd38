"""Housekeeping: files of results and data that no study asks for are found and removed."""

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

_EXPERIMENT_FILES = (
    MANIFEST,
    FIGURES,
    "results.nc",
    *(f"figures/*.{suffix}" for suffix in FORMATS),
    "logs/*.log",
)
# Patterns with a place for the name of the audit, without suffix.
_AUDIT_FILES = (f"{AUDITS}/{{}}.json", f"logs/{AUDITS}/{{}}.log")
# Folders of a cache: data sets as studies and Python prepare them, downloads, and partitions.
_CACHE_FOLDERS = ("datasets", "prepared", "files", "partitions")
# Files that a killed process was writing. A file younger than an hour may belong to a living process.
_UNFINISHED = re.compile(r"\..+\.(tmp|part|old)")
_HOUR = 3600.0


class BusyError(RuntimeError):
    """Refusal to work in a folder in which Snakemake is at work."""


def leftovers(studies: Iterable[Study]) -> list[Path]:
    """Find files that none of the given studies asks for.

    Only files that the workflow makes are considered, by their place and name: files of runs, of whole experiments, and
    of partitions, and folders of prepared data; besides these, files that killed processes left unfinished more than an
    hour ago, also in the user's cache.

    Returns
    -------
    Files, and folders of prepared data, in order.
    """
    studies = list(studies)
    unclaimed: set[Path] = set()
    results = {Path(study.config.results) for study in studies}
    caches = {Path(study.config.data.cache) for study in studies}
    for folder in results:
        unclaimed.update(_files_of_results(folder))
    for folder in caches:
        prepared = (path.parent for path in folder.glob("datasets/*/dataset.json"))
        unclaimed.update(path for path in prepared if not _UNFINISHED.fullmatch(path.name))
        unclaimed.update(files_of_partitions(folder / "partitions"))
    parts = (cache / part for cache in {*caches, cache_folder()} for part in _CACHE_FOLDERS)
    for path in itertools.chain(*(folder.rglob(".*") for folder in (*results, *parts))):
        if _UNFINISHED.fullmatch(path.name) and time.time() - path.stat().st_mtime > _HOUR:
            unclaimed.add(path)
    for study in studies:
        unclaimed.difference_update(_requested_files(study))
    return sorted(unclaimed)


def _files_of_results(results: Path) -> Iterator[Path]:
    for runs in (results / "runs", *results.glob("*/runs")):
        yield from files_of_runs(runs)
    patterns = (*_EXPERIMENT_FILES, *(template.format("*") for template in _AUDIT_FILES))
    for experiment in results.iterdir() if results.exists() else ():
        if (experiment / MANIFEST).exists() or (experiment / "runs").exists():
            for pattern in patterns:
                yield from experiment.glob(pattern)


def _requested_files(study: Study) -> Iterator[Path]:
    results, datasets = Path(study.config.results), Path(study.config.data.cache) / "datasets"
    for name, experiment in study.experiments.items():
        runs = study.runs_folder(name)
        for run in experiment.runs:
            yield from (runs / run.file(pattern) for pattern in (RESULT, LOG, BENCHMARK))
            yield runs / run.checkpoint
        for pattern in _EXPERIMENT_FILES:
            yield from (results / name).glob(pattern)
        for audit, pattern in itertools.product(experiment.audits, _AUDIT_FILES):
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
    """Delete files and folders, and folders that are empty then.

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
