"""ADMM over distributed features: the base algorithm of hu2019's methods.

`admm_sharing` sends predictions as they are, `dp_admm_sharing` perturbs them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from admmbench.base.algorithm import Algorithm, Resources, parameters
from admmbench.base.types import Array, ColumnBlock, ColumnFederation, Messages
from admmbench.problems.base import Problem
from admmbench.problems.columns import BoundColumns, Columns
from admmbench.problems.needs import Need


@dataclass
class SharingState:
    """State of ADMM sharing, for S seeds, M parties with d_m features, and N samples."""

    x: list[Array]
    """Model of each party, shape (S, d_m)."""
    predictions: Array
    """What the parties sent last, D_m x_m perhaps with noise, shape (M, S, N)."""
    z: Array
    """Auxiliary predictions, shape (S, N)."""
    dual: Array
    """Dual variable y, shape (S, N)."""

    @property
    def w(self) -> Array:
        """Return all models as one, shape (S, 1, J)."""
        return np.concatenate(self.x, axis=1)[:, None]


@parameters
class Sharing(Algorithm[SharingState, ColumnFederation]):
    """ADMM sharing, by which parties that hold columns share their predictions: algorithm 1.

    Parameters
    ----------
    rho
        Penalty, for a loss that is a sum over samples. The paper asks for rho >= L (assumption 1), which is 1/4 for the
        logistic loss, and does not print its own.
    coupling
        ``parallel``: (6) as printed, where every party tries to close the whole gap between predictions and z at once;
        ``averaged``: each closes its share of it, with the M-fold penalty, which is ADMM proper (Boyd et al. 2011,
        section 7.3) and converges for every penalty if the loss is convex; ``sequential``: parties take turns, and each
        knows the others' newest predictions (Hong, Luo and Razaviyayn 2016).
    """

    sharing = ("columns",)
    variables = {"lyapunov": ("1", "Lyapunov function")}
    resources = Resources(state_copies=1)
    needs: ClassVar[tuple[Need, ...]] = ("quadratic penalty",)  # (6) is a quadratic

    rho: Annotated[float, Field(gt=0)] = 1.0
    coupling: Literal["parallel", "averaged", "sequential"] = "parallel"

    def check(self, problem: Problem, agents: int) -> None:
        """Raise a ValueError if (7) may lack a unique solution: without a convex loss it needs ``rho > L``."""
        assert isinstance(problem, Columns)
        L = problem.loss.curvature_bound
        if not problem.loss.convex and self.rho <= L:
            raise ValueError(
                f"rho: the loss is not convex, so it must be above L = {L:.3g}, got {self.rho:g}"
            )

    def init(self, federation: ColumnFederation) -> SharingState:
        """Start all variables at zero (section 5)."""
        problem = federation.problem
        S, N, dtype = problem.n_seeds, problem.n_samples, problem.dtype
        sizes = [own.stop - own.start for own in problem.columns]
        z, dual = np.zeros((2, S, N), dtype)
        predictions = np.zeros((len(sizes), S, N), dtype)
        return SharingState([np.zeros((S, d), dtype) for d in sizes], predictions, z, dual)

    def round(self, t: int, state: SharingState, federation: ColumnFederation) -> Messages:
        """Do lines 3 to 6 of the parties, then 9 to 12 of the central node."""
        problem, rho = federation.problem, self.rho
        gap, dual = state.predictions.sum(axis=0) - state.z, state.dual
        parts = problem.n_agents if self.coupling == "averaged" else 1

        def update(block: ColumnBlock) -> None:
            (m,) = range(problem.n_agents)[block.agents]
            party = block.parts
            target = state.predictions[m] - gap / parts
            state.x[m] = party.solver(parts * rho)(parts * rho * target - dual)  # (6)
            state.predictions[m] = self.message(block, party.predict(state.x[m]), problem)

        if self.coupling == "sequential":
            for block in federation.blocks:
                gap = state.predictions.sum(axis=0) - state.z
                update(block)
        else:
            federation.each(update)
        s = state.predictions.sum(axis=0)
        state.z = problem.minimize_loss(s, dual, rho, state.z)  # (7)
        state.dual = dual + problem.dtype.type(rho) * (s - state.z)  # (8)
        return Messages(down=(s - state.z, state.dual), up=(state.predictions,))

    def message(self, block: ColumnBlock, predictions: Array, problem: BoundColumns) -> Array:
        """Return what a party sends for its predictions, shape (S, N)."""
        return predictions

    def violation(self, state: SharingState, federation: ColumnFederation) -> Array:
        """Return ``||sum_m D_m x_m - z||_1``, shape (S,)."""
        gap = state.predictions.sum(axis=0, dtype=np.float64) - state.z
        return np.asarray(np.abs(gap).sum(axis=1))

    def measure(
        self, t: int, state: SharingState, federation: ColumnFederation
    ) -> dict[str, Array]:
        """Return ``V`` of (13), for the penalty ``R = ||x||^2 / 2`` and the loss as a sum."""
        problem, rho = federation.problem, self.rho
        gap = state.predictions.sum(axis=0, dtype=np.float64) - state.z
        pull = state.dual + rho * gap

        def of_party(block: ColumnBlock) -> Array:
            (m,) = range(problem.n_agents)[block.agents]
            x = state.x[m].astype(np.float64)
            step = x - block.parts.back(pull)
            # The proximal map of the penalty.
            return np.square(x - step / (1 + problem.weight)).sum(axis=1)

        total = np.sum(federation.each(of_party), axis=0)
        derivative = problem.loss.derivative(state.z.astype(np.float64), problem.y)
        total = total + np.square(derivative - pull).sum(axis=1)
        return {"lyapunov": total + np.square(gap).sum(axis=1)}
