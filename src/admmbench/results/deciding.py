"""Verdicts of pairs, and the answer of a row, from simultaneous intervals alone: see docs/sure.md.

A *row* is one place where methods compete: a data set and a budget. A *look* is a number of seeds at which a study is
judged. Intervals of all pairs of a row, in all rows and at all looks of a study, hold together at the level `TOGETHER`.
So what is read from them, whatever the data chose to read, is right with that probability.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr
from scipy.special import betaincinv, ndtr, ndtri, stdtrit

from admmbench.results import statistics

ERROR = 1 - statistics.LEVEL
"""Probability of a false decision that a study may have, over its life."""

SET_ASIDE = 0.2
"""Part of `ERROR` that is kept for methods that are added later."""

TOGETHER = 1 - (1 - SET_ASIDE) * ERROR
"""Level at which the intervals of a study hold together, without methods that were added later."""

POWER = 0.8
"""Probability with which a number of seeds decides, if means and standard deviations are what they seem."""

_MOST = 100_000
"""Seeds beyond which nothing is forecast."""


def level_of_pairs(pairs: int, rows: int, looks: int) -> float:
    """Return the level of one interval, such that all of a study hold together at `TOGETHER` (Bonferroni).

    Parameters
    ----------
    pairs
        Of methods of the row.
    rows
        Of the study, each with the same share of the error.
    looks
        At which the row is judged, also those to come.
    """
    return 1 - (1 - TOGETHER) / (max(pairs, 1) * rows * looks)


def level_of_added(turn: int, stated: int, rows: int, looks: int) -> float:
    """Return the level of one interval of a method that was added after a study was stated.

    All intervals of all methods that may ever be added hold together at ``1 - SET_ASIDE * ERROR``, as the sum of
    ``1 / (k (k + 1))`` over k = 1, 2, ... is 1 (Bonferroni).

    Parameters
    ----------
    turn
        k, 1 for the first method that was added.
    stated
        Methods that the row was stated with, each of which is compared with it.
    rows, looks
        As of :func:`level_of_pairs`.
    """
    return 1 - SET_ASIDE * ERROR / (rows * looks * stated * turn * (turn + 1))


def levels(stated: Sequence[str], added: Mapping[str, int], rows: int, looks: int) -> xr.DataArray:
    """Return the level of the interval of each pair of a row.

    Parameters
    ----------
    stated
        Labels of the methods that the row was stated with: what they are worth does not depend on later ones.
    added
        Turns of those that were added later, by label, see :func:`level_of_added`.
    rows, looks
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
    own = list(stated)
    found.loc[own, own] = level_of_pairs(math.comb(len(own), 2), rows, looks)
    for label, turn in added.items():
        level = level_of_added(turn, len(own), rows, looks)
        found.loc[own, label] = found.loc[label, own] = level
    return found


def intervals(
    differences: xr.DataArray,
    level: float | xr.DataArray,
    looks: Sequence[int] = (),
    redrawn: float = 0.0,
    least: float | xr.DataArray = 0.0,
) -> xr.Dataset:
    """Compute the interval of a mean difference at each look so far, and intersect them.

    Each is Student's t interval, see `admmbench.results.statistics.interval`. Where an early and a late one have
    nothing in common, one of them is wrong, and the last one counts.

    Parameters
    ----------
    differences
        Over ``seed`` and others; NaN where one of two methods was not run.
    level
        Of each look, as `level_of_pairs` gives it, or of each pair, as `levels` does.
    looks
        Numbers of seeds, increasing. Seeds beyond the last look that is complete do not count. Empty: all seeds are
        one look.
    redrawn, least
        See `admmbench.results.statistics.interval`.

    Returns
    -------
    xarray.Dataset
        ``mean``, ``lower``, ``upper`` and ``n``, the number of seeds of the last look.
    """
    there = differences.notnull().sum("seed")
    found = None
    for look in [n for n in looks if n <= differences.sizes["seed"]] or [differences.sizes["seed"]]:
        now = statistics.interval(differences.isel(seed=slice(look)), level, redrawn, least)
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
        # Where a pair has no seeds beyond an earlier look, that one is its last.
        found = met.where(there >= look, found)
    assert found is not None
    return found


def verdicts(gap: xr.Dataset, margin: float) -> xr.DataArray:
    """Judge pairs by their intervals: ``equivalent``, ``better``, ``worse`` or ``undecided``.

    Parameters
    ----------
    gap
        ``lower`` and ``upper`` of the difference of a method and its rival, of a metric that should be low.
    margin
        Largest difference that does not matter, in the same unit.

    Returns
    -------
    xarray.DataArray
        Of the dims of ``gap``: equivalent if the interval lies within the margin, even if it excludes 0, else better
        or worse if it excludes 0, else undecided; empty where there is no difference at all.
    """
    lower, upper = gap["lower"], gap["upper"]
    words = xr.full_like(lower, "undecided", "U10").where(~(lower > 0), "worse")
    words = words.where(~(upper < 0), "better")
    words = words.where(~((lower >= -margin) & (upper <= margin)), "equivalent")
    return words.where(gap["mean"].notnull(), "")


def standing(means: xr.DataArray, verdict: xr.DataArray) -> xr.DataArray:
    """Say where each method of a row stands.

    A method that is worse than another is out. The lowest mean among the rest stands for the row, which is decided if
    every other method is equivalent to it or out. All pairs are covered, so that the data may choose it.

    Parameters
    ----------
    means
        Over ``algorithm``, perhaps of several rows; NaN for methods that do not compete.
    verdict
        Over ``algorithm`` and ``rival``, of the same rows.

    Returns
    -------
    xarray.DataArray
        Over ``algorithm``: ``winner`` for a method that all others are worse than, ``equivalent`` for several that are
        equivalent to the lowest, ``undecided`` for those among which the row is not decided, ``worse`` for the others,
        and empty for those that do not compete. ``alone`` for the only one that competes: it beat nobody.
    """
    competes = means.notnull()
    out = (verdict == "worse").any("rival") & competes
    out &= (competes & ~out).any("algorithm")  # intervals that contradict each other say nothing
    place = means.where(competes & ~out, np.inf).argmin("algorithm")
    lowest = xr.DataArray(np.arange(means.sizes["algorithm"]), dims="algorithm") == place
    group = competes & (lowest | (verdict.isel(rival=place) == "equivalent"))
    decided = (group | out | ~competes).all("algorithm")
    words = xr.full_like(means, "undecided", "U10").where(competes, "").where(~out, "worse")
    words = words.where(~(group & decided), "equivalent")
    words = words.where(~(group & decided & (group.sum("algorithm") == 1)), "winner")
    return words.where(~(competes & (competes.sum("algorithm") == 1)), "alone")


def ranks(gap: xr.Dataset) -> xr.Dataset:
    """Bound the rank of each method of a row, 1 for the lowest, from the intervals of all pairs.

    A method has at least as many ahead of it as are shown to be below it, and at least as many behind it as are shown
    to be above: Klein, Wright and Wieczorek (2020), Journal of the Royal Statistical Society A 183. The ranks of all
    methods lie within their bounds together, with the probability of the intervals.

    Parameters
    ----------
    gap
        ``mean``, ``lower`` and ``upper`` of the differences, over ``algorithm`` and ``rival``; NaN for pairs that do
        not compete. The bounds are NaN as well for a pair with one seed, of which nothing is shown.

    Returns
    -------
    xarray.Dataset
        ``lower`` and ``upper`` over ``algorithm``, NaN for methods that do not compete.
    """
    competes = gap["mean"].notnull().any("rival")
    first = 1 + (gap["lower"] > 0).sum("rival")
    last = competes.sum("algorithm") - (gap["upper"] < 0).sum("rival")
    return xr.Dataset({"lower": first.where(competes), "upper": last.where(competes)})


def chance_of_lower(differences: xr.DataArray, level: float | xr.DataArray) -> xr.Dataset:
    """Estimate the probability that a method has the lower value at a seed.

    Parameters
    ----------
    differences
        Of methods and their rivals, over ``seed`` and others; NaN where one of two methods was not run.
    level
        Of each interval.

    Returns
    -------
    xarray.Dataset
        ``mean``: the part of the seeds, ties half. ``lower`` and ``upper``: the interval of Clopper and Pearson (1934,
        Biometrika 26), with all ties counted against the method, and for it. NaN where there are no seeds.
    """
    n = differences.notnull().sum("seed")
    below, tied = (differences < 0).sum("seed"), (differences == 0).sum("seed")
    tail = (1 - level) / 2
    most = below + tied
    low = betaincinv(below.clip(1), n - below + 1, tail).where(below > 0, 0.0)
    high = betaincinv(most + 1, (n - most).clip(1), 1 - tail).where(most < n, 1.0)
    found = xr.Dataset({"mean": (below + tied / 2) / n.clip(1), "lower": low, "upper": high})
    return found.where(n > 0)


def reach_over_records(mistakes: xr.DataArray, level: float | xr.DataArray) -> xr.DataArray:
    """Compute half the interval of the difference of two errors over test records drawn like those at hand.

    Each record has the part of the seeds at which a method is wrong; a difference of two methods is the mean over
    records of the differences of these parts, which has Student's interval. What seeds draw widens it a little.

    Parameters
    ----------
    mistakes
        Over ``algorithm`` and ``record``: parts of the seeds, 0 to 1.
    level
        Of each interval.

    Returns
    -------
    xarray.DataArray
        Over ``algorithm`` and ``rival``.
    """
    n = mistakes.sizes["record"]
    parts = mistakes.transpose("algorithm", "record")
    shared = np.atleast_2d(np.cov(parts.values))
    own = np.diag(shared)
    error = np.sqrt(np.maximum(own[:, None] + own[None] - 2 * shared, 0) / n)
    labels = parts["algorithm"].values
    coords = {"algorithm": labels, "rival": labels}
    return xr.DataArray(error, coords, ("algorithm", "rival")) * stdtrit(n - 1, (1 + level) / 2)


def difference_shown(deviation: float, n: int, level: float, redrawn: float = 0.0) -> float:
    """Return the smallest difference of two methods that an interval tells from 0 with the probability `POWER`.

    Parameters
    ----------
    deviation
        Standard deviation over seeds of the difference of the two methods.
    n
        Number of seeds, at least 2.
    level, redrawn
        As of :func:`seeds_needed`.
    """
    reach = stdtrit(n - 1, (1 + level) / 2) + ndtri(POWER)
    return float(deviation * math.sqrt(1 / n + redrawn) * reach)


def seeds_needed(
    difference: float, deviation: float, margin: float, level: float, redrawn: float = 0.0
) -> float:
    """Forecast how many seeds decide a pair with the probability `POWER`, if it is as it seems.

    Parameters
    ----------
    difference, deviation
        Mean and standard deviation over seeds of the difference of two methods; NaN where they share too few seeds.
    margin
        See `verdicts`.
    level
        Of an interval.
    redrawn
        See `admmbench.results.statistics.interval`.

    Returns
    -------
    float
        The number of seeds; infinite if it is above 100,000, or nothing is known.
    """
    if deviation == 0:
        return 2.0
    low, high, size = 2, _MOST, abs(difference)

    def decides(n: int) -> bool:
        error, reach = deviation * math.sqrt(1 / n + redrawn), stdtrit(n - 1, (1 + level) / 2)
        apart = ndtr(size / error - reach)
        within = ndtr((margin - size) / error - reach) + ndtr((margin + size) / error - reach) - 1
        return bool(max(apart, within) >= POWER)

    if not decides(high):
        return math.inf
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if decides(middle) else (middle + 1, high)
    return float(low)
