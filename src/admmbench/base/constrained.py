"""Methods for constrained problems: KKT residuals, augmented Lagrangians, and the outer loop of he2023."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any, Generic, TypeVar

import numpy as np
from pydantic import Field

from admmbench.base.algorithm import Algorithm, Family, parameters
from admmbench.base.outcomes import Outcome
from admmbench.base.types import Array, ConstrainedFederation
from admmbench.problems.constrained import BoundConstrained
from admmbench.problems.constraints import Functions, Quadratics
from admmbench.problems.newton import descent, matvec


@dataclass
class Ending:
    """State of a method that may end before the last round, for S seeds, n agents and d variables."""

    model: Array
    """w, shape (S, d)."""
    mu: Array
    """Multipliers of the agents' constraints, shape (n, S, m)."""
    mu_server: Array
    """Multipliers of the server's constraints, shape (1, S, m_0)."""
    outer: Array
    """k, outer iterations done, shape (S,)."""
    total: Array
    """Iterations of an inner loop, all outer iterations together, shape (S,)."""
    sent: Array
    """Numbers sent, shape (S,)."""
    ended: Array
    """`Outcome` of each seed, 0 while it goes on; shape (S,)."""

    @property
    def w(self) -> Array:
        """Return the global model, shape (S, 1, d)."""
        return self.model[:, None]

    def each(
        self, step: Callable[[Functions, Array], T], federation: ConstrainedFederation
    ) -> list[T]:
        """Return ``step(functions, mu)`` of each block of agents, in parallel, and at the end of the server."""
        agents = federation.each(lambda block: step(block.parts, self.mu[block.agents]))
        return [*agents, step(federation.problem.server, self.mu_server)]


T = TypeVar("T")
StateT = TypeVar("StateT", bound=Ending)


@parameters
class ConstrainedMethod(Algorithm[StateT, ConstrainedFederation], Generic[StateT]):
    """Base of methods for constrained problems, which measure how far they are from a KKT point.

    (w, mu) is an (eps1, eps2)-KKT point of he2023, definition 1, if ``stationarity`` is at most eps1,
    ``complementarity`` at most eps2, and mu_i in K_i*. All three are measured from w and mu alone.
    """

    sharing = ("constrained",)

    @property
    def variables(self) -> Mapping[str, tuple[str, str]]:
        """KKT residuals, iterations, and what was sent."""
        names = {
            "outer_iterations": "outer iterations",
            "stationarity": "distance of 0 from the Lagrangian's subdifferential, largest entry",
            "complementarity": "distance of c(w) from the normal cone at the multipliers, largest entry",
            "dual_feasibility": "distance of the multipliers from the dual cones, largest entry",
            "floats_sent": "numbers sent since the start, all agents",
        }
        return {name: ("1", long_name) for name, long_name in names.items()}

    def outcome(self, state: StateT, n_seeds: int) -> Array:
        """Return how each seed ended."""
        return state.ended

    def measure(self, t: int, state: StateT, federation: ConstrainedFederation) -> dict[str, Array]:
        """Measure KKT residuals, iterations, and what was sent."""
        w, problem = state.model[None], federation.problem

        def of_block(functions: Functions, mu: Array) -> tuple[Array, Array, Array]:
            values, cone = functions.at(w), functions.cone
            return (
                values.gradient(mu).sum(axis=0),
                cone.normal_distance(values.constraints, mu).max(axis=0),
                np.abs(mu - cone.project_dual(mu)).max(axis=(0, 2), initial=0),
            )

        parts = state.each(of_block, federation)
        gradients, complementarity, dual = (np.array(terms) for terms in zip(*parts, strict=True))
        return {
            "outer_iterations": state.outer.astype(float),
            "stationarity": _distance_to_stationary(gradients.sum(axis=0), state.model, problem),
            "complementarity": complementarity.max(axis=0),
            "dual_feasibility": dual.max(axis=0),
            "floats_sent": state.sent,
        }


def _distance_to_stationary(gradient: Array, w: Array, problem: BoundConstrained) -> Array:
    """Return ``dist_inf(0, gradient + dh(w))``, shape (S,)."""
    if problem.penalty.smooth:
        subgradient = gradient + problem.strength * problem.penalty.gradient(w)
    else:
        at_kink = np.maximum(np.abs(gradient) - problem.strength, 0)
        subgradient = np.where(w == 0, at_kink, gradient + problem.strength * np.sign(w))
    return np.asarray(np.abs(subgradient).max(axis=1))


@dataclass(frozen=True, eq=False)
class AugmentedLagrangian:
    """Function ``f_i + (||P_{K*}(mu + beta c_i)||^2 - ||mu||^2) / (2 beta) + pull ||w - centre||^2 / 2``: (10), (11).

    Attributes
    ----------
    functions
        f_i and c_i of B agents, or of the server.
    beta
        Penalty parameter.
    mu
        Multipliers, shape (B, S, m).
    pull, centre
        Weight and centre of the proximal term; in he2023 1 / ((n + 1) beta) and w^k, shape (S, d).
    v, rho, linear
        A further proximal term and a linear one, see `near`.
    """

    functions: Functions
    beta: float
    mu: Array
    pull: float
    centre: Array
    v: Array | float = 0.0
    rho: float = 0.0
    linear: Array | float = 0.0

    def near(self, v: Array, rho: float, linear: Array | float = 0.0) -> AugmentedLagrangian:
        """Add ``<linear, w> + rho ||w - v||^2 / 2``: the functions of (14) and (15)."""
        return replace(self, v=v, rho=rho, linear=linear)

    def at(self, w: Array) -> Merit:
        """Return value and derivatives at w, shape (B, S, d) or (1, S, d)."""
        return Merit(self, w)

    def multipliers(self, w: Array) -> Array:
        """Return the next multipliers, ``P_{K*}(mu + beta c(w))``."""
        return self.functions.cone.project_dual(
            self.mu + self.beta * self.functions.at(w).constraints
        )


class Merit:
    """Augmented Lagrangian at one point."""

    def __init__(self, of: AugmentedLagrangian, w: Array) -> None:
        self._of, self._w = of, w
        self._values = of.functions.at(w)
        self._estimate = of.mu + of.beta * self._values.constraints
        self._next = of.functions.cone.project_dual(self._estimate)
        self._from_centre, self._from_v = w - of.centre, w - of.v
        self.gradient: Array = (
            self._values.gradient(self._next)
            + of.pull * self._from_centre
            + of.linear
            + of.rho * self._from_v
        )

    @cached_property
    def value(self) -> Array:
        """Shape (B, S); many steps need the gradient alone."""
        of, values = self._of, self._values
        squares = np.square(self._next).sum(axis=-1) - np.square(of.mu).sum(axis=-1)
        found: Array = (
            values.objective
            + squares / (2 * of.beta)
            + of.pull / 2 * np.square(self._from_centre).sum(axis=-1)
            + (of.linear * self._w).sum(axis=-1)
            + of.rho / 2 * np.square(self._from_v).sum(axis=-1)
        )
        return found

    def newton_step(self) -> Array:
        """Take a step with the inverse Hessian where it is constant, otherwise with a generalised Hessian."""
        functions, beta, shift = self._of.functions, self._of.beta, self._of.pull + self._of.rho
        if isinstance(functions, Quadratics):
            return -matvec(functions.inverse(beta, shift), self.gradient)
        J = self._values.jacobian
        active = functions.cone.derivative(self._estimate)
        hessian = self._values.hessian(self._next) + beta * np.swapaxes(J, -1, -2) @ active @ J
        hessian = hessian + shift * np.eye(J.shape[-1])
        return descent(hessian, self.gradient, functions.convex)


def update_multipliers(
    state: Ending, federation: ConstrainedFederation, beta: float, which: Array
) -> Array:
    """Set ``mu_i`` to ``P_{K_i*}(mu_i + beta c_i(w))`` for some seeds; return the largest changes, shape (S,)."""
    w = state.model

    def update(functions: Functions, mu: Array) -> Array:
        found = AugmentedLagrangian(functions, beta, mu, 0.0, w).multipliers(w[None])
        change = np.abs(found - mu).max(axis=(0, 2), initial=0)
        mu[:, which] = found[:, which]
        return np.asarray(change)

    return np.max(state.each(update, federation), axis=0)


def out_of_reach(state: Ending, federation: ConstrainedFederation) -> Array:
    """Bound the distance to a feasible point from below, over ``1 + ||w||``; shape (S,), 0 without convex constraints.

    With ``v_i = P_{K_i*}(c_i(w))`` and a feasible x, convexity gives
    ``0 >= <v, c(x)> >= ||v||^2 + <J^T v, x - w>``, so that ``||x - w|| >= ||v||^2 / ||J^T v||``.
    """
    w = state.model[None]

    def of(functions: Functions, mu: Array) -> tuple[Array, Array, bool]:
        values = functions.at(w)
        v = functions.cone.project_dual(values.constraints)
        pull = matvec(np.swapaxes(values.jacobian, -1, -2), v)
        return np.square(v).sum(axis=(0, 2)), pull.sum(axis=0), functions.convex

    *parts, convex = zip(*state.each(of, federation), strict=True)
    squares, pulls = (np.sum(terms, axis=0) for terms in parts)
    distance = squares / np.maximum(np.linalg.norm(pulls, axis=1), 1e-300)
    far = np.where(squares > 0, distance / (1 + np.linalg.norm(state.model, axis=1)), 0)
    return np.asarray(far if all(convex) else np.zeros_like(far))


def end_seeds(outcome: Outcome, where: Array, state: Ending) -> None:
    """Record the outcome of seeds that were still running."""
    state.ended[where & (state.ended == 0)] = outcome


def start_fields(federation: ConstrainedFederation, value: float) -> dict[str, Any]:
    """Return the fields of `Ending` before the first round, with w^0 = (value, ..., value) and mu^0 = 0."""
    problem = federation.problem
    S, d = problem.n_seeds, problem.model_shape[1]
    ends = np.zeros(S, np.int8)
    ends[problem.undefined] = Outcome.UNDEFINED
    return {
        "model": np.full((S, d), value),
        "mu": np.zeros((problem.n_agents, S, federation.blocks[0].parts.cone.size)),
        "mu_server": np.zeros((1, S, problem.server.cone.size)),
        "outer": np.zeros(S, np.int64),
        "total": np.zeros(S, np.int64),
        "sent": np.zeros(S),
        "ended": ends,
    }


@parameters
class ProximalAL(ConstrainedMethod[StateT], Generic[StateT]):
    """Outer loop of Algorithm 1 of he2023, whatever solves its subproblems.

    Parameters
    ----------
    beta
        Penalty parameter of the constraints.
    s
        tau_k = s / (k + 1)^2 is the tolerance of the subproblem of outer iteration k.
    eps1, eps2
        Tolerances of stationarity and of the constraints, (8).
    start
        Every entry of w^0.
    reach
        A seed is ``infeasible`` if no feasible point is closer to w^k than ``reach`` times 1 + ||w^k||.
    theorems
        Whether both sides of lemma 3.2 and theorem 3.2, and of what the paper says of Algorithm 2, are measured; for
        quadratic programs.
    """

    gradients = 6.0  # about so many: a step of Newton's method also needs a Hessian
    family = Family(stops=True)

    beta: Annotated[float, Field(gt=0)] = 1.0
    s: Annotated[float, Field(gt=0)] = 0.01
    eps1: Annotated[float, Field(gt=0)] = 1e-3
    eps2: Annotated[float, Field(gt=0)] = 1e-3
    start: float = 1.0
    reach: Annotated[float, Field(gt=0)] = 100.0
    theorems: bool = False

    @property
    def variables(self) -> Mapping[str, tuple[str, str]]:
        """What all measure, and iterations of the inner loop."""
        long_name = "iterations of the inner loop, all outer iterations together"
        return {**super().variables, "inner_iterations": ("1", long_name)}

    def measure(self, t: int, state: StateT, federation: ConstrainedFederation) -> dict[str, Array]:
        """Measure the `variables`."""
        found = super().measure(t, state, federation)
        return {**found, "inner_iterations": state.total.astype(float)}

    def tau(self, state: StateT) -> Array:
        """Return ``tau_k`` of each seed, shape (S,)."""
        return np.asarray(self.s / (state.outer + 1) ** 2)

    def end_outer(
        self,
        state: StateT,
        federation: ConstrainedFederation,
        centre: Array,
        done: Array,
        solved: Array,
    ) -> None:
        """Update multipliers, count the iteration, and end seeds for which (8) holds or no feasible point is near.

        Parameters
        ----------
        state, federation, centre
            As in `round`, and w^k, shape (S, d).
        done
            Seeds that did an outer iteration, shape (S,).
        solved
            Seeds for which (7) holds; without (7), (8) means nothing.
        """
        tau = self.tau(state)
        moved = update_multipliers(state, federation, self.beta, done)
        step = np.abs(state.model - centre).max(axis=1)
        still = (step + self.beta * tau <= self.beta * self.eps1) & (moved <= self.beta * self.eps2)
        state.outer[done] += 1
        end_seeds(Outcome.CONVERGED, solved & still, state)  # (8)
        end_seeds(Outcome.INFEASIBLE, done & (out_of_reach(state, federation) > self.reach), state)
