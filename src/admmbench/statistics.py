"""Statistics over seeds and rounds, in and out as labelled arrays.

Everything here reads the ``results.nc`` of one experiment: variables over ``algorithm``,
``epsilon``, ``seed`` and ``round``, and ``status`` over the first three. A run that failed, such as one that
diverged or timed out, has no final model that counts, so its statistics are NaN; :func:`counts` says how many such
runs there are, and every statistic over seeds carries the number of runs ``n`` that entered it.
"""

from __future__ import annotations

import math
from typing import Literal, get_args

import numpy as np
import xarray as xr
from scipy.special import stdtrit

from admmbench.outcomes import FAILED, SUCCESSFUL, Outcome

Reduction = Literal["final", "best", "average"]
"""How one run becomes one number: last round, lowest of all rounds, mean over rounds."""

LEVEL = 0.95
"""Confidence level of every interval of the report."""

PERCENTILES = (20.0, 80.0)
"""Edges of the bands, in percent; those of the figures of ryu2021 and ryu2022."""

EQUAL_TOTALS = 1.02
"""Totals of a smaller ratio are equal: noise that is solved for a total meets it within one percent."""


def final(ds: xr.Dataset, metric: str) -> xr.DataArray:
    """Value of a metric at the last evaluated round of each run.

    Parameters
    ----------
    ds
        Results of one experiment.
    metric
        Name of a variable with a dimension ``round``.

    Returns
    -------
    xarray.DataArray
        The dimensions of the metric without ``round``, same unit; NaN for runs that did not
        complete.
    """
    values = ds[metric]
    evaluated = values.notnull()
    # argmax of the reversed mask is the distance of the last evaluated round from the end.
    last = values.sizes["round"] - 1 - evaluated.isel(round=slice(None, None, -1)).argmax("round")
    return _completed(ds, values.isel(round=last).drop_vars("round", errors="ignore"))


def best(ds: xr.Dataset, metric: str) -> xr.DataArray:
    """Lowest value of a metric over the evaluated rounds of each run.

    For a test error this selects the round on the test set: it is a bound on what early stopping
    could reach, not an estimate of it. The "best testing error among the 10 runs" of ryu2022
    (section IV-A) is something else, the minimum over runs; see :func:`over_seeds`.

    Parameters
    ----------
    ds
        Results of one experiment.
    metric
        Name of a variable with a dimension ``round``.

    Returns
    -------
    xarray.DataArray
        The dimensions of the metric without ``round``, same unit; NaN for runs that did not
        complete.
    """
    return _completed(ds, ds[metric].min("round", keep_attrs=True))


def average(ds: xr.Dataset, metric: str) -> xr.DataArray:
    """Mean of a metric over the evaluated rounds of each run.

    Parameters and result as in :func:`final`.
    """
    return _completed(ds, ds[metric].mean("round", keep_attrs=True))


def reduce(ds: xr.Dataset, metric: str, how: Reduction) -> xr.DataArray:
    """One number per run: :func:`final`, :func:`best` or :func:`average`.

    Raises
    ------
    ValueError
        If ``how`` is none of the three.
    """
    if how not in get_args(Reduction):
        raise ValueError(f"reduction must be one of {get_args(Reduction)}, got {how!r}")
    return {"final": final, "best": best, "average": average}[how](ds, metric)


def over_seeds(values: xr.DataArray, how: Literal["mean", "best"]) -> xr.DataArray:
    """Mean or lowest value over seeds, of the runs that have a value.

    ``best`` is how the claims read "among the 10 runs, the best testing error" (ryu2022, section
    IV-A), with :func:`final` values: the minimum over runs of the error of each run's last model.
    The paper does not say which round stands for a run; the authors' code prints the accuracy of
    the last one, and taking the lowest of all rounds would select on the test set twice.
    """
    return values.mean("seed") if how == "mean" else values.min("seed")


def band(values: xr.DataArray) -> xr.Dataset:
    """Mean and 20th to 80th percentile over seeds.

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
    edges = filled.quantile([q / 100 for q in PERCENTILES], "seed", skipna=True)
    n = values.notnull().sum("seed")
    result = xr.Dataset(
        {
            "mean": filled.mean("seed"),
            "lower": edges.isel(quantile=0, drop=True),
            "upper": edges.isel(quantile=1, drop=True),
        }
    ).where(n > 0)
    return result.assign(n=n)


def interval(values: xr.DataArray, level: float = LEVEL) -> xr.Dataset:
    """Student t interval of the mean over seeds.

    Parameters
    ----------
    values
        Any array with a dimension ``seed``; NaN where a run has no value.
    level
        Confidence level, in (0, 1).

    Returns
    -------
    xarray.Dataset
        ``mean``, ``lower``, ``upper`` in the unit of ``values``, and ``n``. The bounds are NaN
        where fewer than two seeds have a value.
    """
    n = values.notnull().sum("seed")
    freedom = (n - 1).where(n > 1)
    variance = ((values - values.mean("seed")) ** 2).sum("seed") / freedom
    half = stdtrit(freedom, (1 + level) / 2) * np.sqrt(variance / n.where(n > 1))
    mean = values.mean("seed")
    return xr.Dataset({"mean": mean, "lower": mean - half, "upper": mean + half, "n": n})


def sampling_error(values: xr.DataArray, others: int, level: float = LEVEL) -> float:
    """How far the means of two samples of one population differ at most, with some confidence.

    The half width of the t interval of their difference, by the standard deviation of the sample at hand:
    t s sqrt(1/n + 1/others).

    Parameters
    ----------
    values
        The sample at hand, over ``seed``.
    others
        Size of the other sample.
    level
        Confidence level, in (0, 1).

    Returns
    -------
    float
        In the unit of ``values``; NaN if fewer than two seeds have a value.
    """
    n = int(values.notnull().sum())
    if n < 2:
        return float("nan")
    quantile = stdtrit(n - 1, (1 + level) / 2)
    return float(quantile * values.std(ddof=1) * (1 / n + 1 / others) ** 0.5)


def paired(first: xr.DataArray, second: xr.DataArray, level: float = LEVEL) -> xr.Dataset:
    """Mean difference ``first - second`` over the seeds they share, with its t interval.

    Seeds fix the partition of the data and the random streams, so two methods of one experiment are
    compared seed by seed; the interval is that of the paired t test.

    Parameters
    ----------
    first, second
        Arrays with a dimension ``seed``, same unit. A seed enters where both have a value.
    level
        Confidence level, in (0, 1).

    Returns
    -------
    xarray.Dataset
        ``mean`` (of the difference), ``lower``, ``upper`` and ``n``, the number of pairs.
    """
    first, second = xr.align(first, second, join="inner")
    return interval(first - second, level)


def of_whole_runs(ds: xr.Dataset) -> bool:
    """Whether budgets are totals, for which noise was solved, and not those of one iteration."""
    return bool(ds["epsilon"].attrs["budget_of"] == "the whole run")


def equally_private(ds: xr.Dataset) -> xr.DataArray:
    """Say which methods are rivals: those that may be compared at a budget.

    Two methods that ran are rivals at a finite budget if both have a guarantee, about the same neighbours, at the same
    delta, and if their totals are equal. Without a budget no privacy is asked for, and all are rivals that add no noise
    of their own.

    Parameters
    ----------
    ds
        Results of one experiment.

    Returns
    -------
    xarray.DataArray
        Over ``algorithm``, ``rival`` and ``epsilon``, symmetric. A method is its own rival; one without a guarantee has
        none at a finite budget.
    """
    facts = ds.reset_coords()  # without the coordinates of a method, which a rival has as well
    free = (facts["epsilon"] == math.inf) & ~noisy(facts)
    ran = (facts["status"] != Outcome.NOT_RUN).any("seed")
    guaranteed = ran & (facts["guarantee"] != "none")
    totals = final(facts, "epsilon_total")
    if "seed" in totals.dims:
        totals = totals.max("seed")
    ratio = _of_rivals(totals) / totals
    equal = (ratio < EQUAL_TOTALS) & (ratio > 1 / EQUAL_TOTALS)
    for fact in ("delta", "neighbours"):
        equal &= _of_rivals(facts[fact]) == facts[fact]
    found = (equal & guaranteed & _of_rivals(guaranteed)) | (
        free & _of_rivals(free) & ran & _of_rivals(ran)
    )
    return found.transpose("algorithm", "rival", "epsilon")


def noisy(ds: xr.Dataset) -> xr.DataArray:
    """Say which runs added noise, over ``algorithm`` and ``epsilon``: some methods set it without a budget."""
    magnitude = ds["noise_magnitude"]
    return (magnitude > 0).any([dim for dim in ("seed", "round") if dim in magnitude.dims])


def _of_rivals(values: xr.DataArray) -> xr.DataArray:
    return values.rename(algorithm="rival")


def is_fraction(ds: xr.Dataset) -> bool:
    """Whether the metric of the problem is a part of the records, which is shown in percent."""
    return "valid_range" in ds[ds.attrs["metric"]].attrs


def counts(ds: xr.Dataset) -> xr.Dataset:
    """Count the runs in each state.

    Returns
    -------
    xarray.Dataset
        One variable for each `Outcome`, such as ``timed_out``, over ``algorithm`` and ``epsilon``.
    """
    return xr.Dataset({each.word: (ds["status"] == each).sum("seed") for each in Outcome})


def lost(counts: xr.Dataset) -> tuple[list[str], int]:
    """Say how many runs of one method and budget have no final model, and how many were started.

    Parameters
    ----------
    counts
        What :func:`counts` gives, without dimensions.
    """
    found = [f"{int(counts[each.word])} {each.words}" for each in FAILED if counts[each.word] > 0]
    return found, int(sum(counts[each.word] for each in (*SUCCESSFUL, *FAILED)))


def _completed(ds: xr.Dataset, values: xr.DataArray) -> xr.DataArray:
    """Blank the runs that did not complete; arrays without seeds pass through."""
    if "seed" not in values.dims:
        return values
    kept: xr.DataArray = values.where(ds["status"].isin(SUCCESSFUL))
    return kept
