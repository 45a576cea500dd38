"""ObjT: objective perturbation with a trust region (ryu2021)."""

from __future__ import annotations

from admmbench.base.algorithm import Family, parameters
from admmbench.base.inexact import ObjectivePerturbation
from admmbench.base.linearized import Schedule, trust_region_step
from admmbench.base.types import Subproblem


@parameters
class ObjT(ObjectivePerturbation):
    """DP-IADMM-Trust: Algorithm 2 of ryu2021, with the infinity norm; the paper has one local update."""

    family = Family(mechanism="objective_perturbation_in_a_trust_region")
    tune = {"rounds": 20, "params.rho": 0.005, "params.a": 0.5}
    examples = ({"local_updates": 3},)

    # Closed form of (9).
    step = staticmethod(trust_region_step)

    def schedule(self, sub: Subproblem) -> Schedule:
        """Return the radius ``delta_t``."""
        return {"radius": self.radius(sub.t)}
