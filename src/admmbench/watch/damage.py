"""Files of a study that are damaged, or were not made in whole: the next call of Snakemake makes them again."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from admmbench.datasets import DatasetError, open_prepared, prepare
from admmbench.files import is_whole, read_sealed, sealed_json, write

RECORD = Path(".snakemake/admmbench_checked.json")
"""What was checked, by path: size and times of a file that is whole, nothing of one that is to be made again."""
_NAMED = 3


def make_again(
    workflow: Any, files: Iterable[str], data: Mapping[str, str | dict[str, Any]], cache: str
) -> None:
    """Let Snakemake make damaged files again, as far as its targets need them, and say which.

    Damaged data are prepared here, not by a job: all runs depend on that job, and would be made again as well.

    Parameters
    ----------
    workflow
        Snakemake's, while it looks for the jobs to do.
    files
        Outputs of its rules.
    data
        Data sets, by the folders that they are prepared in.
    cache
        Folder for downloads.
    """
    from snakemake.logging import logger

    again = damaged(files)
    workflow.dag.forcefiles.update(again)
    folders = [folder for folder in damaged(data) if Path(folder).exists()]
    for path in (*folders, *again[:_NAMED]):
        logger.info(f"{path} is incomplete, altered or of an earlier version: it is made again.")
    if len(again) > _NAMED:
        logger.info(f"So are {len(again) - _NAMED} other files.")
    if workflow.executor_plugin is None or workflow.dryrun or workflow.touch:
        return
    shared = os.environ.get("SNAKEMAKE_OUTPUT_CACHE")
    for target in (Path(path).resolve() for path in again if shared):
        if target.is_relative_to(Path(str(shared)).resolve()):
            target.unlink(missing_ok=True)  # else Snakemake takes it from there again
    for folder in folders:
        try:
            _prepare(data[folder], Path(folder).resolve(), os.environ.get("ADMMBENCH_CACHE", cache))
        except DatasetError:  # the job says why
            workflow.dag.forcefiles.add(folder)


def _prepare(dataset: str | dict[str, Any], folder: Path, cache: str) -> None:
    """Prepare a data set again, in a folder that is for Snakemake as old as before."""
    stamp = folder / ".snakemake_timestamp"
    made = (stamp if stamp.exists() else folder).stat().st_mtime_ns
    prepare(dataset, folder, cache=cache)
    stamp.touch()
    os.utime(stamp, ns=(made, made))


def damaged(paths: Iterable[str]) -> list[str]:
    """Find the files that are not as they were written.

    A file is read only if its size, its time of modification or its time of status change is not on record: the last
    one changes even if somebody sets the other back. What is damaged stays on record until it is whole again, as
    Snakemake removes it before it makes it, and may be killed in between.
    """
    known = _known()
    found: dict[str, list[int]] = {}
    for path in dict.fromkeys(paths):
        state, former = _state(path), known.get(path)
        if state or former == []:
            found[path] = state if state and (state == former or _is_whole(Path(path))) else []
    if any(known.get(path) != state for path, state in found.items()):
        _keep({**known, **found})
    return [path for path, state in found.items() if not state]


def read_all_again() -> None:
    """Let the next call read all files, as a job failed: perhaps of a disk that lost something without a trace."""
    _keep({path: state for path, state in _known().items() if not state})


def _known() -> dict[str, list[int]]:
    try:
        return read_sealed(RECORD)
    except ValueError:
        return {}


def _keep(known: Mapping[str, list[int]]) -> None:
    with contextlib.suppress(OSError):
        write(RECORD, sealed_json(known))


def _state(path: str) -> list[int]:
    """Return size and times of a file, or of the files of a folder; nothing if it is not there."""
    try:
        files = sorted(os.scandir(path), key=lambda each: each.name)
        states = [each.stat() for each in files]
    except NotADirectoryError:
        states = [os.stat(path)]
    except OSError:
        states = []
    return [x for each in states for x in (each.st_size, each.st_mtime_ns, each.st_ctime_ns)]


def _is_whole(path: Path) -> bool:
    try:
        if path.is_dir():
            open_prepared(path)
            return True
        return bool(is_whole(path.read_bytes()))
    except (OSError, DatasetError):
        return False
