"""Problems of single agents solved exactly: what algorithms 1 and 2 of huang2019 and their relatives share."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from admmbench.base.algorithm import parameters
from admmbench.base.consensus import Consensus
from admmbench.base.rho import HUANG2019_RHO, Rho
from admmbench.base.types import ALLOWED, Array, Subproblem, factors, norms
from admmbench.privacy import Release
from admmbench.problems.needs import Need
from admmbench.problems.rows import BoundRows, Objective, RowParts
from admmbench.sensitivity import Sensitivity

_MOST_STEPS = 10_000
# Of double precision: a rounded result is off by at most this part.
_ULP = 2.0**-53
# Operations on an entry of a gradient besides its sums, with room to spare.
_STEPS = 32
# What makes rounding errors large.
_TOO_LONG = "records are too long beside rho (set problem.records, such as {max_l2_norm: 1}, or use a larger rho)"
_TOO_LARGE = "rho is too large (use a smaller one, a smaller cap, or fewer rounds)"


class UnsolvedSubproblemError(RuntimeError):
    """Failure to find the exact solution of a subproblem."""


def solve(
    objective: Objective,
    start: Array,
    quadratic: Callable[[Array], Array],
    convexity: Array,
    tolerance: Array | float,
) -> Array:
    """Minimise an objective plus a quadratic function, for all agents and seeds.

    Accelerated proximal gradient steps with the momentum for strongly convex functions (Nesterov 2004, section 2.2).
    Their length comes from the largest curvature between the iterates so far, which is mostly far below the bound for
    all models. If a step is too long, the iterates move to where the curvature is large. Then this
    curvature is found, and steps get shorter. They are never shorter than the bound requires.

    Parameters
    ----------
    objective
        Of the agents.
    start
        Models, shape (B, S, K, J); what is computed has their precision.
    quadratic
        Gradient of the quadratic function.
    convexity
        Strong convexity of the sum, shape (B, S), as far as it is known: at least that of the quadratic function.
    tolerance
        Largest norm of the gradient, or of the proximal gradient with an l1 penalty, that counts as solved: one number
        or shape (B, S).

    Raises
    ------
    UnsolvedSubproblemError
        If the tolerance is not reached.
    """
    parts, penalty = objective.parts, objective.parts.whole.penalty
    bound = objective.weight * parts.curvature_bound + convexity
    if penalty.smooth:
        bound = bound + objective.penalty_curvature
    steepest = factors(bound, like=start)
    smoothness, met = bound, np.zeros(start.shape[:2])
    v = ahead = start
    before: tuple[Array, Array] | None = None
    solution, unsolved = np.empty_like(start), np.ones(start.shape[:2], bool)
    for _ in range(_MOST_STEPS):
        gradient = (
            objective.full_gradient(ahead) if penalty.smooth else objective.gradient(ahead).value
        )
        gradient += quadratic(ahead)
        if before is not None:
            moved, turned = norms(ahead - before[0]), norms(gradient - before[1])
            met = np.fmax(met, np.divide(turned, moved, out=np.zeros_like(met), where=moved > 0))
            smoothness = np.clip(met, convexity, bound)
        before = ahead, gradient
        L = factors(smoothness, like=start)
        step = ahead - gradient / L
        if penalty.smooth:
            # Only the part of the gradient that moves the models in their precision: no further step could do better.
            minimizer, moving = ahead, ahead - (ahead - gradient / steepest)
        else:
            minimizer = step = penalty.prox(step, objective.strength / L)
            moving = ahead - step
        residual = bound * norms(moving)
        # Each subproblem ends as soon as it is solved, whatever the others need; diverged ones are not waited for.
        new = unsolved & ~(residual > tolerance)
        solution[new] = minimizer[new]
        solution[new & np.isnan(residual)] = np.nan
        unsolved &= ~new
        if not unsolved.any():
            return solution
        root = np.sqrt(convexity / smoothness)
        momentum = factors((1 - root) / (1 + root), like=start)
        ahead, v = step + momentum * (step - v), step
    worst = np.unravel_index(np.argmax(np.where(unsolved, residual, -1)), residual.shape)
    raise UnsolvedSubproblemError(
        f"a subproblem's gradient is {residual[worst]:.1e} after {_MOST_STEPS} steps, tolerance "
        f"{np.broadcast_to(tolerance, residual.shape)[worst]:.1e}; raise the tolerance"
        + (", or use dtype: float64" if start.dtype != np.float64 else "")
    )


def gradient_rounding(objective: Objective, longest: Array, condition: Array) -> Array:
    """How far a computed gradient is from the true one at most, in double precision; see docs/privacy/bounds.md.

    Parameters
    ----------
    objective
        Of the agents.
    longest
        Largest norm of the gradient, at 0, of all but the records.
    condition
        Of the problem that is solved: curvature over convexity.
    """
    parts, (outputs, features) = objective.parts, objective.parts.whole.model_shape
    m, c1 = parts.mean_objective.divisor, objective.weight * parts.gradient_bound
    sums = (m + outputs + _STEPS) * c1
    products = (features + _STEPS) * condition * (c1 + longest)
    rounding: Array = _ULP * (sums + products)
    return rounding


@parameters
class Exact(Consensus):
    """Consensus ADMM whose agents minimise (6) of huang2019.

    Parameters
    ----------
    rho
        Penalty parameter; 0.1 as in huang2019.
    tolerance
        Largest norm of a subproblem's gradient, or of its proximal gradient with an l1 penalty, that counts as solved,
        where agents count alike; where records do, over the number of agents, as f_i is so many times smaller. The
        solution is then within that over rho of the exact one. Single precision reaches about 1e-6.
    """

    order = "agents"
    needs: ClassVar[tuple[Need, ...]] = ("convex loss",)  # so that there is one solution
    # Steps from the last solution to the next, as seen on Adult.
    gradients = 8

    rho: Rho = Field(default_factory=lambda: HUANG2019_RHO)
    tolerance: Annotated[float, Field(gt=0)] = 1e-5

    def objective(self, parts: RowParts) -> Objective:
        """Return f_i: the part of an agent in the sum."""
        return parts.objective

    def error(self, whole: BoundRows) -> float:
        """Return the largest norm of a subproblem's gradient that counts as solved."""
        return self.tolerance / (1 if whole.agents_alike else whole.n_agents)

    def minimize(self, sub: Subproblem, linear: Array, ridge: Array | float = 0.0) -> Array:
        """Minimise ``f_i(v) - <linear, v> + (rho / 2) ||v - w||^2 + (ridge / 2) ||v||^2`` for all agents and seeds.

        The penalty parameter makes the subproblem rho-strongly convex; `solve` begins at the last solution.

        Parameters
        ----------
        sub
            The subproblem.
        linear
            Dual variables, perhaps perturbed, shape (B, S, K, J).
        ridge
            Weight of a further quadratic term, shape (B, S).

        Raises
        ------
        UnsolvedSubproblemError
            If the tolerance is not reached.
        """
        z, rho = sub.z.astype(sub.parts.whole.released, copy=False), sub.rho
        convexity = np.broadcast_to(rho + ridge, z.shape[:2])
        stiffness = factors(convexity - rho, like=z)

        def quadratic(v: Array) -> Array:
            pull: Array = z.dtype.type(rho) * (v - sub.w) + stiffness * v - linear
            return pull

        objective, error = self.objective(sub.parts), self.error(sub.parts.whole)
        return solve(objective, z, quadratic, convexity, error)


@parameters
class PerturbedSolution(Exact):
    """Gaussian noise on what is made of the solutions."""

    release = Release("gaussian", "solution", scaled_for="replace")
    # Lemma 4 of huang2019: convex, smooth f_i, of which clipped derivatives are no gradients; c1 bounds gradients.
    needs = ("convex loss", "smooth penalty", "bounded derivative", "unclipped derivative")

    @property
    def farthest(self) -> float:
        """How far apart two of what is made of them can be, whatever the records."""
        return math.inf

    def sensitivity(self, sub: Subproblem, part: float = 1.0) -> Sensitivity:
        """Return how far a contribution moves a part of the solution, with the error of the solver.

        The stiffness is lambda / n + rho of lemma 4.

        Raises
        ------
        FloatingPointError
            If the bound is for the worst case, and rounding errors of a gradient may be a part of it that matters.
        """
        parts, c1, f = sub.parts, sub.parts.gradient_bound, self.objective(sub.parts)
        stiffness = f.penalty_curvature + sub.rho
        error = self.error(parts.whole)
        bound = sub.solution_sensitivity(part * c1, stiffness, part * error, objective=f).l2
        assert bound is not None
        if sub.privacy.private and sub.privacy.sensitivity == "global":
            condition = 1 + f.weight * parts.curvature_bound / stiffness
            pull = sub.rho * norms(sub.w) + norms(sub.dual)
            lost = gradient_rounding(f, pull, condition)
            moved = c1 / f.divisor + 2 * error
            hidden = np.isfinite(lost) & (lost > ALLOWED * moved) & (bound < self.farthest)
            if hidden.any():
                steep = np.broadcast_to(condition > 2, hidden.shape)[hidden].any()
                raise FloatingPointError(
                    f"one record moves a gradient by {moved.min():.1e} at most, which is nearly lost in its rounding "
                    f"errors of {lost.max():.1e}, so that noise cannot hide it; {_TOO_LONG if steep else _TOO_LARGE}"
                )
        return Sensitivity(l2=np.minimum(self.farthest, bound))
