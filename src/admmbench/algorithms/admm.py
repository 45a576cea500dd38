"""ADMM: exact subproblems and no noise (huang2019, algorithm 1)."""

from __future__ import annotations

from admmbench.algorithms.base import Array, Block, parameters
from admmbench.algorithms.exact import Exact
from admmbench.privacy import Privacy


@parameters
class ExactADMM(Exact):
    """Algorithm 1. The privacy budget has no effect: what is sent has no noise."""

    def primal(
        self, t: int, block: Block, z: Array, w: Array, dual: Array, rho: float, privacy: Privacy
    ) -> Array:
        """Line 4."""
        return self.minimize(block.problem, z, w, dual, rho)
