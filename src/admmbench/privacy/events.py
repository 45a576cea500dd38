"""Privacy loss of one mechanism: one class for each kind, an event that composes.

A subclass of `Cost` says all that others ask of a kind: accountants how it composes, checkpoints how it is packed,
methods and results what its noise is called, and audits how far a neighbour may move a value. So a new kind is one
class, wherever it is, and nothing else. A `Composition` has the mechanisms of an agent, which `composition` composes.
"""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

if TYPE_CHECKING:
    from dp_accounting import DpEvent

Array = NDArray[np.floating[Any]]

ORDERS = 1 + np.geomspace(0.0101, 1e6, 400)
"""Orders of the Renyi divergences: dp-accounting converts those above 1.01."""

KINDS: dict[str, type[Cost]] = {}
"""Kinds of releases by name; a class enters itself."""

# Below this product of order and loss, a bound replaces a divergence that would be lost in rounding.
_SMALL = 1e-3
# Different samples that are composed as they are, at most.
_DIFFERENT = 4
# Of norms, which are computed in floating point.
_ROUNDED = 1 + 1e-9


class Terms(NamedTuple):
    """Terms of a mechanism: the budget that its noise is scaled for, and the neighbours and sampling of a run."""

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


# Gaussian noise has an event of dp-accounting, and is a class here all the same. An event has no divergences for our
# distributions, no shift for audits, and no rule by which ledgers merge rounds. None states (epsilon, delta) alone.
@dataclass(frozen=True)
class Cost(ABC):
    """Privacy loss of one mechanism, of one kind: the numbers of a subclass are its fields.

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
        known, room = KINDS.get(cls.name, cls), __name__.rpartition(".")[0]
        if known.__module__.startswith(room) and not cls.__module__.startswith(room):
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
        exact = (both - np.logaddexp(0, epsilon)) / (ORDERS - 1)
        # An epsilon-DP release is also (epsilon^2 / 2)-zCDP.
        concentrated = ORDERS * (epsilon * epsilon) / 2
        small = ORDERS * epsilon < _SMALL
        return np.asarray(np.where(small, concentrated, np.minimum(exact, concentrated)))

    @property
    def event(self) -> DpEvent | Cost:
        """Return the event of dp-accounting that has the same privacy loss; itself where there is none.

        `renyi.RenyiAccountant` composes both.
        """
        return self

    @property
    def gaussian(self) -> float:
        """Return the inverse squared multiplier of a Gaussian release, as if every record took part; else NaN."""
        return math.nan

    @property
    def symmetric(self) -> bool:
        """Return whether both orders of the neighbours have the same divergences."""
        return True

    def louder(self, factor: float) -> Cost:
        """Return the cost with so many times the noise; ValueError for a kind whose noise has no factor."""
        if factor != 1:
            raise ValueError(f"{self.name} releases have no schedule of noise")
        return self

    def merged(self, count: float) -> tuple[Cost, float]:
        """Return the release that a ledger keeps for so many of this one, and the number of it that costs the same."""
        return self, count

    def parts(self, count: float) -> tuple[Cost, int]:
        """Return a release with one loss, and how many independent ones so many of this one are equal to."""
        return self, math.ceil(count)

    @property
    def bounds(self) -> tuple[tuple[Cost, ...], float]:
        """Return costs, and the chance of the first, whose mixture has no smaller divergence anywhere.

        Costs that are nearly alike share them. By default it is the cost itself.
        """
        return (self,), 1.0

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
        """Return whether all numbers are finite and at least 0, without which nothing is known of the noise."""
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
    """Laplace noise on every entry, which a neighbour shifts by so many scales of the noise.

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
        epsilon = terms.contributions * terms.epsilon
        return cls(epsilon, epsilon * terms.l2_over_l1, epsilon * terms.linf_over_l1)

    @property
    def stated(self) -> tuple[float, float]:
        """Return the shift in l1, the largest loss."""
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
        concentrated = ORDERS * (self.l2 * self.l2) / 2
        return np.minimum(self.entries * _of_one_entry(self.linf), concentrated)

    @property
    def event(self) -> DpEvent | Cost:
        """Return the event of dp-accounting for one entry; several such events would know no l2 norm."""
        from dp_accounting.dp_event import LaplaceDpEvent  # slow to import

        one = self.entries == 1 and type(self) is Laplace
        return LaplaceDpEvent(1 / self.l1) if one else self

    def parts(self, count: float) -> tuple[Cost, int]:
        """Take each entry for one with the largest shift.

        Their number must not depend on how a processor rounds the norms: where they give a whole one but for that, the
        entries shift by as much more.
        """
        entries = math.ceil(self.entries / _ROUNDED)
        shift = max(self.linf, self.l1 / max(entries, 1))
        return Laplace(shift, shift, shift), math.ceil(count) * entries

    def hockey_stick(self, losses: Array, absent: bool) -> Array:
        """Return the divergence of one entry."""
        inside = -np.expm1((np.maximum(losses, -self.l1) - self.l1) / 2)
        return np.where(losses < -self.l1, -np.expm1(np.minimum(losses, 0)), np.maximum(inside, 0))

    @property
    def shift(self) -> tuple[float, float, float]:
        """Return the fields."""
        return self.l1, self.l2, self.linf

    @property
    def sound(self) -> bool:
        """Tell, too, whether some vector has these norms."""
        return super().sound and self.linf <= _ROUNDED * self.l2 and self.l2 <= _ROUNDED * self.l1


@dataclass(frozen=True)
class Pure(Cost):
    """Mechanism that is (epsilon, 0)-differentially private, whatever its noise."""

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
        """Return the fields: nothing more is known."""
        return self.epsilon, 0.0


@dataclass(frozen=True)
class Approximate(Cost):
    """Mechanism that is (epsilon, delta)-differentially private, whatever its noise."""

    name = "approximate"

    epsilon: float
    delta: float

    @property
    def stated(self) -> tuple[float, float]:
        """Return the fields: nothing more is known."""
        return self.epsilon, self.delta


class Composition(tuple[tuple[Cost, float], ...]):
    """All mechanisms of an agent: pairs of a cost and a count, in an order that does not depend on which came first.

    Releases that compose into one are merged. The count of Gaussian ones is that of releases with the multiplier 1, and
    need not be whole.
    """

    __slots__ = ()

    def __new__(cls, pairs: Iterable[tuple[Cost, float]] = ()) -> Self:
        """Merge what composes into one."""
        counts: dict[Cost, float] = {}
        for cost, count in itertools.starmap(Cost.merged, pairs):
            counts[cost] = counts.get(cost, 0) + count
        found = [pair for pair in counts.items() if pair[1]]
        return super().__new__(cls, sorted(found, key=lambda pair: pair[0].packed()))

    @property
    def sound(self) -> bool:
        """Return whether all numbers can be composed; where not, nothing is known of the noise."""
        return all(cost.sound and 0 <= count < math.inf for cost, count in self)

    @property
    def gaussian(self) -> float:
        """Return the inverse squared multiplier of the Gaussian release to which all compose; NaN with others."""
        return sum(count * cost.gaussian for cost, count in self)

    @property
    def event(self) -> DpEvent:
        """Return all of them as one event, for accountants of dp-accounting."""
        from dp_accounting.dp_event import ComposedDpEvent, SelfComposedDpEvent

        return ComposedDpEvent([SelfComposedDpEvent(cost.event, count) for cost, count in self])

    @property
    def sampled(self) -> bool:
        """Return whether there are releases of samples."""
        return any(cost.sampling < 1 for cost, _ in self)

    @property
    def varied(self) -> bool:
        """Return whether there are so many different samples that `Cost.bounds` stand for them."""
        return sum(cost.sampling < 1 for cost, _ in self) > _DIFFERENT


@lru_cache(maxsize=4096)
def _of_one_entry(shift: float) -> Array:
    """Renyi divergences of Laplace noise on one entry, shape of `ORDERS`."""
    from dp_accounting.dp_event import LaplaceDpEvent
    from dp_accounting.rdp import RdpAccountant

    scale = 1 / shift if shift else math.inf
    return np.asarray(RdpAccountant(ORDERS).compose(LaplaceDpEvent(scale)).rdp)
