"""Consensus ADMM with linearised subproblems: a gradient, and a step in closed form."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from admmbench.algorithms.base import Array, factors, parameters
from admmbench.algorithms.consensus import Consensus, Subproblem
from admmbench.elementwise import elementwise
from admmbench.problems.base import Gradient

# The authors' code of ryu2022 clips probabilities to [1e-9, 1].
PROBABILITY_FLOOR = 1e-9

Step = Callable[..., Array]
Schedule = dict[str, Array | float]


@elementwise
def proximal_step(
    gradient: float, z: float, w: float, dual: float, rho: float, inverse_eta: float
) -> float:
    """Minimise <gradient, v> + ||v - z||^2 / (2 eta) + (rho / 2) ||w - v + dual / rho||^2 over v.

    (5) of ryu2021, (8) of ryu2022, (38) and (39) of huang2019.
    """
    return (-gradient + rho * w + dual + inverse_eta * z) / (rho + inverse_eta)


@elementwise
def trust_region_step(
    gradient: float, z: float, w: float, dual: float, rho: float, radius: float
) -> float:
    """Minimise <gradient, v> + (rho / 2) ||w - v + dual / rho||^2 over |v - z| <= radius: (6) and (9) of ryu2021.

    The objective is separable, so that its minimiser is clipped to the box.
    """
    free = (-gradient + rho * w + dual) / rho
    return np.minimum(np.maximum(free, z - radius), z + radius)


@parameters
class Linearized(Consensus):
    """Consensus ADMM whose agents minimise a linear model of f_p.

    Parameters
    ----------
    a
        Factor of the proximity parameter or of the radius (ryu2021, appendix A.11).

    Attributes
    ----------
    mean_over
        What an agent's sum over its records is divided by: the number of ``all`` records, or of its ``own``.
    """

    mean_over: ClassVar[Literal["all", "own"]]

    a: Annotated[float, Field(gt=0)] = 1.0

    @property
    @abstractmethod
    def step(self) -> Step:
        """Closed form of the subproblem."""

    @abstractmethod
    def schedule(self, sub: Subproblem) -> Schedule:
        """What the step takes besides gradient, models and rho: numbers, or one for each agent and seed."""

    def perturb_gradient(self, sub: Subproblem, gradient: Gradient) -> Array | float:
        """Noise on the gradient."""
        return 0.0

    def perturb_solution(self, sub: Subproblem, schedule: Schedule) -> Array | float:
        """Noise on the solution."""
        return 0.0

    def update(self, sub: Subproblem) -> Array:
        """Gradient of f_p, step, and noise where the method puts it."""
        whole, schedule = sub.parts.whole, self.schedule(sub)
        n = whole.n_samples if self.mean_over == "all" else sub.parts.n_samples
        floor = PROBABILITY_FLOOR if self.reference else 0.0
        gradient = sub.parts.gradient(sub.z, mean_over=n, floor=floor)
        value = gradient.value
        if self.reference:  # the authors' code takes the whole penalty, at the global model
            whole.add_penalty_gradient(value, sub.w, total=True)
        else:
            whole.add_penalty_gradient(value, sub.z)
        if isinstance(xi := self.perturb_gradient(sub, gradient), np.ndarray):
            value += xi
        numbers = {
            name: factors(given, like=value) if isinstance(given, np.ndarray) else given
            for name, given in schedule.items()
        }
        z = self.step(value, sub.z, sub.w, sub.dual, sub.rho, **numbers)
        if isinstance(xi := self.perturb_solution(sub, schedule), np.ndarray):
            z += xi
        return z
