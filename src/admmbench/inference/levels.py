"""Levels at which all intervals of a study hold together: over pairs, settings, interim analyses and added methods.

An *interim analysis* is a number of seeds at which a study is judged. Whatever the data chose to read from the
intervals of a study, all of it is right with the probability `TOGETHER`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr

from admmbench.inference.intervals import LEVEL, student

ERROR = 1 - LEVEL
"""Probability of a false decision that a study may have, over its life."""

SET_ASIDE = 0.2
"""Part of `ERROR` that is kept for methods that are added later."""

TOGETHER = 1 - (1 - SET_ASIDE) * ERROR
"""Level at which the intervals of a study hold together, without methods that were added later."""


def bonferroni(level: float, intervals: int) -> float:
    """Return the level of each of so many intervals that hold together at a level."""
    return 1 - (1 - level) / max(intervals, 1)


def level_of_pairs(pairs: int, settings: int, analyses: int) -> float:
    """Return the level of one interval, such that all of a study hold together at `TOGETHER` (Bonferroni).

    Parameters
    ----------
    pairs
        Of methods of the setting.
    settings
        Of the study, each with the same part of the error.
    analyses
        At which the setting is judged, also those to come.
    """
    return bonferroni(TOGETHER, max(pairs, 1) * settings * analyses)


def level_of_added(turn: int, stated: int, settings: int, analyses: int) -> float:
    """Return the level of one interval of a method that was added after a study was stated.

    All intervals of all methods that may ever be added hold together at ``1 - SET_ASIDE * ERROR``, as the sum of
    ``1 / (k (k + 1))`` over k = 1, 2, ... is 1 (Bonferroni).

    Parameters
    ----------
    turn
        k, 1 for the first method that was added.
    stated
        Methods that the setting was stated with, each of which is compared with it.
    settings, analyses
        As of :func:`level_of_pairs`.
    """
    return 1 - SET_ASIDE * ERROR / (settings * analyses * stated * turn * (turn + 1))


def levels(
    stated: Sequence[str], added: Mapping[str, int], settings: int, analyses: int
) -> xr.DataArray:
    """Return the level of the interval of each pair of a setting.

    Parameters
    ----------
    stated
        Labels of the methods that the setting was stated with: what they are worth does not depend on later ones.
    added
        Turns of those that were added later, by label, see :func:`level_of_added`.
    settings, analyses
        As of :func:`level_of_pairs`.

    Returns
    -------
    xarray.DataArray
        Over ``algorithm`` and ``rival``, NaN for two methods that were added, which are not compared.
    """
    labels = [*stated, *added]
    found = xr.DataArray(
        np.full((len(labels), len(labels)), np.nan),
        coords={"algorithm": labels, "rival": labels},
        dims=("algorithm", "rival"),
    )
    first = list(stated)
    found.loc[first, first] = level_of_pairs(math.comb(len(first), 2), settings, analyses)
    for label, turn in added.items():
        level = level_of_added(turn, len(first), settings, analyses)
        found.loc[first, label] = found.loc[label, first] = level
    return found


def intersected(
    differences: xr.DataArray,
    level: float | xr.DataArray,
    analyses: Sequence[int] = (),
    redrawn: float = 0.0,
    least: float | xr.DataArray = 0.0,
) -> xr.Dataset:
    """Compute Student's interval of a mean difference at each interim analysis so far, and intersect them.

    Where an early and a late one have nothing in common, one of them is wrong, and the last one counts.

    Parameters
    ----------
    differences
        Over ``seed`` and others; NaN where one of two methods was not run.
    level
        Of each analysis, as `level_of_pairs` gives it, or of each pair, as `levels` does.
    analyses
        Numbers of seeds, increasing. Seeds beyond the last analysis that is complete do not count. Empty: all seeds are
        one analysis.
    redrawn, least
        As of :func:`admmbench.inference.intervals.student`.

    Returns
    -------
    xarray.Dataset
        As of :func:`admmbench.inference.intervals.student`, with ``n`` of the last analysis.
    """
    there = differences.notnull().sum("seed")
    seeds = differences.sizes["seed"]
    found = None
    for n in [n for n in analyses if n <= seeds] or [seeds]:
        now = student(differences.isel(seed=slice(n)), level, redrawn, least)
        if found is None:
            found = now
            continue
        low, high = found["lower"].fillna(-np.inf), found["upper"].fillna(np.inf)
        lower = now["lower"].where(now["lower"] > low, low)
        upper = now["upper"].where(now["upper"] < high, high)
        agree = lower <= upper
        met = now.assign(
            lower=lower.where(agree, now["lower"]), upper=upper.where(agree, now["upper"])
        )
        # Where a pair has no seeds beyond an earlier analysis, that one is its last.
        found = met.where(there >= n, found)
    assert found is not None
    return found
