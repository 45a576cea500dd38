"""One agent alone: the optimum over the records of an agent that chance picks, without privacy."""

from __future__ import annotations

import numpy as np

from admmbench.base.algorithm import Family, parameters
from admmbench.base.optimum import AnyFederation, Optimum, Shared, Whole
from admmbench.base.types import Array, Messages
from admmbench.problems.rows import BoundRows


@parameters
class OneAgent(Optimum):
    """Minimiser of the objective of one agent, which each seed picks: what an agent reaches without the others."""

    family = Family(mechanism="one agent", role="reference")
    one_shot = True
    draws = True
    fixed_point = "at the optimum of one agent"

    def find(self, problem: Whole) -> Array:
        """Find the model of each agent, shape (P, S, K, J)."""
        assert isinstance(problem, BoundRows)
        return problem.block(slice(None)).optimum()

    def round(self, t: int, state: Shared, federation: AnyFederation) -> Messages:
        """Find the models of all agents once, and keep one for each seed."""
        if t == 1:
            models = self.find(federation.problem)
            picked = federation.draw(lambda rng: rng.permutation(len(models))[-1])
            state.w = models[picked, np.arange(len(picked))]
        return Messages(down=(), up=())
