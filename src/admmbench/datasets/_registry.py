"""Data sets by name, and the functions that users call: list, describe, prepare, load."""

import json
import os
from collections.abc import Collection, Mapping
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Any

from filelock import FileLock

from admmbench import plugins
from admmbench.datasets import _prepared
from admmbench.datasets._base import Dataset, DatasetDefinition, DatasetInfo, check_name
from admmbench.datasets._checks import check_description
from admmbench.datasets._features import WithFeatures
from admmbench.datasets._fetch import DatasetError, checksum, fetch, find_absent, is_served
from admmbench.files import cache_folder, digest, has_checksum, hash_file
from admmbench.validation import suggestion, unknown

Spec = str | Mapping[str, Any] | Dataset

_DATASETS = plugins.Registry(
    kind="data set",
    package="admmbench.datasets",
    group="admmbench.datasets",
    base=DatasetDefinition,  # type: ignore[type-abstract]
)
find_module = _DATASETS.find_module


def list_datasets() -> list[str]:
    """Return the names of all data sets, sorted."""
    return _DATASETS.names()


def is_foreign(name: str) -> bool:
    """Return whether a data set comes from outside the package."""
    return name not in _DATASETS.built_in


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
        if key not in (known := [*definition.defaults, "features"]):
            near = suggestion(key, known)
            raise ValueError(f"data set {definition.name!r} has no setting {key!r}{near}")
    with plugins.explained(f"data set {name!r}: validate() raised", ValueError):
        complete = definition.validate({**definition.defaults, **settings})
    return {"name": name, **_plain(complete, name)}


def _plain(settings: Any, name: str) -> dict[str, Any]:
    """Return settings in the types of JSON: numbers and lists of Python."""
    try:
        plain = json.loads(json.dumps(settings, default=lambda value: value.tolist()))
    except (TypeError, ValueError, AttributeError):
        plain = None
    if not isinstance(plain, dict):
        raise ValueError(
            f"data set {name!r}: the settings {settings!r} are no mapping of JSON values"
        )
    return plain


def is_built_in(spec: Spec) -> bool:
    """Return whether the suite answers for a data set's domain: its module is built in, and states this domain."""
    name, *_ = normalize(spec).values()
    if name not in _DATASETS.built_in:
        return False
    if not isinstance(spec, Dataset):
        return True
    stated = normalize(spec)
    try:
        return spec.key == key(stated) and spec.domain == describe(stated).domain
    except ValueError:  # a table that is there no longer
        return False


def identity(spec: Spec) -> dict[str, Any]:
    """Return a specification for comparing: the content of a user's files counts, and not their place."""
    complete = normalize(spec)
    if complete["name"] not in _DATASETS.built_in:
        return complete
    settings = {key: value for key, value in complete.items() if key != "name"}
    identifying = _definition(complete["name"]).identity(settings)
    if identifying == settings:
        return complete
    return {"name": complete["name"], **identifying, "checksums": describe(spec).checksums}


def are_arrays(spec: object) -> bool:
    """Return whether a specification is arrays, such as a pair or a Bunch, and no name, settings or data set."""
    if isinstance(spec, Mapping):
        return "data" in spec
    return not isinstance(spec, str | Dataset)


def describe(spec: Spec) -> DatasetInfo:
    """Return the static facts of a data set, see `normalize` for errors; reads no data and needs no network."""
    if isinstance(spec, Dataset):  # perhaps one that the user made
        return spec.info
    settings = normalize(spec)
    name = settings.pop("name")
    definition = _definition(name)
    with plugins.explained(f"data set {name!r}: describe() raised"):
        info = definition.describe(dict(settings))
    try:
        return check_description(info, definition, settings)
    except ValueError as error:
        raise ValueError(f"data set {name!r}: {error}") from None


def key(spec: Spec) -> str:
    """Hash all that determines the arrays of a data set, including its source.

    Parameters
    ----------
    spec
        See `normalize`, also for the errors.

    Raises
    ------
    DatasetError
        If a file beside a plug-in has another checksum than is stated, see `compare_stated`.
    """
    if isinstance(spec, Dataset):
        return spec.key
    name, info = normalize(spec)["name"], describe(spec)
    content = [info.name, _definition(name).identity(info.settings), info.checksums]
    if is_foreign(name):  # its author may be at work on it, and others may take its name
        compare_stated(spec)
        files = [hash_file(file) for file in files_beside(spec)]
        path = Path(str(find_module(name).__file__))
        content += [plugins.meaning(path.read_bytes()), files]
    return digest(content)[:12]


def open_as(spec: Spec, directory: str | os.PathLike[str]) -> Dataset:
    """Open the folder that `prepare` wrote of a data set; DatasetError if it holds another one, or is damaged."""
    dataset, info = _prepared.open_prepared(directory), describe(spec)
    if dataset.key == key(spec):
        return dataset
    theirs, ours = ({"name": facts.name, **facts.settings} for facts in (dataset, info))
    how = f"{theirs}, not {ours}" if theirs != ours else f"{dataset.name!r} of another definition"
    raise DatasetError(
        f"{directory} holds {how}: name its own folder, or prepare it with `admmbench prepare`"
    )


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
    info, name = describe(spec), normalize(spec)["name"]
    definition = _definition(name)
    paths = fetch(info.files, mirror=mirror, cache=cache, progress=progress)
    with plugins.explained(f"data set {name!r}: read() raised", DatasetError):
        arrays = definition.read(info, paths)
    try:
        _prepared.write_prepared(directory, info, arrays, key(spec))
    except DatasetError as error:
        raise DatasetError(f"{name}: {error}" if is_foreign(name) else str(error)) from None


def missing_files(
    spec: Spec,
    *,
    mirror: str | os.PathLike[str] | None = None,
    cache: str | os.PathLike[str] | None = None,
) -> list[str]:
    """Name the files of a data set that nobody can get, where the others make a smaller data set.

    If one download fails, all files count as missing that are neither cached nor mirrored. A data set that is all or
    nothing causes no request to the network.
    """
    absent = find_absent(describe(spec).files, mirror=mirror, cache=cache)
    names = [file.name for file in absent]
    return names if names and without(spec, names) and not is_served(absent[0]) else []


def without(spec: Spec, missing: Collection[str]) -> dict[str, Any] | None:
    """Return the specification of the part of a data set that needs none of the missing files; None without a part."""
    settings = normalize(spec)
    name = settings.pop("name")
    with plugins.explained(f"data set {name!r}: without() raised"):
        left = _definition(name).without(settings, missing)
    return None if left is None else normalize({"name": name, **left})


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
    name = f"{info.name}-{key(spec)}-{_prepared.FORMAT_VERSION}"
    directory = cache_folder(cache) / "prepared" / name
    with suppress(DatasetError):
        return _prepared.open_prepared(directory)
    with _lock(directory):
        with suppress(DatasetError):  # another process may have prepared it meanwhile
            return _prepared.open_prepared(directory)
        prepare(spec, directory, mirror=mirror, cache=cache, progress=progress)
        return _prepared.open_prepared(directory)


def _definition(name: str) -> DatasetDefinition:
    """Make the definition of a data set; ValueError if there is none of this name, or it is not well formed."""
    is_file = name.endswith(".py")
    if not is_file and is_foreign(name) and name not in list_datasets():
        raise ValueError(unknown("data set", name, list_datasets()))
    cls = _DATASETS.resolve(name)
    with plugins.explained(f"data set {name!r}: {cls.__name__}() raised"):
        definition = cls()
    stated = getattr(definition, "name", None)
    try:
        check_name(stated)
    except ValueError as error:
        raise ValueError(f"data set {name!r}: name: {error}") from None
    defaults = definition.defaults
    if not (isinstance(defaults, Mapping) and all(isinstance(key, str) for key in defaults)):
        raise ValueError(f"data set {name!r}: defaults: {defaults!r} is no mapping of names")
    if is_file and stated in _DATASETS.built_in:
        raise ValueError(f"{name}: there is already a data set {stated!r}")
    if not is_file and stated != name:
        raise ValueError(f"data set {name!r}: name: its class states {stated!r}")
    return WithFeatures(definition, load_dataset, describe, key)


def files_beside(spec: Spec) -> list[Path]:
    """Find the files beside a data set's module that belong to it: named after it, or of a stated checksum.

    Modules, logs, files that the suite wrote, such as results, and files named after a module with a longer name do
    not belong to it unless their checksum is stated.
    """
    path = Path(str(find_module(normalize(spec)["name"]).__file__))
    modules = {module.stem for module in path.parent.glob(f"{path.stem}_*.py")}
    named = (
        file
        for mark in "._"
        for file in path.parent.glob(f"{path.stem}{mark}*")
        if not any(file.name.startswith((f"{other}.", f"{other}_")) for other in modules)
    )
    stated = _stated_files(spec).values()
    read = (
        file for file in named if file.is_file() and not file.suffix.startswith((".py", ".log"))
    )
    return sorted({file for file in read if not has_checksum(file)}.union(stated))


def compare_stated(spec: Spec) -> None:
    """Compare the files beside a plug-in with the checksums that it states of them.

    Raises
    ------
    DatasetError
        If a file has another checksum: the arrays that were prepared before it changed would be used on.
    """
    checksums = describe(spec).checksums
    for source, file in _stated_files(spec).items():
        stated = checksums[source]
        actual = checksum(file.read_bytes(), stated.partition(":")[0])
        if actual != stated:
            raise DatasetError(
                f"checksums: {stated!r} is not that of {file}, which is {actual!r}: state this, and compare it in "
                "read()"
            )


def _stated_files(spec: Spec) -> dict[str, Path]:
    """Find the files beside a plug-in whose checksums it states, by source."""
    name = normalize(spec)["name"]
    if not is_foreign(name):
        return {}
    folder = Path(str(find_module(name).__file__)).parent
    files = {path.name: path for path in folder.iterdir() if path.is_file()}
    return {source: files[source] for source in describe(spec).checksums if source in files}


def _lock(directory: Path) -> AbstractContextManager[Any]:
    """Let one process at a time prepare a folder: none replaces a folder that another just opened."""
    try:
        directory.parent.mkdir(parents=True, exist_ok=True)
        return FileLock(directory.with_name(f".{directory.name}.lock")).acquire()
    except OSError as error:
        raise DatasetError(
            f"cannot write to the cache {directory.parent}: {error}\n"
            "  to fix: name a writable folder by ADMMBENCH_CACHE (config key data.cache)"
        ) from error
