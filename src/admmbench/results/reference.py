"""Reference results of the largest runs of a study, with which new results are compared.

A folder has a file of results for each experiment, a file of all trials for some whose settings were tuned, and a list
of all files, each with its command and its checksum.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
from pydantic import Field

from admmbench.files import former, write
from admmbench.files.core_yaml import dump_yaml, read_yaml
from admmbench.files.installed import OWN_REFERENCE, REFERENCE
from admmbench.validation import Strict, Text, checked, unknown

if TYPE_CHECKING:
    import xarray as xr

FILES = "files.yaml"
_HEAD = "# Reference results, see docs/reproducing.md.\n"
_SEARCH_COLUMNS = "method", "budget"
TRIALS = *_SEARCH_COLUMNS, "settings", "error", "loss"
"""Columns of the file of all trials of a study, see `admmbench.tuning`."""


MARK = " †"
"""Mark behind labels whose reference results are outdated."""


class Outdated(Strict):
    """Methods whose reference results differ from those of today's code, until they are run again."""

    labels: Annotated[list[str], Field(min_length=1)]
    """Labels of the methods."""
    because: Text
    """Difference of the code when they were run, as the end of a sentence."""


class Source(Strict):
    """Origin of a file of reference results."""

    command: str
    """Command that makes the results."""
    sha256: str
    """Checksum of the file."""
    every: Annotated[int, Field(ge=1)] = 1
    """Stride of the evaluated rounds in the file, besides the first round."""
    outdated: Outdated | None = None
    """Methods that are to be run again; loaded results state them as an attribute of this name, as JSON."""
    replacement: Source | None = None
    """Origin of the content that is about to replace the file, so that a killed process leaves no file in doubt."""


def outdated_labels(results: xr.Dataset) -> list[str]:
    """Return the labels of the methods whose results are outdated."""
    stated = outdated(results)
    return stated.labels if stated else []


def marked(label: str, results: xr.Dataset) -> str:
    """Return a label, with a mark behind it if the results of its method are outdated."""
    return label + MARK if label in outdated_labels(results) else label


def outdated(results: xr.Dataset, without: Iterable[str] = ()) -> Outdated | None:
    """Return the outdated methods of results, except for the given labels; None if there are none."""
    if "outdated" not in results.attrs:
        return None
    stated = Outdated.model_validate_json(results.attrs["outdated"])
    present = {*results["algorithm"].values.tolist()}.difference(without)
    labels = [label for label in stated.labels if label in present]
    return stated.model_copy(update={"labels": labels}) if labels else None


def keep(
    results: xr.Dataset,
    command: str,
    folder: Path | None = None,
    *,
    add: bool = False,
    replace: bool = False,
    every: int = 1,
) -> Path:
    """Add results to the folder, compressed.

    Parameters
    ----------
    results
        Results of an experiment.
    command
        Command that made the results.
    folder
        Folder to write; by default the user's own.
    add
        Whether former results of the same experiment stay, and the new ones are added; otherwise the new ones replace
        them. Where the former results are thinned, the new ones are brought to their rounds.
    replace
        Whether former results of other methods stay, and only methods with the same labels are replaced.
    every
        Stride of the evaluated rounds to keep, counted from the last one; the first round, and the last round of each
        method, stay as well.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    ValueError
        If the results cannot be added to the former ones or replace them, see `admmbench.results.joining`, or ``every``
        is below 1.
    """
    if every < 1:
        raise ValueError(f"every: a number from 1 on, got {every}")
    folder = folder or OWN_REFERENCE
    name = results.attrs["experiment"]
    path = folder / f"{name}.nc"
    last = np.flatnonzero(results["round"].isin(results["rounds"]))
    places = {0, *last, *range(results.sizes["round"] - 1, 0, -every)}
    results = results.isel(round=sorted(places))
    outdated_now = outdated(results)
    results = results.drop_attrs(deep=False).assign_attrs(
        {key: value for key, value in results.attrs.items() if key != "outdated"}
    )
    if (add or replace) and (former := load([name], [folder])):
        from admmbench.results import joining  # slow to import
        from admmbench.results.joining import each_once

        former_results, source = former[name], _sources(folder)[path.name]
        still_outdated = outdated(
            former_results, results["algorithm"].values.tolist() if replace else ()
        )
        former_results.attrs.pop("outdated", None)
        if still_outdated and outdated_now:
            labels = list(dict.fromkeys([*still_outdated.labels, *outdated_now.labels]))
            still_outdated = still_outdated.model_copy(update={"labels": labels})
        outdated_now = still_outdated or outdated_now
        if add and source.every > 1:
            # The last round of each method stays, as its errors are reported.
            ends = results["rounds"].where(results["rounds"] > 0)
            stays = results["round"].isin(former_results["round"]) | results["round"].isin(ends)
            results, every = results.isel(round=stays.values), source.every
        combine = joining.replace if replace else joining.join
        results = combine(former_results, results)
        command = each_once([source.command, command])
    from admmbench.files import netcdf  # slow to import

    return _write_file(path, netcdf.content(results), command, every, outdated_now)


def renew(path: Path, label: str, fingerprint: str) -> None:
    """Replace the fingerprint of a method in reference results by that of other code that computes the same."""
    import xarray as xr

    from admmbench.files import netcdf  # slow to import

    source = _sources(path.parent)[path.name]
    results = xr.load_dataset(io.BytesIO(_content(path, source)))
    # The encoding would cut longer fingerprints.
    codes = results["fingerprint"].drop_encoding()
    now = np.where(codes["algorithm"] == label, fingerprint, codes)
    results["fingerprint"] = codes.copy(data=now)
    content = netcdf.content(results)
    _write_file(path, content, source.command, source.every, source.outdated)


def keep_trials(
    trials: Path, command: str, folder: Path | None = None, *, replace: bool = False
) -> Path:
    """Add all trials of the searches of an experiment to the folder, in place of former ones.

    Parameters
    ----------
    trials
        ``trials.csv`` in the experiment's folder of results; the folder's name becomes that of the new file.
    command, folder
        See `keep`.
    replace
        Whether former trials of other methods and budgets stay.

    Returns
    -------
    Path
        The file, ``<experiment>_trials.csv``.

    Raises
    ------
    ValueError
        If the file is no file of trials.
    """
    import pandas as pd

    from admmbench.results.joining import each_once  # slow to import

    content = trials.read_bytes()
    try:
        # As text, so that the trials that stay are the same, byte for byte.
        table = pd.read_csv(io.BytesIO(content), dtype=str, keep_default_na=False)
    except ValueError as error:
        raise ValueError(f"{trials}: no file of trials: {error}") from None
    if (columns := [*table]) != [*TRIALS]:
        raise ValueError(
            f"{trials}: no file of trials, which has the columns {', '.join(TRIALS)}; it has {', '.join(columns)}"
        )
    folder = folder or OWN_REFERENCE
    path = folder / f"{trials.absolute().parent.name}_trials.csv"
    if replace and (source := _sources(folder).get(path.name)):
        former = pd.read_csv(io.BytesIO(_content(path, source)), dtype=str, keep_default_na=False)
        searches = pd.MultiIndex.from_frame(table[[*_SEARCH_COLUMNS]])
        stays = ~pd.MultiIndex.from_frame(former[[*_SEARCH_COLUMNS]]).isin(searches)
        content = pd.concat([former[stays], table]).to_csv(index=False).encode()
        command = each_once([source.command, command])
    return _write_file(path, content, command)


def _write_file(
    path: Path,
    content: bytes,
    command: str,
    every: int = 1,
    outdated: Outdated | None = None,
) -> Path:
    """Write a file, and its origin into the list of the folder."""
    digest = hashlib.sha256(content).hexdigest()
    source = Source(command=command, sha256=digest, every=every, outdated=outdated)
    if former_source := _sources(path.parent).get(path.name):
        _write_source(path, former_source.model_copy(update={"replacement": source}))
    write(path, content)
    _write_source(path, source)
    return path


def _write_source(path: Path, source: Source) -> None:
    """Write the origin of a file into the list of its folder."""
    sources = sorted({**_sources(path.parent), path.name: source}.items())
    text = dump_yaml({name: entry.model_dump(exclude_defaults=True) for name, entry in sources})
    write(path.parent / FILES, _HEAD + text)


def load(
    experiments: Iterable[str], folders: Sequence[Path] = (REFERENCE, OWN_REFERENCE)
) -> dict[str, xr.Dataset]:
    """Read the reference results of some experiments, by name; experiments without any are left out.

    Results in a later folder replace those in an earlier one: the user's own those of the suite.

    Raises
    ------
    ValueError
        If a file has another checksum than the list of its folder states.
    """
    return {name: _read(*entry) for name, entry in _files(experiments, folders).items()}


def read(path: Path) -> xr.Dataset | None:
    """Read a file of reference results; None if the list of its folder does not name the file. Errors: see `load`."""
    source = _sources(path.parent).get(path.name)
    return _read(path, source) if source else None


def is_thinned(path: Path) -> bool:
    """Return whether a file of reference results has a part of the evaluated rounds alone."""
    return _sources(path.parent)[path.name].every > 1


def _read(path: Path, source: Source) -> xr.Dataset:
    """Read a file in today's keys, with its outdated methods as an attribute."""
    import xarray as xr

    results = xr.load_dataset(io.BytesIO(_content(path, source)))
    if source.outdated:
        present = results["algorithm"].values.tolist()
        if others := [label for label in source.outdated.labels if label not in present]:
            fault = unknown("label", others[0], present)
            raise ValueError(f"{path.parent / FILES}: {path.name}.outdated.labels: {fault}")
        results.attrs["outdated"] = source.outdated.model_dump_json()
    return former.in_keys(results, path)


def _content(path: Path, source: Source) -> bytes:
    """Return the bytes of a file, whose checksum must be that of its source."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ValueError(f"{path}: {FILES} names it, but it cannot be read: {error}") from None
    if hashlib.sha256(content).hexdigest() != source.sha256:
        raise ValueError(
            f"{path}: not the file that was stored (its SHA-256 differs from the one in {FILES}); restore it, "
            "or keep the results once more"
        )
    return content


def digests(
    experiments: Iterable[str], folders: Sequence[Path] = (REFERENCE, OWN_REFERENCE)
) -> dict[str, str]:
    """Return the SHA-256 of the reference results of some experiments, by name, see `load`."""
    return {name: source.sha256 for name, (_, source) in _files(experiments, folders).items()}


def _files(experiments: Iterable[str], folders: Sequence[Path]) -> dict[str, tuple[Path, Source]]:
    """Return the file of each experiment with reference results, and its source."""
    return {
        name: (folder / f"{name}.nc", sources[f"{name}.nc"])
        for folder, sources in ((folder, _sources(folder)) for folder in folders)
        for name in experiments
        if f"{name}.nc" in sources
    }


def _sources(folder: Path) -> dict[str, Source]:
    """Read the list of files of a folder; no files if there is no list."""
    path = folder / FILES
    if not path.exists():
        return {}
    try:
        sources = checked(dict[str, Source], read_yaml(path), "")
    except ValueError as error:
        reason = str(error).removeprefix(f"{path}: cannot be read: ")
        raise ValueError(
            f"{path}: cannot be read: {reason}; mend it, or restore it, such as by `git restore`"
        ) from None
    return {name: _present_source(folder / name, source) for name, source in sources.items()}


def _present_source(path: Path, source: Source) -> Source:
    """Return the origin of a file as it is, whether a killed process had replaced it or not."""
    if source.replacement is None:
        return source
    with contextlib.suppress(OSError):
        if hashlib.sha256(path.read_bytes()).hexdigest() == source.replacement.sha256:
            return source.replacement
    return source.model_copy(update={"replacement": None})
