"""Competitions by ``admmbench compete``: a method joins kept experiments as one that is added later."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import xarray as xr

from admmbench import datasets
from admmbench.base.outcomes import Outcome
from admmbench.files.core_yaml import read_yaml
from admmbench.files.installed import REFERENCE, find_all
from admmbench.inference import levels
from admmbench.results import joining, reference, statistics
from admmbench.results.who_wins import compare, compared_settings
from admmbench.study.aggregate import with_decision
from admmbench.study.config import ConfigError, check_experiment
from admmbench.study.experiment import Experiment
from admmbench.study.ranking import method_entry
from admmbench.validation import expanded, unknown

TRACKS = {
    "lite": ("equal_privacy_adult", "equal_privacy_digits"),
    "full": ("equal_privacy_adult", "equal_privacy_digits", "equal_privacy_mnist"),
}
"""Kept experiments of each track."""
TOTALS = (1.0, 8.0)
"""Totals at which a method competes, where an experiment is kept at one of them; else at all that are kept."""
SEEDS = 40
"""Seeds of a method, the first of those that the rivals have."""
HEAD = """\
# By `admmbench compete`: a kept experiment, its rivals as they are, and one method that is added later.
# `admmbench study tune` and `admmbench study` run what is missing of it; rivals are not run again.
"""
# Attacks where an experiment states none.
_AUDIT = {"rounds": 2, "repeats": 100, "canaries": ["worst"]}


@dataclass(frozen=True)
class Entry:
    """Method in a kept experiment."""

    content: dict[str, Any]
    """Content of the experiment's file."""
    label: str
    """Label of the method."""
    totals: list[float]
    """Totals at which it competes."""
    seeds: dict[float, int]
    """Number of its seeds at each total."""


def kept(names: Sequence[str]) -> dict[str, xr.Dataset]:
    """Return the kept results of experiments; ValueError if one has none at totals of whole runs."""
    results = reference.load(names, [REFERENCE])
    for name in names:
        if name not in results or not statistics.of_whole_runs(results[name]):
            raise ValueError(
                f"--against: {unknown('experiment that is kept at totals', name, TRACKS['full'])}"
            )
    return {name: results[name] for name in names}


def entry(
    name: str, method: str, results: xr.Dataset, folder: os.PathLike[str], n: int = SEEDS
) -> Entry:
    """Return a method as one that is added to a kept experiment.

    Parameters
    ----------
    name
        Name of the experiment.
    method
        Path of a plug-in, or name of a method. Axes of its tuning are its own; bounds on records start as those of the
        rivals.
    results
        Kept results of the experiment.
    folder
        Folder of the study, from which the path is named.
    n
        Largest number of seeds.

    Raises
    ------
    ConfigError
        If the method does not suit the experiment.
    """
    content = read_yaml(find_all("experiments")[name])
    rivals = content["algorithms"]
    stated = method_entry(method, "gaussian", datasets.describe(content["dataset"]))
    if stated["label"] in {rival["label"] for rival in rivals}:
        stated["label"] += " (own)"
    starts = {key: value for rival in rivals[::-1] for key, value in rival.get("tune", {}).items()}
    for key in stated["tune"]:
        if key.startswith("problem.records."):
            stated["tune"][key] = starts.get(key, stated["tune"][key])
    ran = (results["status"] != Outcome.NOT_RUN).sum("seed")
    totals = competing_totals(results)
    first, *later = content["interim_analyses"]
    seeds = {
        total: max([first, *(k for k in later if k <= min(n, ran.sel(epsilon=total).max()))])
        for total in totals
    }
    stated |= {"added": True, "epsilon": totals}
    content |= {"only": [stated["label"]], "figures": [], "algorithms": [*rivals, stated]}
    content.setdefault("audit", _AUDIT)
    content["tuning"].pop("sensitivity", None)
    try:
        check_experiment(content, name)
    except ConfigError as error:
        raise ConfigError(f"{method}: cannot compete in {error}") from None
    if method.endswith(".py"):
        stated["name"] = os.path.relpath(expanded(method), folder)
    return Entry(content, stated["label"], totals, seeds)


def competing_totals(results: xr.Dataset) -> list[float]:
    """Return the totals of kept results at which a method competes."""
    every = [total for total in map(float, results["epsilon"].values) if math.isfinite(total)]
    return [total for total in every if total in TOTALS] or every


def joined(results: xr.Dataset, rivals: xr.Dataset, experiment: Experiment) -> xr.Dataset:
    """Return the kept results of rivals with those of a method that is added later.

    Raises
    ------
    ValueError
        If they differ in a setting, see `admmbench.results.joining.join`.
    """
    outdated = rivals.attrs.get("outdated")
    # Kept results lack variables of later versions.
    names = [name for name in results.data_vars if name in rivals or name in joining.MIRROR]
    results = results[names]
    first, second = (
        part.drop_attrs(deep=False).assign_attrs(
            {
                key: value
                for key, value in part.attrs.items()
                if key not in (*joining.OF_DECISIONS, "outdated")
            }
        )
        for part in (rivals, results)
    )
    both = with_decision(joining.join(first, second), experiment)
    return both.assign_attrs(outdated=outdated) if outdated else both


def level_of_next(rivals: Mapping[str, xr.Dataset]) -> list[xr.Dataset]:
    """Return the settings of kept results, with the level of a method that is added next as ``level``."""
    comparison = compare(rivals.values())
    assert comparison is not None
    settings = list(compared_settings(comparison))
    return [
        setting.assign(
            level=levels.level_of_added(
                len(statistics.added(rivals[str(setting["experiment"].item())])) + 1,
                int((setting["compared"] & (setting["added"] == "")).sum()),
                len(settings),
                max(int(setting["analyses"]), 1),
            )
        )
        for setting in settings
    ]


def growth_of_rounds(name: str, rivals: xr.Dataset) -> dict[tuple[str, float], float]:
    """Return the median over rivals of their tuned rounds over those that their searches began with, by total."""
    methods = read_yaml(find_all("experiments")[name])["algorithms"]
    starts = {m["label"]: m["tune"]["rounds"] for m in methods if "rounds" in m.get("tune", {})}
    labels = [label for label in starts if label in rivals["algorithm"]]
    rounds = rivals["rounds"].sel(algorithm=labels)
    ratios = rounds.where(rounds > 0) / xr.DataArray(
        [starts[label] for label in labels], dims="algorithm"
    )
    return {
        (name, float(total)): float(ratios.sel(epsilon=total).median())
        for total in rivals["epsilon"]
    }
