"""ObjP: objective perturbation with a proximal term, and with E local updates ObjPM (ryu2021, ryu2022)."""

from __future__ import annotations

import math
from typing import Literal

from admmbench.frames.base import parameters
from admmbench.frames.consensus import Subproblem
from admmbench.frames.inexact import ObjectivePerturbation
from admmbench.frames.linearized import Schedule, proximal_step
from admmbench.problems.needs import Need


@parameters
class ObjP(ObjectivePerturbation):
    """DP-IADMM-Prox: Algorithm 1 of ryu2022, and with E = 1 of ryu2021. ObjPM has E = 10 local updates.

    Parameters
    ----------
    proximity
        ``sqrt``: eta_t = a / sqrt(t), as ryu2021, theorem 3 of ryu2022 and the authors' code have it; ``smooth``:
        eta_t = a / (L + sqrt(t) / epsilon), theorem 2 of ryu2022 for an L-smooth f_p.
    """

    examples = ({"local_updates": 3},)

    proximity: Literal["sqrt", "smooth"] = "sqrt"

    @property
    def needs(self) -> tuple[Need, ...]:
        """Theorem 2 is about smooth f_p."""
        return ("smooth penalty",) if self.proximity == "smooth" else ()

    @property
    def family(self) -> str:
        """With several local updates, ryu2022 calls it by another name."""
        more = ", several local updates" if self.local_updates > 1 else ""
        return f"objective perturbation{more}"

    # Closed form of (8).
    step = staticmethod(proximal_step)

    def schedule(self, sub: Subproblem) -> Schedule:
        """Return ``1 / eta_t``."""
        if self.proximity == "sqrt":
            return {"inverse_eta": self.inverse_eta(sub.t)}
        return {
            "inverse_eta": (sub.parts.smoothness + math.sqrt(sub.t) / sub.privacy.epsilon) / self.a
        }
