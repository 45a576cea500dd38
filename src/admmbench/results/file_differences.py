"""Two result files of one study, from two machines, versions or codes: where they agree, and how they differ."""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np
import xarray as xr

from admmbench.frames.outcomes import Outcome
from admmbench.inference import intervals, levels
from admmbench.results import statistics, wording

ROUNDING = 1e-5
"""Relative difference of numbers that rounding explains, in single precision over many rounds."""

FLIPPED = 2
"""Test records of a run whose class rounding may change."""

_WORDS = {
    "identical": "identical bit for bit",
    "rounding": "equal within rounding",
    "consistent": "consistent: their intervals hold 0",
    "different": "different",
    "unknown": "not to be judged from so few seeds",
}

HEADS = (
    *("method", "budget", "first", "second", "second - first, interval"),
    *("largest of a seed", "seeds", "state"),
)
"""What :func:`rows` gives, in words."""


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
    rounded = (largest <= _rounding(first, ends[0])) & ~lost_apart
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


def _rounding(results: xr.Dataset, ends: xr.DataArray) -> xr.DataArray | float:
    """Return the largest difference that rounding explains."""
    if statistics.is_fraction(results) and results.attrs["n_test"]:
        return FLIPPED / float(results.attrs["n_test"]) + intervals.ROUNDING
    return ROUNDING * abs(ends).max("seed")


def rows(found: xr.Dataset) -> Iterator[list[str]]:
    """Write the cells of a contrast that ran in both files, see `HEADS`; values of fractions are in percent."""
    for place in np.argwhere((found["state"] != "").values):
        cell = found.isel(algorithm=place[0], epsilon=place[1])
        number = {
            name: wording.measured(float(cell[name]), found.attrs["fraction"])
            for name in ("first", "second", "difference", "lower", "upper", "largest")
        }
        state = str(cell["state"].item())
        interval = f" {number['lower']} to {number['upper']}" if cell["lower"].notnull() else ""
        yield [
            str(cell["algorithm"].item()),
            wording.budget(float(cell["epsilon"])),
            number["first"],
            number["second"],
            number["difference"] + (interval if state in ("consistent", "different") else ""),
            number["largest"],
            str(int(cell["seeds"])),
            state,
        ]


def summary(found: xr.Dataset) -> str:
    """Say how many cells are in which state, in a sentence."""
    states = found["state"].values
    parts = [f"{n} {words}" for name, words in _WORDS.items() if (n := int((states == name).sum()))]
    return f"{int((states != '').sum())} methods and budgets: {'; '.join(parts)}."


def settings(first: xr.Dataset, second: xr.Dataset) -> Iterator[str]:
    """Name other differences between the two files, a sentence for each."""
    facts = [{**each.attrs, **json.loads(each.attrs["versions"])} for each in (first, second)]
    for name in sorted({*facts[0], *facts[1]} - {"versions", "Conventions", "outdated"}):
        values = [str(each.get(name, "none")) for each in facts]
        if values[0] != values[1]:
            yield f"{name.replace('_', ' ')}: {values[0]} and {values[1]}."
    labels = [list(map(str, ds["algorithm"].values)) for ds in (first, second)]
    for here, there, which in ((*labels, "first"), (*labels[::-1], "second")):
        if alone := [label for label in here if label not in there]:
            yield f"Only in the {which}: {', '.join(alone)}."
    common = [label for label in labels[0] if label in labels[1]]
    for name, words in {"fingerprint": "Other code", "params": "Other parameters"}.items():
        a, b = (ds[name].sel(algorithm=common).values for ds in (first, second))
        if changed := [label for label, x, y in zip(common, a, b, strict=True) if x != y]:
            yield f"{words}: {', '.join(changed)}."
    ends = xr.align(
        *(each["status"].stack(run=["algorithm", "epsilon"]) for each in (first, second))
    )
    ran = (ends[0] != Outcome.NOT_RUN) & (ends[1] != Outcome.NOT_RUN)
    otherwise = ((ends[0] != ends[1]) & ran).any("seed")
    if runs := otherwise["run"].values[otherwise.values].tolist():
        yield f"Ended in another way: {'; '.join(wording.at(*run) for run in runs)}."
