"""Statistics over seeds and rounds, in and out as labelled arrays.

Everything here reads the ``results.nc`` of one experiment: variables over ``algorithm``,
``epsilon``, ``seed`` and ``round``, and ``status`` over the first three. A run that failed, such as one that
diverged or timed out, has no final model that counts, so its statistics are NaN; :func:`counts` says how many such
runs there are, and every statistic over seeds carries the number of runs ``n`` that entered it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, Self, TypeVar, get_args

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy import stats
from scipy.integrate import quad
from scipy.special import comb, nctdtrit, stdtrit

from admmbench.frames.outcomes import FAILED, SUCCESSFUL, Outcome
from admmbench.results.declared import with_kinship

Labelled = TypeVar("Labelled", xr.Dataset, xr.DataArray)
Reduction = Literal["final", "best", "average"]
"""How one run becomes one number: last round, lowest of all rounds, mean over rounds."""

LEVEL = 0.95
"""Confidence level of every interval of the report."""

ROUNDING = 1e-9
"""Standard deviations below this part of the values count as 0: they come from the order of sums."""

PERCENTILES = (20.0, 80.0)
"""Edges of the bands, in percent; those of the figures of ryu2021 and ryu2022."""

FEW_SEEDS = 3
"""For this number of seeds or fewer, each seed is shown instead of a band."""

EQUAL_TOTALS = 1.02
"""Totals with a smaller ratio count as equal: noise that is calibrated to a total meets it within one percent."""


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
        The dimensions of the metric without ``round``, same unit; NaN for runs that did not
        complete, and where nothing is known of any round after the start.
    """
    values = after_start(ds[metric])
    evaluated = values.notnull()
    # argmax of the reversed mask is the distance of the last evaluated round from the end.
    last = values.sizes["round"] - 1 - evaluated.isel(round=slice(None, None, -1)).argmax("round")
    return _completed(ds, values.isel(round=last).drop_vars("round", errors="ignore"))


def after_start(values: Labelled) -> Labelled:
    """Leave out round 0, when the model is what it starts as: equal for all methods, so that it tells none apart."""
    return values.sel(round=values["round"] > 0)


def unlost(ds: xr.Dataset, metric: str) -> xr.DataArray:
    """Do as :func:`final`, with NaN for all seeds of a method at a budget where it lost one: the rest favours it."""
    return final(ds, metric).where(~lost_any(ds))


def lost_any(ds: xr.Dataset) -> xr.DataArray:
    """Say whether a method lost a run at a budget, over ``algorithm`` and ``epsilon`` as far as there are such."""
    return ds["status"].isin(FAILED).any("seed")


def fewer_seeds(ds: xr.Dataset) -> list[tuple[str, float, int]]:
    """List methods and budgets that were run with fewer seeds than there are: label, epsilon, number of seeds."""
    started = (ds["status"] != Outcome.NOT_RUN).sum("seed").stack(point=["algorithm", "epsilon"])
    fewer = started[(started > 0) & (started < ds.sizes["seed"])]
    points = zip(fewer["point"].values, fewer.values, strict=True)
    return [(label, epsilon, int(n)) for (label, epsilon), n in points]


def reduce(ds: xr.Dataset, metric: str, how: Reduction) -> xr.DataArray:
    """Make one number of each run.

    Parameters
    ----------
    ds, metric
        As in :func:`final`.
    how
        ``final`` takes the value of the last evaluated round. ``best`` and ``average`` take the lowest and the mean of
        all evaluated rounds but the start. For a test error, ``best`` selects the round on the test set: it is a bound
        on what early stopping could reach, not an estimate of it. The "best testing error among the 10 runs" of
        ryu2022 (section IV-A) is something else, the minimum over runs; see :func:`lowest`.

    Returns
    -------
    xarray.DataArray
        As of :func:`final`.

    Raises
    ------
    ValueError
        If ``how`` is none of the three.
    """
    if how not in get_args(Reduction):
        raise ValueError(f"reduction must be one of {get_args(Reduction)}, got {how!r}")
    if how == "final":
        return final(ds, metric)
    values = after_start(ds[metric])
    over_rounds = values.min if how == "best" else values.mean
    return _completed(ds, over_rounds("round", keep_attrs=True))


def lowest(values: xr.DataArray, of: int) -> float:
    """Average the lowest value of ``of`` runs over all choices of so many.

    This is how the claims read "among the 10 runs, the best testing error" (ryu2022, section IV-A), with :func:`final`
    values: the minimum over runs of the error of each run's last model. The paper does not say which round stands for
    a run; the authors' code prints the accuracy of the last one, and taking the lowest of all rounds would select on
    the test set twice. The minimum falls as runs are added, so it is that of exactly as many as the paper has; of more
    runs, their minima are averaged.

    Parameters
    ----------
    values
        One number for each ``seed``; NaN where a run has none.
    of
        Number of runs; with fewer values, the minimum of those at hand.

    Returns
    -------
    float
        Same unit; NaN without any value.
    """
    ascending = np.sort(values.values[np.isfinite(values.values)])
    n = len(ascending)
    if n <= of:
        return float(ascending[0]) if n else math.nan
    chosen = comb(np.arange(n)[::-1], of - 1) / comb(n, of)  # how often a value is the lowest
    return float(chosen @ ascending)


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
    """Say whether several seeds have a value, and all have the same up to rounding; the result is without ``seed``."""
    # Asked for every cell of a table: a tenth of the time that xarray's own reductions take.
    array, axis = values.values, values.get_axis_num("seed")
    low, high = np.fmin.reduce(array, axis), np.fmax.reduce(array, axis)  # these leave out NaN
    several = (~np.isnan(array)).sum(axis) > 1
    with np.errstate(invalid="ignore"):  # infinite values are the same
        equal = (high - low <= ROUNDING * np.maximum(abs(low), abs(high))) | (low == high)
    return values.isel(seed=0, drop=True).copy(data=several & equal)


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
    partition = json.loads(ds.attrs["partition"])
    drawn = isinstance(partition, dict) and isinstance(partition.get("train"), int)
    return float(ds.attrs["n_test"] / ds.attrs["n_train"]) if drawn else 0.0


def interval(values: xr.DataArray, level: float = LEVEL, redrawn: float = 0.0) -> xr.Dataset:
    """Compute Student's t interval of the mean over seeds.

    Parameters
    ----------
    values
        Any array with a dimension ``seed``; NaN where a run has no value.
    level
        Confidence level, in (0, 1).
    redrawn
        What :func:`redrawn` gives: by how much the squared standard error exceeds ``s^2 / n``, in ``s^2``.

    Returns
    -------
    xarray.Dataset
        ``mean``, ``lower``, ``upper`` in the unit of ``values``, and ``n``. The bounds are NaN
        where fewer than two seeds have a value.
    """
    n = values.notnull().sum("seed")
    several = n.where(n > 1)
    mean = values.mean("seed")
    variance = ((values - mean) ** 2).sum("seed") / (several - 1)
    half = stdtrit(several - 1, (1 + level) / 2) * np.sqrt(variance * (1 / several + redrawn))
    return xr.Dataset({"mean": mean, "lower": mean - half, "upper": mean + half, "n": n})


def difference(first: xr.DataArray, second: xr.DataArray) -> xr.DataArray:
    """Subtract two methods of one experiment seed by seed.

    Seeds fix the partition of the data and the random streams, so :func:`interval` of the difference is that of the
    paired t test.

    Parameters
    ----------
    first, second
        Arrays with a dimension ``seed``, same unit.

    Returns
    -------
    xarray.DataArray
        ``first - second`` for each seed that both have; NaN where one has no value.
    """
    first, second = xr.align(first, second, join="inner")
    return first - second


def sampling_error(values: xr.DataArray, others: int, level: float = LEVEL) -> float:
    """Say how far the mean of another sample may lie from the mean of its population, with some confidence.

    That is the half width of its t interval, by the standard deviation of the sample at hand: ``t s / sqrt(others)``.

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
        return math.nan
    return float(stdtrit(n - 1, (1 + level) / 2) * values.std(ddof=1) / math.sqrt(others))


def normal_minimum(of: int) -> float:
    """Say how far the lowest of ``of`` normal values lies below their mean on average, in standard deviations."""

    def density(x: float) -> float:
        return float(of * x * stats.norm.pdf(x) * stats.norm.cdf(x) ** (of - 1))

    return float(quad(density, -12, 12)[0])


@dataclass(frozen=True)
class Estimate:
    """An estimate is a mean over seeds less ``depth`` standard deviations; it holds what its interval needs.

    ``depth`` is 0 for the mean itself, and :func:`normal_minimum` for the lowest of so many runs, whose expectation is
    ``mu - depth sigma`` if the values of runs are normal.

    Attributes
    ----------
    mean, sd
        Of the values; ``sd`` with ``n - 1``, and 0 for one value.
    n
        Number of seeds.
    redrawn
        As in :func:`interval`.
    depth
        Standard deviations below the mean.
    """

    mean: float
    sd: float
    n: int
    redrawn: float = 0.0
    depth: float = 0.0

    @classmethod
    def of(cls, values: xr.DataArray, redrawn: float = 0.0, depth: float = 0.0) -> Self:
        """Estimate from one value for each ``seed``; NaN do not count, nor does rounding."""
        finite = values.values[np.isfinite(values.values)]
        if not len(finite):
            return cls(math.nan, 0.0, 0, redrawn, depth)
        sd = float(finite.std(ddof=1)) if len(finite) > 1 else 0.0
        agree = sd <= ROUNDING * float(np.abs(finite).max())
        return cls(float(finite.mean()), 0.0 if agree else sd, len(finite), redrawn, depth)

    @property
    def value(self) -> float:
        """Return the estimate itself."""
        return self.mean - self.depth * self.sd

    def bounds(self, level: float) -> tuple[float, float]:
        """Return both ends of the interval, which is exact for normal values.

        ``(mean - theta) / (s sqrt(v))`` with ``theta = mu - depth sigma`` and ``v = 1 / n + redrawn`` is noncentral t
        with ``n - 1`` degrees of freedom and noncentrality ``depth / sqrt(v)``; without depth, this is Student's
        interval.
        """
        if self.sd == 0 or self.n < 2:
            return self.value, self.value
        error = math.sqrt(1 / self.n + self.redrawn)
        tails = (1 + level) / 2, (1 - level) / 2
        if self.depth:
            ends = [nctdtrit(self.n - 1, self.depth / error, tail) for tail in tails]
        else:
            ends = [stdtrit(self.n - 1, tail) for tail in tails]
        return self.mean - ends[0] * self.sd * error, self.mean - ends[1] * self.sd * error

    def with_seeds(self, n: int) -> Self:
        """Return the same mean and spread from ``n`` seeds."""
        return replace(self, n=n)


@dataclass(frozen=True)
class Difference:
    """A difference is that of two estimates, such as two minima over runs.

    Its interval comes from theirs (Zou and Donner 2008, Statistics in Medicine 27, equation 7, "MOVER"). They count as
    independent; methods that share seeds vary together, if at all, so that the interval is rather too wide.
    """

    first: Estimate
    second: Estimate

    @property
    def value(self) -> float:
        """Return the estimate itself."""
        return self.first.value - self.second.value

    @property
    def sd(self) -> float:
        """Return the standard deviation of a difference of values."""
        return math.hypot(self.first.sd, self.second.sd)

    @property
    def n(self) -> int:
        """Return the number of seeds that both have."""
        return min(self.first.n, self.second.n)

    def bounds(self, level: float) -> tuple[float, float]:
        """Return both ends of the interval."""
        (low, high), (other_low, other_high) = (
            estimate.bounds(level) for estimate in (self.first, self.second)
        )
        below = math.hypot(self.first.value - low, other_high - self.second.value)
        above = math.hypot(high - self.first.value, self.second.value - other_low)
        return self.value - below, self.value + above

    def with_seeds(self, n: int) -> Self:
        """Return the same means and spreads from ``n`` seeds."""
        return replace(self, first=self.first.with_seeds(n), second=self.second.with_seeds(n))


def jackknife(values: xr.DataArray, statistic: Callable[[xr.DataArray], float]) -> xr.DataArray:
    """Compute pseudo-values of a statistic of means, one for each seed; their t interval is about it.

    They are ``n T - (n - 1) T_k``, where ``T_k`` leaves out seed ``k`` (Tukey 1958). For a statistic that is
    linear in the values of seeds these are its values seed by seed; for others, their mean has less bias than ``T``.

    Parameters
    ----------
    values
        Any array with a dimension ``seed``. Seeds that lack a value do not enter.
    statistic
        What it makes of such an array.

    Returns
    -------
    xarray.DataArray
        Over ``seed``; the statistic itself, for one seed.
    """
    whole = values.dropna("seed", how="any")
    n = whole.sizes["seed"]
    if n < 2:
        return xr.DataArray([statistic(whole)] * n, dims="seed")
    total = statistic(whole)
    others = [statistic(whole.drop_isel(seed=k)) for k in range(n)]
    return xr.DataArray([n * total - (n - 1) * other for other in others], dims="seed")


def sign_flips(values: NDArray[np.float64], bound: float, *, above: bool) -> float:
    """Return the p-value of the permutation test that values are centred beyond a bound.

    Under the contrary, values are symmetric about the bound, and each may as well lie as far on its other side. All
    ``2^n`` patterns are counted up to ``n = 13``, and 9,999 random ones of more.

    Parameters
    ----------
    values
        One for each seed, finite.
    bound
        In the same unit.
    above
        Whether above the bound, or below.
    """
    test = stats.permutation_test(
        (values - bound,),
        lambda x, axis: x.mean(axis=axis),
        permutation_type="samples",
        alternative="greater" if above else "less",
        vectorized=True,
        n_resamples=9999,
        rng=np.random.default_rng(0),
    )
    return float(test.pvalue)


def of_whole_runs(ds: xr.Dataset) -> bool:
    """Say whether budgets are totals, to which noise was calibrated, and not budgets of one iteration."""
    return bool(ds["epsilon"].attrs["budget_of"] == "the whole run")


def is_constrained(ds: xr.Dataset) -> bool:
    """Say whether the problem has constraints; then nothing is private, and arithmetic is in double precision."""
    return "feasibility" in ds


def equally_private(ds: xr.Dataset) -> xr.DataArray:
    """Say which methods are rivals: those that may be compared at a budget.

    Two methods that ran are rivals at a finite budget if both have a guarantee, about the same neighbours, at the same
    delta, and if their totals are equal. If noise was calibrated to a total, that is the one that was asked for: a run
    that was lost spent less, and its method is a rival that lost a run. Without a budget no privacy is asked for, and
    all methods that add no noise of their own are rivals.

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
    if of_whole_runs(ds):
        totals = totals.where(~lost_any(facts), facts["epsilon"])
    ratio = _of_rivals(totals) / totals
    equal = (ratio < EQUAL_TOTALS) & (ratio > 1 / EQUAL_TOTALS)
    for fact in ("delta", "neighbours"):
        equal &= _of_rivals(facts[fact]) == facts[fact]
    rivals = (equal & guaranteed & _of_rivals(guaranteed)) | (
        free & _of_rivals(free) & ran & _of_rivals(ran)
    )
    return rivals.transpose("algorithm", "rival", "epsilon")


def noisy(ds: xr.Dataset) -> xr.DataArray:
    """Say which runs added noise, over ``algorithm`` and ``epsilon``: some methods set it without a budget."""
    magnitude = ds["noise_magnitude"]
    return (magnitude > 0).any([dim for dim in ("seed", "round") if dim in magnitude.dims])


def is_optimum(ds: xr.Dataset) -> xr.DataArray:
    """Say which methods compute the optimum over all records, over ``algorithm``."""
    return (with_kinship(ds)["role"] == "optimum").reset_coords(drop=True)


def _of_rivals(values: xr.DataArray) -> xr.DataArray:
    return values.rename(algorithm="rival")


def is_fraction(ds: xr.Dataset) -> bool:
    """Say whether the metric of the problem is a part of the records, which is shown in percent."""
    return "valid_range" in ds[ds.attrs["metric"]].attrs


def counts(ds: xr.Dataset) -> xr.Dataset:
    """Count the runs in each state.

    Returns
    -------
    xarray.Dataset
        One variable for each `Outcome`, such as ``timed_out``, over ``algorithm`` and ``epsilon``.
    """
    return xr.Dataset({outcome.word: (ds["status"] == outcome).sum("seed") for outcome in Outcome})


def lost(counts: xr.Dataset) -> tuple[list[str], int]:
    """Say how many runs of one method and budget have no final model, and how many were started.

    Parameters
    ----------
    counts
        What :func:`counts` gives, without dimensions.
    """
    # Variables without labels, as a report asks for thousands.
    number = {end: int(counts.variables[end.word]) for end in (*SUCCESSFUL, *FAILED)}
    return [f"{number[end]} {end.words}" for end in FAILED if number[end]], sum(number.values())


def _completed(ds: xr.Dataset, values: xr.DataArray) -> xr.DataArray:
    """Blank the runs that did not complete; arrays without seeds pass through."""
    if "seed" not in values.dims:
        return values
    completed: xr.DataArray = values.where(ds["status"].isin(SUCCESSFUL))
    return completed
