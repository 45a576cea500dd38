"""Damage: files of a study that are damaged or incomplete, which the next call of Snakemake makes again."""

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
from admmbench.files import checksummed_json, is_whole, read_checksummed, sync, write
from admmbench.study.housekeeping import is_locked

RECORD = Path(".snakemake/admmbench_checked.json")
"""Record of checks, by path: size and times of a whole file, an empty list for a file that is to be made again."""
_MOST_NAMED = 3
# File whose time Snakemake takes for the time of its folder.
_TIMESTAMP = ".snakemake_timestamp"


def make_again(
    workflow: Any,
    files: Iterable[str],
    data: Mapping[str, str | dict[str, Any]],
    cache: str,
    partitions: Mapping[str, Callable[[], None]] = MappingProxyType({}),
) -> None:
    """Let Snakemake make damaged files again, as far as its targets need them, and name these files.

    Damaged data and partitions are made here, not by a job: all runs depend on that job, and would be made again as
    well.

    Parameters
    ----------
    workflow
        Snakemake's workflow, while Snakemake looks for the jobs to do.
    files
        Outputs of its rules.
    data
        Data sets, by the folders that they are prepared in.
    cache
        Folder for downloads.
    partitions
        Functions that draw a partition again, by file.
    """
    from snakemake.logging import logger

    damaged_files = damaged(files)
    workflow.dag.forcefiles.update(damaged_files)
    data_folders = [folder for folder in damaged(data) if Path(folder).exists()]
    partition_files = [path for path in damaged(partitions) if Path(path).exists()]
    for path in (*data_folders, *partition_files, *damaged_files[:_MOST_NAMED]):
        logger.info(
            f"{path} is incomplete, altered or of an earlier version; it is made again where it is needed."
        )
    if len(damaged_files) > _MOST_NAMED:
        logger.info(f"So are {len(damaged_files) - _MOST_NAMED} other files.")
    # Snakemake takes its lock later, so a lock is another process's.
    if workflow.executor_plugin is None or workflow.dryrun or workflow.touch or is_locked():
        return
    for target in (Path(path).resolve() for path in damaged_files):
        if _is_shared(target) and not _is_former(target):
            # Snakemake would take the damaged file from the cache again.
            target.unlink(missing_ok=True)
    makers = dict[str, Callable[[], None]]()
    for folder in data_folders:
        target = Path(folder).resolve()
        if _is_shared(target) and _is_former(target):
            # Other projects use the folder, and the present version has another place in the cache.
            continue
        downloads = os.environ.get("ADMMBENCH_CACHE", cache)
        makers[folder] = partial(_prepare, data[folder], target, downloads)
    makers |= {path: partitions[path] for path in partition_files}
    for path, make in makers.items():
        try:
            make()
        except Exception as error:  # a user's module may raise any error
            logger.warning(f"{path} cannot be made again, and jobs that read it fail: {error}")


def _is_shared(target: Path) -> bool:
    """Return whether a file is in the cache of outputs that projects share."""
    shared = os.environ.get("SNAKEMAKE_OUTPUT_CACHE")
    return bool(shared) and target.is_relative_to(Path(str(shared)).resolve())


def _is_former(path: Path) -> bool:
    """Return whether an earlier version wrote a file of results or a prepared data set, which is then no damage."""
    import h5py  # slow to import

    try:
        if path.is_dir():
            return is_of_earlier_version(path)
        with h5py.File(path):
            return is_whole(path.read_bytes()) is None
    except OSError:
        return False


def _prepare(dataset: str | dict[str, Any], folder: Path, cache: str) -> None:
    """Prepare a data set again, in a folder that keeps its age for Snakemake and exists all the time."""
    with staging(folder) as parent:
        new = Path(parent, "new")
        prepare(dataset, new, cache=cache)
        replace_data(folder, new)


def staging(folder: Path) -> tempfile.TemporaryDirectory[str]:
    """Return a temporary folder beside the folder of a prepared data set, for data that may take its place."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    return tempfile.TemporaryDirectory(".part", f".{folder.name[:50]}.", folder.parent)


def replace_data(folder: Path, new: Path) -> None:
    """Put a prepared data set in the place of another one; the folder keeps its age for Snakemake."""
    stamp = folder / _TIMESTAMP
    time_made = (stamp if stamp.exists() else folder).stat().st_mtime_ns
    (new / _TIMESTAMP).touch()
    os.utime(new / _TIMESTAMP, ns=(time_made, time_made))
    folder.rename(new.with_name("former"))
    new.rename(folder)
    sync(folder.parent)


def damaged(paths: Iterable[str]) -> list[str]:
    """Find the files that are not as they were written.

    A file is read only if its size, its time of modification or its time of status change is not on record: the time of
    status change is new even if somebody sets the time of modification back. A damaged file stays on record until it is
    whole again, as Snakemake removes the file before it makes it again, and may be killed in between.
    """
    former_states = _read_record()
    states: dict[str, list[int]] = {}
    for path in dict.fromkeys(paths):
        state, former_state = _file_state(path), former_states.get(path)
        if state or former_state == []:
            states[path] = (
                state if state and (state == former_state or _is_whole(Path(path))) else []
            )
    if any(former_states.get(path) != state for path, state in states.items()):
        _write_record({**former_states, **states})
    return [path for path, state in states.items() if not state]


def found_damaged() -> set[str]:
    """Return the files that were damaged at their last check, and were not made since."""
    return {path for path, state in _read_record().items() if not state}


def read_all_again() -> None:
    """Let the next call read all files, as a job failed, perhaps because a disk lost data without a trace."""
    _write_record({path: state for path, state in _read_record().items() if not state})


def _read_record() -> dict[str, list[int]]:
    try:
        return read_checksummed(RECORD)
    except ValueError:
        return {}


def _write_record(states: Mapping[str, list[int]]) -> None:
    with contextlib.suppress(OSError):
        write(RECORD, checksummed_json(states))


def _file_state(path: str) -> list[int]:
    """Return size and times of a file, or of the files of a folder; an empty list if it does not exist."""
    try:
        files = sorted(os.scandir(path), key=lambda entry: entry.name)
        states = [file.stat() for file in files]
    except NotADirectoryError:
        states = [os.stat(path)]
    except OSError:
        states = []
    return [x for state in states for x in (state.st_size, state.st_mtime_ns, state.st_ctime_ns)]


def _is_whole(path: Path) -> bool:
    try:
        if path.is_dir():
            open_prepared(path)
            return True
        return bool(is_whole(path.read_bytes()))
    except (OSError, DatasetError):
        return False
