"""Files of a study that are damaged, or were not made in whole: the next call of Snakemake makes them again."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

from admmbench.datasets import DatasetError, is_of_earlier_version, open_prepared, prepare
from admmbench.files import is_whole, read_sealed, sealed_json, sync, write
from admmbench.study.housekeeping import is_locked

RECORD = Path(".snakemake/admmbench_checked.json")
"""What was checked, by path: size and times of a file that is whole, nothing of one that is to be made again."""
_NAMED = 3
# By its time Snakemake tells how old a folder is.
_STAMP = ".snakemake_timestamp"


def make_again(
    workflow: Any,
    files: Iterable[str],
    data: Mapping[str, str | dict[str, Any]],
    cache: str,
    partitions: Mapping[str, Callable[[], None]] = MappingProxyType({}),
) -> None:
    """Let Snakemake make damaged files again, as far as its targets need them, and say which.

    Damaged data and partitions are made here, not by a job: all runs depend on that job, and would be made again as
    well.

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
    partitions
        What draws partitions again, by file.
    """
    from snakemake.logging import logger

    again = damaged(files)
    workflow.dag.forcefiles.update(again)
    folders = [folder for folder in damaged(data) if Path(folder).exists()]
    drawn = [path for path in damaged(partitions) if Path(path).exists()]
    for path in (*folders, *drawn, *again[:_NAMED]):
        logger.info(
            f"{path} is incomplete, altered or of an earlier version; it is made again where it is needed."
        )
    if len(again) > _NAMED:
        logger.info(f"So are {len(again) - _NAMED} other files.")
    # Snakemake takes its lock later.
    if workflow.executor_plugin is None or workflow.dryrun or workflow.touch or is_locked():
        return
    for target in (Path(path).resolve() for path in again):
        if _is_shared(target) and not _is_former(target):
            target.unlink(missing_ok=True)  # else Snakemake takes it from there again
    made = dict[str, Callable[[], None]]()
    for folder in folders:
        target = Path(folder).resolve()
        if _is_shared(target) and _is_former(target):
            continue  # others use it; the present version has another place in the cache
        downloads = os.environ.get("ADMMBENCH_CACHE", cache)
        made[folder] = partial(_prepare, data[folder], target, downloads)
    made |= {path: partitions[path] for path in drawn}
    for path, make in made.items():
        try:
            make()
        except Exception as error:  # as of a user's module
            logger.warning(f"{path} cannot be made again, and jobs that read it fail: {error}")


def _is_shared(target: Path) -> bool:
    """Whether a file is in the cache of outputs that projects share."""
    shared = os.environ.get("SNAKEMAKE_OUTPUT_CACHE")
    return bool(shared) and target.is_relative_to(Path(str(shared)).resolve())


def _is_former(path: Path) -> bool:
    """Whether an earlier version wrote a file of results or a prepared data set: it is whole, but not for this one."""
    import h5py  # slow to import

    try:
        if path.is_dir():
            return is_of_earlier_version(path)
        with h5py.File(path):
            return is_whole(path.read_bytes()) is None
    except OSError:
        return False


def _prepare(dataset: str | dict[str, Any], folder: Path, cache: str) -> None:
    """Prepare a data set again, in a folder that is for Snakemake as old as before, and is there all the time."""
    with staging(folder) as beside:
        new = Path(beside, "new")
        prepare(dataset, new, cache=cache)
        replace_data(folder, new)


def staging(folder: Path) -> tempfile.TemporaryDirectory[str]:
    """Return a folder beside that of a prepared data set, for another one that may take its place."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    return tempfile.TemporaryDirectory(".part", f".{folder.name[:50]}.", folder.parent)


def replace_data(folder: Path, new: Path) -> None:
    """Put a prepared data set in the place of another one, which is for Snakemake as old as before."""
    stamp = folder / _STAMP
    made = (stamp if stamp.exists() else folder).stat().st_mtime_ns
    (new / _STAMP).touch()
    os.utime(new / _STAMP, ns=(made, made))
    folder.rename(new.with_name("former"))
    new.rename(folder)
    sync(folder.parent)


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


def found_damaged() -> set[str]:
    """Return the files that were damaged when they were last looked at, and were not made since."""
    return {path for path, state in _known().items() if not state}


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
