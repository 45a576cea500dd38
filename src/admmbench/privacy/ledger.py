"""Ledger: every noisy release of an agent, and what they cost together.

Agents hold disjoint records, so a record pays for the releases of its own agent only (parallel composition): each agent
keeps a ledger, and the federation's total is the largest.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from admmbench.privacy.accountants import ACCOUNTANTS
from admmbench.privacy.costs import Cost, Spending


class Ledger:
    """Releases of one agent; memory is constant in the number of rounds."""

    def __init__(self) -> None:
        self._counts: dict[Cost, float] = {}

    def __bool__(self) -> bool:
        """Whether there was any release."""
        return bool(self.spending())

    def add(self, cost: Cost, count: float = 1) -> None:
        """Record so many releases of this cost."""
        merged, number = cost.merged(count)
        self._counts[merged] = self._counts.get(merged, 0) + number

    def variables(self) -> dict[str, Any]:
        """Return all releases so far, as JSON has them."""
        return {"spent": self.spending().packed()}

    def restore(self, variables: dict[str, Any]) -> None:
        """Take up what `variables` returned."""
        self._counts = {Cost.unpacked(cost): count for cost, count in variables["spent"]}

    def spending(self) -> Spending:
        """Return all releases so far."""
        return Spending(self._counts.items())

    def epsilon(self, delta: float, accountant: str = "rdp") -> float:
        """Compose all releases so far into a total epsilon at ``delta``.

        Parameters
        ----------
        delta
            Failure probability of the total guarantee.
        accountant
            Name in `ACCOUNTANTS`.

        Returns
        -------
        float
            Infinite if the ledger has a number that is negative or not finite, or norms of no vector, as then nothing
            is known of the noise; NaN if there are releases that the accountant cannot compose.
        """
        spending = self.spending()
        return ACCOUNTANTS[accountant].epsilon(spending, delta) if spending.sound else math.inf


def epsilon_total(ledgers: Iterable[Ledger], delta: float, accountant: str = "rdp") -> float:
    """Return the total epsilon of a federation: that of the agent who pays most, NaN if any agent's is."""
    totals = {ledger.spending(): ledger for ledger in ledgers}
    return float(np.max([each.epsilon(delta, accountant) for each in totals.values()], initial=0))
