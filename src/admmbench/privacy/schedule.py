"""Noise that falls or rises over rounds, at one total."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np


@dataclass(frozen=True)
class Schedule:
    """Factors of the Gaussian noise of rounds, from round to round in a constant ratio.

    Their inverse squares have the mean 1. So Gaussian releases of all records have the total that they have without a
    schedule, for the same budget of a release, and steps of methods that follow the budget stay as they are.

    Attributes
    ----------
    ratio
        Last factor over the first.
    rounds
        Number of rounds, T.
    """

    ratio: float = 1.0
    rounds: int = 1

    @property
    def constant(self) -> bool:
        """Return whether all factors are 1."""
        return self.ratio == 1 or self.rounds == 1

    def factor(self, t: int) -> float:
        """Return the factor of round t = 1, 2, ..., T: ``ratio^((t - 1) / (T - 1))``, but for a constant."""
        if self.constant:
            return 1.0
        return float(self._first * self.ratio ** ((t - 1) / (self.rounds - 1)))

    @cached_property
    def _first(self) -> float:
        """First factor."""
        course = self.ratio ** np.linspace(0, 1, self.rounds)
        return math.sqrt(np.mean(course**-2.0))


STEADY = Schedule()
"""Noise of one budget in every round."""
