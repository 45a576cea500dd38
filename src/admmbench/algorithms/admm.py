"""ADMM: exact subproblems and no noise (huang2019, algorithm 1)."""

from __future__ import annotations

from admmbench.base.algorithm import Family, parameters
from admmbench.base.exact import Exact
from admmbench.base.types import Array, Subproblem


@parameters
class ExactADMM(Exact):
    """Algorithm 1. The privacy budget has no effect: what is sent has no noise."""

    family = Family(role="reference")

    def update(self, sub: Subproblem) -> Array:
        """Solve the subproblem of line 4."""
        return self.minimize(sub, sub.dual)
