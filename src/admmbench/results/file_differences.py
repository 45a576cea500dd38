"""Two result files of one study, from two machines, versions or codes: where they agree, and how they differ."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from admmbench.base.outcomes import Outcome
from admmbench.inference import intervals, levels
from admmbench.results import statistics

ROUNDING = 1e-5
"""Relative difference of numbers that rounding explains, in single precision over many rounds."""

FLIPPED = 2
"""Test records of a run whose class rounding may change."""


def contrast(first: xr.Dataset, second: xr.Dataset) -> xr.Dataset:
    """Compare the final metric of the runs that are in both of two result files.

    Differences are paired by seed: a seed fixes the partition and all random numbers. All intervals hold together
    with 95 % confidence (Bonferroni over the cells that differ beyond rounding).

    Parameters
    ----------
    first, second
        Results, each as its ``results.nc`` holds them, with the same metric.

    Returns
    -------
    xarray.Dataset
        Over ``algorithm`` and ``epsilon``, in the unit of the metric.

        - ``first``, ``second``: means over the shared seeds; NaN where a method lost all runs or did not run.
        - ``difference``, ``lower``, ``upper``: second minus first, with the interval.
        - ``seeds``: number of shared seeds.
        - ``largest``: largest absolute difference of one shared seed.
        - ``state``: ``identical`` (all rounds of shared seeds and how these ended, bit for bit), ``rounding`` (no seed
          differs by more than rounding explains), ``consistent`` (the interval holds 0), ``different`` (it does not, or
          seeds were lost in one file alone, or in another way), or ``unknown`` (too few seeds).

    Raises
    ------
    ValueError
        If the files have no run in common, or another metric.
    """
    metric, other = first.attrs["metric"], second.attrs["metric"]
    if metric != other:
        raise ValueError(
            f"one file has the metric {metric}, the other {other}: only files of one problem can be compared"
        )
    names = [metric, "status"]
    both = xr.align(*(each.reset_coords()[names] for each in (first, second)), exclude="round")
    started = [each["status"] != Outcome.NOT_RUN for each in both]
    ran = started[0] & started[1]
    if not ran.any():
        raise ValueError("the files have no run in common")
    ends = [statistics.final(each, metric).where(ran) for each in both]
    gap = ends[1] - ends[0]
    largest = abs(gap).max("seed")
    ended_alike = both[0]["status"] == both[1]["status"]
    lost = [each.isnull() for each in ends]
    lost_apart = (((lost[0] != lost[1]) | (lost[0] & ~ended_alike)) & ran).any("seed")
    # Results of an earlier version may lack the start.
    a, b = (statistics.after_start(each[metric]) for each in both)
    same = a["round"].equals(b["round"])
    equal = ((a == b) | (a.isnull() & b.isnull())).all("round") & ended_alike
    identical = same & (equal | ~ran).all("seed")
    n_test = first.attrs["n_test"] if statistics.is_fraction(first) else 0
    rounded = (largest <= rounding(abs(ends[0]).max("seed"), n_test)) & ~lost_apart
    still_open = ran.any("seed") & ~identical & ~rounded
    between = intervals.student(gap, levels.bonferroni(intervals.LEVEL, int(still_open.sum())))
    tests = {
        "": ~ran.any("seed"),
        "identical": identical,
        "rounding": rounded,
        "different": (between["lower"] > 0) | (between["upper"] < 0) | lost_apart,
        "unknown": between["lower"].isnull(),
    }
    dims = "algorithm", "epsilon"
    chosen = [test.transpose(*dims).values for test in tests.values()]
    return xr.Dataset(
        {
            "first": ends[0].mean("seed"),
            "second": ends[1].mean("seed"),
            "difference": between["mean"],
            "lower": between["lower"],
            "upper": between["upper"],
            "seeds": gap.notnull().sum("seed"),
            "largest": largest,
            "state": (dims, np.select(chosen, list(tests), "consistent")),
        },
        attrs={
            "long_name": first[metric].attrs["long_name"],
            "fraction": int(statistics.is_fraction(first)),
        },
    )


def rounding(largest: Any, n_test: int = 0) -> Any:
    """Return the largest difference that rounding explains.

    Parameters
    ----------
    largest
        Largest of the values, in size.
    n_test
        Test records that the values are fractions of; 0 for other numbers.
    """
    return FLIPPED / n_test + intervals.ROUNDING if n_test else ROUNDING * largest
