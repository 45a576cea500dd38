"""PVP: ADMM with primal variable perturbation (huang2019, algorithm 2)."""

from __future__ import annotations

from typing import Any

from admmbench.algorithms.agents_first import record_count
from admmbench.algorithms.base import Array, Block, need_smooth, parameters
from admmbench.algorithms.exact import Exact
from admmbench.privacy import Privacy


@parameters
class PVP(Exact):
    """Algorithm 2: exact subproblems, and Gaussian noise of constant variance on their solutions."""

    def check(self, problem: Any) -> None:
        """Lemma 4 is about smooth f_i."""
        need_smooth(problem, "pvp")

    def primal(
        self, t: int, block: Block, z: Array, w: Array, dual: Array, rho: float, privacy: Privacy
    ) -> Array:
        """Lines 4 and 5, with the l2 sensitivity 2 c1 / ((lambda / n + rho) m) of lemma 4."""
        local = block.problem
        solved = self.minimize(local, z, w, dual, rho)
        stiffness = local.problem.regularizer_weight + rho
        sensitivity = 2 * local.gradient_bound / (stiffness * record_count(local))
        return solved + block.noise.gaussian(sensitivity)
