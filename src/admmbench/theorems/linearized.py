"""What theorems say of a run of linearised ADMM: both sides of their inequalities.

The left side is ``F(z^(T)) - F(z*)`` plus a weight times a distance from consensus, at averages of the models; a
theorem bounds its expectation by constants of the problem. All of that is known for a run. Before it takes expectations
and maxima, each proof has an inequality for the run as drawn; its right side is summed up beside the averages, at the
multiplier 0. docs/methods/theorems.md derives everything.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from admmbench.base.averages import Average, Sums, objective
from admmbench.base.kernel import dual_ascent
from admmbench.base.linearized import proximal_step
from admmbench.base.types import (
    UNIT_OF_LOSS,
    Array,
    ConsensusState,
    LocalUpdate,
    RowFederation,
    Subproblem,
    factors,
    norms,
)
from admmbench.problems.base import Problem
from admmbench.problems.needs import Need, require
from admmbench.problems.rows import BoundRows, RowParts, Rows

# The optimum must be known so well.
_PRECISION = 1e-8


@dataclass
class Course(Sums):
    """Quantities of both sides of a theorem."""

    drawn: Array
    """Sum of the right side as drawn, for each agent, shape (P, S)."""
    largest: Array
    """Largest norm of the dual variables so far, shape (S,)."""
    farthest: Array
    """Largest distance of a local model from w* so far, shape (S,)."""
    optimum: Array
    """w*, shape (S, K, J)."""
    least: Array
    """F(z*), shape (S,)."""
    constants: list[Array]
    """Those that a theorem finds in the problem before the first round."""
    start: tuple[Array, Array]
    """`Theorem.distances` at the start of the round."""


class Step(NamedTuple):
    """A local update of a block of agents; arrays have shape (B, S)."""

    noise: Array
    """||xi||^2, with xi the noise on the gradient; noise on the solution is -(rho + 1 / eta) times as much."""
    squared_gradient: Array
    """||f_p'(z) + xi||^2 at the model z before it."""
    product: Array
    """<xi, z* - z>."""
    before: Array
    """||z* - z||^2."""
    after: Array
    """The same after it."""
    inverse_eta: Array
    L: Array | float
    """Smoothness of f_p."""
    alpha: float
    """Strong convexity of every f_p."""

    def smooth(self) -> Array:
        """Bound by Young's inequality with 1 / eta - L: (31) of ryu2022, (33) of huang2019."""
        # Without noise 1 / eta of theorem 2 is L, and the term is 0, not 0 / 0.
        spare = self.inverse_eta - self.L
        young = np.divide(
            self.noise, 2 * spare, out=np.zeros_like(self.noise), where=self.noise > 0
        )
        return young + self._known

    def convex(self) -> Array:
        """Bound by convexity: (45) of ryu2022, (18) of ryu2021, (28) of huang2019."""
        return self.squared_gradient / (2 * self.inverse_eta) + self._known

    @property
    def _known(self) -> Array:
        return self.inverse_eta / 2 * (self.before - self.after) + self.product


class Theorem(Average, ABC):
    """A theorem, by its averages, its sides, and the right side of its proof."""

    supposes: ClassVar[Mapping[str, Any]] = {}
    """Parameters of the method, by name."""
    needs: ClassVar[tuple[Need, ...]] = ("convex loss",)
    compact: ClassVar[bool] = True
    """Whether it is about a compact W."""
    law: ClassVar[str]
    """Of the noise."""
    before = True
    sees_updates = True
    memory: Course
    smooth: ClassVar[bool] = False
    variables = {
        "theorem_left": (UNIT_OF_LOSS, "left side of the theorem, at the averages of this run"),
        "theorem_right": (UNIT_OF_LOSS, "right side as printed, constants at most"),
        "theorem_right_least": (UNIT_OF_LOSS, "right side as printed, constants at least"),
        "theorem_drawn_left": (UNIT_OF_LOSS, "F(z^(T)) - F(z*) of this run"),
        "theorem_drawn_right": (UNIT_OF_LOSS, "its bound in the proof, for this run as drawn"),
        "theorem_dual": (UNIT_OF_LOSS, "largest norm of the dual variables so far"),
    }

    def against(self, t: int, rho: float, last: float) -> str:
        """Say why it does not speak of rho in round t, after that of the last round; empty if it does."""
        return ""

    @abstractmethod
    def smoothness(self, parts: RowParts) -> Array | float:
        """Smoothness of f_p where the proof needs it, else 0."""

    @abstractmethod
    def constants(self, federation: RowFederation, gradients: Array) -> list[Array]:
        """Find what the right side needs; ``gradients`` are gradients of the losses at w*, shape (P, S, K, J)."""

    @abstractmethod
    def sides(self, t: int, federation: RowFederation) -> dict[str, Array]:
        """Return both sides after round t, besides those of the proof, by the names of variables; shape (S,)."""

    def drawn(self, s: Step) -> Array:
        """Right side of an update in the proof, before expectations, shape (B, S)."""
        return s.smooth() if self.smooth else s.convex()

    def check(self, problem: Problem) -> None:
        """A theorem supposes its step size, perhaps a compact W."""
        method = self.method
        require(f"average: {method.average}", self.needs, problem)
        assert isinstance(problem, Rows)
        if self.compact and problem.feasible is None:
            raise ValueError("average: theorems are about a compact W; set problem.feasible")
        wanted = {**self.supposes, "a": 1, "variant": "paper"}
        if any(getattr(method, name) != value for name, value in wanted.items()):
            text = ", ".join(f"{name}: {value}" for name, value in wanted.items())
            raise ValueError(f"average: {method.average} supposes {text}")

    def begin(self, state: ConsensusState, federation: RowFederation) -> None:
        """Find the optimum over W, and the theorem's constants, before the first round.

        Raises
        ------
        ValueError
            If the run is not as the theorems suppose, or its optimum is not found to 1e-8.
        """
        whole, laws = federation.problem, {block.noise.release for block in federation.blocks}
        if whole.dtype != np.float64:
            raise ValueError("average: theorems are about exact numbers; set dtype: float64")
        if any(release and release.law != self.law for release in laws):
            raise ValueError(f"average: the theorems are about {self.law.capitalize()} noise")
        w = whole.optimum()
        at_optimum = np.broadcast_to(w, state.z.shape)
        gradients = np.concatenate(
            federation.each(
                lambda block: block.parts.objective.gradient(at_optimum[block.agents]).value
            )
        )
        # The left side is a difference from F(w*): a worse optimum would make it smaller, and hide a violation.
        gap = _suboptimality(whole, w, gradients.sum(axis=0))
        if (gap > _PRECISION).any():
            raise ValueError(f"average: the optimum over W is known to {gap.max():.0e}, not 1e-8")
        super().begin(state, federation)
        self.memory = Course(
            **vars(self.memory),
            drawn=np.zeros(state.z.shape[:2]),
            largest=np.zeros(len(w)),
            farthest=norms(w),
            optimum=w,
            least=objective(at_optimum, federation).sum(axis=0),
            constants=self.constants(federation, gradients),
            start=(np.zeros(0), np.zeros(0)),
        )

    def distances(self, state: ConsensusState, rho: float) -> tuple[Array, Array]:
        """Squared distance from w* of each model that a round begins with, and ``||lambda_p||^2``, shape (P, S).

        If the server begins, an agent's subproblem comes from the models that were sent last, otherwise from the global
        one, and then the dual variables are still those from the start of the last round.
        """
        optimum = self.memory.optimum
        if self.method.order == "server":
            return norms(optimum - state.z) ** 2, norms(state.dual) ** 2
        dual = norms(dual_ascent(state.dual, rho, state.w, state.z)) ** 2
        return np.broadcast_to(norms(optimum - state.w) ** 2, dual.shape), dual

    def before_round(self, t: int, state: ConsensusState, federation: RowFederation) -> None:
        """Refuse a rho that the theorem does not speak of, and take note of where the round begins."""
        super().before_round(t, state, federation)
        epsilon = federation.privacy.epsilon
        last, rho = (self.method.rho(max(when, 1), epsilon) for when in (t - 1, t))
        if against := self.against(t, rho, last):
            raise ValueError(f"rho: {against}")
        self.memory.start = self.distances(state, last)

    def after_update(self, update: LocalUpdate, before: Subproblem) -> None:
        """Sum up what the proof says of an update."""
        gradient, optimum, p = update.gradient, self.memory.optimum, before.agents
        assert gradient is not None
        # The proofs are about f_p with its penalty, whose gradient is added only within the update.
        full_gradient = gradient.value + update.strength * before.parts.whole.penalty.gradient(
            before.z
        )
        noise = _noise(update, before, full_gradient)
        axes, away = (2, 3), optimum - before.z
        step = Step(
            noise=(noise**2).sum(axis=axes),
            squared_gradient=((full_gradient + noise) ** 2).sum(axis=axes),
            product=(noise * away).sum(axis=axes),
            before=(away**2).sum(axis=axes),
            after=((optimum - update.sub.z) ** 2).sum(axis=axes),
            inverse_eta=np.asarray(update.schedule["inverse_eta"]),
            L=self.smoothness(before.parts),
            alpha=before.parts.whole.penalty_curvature,
        )
        self.memory.drawn[p] += self.weight(before.t) * update.share * self.drawn(step)

    def after_round(self, t: int, state: ConsensusState, federation: RowFederation) -> None:
        """Sum up what the proof says of the round, (38c) of ryu2022 at the multiplier 0."""
        super().after_round(t, state, federation)
        course, rho = self.memory, self.method.rho(t, federation.privacy.epsilon)
        (away, dual), (away_now, dual_now) = course.start, self.distances(state, rho)
        # These differences do not telescope, as rho and weights change from round to round: so each round is summed.
        change = rho / 2 * (away_now - away) + (dual_now - dual) / (2 * rho)
        course.drawn -= self.weight(t) * change
        course.largest = np.maximum(course.largest, np.sqrt(dual_now.sum(axis=0)))
        course.farthest = np.maximum(course.farthest, norms(course.optimum - state.z).max(axis=0))

    def measure(self, t: int, state: ConsensusState, federation: RowFederation) -> dict[str, Array]:
        """Measure both sides, and those of the proof."""
        return {
            **self.sides(t, federation),
            "theorem_drawn_right": self.memory.drawn.sum(axis=0) / self.total(t),
            "theorem_dual": self.memory.largest,
        }


def _noise(update: LocalUpdate, before: Subproblem, full_gradient: Array) -> Array:
    """Noise on the gradient; noise on the solution is as if the gradient had -(rho + 1 / eta) times as much."""
    fused, z, value = update.fused, before.z, full_gradient
    if update.draw is None or update.gradient is None:
        return np.zeros_like(z)
    unmeasured = update.draw.drawn._replace(measure=False)
    draw = replace(update.draw, drawn=unmeasured, note=None)  # the same numbers again
    # Adding noise rounds the value to a grid as well, so what was added is a difference, and not the drawn number.
    if fused.noise == "gradient":
        value = update.gradient.value
        return np.asarray((value + draw) - value)
    dual = before.dual
    # Where the agents begin, the first update ascends the dual variables itself, after `before` was noted.
    if fused.order == "agents" and fused.flags()["first"]:
        dual = dual_ascent(dual, before.rho_dual, before.w, before.sent)
    inverse_eta = np.broadcast_to(np.asarray(update.schedule["inverse_eta"]), z.shape[:2])
    stiffness = factors(inverse_eta, z)
    known = z, before.w, dual, before.rho, stiffness
    solution = np.asarray(proximal_step(full_gradient, *known))  # type: ignore[arg-type]
    return np.asarray(-(before.rho + stiffness) * ((solution + draw) - solution))


def _suboptimality(whole: BoundRows, w: Array, gradient: Array) -> Array:
    """Bound ``F(w) - min F`` over W, shape (S,): by the linear lower bound at w, or by strong convexity."""
    weight, axes, W = whole.total_strength, (1, 2), whole.feasible
    known, curved = (gradient * w).sum(axis=axes), np.full(len(w), np.inf)
    if not whole.penalty.smooth:
        # A linear bound of the l1 norm is loose at 0, so it enters as it is: soft thresholding minimises over both.
        known += weight * whole.penalty.value(w)
        gradient = np.sign(gradient) * np.maximum(np.abs(gradient) - weight, 0)
    elif weight:
        gradient = gradient + weight * whole.penalty.gradient(w)
        known, curved = (gradient * w).sum(axis=axes), norms(gradient) ** 2 / (2 * weight)
    return curved if W is None else np.minimum(known + W.support(gradient), curved)
