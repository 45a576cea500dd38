"""DP-ADMM: linearised ADMM with time-varying Gaussian noise (huang2019, algorithm 3)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from pydantic import Field

from admmbench.frames.base import (
    HUANG2019_RHO,
    UNIT_OF_LOSS,
    Array,
    Messages,
    Rho,
    RowBlock,
    RowFederation,
    parameters,
)
from admmbench.frames.consensus import ConsensusState, Subproblem
from admmbench.frames.linearized import Schedule
from admmbench.frames.output_perturbation import OutputPerturbation
from admmbench.problems.base import Problem
from admmbench.problems.needs import require


@dataclass
class Averaged(ConsensusState):
    """Consensus state with the sums over rounds that the theorems are about."""

    w_sum: Array
    """Of w^1 to w^t, shape (S, K, J), float64."""
    z_sum: Array
    """Of the local models, shape (P, S, K, J), float64."""


@parameters
class DPADMM(OutputPerturbation):
    """Algorithm 3; for the logistic problem its steps are (38) with l1 and (39) with l2.

    Parameters
    ----------
    rho
        Penalty parameter; 0.1 as in the paper.
    step_size
        ``nonsmooth``: eta of theorem 3; ``smooth``: of theorem 4, for an l2 penalty; ``auto``: what fits the penalty.
    """

    variables = {
        "augmented_objective": (UNIT_OF_LOSS, "augmented objective of the averaged models"),
    }
    evaluated = ("augmented_objective",)
    # The sums are in double precision.
    state_copies = 5
    needs = ("bounded slope",)  # c1 bounds gradients

    rho: Rho = Field(default_factory=lambda: HUANG2019_RHO)
    step_size: Literal["auto", "smooth", "nonsmooth"] = "auto"

    def check(self, problem: Problem, agents: int) -> None:
        """Theorem 4 needs a gradient, theorem 3 a bound on subgradients, which l2 does not have."""
        if self.step_size == "smooth":
            require("step_size: smooth", ("smooth penalty",), problem)
        if self.step_size == "nonsmooth":
            require("step_size: nonsmooth", ("bounded subgradient",), problem)

    def _smooth(self, problem: Problem) -> bool:
        if self.step_size == "auto":
            return problem.penalty.smooth
        return self.step_size == "smooth"

    def init(self, federation: RowFederation) -> Averaged:
        """All variables start at zero."""
        start = OutputPerturbation.init(self, federation)
        sums = np.zeros(start.w.shape), np.zeros(start.z.shape)
        return Averaged(start.w, start.z, start.dual, start.chain, start.average, *sums)

    def round(self, t: int, state: Averaged, federation: RowFederation) -> Messages:  # type: ignore[override]
        """Do algorithm 3, and average as section V does: to ``w~^(t-1)`` for theorem 3, to ``w~^t`` for 4."""
        smooth = self._smooth(federation.problem.problem)
        if not smooth:
            state.z_sum += state.z
        sent = OutputPerturbation.round(self, t, state, federation)
        if smooth:
            state.z_sum += state.z
        state.w_sum += state.w
        return sent

    def schedule(self, sub: Subproblem) -> Schedule:
        """Return ``1 / eta_i^t`` of (29) or (34)."""
        whole, c1 = sub.parts.whole, sub.parts.gradient_bound
        if self._smooth(whole.problem):
            curvature = sub.parts.curvature_bound + whole.penalty_curvature
            known = sub.t, sub.privacy, whole.size
            return {"inverse_eta": self.theorem4(*known, sub.n_samples, c1, curvature)}
        return {"inverse_eta": self.theorem3(sub, c1, whole.penalty_gradient_bound)}

    def theorem3(self, sub: Subproblem, c1: Array, c2: float) -> Array:
        """Return ``1 / eta`` of theorem 3, (29), with c2 the bound on an agent's penalty's subgradient."""
        log = math.log(1.25 / sub.privacy.delta)
        noise = 8 * sub.parts.whole.size * c1**2 * log
        noise /= (sub.n_samples * sub.privacy.epsilon) ** 2
        inverse: Array = np.sqrt(2 * sub.t * ((c1 + c2) ** 2 + noise)) / self.norm_of_optimum(
            sub.parts.whole.size
        )
        return inverse / self.a

    def measure(self, t: int, state: Averaged, federation: RowFederation) -> dict[str, Array]:  # type: ignore[override]
        """Measure ``sum_i (f_i(w_i) + rho ||w_i - w||)`` of the averaged models (section VI)."""
        whole = federation.problem
        w, z = ((total / t).astype(whole.dtype) for total in (state.w_sum, state.z_sum))

        def objectives(block: RowBlock) -> Array:
            own, m = z[block.agents], block.parts.n_samples[:, None].clip(1)
            value: Array = block.parts.losses(own) / m
            return value + whole.own_strength * whole.penalty.value(own)

        rho = self.rho(t, federation.privacy.epsilon)
        gaps = np.linalg.norm((z - w).astype(np.float64), axis=(2, 3))
        total = np.concatenate(federation.each(objectives)) + rho * gaps
        return {"augmented_objective": total.sum(axis=0)}
