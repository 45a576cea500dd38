"""Estimates from the values of runs, and their intervals: of means, of minima, of their differences."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import xarray as xr
from scipy import stats
from scipy.integrate import quad
from scipy.special import comb, nctdtrit, stdtrit

from admmbench.inference.intervals import LEVEL, ROUNDING


def lowest(values: xr.DataArray, of: int) -> float:
    """Average the lowest value of ``of`` runs over all choices of so many.

    This is how the claims read "among the 10 runs, the best testing error" (ryu2022, section IV-A), with the values of
    :func:`admmbench.results.statistics.final`: the minimum over runs of the error of each run's last model. The paper
    does not say which round stands for a run; the authors' code prints the accuracy of the last one, and taking the
    lowest of all rounds would select on the test set twice. The minimum falls as runs are added, so it is that of
    exactly as many as the paper has; of more runs, their minima are averaged.

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


def sampling_error(values: xr.DataArray, others: int) -> float:
    """Say how far the mean of another sample may lie from the mean of its population, with 95 % confidence.

    That is the half width of its t interval, by the standard deviation of the sample at hand: ``t s / sqrt(others)``.

    Parameters
    ----------
    values
        The sample at hand, over ``seed``.
    others
        Size of the other sample.

    Returns
    -------
    float
        In the unit of ``values``; NaN if fewer than two seeds have a value.
    """
    n = int(values.notnull().sum())
    if n < 2:
        return math.nan
    quantile = stdtrit(n - 1, (1 + LEVEL) / 2)
    return float(quantile * values.std(ddof=1) / math.sqrt(others))


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
        As in :func:`admmbench.inference.intervals.student`.
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
