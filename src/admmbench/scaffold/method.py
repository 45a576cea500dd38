"""Say here in one line what the method is, and where it comes from."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from admmbench.api import (
    Draw,
    Gradient,
    Linearized,
    Release,
    Schedule,
    Step,
    Subproblem,
    parameters,
)


def damped_step(
    gradient: float, z: float, w: float, dual: float, rho: float, stiffness: float
) -> float:
    """Minimise <gradient, v> + (rho / 2) ||w - v + dual / rho||^2 + (stiffness / 2) ||v - z||^2 over v."""
    return (-gradient + rho * w + dual + stiffness * z) / (rho + stiffness)


@parameters
class Template(Linearized):
    """Objective perturbation whose steps get shorter, as fast as ``power`` says.

    Parameters
    ----------
    power
        Steps are 1 / stiffness long, and stiffness_t = t^power / a.
    """

    order = "server"  # or "agents": who begins a round
    release = Release("laplace", "gradient")
    # What `admmbench rank` tunes, and where it begins; "auto" takes the rounds and all numbers with bounds.
    tune = {"rounds": 20, "params.rho": 0.02, "params.power": {"start": 0.5, "most": 2}}

    power: Annotated[float, Field(ge=0)] = 0.5

    @property
    def step(self) -> Step:
        """Return the closed form of an agent's subproblem."""
        return damped_step

    def schedule(self, sub: Subproblem) -> Schedule:
        """Return further arguments of the step, besides gradient, models, dual and rho, in round ``sub.t``."""
        return {"stiffness": sub.t**self.power / self.a}

    def perturb_gradient(self, sub: Subproblem, gradient: Gradient) -> Draw | float:
        """Draw Laplace noise of scale sensitivity / epsilon; without it, leave out `release` too."""
        return sub.noise.laplace(gradient.sensitivity)
