"""What theorems 2, 3 and 4 of ryu2022 say of a run, and theorem 2 of ryu2021: both sides of their inequalities.

The left side is ``F(z^(T)) - F(z*) + gamma ||A w^(T) - z^(T)||`` at averages of the models; a theorem bounds its
expectation by constants of the problem. Both are known for a run over a compact set W. Before it takes expectations and
maxima, each proof has an inequality for the run as drawn; its right side is summed up beside the averages, at the
multiplier 0. docs/methods/theorems.md derives everything.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, NamedTuple

import numpy as np

from admmbench.frames.base import UNIT_OF_LOSS, Array, RowBlock, RowFederation, norms
from admmbench.frames.consensus import ConsensusState, Subproblem
from admmbench.frames.local_update import Pass, Strategy
from admmbench.privacy import Draw
from admmbench.problems.base import Gradient
from admmbench.problems.rows import BoundRows, RowParts

Average = Literal["theorem2", "theorem3", "theorem4"]
# The optimum must be known so well.
_PRECISION = 1e-8

VARIABLES: Mapping[str, tuple[str, str]] = {
    "theorem_left": (UNIT_OF_LOSS, "left side of the theorem, at the averages of this run"),
    "theorem_right": (UNIT_OF_LOSS, "right side as printed, constants at most"),
    "theorem_right_least": (UNIT_OF_LOSS, "right side as printed, constants at least"),
    "theorem_repaired": (UNIT_OF_LOSS, "right side with sqrt(P) U_2, constants at most"),
    "theorem_repaired_least": (UNIT_OF_LOSS, "right side with sqrt(P) U_2, constants at least"),
    "theorem_drawn_left": (UNIT_OF_LOSS, "F(z^(T)) - F(z*) of this run"),
    "theorem_drawn_right": (UNIT_OF_LOSS, "its bound in the proof, for this run as drawn"),
    "theorem_dual": (UNIT_OF_LOSS, "largest norm of the dual variables so far"),
}
RYU2021: Mapping[str, tuple[str, str]] = {
    "theorem_ryu2021": (UNIT_OF_LOSS, "right side of (19a) of ryu2021, constants at most"),
    "theorem_ryu2021_least": (UNIT_OF_LOSS, "right side of (19a) of ryu2021, constants at least"),
}


class Constants(NamedTuple):
    """Constants of (14), one number for each seed, shape (S,)."""

    U1: Array
    """Largest norm of an agent's (sub)gradient over W."""
    U2: Array
    """Diameter of W."""
    U3: Array
    """Largest l1 norm, over W, of what one record contributes to a gradient."""

    def stacked(self, agents: int) -> Constants:
        """Return these constants with the diameter of W^P, which the proofs need: the norms are of stacked models."""
        return self._replace(U2=math.sqrt(agents) * self.U2)


class Facts(NamedTuple):
    """What the right side of a theorem is made of, besides the constants."""

    T: int
    P: int
    size: int
    """J K."""
    E: int
    epsilon: float
    first: float
    """rho^1."""
    last: float
    """rho^T, the largest."""
    gamma: Array
    """Shape (S,)."""
    L: Array | float
    alpha: float
    """As of `Step`."""


class Step(NamedTuple):
    """A local update of a block of agents; arrays have shape (B, S)."""

    noise: Array
    """||xi||^2."""
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
    """Smoothness of every f_p, where a theorem needs it; else 0."""
    alpha: float
    """Strong convexity of every f_p."""


class Theorem(ABC):
    """One of the theorems, by its averages, its right side, and the right side of its proof."""

    proximity: ClassVar[str]
    """The eta that it supposes, as the method calls it."""
    before: ClassVar[bool] = True
    """Whether models are averaged as they are before each update, instead of after it."""

    def weight(self, t: int) -> int:
        """Weight of round t in averages, over the sum of weights."""
        return 1

    def total(self, T: int) -> float:
        """Sum of the weights of T rounds."""
        return T

    @abstractmethod
    def right(self, k: Constants, f: Facts) -> Array:
        """Right side, shape (S,); lambda^1 = 0."""

    @abstractmethod
    def drawn(self, s: Step) -> Array:
        """Right side of an update in the proof, before expectations, shape (B, S)."""


class Theorem2(Theorem):
    """Smooth convex f_p: (16a), and (31) summed."""

    proximity = "smooth"
    before = False

    def right(self, k: Constants, f: Facts) -> Array:
        """(16a), (16b)."""
        noisy = (2 * f.P * f.size * k.U3**2 + k.U2**2 / (2 * f.E)) / (f.epsilon * math.sqrt(f.T))
        rest = k.U2**2 * (f.last + f.L / f.E) + f.gamma**2 / f.first
        return noisy + rest / (2 * f.T)

    def drawn(self, s: Step) -> Array:
        """(31), by Young's inequality with 1 / eta - L."""
        spare = s.inverse_eta - s.L
        young = np.divide(s.noise, 2 * spare, out=np.zeros_like(s.noise), where=s.noise > 0)
        return young + s.inverse_eta / 2 * (s.before - s.after) + s.product


class Theorem3(Theorem):
    """Convex f_p: (20a), and (45) summed."""

    proximity = "sqrt"

    def right(self, k: Constants, f: Facts) -> Array:
        """(20a), (20b)."""
        noisy = 2 * f.P * f.size * k.U3**2 / f.epsilon**2 + f.P * k.U1**2 + k.U2**2 / (2 * f.E)
        rest = k.U2**2 * f.last + f.gamma**2 / f.first + 2 * f.gamma * k.U2
        return noisy / math.sqrt(f.T) + rest / (2 * f.T)

    def of_ryu2021(self, k: Constants, f: Facts) -> Array:
        """(19a) of ryu2021: E = 1, and U_2 where (20a) has its square."""
        noisy = f.P * k.U1**2 + 2 * f.P * f.size * k.U3**2 / f.epsilon**2 + k.U2 / 2
        rest = f.gamma * k.U2 + k.U2 * f.last / 2 + f.gamma**2 / (2 * f.first)
        return noisy / math.sqrt(f.T) + rest / f.T

    def drawn(self, s: Step) -> Array:
        """(45); (18) of ryu2021."""
        young = s.slope / (2 * s.inverse_eta)
        return young + s.inverse_eta / 2 * (s.before - s.after) + s.product


class Theorem4(Theorem3):
    """Strongly convex f_p: (23), and (56) summed."""

    proximity = "strong"

    def weight(self, t: int) -> int:
        """See `Theorem`: (54)."""
        return t

    def total(self, T: int) -> float:
        """T (T + 1) / 2."""
        return T * (T + 1) / 2

    def right(self, k: Constants, f: Facts) -> Array:
        """(23)."""
        noisy = 2 * f.P * (k.U1**2 + 2 * f.size * k.U3**2 / f.epsilon**2) / f.alpha
        rest = 2 * k.U2 * f.gamma + k.U2**2 * f.last + 4 * f.gamma**2 / f.first
        return (noisy + rest + f.alpha * k.U2**2 / (2 * f.E)) / (f.T + 1)

    def drawn(self, s: Step) -> Array:
        """(56)."""
        return super().drawn(s) - s.alpha / 2 * s.before


THEOREMS: Mapping[Average, Theorem] = {
    "theorem2": Theorem2(),
    "theorem3": Theorem3(),
    "theorem4": Theorem4(),
}


@dataclass
class Course(ConsensusState):
    """State of a run whose averages are measured; all in double precision."""

    w_sum: Array
    """Weighted sum of the global models, shape (S, K, J)."""
    z_sum: Array
    """Of the local ones, shape (P, S, K, J)."""
    drawn: Array
    """Of the right side as drawn, for each agent, shape (P, S)."""
    largest: Array
    """Largest norm of the dual variables so far, shape (S,)."""
    optimum: Array
    """w*, shape (S, K, J)."""
    least: Array
    """F(z*), shape (S,)."""
    multiplier: Array
    """||lambda*||, shape (S,)."""
    at_most: list[Array]
    at_least: list[Array]
    """What encloses the constants of (14)."""


def start(state: ConsensusState, federation: RowFederation) -> Course:
    """Find the optimum over W, its multipliers and the constants, before the first round.

    Raises
    ------
    ValueError
        If the run is not as the theorems suppose, or its optimum is not found to 1e-8.
    """
    whole, laws = federation.problem, {block.noise.release for block in federation.blocks}
    if whole.dtype != np.float64:
        raise ValueError("average: theorems are about exact numbers; set dtype: float64")
    if any(release and release.law != "laplace" for release in laws):
        raise ValueError("average: the theorems are about Laplace noise")
    w = whole.optimum()
    slopes = np.concatenate(federation.each(lambda block: _slopes(block.parts, w)))
    least = objective(np.broadcast_to(w, state.z.shape), federation).sum(axis=0)
    gap = _suboptimality(whole, w, slopes.sum(axis=0))
    if (gap > _PRECISION).any():
        raise ValueError(f"average: the optimum over W is known to {gap.max():.0e}, not 1e-8")
    ends = [_constants(block.parts) for block in federation.blocks]
    at_most, at_least = (_largest([end[k] for end in ends]) for k in (0, 1))
    return Course(
        **{name: getattr(state, name) for name in ("w", "z", "dual", "chain", "average")},
        w_sum=np.zeros_like(state.w),
        z_sum=np.zeros_like(state.z),
        drawn=np.zeros(state.z.shape[:2]),
        largest=np.zeros(len(w)),
        optimum=w,
        least=least,
        # The penalty's part is the same for all agents.
        multiplier=np.sqrt((norms(slopes - slopes.mean(axis=0)) ** 2).sum(axis=0)),
        at_most=list(at_most),
        at_least=list(at_least),
    )


def objective(z: Array, federation: RowFederation) -> Array:
    """f_p at each agent's model, shape (P, S)."""
    whole = federation.problem

    def of_block(block: RowBlock) -> Array:
        own = z[block.agents]
        penalty: Array = whole.own_strength * whole.penalty.value(own)
        return block.parts.losses(own) / whole.n_samples + penalty

    return np.concatenate(federation.each(of_block))


@dataclass(frozen=True)
class Followed(Strategy):
    """Strategy that sums up averages, and what a proof says of each update, beside what another one computes."""

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
        """See `Strategy`; noise on the gradient is added here, where it can be seen."""
        course, p, whole, before = self.course, sub.agents, sub.parts.whole, sub.z.copy()
        noisy = gradient.value if draw is None else gradient.value + draw
        noise = noisy - gradient.value
        seen = Gradient(noisy, gradient.bound)
        self.inner.update(replace(fused, noise=None), sub, seen, None, schedule, strength, share)
        slope = noisy + strength * whole.penalty.gradient(before)
        axes, away = (2, 3), course.optimum - before
        step = Step(
            noise=(noise**2).sum(axis=axes),
            slope=(slope**2).sum(axis=axes),
            product=(noise * away).sum(axis=axes),
            before=(away**2).sum(axis=axes),
            after=((course.optimum - sub.z) ** 2).sum(axis=axes),
            inverse_eta=np.asarray(schedule["inverse_eta"]),
            L=whole.smoothness if self.theorem.proximity == "smooth" else 0.0,
            alpha=whole.penalty_curvature,
        )
        weight = self.theorem.weight(sub.t)
        course.drawn[p] += weight * self.theorem.drawn(step) * share
        course.z_sum[p] += weight * share * (before if self.theorem.before else sub.z)


def after_round(
    t: int, course: Course, theorem: Theorem, rho: float, then: tuple[Array, Array]
) -> None:
    """Sum up what a proof says of a round besides its updates: (38c), at the multiplier 0.

    Parameters
    ----------
    t, course, theorem
        Of the run.
    rho
        Penalty parameter of the round.
    then
        What `distances` returned before the round.
    """
    weight, now = theorem.weight(t), distances(course)
    course.w_sum += weight * course.w
    course.drawn -= weight * rho / 2 * (now[0] - then[0])
    course.drawn -= weight / (2 * rho) * (now[1] - then[1])
    course.largest = np.maximum(course.largest, np.sqrt(now[1].sum(axis=0)))


def distances(course: Course) -> tuple[Array, Array]:
    """``||z* - z_p||^2`` of what agents sent last, and ``||lambda_p||^2``, shape (P, S)."""
    return norms(course.optimum - course.z) ** 2, norms(course.dual) ** 2


def sides(
    theorem: Theorem, course: Course, facts: Facts, federation: RowFederation
) -> dict[str, Array]:
    """Both sides after a round, by the names of variables; arrays of shape (S,)."""
    total = theorem.total(facts.T)
    w, z = course.w_sum / total, course.z_sum / total
    gap = objective(z, federation).sum(axis=0) - course.least
    apart = np.sqrt((norms(w - z) ** 2).sum(axis=0))
    most, least = Constants(*course.at_most), Constants(*course.at_least)
    found = {
        "theorem_left": gap + facts.gamma * apart,
        "theorem_right": theorem.right(most, facts),
        "theorem_right_least": theorem.right(least, facts),
        "theorem_repaired": theorem.right(most.stacked(facts.P), facts),
        "theorem_repaired_least": theorem.right(least.stacked(facts.P), facts),
        "theorem_drawn_left": gap,
        "theorem_drawn_right": course.drawn.sum(axis=0) / total,
        "theorem_dual": course.largest,
    }
    if isinstance(theorem, Theorem3) and not isinstance(theorem, Theorem4):
        found["theorem_ryu2021"] = theorem.of_ryu2021(most, facts)
        found["theorem_ryu2021_least"] = theorem.of_ryu2021(least, facts)
    return found


def _slopes(parts: RowParts, w: Array) -> Array:
    """Gradient of each agent's loss at a model, without the penalty, shape (B, S, K, J)."""
    z = np.broadcast_to(w, (len(parts.n_samples), *w.shape)).copy()
    return parts.gradient(z, mean_over=parts.whole.n_samples).value


def _suboptimality(whole: BoundRows, w: Array, slope: Array) -> Array:
    """Bound ``F(w) - min F`` over W, shape (S,): by the linear lower bound at w, or by strong convexity."""
    assert whole.feasible is not None
    weight, axes = whole.total_strength, (1, 2)
    if not whole.penalty.smooth:
        beyond = np.sign(slope) * np.maximum(np.abs(slope) - weight, 0)
        own = (slope * w).sum(axis=axes) + weight * whole.penalty.value(w)
        return np.asarray(own + whole.feasible.support(beyond))
    slope = slope + weight * whole.penalty.gradient(w)
    linear = (slope * w).sum(axis=axes) + whole.feasible.support(slope)
    curved = norms(slope) ** 2 / (2 * weight) if weight else np.inf
    return np.minimum(linear, curved)


def _constants(parts: RowParts) -> tuple[Constants, Constants]:
    """Enclose the constants of (14), each agent's part of them, shape (B, S): from above, and from below.

    From below by their values at 0 and at the end of W uphill of it, from above by suprema over all models.
    """
    whole = parts.whole
    W, penalty, s = whole.feasible, whole.penalty, whole.own_strength
    assert W is not None
    zero = np.zeros((len(parts.n_samples), whole.n_seeds, *whole.model_shape))
    first = parts.gradient(zero, mean_over=whole.n_samples)
    uphill = W.farthest(first.value)
    last = parts.gradient(uphill, mean_over=whole.n_samples)
    slope = norms(last.value + s * penalty.gradient(uphill))
    size = W.largest_norm(whole.size)
    steepest = penalty.gradient_bound(whole.size) if not penalty.smooth else size
    U1 = parts.slope_bound / whole.n_samples + s * steepest
    if penalty.smooth:
        U1 = np.minimum(U1, norms(first.value) + parts.smoothness * size)
    U2 = np.full_like(U1, W.diameter(whole.size))
    l1 = [np.asarray(each.sensitivity.l1) for each in (first, last)]
    most = Constants(U1, U2, parts.contribution_bound / whole.n_samples)
    return most, Constants(np.maximum(norms(first.value), slope), U2, np.maximum(*l1))


def _largest(of_blocks: list[Constants]) -> Constants:
    """The largest of all agents, shape (S,)."""
    return Constants(*(np.concatenate(each).max(axis=0) for each in zip(*of_blocks, strict=True)))
