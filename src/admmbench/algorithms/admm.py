"""ADMM: exact subproblems and no noise (huang2019, algorithm 1)."""

from __future__ import annotations

from admmbench.frames.base import Array, parameters
from admmbench.frames.consensus import Subproblem
from admmbench.frames.exact import Exact


@parameters
class ExactADMM(Exact):
    """Algorithm 1. The privacy budget has no effect: what is sent has no noise."""

    role = "reference"

    def update(self, sub: Subproblem) -> Array:
        """Solve the subproblem of line 4."""
        return self.minimize(sub, sub.dual)
