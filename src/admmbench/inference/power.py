"""How many seeds decide, and which differences a number of seeds shows: with the probability `POWER`."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence

from scipy.special import ndtr, ndtri, stdtrit

from admmbench.inference.contrasts import Bound, Contrast, Evidence, Region

POWER = 0.8
"""Probability with which a number of seeds decides, if means and standard deviations are what they seem."""

MOST = 100_000
"""Seeds beyond which nothing is forecast."""


def _power(size: float, quantile: float, df: int) -> float:
    """Return the probability that a noncentral t variable exceeds a quantile.

    By Abramowitz and Stegun (1964), equation 26.7.10, which has an inverse; scipy's `nctdtr` is not defined everywhere.
    """
    return float(ndtr((size - quantile * (1 - 1 / (4 * df))) / _spread(quantile, df)))


def _spread(quantile: float, df: int) -> float:
    return math.sqrt(1 + quantile**2 / (2 * df))


def chance_of_bound(contrast: Contrast, bound: Bound, n: int) -> float:
    """Return the probability that ``n`` seeds show a bound, if the contrast is as it seems.

    For a mean this is the power of the t test. For other contrasts, the half width of the interval at ``n`` seeds
    stands for that of Student's.
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


def chance(contrast: Contrast, evidence: Evidence, n: int) -> float:
    """Return a lower limit of the probability that ``n`` seeds give this evidence, if the contrast is as it seems."""
    chances = [chance_of_bound(contrast, bound, n) for bound in evidence.bounds]
    if evidence.how == "any":
        return max(chances)
    return max(sum(chances) - (len(chances) - 1), 0.0)


def seeds_needed(contrasts: Sequence[tuple[Contrast, Region]], *, some: bool = False) -> float:
    """Forecast how many seeds decide with the probability `POWER`, if contrasts are as they seem.

    Parameters
    ----------
    contrasts
        With their regions, of which all are to hold, or some. Each has its levels, see `Region.among`.
    some
        Whether one that holds is enough.

    Returns
    -------
    float
        The number of seeds: those that the hardest contrast takes where each has to be shown (or refuted), and the
        easiest where one suffices. Infinite if it is above `MOST`, or no number of them decides.
    """
    shown = [_fewest(contrast, region.shown) for contrast, region in contrasts]
    refuted = [_fewest(contrast, region.refuted) for contrast, region in contrasts]
    one, every = (shown, refuted) if some else (refuted, shown)
    return min(*one, max(every))


def _fewest(contrast: Contrast, evidence: Evidence) -> float:
    """Return the fewest seeds that give this evidence with the probability `POWER`; infinite above `MOST`."""
    numbers = range(2, MOST + 1)
    place = bisect_left(numbers, x=True, key=lambda n: chance(contrast, evidence, n) >= POWER)
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
        Of the interval.
    redrawn
        As of :func:`admmbench.inference.intervals.ends`.
    """
    quantile = float(stdtrit(n - 1, (1 + level) / 2))
    size = quantile * (1 - 1 / (4 * (n - 1))) + float(ndtri(POWER)) * _spread(quantile, n - 1)
    return deviation * math.sqrt(1 / n + redrawn) * size
