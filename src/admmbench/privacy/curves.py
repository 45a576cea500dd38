"""Trade-off curves: how well anybody can tell, from all releases, whether a record is in the data.

A total epsilon at one delta is one line above the curve; the curve is all that can be said (Dong, Roth and Su 2022).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri

from admmbench.privacy.composition import renyi_accountant
from admmbench.privacy.distributions import divergences
from admmbench.privacy.events import ORDERS, Array, Composition

# The grid of losses is fine at this delta.
_FINE = 1e-6
# Lines that a curve keeps, at most: leaving some out makes it no smaller.
_LINES = 4096


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
    """

    mu: float
    lines: Sequence[tuple[Array, Array]] = ()

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


@lru_cache(maxsize=256)
def curve(composition: Composition) -> Curve:
    """Return the trade-off curve of some releases: exact if all are Gaussian, otherwise never too low."""
    if not composition.sound:
        return Curve(math.inf)
    gaussian = math.nan if composition.sampled else composition.gaussian
    if not math.isnan(gaussian):
        return Curve(math.sqrt(gaussian))
    lines = []
    for epsilons, deltas in (_thinned(*side) for side in divergences(composition, _FINE)):
        lines.append((epsilons, np.minimum(deltas, _by_renyi(composition, epsilons))))
    return Curve(math.nan, lines)


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
    bound = np.full(len(size), math.sqrt(-math.expm1(-divergence[0])))
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
