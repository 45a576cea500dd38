"""Costs: what a noisy release costs, with one class for each kind of release.

A subclass of `Cost` says all that others ask of a kind: accountants how it composes, checkpoints how it is packed,
methods and results what its noise is called, and audits how far a neighbour may move a value. So a new kind is one
class, wherever it is, and nothing else. A `Spending` says how often each cost was paid.
"""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_ndtr, logsumexp, ndtr

Array = NDArray[np.floating[Any]]

ORDERS = 1 + np.geomspace(0.0101, 1e6, 400)
"""Orders of the Renyi divergences: dp-accounting converts those above 1.01."""

KINDS: dict[str, type[Cost]] = {}
"""Kinds of releases by name; a class enters itself."""

# Below this product of order and loss, a bound replaces a divergence that would be lost in rounding.
_SMALL = 1e-3
# Of norms, which are computed in floating point.
_ROUNDED = 1 + 1e-9
# Moments of samples reach orders of so many multipliers, and are rounded by less than this.
_REACH, _SUMMED = 250, 2.0**-42


class Terms(NamedTuple):
    """These terms say what the noise of a release is scaled for, and what a run makes of it."""

    epsilon: float
    """Budget of the release."""
    delta: float
    """Failure probability of the release, where its noise has one."""
    contributions: float = 1.0
    """By how many contributions of a record neighbours differ, over how many the noise is scaled for."""
    l2_over_l1: float = 1.0
    """How far a contribution reaches in l2, over its l1 norm."""
    linf_over_l1: float = 1.0
    """How far it reaches in its largest entry, likewise."""
    sampling: float = 1.0
    """Probability that a record takes part; kinds that take no credit for it count as if it always did."""
    radius: float | None = None
    """See `Replaced`; None where a record contributes nothing to one neighbour."""


@dataclass(frozen=True)
class Cost(ABC):
    """A cost is that of one release, of one kind: the numbers of a subclass are its fields.

    A kind has to say `stated` alone. Then the worst release of which that is true is composed; a kind of which more is
    known overrides `renyi`, `ends` and `hockey_stick`.

    Attributes
    ----------
    name
        What the kind is called.
    laws
        What methods call the noise of which a release with a stated budget is of this kind.
    pure
        Whether releases are (epsilon, 0)-differentially private.
    sampling
        Probability that a record takes part in the release, alone and in secret.
    """

    name: ClassVar[str]
    laws: ClassVar[tuple[str, ...]] = ()
    pure: ClassVar[bool] = False
    sampling = 1.0

    def __init_subclass__(cls) -> None:
        """Enter the kind; it may not take the place of a built-in one."""
        if KINDS.get(cls.name, cls).__module__ == __name__ != cls.__module__:
            raise ValueError(f"{cls.__name__}: another kind of release is called {cls.name!r}")
        KINDS[cls.name] = cls

    @classmethod
    def of_budget(cls, terms: Terms) -> Cost:
        """Return the cost of a release whose noise is scaled for a stated budget."""
        raise ValueError(f"{cls.name} releases have no noise for a stated budget")

    @property
    @abstractmethod
    def stated(self) -> tuple[float, float]:
        """Return the (epsilon, delta) of the release by itself; epsilon is infinite if it has none with that delta."""

    def renyi(self) -> Array | None:
        """Return Renyi divergences, shape of `ORDERS`; None if `stated` is added to the total of all others instead.

        By default they are those of randomised response, the worst pure release (Kairouz, Oh and Viswanath 2015).
        """
        epsilon, delta = self.stated
        if delta:
            return None
        both = np.logaddexp(ORDERS * epsilon, (1 - ORDERS) * epsilon)
        return _at_most_concentrated(both - np.logaddexp(0, epsilon), epsilon)

    @property
    def gaussian(self) -> float:
        """Return the inverse squared multiplier of a Gaussian release, as if every record took part; else NaN."""
        return math.nan

    @property
    def symmetric(self) -> bool:
        """Tell whether both orders of the neighbours have the same divergences."""
        return True

    def merged(self, count: float) -> tuple[Cost, float]:
        """Return the release that a ledger keeps for so many of this one, and the number of it that costs the same."""
        return self, count

    def parts(self, count: float) -> tuple[Cost, int]:
        """Return a release with one loss, and how many independent ones so many of this one are equal to."""
        return self, math.ceil(count)

    def ends(self, absent: bool, tail: float) -> tuple[float, float]:
        """Return the losses between which a grid lies.

        Parameters
        ----------
        absent
            Whether the losses are those of the data set without the record.
        tail
            Outputs beyond which there is a probability of e^-tail count as infinite losses.
        """
        epsilon, _ = self.stated
        return -epsilon, epsilon

    def hockey_stick(self, losses: Array, absent: bool) -> Array:
        """Return the least delta for each epsilon: the hockey-stick divergence of the neighbours.

        By default it is that of the worst (epsilon, delta)-private release (Kairouz, Oh and Viswanath 2015).
        """
        epsilon, delta = self.stated
        found = np.zeros_like(losses)
        for loss in (epsilon, -epsilon):
            found -= expit(loss) * np.expm1(np.minimum(losses - loss, 0))
        return delta + (1 - delta) * found

    @property
    def shift(self) -> tuple[float, float, float]:
        """Return how far a neighbour moves a value at most in l1, l2 and one entry, in units of the noise.

        Norms of which nothing is known are infinite. Where no more than `stated` is known, epsilon stands in l2.
        """
        return math.inf, self.stated[0], math.inf

    @property
    def sound(self) -> bool:
        """Tell whether all numbers are finite and at least 0, without which nothing is known of the noise."""
        return all(0 <= number < math.inf for number in vars(self).values())

    def packed(self) -> list[Any]:
        """Return name and numbers, as JSON has them."""
        return [self.name, *vars(self).values()]

    @staticmethod
    def unpacked(packed: list[Any]) -> Cost:
        """Return the cost that `packed` was called of."""
        name, *numbers = packed
        return KINDS[name](*numbers)


@dataclass(frozen=True)
class Laplace(Cost):
    """A release has Laplace noise on every entry, which a neighbour shifts by so many scales of it.

    Attributes
    ----------
    l1, l2, linf
        Sum of the shifts of all entries, root of the sum of their squares, and largest shift of one entry.
    """

    name = "laplace"
    laws = ("laplace",)
    pure = True

    l1: float
    l2: float
    linf: float

    @classmethod
    def of_budget(cls, terms: Terms) -> Cost:
        """Scale by the bound in l1."""
        spent = terms.contributions * terms.epsilon
        return cls(spent, spent * terms.l2_over_l1, spent * terms.linf_over_l1)

    @property
    def stated(self) -> tuple[float, float]:
        """No loss is larger than the shift."""
        return self.l1, 0.0

    @property
    def entries(self) -> float:
        """Count the entries that give the sum if each shifts by the largest shift; need not be whole."""
        return self.l1 / self.linf if self.linf else 0.0

    def renyi(self) -> Array:
        """Bound the Renyi divergences.

        One entry that shifts by r has the divergence D(r) of Mironov (2017), proposition 6, which is convex and 0 at
        0; so D(r_k) <= r_k / linf D(linf), and the sum over entries is at most l1 / linf D(linf). It is also at most
        a l2^2 / 2, as an r-DP release is (r^2 / 2)-zCDP (Bun and Steinke 2016, proposition 1.4).
        """
        a, r = ORDERS, self.linf
        up = np.log(a / (2 * a - 1)) + (a - 1) * r
        down = np.log((a - 1) / (2 * a - 1)) - a * r
        entry = _at_most_concentrated(np.logaddexp(up, down), r)
        return np.minimum(self.entries * entry, a * (self.l2 * self.l2) / 2)

    def parts(self, count: float) -> tuple[Cost, int]:
        """Take each entry for one with the largest shift.

        Their number must not depend on how a processor rounds the norms: where they give a whole one but for that, the
        entries shift by as much more.
        """
        entries = math.ceil(self.entries / _ROUNDED)
        shift = max(self.linf, self.l1 / max(entries, 1))
        return Laplace(shift, shift, shift), math.ceil(count) * entries

    def hockey_stick(self, losses: Array, absent: bool) -> Array:
        """Return that of one entry."""
        inside = -np.expm1((np.maximum(losses, -self.l1) - self.l1) / 2)
        return np.where(losses < -self.l1, -np.expm1(np.minimum(losses, 0)), np.maximum(inside, 0))

    @property
    def shift(self) -> tuple[float, float, float]:
        """The fields say it."""
        return self.l1, self.l2, self.linf

    @property
    def sound(self) -> bool:
        """The norms have to be those of some vector as well."""
        return super().sound and self.linf <= _ROUNDED * self.l2 and self.l2 <= _ROUNDED * self.l1


@dataclass(frozen=True)
class Gaussian(Cost):
    """A release has normal noise, perhaps of a Poisson sample: each record takes part with a probability.

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
        """No delta is part of the release."""
        return math.inf, 0.0

    def renyi(self) -> Array:
        """Return the exact divergences; of samples, they are summed."""
        everyone = ORDERS * _over_square(0.5, self.multiplier)
        return np.fmin(everyone, self._sampled_renyi()) if self.sampling < 1 else everyone

    def _sampled_renyi(self) -> Array:
        return _sampled_renyi(self.multiplier, self.sampling)

    @property
    def symmetric(self) -> bool:
        """A sample of one neighbour alone may have the record."""
        return self.sampling == 1

    @property
    def gaussian(self) -> float:
        """The multiplier says it."""
        return _over_square(1, self.multiplier)

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

    def ends(self, absent: bool, tail: float) -> tuple[float, float]:
        """Return the losses at outputs beyond which there is a probability of e^-tail."""
        far = math.sqrt(2 * tail) * self.multiplier
        outputs = np.array([-far, 1 + far])
        low, high = _log_ratio(self.multiplier, self.sampling, outputs).tolist()
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
            found = q * (np.exp(losses + log_y + log_ndtr(x)) - np.exp(losses) * ndtr(x - 1 / m))
            outside = np.zeros_like(losses)
        else:
            found = q * (ndtr(1 / m - x) - np.exp(log_y + log_ndtr(-x)))
            outside = -np.expm1(np.minimum(losses, 0))
        return np.where(inside, found, outside)

    @property
    def shift(self) -> tuple[float, float, float]:
        """The multiplier says how far it is in l2."""
        return math.inf, 1 / self.multiplier if self.multiplier else math.inf, math.inf


@dataclass(frozen=True)
class Replaced(Gaussian):
    """A release of a sample has normal noise, and in the place of what one neighbour has the other has something else.

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

    def _sampled_renyi(self) -> Array:
        return _sampled_renyi(self._side, self.sampling, replaced=True)

    @property
    def symmetric(self) -> bool:
        """Neighbours are mirror images."""
        return True

    def ends(self, absent: bool, tail: float) -> tuple[float, float]:
        """Return the losses at outputs beyond which there is a probability of e^-tail."""
        far = math.sqrt(2 * tail) * self._side
        outputs = np.array([-far, 1 + far])
        low, high = _log_ratio(self._side, self.sampling, outputs, replaced=True).tolist()
        return low, high

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


@dataclass(frozen=True)
class Pure(Cost):
    """A release is (epsilon, 0)-differentially private, whatever its noise."""

    name = "pure"
    laws = ("spherical",)
    pure = True

    epsilon: float

    @classmethod
    def of_budget(cls, terms: Terms) -> Cost:
        """Give each contribution the budget."""
        return cls(terms.contributions * terms.epsilon)

    @property
    def stated(self) -> tuple[float, float]:
        """Nothing more is known."""
        return self.epsilon, 0.0


@dataclass(frozen=True)
class Approximate(Cost):
    """A release is (epsilon, delta)-differentially private, whatever its noise."""

    name = "approximate"

    epsilon: float
    delta: float

    @property
    def stated(self) -> tuple[float, float]:
        """Nothing more is known."""
        return self.epsilon, self.delta


class Spending(tuple[tuple[Cost, float], ...]):
    """How often each cost was paid: pairs of a cost and a count, in an order that does not depend on who came first.

    Releases that compose into one are merged. The count of Gaussian ones is that of releases with the multiplier 1, and
    need not be whole.
    """

    __slots__ = ()

    def __new__(cls, paid: Iterable[tuple[Cost, float]] = ()) -> Self:
        """Merge what composes into one."""
        counts: dict[Cost, float] = {}
        for cost, count in itertools.starmap(Cost.merged, paid):
            counts[cost] = counts.get(cost, 0) + count
        found = [pair for pair in counts.items() if pair[1]]
        return super().__new__(cls, sorted(found, key=lambda pair: pair[0].packed()))

    @property
    def sound(self) -> bool:
        """Tell whether all numbers can be composed; where not, nothing is known of the noise."""
        return all(cost.sound and 0 <= count < math.inf for cost, count in self)

    @property
    def gaussian(self) -> float:
        """Return the inverse squared multiplier of the Gaussian release to which all compose; NaN with others."""
        return sum(count * cost.gaussian for cost, count in self)

    def renyi(self) -> Array | None:
        """Return Renyi divergences of all together, shape of `ORDERS`; None if a cost has none."""
        total = np.zeros(len(ORDERS))
        for cost, count in self:
            divergence = cost.renyi()
            if divergence is None:
                return None
            total += count * divergence
        return total

    @property
    def sampled(self) -> bool:
        """Tell whether there are releases of samples."""
        return any(cost.sampling < 1 for cost, _ in self)


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


@lru_cache
def _sampled_renyi(multiplier: float, sampling: float, replaced: bool = False) -> Array:
    """Renyi divergences of a Gaussian release of a Poisson sample (Mironov, Talwar and Zhang 2019, section 3).

    With the ratio r of both densities, the moment of order a is the mean of r^a over the second. It is an integral
    here, as dp-accounting excludes orders whose series do not converge. Beyond the last order in reach there is NaN.
    The second has outputs without the record, or else with one on the other side of these.
    """
    found = np.full_like(ORDERS, np.nan)
    orders = ORDERS[: np.searchsorted(ORDERS, _REACH * multiplier)]
    if not orders.size:
        return found
    # Sums over equal steps converge fast if a step is small beside the deviation and beside the distance to the
    # singularity of the logarithm of r, pi times the variance. Moments lie at outputs up to their order.
    step = multiplier / 8 * min(1, 4 * multiplier)
    low, high = (-1, 2 * orders[-1]) if replaced else (0, orders[-1])
    x = np.arange(low - 10 * multiplier, high + 10 * multiplier, step)
    log_weight = math.log(step / multiplier / math.sqrt(2 * math.pi)) - (x / multiplier) ** 2 / 2
    if replaced:
        log_weight += _log_ratio(multiplier, sampling, -x)
    log_ratio = _log_ratio(multiplier, sampling, x, replaced)
    for k, order in enumerate(orders):
        logarithm = logsumexp(log_weight + order * log_ratio)
        found[k] = (logarithm + _SUMMED * (1 + logarithm)) / (order - 1)
    return found


def _log_ratio(multiplier: float, sampling: float, x: Array, replaced: bool = False) -> Array:
    """Logarithm of the density of outputs with a record that may take part, over that without it.

    Or over that with one on the other side.
    """
    if replaced:
        return _log_ratio(multiplier, sampling, x) - _log_ratio(multiplier, sampling, -x)
    absent = math.log1p(-sampling) if sampling < 1 else -math.inf
    # Without samples, losses below -37 count as infinite.
    with np.errstate(divide="ignore", over="ignore"):
        loss: Array = (x - 0.5) / multiplier / multiplier
        small = np.log1p(sampling * np.expm1(np.minimum(loss, 1)))
    return np.where(loss < 1, small, np.logaddexp(absent, math.log(sampling) + loss))


def _at_most_concentrated(logarithm: Array, epsilon: float) -> Array:
    """Divergence of an epsilon-DP release, from the logarithm of its moment: at most that of epsilon^2 / 2 of zCDP."""
    concentrated = ORDERS * (epsilon * epsilon) / 2
    exact = logarithm / (ORDERS - 1)
    found: Array = np.where(
        ORDERS * epsilon < _SMALL, concentrated, np.minimum(exact, concentrated)
    )
    return found


def _over_square(x: float, multiplier: float) -> float:
    """A number over the square of a multiplier; infinite where it is out of reach."""
    square = multiplier * multiplier
    return x / square if square else math.inf
