"""IADMM: inexact ADMM without noise, IADMM-Prox (5) and IADMM-Trust (6) of ryu2021."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from admmbench.algorithms.base import Array, Block, parameters
from admmbench.algorithms.inexact import InexactADMM, Subproblem
from admmbench.elementwise import elementwise


@elementwise
def proximal_step(
    gradient: float, rho: float, w: float, dual: float, z: float, inverse_eta: float
) -> float:
    """Minimiser of (5)."""
    return (-gradient + rho * w + dual + inverse_eta * z) / (rho + inverse_eta)


@elementwise
def trust_region_step(
    gradient: float, rho: float, w: float, dual: float, z: float, radius: float
) -> float:
    """Minimiser of (6), in the infinity norm."""
    free = (-gradient + rho * w + dual) / rho
    return np.minimum(np.maximum(free, z - radius), z + radius)


@parameters
class IADMM(InexactADMM):
    """Inexact ADMM, the non-private baseline; it adds no noise whatever epsilon is.

    Parameters
    ----------
    subproblem
        ``proximal``: (5) of ryu2021, eta_t = a / sqrt(t); this is the non-private method of ryu2022.
        ``trust_region``: (6) of ryu2021, in the infinity norm with radius a / t^2 (``paper``) or a (``reference``).
    """

    subproblem: Literal["proximal", "trust_region"] = "proximal"

    def perturbation(self, block: Block, sensitivity: Array) -> float:
        """No noise."""
        return 0.0

    def solve(self, sub: Subproblem, xi: Array | float) -> Array:
        """Closed form of (5) or (6)."""
        known = sub.gradient, sub.rho, sub.w, sub.dual, sub.z
        if self.subproblem == "proximal":
            return proximal_step(*known, math.sqrt(sub.t) / self.a)
        return trust_region_step(*known, self.a if self.reference else self.a / sub.t**2)
