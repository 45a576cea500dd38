"""The data sets by name, and what users call: list, describe, prepare, load."""

import hashlib
import json
import os
import sys
from collections.abc import Mapping
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from types import ModuleType
from typing import Any

from filelock import FileLock

from admmbench import plugins
from admmbench.datasets import _prepared
from admmbench.datasets._base import Dataset, DatasetDefinition, DatasetInfo
from admmbench.datasets._fetch import DatasetError, fetch
from admmbench.files import cache_folder
from admmbench.validation import suggestion, unknown

__all__ = [
    "describe",
    "find_module",
    "is_built_in",
    "list_datasets",
    "load_dataset",
    "normalize",
    "prepare",
]

Spec = str | Mapping[str, Any] | Dataset

_DATASETS = plugins.Registry(
    kind="data set",
    package="admmbench.datasets",
    group="admmbench.datasets",
    built_in=(
        *("a9a", "adult", "adult_a", "adult_b", "breast_cancer_wisconsin", "diabetes", "digits"),
        *("femnist", "gisette", "gisette_like", "mnist", "monks1", "synthetic_qp"),
    ),
    base=DatasetDefinition,  # type: ignore[type-abstract]
)
# Of files, by the names that their classes state: from then on the name will do.
_LOADED: dict[str, DatasetDefinition] = {}


def list_datasets() -> list[str]:
    """Return the names of all data sets, sorted."""
    return sorted({*_DATASETS.names(), *_LOADED})


def find_module(name: str) -> ModuleType:
    """Module that defines a data set, by its name or the path of a file ending in ``.py``.

    Raises
    ------
    ValueError
        If there is none; the message gives the nearest name.
    """
    return sys.modules[type(_definition(name)).__module__]


def normalize(spec: Spec) -> dict[str, Any]:
    """Return a specification with every setting filled in, validated and in canonical form.

    Parameters
    ----------
    spec
        A name, ``{"name": ..., **settings}``, or a loaded data set.

    Returns
    -------
    dict
        ``{"name": ..., **settings}``; equal for specifications that mean the same.

    Raises
    ------
    ValueError
        On an unknown name or setting (naming the nearest valid one) or a value not admissible.
    TypeError
        If `spec` is something else.
    """
    if isinstance(spec, Dataset):
        return {"name": spec.name, **spec.settings}
    if isinstance(spec, str):
        spec = {"name": spec}
    if not isinstance(spec, Mapping):
        raise TypeError(f"a data set is a name, a mapping or a Dataset, not {spec!r}")
    if "name" not in spec:
        raise ValueError(f"the data set {dict(spec)!r} lacks the key 'name'")
    settings = dict(spec)
    name = settings.pop("name")
    if not isinstance(name, str):
        raise ValueError(f"dataset: name: expected the name of a data set, got {name!r}")
    definition = _definition(name)
    for key in settings:
        if key not in definition.defaults:
            near = suggestion(key, definition.defaults) or "; it takes no settings"
            raise ValueError(f"data set {definition.name!r} has no setting {key!r}{near}")
    return {"name": definition.name, **definition.validate({**definition.defaults, **settings})}


def is_built_in(spec: Spec) -> bool:
    """Whether the suite answers for the domain of a data set: its module is built in, and states this domain."""
    name, *_ = normalize(spec).values()
    if name not in _DATASETS.built_in:
        return False
    return not isinstance(spec, Dataset) or spec.domain == describe(normalize(spec)).domain


def describe(spec: Spec) -> DatasetInfo:
    """Return the static facts of a data set; reads no data and needs no network.

    Parameters
    ----------
    spec
        See `normalize`, also for the errors.

    Returns
    -------
    DatasetInfo
    """
    if isinstance(spec, Dataset):  # perhaps one that the user made
        return spec.info
    settings = normalize(spec)
    return _definition(settings.pop("name")).describe(settings)


def prepare(
    spec: Spec,
    directory: str | os.PathLike[str],
    *,
    mirror: str | os.PathLike[str] | None = None,
    cache: str | os.PathLike[str] | None = None,
    progress: bool = True,
) -> None:
    """Fetch and parse a data set and write its prepared form, complete or not at all.

    Parameters
    ----------
    spec
        See `normalize`.
    directory
        Folder to write; replaced if it holds a prepared data set.
    mirror, cache, progress
        See `load_dataset`.

    Raises
    ------
    DatasetError
        If a file cannot be had or is wrong, or `directory` cannot be written.
    """
    info = describe(spec)
    definition = _definition(info.name)
    paths = fetch(
        info.files, mirror=mirror, cache=cache, progress=progress, advise=definition.advise
    )
    _prepared.write_prepared(directory, info, definition.read(info, paths))


def load_dataset(
    spec: Spec,
    *,
    mirror: str | os.PathLike[str] | None = None,
    cache: str | os.PathLike[str] | None = None,
    progress: bool = True,
) -> Dataset:
    """Load a data set, prepared on first use and kept in the cache.

    Parameters
    ----------
    spec
        See `normalize`. A loaded data set is returned as it is.
    mirror
        Folder with source files, looked up before the network; default: the environment variable
        ``ADMMBENCH_MIRROR``.
    cache
        Folder for downloads and prepared data sets; default: the environment variable
        ``ADMMBENCH_CACHE``, else the user's cache folder.
    progress
        Show downloads on standard error.

    Returns
    -------
    Dataset

    Raises
    ------
    DatasetError
        If a file cannot be had or is wrong, or the cache cannot be written.

    Examples
    --------
    >>> from admmbench.datasets import load_dataset
    >>> load_dataset("digits")
    <Dataset digits: 1437 + 360 rows, 64 features, 10 classes>
    """
    if isinstance(spec, Dataset):
        return spec
    info = describe(spec)
    directory = cache_folder(cache) / "prepared" / f"{info.name}-{_key(info)}"
    with suppress(DatasetError):
        return _prepared.open_prepared(directory, verify=True)
    with _lock(directory):
        with suppress(DatasetError):  # another process may have prepared it meanwhile
            return _prepared.open_prepared(directory, verify=True)
        prepare(spec, directory, mirror=mirror, cache=cache, progress=progress)
        return _prepared.open_prepared(directory, verify=True)


def _definition(name: Any) -> DatasetDefinition:
    if name in _LOADED:
        return _LOADED[name]
    if str(name).endswith(".py"):
        found = _DATASETS.resolve(str(name))()
        if found.name in _DATASETS.built_in:
            raise ValueError(f"{name}: there is already a data set {found.name!r}")
        _LOADED[found.name] = found
        return found
    if name not in _DATASETS.built_in and name not in list_datasets():
        raise ValueError(unknown("data set", name, list_datasets()))
    return _DATASETS.resolve(name)()


def _key(info: DatasetInfo) -> str:
    """Return a short hash of all that determines the prepared bytes."""
    content = [_prepared.FORMAT_VERSION, info.settings, info.checksums]
    module = find_module(info.name)
    if not module.__name__.startswith("admmbench.") and module.__file__:
        content.append(Path(module.__file__).read_text("utf-8"))  # its author may be at work on it
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:12]


def _lock(directory: Path) -> AbstractContextManager[Any]:
    """Let one process at a time prepare a folder: none replaces what another just opened."""
    try:
        directory.parent.mkdir(parents=True, exist_ok=True)
        return FileLock(directory.with_name(f".{directory.name}.lock")).acquire()
    except OSError as error:
        raise DatasetError(
            f"cannot write to the cache {directory.parent}: {error}\n"
            "  to fix: name a writable folder by ADMMBENCH_CACHE (config key data.cache)"
        ) from error
