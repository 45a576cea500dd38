"""Centralized proximal augmented Lagrangian, what he2023 compares `prox_al` with."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from admmbench.base.algorithm import Resources, parameters
from admmbench.base.constrained import (
    AugmentedLagrangian,
    Ending,
    ProximalAL,
    end_seeds,
    start_fields,
)
from admmbench.base.observers import Observer
from admmbench.base.outcomes import Outcome
from admmbench.base.types import Array, ConstrainedFederation, Messages
from admmbench.problems.base import Problem
from admmbench.problems.constraints import Functions
from admmbench.problems.newton import lbfgs
from admmbench.theorems.he2023 import OuterLoop

# Most iterations of L-BFGS for a subproblem.
_MOST_ITERATIONS = 100_000


@parameters
class CProxAL(ProximalAL[Ending]):
    """Algorithm 1 of he2023 on the data of all agents, with L-BFGS for its subproblems; a round is an outer iteration.

    Its parameters are those of the outer loop. A seed has ``stalled`` if L-BFGS can take no step from a point where (7)
    does not hold.
    """

    resources = Resources(state_copies=1)
    examples = ({"beta": 10.0},)
    needs = ("smooth penalty",)
    gradients = 60.0  # about so many in the iterations of L-BFGS

    def observers(self, problem: Problem) -> Sequence[Observer]:
        """Measure what the theorems say of the outer loop, if it is asked for."""
        return [OuterLoop(self)] if self.theorems else []

    def init(self, federation: ConstrainedFederation) -> Ending:
        """Start at ``w^0 = (start, ..., start)`` and ``mu^0 = 0``."""
        return Ending(**start_fields(federation, self.start))

    def round(self, t: int, state: Ending, federation: ConstrainedFederation) -> Messages:
        """Solve (6) from ``w^k`` to ``tau_k``, update multipliers, and test (8)."""
        live, tau = state.ended == 0, self.tau(state)
        centre = state.model.copy()
        solved, stuck = np.zeros_like(live), np.zeros_like(live)
        for seed in np.flatnonzero(live):
            gradient, steps = self.solve(int(seed), float(tau[seed]), state, centre, federation)
            solved[seed] = gradient <= tau[seed]  # (7)
            stuck[seed] = not solved[seed] and steps == 0
        self.end_outer(state, federation, centre, done=live, solved=solved)
        end_seeds(Outcome.STALLED, stuck, state)
        return Messages(down=(), up=())

    def solve(
        self,
        seed: int,
        tau: float,
        state: Ending,
        centre: Array,
        federation: ConstrainedFederation,
    ) -> tuple[float, int]:
        """Solve (6) for one seed, to a gradient of at most tau; return its largest entry, and the steps."""
        problem = federation.problem
        trial = state.model.copy()

        def objective(w: Array) -> tuple[float, Array]:
            trial[seed] = w

            def of_holder(functions: Functions, mu: Array) -> tuple[float, Array]:
                pull = 1 / self.beta if functions is problem.server else 0.0
                merit = AugmentedLagrangian(functions, self.beta, mu, pull, centre).at(trial[None])
                return merit.value[:, seed].sum(), merit.gradient[:, seed].sum(axis=0)

            merits = state.each(of_holder, federation)
            values, gradients = zip(*merits, strict=True)
            value = sum(values) + problem.strength * problem.penalty.value(w[None])
            full_gradient = problem.strength * problem.penalty.gradient(w)
            return float(value), np.sum(gradients, axis=0) + full_gradient

        limits = {"gtol": tau, "ftol": 0, "maxiter": _MOST_ITERATIONS, "maxfun": _MOST_ITERATIONS}
        solution = lbfgs(objective, centre[seed], 0.0, limits)
        state.model[seed] = solution.x
        state.total[seed] += solution.nit
        return float(np.abs(solution.jac).max()), int(solution.nit)
