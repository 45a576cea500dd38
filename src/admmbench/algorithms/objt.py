"""ObjT: objective perturbation with a trust region (ryu2021)."""

from __future__ import annotations

from admmbench.algorithms.base import Array, parameters
from admmbench.algorithms.consensus import Subproblem
from admmbench.algorithms.inexact import Inexact
from admmbench.algorithms.linearized import Schedule, Step, trust_region_step
from admmbench.privacy import Release
from admmbench.problems.base import Gradient


@parameters
class ObjT(Inexact):
    """DP-IADMM-Trust: Algorithm 2 of ryu2021, with the infinity norm."""

    release = Release("laplace", "gradient", neighbours="one record's contribution is left out")

    @property
    def step(self) -> Step:
        """Closed form of (9)."""
        return trust_region_step

    def schedule(self, sub: Subproblem) -> Schedule:
        """Radius delta_t."""
        return {"radius": self.radius(sub.t)}

    def perturb_gradient(self, sub: Subproblem, gradient: Gradient) -> Array | float:
        """Draw xi ~ Laplace(0, Delta_p / epsilon): (11)."""
        return sub.noise.laplace(gradient.sensitivity)
