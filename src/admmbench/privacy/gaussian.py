"""Privacy loss of the Gaussian mechanism, perhaps of a Poisson sample of the records."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import erf, log_ndtr, logsumexp, ndtr

from admmbench.privacy.events import ORDERS, Array, Cost, Terms

if TYPE_CHECKING:
    from dp_accounting import DpEvent

# Shifts that bound those of samples are so dense, and shares of mixtures are rounded by less than the second.
_DENSITY, _SHARE = 64, 1e-9
# Moments of samples reach orders of so many multipliers, and are rounded by less than this.
_REACH, _SUMMED = 250, 2.0**-42


@dataclass(frozen=True)
class Gaussian(Cost):
    """Gaussian mechanism, perhaps of a Poisson sample, in which each record takes part with a probability.

    Nobody but the agent sees which records take part. Neighbours of a sample are those of zero_out: a record that takes
    part contributes nothing in the other data set. `Replaced` has those of replace.

    Attributes
    ----------
    multiplier
        Standard deviation over the l2 sensitivity.
    sampling
        The probability.
    """

    name = "gaussian"
    laws = ("gaussian",)

    multiplier: float
    sampling: float = 1.0

    @classmethod
    def of_budget(cls, terms: Terms) -> Cost:
        """Scale as the classical mechanism does, see `gaussian_multiplier`."""
        multiplier = gaussian_multiplier(terms.epsilon, terms.delta)
        return of_sample(multiplier / terms.contributions, terms.sampling, terms.radius)

    @property
    def stated(self) -> tuple[float, float]:
        """Return no epsilon: none holds without a delta."""
        return math.inf, 0.0

    def renyi(self) -> Array:
        """Return the exact divergences; of samples, they are summed (Mironov, Talwar and Zhang 2019, section 3).

        With the ratio r of both densities, the moment of order a is the mean of r^a over the second: an integral, as
        the series of dp-accounting do not converge at all orders. Samples cost at most what all records do.
        """
        everyone, m = ORDERS * _over_square(0.5, self.multiplier), self._side
        orders = ORDERS[: np.searchsorted(ORDERS, _REACH * m)]
        if self.sampling == 1 or not orders.size:
            return everyone
        # Sums over equal steps converge fast if a step is small beside the deviation and beside the distance to the
        # singularity of the logarithm of r, pi times the variance. Moments lie at outputs up to their order.
        step = m / 8 * min(1, 4 * m)
        low, high = (-1, 2 * orders[-1]) if self.symmetric else (0, orders[-1])
        x = np.arange(low - 10 * m, high + 10 * m, step)
        log_weight = math.log(step / m / math.sqrt(2 * math.pi)) - (x / m) ** 2 / 2
        if self.symmetric:  # the second density has the record on the other side
            log_weight += Gaussian._log_ratio(self, -x)
        log_ratio = self._log_ratio(x)
        divergences = np.full_like(ORDERS, np.nan)
        for k, order in enumerate(orders):
            logarithm = logsumexp(log_weight + order * log_ratio)
            divergences[k] = (logarithm + _SUMMED * (1 + logarithm)) / (order - 1)
        return np.fmin(everyone, divergences)

    @property
    def _side(self) -> float:
        """Standard deviation over how far a value with the record is from that without."""
        return self.multiplier

    def _log_ratio(self, x: Array) -> Array:
        """Logarithm of the density of outputs with a record that may take part, over that without it."""
        absent = math.log1p(-self.sampling) if self.sampling < 1 else -math.inf
        # Without samples, losses below -37 count as infinite.
        with np.errstate(divide="ignore", over="ignore"):
            loss: Array = (x - 0.5) / self._side / self._side
            small = np.log1p(self.sampling * np.expm1(np.minimum(loss, 1)))
        return np.where(loss < 1, small, np.logaddexp(absent, math.log(self.sampling) + loss))

    @property
    def event(self) -> DpEvent | Cost:
        """Return the event of dp-accounting; subclasses have a loss of their own."""
        from dp_accounting.dp_event import GaussianDpEvent, PoissonSampledDpEvent  # slow to import

        if type(self) is not Gaussian:
            return self
        everyone = GaussianDpEvent(self.multiplier)
        return PoissonSampledDpEvent(self.sampling, everyone) if self.sampling < 1 else everyone

    @property
    def symmetric(self) -> bool:
        """Return whether every record takes part: else a sample of one neighbour alone may have the record."""
        return self.sampling == 1

    @property
    def gaussian(self) -> float:
        """Return the inverse squared multiplier."""
        return _over_square(1, self.multiplier)

    def louder(self, factor: float) -> Cost:
        """Return the cost with so many times the multiplier."""
        return replace(self, multiplier=factor * self.multiplier)

    def merged(self, count: float) -> tuple[Cost, float]:
        """Count releases of all records in such with the multiplier 1, into which they compose exactly."""
        if not (self.multiplier > 0 and self.sampling > 0):
            return Gaussian(1.0), math.inf  # nothing is known of the noise
        if self.sampling < 1:
            return self, count
        return Gaussian(1.0), _over_square(count, self.multiplier)

    def parts(self, count: float) -> tuple[Cost, int]:
        """Compose releases of all records into one."""
        if self.sampling < 1:
            return self, math.ceil(count)
        return Gaussian(self.multiplier / math.sqrt(count)), 1

    @property
    def bounds(self) -> tuple[tuple[Cost, ...], float]:
        """Return the next smaller and larger of some multipliers, of which a mixture is worse.

        Shifts, their inverses, are equally far apart above 1, and in equal ratios below. Every divergence is a convex
        function of the total variation between both sides, if everything takes part: docs/privacy/bounds.md has the
        proof.
        """
        shift = 1 / self.multiplier
        place = math.floor(_DENSITY * (shift - 1 if shift > 1 else math.log(shift)))
        quieter, louder = (
            replace(self, multiplier=1 / (1 + k / _DENSITY if k > 0 else math.exp(k / _DENSITY)))
            for k in (place, place + 1)
        )
        least, own, most = (each._variation for each in (quieter, self, louder))
        share = (own - least) / (most - least) if most > least else 1.0
        return (louder, quieter), min(max(share * (1 + _SHARE), 0), 1)

    @property
    def _variation(self) -> float:
        """Total variation between both sides, if everything takes part."""
        return float(erf(1 / self._apart / math.sqrt(8)))

    @property
    def _apart(self) -> float:
        """Standard deviation over the distance of both sides."""
        return self.multiplier

    def ends(self, absent: bool, tail: float) -> tuple[float, float]:
        """Return the losses at outputs beyond which there is a probability of e^-tail."""
        far = math.sqrt(2 * tail) * self._side
        low, high = self._log_ratio(np.array([-far, 1 + far])).tolist()
        return (-high, -low) if absent else (low, high)

    def hockey_stick(self, losses: Array, absent: bool) -> Array:
        """Compare the tails: where the loss is epsilon, the noise of a record that takes part has another, log y."""
        m, q = self.multiplier, self.sampling
        loss = -losses if absent else losses
        least = np.expm1(-np.abs(loss))
        ratio = np.where(loss > 0, q * (1 + least) - least, q + least) / q
        inside = ratio > 0  # others have no such output
        log_y = np.maximum(loss, 0) + np.log(np.where(inside, ratio, 1))
        x = m * log_y + 0.5 / m
        if absent:
            tails = q * (np.exp(losses + log_y + log_ndtr(x)) - np.exp(losses) * ndtr(x - 1 / m))
            outside = np.zeros_like(losses)
        else:
            tails = q * (ndtr(1 / m - x) - np.exp(log_y + log_ndtr(-x)))
            outside = -np.expm1(np.minimum(losses, 0))
        return np.where(inside, tails, outside)

    @property
    def shift(self) -> tuple[float, float, float]:
        """Return the shift in l2, the inverse multiplier."""
        return math.inf, 1 / self.multiplier if self.multiplier else math.inf, math.inf


@dataclass(frozen=True)
class Replaced(Gaussian):
    """Gaussian mechanism of a sample, where another record takes the place of what one neighbour has.

    Each takes part with the same probability. Without either, both neighbours release the same value v with noise;
    with them, values that are at most a distance r from v. Of all pairs of such mixtures, those with values on
    opposite sides of v tell neighbours apart best: take any test, which finds a share a of the releases with the value
    v. It finds at most ``Phi(Phi^-1(a) + r / sigma)`` of those with a value so far away, and at least
    ``Phi(Phi^-1(a) - r / sigma)``. On opposite sides, one test reaches both, a threshold. So every hockey-stick
    divergence is largest there, and with it that of rounds together (Zhu, Dong and Wang 2022, theorem 10).

    Attributes
    ----------
    multiplier
        Standard deviation over how far neighbours are apart in l2 if what they differ in takes part.
    sampling
        The probability.
    radius
        r over how far they are apart: 1/2 where without them nothing takes their place, 1 where something does.
    """

    name = "replaced gaussian"

    radius: float = 0.5

    @property
    def _side(self) -> float:
        """Standard deviation over r."""
        return self.multiplier / self.radius

    def _log_ratio(self, x: Array) -> Array:
        """Logarithm of the density of outputs with a record, over that with one on the other side."""
        return super()._log_ratio(x) - super()._log_ratio(-x)

    @property
    def _apart(self) -> float:
        """Half of that, as sides are opposite."""
        return self._side / 2

    @property
    def symmetric(self) -> bool:
        """Tell that neighbours are mirror images."""
        return True

    def hockey_stick(self, losses: Array, absent: bool) -> Array:
        """Compare the tails beyond x standard deviations, where the loss is epsilon.

        There, ``x / m = epsilon / 2 + asinh((1 - q) / q exp(1 / (2 m^2)) sinh(epsilon / 2))`` for sides at m standard
        deviations each.
        """
        m, q = self._side, self.sampling
        size = np.abs(losses) / 2
        with np.errstate(divide="ignore"):
            log_sinh = size + np.log(-np.expm1(-2 * size) / 2)
            log_y = math.log((1 - q) / q) + 0.5 / m / m + log_sinh
        large = log_y + np.log1p(np.sqrt(1 + np.exp(-2 * np.maximum(log_y, 0))))
        x = m * np.copysign(
            size + np.where(log_y > 0, large, np.arcsinh(np.exp(np.minimum(log_y, 0)))), losses
        )

        def scaled_tail(y: Array) -> Array:
            return np.asarray(np.exp(losses + log_ndtr(-y)))

        taken = ndtr(1 / m - x) - scaled_tail(x + 1 / m)
        return np.asarray(q * taken + (1 - q) * (ndtr(-x) - scaled_tail(x)))


def of_sample(multiplier: float, sampling: float, radius: float | None) -> Gaussian:
    """Return the cost of a Gaussian release, perhaps of a sample; see `Gaussian` and, with a radius, `Replaced`."""
    if sampling == 1 or radius is None:
        return Gaussian(multiplier, sampling)
    return Replaced(multiplier, sampling, radius)


def gaussian_multiplier(epsilon: float, delta: float) -> float:
    """Return the standard deviation over the l2 sensitivity of the classical Gaussian mechanism.

    It is ``sqrt(2 ln(1.25 / delta)) / epsilon`` (Dwork and Roth 2014, theorem A.1; huang2019, theorem 1), which is
    proved for epsilon <= 1; the papers use it beyond.
    """
    return math.sqrt(2 * math.log(1.25 / delta)) / epsilon


def _over_square(x: float, multiplier: float) -> float:
    """A number over the square of a multiplier; infinite where it is out of reach."""
    square = multiplier * multiplier
    return x / square if square else math.inf
