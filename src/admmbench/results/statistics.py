"""Statistics over seeds and rounds, in and out as labelled arrays.

All functions read the ``results.nc`` of one experiment: variables over ``algorithm``, ``epsilon``, ``seed`` and
``round``, and ``status`` over the first three. A failed run, such as one that diverged or timed out, has no valid final
model, so its statistics are NaN; :func:`counts` counts such runs, and every statistic over seeds carries the number of
runs ``n`` that entered it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np
import xarray as xr

from admmbench.base.outcomes import FAILED, SUCCESSFUL, Outcome
from admmbench.inference.intervals import ROUNDING
from admmbench.results.declarations import with_declarations

Labelled = TypeVar("Labelled", xr.Dataset, xr.DataArray)
Reduction = Literal["final", "best", "average"]
"""Reduction of a run to one number: last round, lowest of all rounds, or mean over rounds."""

PERCENTILES = (20.0, 80.0)
"""Edges of the bands, in percent; those of the figures of ryu2021 and ryu2022."""

FEW_SEEDS = 3
"""Largest number of seeds of which each is shown, instead of a band."""

EQUAL_TOTALS = 1.02
"""Largest ratio of totals that count as equal: noise that is calibrated to a total meets it within one percent."""


def final(ds: xr.Dataset, metric: str) -> xr.DataArray:
    """Return the value of a metric at the last evaluated round of each run, which is not the start.

    Parameters
    ----------
    ds
        Results of one experiment.
    metric
        Name of a variable with a dimension ``round``.

    Returns
    -------
    xarray.DataArray
        Final values over the dimensions of the metric without ``round``, in the same unit; NaN for runs that did not
        complete, and where no round after the start was evaluated.
    """
    values = after_start(ds[metric])
    evaluated = values.notnull()
    # argmax of the reversed mask is the distance of the last evaluated round from the end.
    last = values.sizes["round"] - 1 - evaluated.isel(round=slice(None, None, -1)).argmax("round")
    return _completed(ds, values.isel(round=last).drop_vars("round", errors="ignore"))


def after_start(values: Labelled) -> Labelled:
    """Return values without round 0, when the model is the same start for all methods."""
    return values.sel(round=values["round"] > 0)


def last_decade(rounds: xr.DataArray) -> xr.DataArray:
    """Tell which rounds are in the last decade, from a tenth of the last one on."""
    return rounds >= rounds.max() / 10


def after_round(ds: xr.Dataset, t: int, metrics: Iterable[str]) -> xr.Dataset:
    """Return the results as they were after an evaluated round: a run that fails later has not failed there.

    A run that diverges or times out has no values from then on, which shows when it failed. Values of runs that fail in
    other ways are held, so that nothing shows when they failed.
    """
    ds = ds.sel(round=slice(None, t))
    there = ds[list(metrics)].sel(round=t, drop=True).to_array().notnull().all("variable")
    later = ds["status"].isin([Outcome.DIVERGED, Outcome.TIMED_OUT]) & there
    return ds.assign(status=ds["status"].where(~later, Outcome.COMPLETED))


def last_slope(values: xr.DataArray) -> float:
    """Return `slope` along the last decade of rounds."""
    return slope(values.sel(round=last_decade(values["round"])), "round")


def slope(values: xr.DataArray, along: str) -> float:
    """Fit a line to the mean over seeds along a dimension, on logarithmic axes, and return its slope.

    Means of 0, which have no logarithm, are left out; NaN where fewer than two means are left.
    """
    means = values.mean("seed")
    means = means.where(means > 0, drop=True)
    if means.sizes[along] < 2:
        return math.nan
    return float(np.polyfit(np.log(means[along].values), np.log(means.values), 1)[0])


def final_if_none_failed(ds: xr.Dataset, metric: str) -> xr.DataArray:
    """Return values of :func:`final`, with NaN for all seeds of a method at a budget if one of them failed.

    The seeds that did not fail would favour the method. Failed mirrors count as failed seeds.
    """
    failed = ds["status"].isin(FAILED).any("seed")
    if "mirror_status" in ds:
        failed |= ds["mirror_status"].isin(FAILED).any("seed")
    return final(ds, metric).where(~failed)


def fewer_seeds(ds: xr.Dataset) -> list[tuple[str, float, int]]:
    """Return label, epsilon and number of seeds of methods and budgets that were run with fewer seeds than others."""
    started = (ds["status"] != Outcome.NOT_RUN).sum("seed").stack(point=["algorithm", "epsilon"])
    fewer = started[(started > 0) & (started < ds.sizes["seed"])]
    points = zip(fewer["point"].values, fewer.values, strict=True)
    return [(label, epsilon, int(n)) for (label, epsilon), n in points]


def seeds_by_analyses(ds: xr.Dataset) -> tuple[int, int] | None:
    """Return the fewest and the most seeds of a point, where interim analyses gave some points more; None elsewhere."""
    fewer = fewer_seeds(ds) if interim_analyses(ds) else []
    return (min(n for *_, n in fewer), ds.sizes["seed"]) if fewer else None


def reduce(ds: xr.Dataset, metric: str, how: Reduction) -> xr.DataArray:
    """Reduce each run to one number.

    Parameters
    ----------
    ds, metric
        See :func:`final`.
    how
        ``final`` takes the value of the last evaluated round. ``best`` and ``average`` take the lowest and the mean of
        all evaluated rounds without the start. For a test error, ``best`` selects the round on the test set: it bounds
        the error that early stopping could reach, and does not estimate it. The "best testing error among the 10 runs"
        of ryu2022 (section IV-A) is something else, the minimum over runs:
        :func:`admmbench.inference.intervals.lowest`.

    Returns
    -------
    xarray.DataArray
        Numbers over the dimensions of :func:`final`.
    """
    if how == "final":
        return final(ds, metric)
    values = after_start(ds[metric])
    reduction = {"best": values.min, "average": values.mean}[how]
    return _completed(ds, reduction("round", keep_attrs=True))


def band(values: xr.DataArray) -> xr.Dataset:
    """Compute the mean and the 20th to 80th percentile over seeds.

    Parameters
    ----------
    values
        Any array with a dimension ``seed``; NaN where a run has no value.

    Returns
    -------
    xarray.Dataset
        ``mean``, ``lower``, ``upper`` in the unit of ``values``, and ``n``, the number of seeds
        that entered; without ``seed``. NaN where ``n`` is 0.
    """
    # A slice without any value is NaN by definition here; numpy warns about it and fills NaN all
    # the same.
    filled = values.where(values.notnull().any("seed"), 0.0)
    # numpy leaves out NaN one slice after the other, which takes 100 times as long.
    gaps = bool(filled.isnull().any())
    edges = filled.quantile([q / 100 for q in PERCENTILES], "seed", skipna=gaps)
    n = values.notnull().sum("seed")
    result = xr.Dataset(
        {
            "mean": filled.mean("seed"),
            "lower": edges.isel(quantile=0, drop=True),
            "upper": edges.isel(quantile=1, drop=True),
        }
    ).where(n > 0)
    return result.assign(n=n)


def same_for_all_seeds(values: xr.DataArray) -> xr.DataArray:
    """Return whether several seeds have a value, all the same up to rounding; the result is without ``seed``."""
    # Called for every entry of a table: numpy takes a tenth of the time of xarray's own reductions.
    array, axis = values.values, values.get_axis_num("seed")
    low, high = np.fmin.reduce(array, axis), np.fmax.reduce(array, axis)  # these leave out NaN
    several = (~np.isnan(array)).sum(axis) > 1
    with np.errstate(invalid="ignore"):  # infinite values are the same
        equal = (high - low <= ROUNDING * np.maximum(abs(low), abs(high))) | (low == high)
    return values.isel(seed=0, drop=True).copy(data=several & equal)


def data_of(attrs: Mapping[str, Any]) -> str:
    """Return the name of the data set of results, which is the file's name for a table of the user's own."""
    name = str(attrs["dataset"])
    settings = json.loads(attrs.get("dataset_settings", "{}")) if name == "table" else {}
    return Path(settings.get("path", "")).name or name


def interim_analyses(ds: xr.Dataset) -> list[int]:
    """Return the stated numbers of seeds at which the experiment is judged; empty if once, with all seeds."""
    return [int(n) for n in json.loads(ds.attrs.get("interim_analyses", "[]"))]


def turn_of_pairs(ds: xr.Dataset) -> int | None:
    """Return the turn of antithetic pairs among later additions, see `admmbench.inference.levels.error_of_turn`.

    The turn follows those of the added methods that were judged before. None if the experiment states no pairs.
    """
    stated = json.loads(ds.attrs.get("pairs", "null"))
    return None if stated is None else int(stated["after"]) + 1


def added(ds: xr.Dataset) -> list[str]:
    """Return the labels of the methods that were added after the study was stated with the others, in their order."""
    return [str(label) for label in json.loads(ds.attrs.get("added", "[]"))]


def margin(ds: xr.Dataset) -> float:
    """Return the largest difference that does not matter, as the experiment states, in the unit of its metric."""
    return float(ds.attrs.get("margin", 0.0))


def redrawn(ds: xr.Dataset) -> float:
    """Return the ratio of test to training records where every seed draws both from one pool, and 0 elsewhere.

    Seeds then share most of their records, and their errors are not independent: the variance of a mean over n seeds
    is not ``s^2 / n``. Nadeau and Bengio (2003, Machine Learning 52, section 3) estimate it by
    ``s^2 (1 / n + n_test / n_train)``, which takes the correlation of two seeds for the part of the pool that tests.

    Parameters
    ----------
    ds
        Results of one experiment; their partition says how records were drawn.
    """
    # No records are drawn for computing times.
    if ds.attrs["metric"] == "seconds":
        return 0.0
    partition = json.loads(ds.attrs["partition"])
    drawn = isinstance(partition, dict) and isinstance(partition.get("train"), int)
    return float(ds.attrs["n_test"] / ds.attrs["n_train"]) if drawn else 0.0


def resolution(ds: xr.Dataset) -> xr.DataArray:
    """Return a lower bound of the standard deviation over seeds of differences of methods.

    An error is a count of test records over their number n. So a few seeds may have the same difference by chance,
    which does not show that the difference never varies: its deviation is at least that of half a record, ``1 / (2
    n)``. There is no bound where seeds draw nothing that tells two methods apart, so that each method has one training
    loss at all seeds.

    Parameters
    ----------
    ds
        Results of one experiment at one budget.

    Returns
    -------
    xarray.DataArray
        Bounds over ``algorithm`` and ``rival``, in the unit of the metric; 0 where the metric is no part of records.
    """
    if not is_fraction(ds):
        return xr.DataArray(0.0)
    is_constant = same_for_all_seeds(final(ds, "train_loss").reset_coords(drop=True))
    return ~(is_constant & _as_rivals(is_constant)) * (1 / (2 * tested_records(ds)))


def tested_records(ds: xr.Dataset) -> int:
    """Return the number of test records that a value of the metric is a mean of; of clients, the fewest."""
    return int(ds[ds.attrs["metric"]].attrs.get("n_records", ds.attrs["n_test"]))


def of_whole_runs(ds: xr.Dataset) -> bool:
    """Return whether budgets are totals, to which noise was calibrated, and not budgets of one iteration."""
    return bool(ds["epsilon"].attrs["budget_of"] == "run")


def is_constrained(ds: xr.Dataset) -> bool:
    """Return whether the problem has constraints; then nothing is private, and arithmetic is in double precision."""
    return "feasibility" in ds


def equally_private(ds: xr.Dataset) -> xr.DataArray:
    """Tell which methods are rivals, that is, may be compared at a budget.

    Two methods that ran are rivals at a finite budget if both have a guarantee, about the same neighbours, at the same
    delta, and if their total ε are equal. If noise was calibrated to a total ε, the requested one is the least that
    counts: a failed run has a smaller one, and so has each run of a search within the composition scope. Without a
    budget no privacy is asked for, and all methods that add no noise of their own are rivals.

    Parameters
    ----------
    ds
        Results of one experiment.

    Returns
    -------
    xarray.DataArray
        Truth values over ``algorithm``, ``rival`` and ``epsilon``, symmetric. A method is its own rival; one without a
        guarantee has no rival at a finite budget.
    """
    # Coordinates of methods would conflict with those of rivals.
    facts = ds.reset_coords()
    free = (facts["epsilon"] == math.inf) & ~noisy(facts)
    ran = (facts["status"] != Outcome.NOT_RUN).any("seed")
    guaranteed = ran & (facts["guarantee"] != "none")
    totals = final(facts, "epsilon_total")
    if "seed" in totals.dims:
        totals = totals.max("seed")
    if of_whole_runs(ds):
        totals = totals.where(totals > facts["epsilon"], facts["epsilon"])
    ratio = _as_rivals(totals) / totals
    equal = (ratio < EQUAL_TOTALS) & (ratio > 1 / EQUAL_TOTALS)
    for fact in ("delta", "relation", "unit"):
        equal &= _as_rivals(facts[fact]) == facts[fact]
    rivals = (equal & guaranteed & _as_rivals(guaranteed)) | (
        free & _as_rivals(free) & ran & _as_rivals(ran)
    )
    return rivals.transpose("algorithm", "rival", "epsilon")


def noisy(ds: xr.Dataset) -> xr.DataArray:
    """Tell which runs added noise, over ``algorithm`` and ``epsilon``: some methods add noise without a budget."""
    magnitude = ds["noise_magnitude"]
    return (magnitude > 0).any([dim for dim in ("seed", "round") if dim in magnitude.dims])


def is_optimum(ds: xr.Dataset) -> xr.DataArray:
    """Tell which methods compute the optimum over all records, over ``algorithm``."""
    return (with_declarations(ds)["role"] == "optimum").reset_coords(drop=True)


def _as_rivals(values: xr.DataArray) -> xr.DataArray:
    """Return values of methods as values of their rivals."""
    return values.rename(algorithm="rival")


def unfinished(ds: xr.Dataset) -> list[str]:
    """Return the labels of methods of which a run had all its rounds before the method's own test ended it."""
    stops = with_declarations(ds)["stops"].reset_coords(drop=True)
    stopped_early = stops & (ds["status"] == Outcome.COMPLETED).any(["epsilon", "seed"])
    return [str(label) for label in ds["algorithm"].values[stopped_early.values.astype(bool)]]


def is_fraction(ds: xr.Dataset) -> bool:
    """Return whether the metric of the problem is a part of the records, which is shown in percent."""
    return "valid_range" in ds[ds.attrs["metric"]].attrs


def counts(ds: xr.Dataset) -> xr.Dataset:
    """Count the runs in each state.

    Returns
    -------
    xarray.Dataset
        One variable for each `Outcome`, such as ``timed_out``, over ``algorithm`` and ``epsilon``.
    """
    return xr.Dataset({outcome.word: (ds["status"] == outcome).sum("seed") for outcome in Outcome})


def failed_runs(counts: xr.Dataset) -> tuple[list[str], int]:
    """Return the failed runs of one method and budget in words, by outcome, and the number of started runs.

    Parameters
    ----------
    counts
        Result of :func:`counts`, without dimensions.
    """
    # Variables without labels are faster, and a report needs thousands of counts.
    number = {end: int(counts.variables[end.word]) for end in (*SUCCESSFUL, *FAILED)}
    return [f"{number[end]} {end.words}" for end in FAILED if number[end]], sum(number.values())


def _completed(ds: xr.Dataset, values: xr.DataArray) -> xr.DataArray:
    """Return values with NaN for runs that did not complete; arrays without seeds stay as they are."""
    if "seed" not in values.dims:
        return values
    completed: xr.DataArray = values.where(ds["status"].isin(SUCCESSFUL))
    return completed
