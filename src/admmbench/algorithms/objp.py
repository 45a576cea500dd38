"""ObjP: objective perturbation with a proximal term, and with E local updates ObjPM (ryu2021, ryu2022)."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

from pydantic import Field

from admmbench.algorithms.base import Array, Block, factors, need_smooth, parameters
from admmbench.algorithms.inexact import InexactADMM, Subproblem
from admmbench.elementwise import elementwise


@elementwise
def proximal_step(
    gradient: float, xi: float, rho: float, w: float, dual: float, z: float, inverse_eta: float
) -> float:
    """Minimise <gradient + xi, v> + ||v - z||^2 / (2 eta) + (rho / 2) ||w - v + dual / rho||^2 over v."""
    return (-gradient - xi + rho * w + dual + inverse_eta * z) / (rho + inverse_eta)


@parameters
class ObjP(InexactADMM):
    """DP-IADMM-Prox: Algorithm 1 of ryu2022, and with E = 1 of ryu2021.

    Parameters
    ----------
    local_updates
        E, subproblems that an agent solves in a round, each with noise of its own; it sends the mean of the
        iterates and goes on from the last. ObjPM is E = 10.
    proximity
        ``sqrt``: eta_t = a / sqrt(t), as ryu2021, theorem 3 of ryu2022 and the authors' code have it; ``smooth``:
        eta_t = a / (L + sqrt(t) / epsilon), theorem 2 of ryu2022 for an L-smooth f_p.
    """

    local_updates: Annotated[int, Field(ge=1)] = 1
    proximity: Literal["sqrt", "smooth"] = "sqrt"

    def check(self, problem: Any) -> None:
        """Theorem 2 is about smooth f_p."""
        if self.proximity == "smooth":
            need_smooth(problem, "proximity: smooth")

    @property
    def updates(self) -> int:
        """E."""
        return self.local_updates

    def perturbation(self, block: Block, sensitivity: Array) -> Array | float:
        """Draw xi ~ Laplace(0, Delta_p / epsilon): (9) of ryu2022."""
        return block.noise.laplace(sensitivity)

    def solve(self, sub: Subproblem, xi: Array | float) -> Array:
        """Closed form of (8)."""
        return proximal_step(
            sub.gradient, xi, sub.rho, sub.w, sub.dual, sub.z, self._inverse_eta(sub)
        )

    def _inverse_eta(self, sub: Subproblem) -> float | Array:
        root = math.sqrt(sub.t)
        if self.proximity == "sqrt":
            return root / self.a
        return factors(sub.problem.smoothness + root / sub.epsilon, like=sub.z) / self.a
