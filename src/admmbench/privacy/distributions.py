"""Privacy loss distributions: losses of independent releases on a grid, added by Fourier transforms.

Losses of thousands of equal releases are added in groups: the sum of a group is rounded to a grid of its own, as if it
were one release. Totals after each of many rounds share the groups.

Every step errs to the side of a larger total. Losses are rounded by chords of the hockey-stick divergence (Doroshenko
et al. 2022), and what a sum of losses may have beyond its ends counts as infinite. dp-accounting composes in the same
way, on one grid for all losses: its totals are as small where the grid is fine enough, but take 40 to 2,000 times as
long, and those of noise on many entries need a finer grid than it can hold. Here, totals after each of many rounds take
a few milliseconds each.

Of many different samples, each counts as a mixture of two that many others share, see `Gaussian.bounds`. So their
number hardly matters.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np

from admmbench.compiled import njit
from admmbench.privacy.events import Array, Composition, Cost

# Points of a release and of a sum, at most: more memory and time are not spent, and totals are larger.
_POINTS, _POINTS_OF_SUM = 2**17, 2**20
# Points of a release in a standard deviation of its losses, at least.
_PER_DEVIATION = 16
# Losses between which all numbers here are finite.
_RANGE = 1e-100, 1e5
# Points between 0 and the total, at least, if there may be as many.
_PER_TOTAL = 4
# The part of delta that goes to what is cut off.
_CUT = 1e-6
# Equal releases that are added at once, at most. There are over half as many groups; the last one counts as full.
_AT_ONCE = 2**11


@dataclass(frozen=True, eq=False)
class Grid:
    """Losses of one mechanism on a grid.

    Attributes
    ----------
    spacing
        Step between losses.
    first
        Number of the first point; losses are multiples of the spacing.
    chances
        Chances of these points.
    infinite
        Chance of an infinite loss.
    """

    spacing: float
    first: int
    chances: Array
    infinite: float

    @property
    def losses(self) -> Array:
        """Return the losses of the points."""
        return self.spacing * (self.first + np.arange(len(self.chances)))

    @cached_property
    def variance(self) -> float:
        """Return the variance of the losses."""
        mean = self.chances @ self.losses
        return float(self.chances @ (self.losses - mean) ** 2)

    @property
    def last(self) -> int:
        """Return the number of the last point."""
        return self.first + len(self.chances) - 1


@dataclass(frozen=True)
class _Group:
    """Equal mechanisms as one, whose loss is the sum of theirs.

    Attributes
    ----------
    cost, number
        What is added, and how often.
    delta, tail
        A group's share of delta, and the tail that it is cut at.
    """

    cost: Cost | _Group
    number: int
    delta: float
    tail: float

    def ends(self, absent: bool, tail: float) -> tuple[float, float]:
        """Return the ends of the sum, which its own tail was cut at."""
        losses, _ = _divergence(self, absent)
        return float(losses[0]), float(losses[-1])

    def hockey_stick(self, losses: Array, absent: bool) -> Array:
        """Return the chords of the divergence, in the exponential of epsilon, and from 1 at minus infinity."""
        points, found = _divergence(self, absent)
        right = np.clip(np.searchsorted(points, losses), 1, len(points) - 1)
        step = points[right] - points[right - 1]
        share = np.expm1(np.clip(losses - points[right - 1], 0, step)) / np.expm1(step)
        inside = found[right - 1] + share * (found[right] - found[right - 1])
        below = 1 - np.exp(np.minimum(losses - points[0], 0)) * (1 - found[0])
        return np.where(losses < points[0], below, inside)


@lru_cache(maxsize=16)
def _divergence(group: _Group, absent: bool) -> tuple[Array, Array]:
    """Return losses of a group, and the divergence at each; 1 where none was found."""
    parts = [_Part((group.cost,), {1.0: group.number})]
    side = _side(parts, group.delta, absent, group.tail)
    return side.grid.losses, side.divergence


class _Part(NamedTuple):
    """Releases that have one loss, or are mixtures of the same two."""

    costs: tuple[Cost | _Group, ...]
    """What a release is, or may be: whoever sees it knows which."""
    numbers: Mapping[float, int]
    """How many releases there are, by their chance of the first cost."""

    @property
    def number(self) -> int:
        """Return how many releases there are."""
        return sum(self.numbers.values())

    def on_grid(self, absent: bool, tail: float, spacing: float) -> _Mixture:
        """Round the losses of all costs to a grid."""
        grids = tuple(on_grid(cost, absent, tail, spacing) for cost in self.costs)
        return _Mixture(grids, self.numbers, self.number)


class _Mixture(NamedTuple):
    """A `_Part` on a grid."""

    grids: tuple[Grid, ...]
    numbers: Mapping[float, int]
    number: int

    @property
    def first(self) -> int:
        """Return the number of the first point of all grids."""
        return min(grid.first for grid in self.grids)

    @property
    def points(self) -> int:
        """Return the number of points from there to the last of all grids."""
        return max(grid.last for grid in self.grids) - self.first + 1

    def spectrum(self, length: int) -> Array:
        """Return the Fourier transform of the sum of all losses, each from the first point on."""
        from scipy.fft import rfft  # slow to import

        spectra = [
            rfft(np.pad(grid.chances, (grid.first - self.first, 0)), length) for grid in self.grids
        ]
        if len(spectra) == 1:
            return np.asarray(spectra[0] ** self.number)
        found, (one, other) = np.ones_like(spectra[0]), spectra
        for share, number in self.numbers.items():
            found *= (other + share * (one - other)) ** number
        return found


def _parts(composition: Composition, delta: float, tail: float) -> list[_Part]:
    """Divide releases into such as are composed together."""
    releases = [part for part in (cost.parts(count) for cost, count in composition) if part[1]]
    # Samples are as few as rounds, whereas Laplace noise has a loss for every entry.
    parts = []
    mixed = dict[tuple[Cost, ...], dict[float, int]]()
    for cost, number in releases:
        if cost.sampling == 1:
            group, number = _in_groups(cost, number, delta, tail)
            parts.append(_Part((group,), {1.0: number}))
        else:
            costs, share = cost.bounds if composition.varied else ((cost,), 1.0)
            numbers = mixed.setdefault(costs, {})
            numbers[share] = numbers.get(share, 0) + number
    return parts + [_Part(costs, numbers) for costs, numbers in mixed.items()]


def _in_groups(
    cost: Cost | _Group, number: int, delta: float, tail: float
) -> tuple[Cost | _Group, int]:
    """Divide many releases into groups."""
    while number > _AT_ONCE:
        size = min(_AT_ONCE, 2 ** math.ceil(math.log2(number / _AT_ONCE)))
        number = math.ceil(number / size)
        share = 2.0 ** math.ceil(math.log2(number))  # similar numbers share the groups
        cost = _Group(cost, size, delta / share, _rounded_up(tail + math.log(share)))
    return cost, number


def _rounded_up(tail: float) -> int:
    """Make runs of similar lengths share what is kept."""
    return 3 * math.ceil(tail / 3)


@lru_cache(maxsize=8192)
def log_moment(grid: Grid, order: float) -> float:
    """Return the logarithm of the mean of the exponential of a multiple of the loss."""
    with np.errstate(divide="ignore"):
        powers = order * grid.losses + np.log(grid.chances)
    largest = powers.max()
    return float(largest + math.log(np.exp(powers - largest).sum()))


@lru_cache(maxsize=256)
def on_grid(cost: Cost | _Group, absent: bool, tail: float, spacing: float) -> Grid:
    """Round the losses of a release to a grid: the divergence is linear in the exponential of epsilon between points.

    So it is nowhere too small, and no other that is right at the points is smaller.
    """
    low, high = cost.ends(absent, tail)
    first = math.floor(low / spacing)
    points = np.arange(first, max(math.ceil(high / spacing), first + 1) + 1)
    divergence = np.clip(cost.hockey_stick(spacing * points, absent), 0, 1)
    divergence = np.minimum.accumulate(divergence)
    # Slopes in the exponential of epsilon, which itself may be too large for a number, times that at either point.
    right = np.diff(divergence) / math.expm1(-spacing)
    left = math.exp(-spacing) * right
    chances = np.append(1 - divergence[0], right) - np.append(left, 0)
    return Grid(spacing, first, np.maximum(chances, 0), float(divergence[-1]))


def total_epsilon(composition: Composition, delta: float) -> float:
    """Return the total epsilon; infinite where losses are too large, or delta is too small, to find it."""
    return max(side.epsilon for side in _sides(composition, delta))


def divergences(composition: Composition, delta: float) -> list[tuple[Array, Array]]:
    """Return losses, and the hockey-stick divergence of all releases at each, on a grid that is fine at this delta.

    There is one pair for each order of the neighbours, and one alone if both orders have the same divergences. None is
    too small; all are 1 where losses are too large to find them.
    """
    return [(side.grid.losses, side.divergence) for side in _sides(composition, delta)]


# Losses of which nothing is known.
_UNKNOWN = Grid(_RANGE[1], 0, np.zeros(2), 1.0)


class _Side(NamedTuple):
    """Losses of one order of the neighbours."""

    epsilon: float
    grid: Grid = _UNKNOWN
    rounded: float = 0.0
    """What divergences are rounded by is less than this."""

    @property
    def divergence(self) -> Array:
        """Return the hockey-stick divergence at each loss, none too small."""
        upper, lower = _tails(self.grid)
        return np.clip(upper - lower + self.rounded, 0, 1)


def _sides(composition: Composition, delta: float) -> list[_Side]:
    """Compose all releases: both orders of the neighbours differ for samples alone."""
    sampled = sum(count for cost, count in composition if cost.sampling < 1)
    tail = _rounded_up(math.log((1 + sampled) / _CUT) - math.log(delta))
    parts = _parts(composition, delta, tail)
    sides = (False,) if all(cost.symmetric for cost, _ in composition) else (False, True)
    return [_side(parts, delta, absent, tail) for absent in sides]


def _side(parts: Sequence[_Part], delta: float, absent: bool, tail: float) -> _Side:
    """Compose the losses of one of two neighbours."""
    if not parts:
        return _Side(0.0, Grid(1.0, 0, np.ones(1), 0.0))
    # What Fourier transforms and divergences are rounded by is less than this.
    rounded = 2.0**-52 * sum(10 * len(part.numbers) + part.number for part in parts)
    costs = [cost for part in parts for cost in part.costs]
    lengths = [high - low for cost in costs for low, high in [cost.ends(absent, tail)] if high]
    longest, least = max(lengths, default=1.0), min(lengths, default=1.0)
    if rounded >= delta or not longest < _RANGE[1] or not least > _RANGE[0]:
        return _Side(math.inf)
    spacing = min(_spacing(cost, tail) for cost in costs)
    while longest > _POINTS * spacing:
        spacing *= 2
    best = _Side(math.inf)
    while True:
        mixtures = [part.on_grid(absent, tail, spacing) for part in parts]
        low, high = _window(mixtures, spacing, _CUT * delta)
        if high - low < _POINTS_OF_SUM:
            losses = _sum(mixtures, spacing, low, high, _CUT * delta)
            epsilon = _epsilon(losses, delta - rounded)
            if epsilon < best.epsilon or best.grid is _UNKNOWN:
                best = _Side(epsilon, losses, rounded)
            # A total that is small beside the losses needs a finer grid than they do.
            small = 0 < best.epsilon < _PER_TOTAL * spacing
            if not small or 4 * max(longest / spacing, high - low) > _POINTS_OF_SUM:
                return best
            spacing /= 4
        elif spacing > longest:  # a sum has as many points on a coarser grid
            return best
        else:
            spacing *= 2


@lru_cache(maxsize=1024)
def _spacing(cost: Cost | _Group, tail: float) -> float:
    """Spacing of a grid that is fine enough for a release, and has the largest loss of a symmetric one."""
    low, high = cost.ends(False, tail)
    points = 2 * _PER_DEVIATION
    while points < _POINTS and low < high:
        spacing = (high - low) / points
        grid = on_grid.__wrapped__(cost, False, tail, spacing)  # most are needed once
        if grid.variance > (_PER_DEVIATION * spacing) ** 2:
            break
        points *= 4
    return (high - low) / points or 1.0


def _window(mixtures: Sequence[_Mixture], spacing: float, cut: float) -> tuple[int, int]:
    """Points beyond which the sum of all losses has a chance of at most ``cut`` (Chernoff's bound)."""
    low = sum(mixture.number * mixture.first for mixture in mixtures)
    high = low + sum(mixture.number * (mixture.points - 1) for mixture in mixtures)
    variance = sum(
        mixture.number * max(grid.variance for grid in mixture.grids) for mixture in mixtures
    )
    spread = math.sqrt(variance) or spacing
    # The best order is near one of these: that of a normal distribution, or that of one large loss.
    middle = round(-math.log2(spread))
    longest = spacing * max(mixture.points for mixture in mixtures)
    for power in range(min(middle - 4, round(-math.log2(longest))), middle + 7):
        for order in (2.0**power, -(2.0**power)):
            moment = sum(
                mixture.number * max(log_moment(grid, order) for grid in mixture.grids)
                for mixture in mixtures
            )
            bound = (moment + math.log(2 / cut)) / order / spacing
            if order > 0:
                high = min(high, math.ceil(bound))
            else:
                low = max(low, math.floor(bound))
    return low, high


def _sum(mixtures: Sequence[_Mixture], spacing: float, low: int, high: int, cut: float) -> Grid:
    """Sum of all losses, between these points."""
    from scipy.fft import irfft, next_fast_len  # slow to import

    length = max(high - low + 1, *(mixture.points for mixture in mixtures))
    length = next_fast_len(length, real=True)
    spectrum = np.ones(length // 2 + 1, complex)
    finite = 0.0
    for mixture in mixtures:
        spectrum *= mixture.spectrum(length)
        infinite = max(grid.infinite for grid in mixture.grids)
        finite += mixture.number * math.log1p(-infinite)
    start = low - sum(mixture.number * mixture.first for mixture in mixtures)
    chances = np.roll(irfft(spectrum, length), -(start % length))[: high - low + 1]
    return Grid(spacing, low, chances, cut - math.expm1(finite))


def _tails(total: Grid) -> tuple[Array, Array]:
    """Sums over the losses from each on: of chances, and of chances times the exponential of what it is below them.

    Their difference is the divergence at each loss.
    """
    upper = total.infinite + np.cumsum(total.chances[::-1])[::-1]
    return upper, _decaying_sums(total.chances[::-1], math.exp(-total.spacing))[::-1]


# Imports of scipy.signal, whose `lfilter` does the same, take a quarter of a short run.
@njit(nogil=True)
def _decaying_sums(values: Any, decay: float) -> Any:
    """Sums of the values up to each, of which each has decayed by a factor at every step since."""
    sums = np.empty_like(values)
    last = 0.0
    for k in range(len(values)):
        last = values[k] + decay * last
        sums[k] = last
    return sums


def _epsilon(total: Grid, delta: float) -> float:
    """Smallest epsilon at which the divergence of some losses is at most delta."""
    upper, lower = _tails(total)
    (above,) = np.nonzero(upper - lower > delta)
    k = above[-1] + 1 if above.size else 0
    if k == len(upper):
        return math.inf
    # Below its loss, the divergence is linear in the exponential of epsilon.
    share = (upper[k] - delta) / lower[k] if lower[k] > 0 else 1.0
    return max(0.0, total.spacing * (total.first + int(k)) + math.log(min(max(share, 1e-300), 1)))
