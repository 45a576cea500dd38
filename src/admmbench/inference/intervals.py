"""Confidence intervals: of means over seeds, of minima over runs, of their differences, and of probabilities."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy.special import betaincinv, betaln, comb, nctdtrit, stdtrit, xlog1py, xlogy

LEVEL = 0.95
"""Confidence level of every interval that is reported alone."""

ROUNDING = 1e-9
"""Part of the values below which a standard deviation counts as 0: it comes from the order of sums."""


def moments(values: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Compute mean and standard deviation along the last axis, where NaN do not count.

    Parameters
    ----------
    values
        Shape (..., n).

    Returns
    -------
    tuple of arrays
        Mean, standard deviation with ``n - 1`` (NaN for fewer than two values, 0 below `ROUNDING`), number of values.
    """
    there = ~np.isnan(values)
    n = there.sum(-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = np.where(there, values, 0.0).sum(-1) / n
        squares = np.where(there, values - mean[..., None], 0.0) ** 2
        deviation = np.sqrt(squares.sum(-1) / np.where(n > 1, n - 1, np.nan))
    largest = np.abs(values).max(-1, where=there, initial=0.0)
    return mean, np.where(deviation <= ROUNDING * largest, 0.0, deviation), n


def ends(
    mean: Any, deviation: Any, n: Any, level: Any, redrawn: float = 0.0, depth: float = 0.0
) -> tuple[Any, Any]:
    """Compute both ends of the interval of a mean less ``depth`` standard deviations, exact for normal values.

    ``(mean - theta) / (s sqrt(v))`` with ``theta = mu - depth sigma`` and ``v = 1 / n + redrawn`` is noncentral t with
    ``n - 1`` degrees of freedom and noncentrality ``depth / sqrt(v)``; without depth, this is Student's interval.

    Parameters
    ----------
    mean, deviation, n
        Moments, see :func:`moments`: numbers, arrays or labelled arrays.
    level
        Confidence level, in (0, 1); a number or an array.
    redrawn
        Excess of the squared standard error over ``s^2 / n``, in ``s^2``: Nadeau and Bengio (2003).
    depth
        Standard deviations below the mean.
    """
    error = np.sqrt(1 / n + redrawn)
    tail = (1 + level) / 2
    # Noncentral t is skewed, so both ends need a quantile of their own; Student's are mirror images.
    if depth:
        quantiles = [nctdtrit(n - 1, depth / error, end) for end in (tail, 1 - tail)]
    else:
        quantiles = [quantile := stdtrit(n - 1, tail), -quantile]
    return mean - quantiles[0] * deviation * error, mean - quantiles[1] * deviation * error


def student(
    values: xr.DataArray,
    level: float | xr.DataArray = LEVEL,
    redrawn: float = 0.0,
    least: float | xr.DataArray = 0.0,
) -> xr.Dataset:
    """Compute Student's t interval of the mean over seeds; for differences, the interval of the paired t test.

    Parameters
    ----------
    values
        Any array with a dimension ``seed``; NaN where a run has no value.
    level, redrawn
        See :func:`ends`.
    least
        Lower bound of the standard deviation.

    Returns
    -------
    xarray.Dataset
        ``mean``, ``lower``, ``upper`` and ``deviation`` in the unit of ``values``, and ``n``. The last three numbers
        are NaN where fewer than two seeds have a value.
    """
    mean, deviation, n = xr.apply_ufunc(
        moments, values, input_core_dims=[["seed"]], output_core_dims=[[], [], []]
    )
    # A few seeds may have equal values by chance, and the interval would be a point that shows everything.
    deviation = np.maximum(deviation, least)
    lower, upper = ends(mean, deviation, n.where(n > 1), level, redrawn)
    return xr.Dataset(
        {"mean": mean, "lower": lower, "upper": upper, "deviation": deviation, "n": n}
    )


@dataclass(frozen=True)
class Estimate:
    """Estimate of the mean over seeds less ``depth`` standard deviations.

    ``depth`` is 0 for the mean itself, and :func:`normal_minimum` for the lowest of several runs, whose expectation is
    ``mu - depth sigma`` if the values of runs are normal.

    Attributes
    ----------
    mean, deviation, n
        Moments, see :func:`moments`; a single value counts as exact, with a deviation of 0.
    redrawn, depth
        See :func:`ends`.
    """

    mean: float
    deviation: float
    n: int
    redrawn: float = 0.0
    depth: float = 0.0

    @classmethod
    def of(cls, values: xr.DataArray, redrawn: float = 0.0, depth: float = 0.0) -> Self:
        """Estimate from one value for each ``seed``; NaN and infinite ones do not count."""
        mean, deviation, n = moments(np.where(np.isfinite(values), values, np.nan))
        return cls(float(mean), float(deviation) if n > 1 else 0.0, int(n), redrawn, depth)

    @property
    def value(self) -> float:
        """Return the estimate itself."""
        return self.mean - self.depth * self.deviation

    def interval(self, level: float) -> tuple[float, float]:
        """Return both ends of the interval; the estimate itself for both, if the estimate is exact."""
        if self.deviation == 0:
            return self.value, self.value
        low, high = ends(self.mean, self.deviation, self.n, level, self.redrawn, self.depth)
        return float(low), float(high)

    def with_seeds(self, n: int) -> Self:
        """Return the same mean and standard deviation from ``n`` seeds."""
        return replace(self, n=n)


@dataclass(frozen=True)
class Difference:
    """Difference of two estimates, such as two minima over runs.

    The interval comes from the intervals of both estimates (Zou and Donner 2008, Statistics in Medicine 27, equation 7,
    "MOVER"). The estimates count as independent; methods that share seeds vary together, if at all, so that the
    interval is rather too wide.
    """

    first: Estimate
    second: Estimate

    @property
    def value(self) -> float:
        """Return the estimate itself."""
        return self.first.value - self.second.value

    @property
    def deviation(self) -> float:
        """Return the standard deviation of a difference of values."""
        return math.hypot(self.first.deviation, self.second.deviation)

    @property
    def n(self) -> int:
        """Return the smaller number of seeds of the two estimates."""
        return min(self.first.n, self.second.n)

    def interval(self, level: float) -> tuple[float, float]:
        """Return both ends of the interval."""
        (low, high), (other_low, other_high) = (
            estimate.interval(level) for estimate in (self.first, self.second)
        )
        below = math.hypot(self.first.value - low, other_high - self.second.value)
        above = math.hypot(high - self.first.value, self.second.value - other_low)
        return self.value - below, self.value + above

    def with_seeds(self, n: int) -> Self:
        """Return the same means and standard deviations from ``n`` seeds."""
        return replace(self, first=self.first.with_seeds(n), second=self.second.with_seeds(n))


def lowest(values: xr.DataArray, n_runs: int) -> float:
    """Return the expected lowest value of ``n_runs`` runs, over all choices of so many runs from the values.

    The minimum falls as runs are added, so that a paper's minimum is compared with the minimum of exactly as many runs;
    with more values, the minima of all choices are averaged.

    Parameters
    ----------
    values
        One number for each ``seed``; NaN where a run has none.
    n_runs
        Number of runs; with fewer values, the minimum of these values counts.

    Returns
    -------
    float
        Same unit; NaN without any value.
    """
    ascending = np.sort(values.values[np.isfinite(values.values)])
    n = len(ascending)
    if n <= n_runs:
        return float(ascending[0]) if n else math.nan
    # Part of the choices in which each value is the lowest.
    chosen = comb(np.arange(n)[::-1], n_runs - 1) / comb(n, n_runs)
    return float(chosen @ ascending)


def normal_minimum(n_runs: int) -> float:
    """Return the mean distance of the lowest of ``n_runs`` normal values below their mean, in standard deviations."""
    # Slow to import, and few claims are about the lowest of several runs.
    from scipy import stats
    from scipy.integrate import quad

    def density(x: float) -> float:
        return float(n_runs * x * stats.norm.pdf(x) * stats.norm.cdf(x) ** (n_runs - 1))

    return float(quad(density, -12, 12)[0])


def sampling_error(values: xr.DataArray, others: int) -> float:
    """Return half the interval of the mean of another sample, with the standard deviation of the sample at hand.

    Parameters
    ----------
    values
        The sample at hand, over ``seed``.
    others
        Size of the other sample.

    Returns
    -------
    float
        ``t s / sqrt(others)`` in the unit of ``values``; NaN if fewer than two seeds have a value.
    """
    _, deviation, n = moments(values.values)
    return float(stdtrit(n - 1, (1 + LEVEL) / 2) * deviation / math.sqrt(others))


def clopper_pearson(count: Any, n: Any, level: Any, most: Any = None) -> tuple[Any, Any]:
    """Compute the interval of Clopper and Pearson (1934, Biometrika 26) of a probability.

    Parameters
    ----------
    count, n
        Numbers of events and of trials: numbers, arrays or labelled arrays.
    level
        Confidence level.
    most
        Number of events with the doubtful ones, for the upper end; ``count``, if None.

    Returns
    -------
    tuple
        Lower and upper ends; without trials 0 and 1.
    """
    most = count if most is None else most
    tail = (1 - level) / 2
    low = betaincinv(np.maximum(count, 1), n - count + 1, tail)
    high = betaincinv(most + 1, np.maximum(n - most, 1), 1 - tail)
    return np.minimum(low, count > 0), np.maximum(high, most >= n)


def chance_of_lower(differences: xr.DataArray, level: float | xr.DataArray) -> xr.Dataset:
    """Estimate the probability that a difference is negative at a seed.

    Parameters
    ----------
    differences
        Differences over ``seed`` and other dims; NaN where one of two methods was not run.
    level
        Level of each interval.

    Returns
    -------
    xarray.Dataset
        ``mean``: part of the seeds, where a difference of 0 counts half. ``lower`` and ``upper``: interval of
        :func:`clopper_pearson`, with differences of 0 counted as positive and as negative. NaN without seeds.
    """
    n = differences.notnull().sum("seed")
    below, tied = (differences < 0).sum("seed"), (differences == 0).sum("seed")
    lower, upper = clopper_pearson(below, n, level, below + tied)
    chance = xr.Dataset({"mean": (below + tied / 2) / n.clip(1), "lower": lower, "upper": upper})
    return chance.where(n > 0)


def half_width_over_records(mistakes: xr.DataArray, level: float | xr.DataArray) -> xr.DataArray:
    """Compute half the interval of the difference of two errors over test records drawn like those at hand.

    Each record has the part of the seeds at which a method is wrong; a difference of two methods is the mean over
    records of the differences of these parts, which has Student's interval. The randomness of seeds widens the
    interval a little.

    Parameters
    ----------
    mistakes
        Parts of the seeds, 0 to 1, over ``algorithm`` and ``record``.
    level
        Level of each interval.

    Returns
    -------
    xarray.DataArray
        Half widths over ``algorithm`` and ``rival``.
    """
    n = mistakes.sizes["record"]
    parts = mistakes.transpose("algorithm", "record")
    # Methods that fail on the same records vary together, so the variance of a difference needs their covariance.
    covariances = np.atleast_2d(np.cov(parts.values))
    variances = np.diag(covariances)
    error = np.sqrt(np.maximum(variances[:, None] + variances[None] - 2 * covariances, 0) / n)
    labels = parts["algorithm"].values
    coords = {"algorithm": labels, "rival": labels}
    return xr.DataArray(error, coords, ("algorithm", "rival")) * stdtrit(n - 1, (1 + level) / 2)


def anytime_proportion(successes: int, trials: int, level: float) -> tuple[float, float]:
    """Compute an interval of a probability that holds at all numbers of trials together, so that they may stop.

    The interval has the probabilities under which the successes are not less likely, by a factor of ``1 - level``, than
    under the mixture of all probabilities by the law Beta(1/2, 1/2): that ratio is a martingale (Robbins 1970). The
    ends are outside of it by at most 1e-4.

    Parameters
    ----------
    successes, trials
        Numbers so far.
    level
        Confidence level.
    """
    p = np.linspace(0, 1, 10_001)
    failures = trials - successes
    mixture = betaln(successes + 0.5, failures + 0.5) - betaln(0.5, 0.5)
    ratio = mixture - xlogy(successes, p) - xlog1py(failures, -p)
    (accepted,) = np.nonzero(ratio < -math.log1p(-level))
    return float(p[max(accepted[0] - 1, 0)]), float(p[min(accepted[-1] + 1, len(p) - 1)])
