"""The mechanism of DP-ADMM (huang2019): a linearised subproblem, and Gaussian noise on its solution.

`dp_admm` states it for the problems of its paper; `outp` is what ryu2021 and ryu2022 made of it for theirs.
"""

from __future__ import annotations

import math
from typing import Annotated, TypeVar

from pydantic import Field

from admmbench.base.algorithm import Family, parameters
from admmbench.base.linearized import Linearized, Schedule, proximal_step
from admmbench.base.types import Array, Subproblem
from admmbench.privacy import Draw, Privacy, Release

Value = TypeVar("Value", float, Array)
"""A value of one agent, or of all agents of a block and all seeds."""


@parameters
class OutputPerturbation(Linearized):
    """DP-ADMM with any step size.

    Parameters
    ----------
    c_w
        Norm of the optimal model, in the step size; ``None``: sqrt(4 J K), as in the code of ryu2022.
    """

    order = "agents"
    release = Release("gaussian", "solution", scaled_for="replace")

    c_w: Annotated[float, Field(gt=0)] | None = None

    # Minimiser of the approximate augmented Lagrangian (8): (10a).
    step = staticmethod(proximal_step)

    @property
    def family(self) -> Family:  # type: ignore[override]
        """Tell apart a scaled penalty parameter, with which ryu2021 calls it by another name."""
        scaled = "_scaled_penalty" if self.rho.scale != 1 else ""
        return Family(f"output_perturbation{scaled}")

    def norm_of_optimum(self, size: int) -> float:
        """Return ``c_w`` for a model of so many entries."""
        return self.c_w or math.sqrt(4 * size)

    def theorem4(
        self, t: int, privacy: Privacy, size: int, n: Value, c1: Value, curvature: Value
    ) -> Value:
        """Return 1 / eta of theorem 4, (34): ``curvature + 4 c1 sqrt(d p t ln(1.25 / delta)) / (n epsilon c_w)``.

        Parameters
        ----------
        t, privacy, size
            Round, budget and d p, the number of a model's entries.
        n
            What sums of losses are divided by, shape (B, 1), or one number; in huang2019 m, an agent's number of
            records. ``c1`` and ``curvature`` have the same form.
        c1
            Bound on the norm of a record's gradient, shape (B, S).
        curvature
            Of f_p, shape (B, S): c3 + (lambda / n) c4 in huang2019.
        """
        growth = 4 * c1 * math.sqrt(size * t * math.log(1.25 / privacy.delta))
        growth = growth / (n * privacy.epsilon * self.norm_of_optimum(size))
        return (curvature + growth) / self.a

    def perturb_solution(self, sub: Subproblem, schedule: Schedule) -> Draw | float:
        """Draw Gaussian noise on a solution with the stiffness rho + 1 / eta: lemma 1 and theorem 1, (10b)."""
        stiffness = sub.rho + schedule["inverse_eta"]
        bound = sub.solution_sensitivity(sub.parts.gradient_bound, stiffness)
        return sub.noise.gaussian(bound)
