"""IADMM: inexact ADMM without noise, IADMM-Prox (5) and IADMM-Trust (6) of ryu2021."""

from __future__ import annotations

from typing import Literal

from admmbench.base.algorithm import Family, parameters
from admmbench.base.inexact import Inexact
from admmbench.base.linearized import Schedule, Step, proximal_step, trust_region_step
from admmbench.base.types import Subproblem


@parameters
class IADMM(Inexact):
    """Inexact ADMM, the non-private baseline; it adds no noise whatever epsilon is.

    Parameters
    ----------
    subproblem
        ``proximal``: (5) of ryu2021; this is the non-private method of ryu2022. ``trust_region``: (6) of ryu2021, in
        the infinity norm.
    """

    family = Family(role="reference")
    examples = ({"subproblem": "trust_region"}, {"local_updates": 3})

    subproblem: Literal["proximal", "trust_region"] = "proximal"

    @property
    def step(self) -> Step:
        """Return the closed form of (5) or (6)."""
        return proximal_step if self.subproblem == "proximal" else trust_region_step

    def schedule(self, sub: Subproblem) -> Schedule:
        """Return ``1 / eta_t`` with ``eta_t = a / sqrt(t)``, or the radius."""
        if self.subproblem == "proximal":
            return {"inverse_eta": self.inverse_eta(sub.t)}
        return {"radius": self.radius(sub.t)}
