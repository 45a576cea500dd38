"""Results that are kept with the project: those of the largest runs of a study, to compare new results with.

A folder has a file of results for each experiment, one of all trials for some whose settings were tuned, and one that
says where each comes from, with its checksum.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
from pydantic import Field

from admmbench.files import write
from admmbench.files.core_yaml import dump_yaml, read_yaml
from admmbench.files.installed import OWN_REFERENCE, REFERENCE
from admmbench.jobs import former
from admmbench.validation import Strict, Text, checked, unknown

if TYPE_CHECKING:
    import xarray as xr

FILES = "files.yaml"
_HEAD = "# Kept results, see docs/reproducing.md.\n"
_SEARCH = "method", "budget"
TRIALS = *_SEARCH, "settings", "error", "loss"
"""Columns of the file of all trials of a study, see `admmbench.tuning`."""


MARK = " †"
"""Behind labels whose kept results are outdated."""


class Outdated(Strict):
    """Kept results of some methods are not those of today's code, until they are run again."""

    labels: Annotated[list[str], Field(min_length=1)]
    """Of the methods."""
    because: Text
    """What was otherwise when they were run, as the end of a sentence."""


class Source(Strict):
    """A source says where kept results come from."""

    command: str
    """Command that makes them."""
    sha256: str
    """Of the file."""
    every: Annotated[int, Field(ge=1)] = 1
    """Of the rounds that were evaluated one in so many is kept, besides the first."""
    outdated: Outdated | None = None
    """Methods that are to be run again; results that are loaded state them as an attribute of this name, as JSON."""


def outdated_labels(results: xr.Dataset) -> list[str]:
    """Return the labels of the methods whose results are outdated."""
    stated = outdated(results)
    return stated.labels if stated else []


def marked(label: str, results: xr.Dataset) -> str:
    """Put a mark behind a label if the results of its method are outdated."""
    return label + MARK if label in outdated_labels(results) else label


def outdated(results: xr.Dataset, without: Iterable[str] = ()) -> Outdated | None:
    """Return what is outdated of results, but for some methods."""
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
        Of an experiment.
    command
        Command that made them.
    folder
        Folder to write; by default the user's own.
    add
        Whether former results of the same experiment stay, and these are added to them; otherwise these take their
        place.
    replace
        Whether former results of other methods stay, and only those of the same labels are replaced.
    every
        Keep one in so many of the evaluated rounds, counted from the last, the first, and the last of each method.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    ValueError
        If these cannot be added to the former ones or replace them, see `admmbench.results.joining`, or ``every`` is
        below 1.
    """
    if every < 1:
        raise ValueError(f"every: a number from 1 on, got {every}")
    folder = folder or OWN_REFERENCE
    name = results.attrs["experiment"]
    path = folder / f"{name}.nc"
    last = np.flatnonzero(results["round"].isin(results["rounds"]))
    places = {0, *last, *range(results.sizes["round"] - 1, 0, -every)}
    results = results.isel(round=sorted(places))
    marks = outdated(results)
    results = results.drop_attrs(deep=False).assign_attrs(
        {key: each for key, each in results.attrs.items() if key != "outdated"}
    )
    if (add or replace) and (former := load([name], [folder])):
        from admmbench.results import joining  # slow to import
        from admmbench.results.joining import each_once

        kept = former[name]
        staying = outdated(kept, results["algorithm"].values.tolist() if replace else ())
        kept.attrs.pop("outdated", None)
        if staying and marks:
            labels = list(dict.fromkeys([*staying.labels, *marks.labels]))
            staying = staying.model_copy(update={"labels": labels})
        marks = staying or marks
        together = joining.replace if replace else joining.join
        results = together(kept, results)
        command = each_once([_sources(folder)[path.name].command, command])
    from admmbench.jobs.seal import packing  # slow to import

    content = results.to_netcdf(engine="h5netcdf", encoding=packing(results))
    return _kept(path, content, command, every, marks)


def renew(path: Path, label: str, fingerprint: str) -> None:
    """Give kept results of a method the fingerprint of code that computes them, too."""
    import xarray as xr

    from admmbench.jobs.seal import packing  # slow to import

    source = _sources(path.parent)[path.name]
    results = xr.load_dataset(io.BytesIO(_content(path, source)))
    codes = results["fingerprint"].drop_encoding()  # which has their length
    now = np.where(codes["algorithm"] == label, fingerprint, codes)
    results["fingerprint"] = codes.copy(data=now)
    content = results.to_netcdf(engine="h5netcdf", encoding=packing(results))
    _kept(path, content, source.command, source.every, source.outdated)


def keep_trials(
    trials: Path, command: str, folder: Path | None = None, *, replace: bool = False
) -> Path:
    """Add all trials of the searches of an experiment to the folder, in place of former ones.

    Parameters
    ----------
    trials
        ``trials.csv`` in the experiment's folder of results, which gives them their name.
    command, folder
        As of `keep`.
    replace
        Whether former trials of other methods and budgets stay.

    Returns
    -------
    Path
        The file, ``<experiment>_trials.csv``.

    Raises
    ------
    ValueError
        If this is no file of trials.
    """
    import pandas as pd

    from admmbench.results.joining import each_once  # slow to import

    content = trials.read_bytes()
    try:
        # As text: what stays is the same, byte for byte.
        found = pd.read_csv(io.BytesIO(content), dtype=str, keep_default_na=False)
    except ValueError as error:
        raise ValueError(f"{trials}: no file of trials: {error}") from None
    if (columns := [*found]) != [*TRIALS]:
        raise ValueError(
            f"{trials}: no file of trials, which has the columns {', '.join(TRIALS)}; it has {', '.join(columns)}"
        )
    folder = folder or OWN_REFERENCE
    path = folder / f"{trials.absolute().parent.name}_trials.csv"
    if replace and (source := _sources(folder).get(path.name)):
        former = pd.read_csv(io.BytesIO(_content(path, source)), dtype=str, keep_default_na=False)
        searches = pd.MultiIndex.from_frame(found[[*_SEARCH]])
        stays = ~pd.MultiIndex.from_frame(former[[*_SEARCH]]).isin(searches)
        content = pd.concat([former[stays], found]).to_csv(index=False).encode()
        command = each_once([source.command, command])
    return _kept(path, content, command)


def _kept(
    path: Path,
    content: bytes | memoryview,
    command: str,
    every: int = 1,
    outdated: Outdated | None = None,
) -> Path:
    """Write a file, and where it comes from."""
    write(path, content)
    digest = hashlib.sha256(content).hexdigest()
    own = Source(command=command, sha256=digest, every=every, outdated=outdated)
    sources = sorted({**_sources(path.parent), path.name: own}.items())
    text = dump_yaml({name: each.model_dump(exclude_defaults=True) for name, each in sources})
    write(path.parent / FILES, _HEAD + text)
    return path


def load(
    experiments: Iterable[str], folders: Sequence[Path] = (REFERENCE, OWN_REFERENCE)
) -> dict[str, xr.Dataset]:
    """Read what is kept of some experiments.

    Parameters
    ----------
    experiments
        Names.
    folders
        Folders with kept results, the suite's and the user's own; results in a later folder replace those in an earlier
        one.

    Returns
    -------
    dict
        Results by name, of those that are there.

    Raises
    ------
    ValueError
        If a file is not the one that was kept.
    """
    return {name: _read(*each) for name, each in _files(experiments, folders).items()}


def read(path: Path) -> xr.Dataset | None:
    """Read a file of kept results; None if the list in its folder does not name it. See `load` for errors."""
    source = _sources(path.parent).get(path.name)
    return _read(path, source) if source else None


def _read(path: Path, source: Source) -> xr.Dataset:
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
    """Bytes of a kept file, if it is the one that was kept."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ValueError(f"{path}: {FILES} names it, but it cannot be read: {error}") from None
    if hashlib.sha256(content).hexdigest() != source.sha256:
        raise ValueError(
            f"{path}: not the file that was kept (its SHA-256 differs from the one in {FILES}); restore it, "
            "or keep the results once more"
        )
    return content


def digests(
    experiments: Iterable[str], folders: Sequence[Path] = (REFERENCE, OWN_REFERENCE)
) -> dict[str, str]:
    """Return the SHA-256 of what is kept of some experiments, by name, see `load`."""
    return {name: source.sha256 for name, (_, source) in _files(experiments, folders).items()}


def _files(experiments: Iterable[str], folders: Sequence[Path]) -> dict[str, tuple[Path, Source]]:
    """Find the file of each experiment of which results are kept, and where it comes from."""
    return {
        name: (folder / f"{name}.nc", sources[f"{name}.nc"])
        for folder, sources in ((folder, _sources(folder)) for folder in folders)
        for name in experiments
        if f"{name}.nc" in sources
    }


def _sources(folder: Path) -> dict[str, Source]:
    path = folder / FILES
    if not path.exists():
        return {}
    try:
        return checked(dict[str, Source], read_yaml(path), "")
    except ValueError as error:
        what = str(error).removeprefix(f"{path}: cannot be read: ")
        raise ValueError(
            f"{path}: cannot be read: {what}; mend it, or restore it, such as by `git restore`"
        ) from None
