"""Trade-off curves: how well anybody can tell, from all releases, whether a record is in the data.

A total epsilon at one delta is one line above the curve; the curve is all that can be said (Dong, Roth and Su 2022).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri

from admmbench.privacy.composition import renyi_accountant
from admmbench.privacy.distributions import divergences
from admmbench.privacy.events import ORDERS, Array, Composition
from admmbench.privacy.ledger import Ledger, calibrate

# The grid of losses is fine at this delta; at the second one where there are too many releases for the first.
_FINE = 1e-8, 1e-6
# Lines that a curve keeps, at most: leaving some out makes it no smaller.
_LINES = 4096

FALSE_ALARMS = tuple(part / 20 for part in range(21))
"""Rates of false alarms at which runs keep their curve."""
LEFT_OUT = 1e-10
"""Rates of false alarms and of misses that mu says nothing about: tails of samples would make it as large as without
samples (the default of Gomez et al. 2026)."""
POOR_FIT = 0.01
"""Regret above which one number does not describe a curve (Gomez et al. 2026)."""
# Parts of [0, 1] at which curves are compared for the regret, and its accuracy.
_PARTS, _ACCURACY = 10_000, 1e-7


class GaussianPrivacy(NamedTuple):
    """Gaussian differential privacy of some releases (Dong, Roth and Su 2022).

    With T the least rate of misses at each rate of false alarms, and G(a) = Phi(Phi^-1(1 - a) - mu) that of a Gaussian
    release, ``T(a) >= G(a + h) - h`` for all a, with h = `LEFT_OUT`; it is 0 where all releases are Gaussian.
    """

    mu: float
    """Never below the least one; infinite where no trade-off curve is proved, or the loss is too large."""
    regret: float
    """Least D with ``T(a + D) - D <= G(a)`` for all a: how much better the privacy is than mu says, as rates of errors
    (Gomez et al. 2026); NaN where mu is infinite."""

    @property
    def describes(self) -> bool:
        """Return whether mu describes the whole curve."""
        return self.regret <= POOR_FIT


NOT_AVAILABLE = GaussianPrivacy(math.inf, math.nan)
"""Gaussian differential privacy of releases of which no trade-off curve is proved."""


@dataclass(frozen=True)
class Curve:
    """Trade-off between false alarms and hits of an attacker who sees all releases of an agent.

    An attacker who takes a share alpha of the runs without a record for runs with it finds at most a share of those
    with it: that of the normal curve if there is one, otherwise ``min(delta + exp(epsilon) alpha)`` over all lines.

    Attributes
    ----------
    mu
        The releases are mu-Gaussian-differentially private, exactly; NaN where no such mu is known.
    lines
        Epsilons, of either sign, and the divergence at each, for each order of the neighbours.
    proved
        Whether more than (epsilon, delta) is proved of each release.
    """

    mu: float
    lines: Sequence[tuple[Array, Array]] = ()
    proved: bool = True

    def power(self, alarms: ArrayLike) -> Array:
        """Return the largest rate of hits at each rate of false alarms, in the same shape."""
        alpha = np.asarray(alarms, float)
        if not math.isnan(self.mu):
            return np.asarray(ndtr(ndtri(alpha) + self.mu))
        most = np.zeros(alpha.shape)
        with np.errstate(divide="ignore"):
            log_alpha = np.log(alpha)[..., None]
        for epsilons, deltas in self.lines:
            # The exponential of epsilon itself may be too large for a number.
            hits = np.exp(np.minimum(epsilons + log_alpha, 0)) + deltas
            most = np.maximum(most, np.minimum(hits.min(axis=-1), 1))
        return most

    @property
    def advantage(self) -> float:
        """Return the largest difference between hits and false alarms: the neighbours' total variation distance."""
        if not math.isnan(self.mu):
            return float(ndtr(self.mu / 2) - ndtr(-self.mu / 2))
        # Divergences are convex in the exponential of epsilon: chords lie above them.
        return max(
            float(np.interp(1, np.exp(np.minimum(epsilons, 700)), deltas))
            for epsilons, deltas in self.lines
        )

    @cached_property
    def gaussian(self) -> GaussianPrivacy:
        """Return the least mu of which the curve is proved, rounded up, and its regret."""
        if not math.isnan(self.mu):
            return GaussianPrivacy(self.mu, 0.0) if math.isfinite(self.mu) else NOT_AVAILABLE
        corners = [_corners(*side, self.advantage) for side in self.lines]
        mu = max(_least_mu(*side) for side in corners)
        if not (self.proved and math.isfinite(mu)):
            return NOT_AVAILABLE
        return GaussianPrivacy(mu, _regret(corners, mu))


@lru_cache(maxsize=256)
def curve(composition: Composition) -> Curve:
    """Return the trade-off curve of some releases: exact if all are Gaussian, otherwise never too low."""
    if not composition.sound:
        return Curve(math.inf)
    gaussian = math.nan if composition.sampled else composition.gaussian
    if not math.isnan(gaussian):
        return Curve(math.sqrt(gaussian))
    for delta in _FINE:
        sides = divergences(composition, delta)
        if all(deltas[-1] < 1 for _, deltas in sides):
            break
    # Renyi divergences of many different samples would take seconds.
    skipped = composition.varied and all(deltas[-1] < 1 for _, deltas in sides)
    lines = []
    for epsilons, deltas in (_thinned(*side) for side in sides):
        least = deltas if skipped else np.minimum(deltas, _by_renyi(composition, epsilons))
        lines.append((epsilons, least))
    proved = all(
        not math.isnan(cost.gaussian) or cost.renyi() is not None for cost, _ in composition
    )
    return Curve(math.nan, lines, proved)


def least_private(compositions: Iterable[Composition]) -> Curve:
    """Return the curve with the largest mu of several agents."""
    curves = [curve(each) for each in dict.fromkeys(compositions)]
    return max(curves, key=lambda each: each.gaussian.mu)


def _corners(epsilons: Array, deltas: Array, at_zero: float) -> tuple[Array, Array]:
    """Return the corners of the least of all lines that rise faster than the diagonal: false alarms, falling, and hits.

    The lines are those of one order of the neighbours at an epsilon above 0, and that of epsilon 0. The other lines say
    what the first ones of the other order say.
    """
    rising = epsilons > 0
    slopes, offsets = np.append(0, epsilons[rising]), np.append(at_zero, deltas[rising])
    while True:
        drops = -np.diff(offsets) / np.expm1(np.minimum(np.diff(slopes), 700))
        alarms = np.exp(-slopes[:-1]) * drops
        hidden = alarms[1:] >= alarms[:-1]  # lines that are the least nowhere
        if not hidden.any():
            return np.append(alarms, 0), np.append(offsets[:-1] + drops, offsets[-1])
        kept = np.concatenate([[True], ~hidden, [True]])
        slopes, offsets = slopes[kept], offsets[kept]


def _least_mu(alarms: Array, hits: Array) -> float:
    """Return the least mu whose normal curve is above all corners.

    Normal curves are concave, so that they are above the lines between corners, too. Corners with fewer false alarms or
    misses than `LEFT_OUT` are left out for the point of the curve there.
    """
    first = np.interp(LEFT_OUT, alarms[::-1], hits[::-1])
    inside = (alarms > LEFT_OUT) & (hits < 1 - LEFT_OUT)
    if first >= 1 - LEFT_OUT:
        return math.inf
    x, y = np.append(alarms[inside], LEFT_OUT), np.append(hits[inside], first)
    # Rounding errors of the quantiles are smaller.
    return float(np.max(ndtri(y) - ndtri(x), initial=0)) * (1 + 1e-9) + 1e-12


def _regret(corners: Sequence[tuple[Array, Array]], mu: float) -> float:
    """Return the regret of a mu: the least D with ``T(a + D) - D <= G(a)`` for all a, see `GaussianPrivacy`.

    T is the smaller of both orders of the neighbours, each of which has corners, and those of the other one mirrored.
    """
    orders = [
        (np.append(alarms[::-1], 1 - more_hits), np.append(1 - hits[::-1], more_alarms))
        for (alarms, hits), (more_alarms, more_hits) in zip(corners, corners[::-1], strict=True)
    ]
    rates = np.linspace(0, 1, _PARTS + 1)
    normal = ndtr(-ndtri(rates) - mu)
    low, high = 0.0, 1.0
    while high - low > _ACCURACY:
        middle = (low + high) / 2
        misses = np.min([np.interp(rates + middle, *order) for order in orders], axis=0)
        if (misses - middle <= normal).all():
            high = middle
        else:
            low = middle
    return high


def calibrate_mu(ledger_at: Callable[[float], Ledger], mu: float) -> float:
    """Solve for the budget of one release that leads to a mu; see `calibrate`.

    Raises
    ------
    ValueError
        If no trade-off curve is proved of these releases, or no budget leads to this mu.
    """
    if not curve(ledger_at(mu).composition()).proved:
        raise ValueError(
            "privacy.mu: no trade-off curve is proved of these releases, which state (epsilon, delta) "
            "alone; solve for a total"
        )

    def composed(ledger: Ledger, _: float) -> float:
        return curve(ledger.composition()).gaussian.mu

    # A mu does not depend on delta.
    return calibrate(ledger_at, mu, 0, composed, "mu")


def _by_renyi(composition: Composition, epsilons: Array) -> Array:
    """Bound the divergence at each epsilon by Renyi divergences, which know more of noise on many entries.

    By Canonne, Kamath and Steinke (2020), proposition 12; where epsilon is small by the Kullback-Leibler divergence,
    which is at most that of the first order (Bretagnolle and Huber 1979). The divergence at minus epsilon is that of
    the neighbours in the other order, for which Renyi divergences are bounded alike.
    """
    accountant = renyi_accountant(composition.event)
    if accountant is None:
        return np.ones(len(epsilons))
    divergence = accountant.rdp
    size = np.abs(epsilons)
    bound = np.full(len(size), math.sqrt(-math.expm1(-max(divergence[0], 0))))
    for order, value in zip(ORDERS, divergence, strict=True):
        if math.isfinite(value):
            power = (order - 1) * (value - size + math.log1p(-1 / order)) - math.log(order)
            bound = np.minimum(bound, np.exp(np.minimum(power, 0)))
    with np.errstate(over="ignore"):
        return np.where(epsilons < 0, 1 - np.exp(-size) * (1 - bound), bound)


def _thinned(epsilons: Array, deltas: Array) -> tuple[Array, Array]:
    """Keep some of the lines, the last one among them, and one at minus infinity: nobody finds more than all."""
    kept = np.unique(np.linspace(0, len(epsilons) - 1, _LINES).astype(int))
    return np.append(-np.inf, epsilons[kept]), np.append(1.0, deltas[kept])
