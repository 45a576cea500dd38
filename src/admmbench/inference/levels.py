"""Levels at which all intervals of a study hold together: over pairs, settings, interim analyses and added methods.

An *interim analysis* is a number of seeds at which a study is judged. All intervals of a study are right with the
probability `TOGETHER`, so that the data may choose which of them to report.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr

from admmbench.inference.intervals import LEVEL, student

ERROR = 1 - LEVEL
"""Largest probability that a study has a false verdict, over all its analyses."""

SET_ASIDE = 0.2
"""Part of `ERROR` that is reserved for methods that are added later."""

TOGETHER = 1 - (1 - SET_ASIDE) * ERROR
"""Level at which the intervals of a study hold together, without methods that were added later."""


def bonferroni(level: float, intervals: int) -> float:
    """Return the level of each of so many intervals that hold together at a level."""
    return 1 - (1 - level) / max(intervals, 1)


def error_of_turn(turn: int) -> float:
    """Return the part of the reserved error that the k-th later addition to a study takes, for k = 1, 2, ...

    The sum of ``1 / (k (k + 1))`` is 1, so that all that may ever be added take what is reserved, and no more.
    """
    return SET_ASIDE * ERROR / (turn * (turn + 1))


def level_of_pairs(pairs: int, settings: int, analyses: int, error: float = ERROR) -> float:
    """Return the level of one interval, such that all of a study hold together at `TOGETHER` (Bonferroni).

    Parameters
    ----------
    pairs
        Number of pairs of methods of the setting.
    settings
        Number of settings of the study, each with the same part of the error.
    analyses
        Number of analyses of the setting, with those to come.
    error
        Error of the series of analyses, of which `SET_ASIDE` is reserved as well: that of the whole study, or for
        antithetic pairs `error_of_turn`.
    """
    return bonferroni(1 - (1 - SET_ASIDE) * error, max(pairs, 1) * settings * analyses)


def level_of_added(
    turn: int, stated: int, settings: int, analyses: int, error: float = ERROR
) -> float:
    """Return the level of one interval of a method that was added after a study was stated.

    All intervals of all methods that may ever be added hold together at ``1 - SET_ASIDE * ERROR`` (Bonferroni), see
    `error_of_turn`.

    Parameters
    ----------
    turn
        k, which is 1 for the first method that was added.
    stated
        Number of methods that the setting was stated with, each of which is compared with the added one.
    settings, analyses, error
        See :func:`level_of_pairs`.
    """
    return 1 - SET_ASIDE * error / (settings * analyses * stated * turn * (turn + 1))


def levels(
    stated: Sequence[str],
    added: Mapping[str, int],
    settings: int,
    analyses: int,
    error: float = ERROR,
) -> xr.DataArray:
    """Return the level of the interval of each pair of a setting.

    Parameters
    ----------
    stated
        Labels of the methods that the setting was stated with: their verdicts do not depend on later ones.
    added
        Turns of the methods that were added later, by label, see :func:`level_of_added`.
    settings, analyses, error
        See :func:`level_of_pairs`.

    Returns
    -------
    xarray.DataArray
        Levels over ``algorithm`` and ``rival``, NaN for two methods that were added, which are not compared.
    """
    labels = [*stated, *added]
    by_pair = xr.DataArray(
        np.full((len(labels), len(labels)), np.nan),
        coords={"algorithm": labels, "rival": labels},
        dims=("algorithm", "rival"),
    )
    first = list(stated)
    # Levels of stated methods leave out those added later, so that nobody who joins can change their verdicts.
    by_pair.loc[first, first] = level_of_pairs(math.comb(len(first), 2), settings, analyses, error)
    for label, turn in added.items():
        level = level_of_added(turn, len(first), settings, analyses, error)
        by_pair.loc[first, label] = by_pair.loc[label, first] = level
    return by_pair


def intersected(
    differences: xr.DataArray,
    level: float | xr.DataArray,
    analyses: Sequence[int] = (),
    redrawn: float = 0.0,
    least: float | xr.DataArray = 0.0,
) -> xr.Dataset:
    """Compute Student's interval of a mean difference at each interim analysis so far, and intersect them.

    Where an early and a late interval have nothing in common, one of them is wrong, and the last one counts.

    Parameters
    ----------
    differences
        Differences over ``seed`` and other dims; NaN where one of two methods was not run.
    level
        Level of each analysis, see `level_of_pairs`, or of each pair, see `levels`.
    analyses
        Numbers of seeds, increasing. Seeds beyond the last analysis that is complete do not count. Empty: all seeds are
        one analysis.
    redrawn, least
        See :func:`admmbench.inference.intervals.student`.

    Returns
    -------
    xarray.Dataset
        Variables of :func:`admmbench.inference.intervals.student`, with ``n`` of the last analysis.
    """
    there = differences.notnull().sum("seed")
    seeds = differences.sizes["seed"]
    intersection = None
    for n in [n for n in analyses if n <= seeds] or [seeds]:
        interval = student(differences.isel(seed=slice(n)), level, redrawn, least)
        if intersection is None:
            intersection = interval
            continue
        # Where a pair has no seeds beyond an earlier analysis, that analysis is the pair's last one.
        intersection = narrowed(intersection, interval).where(there >= n, intersection)
    assert intersection is not None
    return intersection


def narrowed(earlier: xr.Dataset, later: xr.Dataset) -> xr.Dataset:
    """Return later intervals within earlier ones of the same means; a later one that contradicts counts alone.

    All analyses hold together, so the value lies in each interval.
    """
    # An analysis without an interval, as of a single seed, excludes nothing, and its NaN must not spread.
    low, high = earlier["lower"].fillna(-np.inf), earlier["upper"].fillna(np.inf)
    lower = later["lower"].where(later["lower"] > low, low)
    upper = later["upper"].where(later["upper"] < high, high)
    overlap = lower <= upper
    return later.assign(
        lower=lower.where(overlap, later["lower"]), upper=upper.where(overlap, later["upper"])
    )
