"""Results and prepared data that no configuration asks for, and their removal."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from admmbench import compiled
from admmbench.config import Study

# Files of a run, below the experiment's folder and that of the method.
_OF_A_RUN = {"runs": ".nc", "logs": ".log", "benchmarks": ".tsv", "checkpoints": ""}
_OF_AN_EXPERIMENT = ("results.nc", "figures/*.svg", "figures/*.pdf", "logs/*.log")
_POINT = re.compile(r"epsilon=[^/+]+\+rounds=\d+\+seeds=\d+-\d+(_\d+-\d+)*")
# What a killed process was writing; younger ones may belong to a living one.
_UNFINISHED = re.compile(r"\..+\.(tmp|part|old)")
_HOUR = 3600.0
_MONTH = 30 * 24 * _HOUR


class BusyError(RuntimeError):
    """Snakemake is at work in this folder."""


def leftovers(studies: Iterable[Study]) -> list[Path]:
    """Find what none of some studies asks for.

    Only files that the workflow makes are looked at, by their place and name: those of runs, of whole experiments, and
    folders of prepared data, besides what killed processes left unfinished more than an hour ago, and code that was
    compiled more than a month ago.

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
    for results in {Path(study.config.results) for study in studies}:
        found.update(_of_results(results))
    for cache in {Path(study.config.data.cache) for study in studies}:
        found.update(_of_data(cache / "datasets"))
        found.update(_compiled(cache / "kernels"))
    found.update(_compiled(compiled.kernels()))
    for study in studies:
        found.difference_update(_asked(study))
    return sorted(found)


def _of_results(results: Path) -> Iterator[Path]:
    for experiment in results.iterdir() if results.exists() else ():
        for kind, suffix in _OF_A_RUN.items():
            for path in experiment.glob(f"{kind}/*/*"):
                if _POINT.fullmatch(path.name.removesuffix(suffix)) or _unfinished(path):
                    yield path
        if (experiment / "runs").exists():
            for pattern in _OF_AN_EXPERIMENT:
                yield from experiment.glob(pattern)


def _of_data(folder: Path) -> Iterator[Path]:
    for path in folder.iterdir() if folder.exists() else ():
        if (path / "dataset.json").exists() or _unfinished(path):
            yield path


def _compiled(folder: Path) -> Iterator[Path]:
    """Code that was compiled more than a month ago: what is still in use is made again in seconds."""
    for path in (*folder.glob("*kernel_*.*"), *folder.glob("__pycache__/kernel_*")):
        if _unfinished(path) or time.time() - path.stat().st_mtime > _MONTH:
            yield path


def _unfinished(path: Path) -> bool:
    return bool(_UNFINISHED.fullmatch(path.name)) and time.time() - path.stat().st_mtime > _HOUR


def _asked(study: Study) -> Iterator[Path]:
    results, datasets = Path(study.config.results), Path(study.config.data.cache) / "datasets"
    for name, experiment in study.experiments.items():
        folder = results / name
        for run in experiment.runs:
            for kind, suffix in _OF_A_RUN.items():
                yield folder / kind / run.method.slug / f"{run.point}{suffix}"
        for pattern in _OF_AN_EXPERIMENT:
            yield from folder.glob(pattern)
    yield from (datasets / name for name in study.datasets)


def size(path: Path) -> int:
    """Bytes of a file, or of the files of a folder."""
    files = path.rglob("*") if path.is_dir() and not path.is_symlink() else [path]
    return sum(file.lstat().st_size for file in files if not file.is_dir())


def remove(paths: Iterable[Path], workdir: Path = Path()) -> None:
    """Delete files and folders, and the folders that this empties.

    Raises
    ------
    BusyError
        If Snakemake holds its lock in the working directory; nothing is deleted.
    """
    if any(workdir.glob(".snakemake/locks/*")):
        raise BusyError(
            "Snakemake is running in this folder: nothing was removed; wait for its end, or call "
            "`snakemake --unlock` if it was killed"
        )
    for path in paths:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
            continue
        path.unlink()
        for folder in list(path.parents)[:2]:
            if any(folder.iterdir()):
                break
            folder.rmdir()
