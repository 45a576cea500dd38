"""ObjT: objective perturbation with a trust region (ryu2021)."""

from __future__ import annotations

import numpy as np

from admmbench.algorithms.base import Array, Block, parameters
from admmbench.algorithms.inexact import InexactADMM, Subproblem
from admmbench.elementwise import elementwise


@elementwise
def trust_region_step(
    gradient: float, xi: float, rho: float, w: float, dual: float, z: float, radius: float
) -> float:
    """Minimise <gradient + xi, v> + (rho / 2) ||w - v + dual / rho||^2 over |v - z| <= radius.

    The objective is separable, so that its minimiser is clipped to the box.
    """
    free = (-gradient - xi + rho * w + dual) / rho
    return np.minimum(np.maximum(free, z - radius), z + radius)


@parameters
class ObjT(InexactADMM):
    """DP-IADMM-Trust: Algorithm 2 of ryu2021, with the infinity norm.

    The radius is a / t^2 in the paper and a in the authors' code, which multiplies where it should divide: with the
    paper's radius the sum of all steps is bounded by a pi^2 / 6 in every coordinate, and the iterates freeze.
    """

    def perturbation(self, block: Block, sensitivity: Array) -> Array | float:
        """Draw xi ~ Laplace(0, Delta_p / epsilon): (11)."""
        return block.noise.laplace(sensitivity)

    def solve(self, sub: Subproblem, xi: Array | float) -> Array:
        """Closed form of (9)."""
        radius = self.a if self.reference else self.a / sub.t**2
        return trust_region_step(sub.gradient, xi, sub.rho, sub.w, sub.dual, sub.z, radius)
