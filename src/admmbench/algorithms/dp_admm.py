"""DP-ADMM: linearised ADMM with time-varying Gaussian noise (huang2019, algorithm 3)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from pydantic import Field

from admmbench.algorithms.agents_first import record_count
from admmbench.algorithms.base import (
    Array,
    Consensus,
    Federation,
    Messages,
    Penalty,
    Rho,
    need_smooth,
    parameters,
)
from admmbench.algorithms.linearized import Linearized
from admmbench.privacy import Privacy


@dataclass
class Averaged(Consensus):
    """Consensus state with the sums over rounds that the theorems are about."""

    w_sum: Array
    """Of w^1 to w^t, shape (S, K, J), float64."""
    z_sum: Array
    """Of the local models, shape (P, S, K, J), float64."""


@parameters
class DPADMM(Linearized):
    """Algorithm 3; for the logistic problem its steps are (38) with l1 and (39) with l2.

    Parameters
    ----------
    rho
        Penalty; 0.1 as in the paper.
    step_size
        ``nonsmooth``: eta of theorem 3; ``smooth``: of theorem 4, for an l2 regulariser; ``auto``: what fits the
        regulariser.
    """

    variables = {"augmented_objective": ("nat", "augmented objective of the averaged models")}

    rho: Rho = Field(default_factory=lambda: Penalty(c1=0.1, c2=0, growth=1))
    step_size: Literal["auto", "smooth", "nonsmooth"] = "auto"

    def check(self, problem: Any) -> None:
        """Theorem 4 needs a gradient, theorem 3 a bound on subgradients, which l2 has not."""
        if self.step_size == "smooth":
            need_smooth(problem, "step_size: smooth")
        if self.step_size == "nonsmooth" and problem.smooth:
            raise ValueError(
                "step_size: nonsmooth needs a bounded subgradient of the regulariser, as l1 has; choose smooth"
            )

    def _smooth(self, problem: Any) -> bool:
        if self.step_size == "auto":
            return bool(problem.params.smooth)
        return self.step_size == "smooth"

    def init(self, federation: Federation) -> Averaged:
        """All variables start at zero."""
        start = Linearized.init(self, federation)
        sums = np.zeros(start.w.shape), np.zeros(start.z.shape)
        return Averaged(start.w, start.z, start.dual, *sums)

    def round(self, t: int, state: Averaged, federation: Federation) -> Messages:  # type: ignore[override]
        """Algorithm 3, and the averages of section V: over w~^0 to w~^(t-1) for theorem 3, w~^1 to w~^t for 4."""
        smooth = self._smooth(federation.problem)
        if not smooth:
            state.z_sum += state.z
        sent = Linearized.round(self, t, state, federation)
        if smooth:
            state.z_sum += state.z
        state.w_sum += state.w
        return sent

    def inverse_eta(self, t: int, local: Any, privacy: Privacy) -> Array:
        """1 / eta_i^t of (29) or (34)."""
        problem, m, c1 = local.problem, record_count(local), local.gradient_bound
        size = math.prod(problem.model_shape)  # d p
        c_w = self.c_w or math.sqrt(4 * size)
        log = math.log(1.25 / privacy.delta)
        inverse: Array
        if self._smooth(problem):
            growth = 4 * c1 * math.sqrt(size * t * log) / (m * privacy.epsilon * c_w)
            inverse = local.curvature_bound + problem.regularizer_weight + growth
        else:
            noise = 8 * size * c1**2 * log / (m * privacy.epsilon) ** 2
            inverse = np.sqrt(2 * t * ((c1 + problem.regularizer_bound) ** 2 + noise)) / c_w
        return inverse / self.a

    def measure(self, t: int, state: Averaged, federation: Federation) -> dict[str, Array]:
        """sum_i (f_i(w_i) + rho ||w_i - w||) of the averaged models (section VI)."""
        problem = federation.problem
        w, z = ((total / t).astype(problem.dtype) for total in (state.w_sum, state.z_sum))

        def objectives(block: Any) -> Array:
            own = z[block.agents]
            value: Array = block.problem.mean_loss(own) + problem.regularizer(own)
            return value

        rho = self.rho(t, federation.privacy.epsilon)
        gaps = np.linalg.norm((z - w).astype(np.float64), axis=(2, 3))
        total = np.concatenate(federation.each(objectives)) + rho * gaps
        return {"augmented_objective": total.sum(axis=0)}
