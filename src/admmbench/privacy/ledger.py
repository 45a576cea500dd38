"""Ledger: all mechanisms of an agent, their total epsilon, and the noise that leads to a stated total.

Agents hold disjoint records, so only the mechanisms of its own agent concern a record (parallel composition): each
agent keeps a ledger, and the federation's total is the largest.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from admmbench.privacy import composition
from admmbench.privacy.events import Composition, Cost

# Relative accuracy of the total: it is below its target, and far closer to it than 1 %.
_AIM, _TOLERANCE = 0.998, 1e-5
_LEAST = 0.99


class Ledger:
    """All mechanisms of one agent; equal ones and Gaussian ones of all records are one entry."""

    def __init__(self) -> None:
        self._counts: dict[Cost, float] = {}

    def __bool__(self) -> bool:
        """Return whether there was any release."""
        return bool(self.composition())

    def add(self, cost: Cost, count: float = 1) -> None:
        """Record so many releases of this cost."""
        merged, number = cost.merged(count)
        self._counts[merged] = self._counts.get(merged, 0) + number

    def repeated(self, runs: float) -> Ledger:
        """Return the ledger of so many runs with these releases; a part of a run counts as one."""
        every = Ledger()
        for cost, count in self.composition():
            every.add(cost, math.ceil(runs) * count)
        return every

    def variables(self) -> dict[str, Any]:
        """Return all releases so far, as JSON has them."""
        return {"mechanisms": [[cost.packed(), count] for cost, count in self.composition()]}

    def restore(self, variables: dict[str, Any]) -> None:
        """Take up what `variables` returned."""
        self._counts = {Cost.unpacked(cost): count for cost, count in variables["mechanisms"]}

    def composition(self) -> Composition:
        """Return all mechanisms so far."""
        return Composition(self._counts.items())

    def epsilon(self, delta: float, accountant: str | None = None) -> float:
        """Compose all releases so far into a total epsilon at ``delta``.

        Parameters
        ----------
        delta
            Failure probability of the total guarantee.
        accountant
            Name in `composition.ACCOUNTANTS` of the one that composes; by default the least total that is proved.

        Returns
        -------
        float
            Infinite if the ledger has a number that is negative or not finite, or norms of no vector, as then nothing
            is known of the noise; NaN if there are releases that the accountant cannot compose.
        """
        mechanisms = self.composition()
        if not mechanisms.sound:
            return math.inf
        if accountant is None:
            return composition.total(mechanisms, delta)
        return composition.ACCOUNTANTS[accountant].epsilon(mechanisms, delta)


def dearest(ledgers: Iterable[Ledger], delta: float) -> Ledger:
    """Return the ledger of the agent with the largest privacy loss; an empty one if there is no agent."""
    return max(ledgers, key=lambda each: each.epsilon(delta), default=Ledger())


def epsilon_total(ledgers: Iterable[Ledger], delta: float, accountant: str | None = None) -> float:
    """Return the total epsilon of a federation: the largest of its agents, NaN if any agent's is."""
    totals = {ledger.composition(): ledger for ledger in ledgers}
    return float(np.max([each.epsilon(delta, accountant) for each in totals.values()], initial=0))


def calibrate(
    ledger_at: Callable[[float], Ledger],
    total: float,
    delta: float,
    composed: Callable[[Ledger, float], float] = Ledger.epsilon,
    key: str = "privacy.total",
) -> float:
    """Solve for the budget of one release.

    Parameters
    ----------
    ledger_at
        Mechanisms of a run, as a function of the budget of one of them; the loss grows with the budget.
    total
        Composed privacy loss of the run, at most.
    delta
        Failure probability of the total; 0 for a loss without one.
    composed
        Loss that the total is of, as a function of the releases and of delta.
    key
        Setting that states the total, for errors.

    Returns
    -------
    float
        Budget with which the composed loss is 0.99 to 1 of the total; infinite if the total is.

    Raises
    ------
    ValueError
        If there is no such budget.
    """
    if math.isinf(total):
        return math.inf
    from scipy.optimize import brentq  # slow to import

    def above(log: float) -> float:
        """Logarithm of the composed loss over what is aimed at, for the logarithm of a budget."""
        reached = composed(ledger_at(math.exp(log)), delta)
        return math.log(max(reached, 1e-300) / (_AIM * total))

    low = high = math.log(total)
    while above(low) > 0 and low > -100:
        low -= 2
    while above(high) < 0 and high < 100:
        high += 2
    solvable = above(low) <= 0 <= above(high) and low < high
    epsilon = math.exp(brentq(above, low, high, xtol=_TOLERANCE) if solvable else low)
    reached = composed(ledger_at(epsilon), delta)
    if not _LEAST * total <= reached <= total:
        name = key.rpartition(".")[2]
        at, other = (f" at delta {delta:g}", f"{name} or delta") if delta else ("", name)
        raise ValueError(
            f"{key}: no noise gives a {name} of {total:g}{at}, but one of {reached:g}; state another {other}"
        )
    return epsilon
