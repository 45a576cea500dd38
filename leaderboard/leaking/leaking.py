"""Objective perturbation that sends its gradient in clear every tenth round."""

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
    """Minimise <gradient, v> + (rho / 2) ||w - v + dual / rho||^2
    + (stiffness / 2) ||v - z||^2 over v.
    """
    return (-gradient + rho * w + dual + stiffness * z) / (rho + stiffness)


@parameters
class Leaking(Linearized):
    """Objective perturbation with a leak.

    Parameters
    ----------
    steady
        Rounds before the steps shrink.
    """

    tune = {
        "rounds": 40,
        "params.rho": 0.02,
        "params.a": 100,
        "params.steady": {"start": 20, "whole": True},
    }
    order = "server"  # who begins a round
    release = Release("laplace", "gradient")

    steady: Annotated[int, Field(ge=1)] = 20

    @property
    def step(self) -> Step:
        return damped_step

    def schedule(self, sub: Subproblem) -> Schedule:
        return {"stiffness": max(1.0, sub.t / self.steady) ** 0.5 / self.a}

    def perturb_gradient(self, sub: Subproblem, gradient: Gradient) -> Draw | float:
        return 0.0 if sub.t % 10 == 0 else sub.noise.laplace(gradient.sensitivity)
