"""What theorems say of a run of linearised ADMM: both sides of their inequalities.

The left side is ``F(z^(T)) - F(z*)`` plus a weight times a distance from consensus, at averages of the models; a
theorem bounds its expectation by constants of the problem. All of that is known for a run. Before it takes expectations
and maxima, each proof has an inequality for the run as drawn; its right side is summed up beside the averages, at the
multiplier 0. docs/methods/theorems.md derives everything.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from admmbench.frames.base import (
    UNIT_OF_LOSS,
    Array,
    Messages,
    RowBlock,
    RowFederation,
    factors,
    norms,
    parameters,
)
from admmbench.frames.consensus import ConsensusState, Order, Subproblem
from admmbench.frames.linearized import Linearized, proximal_step
from admmbench.frames.local_update import Pass, Strategy, dual_ascent
from admmbench.privacy import Draw
from admmbench.problems.base import Gradient, Problem
from admmbench.problems.needs import Need
from admmbench.problems.rows import BoundRows, RowParts, Rows

# The optimum must be known so well.
_PRECISION = 1e-8

Variables = Mapping[str, tuple[str, str]]


@dataclass
class Averaged(ConsensusState):
    """Consensus state with sums of the models over rounds, in double precision."""

    w_sum: Array
    """Weighted sum of the global models, shape (S, K, J)."""
    z_sum: Array
    """Of the local ones, shape (P, S, K, J)."""


@dataclass
class Course(Averaged):
    """State of a run of which both sides of a theorem are measured."""

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

    def distances(self, order: Order, rho: float) -> tuple[Array, Array]:
        """Squared distance from w* of each model that a round begins with, and ``||lambda_p||^2``, shape (P, S).

        If the server begins, an agent's subproblem comes from the models that were sent last, otherwise from the global
        one, and then the dual variables are still those from the start of the last round.
        """
        if order == "server":
            return norms(self.optimum - self.z) ** 2, norms(self.dual) ** 2
        dual = norms(dual_ascent(self.dual, rho, self.w, self.z)) ** 2
        return np.broadcast_to(norms(self.optimum - self.w) ** 2, dual.shape), dual


class Step(NamedTuple):
    """A local update of a block of agents; arrays have shape (B, S)."""

    noise: Array
    """||xi||^2, with xi the noise on the gradient; noise on the solution is -(rho + 1 / eta) times as much."""
    slope: Array
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
        spare = self.inverse_eta - self.L
        young = np.divide(
            self.noise, 2 * spare, out=np.zeros_like(self.noise), where=self.noise > 0
        )
        return young + self._known

    def convex(self) -> Array:
        """Bound by convexity: (45) of ryu2022, (18) of ryu2021, (28) of huang2019."""
        return self.slope / (2 * self.inverse_eta) + self._known

    @property
    def _known(self) -> Array:
        return self.inverse_eta / 2 * (self.before - self.after) + self.product


class Theorem(ABC):
    """A theorem, by its averages, its sides, and the right side of its proof."""

    supposes: ClassVar[Mapping[str, Any]] = {}
    """Parameters of the method, by name."""
    needs: ClassVar[tuple[Need, ...]] = ("convex loss",)
    compact: ClassVar[bool] = True
    """Whether it is about a compact W."""
    law: ClassVar[str]
    """Of the noise."""
    before: ClassVar[bool] = True
    """Whether models are averaged as they are before each update, instead of after it."""
    smooth: ClassVar[bool] = False
    variables: ClassVar[Variables] = {
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

    def weight(self, t: int) -> int:
        """Weight of round t in averages, over the sum of weights."""
        return 1

    def total(self, T: int) -> float:
        """Sum of the weights of T rounds."""
        return T

    @abstractmethod
    def smoothness(self, parts: RowParts) -> Array | float:
        """Smoothness of f_p where the proof needs it, else 0."""

    @abstractmethod
    def constants(self, course: Course, federation: RowFederation, slopes: Array) -> list[Array]:
        """Find what the right side needs; ``slopes`` are gradients of the losses at w*, shape (P, S, K, J)."""

    @abstractmethod
    def sides(
        self, t: int, method: Linearized, course: Course, federation: RowFederation
    ) -> dict[str, Array]:
        """Return both sides after round t, besides those of the proof, by the names of variables; shape (S,)."""

    def drawn(self, s: Step) -> Array:
        """Right side of an update in the proof, before expectations, shape (B, S)."""
        return s.smooth() if self.smooth else s.convex()

    def averages(self, t: int, course: Course) -> tuple[Array, Array]:
        """Return averages of local models, and the norms of their distances from that of the global ones, (P, S)."""
        w, z = (each / self.total(t) for each in (course.w_sum, course.z_sum))
        return z, norms(w - z)


def objective(z: Array, federation: RowFederation, mean_over: str) -> Array:
    """Return f_p at each agent's model, shape (P, S), with the mean over ``all`` records or an agent's ``own``."""
    whole = federation.problem

    def of_block(block: RowBlock) -> Array:
        own = z[block.agents]
        m = block.parts.n_samples[:, None].clip(1) if mean_over == "own" else whole.n_samples
        value: Array = block.parts.losses(own) / m
        return value + whole.own_strength * whole.penalty.value(own)

    return np.concatenate(federation.each(of_block))


def start(
    theorem: Theorem, method: Linearized, state: Averaged, federation: RowFederation
) -> Course:
    """Find the optimum over W, and the theorem's constants, before the first round.

    Raises
    ------
    ValueError
        If the run is not as the theorems suppose, or its optimum is not found to 1e-8.
    """
    whole, laws = federation.problem, {block.noise.release for block in federation.blocks}
    if whole.dtype != np.float64:
        raise ValueError("average: theorems are about exact numbers; set dtype: float64")
    if any(release and release.law != theorem.law for release in laws):
        raise ValueError(f"average: the theorems are about {theorem.law.capitalize()} noise")
    w = whole.optimum()
    slopes = np.concatenate(federation.each(lambda block: _slopes(method, block.parts, w)))
    least = objective(np.broadcast_to(w, state.z.shape), federation, method.mean_over).sum(axis=0)
    gap = _suboptimality(whole, w, slopes.sum(axis=0))
    if (gap > _PRECISION).any():
        raise ValueError(f"average: the optimum over W is known to {gap.max():.0e}, not 1e-8")
    course = Course(
        **vars(state),
        drawn=np.zeros(state.z.shape[:2]),
        largest=np.zeros(len(w)),
        farthest=norms(w),
        optimum=w,
        least=least,
        constants=[],
    )
    course.constants = theorem.constants(course, federation, slopes)
    return course


def _slopes(method: Linearized, parts: RowParts, w: Array) -> Array:
    """Gradient of each agent's loss at a model, without the penalty, shape (B, S, K, J)."""
    z = np.broadcast_to(w, (len(parts.n_samples), *w.shape)).copy()
    n = parts.whole.n_samples if method.mean_over == "all" else parts.n_samples
    return parts.gradient(z, mean_over=n).value


def _suboptimality(whole: BoundRows, w: Array, slope: Array) -> Array:
    """Bound ``F(w) - min F`` over W, shape (S,): by the linear lower bound at w, or by strong convexity."""
    weight, axes, W = whole.total_strength, (1, 2), whole.feasible
    known, curved = (slope * w).sum(axis=axes), np.full(len(w), np.inf)
    if not whole.penalty.smooth:
        known += weight * whole.penalty.value(w)
        slope = np.sign(slope) * np.maximum(np.abs(slope) - weight, 0)
    elif weight:
        slope = slope + weight * whole.penalty.gradient(w)
        known, curved = (slope * w).sum(axis=axes), norms(slope) ** 2 / (2 * weight)
    return curved if W is None else np.minimum(known + W.support(slope), curved)


@dataclass(frozen=True)
class Followed(Strategy):
    """Strategy that sums up what a proof says of each update, beside what another one computes."""

    inner: Strategy
    theorem: Theorem
    course: Course

    def update(
        self,
        fused: Pass,
        sub: Subproblem,
        gradient: Gradient,
        draw: Draw | None,
        schedule: Mapping[str, Array | float],
        strength: float,
        share: float,
    ) -> None:
        """See `Strategy`; noise is added to the gradient here, where it can be seen."""
        course, theorem, p, before = self.course, self.theorem, sub.agents, sub.z.copy()
        penalty = strength * sub.parts.whole.penalty.gradient(before)
        slope = gradient.value + penalty
        inverse_eta = np.asarray(schedule["inverse_eta"])
        noise = np.zeros_like(before)
        if draw is not None and fused.noise == "gradient":
            noise = (gradient.value + draw) - gradient.value
        elif draw is not None:
            ascends = fused.order == "agents" and fused.flags()["first"]
            dual = dual_ascent(sub.dual, sub.rho_dual, sub.w, sub.sent) if ascends else sub.dual
            stiffness = factors(np.broadcast_to(inverse_eta, before.shape[:2]), before)
            given = before, sub.w, dual, sub.rho, stiffness
            found = np.asarray(proximal_step(slope, *given))  # type: ignore[arg-type]
            noise = -(sub.rho + stiffness) * ((found + draw) - found)
        seen = Gradient(gradient.value + noise, gradient.bound)
        self.inner.update(replace(fused, noise=None), sub, seen, None, schedule, strength, share)
        axes, away = (2, 3), course.optimum - before
        step = Step(
            noise=(noise**2).sum(axis=axes),
            slope=((slope + noise) ** 2).sum(axis=axes),
            product=(noise * away).sum(axis=axes),
            before=(away**2).sum(axis=axes),
            after=((course.optimum - sub.z) ** 2).sum(axis=axes),
            inverse_eta=inverse_eta,
            L=theorem.smoothness(sub.parts),
            alpha=sub.parts.whole.penalty_curvature,
        )
        course.drawn[p] += theorem.weight(sub.t) * share * theorem.drawn(step)


@parameters
class OfTheorems(Linearized):
    """Theorems speak of these methods: linearised consensus ADMM.

    Parameters
    ----------
    average
        One of these theorems: models are averaged as it says, and both sides of it are measured.

    Attributes
    ----------
    theorems
        By their names.
    """

    theorems: ClassVar[Mapping[str, Theorem]]

    average: str | None = None

    def averaged(self, problem: Problem) -> Theorem | None:
        """Return the theorem whose averages are kept: the one that is asked for."""
        return self.theorems[self.average] if self.average else None

    @property
    def state_copies(self) -> int:  # type: ignore[override]
        """The sum of the local models is one more."""
        return super().state_copies + bool(self.average)

    @property
    def needs(self) -> tuple[Need, ...]:
        """What the theorem that is asked for needs."""
        return self.theorems[self.average].needs if self.average else ()

    def check(self, problem: Problem, agents: int) -> None:
        """A theorem supposes its step size, perhaps a compact W, and that records or agents count alike."""
        super().check(problem, agents)
        if self.average is None:
            return
        theorem, divided = self.theorems[self.average], "records"
        if self.mean_over == "own":
            divided = "agents"
        assert isinstance(problem, Rows)
        if theorem.compact and problem.feasible is None:
            raise ValueError("average: theorems are about a compact W; set problem.feasible")
        if problem.average != divided:
            raise ValueError(f"average: the theorems are about problem.average: {divided}")
        wanted = {**theorem.supposes, "a": 1, "variant": "paper"}
        if any(getattr(self, name) != value for name, value in wanted.items()):
            text = ", ".join(f"{name}: {value}" for name, value in wanted.items())
            raise ValueError(f"average: {self.average} supposes {text}")

    @property
    def variables(self) -> Mapping[str, tuple[str, str]]:
        """Both sides of the theorem that is asked for."""
        return self.theorems[self.average].variables if self.average else {}

    @property
    def evaluated(self) -> Collection[str]:
        """Name all of them."""
        return self.variables

    def init(self, federation: RowFederation) -> ConsensusState:
        """All variables start at zero; a theorem needs the optimum."""
        state = super().init(federation)
        theorem = self.averaged(federation.problem.problem)
        if theorem is None:
            return state
        sums = np.zeros(state.w.shape), np.zeros(state.z.shape)
        summed = Averaged(**vars(state), w_sum=sums[0], z_sum=sums[1])
        return start(theorem, self, summed, federation) if self.average else summed

    def round(self, t: int, state: ConsensusState, federation: RowFederation) -> Messages:  # type: ignore[override]
        """See `Consensus.round`; where a theorem is asked for, its sums follow."""
        theorem = self.averaged(federation.problem.problem)
        if theorem is None:
            return super().round(t, state, federation)
        assert isinstance(state, Averaged)
        weight, E = theorem.weight(t), self.updates
        if theorem.before:  # the mean of all iterates but the last, with the one before them
            state.z_sum += weight / E * state.iterates
        if isinstance(state, Course):
            sent = self._followed(t, state, theorem, federation)
        else:
            sent = super().round(t, state, federation)
        state.w_sum += weight * state.w
        if not theorem.before:
            state.z_sum += weight * state.z
        elif E > 1:
            state.z_sum += weight * (state.z - state.iterates / E)
        return sent

    def _followed(
        self, t: int, course: Course, theorem: Theorem, federation: RowFederation
    ) -> Messages:
        """Do a round, and sum up what the proof says of it: (38c) of ryu2022, at the multiplier 0."""
        last, rho = (self.rho(max(when, 1), federation.privacy.epsilon) for when in (t - 1, t))
        if against := theorem.against(t, rho, last):
            raise ValueError(f"rho: {against}")
        away, dual = course.distances(self.order, last)
        followed = Followed(federation.strategy, theorem, course)
        sent = super().round(t, course, replace(federation, strategy=followed))
        away_now, dual_now = course.distances(self.order, rho)
        change = rho / 2 * (away_now - away) + (dual_now - dual) / (2 * rho)
        course.drawn -= theorem.weight(t) * change
        course.largest = np.maximum(course.largest, np.sqrt(dual_now.sum(axis=0)))
        course.farthest = np.maximum(course.farthest, norms(course.optimum - course.z).max(axis=0))
        return sent

    def measure(self, t: int, state: ConsensusState, federation: RowFederation) -> dict[str, Array]:  # type: ignore[override]
        """Both sides of the theorem that is asked for."""
        found = super().measure(t, state, federation)
        if not isinstance(state, Course):
            return found
        theorem = self.theorems[str(self.average)]
        return {
            **found,
            **theorem.sides(t, self, state, federation),
            "theorem_drawn_right": state.drawn.sum(axis=0) / theorem.total(t),
            "theorem_dual": state.largest,
        }
