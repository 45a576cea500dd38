"""Subproblems solved exactly: what algorithms 1 and 2 of huang2019 and their relatives share."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from pydantic import Field

from admmbench.algorithms.agents_first import AgentsFirst
from admmbench.algorithms.base import Array, Penalty, Rho, factors, parameters

_MOST_STEPS = 10_000


class UnsolvedSubproblemError(RuntimeError):
    """The exact solution was not found."""


@parameters
class Exact(AgentsFirst):
    """Consensus ADMM whose agents minimise (6) of huang2019.

    Parameters
    ----------
    rho
        Penalty; 0.1 as in huang2019.
    tolerance
        Largest norm of a subproblem's gradient, or of its proximal gradient with an l1 regulariser, that counts as
        solved. The solution is then within tolerance / rho of the exact one. Single precision reaches about 1e-6.
    """

    rho: Rho = Field(default_factory=lambda: Penalty(c1=0.1, c2=0, growth=1))
    tolerance: Annotated[float, Field(gt=0)] = 1e-5

    @property
    def updates(self) -> int:
        """About so many steps from the last solution to the next."""
        return 20

    def minimize(
        self,
        local: Any,
        z: Array,
        w: Array,
        linear: Array,
        rho: float,
        ridge: Array | float = 0.0,
    ) -> Array:
        """Minimise f_i(v) - <linear, v> + (rho / 2) ||v - w||^2 + (ridge / 2) ||v||^2, for all agents and seeds.

        Accelerated proximal gradient steps with the momentum for strongly convex functions (Nesterov 2004,
        section 2.2): the penalty makes the subproblem rho-strongly convex, and bounded records make it smooth,
        so that a few steps from the last solution are enough.

        Parameters
        ----------
        local
            The agents' parts of the problem.
        z
            Where to start, shape (B, S, K, J).
        w
            Global model, shape (S, K, J).
        linear
            Dual variables, perhaps perturbed, shape (B, S, K, J).
        rho
            Penalty.
        ridge
            Weight of a further quadratic term, shape (B, S).

        Raises
        ------
        UnsolvedSubproblemError
            If the tolerance is not reached.
        """
        problem = local.problem
        convexity = np.broadcast_to(rho + ridge, z.shape[:2])
        smoothness = local.curvature_bound + convexity
        if problem.params.smooth:
            smoothness = smoothness + problem.regularizer_weight
        root = np.sqrt(convexity / smoothness)
        momentum = factors((1 - root) / (1 + root), like=z)
        L, own = factors(smoothness, like=z), factors(convexity - rho, like=z)
        v = ahead = z
        solution, unsolved = np.empty_like(z), np.ones(z.shape[:2], bool)
        for _ in range(_MOST_STEPS):
            gradient = local.gradient(ahead, mean_over=local.n_samples).value
            if problem.params.smooth:
                problem.add_regularizer(gradient, ahead)
            gradient += z.dtype.type(rho) * (ahead - w) + own * ahead - linear
            step = problem.prox(ahead - gradient / L, 1 / L)
            residual = np.linalg.norm(L * (ahead - step), axis=(2, 3))
            ahead, v = step + momentum * (step - v), step
            # Each is taken as soon as it is solved, whatever the others need; one that has diverged is not waited for.
            new = unsolved & ~(residual > self.tolerance)
            solution[new] = step[new]
            unsolved &= ~new
            if not unsolved.any():
                return solution
        raise UnsolvedSubproblemError(
            f"a subproblem's gradient is {np.nanmax(residual):.1e} after {_MOST_STEPS} steps, tolerance "
            f"{self.tolerance:.1e}; raise the tolerance, or use dtype: float64"
        )
