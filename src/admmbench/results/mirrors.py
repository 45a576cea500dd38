"""Antithetic pairs: the runs of a seed with its noise and with all noise negated, whose mean is one value.

What is odd in the noise cancels in the mean of a pair. So the difference of two methods may vary less over n pairs than
over 2 n seeds, above all where the same noise pushes the methods in opposite directions.
"""

from __future__ import annotations

import math

import numpy as np
import xarray as xr

from admmbench.base.outcomes import FAILED, Outcome
from admmbench.inference import intervals, levels
from admmbench.results import statistics
from admmbench.results.settings import Setting

LEAST_GAIN = 1.2
"""Smallest gain of pairs with which a setting takes them."""


def mirrored(setting: Setting, values: xr.DataArray) -> xr.DataArray:
    """Return the values of mirrors, NaN where a seed has none, or where no mirror counts.

    Mirrors count where the experiment states pairs, at totals.

    Parameters
    ----------
    setting
        Setting of totals.
    values
        Final values over ``algorithm`` and ``seed`` of the methods that compete.
    """
    facts = setting.facts.sel(epsilon=setting.epsilon)
    stated = statistics.turn_of_pairs(facts) is not None
    if "mirror" not in facts or not (stated and setting.of_totals):
        return xr.full_like(values, np.nan)
    return facts["mirror"].where(values.notnull())


def mirrors_run(facts: xr.Dataset) -> xr.DataArray:
    """Count the mirrors that were run, over the dimensions of runs without ``seed``."""
    ran = facts.get("mirror_status", xr.full_like(facts["status"], Outcome.NOT_RUN))
    return (ran != Outcome.NOT_RUN).sum("seed")


def failed(facts: xr.Dataset) -> xr.DataArray:
    """Count the runs without a model, mirrors among them, over the dimensions of runs without ``seed``."""
    counts = facts["status"].isin(FAILED).sum("seed")
    if "mirror_status" in facts:
        counts += facts["mirror_status"].isin(FAILED).sum("seed")
    return counts


def judge(
    setting: Setting, differences: xr.DataArray, settings: int, least: xr.DataArray
) -> xr.Dataset | None:
    """Return the intervals of differences by pairs, intersected over the analyses so far.

    They are a second series of analyses, whose intervals hold together at `admmbench.inference.levels.error_of_turn`.

    Parameters
    ----------
    setting
        Setting that is judged.
    differences
        Differences of methods in the mean of a pair, over ``algorithm``, ``rival`` and ``seed``.
    settings, least
        See `admmbench.inference.levels.level_of_pairs` and `admmbench.inference.levels.intersected`.

    Returns
    -------
    xarray.Dataset or None
        Variables of `admmbench.inference.levels.intersected`, NaN for methods with fewer pairs than the first analysis,
        with the ``deviation`` and number ``n`` of all pairs, and ``level`` as an attribute. None if no seed has a
        mirror.
    """
    if not differences.notnull().any():
        return None
    turn, analyses = (
        statistics.turn_of_pairs(setting.facts),
        statistics.interim_analyses(setting.facts),
    )
    assert turn is not None
    counts = settings, len(analyses)
    error = levels.error_of_turn(turn)
    level = levels.levels(setting.stated, setting.added, *counts, error).reindex_like(differences)
    complete = differences.notnull().sum("seed") >= analyses[0]
    found = levels.intersected(differences.where(complete), level, analyses, least=least)
    spread = intervals.student(differences, least=least)[["deviation", "n"]]
    of_one = levels.level_of_pairs(setting.pairs, *counts, error)
    return found.assign(spread.data_vars).assign_attrs(level=of_one)


def gain(first: xr.DataArray, second: xr.DataArray, running: xr.DataArray, n: int) -> float:
    """Return by how much pairs reduce the variance of differences, at the same number of runs.

    The gain of two methods is the ratio of the variance of the mean of two seeds to that of the mean of a pair. Gains
    are pooled by their geometric mean.

    Parameters
    ----------
    first, second
        Differences of methods in ordinary and in mirrored runs, over ``algorithm``, ``rival`` and ``seed``.
    running
        Pairs of methods over ``algorithm`` and ``rival`` to pool over.
    n
        Number of antithetic pairs of the pilot; only those count, so that the answer stays.

    Returns
    -------
    float
        NaN where no two methods have so many pairs, or where they do not vary.
    """
    first, second = (half.where(first.notnull() & second.notnull()) for half in (first, second))
    pilot = first.notnull().cumsum("seed") <= n
    single, other, paired = (
        intervals.student(values.where(pilot))["deviation"] ** 2
        for values in (first, second, (first + second) / 2)
    )
    seen = running & (first.notnull().sum("seed") >= n) & (single + other > 0) & (paired > 0)
    ratios = ((single + other) / 4 / paired).where(seen)
    return float(np.exp(np.log(ratios).mean())) if seen.any() else math.nan
