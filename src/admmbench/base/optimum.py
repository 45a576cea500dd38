"""Methods that find their model at once and send nothing. Other methods are compared with them."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from admmbench.base.algorithm import Algorithm, Family, Resources, parameters
from admmbench.base.types import Array, Federation, Messages
from admmbench.problems.columns import BoundColumns, Party
from admmbench.problems.needs import Need
from admmbench.problems.rows import BoundRows, RowParts

Whole = BoundRows | BoundColumns
AnyFederation = Federation[Whole, RowParts | Party]


@dataclass
class Shared:
    """One model, which all agents have."""

    w: Array
    """The model, shape (S, K, J)."""
    n_agents: int

    @property
    def z(self) -> Array:
        """Return the same model for every agent, shape (P, S, K, J), without copies."""
        return np.broadcast_to(self.w, (self.n_agents, *self.w.shape))


@parameters
class Optimum(Algorithm[Shared, AnyFederation]):
    """An optimum from the first round on; budgets have no effect."""

    family = Family(role="reference")
    resources = Resources(state_copies=0, gradients_once=300.0)
    # Such as 226 steps of a search on digits, and 321 on Adult.
    gradients = 0.0  # rounds compute nothing
    needs: ClassVar[tuple[Need, ...]] = ("convex loss",)  # which has one optimum

    @abstractmethod
    def find(self, problem: Whole) -> Array:
        """Find the model of each seed, shape (S, K, J)."""

    def init(self, federation: AnyFederation) -> Shared:
        """Return a model of zeros, before it is found."""
        problem = federation.problem
        w = np.zeros((problem.n_seeds, *problem.model_shape), problem.dtype)
        return Shared(w, problem.n_agents)

    def round(self, t: int, state: Shared, federation: AnyFederation) -> Messages:
        """Find the model, once."""
        if t == 1:
            state.w = self.find(federation.problem)
        return Messages(down=(), up=())
