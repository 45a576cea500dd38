"""Ledger: every noisy release of an agent, and what they cost together.

Agents hold disjoint records, so a record pays for the releases of its own agent only (parallel composition): each agent
keeps a ledger, and the federation's total is the largest.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any


class Ledger:
    """Releases of one agent, in the compressed form that composition needs.

    Gaussian releases compose exactly into one whose squared multipliers add up inversely, so that only
    the sum is kept; Laplace releases are counted by multiplier. Memory is constant in the number of rounds.
    """

    def __init__(self) -> None:
        self._laplace: Counter[float] = Counter()
        self._gaussian = 0.0

    def __bool__(self) -> bool:
        """Whether there was any release."""
        return bool(self._laplace or self._gaussian)

    def laplace(self, multiplier: float, count: int = 1) -> None:
        """Record releases with Laplace noise of scale ``multiplier`` times the l1 sensitivity."""
        self._laplace[multiplier] += count

    def gaussian(self, multiplier: float, count: int = 1) -> None:
        """Record releases with Gaussian noise of standard deviation ``multiplier`` times the l2 sensitivity."""
        self._gaussian += count / multiplier**2

    def entries(self) -> tuple[tuple[tuple[float, int], ...], float]:
        """Laplace releases as (multiplier, count), and the sum of the inverse squared Gaussian multipliers."""
        return tuple(sorted(self._laplace.items())), self._gaussian

    def event(self) -> Any:
        """Return the releases as one ``dp_accounting.DpEvent``."""
        return _event(self.entries())

    def epsilon(self, delta: float, accountant: str = "pld") -> float:
        """Total epsilon at ``delta``.

        Parameters
        ----------
        delta
            Failure probability of the total guarantee.
        accountant
            Name in `ACCOUNTANTS`.
        """
        return ACCOUNTANTS[accountant](self.entries(), delta)


Entries = tuple[tuple[tuple[float, int], ...], float]


def _event(entries: Entries) -> Any:
    import dp_accounting as dp  # half a second to import, and most runs only need it at the end

    laplace, gaussian = entries
    events: list[Any] = [
        dp.SelfComposedDpEvent(dp.LaplaceDpEvent(multiplier), count)
        for multiplier, count in laplace
    ]
    if gaussian:
        events.append(dp.GaussianDpEvent(1 / math.sqrt(gaussian)))
    return dp.ComposedDpEvent(events)


# dp-accounting's default grid is 1e-4; relative to the single losses here a coarser one costs nothing visible and
# bounds the time. It is rounded up, so that the result stays an upper bound.
_GRID_PER_LOSS = 20


@lru_cache(maxsize=4096)
def _pld(entries: Entries, delta: float) -> float:
    """Privacy loss distributions (dp-accounting), add-or-remove-one neighbours."""
    laplace, gaussian = entries
    if not laplace and not gaussian:
        return 0.0
    basic = sum(count / multiplier for multiplier, count in laplace)
    if not gaussian and basic <= 1e-4:
        return basic
    from dp_accounting.pld.pld_privacy_accountant import PLDAccountant

    accountant = PLDAccountant(value_discretization_interval=_interval(entries))
    accountant.compose(_event(entries))
    return min(float(accountant.get_epsilon(delta)), basic if not gaussian else math.inf)


def _interval(entries: Entries) -> float:
    laplace, gaussian = entries
    losses = [1 / multiplier for multiplier, _ in laplace]
    if gaussian:
        losses.append(math.sqrt(gaussian))
    return max(1e-5, min(losses) / _GRID_PER_LOSS)


def _moments(entries: Entries, delta: float) -> float:
    """Moments accountant of huang2019 (appendix B): integer moments tau of Gaussian releases.

    With G the sum of the inverse squared multipliers, alpha(tau) = tau (tau + 1) G / 2, and
    epsilon = min_tau (alpha(tau) + ln(1 / delta)) / tau.
    """
    laplace, gaussian = entries
    if laplace:
        raise ValueError("accountant huang2019: it knows Gaussian releases only")
    if not gaussian:
        return 0.0
    log = math.log(1 / delta)
    best = math.sqrt(2 * log / gaussian)  # over the reals
    taus = {max(1, math.floor(best)), math.ceil(best)}
    return min((tau + 1) / 2 * gaussian + log / tau for tau in taus)


ACCOUNTANTS: dict[str, Callable[[Entries, float], float]] = {"pld": _pld, "huang2019": _moments}


def epsilon_total(ledgers: Iterable[Ledger], delta: float, accountant: str = "pld") -> float:
    """Total epsilon of a federation: that of the agent who pays most."""
    totals = {ledger.entries(): ledger for ledger in ledgers}
    return max((ledger.epsilon(delta, accountant) for ledger in totals.values()), default=0.0)
