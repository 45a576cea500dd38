"""What the methods of ryu2021 and ryu2022 share: the server begins, and agents take gradient steps."""

from __future__ import annotations

import math
from typing import Annotated, ClassVar

from pydantic import Field

from admmbench.base.algorithm import parameters
from admmbench.base.linearized import Linearized, trust_region_step
from admmbench.base.types import Subproblem
from admmbench.privacy import Draw, Release
from admmbench.problems.base import Gradient


@parameters
class Inexact(Linearized):
    """Inexact ADMM: Algorithm 1 of ryu2022, and with one local update of ryu2021.

    Parameters
    ----------
    local_updates
        E, subproblems that an agent solves in a round, each with noise of its own if there is any; it sends the mean of
        the iterates and goes on from the last.
    """

    order = "server"
    variants: ClassVar[tuple[str, ...]] = ("paper", "reference")

    local_updates: Annotated[int, Field(ge=1)] = 1

    @property
    def updates(self) -> int:
        """The number E of local updates."""
        return self.local_updates

    def inverse_eta(self, t: int) -> float:
        """Return ``1 / eta_t`` with ``eta_t = a / sqrt(t)``: ryu2021, theorem 3 of ryu2022, and the authors' code."""
        return math.sqrt(t) / self.a

    @property
    def fixed_point(self) -> str:
        """Place where the radius of the paper lets steps end."""
        if self.step is not trust_region_step or self.reference:
            return ""
        return "within a pi^2 / 6 of its start in each entry, as its radius falls"

    def radius(self, t: int) -> float:
        """Return the radius of the trust region: ``a / t^2`` in ryu2021, ``a`` in the authors' code.

        The code multiplies where it should divide. With the paper's radius the sum of all steps is bounded by
        a pi^2 / 6 in every coordinate, and the iterates freeze.
        """
        return self.a if self.reference else self.a / t**2


@parameters
class ObjectivePerturbation(Inexact):
    """Inexact ADMM whose agents perturb their subproblem's objective: noise on the gradient."""

    release = Release("laplace", "gradient", or_law="gaussian")

    def perturb_gradient(self, sub: Subproblem, gradient: Gradient) -> Draw | float:
        """Draw xi ~ Laplace(0, Delta_p / epsilon): (9) of ryu2022, (11) of ryu2021; or Gaussian noise if asked for."""
        return sub.noise.draw(gradient.sensitivity)
