"""Privacy loss distributions: losses of independent releases on a grid, added by Fourier transforms.

Every step errs to the side of a larger total. Losses are rounded by chords of the hockey-stick divergence (Doroshenko
et al. 2022), and what a sum of losses may have beyond its ends counts as infinite. dp-accounting composes in the same
way; this is for totals after each of many rounds, which take a few milliseconds here.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.fft import irfft, next_fast_len, rfft
from scipy.signal import lfilter
from scipy.special import expit, log_ndtr, ndtr

if TYPE_CHECKING:
    from admmbench.privacy.accountants import Releases

Array = NDArray[np.floating[Any]]

# Points of a release and of a sum, at most: more memory and time are not spent, and totals are larger.
_POINTS, _POINTS_OF_SUM = 2**17, 2**20
# Points in a loss, or in a standard deviation of losses. A small loss of one entry has two values, and needs no more.
_PER_LOSS, _PER_DEVIATION, _TWO_VALUES = 20, 16, 1 / 400
# Losses and multipliers between which all numbers here are finite.
_RANGE = 1e-100, 1e5
# Points between 0 and the total, at least, if there may be as many.
_PER_TOTAL = 4
# The part of delta that goes to what is cut off.
_CUT = 1e-6


class Law(Hashable, Protocol):
    """Losses of one release, as one data set of two neighbours has them."""

    @property
    def ends(self) -> tuple[float, float]:
        """Losses between which the grid lies."""

    def divergence(self, epsilon: Array) -> Array:
        """Hockey-stick divergence of the neighbours: the least delta for each epsilon."""


@dataclass(frozen=True)
class Laplace:
    """A number with Laplace noise, and a neighbour's that is shifted by so many scales."""

    shift: float

    @property
    def ends(self) -> tuple[float, float]:
        """No loss is larger than the shift."""
        return -self.shift, self.shift

    def divergence(self, epsilon: Array) -> Array:
        """At each epsilon."""
        inside = -np.expm1((np.maximum(epsilon, -self.shift) - self.shift) / 2)
        found: Array = np.where(epsilon < -self.shift, -np.expm1(epsilon), np.maximum(inside, 0))
        return found


@dataclass(frozen=True)
class Stated:
    """The worst (epsilon, delta)-private release (Kairouz, Oh and Viswanath 2015)."""

    epsilon: float
    delta: float

    @property
    def ends(self) -> tuple[float, float]:
        """No other loss is finite."""
        return -self.epsilon, self.epsilon

    def divergence(self, epsilon: Array) -> Array:
        """At each epsilon."""
        found = np.zeros_like(epsilon)
        for loss in (self.epsilon, -self.epsilon):
            found -= expit(loss) * np.expm1(np.minimum(epsilon - loss, 0))
        return self.delta + (1 - self.delta) * found


@dataclass(frozen=True)
class Normal:
    """A number with normal noise, to which a record adds 1 if it takes part.

    Attributes
    ----------
    multiplier
        Standard deviation of the noise.
    sampling
        Probability that the record takes part.
    absent
        Whether the loss is that of the data set without the record.
    tail
        Outputs beyond which there is a probability of e^-tail count as infinite.
    """

    multiplier: float
    sampling: float
    absent: bool
    tail: int

    @property
    def deviation(self) -> float:
        """Standard deviation of the losses of the data set with the record."""
        m, q = self.multiplier, self.sampling
        z = np.arange(-9, 9, 1 / 16)
        density = np.exp(-(z**2) / 2) / 16 / math.sqrt(2 * math.pi)
        weight = np.concatenate([(1 - q) * density, q * density])
        loss = log_ratio(m, q, m * np.concatenate([z, z + 1 / m]))
        return math.sqrt(weight @ (loss - weight @ loss) ** 2)

    @property
    def ends(self) -> tuple[float, float]:
        """Losses at outputs beyond which there is a probability of e^-tail."""
        far = math.sqrt(2 * self.tail) * self.multiplier
        low, high = log_ratio(self.multiplier, self.sampling, np.array([-far, 1 + far])).tolist()
        return (-high, -low) if self.absent else (low, high)

    def divergence(self, epsilon: Array) -> Array:
        """At the output where the loss is epsilon, noise of a record that takes part has another loss, log y."""
        m, q = self.multiplier, self.sampling
        loss = -epsilon if self.absent else epsilon
        least = np.expm1(-np.abs(loss))
        ratio = np.where(loss > 0, q * (1 + least) - least, q + least) / q
        inside = ratio > 0  # others have no such output
        log_y = np.maximum(loss, 0) + np.log(np.where(inside, ratio, 1))
        x = m * log_y + 0.5 / m
        if self.absent:
            found = q * (np.exp(epsilon + log_y + log_ndtr(x)) - np.exp(epsilon) * ndtr(x - 1 / m))
            outside = np.zeros_like(epsilon)
        else:
            found = q * (ndtr(1 / m - x) - np.exp(log_y + log_ndtr(-x)))
            outside = -np.expm1(epsilon)
        return np.where(inside, found, outside)


def log_ratio(multiplier: float, sampling: float, x: Array) -> Array:
    """Logarithm of the density of outputs with a record that may take part, over that without it."""
    loss = (x - 0.5) / multiplier / multiplier
    small = np.log1p(sampling * np.expm1(np.minimum(loss, 1)))
    absent = math.log1p(-sampling) if sampling < 1 else -math.inf
    found: Array = np.where(loss < 1, small, np.logaddexp(absent, math.log(sampling) + loss))
    return found


@dataclass(frozen=True, eq=False)
class Grid:
    """Losses of one release on a grid.

    Attributes
    ----------
    spacing
        Between losses.
    first
        Number of the first point; losses are multiples of the spacing.
    chances
        Of these points.
    infinite
        Chance of an infinite loss.
    """

    spacing: float
    first: int
    chances: Array
    infinite: float

    @property
    def losses(self) -> Array:
        """Losses of the points."""
        return self.spacing * (self.first + np.arange(len(self.chances)))

    @cached_property
    def log_chances(self) -> Array:
        """Logarithms of the chances."""
        with np.errstate(divide="ignore"):
            return np.log(self.chances)

    @cached_property
    def variance(self) -> float:
        """Of the losses."""
        mean = self.chances @ self.losses
        return float(self.chances @ (self.losses - mean) ** 2)


@lru_cache(maxsize=1024)
def log_moment(grid: Grid, order: float) -> float:
    """Logarithm of the mean of the exponential of so many losses."""
    powers = order * grid.losses + grid.log_chances
    largest = powers.max()
    return float(largest + np.log(np.exp(powers - largest).sum()))


@lru_cache(maxsize=64)
def on_grid(law: Law, spacing: float) -> Grid:
    """Losses with the least divergence on a grid that is nowhere too small: linear in the exponential of epsilon."""
    low, high = law.ends
    first = math.floor(low / spacing)
    points = np.arange(first, max(math.ceil(high / spacing), first + 1) + 1)
    divergence = np.minimum.accumulate(np.clip(law.divergence(spacing * points), 0, 1))
    slopes = -np.diff(divergence) / math.expm1(spacing)
    chances = np.append(1 - divergence[0], math.exp(spacing) * slopes) - np.append(slopes, 0)
    return Grid(spacing, first, np.maximum(chances, 0), float(divergence[-1]))


def total_epsilon(releases: Releases, delta: float) -> float:
    """Total epsilon; infinite where losses are too large, or delta is too small, for it to be found.

    Of pure and of approximate releases the worst with their parameters are assumed.
    """
    noise = [each.multiplier for each, _ in releases.sampled]
    if not all(1 / _RANGE[1] < each < 1 / _RANGE[0] for each in noise):
        return math.inf
    sides = (False, True) if releases.sampled else (False,)
    return max(_total(list(_laws(releases, side, delta)), delta) for side in sides)


def _laws(releases: Releases, absent: bool, delta: float) -> Iterator[tuple[Law, int, float]]:
    """Laws of the losses of releases, with their numbers and the spacings that suit them."""
    entries = [(each.linf, count * math.ceil(each.entries)) for each, count in releases.laplace]
    stated = [((epsilon, 0.0), count) for epsilon, count in releases.pure] + [*releases.approximate]
    values = {linf for linf, _ in entries} | {epsilon for (epsilon, _), _ in stated}
    values.discard(0)
    least = min(values, default=1)
    points = max(1, min(_PER_LOSS, math.ceil(least / _TWO_VALUES)))
    if len(values) > 1:  # others are between points
        points = max(points, _PER_LOSS // 4)
    for linf, count in entries:
        if linf:
            yield Laplace(linf), count, least / points
    for each, count in stated:
        yield Stated(*each), count, least / points
    tail = -math.log(_CUT * delta / (1 + sum(count for _, count in releases.sampled)))
    tail = 3 * math.ceil(tail / 3)  # runs of similar lengths share what is kept
    normal = [(*each, count) for each, count in releases.sampled]
    if releases.gaussian:
        normal.append((1 / math.sqrt(releases.gaussian), 1.0, 1))
    for multiplier, sampling, count in normal:
        law = Normal(multiplier, sampling, absent, tail)
        yield law, count, law.deviation / _PER_DEVIATION


def _total(laws: Sequence[tuple[Law, int, float]], delta: float) -> float:
    """Total epsilon of the losses of one of two neighbours."""
    # What Fourier transforms and divergences are rounded by is less than this.
    left = delta - 2.0**-52 * sum(10 + number for _, number, _ in laws)
    spacing = min(each for _, _, each in laws)
    longest = max(high - low for law, _, _ in laws for low, high in [law.ends])
    if left <= 0 or not (_RANGE[0] < spacing and longest < _RANGE[1]):
        return math.inf
    while longest > _POINTS * spacing:
        spacing *= 2
    epsilon = math.inf
    while True:
        grids = [(on_grid(law, spacing), number) for law, number, _ in laws]
        low, high = _window(grids, _CUT * delta)
        if high - low < _POINTS_OF_SUM:
            epsilon = min(epsilon, _epsilon(_sum(grids, low, high, _CUT * delta), left))
            # A total that is small beside the losses needs a finer grid than they do.
            small = 0 < epsilon < _PER_TOTAL * spacing
            if not small or 4 * max(longest / spacing, high - low) > _POINTS_OF_SUM:
                return epsilon
            spacing /= 4
        else:
            spacing *= 2


def _window(grids: Sequence[tuple[Grid, int]], cut: float) -> tuple[int, int]:
    """Points beyond which the sum of all losses has a chance of at most ``cut`` (Chernoff's bound)."""
    low = sum(number * each.first for each, number in grids)
    high = low + sum(number * (len(each.chances) - 1) for each, number in grids)
    spacing = grids[0][0].spacing
    spread = math.sqrt(sum(number * each.variance for each, number in grids)) or spacing
    # The best order is near one of these: that of a normal distribution, or that of one large loss.
    middle = round(-math.log2(spread))
    longest = spacing * max(len(each.chances) for each, _ in grids)
    for power in range(min(middle - 4, round(-math.log2(longest))), middle + 7):
        for order in (2.0**power, -(2.0**power)):
            moment = sum(number * log_moment(each, order) for each, number in grids)
            bound = (moment + math.log(2 / cut)) / order / spacing
            if order > 0:
                high = min(high, math.ceil(bound))
            else:
                low = max(low, math.floor(bound))
    return low, high


def _sum(grids: Sequence[tuple[Grid, int]], low: int, high: int, cut: float) -> Grid:
    """Sum of all losses, between these points."""
    length = max(high - low + 1, *(len(each.chances) for each, _ in grids))
    length = next_fast_len(length, real=True)
    spectrum = np.ones(length // 2 + 1, complex)
    finite = 0.0
    for each, number in grids:
        spectrum *= rfft(each.chances, length) ** number
        finite += number * math.log1p(-each.infinite)
    start = low - sum(number * each.first for each, number in grids)
    chances = np.roll(irfft(spectrum, length), -(start % length))[: high - low + 1]
    return Grid(grids[0][0].spacing, low, chances, cut - math.expm1(finite))


def _epsilon(total: Grid, delta: float) -> float:
    """Smallest epsilon at which the divergence of some losses is at most delta."""
    # Sums over the losses from each on: of chances, and of chances times the exponential of what it is below them.
    upper = total.infinite + np.cumsum(total.chances[::-1])[::-1]
    decay = math.exp(-total.spacing)
    lower = lfilter([1.0], [1.0, -decay], total.chances[::-1])[::-1]
    (above,) = np.nonzero(upper - lower > delta)  # the divergence at each loss
    k = above[-1] + 1 if above.size else 0
    if k == len(upper):
        return math.inf
    # Below its loss, the divergence is linear in the exponential of epsilon.
    share = (upper[k] - delta) / lower[k] if lower[k] > 0 else 1.0
    return max(0.0, total.spacing * (total.first + int(k)) + math.log(min(max(share, 1e-300), 1)))
