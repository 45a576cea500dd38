"""Prepared form of a data set: one folder of NumPy arrays and a `dataset.json`.

The same content always gives the same bytes. A folder appears by a rename, complete or not at all.
"""

import json
import os
import shutil
import uuid
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from admmbench.datasets._base import Arrays, Attribute, Dataset, DatasetFacts, DatasetInfo
from admmbench.datasets._checks import ARRAYS, check_arrays
from admmbench.datasets._fetch import DatasetError
from admmbench.files import DAMAGED, MADE_AGAIN, checksummed_json, hash_file, read_checksummed, sync
from admmbench.validation import checked

#: Raise it when the meaning of the files changes: older copies are then prepared again.
FORMAT_VERSION = 7
METADATA = "dataset.json"


def write_prepared(
    directory: str | os.PathLike[str], info: DatasetInfo, arrays: Arrays, key: str = ""
) -> None:
    """Check the arrays of a data set and write them, in one step, to a folder that is empty or of a prepared data set.

    Raises
    ------
    DatasetError
        If the arrays are not as described, the folder cannot be written, or it holds other things.
    """
    check_arrays(info, arrays)
    folder = Path(directory)
    # No name of a file is longer than 255 bytes.
    staging = folder.with_name(f".{folder.name[:50]}.{uuid.uuid4().hex}.part")
    try:
        if folder.is_symlink():
            raise DatasetError(
                f"{folder} is a symbolic link and not followed; name the folder itself"
            )
        if folder.exists() and not (folder / METADATA).exists() and any(folder.iterdir()):
            raise DatasetError(
                f"{folder} holds other files than a prepared data set; choose another folder"
            )
        staging.mkdir(parents=True)
        _write(staging, info, arrays, key)
        for path in (*staging.iterdir(), staging):
            sync(path)
        # A folder cannot be renamed over a filled one.
        shutil.rmtree(folder, ignore_errors=True)
        staging.rename(folder)
        sync(folder.parent)
    except OSError as error:
        raise DatasetError(f"cannot write prepared {info.name} to {folder}: {error}") from error
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def open_prepared(directory: str | os.PathLike[str]) -> Dataset:
    """Open a prepared data set whose content is as it was written; its arrays are mapped read-only, not loaded.

    Raises
    ------
    DatasetError
        If the folder is missing, incomplete, damaged, or of another format version.
    """
    folder = Path(directory)
    try:
        metadata = read_checksummed(folder / METADATA)
        if (version := metadata["format_version"]) != FORMAT_VERSION:
            raise ValueError(
                f"{folder}: format version {version}, expected {FORMAT_VERSION}; {MADE_AGAIN}"
            )
        arrays = {
            name: _open_array(folder / f"{name}.npy", checksum)
            for name, checksum in metadata["arrays"].items()
        }
    except ValueError as error:
        raise DatasetError(f"no usable prepared data set: {error}") from error
    # JSON has no tuples.
    names = metadata.keys() & {field.name for field in fields(DatasetFacts)}
    stated = {name: metadata[name] for name in names}
    facts = checked(DatasetFacts, stated, "").facts
    attributes = {
        name: Attribute(tuple(values), *(arrays[file] for file in _attribute_files(name)))
        for name, values in metadata["attributes"].items()
    }
    parts = {name: arrays[name] for name in ARRAYS}
    return Dataset(key=metadata["key"], attributes=attributes, **facts, **parts)


def is_of_earlier_version(directory: str | os.PathLike[str]) -> bool:
    """Return whether an earlier version of the suite wrote a folder, so that this version cannot use it."""
    try:
        metadata = json.loads((Path(directory) / METADATA).read_text("utf-8"))
        return bool(metadata["format_version"] < FORMAT_VERSION)
    except (OSError, ValueError, LookupError, TypeError):
        return False


def _write(folder: Path, info: DatasetInfo, arrays: Arrays, key: str) -> None:
    """Write the arrays, and the metadata with their checksums."""
    named = {name: getattr(arrays, name) for name in ARRAYS}
    for name, attribute in arrays.attributes.items():
        named |= zip(_attribute_files(name), (attribute.train, attribute.test), strict=True)
    metadata: dict[str, Any] = {
        "format_version": FORMAT_VERSION,
        "key": key,
        "attributes": {name: attribute.values for name, attribute in arrays.attributes.items()},
        **info.facts,
        "arrays": {},
    }
    for name, array in named.items():
        path = folder / f"{name}.npy"
        np.save(path, np.ascontiguousarray(array), allow_pickle=False)
        metadata["arrays"][name] = hash_file(path)
    text = checksummed_json(metadata, indent=2, sort_keys=True, ensure_ascii=False)
    (folder / METADATA).write_text(text, encoding="utf-8")


def _attribute_files(attribute: str) -> tuple[str, str]:
    """Return the names of the files of an attribute, training and test part."""
    return f"attribute_{attribute}_train", f"attribute_{attribute}_test"


def _open_array(path: Path, checksum: str) -> Any:
    """Map an array from disk; ValueError if it cannot be read, or has another checksum."""
    try:
        if hash_file(path) != checksum:
            raise ValueError(f"{path}: {DAMAGED}; {MADE_AGAIN}")
        return np.load(path, mmap_mode="r", allow_pickle=False)
    except OSError as error:
        raise ValueError(f"{path}: cannot be read: {error.strerror}; {MADE_AGAIN}") from None
