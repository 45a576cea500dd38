"""Results that are kept with the project: those of the largest runs of a study, to compare new results with.

A folder has a file of results for each experiment, one of all trials for some whose settings were tuned, and one that
says where each comes from, with its checksum.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from pydantic import Field

from admmbench.files import write
from admmbench.files.core_yaml import dump_yaml, read_yaml
from admmbench.files.installed import OWN_REFERENCE, REFERENCE
from admmbench.privacy import NEIGHBOURS
from admmbench.results.wording import each_once
from admmbench.validation import Strict, checked

if TYPE_CHECKING:
    import xarray as xr

FILES = "files.yaml"
TRIALS = "method", "budget", "settings", "error", "loss"
"""Columns of the file of all trials of a study, see `admmbench.tuning`."""
# Words of files of earlier versions, and what they are now.
_FORMER = {
    "a record of one contributes nothing in the other, and numbers of records are the same": NEIGHBOURS[
        "record"
    ]["zero_out"],
    "a record of one is another record in the other": NEIGHBOURS["record"]["replace"],
}
# Two studies must agree in these for their final values to be comparable.
_SCALE = "dataset", "dataset_settings", "n_train", "problem", "partition", "sensitivity", "rounds"


class Source(Strict):
    """A source says where kept results come from.

    Attributes
    ----------
    command
        Command that makes them.
    sha256
        Of the file.
    every
        Of the rounds that were evaluated one in so many is kept, besides the first.
    """

    command: str
    sha256: str
    every: Annotated[int, Field(ge=1)] = 1


def keep(
    results: xr.Dataset,
    command: str,
    folder: Path | None = None,
    *,
    add: bool = False,
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
    every
        Keep one in so many of the evaluated rounds, counted from the last, and the first.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    ValueError
        If these cannot be added to the former ones, see `admmbench.results.joining.join`, or ``every`` is below 1.
    """
    if every < 1:
        raise ValueError(f"every: a number from 1 on, got {every}")
    folder = folder or OWN_REFERENCE
    name = results.attrs["experiment"]
    path = folder / f"{name}.nc"
    results = results.isel(round=sorted({0, *range(results.sizes["round"] - 1, 0, -every)}))
    if add and (former := load([name], [folder])):
        from admmbench.results import joining  # slow to import

        results = joining.join(former[name], results)
        command = each_once([_sources(folder)[path.name].command, command])
    from admmbench.jobs.seal import packing  # slow to import

    content = results.to_netcdf(engine="h5netcdf", encoding=packing(results))
    return _kept(path, content, command, every)


def keep_trials(trials: Path, command: str, folder: Path | None = None) -> Path:
    """Add all trials of the searches of an experiment to the folder, in place of former ones.

    Parameters
    ----------
    trials
        ``trials.csv`` in the experiment's folder of results, which gives them their name.
    command, folder
        As of `keep`.

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

    content = trials.read_bytes()
    try:
        columns = [*pd.read_csv(io.BytesIO(content))]
    except ValueError as error:
        raise ValueError(f"{trials}: no file of trials: {error}") from None
    if columns != [*TRIALS]:
        raise ValueError(
            f"{trials}: no file of trials, which has the columns {', '.join(TRIALS)}; it has {', '.join(columns)}"
        )
    name = f"{trials.absolute().parent.name}_trials.csv"
    return _kept((folder or OWN_REFERENCE) / name, content, command)


def _kept(path: Path, content: bytes | memoryview, command: str, every: int = 1) -> Path:
    """Write a file, and where it comes from."""
    write(path, content)
    digest = hashlib.sha256(content).hexdigest()
    own = Source(command=command, sha256=digest, every=every)
    sources = sorted({**_sources(path.parent), path.name: own}.items())
    text = dump_yaml({name: each.model_dump(exclude_defaults=True) for name, each in sources})
    write(path.parent / FILES, f"# Kept results, see docs/reproducing.md.\n{text}")
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
    return _read(path, source.sha256) if source else None


def _read(path: Path, digest: str) -> xr.Dataset:
    import xarray as xr

    try:
        content = path.read_bytes()
    except OSError as error:
        raise ValueError(f"{path}: {FILES} names it, but it cannot be read: {error}") from None
    if hashlib.sha256(content).hexdigest() != digest:
        raise ValueError(
            f"{path}: not the file that was kept (its SHA-256 differs from the one in {FILES}); restore it, "
            "or keep the results once more"
        )
    results = xr.load_dataset(path)
    if "neighbours" in results.coords:
        words = [_FORMER.get(each, each) for each in results["neighbours"].values.tolist()]
        results["neighbours"] = results["neighbours"].copy(data=np.array(words))
    return results


def digests(
    experiments: Iterable[str], folders: Sequence[Path] = (REFERENCE, OWN_REFERENCE)
) -> dict[str, str]:
    """Return the SHA-256 of what is kept of some experiments, by name, see `load`."""
    return {name: digest for name, (_, digest) in _files(experiments, folders).items()}


def _files(experiments: Iterable[str], folders: Sequence[Path]) -> dict[str, tuple[Path, str]]:
    """Find the file of each experiment of which results are kept, and its SHA-256."""
    return {
        name: (folder / f"{name}.nc", sources[f"{name}.nc"].sha256)
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
    except (OSError, ValueError) as error:
        what = str(error).removeprefix(f"{path}: cannot be read: ")
        raise ValueError(
            f"{path}: cannot be read: {what}; mend it, or restore it, such as by `git restore`"
        ) from None


def against(results: xr.Dataset, kept: xr.Dataset) -> dict[str, Any]:
    """Compare the results of an experiment with kept ones, for the report.

    Parameters
    ----------
    results
        Of the study.
    kept
        Of the same experiment.

    Returns
    -------
    dict
        ``scale`` says what is kept, ``summary`` how well final values agree, and ``rows`` has those that do not agree,
        see `admmbench.results.file_differences.rows`. Two of different scales are not compared.
    """
    from admmbench.results import file_differences

    scale = f"seeds: {kept.sizes['seed']}, rounds: {int(kept.attrs['rounds']):,}"
    names = [name for name in _SCALE if str(kept.attrs.get(name)) != str(results.attrs.get(name))]
    try:
        if names:
            raise ValueError(f"this study has another {', another '.join(names)}")
        compared = file_differences.contrast(kept, results)
    except ValueError as error:
        return {"scale": scale, "summary": f"Not compared: {error}.", "rows": []}
    different = [row for row in file_differences.rows(compared) if row[-1] == "different"]
    return {"scale": scale, "summary": file_differences.summary(compared), "rows": different}
