"""DP-ADMM: linearised ADMM with time-varying Gaussian noise (huang2019, algorithm 3)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
from pydantic import Field

from admmbench.base.algorithm import Resources, parameters
from admmbench.base.averages import AVERAGES, Average, objective
from admmbench.base.linearized import Schedule
from admmbench.base.observers import Observer
from admmbench.base.output_perturbation import OutputPerturbation
from admmbench.base.rho import HUANG2019_RHO, Rho
from admmbench.base.types import UNIT_OF_LOSS, Array, ConsensusState, RowFederation, Subproblem
from admmbench.problems.base import Problem
from admmbench.problems.needs import Need, require
from admmbench.theorems.huang2019 import THEOREMS


class PlottedMeans(Average):
    """Mean models that section VI plots, averaged to ``w~^(t-1)`` for theorem 3, to ``w~^t`` for theorem 4."""

    long_name = "augmented objective of the averaged models"
    variables = {"augmented_objective": (UNIT_OF_LOSS, long_name)}

    def __init__(self, method: DPADMM, before: bool) -> None:
        super().__init__(method)
        self.before = before

    def measure(self, t: int, state: ConsensusState, federation: RowFederation) -> dict[str, Array]:
        """Measure ``sum_i (f_i(w_i) + rho ||w_i - w||)``."""
        dtype, rho = federation.problem.dtype, self.method.rho(t, federation.privacy.epsilon)
        w, z = ((total / t).astype(dtype) for total in (self.memory.w, self.memory.z))
        gaps = np.linalg.norm((z - w).astype(np.float64), axis=(2, 3))
        total = objective(z, federation) + rho * gaps
        return {"augmented_objective": total.sum(axis=0)}


@parameters
class DPADMM(OutputPerturbation):
    """Algorithm 3; for the logistic problem its steps are (38) with l1 and (39) with l2.

    Parameters
    ----------
    rho
        Penalty parameter; 0.1 as in the paper.
    step_size
        ``nonsmooth``: eta of theorem 3; ``smooth``: of theorem 4, for an l2 penalty; ``auto``: what fits the penalty.
    average
        As all methods of consensus ADMM have it, or ``theorem3``, ``theorem4``: both sides of the theorem are measured,
        with beta = rho. Means are kept anyway, because the paper plots what they are worth.
    """

    averages = {**AVERAGES, **THEOREMS}
    tune = {"rounds": 20, "params.rho": 0.004, "params.a": 32}
    # The sums are in double precision.
    resources = Resources(state_copies=5)

    rho: Rho = Field(default_factory=lambda: HUANG2019_RHO)
    step_size: Literal["auto", "smooth", "nonsmooth"] = "auto"
    average: Literal["before", "after", "theorem3", "theorem4"] | None = None  # type: ignore[assignment]

    @property
    def needs(self) -> tuple[Need, ...]:
        """c1 bounds gradients."""
        return ("bounded derivative",)

    def check(self, problem: Problem, agents: int) -> None:
        """Theorem 4 needs a gradient, theorem 3 a bound on subgradients, which l2 does not have."""
        super().check(problem, agents)
        if self.average in THEOREMS and self.average != self._own(problem):
            raise ValueError(f"average: {self.average} supposes another step_size")
        if self.step_size == "smooth":
            require("step_size: smooth", ("smooth penalty",), problem)
        if self.step_size == "nonsmooth":
            require("step_size: nonsmooth", ("bounded subgradient",), problem)

    def same_as(self, problem: Problem) -> str:
        """The step size of theorem 4 is that of OutP, which ryu2021 made of this method."""
        return "outp" if self._smooth(problem) else ""

    def _smooth(self, problem: Problem) -> bool:
        if self.step_size == "auto":
            return problem.penalty.smooth
        return self.step_size == "smooth"

    def _own(self, problem: Problem) -> str:
        return "theorem4" if self._smooth(problem) else "theorem3"

    def observers(self, problem: Problem) -> Sequence[Observer]:
        """Measure what the paper plots, and the means that are asked for."""
        means = self.averages[self.average or self._own(problem)]
        return [PlottedMeans(self, before=means.before), *super().observers(problem)]

    def schedule(self, sub: Subproblem) -> Schedule:
        """Return ``1 / eta_i^t`` of (29) or (34)."""
        whole, c1 = sub.parts.whole, sub.parts.gradient_bound
        if self._smooth(whole.problem):
            f, known = sub.parts.objective, (sub.t, sub.privacy, whole.size)
            return {"inverse_eta": self.theorem4(*known, f.divisor, c1, f.curvature)}
        return {"inverse_eta": self.theorem3(sub, c1, whole.penalty_gradient_bound)}

    def theorem3(self, sub: Subproblem, c1: Array, c2: float) -> Array:
        """Return ``1 / eta`` of theorem 3, (29), with c2 the bound on an agent's penalty's subgradient."""
        size, f = sub.parts.whole.size, sub.parts.objective
        noise = 8 * size * c1**2 * math.log(1.25 / sub.privacy.delta)
        noise /= (f.divisor * sub.privacy.epsilon) ** 2
        gradient_bound = f.weight * c1 + c2
        inverse: Array = np.sqrt(2 * sub.t * (gradient_bound**2 + noise)) / self.norm_of_optimum(
            size
        )
        return inverse / self.a
