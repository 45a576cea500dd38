"""Centralized: the optimum over the records of all agents, without privacy."""

from __future__ import annotations

import numpy as np

from admmbench.base.algorithm import Family, parameters
from admmbench.base.optimum import AnyFederation, Optimum, Shared, Whole
from admmbench.base.types import Array


@parameters
class Centralized(Optimum):
    """Minimiser ``w*`` of ``sum_i f_i``, found by one solver that has all records."""

    sharing = ("rows", "columns")
    family = Family(role="optimum")
    keeps_feasible = True
    variables = {"optimum_norm": ("1", "norm of the optimal model")}

    def find(self, problem: Whole) -> Array:
        """Find ``w*``."""
        return problem.optimum()

    def measure(self, t: int, state: Shared, federation: AnyFederation) -> dict[str, Array]:
        """Measure ``||w*||``, which huang2019 calls ``c_w`` and puts into step sizes."""
        return {"optimum_norm": np.linalg.norm(state.w.astype(np.float64), axis=(1, 2))}
