"""The prepared form of a data set: one folder of NumPy arrays and a `dataset.json`.

The same content always gives the same bytes. A folder appears by a rename, complete or not at all.
"""

import hashlib
import json
import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from admmbench.datasets._base import Arrays, Attribute, Dataset, DatasetInfo, Facts
from admmbench.datasets._checks import ARRAYS, check_arrays
from admmbench.datasets._fetch import DatasetError
from admmbench.files import sealed_json, unsealed

__all__ = ["FORMAT_VERSION", "open_prepared", "write_prepared"]

#: Raise it when the meaning of the files changes: older copies are then prepared again.
FORMAT_VERSION = 4
METADATA = "dataset.json"


def write_prepared(
    directory: str | os.PathLike[str], info: DatasetInfo, arrays: Arrays, key: str = ""
) -> None:
    """Check the arrays of a data set and write them to a folder in one step.

    Parameters
    ----------
    directory
        Replaced if it is empty or holds a prepared data set.
    info
        Facts of the data set.
    arrays
        Its arrays.
    key
        Digest of what determines them.

    Raises
    ------
    DatasetError
        If the arrays are not as described, the folder cannot be written, or it holds other things.
    """
    check_arrays(info, arrays)
    try:
        with _replacing(Path(directory)) as staging:
            _write(staging, info, arrays, key)
    except OSError as error:
        raise DatasetError(f"cannot write prepared {info.name} to {directory}: {error}") from error


def open_prepared(directory: str | os.PathLike[str], *, verify: bool = False) -> Dataset:
    """Open a prepared data set; its arrays are mapped read-only, not loaded.

    Parameters
    ----------
    directory
        What `write_prepared` wrote.
    verify
        Compare the SHA-256 of every array file too, instead of only sizes, shapes and types.

    Returns
    -------
    Dataset

    Raises
    ------
    DatasetError
        If the folder is missing, incomplete, damaged, or of another format version.
    """
    folder = Path(directory)
    metadata = _read_metadata(folder)
    try:
        arrays = {
            name: _open_array(folder / f"{name}.npy", facts, verify)
            for name, facts in metadata["arrays"].items()
        }
        return Dataset(
            key=metadata["key"],
            attributes={
                name: Attribute(tuple(values), *(arrays[each] for each in _files_of(name)))
                for name, values in metadata["attributes"].items()
            },
            **{each.name: _restore(metadata[each.name]) for each in fields(Facts)},
            **{name: arrays[name] for name in ARRAYS},
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise _damaged(folder, f"{METADATA} is incomplete ({error!r})") from error


def _write(folder: Path, info: DatasetInfo, arrays: Arrays, key: str) -> None:
    metadata: dict[str, Any] = {
        "format_version": FORMAT_VERSION,
        "key": key,
        "attributes": {name: each.values for name, each in arrays.attributes.items()},
        **info.facts,
        "arrays": {},
    }
    named = {name: getattr(arrays, name) for name in ARRAYS}
    for name, attribute in arrays.attributes.items():
        named |= zip(_files_of(name), (attribute.train, attribute.test), strict=True)
    for name, array in named.items():
        path = folder / f"{name}.npy"
        np.save(path, np.ascontiguousarray(array), allow_pickle=False)
        metadata["arrays"][name] = {
            "shape": array.shape,
            "dtype": array.dtype.str,
            "bytes": path.stat().st_size,
            "sha256": _sha256(path),
        }
    text = sealed_json(metadata, indent=2, sort_keys=True, ensure_ascii=False)
    (folder / METADATA).write_text(text + "\n", encoding="utf-8")


def _files_of(attribute: str) -> tuple[str, str]:
    """Names of the files of an attribute, training and test part."""
    return f"attribute_{attribute}_train", f"attribute_{attribute}_test"


@contextmanager
def _replacing(directory: Path) -> Iterator[Path]:
    """Give a new folder to fill, which then takes the place of `directory`."""
    if directory.exists() and not (directory / METADATA).exists() and any(directory.iterdir()):
        raise DatasetError(
            f"{directory} holds other files than a prepared data set; choose another folder"
        )
    directory.parent.mkdir(parents=True, exist_ok=True)
    unique = f".{directory.name}.{uuid.uuid4().hex}"
    staging, former = (directory.with_name(unique + suffix) for suffix in (".part", ".old"))
    try:
        staging.mkdir()
        yield staging
        # A folder cannot be renamed over a filled one, so the former one steps aside.
        if directory.exists():
            directory.rename(former)
        try:
            staging.rename(directory)
        except OSError:
            if former.exists() and not directory.exists():
                former.rename(directory)
            raise
    finally:
        shutil.rmtree(staging, ignore_errors=True)
        shutil.rmtree(former, ignore_errors=True)


def _read_metadata(folder: Path) -> dict[str, Any]:
    try:
        metadata = json.loads((folder / METADATA).read_text(encoding="utf-8"))
        version = metadata["format_version"]
    except (FileNotFoundError, NotADirectoryError):
        raise _damaged(folder, f"{METADATA} is missing") from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise _damaged(folder, f"{METADATA} is unreadable ({error})") from error
    if version != FORMAT_VERSION:
        raise _damaged(folder, f"format version {version}, expected {FORMAT_VERSION}")
    try:
        return unsealed(metadata)
    except ValueError as error:
        raise _damaged(folder, f"{METADATA} is {error}") from None


def _open_array(path: Path, facts: dict[str, Any], verify: bool) -> Any:
    try:
        size = path.stat().st_size
        if size != facts["bytes"]:
            raise _damaged(path.parent, f"{path.name} has {size:,} of {facts['bytes']:,} bytes")
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise _damaged(path.parent, f"{path.name} is unreadable ({error})") from error
    if list(array.shape) != facts["shape"] or array.dtype.str != facts["dtype"]:
        raise _damaged(path.parent, f"{path.name} is {array.dtype} of shape {array.shape}")
    state = path.stat()
    if verify and _known(path, state.st_mtime_ns, state.st_ino) != facts["sha256"]:
        raise _damaged(path.parent, f"{path.name} has changed (SHA-256 differs)")
    return array


def _restore(value: Any) -> Any:
    """Give back the tuples of `class_names` and `domain`, which JSON holds as lists."""
    return tuple(value) if isinstance(value, list) else value


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


@lru_cache
def _known(path: Path, changed: int, number: int) -> str:
    """SHA-256 of a file that many runs of a process open, by its time and number."""
    return _sha256(path)


def _damaged(folder: Path, why: str) -> DatasetError:
    return DatasetError(
        f"no usable prepared data set in {folder}: {why}\n"
        "  to fix: remove the folder and prepare the data set again"
    )
