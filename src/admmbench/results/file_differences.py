"""Differences of two result files of one study, from two machines, versions or codes."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from admmbench.base.outcomes import Outcome
from admmbench.inference import intervals, levels
from admmbench.results import statistics

ROUNDING = 1e-5
"""Largest relative difference of numbers that rounding explains, in single precision over many rounds."""

FLIPPED = 2
"""Largest number of test records of a run whose class rounding may change."""


def contrast(first: xr.Dataset, second: xr.Dataset) -> xr.Dataset:
    """Compare the final metric of the runs that are in both of two result files.

    Differences are paired by seed: a seed fixes the partition and all random numbers. All intervals hold together
    with 95 % confidence (Bonferroni over the methods and budgets that differ beyond rounding).

    Parameters
    ----------
    first, second
        Results, each as its ``results.nc`` holds them, with the same metric.

    Returns
    -------
    xarray.Dataset
        Variables over ``algorithm`` and ``epsilon``, in the unit of the metric.

        - ``first``, ``second``: means over the shared seeds; NaN where a method lost all runs or did not run.
        - ``difference``, ``lower``, ``upper``: second minus first, with the interval.
        - ``seeds``: number of shared seeds.
        - ``largest``: largest absolute difference of one shared seed.
        - ``state``: ``identical`` (all rounds and outcomes of shared seeds, bit for bit), ``rounding`` (no seed differs
          by more than rounding explains), ``consistent`` (the interval holds 0), ``different`` (the interval does not
          hold 0, or seeds failed in one file alone, or in another way), or ``unknown`` (too few seeds).

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
    files = xr.align(*(file.reset_coords()[names] for file in (first, second)), exclude="round")
    started = [file["status"] != Outcome.NOT_RUN for file in files]
    ran = started[0] & started[1]
    if not ran.any():
        raise ValueError("the files have no run in common")
    finals = [statistics.final(file, metric).where(ran) for file in files]
    gap = finals[1] - finals[0]
    largest = abs(gap).max("seed")
    ended_alike = files[0]["status"] == files[1]["status"]
    failed = [file.isnull() for file in finals]
    failed_apart = (((failed[0] != failed[1]) | (failed[0] & ~ended_alike)) & ran).any("seed")
    # Results of an earlier version may lack the start.
    first_curve, second_curve = (statistics.after_start(file[metric]) for file in files)
    same = first_curve["round"].equals(second_curve["round"])
    equal = ((first_curve == second_curve) | (first_curve.isnull() & second_curve.isnull())).all(
        "round"
    ) & ended_alike
    identical = same & (equal | ~ran).all("seed")
    n_test = statistics.tested_records(first) if statistics.is_fraction(first) else 0
    rounded = (largest <= rounding(abs(finals[0]).max("seed"), n_test)) & ~failed_apart
    still_open = ran.any("seed") & ~identical & ~rounded
    interval = intervals.student(gap, levels.bonferroni(intervals.LEVEL, int(still_open.sum())))
    tests = {
        "": ~ran.any("seed"),
        "identical": identical,
        "rounding": rounded,
        "different": (interval["lower"] > 0) | (interval["upper"] < 0) | failed_apart,
        "unknown": interval["lower"].isnull(),
    }
    dims = "algorithm", "epsilon"
    chosen = [test.transpose(*dims).values for test in tests.values()]
    return xr.Dataset(
        {
            "first": finals[0].mean("seed"),
            "second": finals[1].mean("seed"),
            "difference": interval["mean"],
            "lower": interval["lower"],
            "upper": interval["upper"],
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
    """Return the largest difference that rounding explains, of values or of fractions of so many test records."""
    return FLIPPED / n_test + intervals.ROUNDING if n_test else ROUNDING * largest
