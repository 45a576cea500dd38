"""The mechanism of DP-ADMM (huang2019): a linearised subproblem, and Gaussian noise on its solution.

`dp_admm` states it for the problems of its paper; `outp` is what ryu2021 and ryu2022 made of it for theirs.
"""

from __future__ import annotations

import math
from typing import Annotated

from pydantic import Field

from admmbench.algorithms.base import Array, parameters
from admmbench.algorithms.consensus import Subproblem
from admmbench.algorithms.linearized import Linearized, Schedule, proximal_step
from admmbench.privacy import Draw, Release


@parameters
class OutputPerturbation(Linearized):
    """DP-ADMM with any step size; the loss is averaged over an agent's own records.

    Parameters
    ----------
    c_w
        Norm of the optimal model, in the step size; ``None``: sqrt(4 J K), as in the code of ryu2022.
    """

    order = "agents"
    mean_over = "own"
    release = Release("gaussian", "solution", neighbours="one record is replaced")

    c_w: Annotated[float, Field(gt=0)] | None = None

    # Minimiser of the approximate augmented Lagrangian (8): (10a).
    step = staticmethod(proximal_step)

    def norm_of_optimum(self, sub: Subproblem) -> float:
        """c_w."""
        return self.c_w or math.sqrt(4 * sub.parts.whole.size)

    def theorem4(self, sub: Subproblem, c1: Array, curvature: Array) -> Array:
        """1 / eta of theorem 4, (34): curvature + 4 c1 sqrt(d p t ln(1.25 / delta)) / (m epsilon c_w).

        Parameters
        ----------
        sub
            The subproblem.
        c1
            Bound on the norm of a record's gradient, shape (B, S).
        curvature
            c3 + (lambda / n) c4, shape (B, S).
        """
        log = math.log(1.25 / sub.privacy.delta)
        growth = 4 * c1 * math.sqrt(sub.parts.whole.size * sub.t * log)
        growth /= sub.n_samples * sub.privacy.epsilon * self.norm_of_optimum(sub)
        total: Array = (curvature + growth) / self.a
        return total

    def perturb_solution(self, sub: Subproblem, schedule: Schedule) -> Draw | float:
        """Gaussian noise on a solution with the stiffness rho + 1 / eta: lemma 1 and theorem 1, (10b)."""
        stiffness = sub.rho + schedule["inverse_eta"]
        return sub.noise.gaussian(sub.solution_sensitivity(sub.parts.gradient_bound, stiffness))
