"""Numbers of seeds that are conclusive, and differences that a number of seeds shows, with the probability `POWER`."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence

from scipy.special import ndtr, ndtri, stdtrit

from admmbench.inference.contrasts import Bound, Contrast, Criterion, Region

POWER = 0.8
"""Probability with which a number of seeds is conclusive, if means and standard deviations are as estimated."""

MOST = 100_000
"""Largest forecast number of seeds."""


def _power(size: float, quantile: float, df: int) -> float:
    """Return the probability that a noncentral t variable exceeds a quantile.

    By Abramowitz and Stegun (1964), equation 26.7.10, which has an inverse; scipy's `nctdtr` is not defined everywhere.
    """
    return float(ndtr((size - quantile * (1 - 1 / (4 * df))) / _spread(quantile, df)))


def _spread(quantile: float, df: int) -> float:
    """Return the standard deviation in the approximation of `_power`."""
    return math.sqrt(1 + quantile**2 / (2 * df))


def chance_of_bound(contrast: Contrast, bound: Bound, n: int) -> float:
    """Return the probability that ``n`` seeds show a bound, if the contrast is as estimated.

    For a mean this is the power of the t test. For other contrasts, the half width of the interval at ``n`` seeds takes
    the place of that of Student's interval.
    """
    contrast = contrast.with_seeds(n)
    lower, upper = contrast.interval(1 - 2 * bound.level)
    if lower == upper:
        return float(bound.shown(contrast))
    if ">" in bound.side:
        room, half = contrast.value - bound.limit, contrast.value - lower
    else:
        room, half = bound.limit - contrast.value, upper - contrast.value
    quantile = float(stdtrit(n - 1, 1 - bound.level))
    return _power(quantile * room / half, quantile, n - 1)


def chance(contrast: Contrast, criterion: Criterion, n: int) -> float:
    """Return a lower limit of the probability that ``n`` seeds meet the criterion, if the contrast is as estimated."""
    chances = [chance_of_bound(contrast, bound, n) for bound in criterion.bounds]
    # The bounds are of the same data, and no joint probability is known: these limits hold whatever it is.
    if criterion.how == "any":
        return max(chances)
    return max(sum(chances) - (len(chances) - 1), 0.0)


def seeds_needed(contrasts: Sequence[tuple[Contrast, Region]], *, some: bool = False) -> float:
    """Forecast the number of seeds that is conclusive with the probability `POWER`, if contrasts are as estimated.

    Parameters
    ----------
    contrasts
        Contrasts with their regions, of which all must hold, or some. Each region has its levels, see `Region.among`.
    some
        Whether one contrast that holds is enough.

    Returns
    -------
    float
        Number of seeds that the hardest contrast needs where all have to be shown (or refuted), and the easiest one
        where one suffices. Infinite if the number is above `MOST`, or no number is conclusive.
    """
    shown = [_fewest(contrast, region.shown) for contrast, region in contrasts]
    refuted = [_fewest(contrast, region.refuted) for contrast, region in contrasts]
    any_of, all_of = (shown, refuted) if some else (refuted, shown)
    return min(*any_of, max(all_of))


def _fewest(contrast: Contrast, criterion: Criterion) -> float:
    """Return the fewest seeds that meet the criterion with the probability `POWER`; infinite above `MOST`."""
    numbers = range(2, MOST + 1)
    place = bisect_left(numbers, x=True, key=lambda n: chance(contrast, criterion, n) >= POWER)
    return float(numbers[place]) if place < len(numbers) else math.inf


def difference_shown(deviation: float, n: int, level: float, redrawn: float = 0.0) -> float:
    """Return the smallest difference of two methods that an interval tells from 0 with the probability `POWER`.

    Parameters
    ----------
    deviation
        Standard deviation over seeds of the difference of the two methods.
    n
        Number of seeds, at least 2.
    level
        Level of the interval.
    redrawn
        See :func:`admmbench.inference.intervals.ends`.
    """
    quantile = float(stdtrit(n - 1, (1 + level) / 2))
    size = quantile * (1 - 1 / (4 * (n - 1))) + float(ndtri(POWER)) * _spread(quantile, n - 1)
    return deviation * math.sqrt(1 / n + redrawn) * size
