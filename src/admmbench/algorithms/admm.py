"""ADMM: exact subproblems and no noise (huang2019, algorithm 1)."""

from __future__ import annotations

from admmbench.algorithms.base import Array, parameters
from admmbench.algorithms.consensus import Subproblem
from admmbench.algorithms.exact import Exact


@parameters
class ExactADMM(Exact):
    """Algorithm 1. The privacy budget has no effect: what is sent has no noise."""

    def update(self, sub: Subproblem) -> Array:
        """Line 4."""
        return self.minimize(sub, sub.dual)
