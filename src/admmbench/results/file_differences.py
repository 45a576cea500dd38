"""Two result files of one study, from two machines, versions or codes: where they agree, and how they differ."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator

import numpy as np
import xarray as xr
from rich.markup import escape
from rich.table import Table
from scipy.special import stdtrit

from admmbench.frames.outcomes import Outcome
from admmbench.results import statistics, wording

ROUNDING = 1e-5
"""Relative difference of numbers that rounding explains, in single precision over many rounds."""

FLIPPED = 2
"""Test records of a run whose class rounding may change."""


def contrast(first: xr.Dataset, second: xr.Dataset, level: float = statistics.LEVEL) -> xr.Dataset:
    """Compare the final metric of two result files, for all methods and budgets that both have.

    Differences are paired by seed where the files share two seeds or more: a seed fixes the partition and all random
    numbers. Otherwise the samples are independent, and intervals are Welch's.

    Parameters
    ----------
    first, second
        Results, each as its ``results.nc`` holds them, with the same metric.
    level
        Of all intervals together (Bonferroni over the cells that differ beyond rounding).

    Returns
    -------
    xarray.Dataset
        Over ``algorithm`` and ``epsilon``, in the unit of the metric.

        - ``first``, ``second``: means over the seeds; NaN where a method lost all runs or did not run.
        - ``difference``, ``lower``, ``upper``: second minus first, with the interval.
        - ``seeds``: number of shared seeds.
        - ``largest``: largest absolute difference of one shared seed.
        - ``state``: ``identical`` (all rounds of shared seeds, bit for bit), ``rounding`` (no seed differs by more
          than rounding explains), ``consistent`` (the interval holds 0), ``different``, or ``unknown`` (too few seeds).

    Raises
    ------
    ValueError
        If the files have no method and budget in common, or another metric.
    """
    metrics = first.attrs["metric"], second.attrs["metric"]
    if metrics[0] != metrics[1]:
        raise ValueError(
            f"one file has the metric {metrics[0]}, the other {metrics[1]}: only files of one problem can be compared"
        )
    labels = [label for label in first["algorithm"].values if label in second["algorithm"].values]
    budgets = [value for value in first["epsilon"].values if value in second["epsilon"].values]
    both = [ds.sel(algorithm=labels, epsilon=budgets) for ds in (first, second)]
    ends = [statistics.final(ds.reset_coords(), metrics[0]) for ds in both]
    cells = ends[0].notnull().any("seed") & ends[1].notnull().any("seed")
    if not cells.any():
        raise ValueError("the files have no method and budget in common that ran in both")
    # Results of an earlier version may lack the start.
    curves = [statistics.after_start(ds.reset_coords()[metrics[0]]) for ds in both]
    a, b = xr.align(*curves, join="inner", exclude=("algorithm", "epsilon"))
    same_rounds = curves[0].sizes["round"] == curves[1].sizes["round"] == a.sizes["round"]
    gap = statistics.difference(ends[1], ends[0])
    shared = gap.sizes["seed"]
    ran = [ds["status"].reset_coords(drop=True) != Outcome.NOT_RUN for ds in both]
    both_ran = ran[0] & ran[1]  # of seeds in both files
    same = ((a == b) | (a.isnull() & b.isnull()) | ~both_ran).all(["seed", "round"])
    identical = same & same_rounds & both_ran.any("seed")
    largest = abs(gap).max("seed") if shared else ends[0].isel(seed=0, drop=True) * math.nan
    other_losses = ((ends[0].notnull() != ends[1].notnull()) & both_ran).any("seed")
    rounded = (largest <= _rounding(first, ends)) & ~other_losses
    still_open = cells & ~(identical | rounded)
    corrected = 1 - (1 - level) / max(int(still_open.sum()), 1)
    between = (
        statistics.interval(gap, corrected) if shared > 1 else _welch(ends[1], ends[0], corrected)
    )
    outside = (between["lower"] > 0) | (between["upper"] < 0)
    tests = {
        "": ~cells,
        "identical": identical,
        "rounding": rounded,
        "different": outside | other_losses,
        "unknown": between["lower"].isnull(),
    }
    dims = "algorithm", "epsilon"
    state = np.select(
        [test.transpose(*dims).values for test in tests.values()], list(tests), "consistent"
    )
    return xr.Dataset(
        {
            "first": ends[0].mean("seed"),
            "second": ends[1].mean("seed"),
            "difference": between["mean"],
            "lower": between["lower"],
            "upper": between["upper"],
            "seeds": gap.notnull().sum("seed"),
            "largest": largest,
            "state": (dims, state),
        },
        attrs={
            "metric": metrics[0],
            "long_name": first[metrics[0]].attrs["long_name"],
            "level": level,
            "fraction": int(statistics.is_fraction(first)),
        },
    )


def _rounding(results: xr.Dataset, ends: list[xr.DataArray]) -> xr.DataArray | float:
    """Return the largest difference that rounding explains."""
    if statistics.is_fraction(results) and results.attrs["n_test"]:
        return FLIPPED / float(results.attrs["n_test"]) + statistics.ROUNDING
    return ROUNDING * abs(ends[0]).max("seed")


def _welch(first: xr.DataArray, second: xr.DataArray, level: float) -> xr.Dataset:
    """Compute the difference of the means of independent samples, with its interval (Welch 1947)."""
    means, errors, freedoms = [], [], []
    for values in (first, second):
        n = values.notnull().sum("seed")
        several = n.where(n > 1)
        error = ((values - values.mean("seed")) ** 2).sum("seed") / (several - 1) / several
        means.append(values.mean("seed"))
        errors.append(error)
        freedoms.append(error**2 / (several - 1))
    total = errors[0] + errors[1]
    freedom = (total**2 / (freedoms[0] + freedoms[1])).where(total > 0, 1.0)
    half = stdtrit(freedom, (1 + level) / 2) * np.sqrt(total)
    mean = means[0] - means[1]
    return xr.Dataset({"mean": mean, "lower": mean - half, "upper": mean + half})


def rows(found: xr.Dataset) -> Iterator[dict[str, str]]:
    """Write the cells of a contrast that ran in both files; values of fractions are in percent.

    Yields
    ------
    ``method``, ``budget``, ``first``, ``second``, ``difference`` with the interval if it matters, ``largest``,
    ``seeds`` and ``state``.
    """
    for label in found["algorithm"].values:
        for epsilon in map(float, found["epsilon"].values):
            cell = found.sel(algorithm=label, epsilon=epsilon)
            if not (state := str(cell["state"].item())):
                continue
            low, high = _number(cell, "lower"), _number(cell, "upper")
            has_interval = state in ("consistent", "different")
            yield {
                "method": str(label),
                "budget": wording.budget(epsilon),
                "first": _number(cell, "first"),
                "second": _number(cell, "second"),
                "difference": _number(cell, "difference")
                + (f" {low} to {high}" if has_interval else ""),
                "largest": _number(cell, "largest"),
                "seeds": str(int(cell["seeds"])),
                "state": state,
            }


def table(found: xr.Dataset) -> Table:
    """Lay a contrast out for a terminal."""
    unit = " in percent" if found.attrs["fraction"] else ""
    shown = Table(title=f"Final {found.attrs['long_name']}{unit}")
    for name in ("method", "budget"):
        shown.add_column(name)
    for name in ("first", "second", "second - first, interval", "largest of a seed", "seeds"):
        shown.add_column(name, justify="right")
    shown.add_column("")
    for row in rows(found):
        shown.add_row(*map(escape, row.values()))
    return shown


def _number(cell: xr.Dataset, name: str) -> str:
    value = float(cell[name])
    if math.isnan(value):
        return "–"
    return f"{100 * value:.2f}" if cell.attrs["fraction"] else f"{value:.4g}"


def summary(found: xr.Dataset) -> str:
    """Say how many cells are in which state, in a sentence."""
    states = found["state"].values
    counts = {
        "identical": "identical bit for bit",
        "rounding": "equal within rounding",
        "consistent": "consistent: their intervals hold 0",
        "different": "different",
        "unknown": "not to be judged from so few seeds",
    }
    parts = [f"{n} {words}" for name, words in counts.items() if (n := int((states == name).sum()))]
    return f"{int((states != '').sum())} methods and budgets: {'; '.join(parts)}."


def settings(first: xr.Dataset, second: xr.Dataset) -> Iterator[str]:
    """Name other differences between the two files, a sentence for each."""
    for name, words in _FACTS.items():
        values = [str(ds.attrs.get(name, "")) for ds in (first, second)]
        if values[0] != values[1]:
            yield f"{words}: {values[0]} and {values[1]}."
    versions = [json.loads(ds.attrs["versions"]) for ds in (first, second)]
    packages = [
        f"{name} {versions[0].get(name, 'none')} and {versions[1].get(name, 'none')}"
        for name in sorted({*versions[0], *versions[1]})
        if versions[0].get(name) != versions[1].get(name)
    ]
    if packages:
        yield f"Versions: {', '.join(packages)}."
    labels = [list(map(str, ds["algorithm"].values)) for ds in (first, second)]
    for here, there, which in ((*labels, "first"), (*labels[::-1], "second")):
        if alone := [label for label in here if label not in there]:
            yield f"Only in the {which}: {', '.join(alone)}."
    common = [label for label in labels[0] if label in labels[1]]
    for name, words in {"fingerprint": "Other code", "params": "Other parameters"}.items():
        a, b = (ds[name].sel(algorithm=common).values for ds in (first, second))
        if changed := [label for label, x, y in zip(common, a, b, strict=True) if x != y]:
            yield f"{words}: {', '.join(changed)}."


_FACTS = {
    "experiment": "Experiments",
    "dataset": "Data sets",
    "data_checksums": "Checksums of the data",
    "n_train": "Training records",
    "problem": "Problems",
    "partition": "Partitions",
    "sensitivity": "Sensitivities",
    "dtype": "Precisions",
    "rounds": "Rounds",
    "machine": "Machines",
    "arithmetic": "Arithmetic",
}
