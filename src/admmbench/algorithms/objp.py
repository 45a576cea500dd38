"""ObjP: objective perturbation with a proximal term, and with E local updates ObjPM (ryu2021, ryu2022)."""

from __future__ import annotations

import math
from typing import Annotated, Literal

from pydantic import Field

from admmbench.algorithms.base import Array, parameters
from admmbench.algorithms.consensus import Subproblem
from admmbench.algorithms.inexact import Inexact
from admmbench.algorithms.linearized import Schedule, Step, proximal_step
from admmbench.privacy import Release
from admmbench.problems.base import Gradient
from admmbench.problems.needs import Need


@parameters
class ObjP(Inexact):
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

    release = Release("laplace", "gradient", neighbours="one record's contribution is left out")
    examples = ({"local_updates": 3},)

    local_updates: Annotated[int, Field(ge=1)] = 1
    proximity: Literal["sqrt", "smooth"] = "sqrt"

    @property
    def updates(self) -> int:
        """E."""
        return self.local_updates

    @property
    def needs(self) -> tuple[Need, ...]:
        """Theorem 2 is about smooth f_p."""
        return ("smooth penalty",) if self.proximity == "smooth" else ()

    @property
    def step(self) -> Step:
        """Closed form of (8)."""
        return proximal_step

    def schedule(self, sub: Subproblem) -> Schedule:
        """1 / eta_t."""
        if self.proximity == "sqrt":
            return {"inverse_eta": self.inverse_eta(sub.t)}
        return {
            "inverse_eta": (sub.parts.smoothness + math.sqrt(sub.t) / sub.privacy.epsilon) / self.a
        }

    def perturb_gradient(self, sub: Subproblem, gradient: Gradient) -> Array | float:
        """Draw xi ~ Laplace(0, Delta_p / epsilon): (9) of ryu2022."""
        return sub.noise.laplace(gradient.sensitivity)

    @property
    def caveats(self) -> tuple[str, ...]:
        """Local updates compose."""
        if self.local_updates == 1:
            return ()
        return (
            "E local updates use the data E times within one round, each with its own noise, although only their mean "
            "is sent: they compose as well.",
        )
