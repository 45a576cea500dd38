"""Proximal augmented Lagrangian over an inexact ADMM: Algorithms 1 and 2 of he2023."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from pydantic import Field

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
from admmbench.base.types import Array, ConstrainedBlock, ConstrainedFederation, Messages
from admmbench.problems.base import Problem
from admmbench.problems.constraints import Quadratics
from admmbench.problems.newton import minimize, minimize_with_l1
from admmbench.theorems.he2023 import InnerLoop

# Subproblems are not solved to less than this part of tau_k. (18) multiplies the remaining error by the curvature of
# beta ||c||^2 / 2, so this part must be small.
_PART_OF_TAU = 1e-6


@dataclass
class ProxALState(Ending):
    """State of both loops."""

    centre: Array
    """w^k, from which the outer iteration started, shape (S, d)."""
    u: Array
    """Local models, shape (n, S, d)."""
    dual: Array
    """lambda_i, shape (n, S, d)."""
    inner: Array
    """t, iterations of Algorithm 2 in this outer iteration, shape (S,)."""


@parameters
class ProxAL(ProximalAL[ProxALState]):
    """Algorithm 1 of he2023, whose subproblems Algorithm 2 solves; a round is an iteration of Algorithm 2.

    It ends when (8) holds, with an (eps1, eps2)-KKT point (theorem 3.1) if subproblems are convex.

    Parameters
    ----------
    rho
        Penalty parameter rho_i of the consensus, the same for all agents.
    q
        eps_{t+1} = q^t, but at least a millionth of tau_k, is that of (14) and (15) in inner iteration t. The paper
        does not print q.
    inner_limit
        A seed has ``stalled`` if Algorithm 2 takes so many iterations.
    """

    # Two in double precision, and the multipliers.
    resources = Resources(state_copies=5)
    examples = ({"beta": 10.0, "rho": 0.1},)

    rho: Annotated[float, Field(gt=0)] = 1.0
    q: Annotated[float, Field(gt=0, lt=1)] = 0.9
    inner_limit: Annotated[int, Field(ge=1)] = 100_000

    def init(self, federation: ConstrainedFederation) -> ProxALState:
        """Start at ``w^0 = (start, ..., start)`` and ``mu^0 = 0``, and begin Algorithm 2."""
        problem = federation.problem
        shape = (problem.n_agents, problem.n_seeds, problem.model_shape[1])
        common = start_fields(federation, self.start)
        state = ProxALState(
            centre=common["model"].copy(),
            u=np.zeros(shape),
            dual=np.zeros(shape),
            inner=np.zeros(problem.n_seeds, np.int64),
            **common,
        )
        self.begin_inner(state, federation, state.ended == 0)
        return state

    def round(self, t: int, state: ProxALState, federation: ConstrainedFederation) -> Messages:
        """Do one iteration of Algorithm 2, and what follows in Algorithm 1 where (19) holds."""
        live, n = state.ended == 0, federation.problem.n_agents
        tau = self.tau(state)
        # A tolerance below a small part of tau_k cannot matter to (19), and may be beyond double precision.
        eps = np.where(live, np.maximum(self.q**state.inner, _PART_OF_TAU * tau), np.inf)
        w = self.update_server(state, federation, eps)
        state.model[live] = w[live]

        def update(block: ConstrainedBlock) -> Array:
            p = block.agents
            dual, u = state.dual[p], state.u[p]
            lagrangian = self.merit(state, federation, block)
            function = lagrangian.near(w[None], self.rho, dual)
            at_w = function.at(w[None])
            residual = np.abs(at_w.gradient - self.rho * (w - u)).max(axis=-1)  # (18)
            if isinstance(block.parts, Quadratics):
                minimizer = w + at_w.newton_step()  # (15), exactly
            else:
                minimizer, _ = minimize(function.at, u, np.broadcast_to(eps, u.shape[:2]))  # (15)
            u[:, live] = minimizer[:, live]
            dual[:, live] += self.rho * (minimizer - w)[:, live]  # (16)
            return residual

        residuals = np.concatenate(federation.each(update))
        state.inner[live] += 1
        state.total[live] += 1
        state.sent[live] += n * (2 * w.shape[1] + 1)
        for observer in federation.observers:
            observer.after_iteration(state, federation)
        solved = live & (eps + residuals.sum(axis=0) <= tau)  # (19)
        if solved.any():
            self.end_outer(state, federation, state.centre, done=solved, solved=solved)
            state.centre[solved] = state.model[solved]
            state.sent[solved] += n  # how far the agents' multipliers moved
            self.begin_inner(state, federation, solved & (state.ended == 0))
        end_seeds(Outcome.STALLED, state.inner >= self.inner_limit, state)
        return Messages(down=(), up=())

    def update_server(
        self, state: ProxALState, federation: ConstrainedFederation, eps: Array
    ) -> Array:
        """Minimise ``F_0 + h + sum_i rho ||u~_i - w||^2 / 2``, (14); shape (S, d)."""
        problem, n = federation.problem, federation.problem.n_agents
        mean = (state.u + state.dual / self.rho).mean(axis=0)  # (17)
        rho, strength, pull = n * self.rho, problem.strength, 1 / ((n + 1) * self.beta)
        lagrangian = AugmentedLagrangian(
            problem.server, self.beta, state.mu_server, pull, state.centre
        )
        if not problem.penalty.smooth and strength:
            if not problem.server.cone.size:
                total = pull + rho
                return problem.penalty.prox(
                    (pull * state.centre + rho * mean) / total, np.asarray(strength / total)
                )
            smooth = lagrangian.near(mean[None], rho)
            return minimize_with_l1(smooth.at, strength, state.model[None], eps[None])[0]
        # h = strength ||w||^2 / 2 moves the proximal term.
        near, weight = rho / (rho + strength) * mean, rho + strength
        function = lagrangian.near(near[None], weight)
        if isinstance(problem.server, Quadratics):
            return np.asarray(state.model + function.at(state.model[None]).newton_step()[0])
        minimizer, _ = minimize(function.at, state.model[None], eps[None])
        return minimizer[0]

    def merit(
        self, state: ProxALState, federation: ConstrainedFederation, block: ConstrainedBlock
    ) -> AugmentedLagrangian:
        """Return ``F_i = P_{i,k}`` of (11)."""
        pull = 1 / ((federation.problem.n_agents + 1) * self.beta)
        return AugmentedLagrangian(
            block.parts, self.beta, state.mu[block.agents], pull, state.centre
        )

    def begin_inner(
        self, state: ProxALState, federation: ConstrainedFederation, which: Array
    ) -> None:
        """Begin Algorithm 2 at ``w^k``: ``u_i = w^k`` and ``lambda_i = -grad F_i(w^k)``, for some seeds."""

        def begin(block: ConstrainedBlock) -> None:
            p = block.agents
            gradient = self.merit(state, federation, block).at(state.model[None]).gradient
            state.u[p][:, which] = state.model[which]
            state.dual[p][:, which] = -gradient[:, which]

        federation.each(begin)
        state.inner[which] = 0
        state.sent[which] += state.u.shape[0] * state.u.shape[2]  # u~_i of the start

    def observers(self, problem: Problem) -> Sequence[Observer]:
        """Measure what the theorems say of both loops, if it is asked for."""
        return [InnerLoop(self)] if self.theorems else []

    def violation(self, state: ProxALState, federation: ConstrainedFederation) -> Array:
        """Measure ``sum_i ||w - u_i||_1``, shape (S,)."""
        return np.abs(state.u - state.model).sum(axis=(0, 2))
