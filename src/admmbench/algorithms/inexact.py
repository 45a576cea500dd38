"""The frame that inexact ADMM and its private forms share: Algorithm 1 of ryu2022.

The methods differ in the subproblem that an agent solves; each states its closed form in its own module.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field

from admmbench.algorithms.base import (
    ADMM,
    Array,
    Block,
    Consensus,
    Federation,
    Messages,
    dual_ascent,
    parameters,
    server_average,
)

# The authors' code clips probabilities to [1e-9, 1].
PROBABILITY_FLOOR = 1e-9


@dataclass
class Chained(Consensus):
    """Consensus state of agents that make several local updates in a round."""

    chain: Array
    """Last local iterates, from which the next round goes on, shape (P, S, K, J); with E = 1 it is ``z`` itself."""


@dataclass(frozen=True)
class Subproblem:
    """What the agents of a block know when they solve their subproblems in round t."""

    t: int
    z: Array
    """Iterates to stay close to, shape (B, S, K, J)."""
    w: Array
    """Global model, shape (S, K, J)."""
    dual: Array
    """Dual variables, shape (B, S, K, J)."""
    gradient: Array
    """Gradients of f_p at ``z``, shape (B, S, K, J)."""
    rho: float
    epsilon: float
    problem: Any
    """The agents' parts of the problem."""


@parameters
class InexactADMM(ADMM):
    """Inexact ADMM, server first: the agents' subproblems are linearised and solved in closed form.

    Parameters
    ----------
    a
        Factor of the proximity parameter (ryu2021, appendix A.11).
    """

    variants = ("paper", "reference")

    a: Annotated[float, Field(gt=0)] = 1.0

    @abstractmethod
    def solve(self, sub: Subproblem, xi: Array | float) -> Array:
        """Solve the subproblems, perturbed by ``xi``, in closed form; shape (B, S, K, J)."""

    @abstractmethod
    def perturbation(self, block: Block, sensitivity: Array) -> Array | float:
        """Draw xi, given the l1 sensitivities of the gradients, shape (B, S)."""

    def init(self, federation: Federation) -> Chained:
        """All variables start at zero."""
        start = ADMM.init(self, federation)
        chain = start.z if self.updates == 1 else start.z.copy()
        return Chained(start.w, start.z, start.dual, chain)

    def round(self, t: int, state: Chained, federation: Federation) -> Messages:  # type: ignore[override]
        """Algorithm 1 of ryu2022; with one update and other subproblems, algorithms 1 and 2 of ryu2021."""
        epsilon = federation.privacy.epsilon
        rho = self.rho(t, epsilon)
        state.w = w = server_average(state, rho)  # line 5

        def agents_round(block: Block) -> None:  # lines 15 to 23
            p, problem, iterates = block.agents, block.problem, []
            z, dual = state.chain[p], state.dual[p]
            for _ in range(self.updates):
                gradient, sensitivity = self._gradient(problem, z, w)
                xi = self.perturbation(block, sensitivity)
                z = self.solve(Subproblem(t, z, w, dual, gradient, rho, epsilon, problem), xi)
                iterates.append(z)
            state.chain[p] = z
            if self.updates > 1:
                state.z[p] = sum(iterates) / self.updates
            dual_ascent(dual, rho, w, state.z[p], out=dual)

        federation.each(agents_round)
        return Messages(down=(w,), up=(state.z,))

    def _gradient(self, local: Any, z: Array, w: Array) -> tuple[Array, Array]:
        """Gradients of f_p at z, and their l1 sensitivities."""
        problem = local.problem
        floor = PROBABILITY_FLOOR if self.reference else 0.0
        gradient, sensitivity = local.gradient(z, mean_over=problem.n_samples, floor=floor)
        # The authors' code takes the whole regulariser, at the global model.
        at = w if self.reference else z
        return problem.add_regularizer(gradient, at, whole=self.reference), sensitivity
