"""ObjP: objective perturbation with a proximal term, and with E local updates ObjPM (ryu2021, ryu2022)."""

from __future__ import annotations

import math
from typing import Literal

from admmbench.base.algorithm import Family, parameters
from admmbench.base.averages import AVERAGES
from admmbench.base.inexact import ObjectivePerturbation
from admmbench.base.linearized import Schedule, proximal_step
from admmbench.base.types import Subproblem
from admmbench.problems.base import Problem
from admmbench.problems.needs import Need
from admmbench.theorems.ryu2022 import THEOREMS


@parameters
class ObjP(ObjectivePerturbation):
    """DP-IADMM-Prox: Algorithm 1 of ryu2022, and with E = 1 of ryu2021. ObjPM has E = 10 local updates.

    Parameters
    ----------
    proximity
        ``sqrt``: eta_t = a / sqrt(t), as ryu2021, theorem 3 of ryu2022 and the authors' code have it; ``smooth``:
        eta_t = a / (L + sqrt(t) / epsilon), theorem 2 of ryu2022 for L-smooth f_p; ``strong``: eta_t =
        2 a / (alpha (t + 2)), theorem 4 for alpha-strongly convex f_p.
    average
        As all methods of consensus ADMM have it, or ``theorem2``, ``theorem3``, ``theorem4`` of ryu2022: models are
        averaged as it says, and both sides of it are measured. L of theorem 2 is then the largest of all agents, and
        not each agent's own.
    """

    averages = {**AVERAGES, **THEOREMS}
    examples = ({"local_updates": 3}, {"proximity": "strong"})
    tune = {"rounds": 20, "params.rho": 0.02, "params.a": 100}

    proximity: Literal["sqrt", "smooth", "strong"] = "sqrt"
    average: Literal["before", "after", "theorem2", "theorem3", "theorem4"] | None = None  # type: ignore[assignment]

    @property
    def needs(self) -> tuple[Need, ...]:
        """Theorem 2 is about smooth f_p, theorem 4 about those that are strongly convex."""
        kinds: dict[str, tuple[Need, ...]] = {
            "sqrt": (),
            "smooth": ("smooth penalty",),
            "strong": ("quadratic penalty",),
        }
        return kinds[self.proximity]

    def check(self, problem: Problem, agents: int) -> None:
        """Refuse a problem without a penalty where strong convexity has to come from it."""
        super().check(problem, agents)
        if self.proximity == "strong" and problem.strength == 0:
            raise ValueError("proximity: strong needs a problem with a strength above 0")

    @property
    def family(self) -> Family:  # type: ignore[override]
        """With several local updates, ryu2022 calls it by another name."""
        more = "_several_local_updates" if self.local_updates > 1 else ""
        return Family(f"objective_perturbation{more}")

    # Closed form of (8).
    step = staticmethod(proximal_step)

    def schedule(self, sub: Subproblem) -> Schedule:
        """Return ``1 / eta_t``."""
        whole = sub.parts.whole
        if self.proximity == "sqrt":
            return {"inverse_eta": self.inverse_eta(sub.t)}
        if self.proximity == "strong":
            return {"inverse_eta": whole.penalty_curvature * (sub.t + 2) / (2 * self.a)}
        L = whole.smoothness if self.average == "theorem2" else sub.parts.smoothness
        return {"inverse_eta": (L + math.sqrt(sub.t) / sub.privacy.epsilon) / self.a}
