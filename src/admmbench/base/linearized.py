"""Consensus ADMM with linearised subproblems: a gradient, and a step in closed form.

A step is an equation between numbers, for one entry of a model. It is compiled into the pass that does a whole update,
see `admmbench.base.kernel`. A step may use its arguments, numbers, numpy and math.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from admmbench.base.algorithm import parameters
from admmbench.base.consensus import Consensus
from admmbench.base.types import Array, LocalUpdate, Pass, Position, Subproblem, positions
from admmbench.privacy import Draw
from admmbench.problems.base import Gradient

# The authors' code of ryu2022 clips probabilities to [1e-9, 1].
PROBABILITY_FLOOR = 1e-9

Step = Callable[..., float]
Schedule = dict[str, Array | float]


def proximal_step(
    gradient: float, z: float, w: float, dual: float, rho: float, inverse_eta: float
) -> float:
    """Minimise ``<gradient, v> + ||v - z||^2 / (2 eta) + (rho / 2) ||w - v + dual / rho||^2`` over v.

    (5) of ryu2021, (8) of ryu2022, (38) and (39) of huang2019.
    """
    return (-gradient + rho * w + dual + inverse_eta * z) / (rho + inverse_eta)


def trust_region_step(
    gradient: float, z: float, w: float, dual: float, rho: float, radius: float
) -> float:
    """Minimise ``<gradient, v> + (rho / 2) ||w - v + dual / rho||^2`` over ``|v - z| <= radius``, (6), (9) of ryu2021.

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
    """

    a: Annotated[float, Field(gt=0)] = 1.0

    @property
    @abstractmethod
    def step(self) -> Step:
        """Return the closed form of the subproblem, of numbers, ``step(gradient, z, w, dual, rho, ...)``."""

    @abstractmethod
    def schedule(self, sub: Subproblem) -> Schedule:
        """Return arguments of the step besides gradient, models and rho: numbers, or one for each agent and seed."""

    def perturb_gradient(self, sub: Subproblem, gradient: Gradient) -> Draw | float:
        """Draw noise on the gradient, of `Subproblem.noise`; 0 for none."""
        return 0.0

    def perturb_solution(self, sub: Subproblem, schedule: Schedule) -> Draw | float:
        """Draw noise on the solution, of `Subproblem.noise`; 0 for none."""
        return 0.0

    def gradient(self, sub: Subproblem) -> Gradient:
        """Return the gradient of the loss in f_p at the last iterates."""
        return sub.parts.objective.gradient(sub.z, self.floor)

    @property
    def floor(self) -> float:
        """Smallest probability of the authors' code, if it is followed; else 0."""
        return PROBABILITY_FLOOR if self.reference else 0.0

    def local_round(self, sub: Subproblem) -> None:
        """Do all local updates of a round."""
        E = self.updates
        for which in positions(E):
            self.local_update(sub, which, 1 / E)

    def local_update(self, sub: Subproblem, which: Position, share: float) -> None:
        """Take a gradient, noise where the method puts it, and a step: one pass over the model, see `LocalUpdate`."""
        whole = sub.parts.whole
        gradient, schedule = self.gradient(sub), self.schedule(sub)
        on_gradient = self.perturb_gradient(sub, gradient)
        draw, place = _noise(on_gradient, self.perturb_solution(sub, schedule))
        at: Literal["local", "global"] = "global" if self.reference else "local"
        fused = Pass(self.step, whole.problem.penalty_name, at, place, which, self.order)
        sub.strategy.update(
            LocalUpdate(fused, sub, gradient, draw, schedule, whole.own_strength, share)
        )


def _noise(
    on_gradient: Draw | float, on_solution: Draw | float
) -> tuple[Draw | None, Literal["gradient", "solution"] | None]:
    """Return the noise, and where it is added."""
    for draw in (on_gradient, on_solution):
        if not isinstance(draw, Draw) and not (isinstance(draw, int | float) and draw == 0):
            raise ValueError(
                f"noise is what sub.noise.laplace or sub.noise.gaussian returns, or 0.0; got {type(draw).__name__}"
            )
    if isinstance(on_gradient, Draw):
        if isinstance(on_solution, Draw):
            raise ValueError("there is noise on the gradient and on the solution: choose one")
        return on_gradient, "gradient"
    return (on_solution, "solution") if isinstance(on_solution, Draw) else (None, None)
