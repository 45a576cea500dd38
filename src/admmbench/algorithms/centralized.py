"""Centralized: the optimum over the records of all agents, without privacy; what the others are compared with."""

from __future__ import annotations

from typing import Any

import numpy as np

from admmbench.algorithms.base import (
    Algorithm,
    Array,
    Consensus,
    Federation,
    Messages,
    need_convex,
    parameters,
)


@parameters
class Centralized(Algorithm):
    """Minimiser w* of sum_i f_i, by scikit-learn, from the first round on; nothing is sent, and no budget matters."""

    shares = ("rows", "columns")
    variables = {"optimum_norm": ("1", "norm of the optimal model")}

    def check(self, problem: Any) -> None:
        """The optimum is scikit-learn's."""
        need_convex(problem, "centralized")

    def round(self, t: int, state: Consensus, federation: Federation) -> Messages:
        """Find the optimum, once."""
        if t == 1:
            state.w = federation.problem.optimum()
            state.z[:] = state.w
        return Messages(down=(), up=())

    def measure(self, t: int, state: Consensus, federation: Federation) -> dict[str, Array]:
        """||w*||, which huang2019 calls c_w and puts into step sizes."""
        return {"optimum_norm": np.linalg.norm(state.w.astype(np.float64), axis=(1, 2))}
