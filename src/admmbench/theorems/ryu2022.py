"""Theorems 2, 3 and 4 of ryu2022, and theorem 2 of ryu2021: their constants and right sides."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from admmbench.base.averages import objective
from admmbench.base.types import UNIT_OF_LOSS, Array, RowFederation, norms
from admmbench.problems.rows import RowParts
from admmbench.theorems.linearized import Course, Step, Theorem


class Constants(NamedTuple):
    """Constants of (14) of ryu2022, one number for each seed, shape (S,)."""

    U1: Array
    """Largest norm of an agent's (sub)gradient over W."""
    U2: Array
    """Diameter of W."""
    U3: Array
    """Largest l1 norm, over W, of what one record contributes to a gradient."""

    def stacked(self, agents: int) -> Constants:
        """Return these constants with the diameter of W^P, which the proofs need: the norms are of stacked models."""
        return self._replace(U2=math.sqrt(agents) * self.U2)


class BoundTerms(NamedTuple):
    """Terms of the right side of a theorem of ryu2022, besides the constants."""

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


class OfRyu2022(Theorem):
    """Theorems 2, 3 and 4 of ryu2022, and theorem 2 of ryu2021, over W with Laplace noise."""

    law = "laplace"
    variables = {
        **Theorem.variables,
        "theorem_repaired": (UNIT_OF_LOSS, "right side with sqrt(P) U_2, constants at most"),
        "theorem_repaired_least": (UNIT_OF_LOSS, "right side with sqrt(P) U_2, constants at least"),
    }

    @abstractmethod
    def right(self, k: Constants, f: BoundTerms) -> Array:
        """Return the right side, shape (S,); lambda^1 = 0."""

    def smoothness(self, parts: RowParts) -> Array | float:
        """Return the largest of all agents."""
        return parts.whole.smoothness if self.smooth else 0.0

    def constants(self, federation: RowFederation, gradients: Array) -> list[Array]:
        """Return ``||lambda*||``, and those of (14) from above and from below."""
        ends = [_constants(block.parts) for block in federation.blocks]
        # The penalty's part is the same for all agents.
        multiplier = np.sqrt((norms(gradients - gradients.mean(axis=0)) ** 2).sum(axis=0))
        return [multiplier, *(each for k in (0, 1) for each in _largest([end[k] for end in ends]))]

    def gamma(self, multiplier: Array, course: Course) -> Array:
        """Return the smallest of assumption 1 (ii)."""
        return 2 * multiplier

    def sides(self, t: int, federation: RowFederation) -> dict[str, Array]:
        """See `Theorem`; the distance is that of stacked models."""
        course, method = self.memory, self.method
        multiplier, *ends = course.constants
        whole, epsilon = federation.problem, federation.privacy.epsilon
        facts = BoundTerms(
            T=t,
            P=whole.n_agents,
            size=whole.size,
            E=method.updates,
            epsilon=epsilon,
            first=method.rho(1, epsilon),
            last=method.rho(t, epsilon),
            gamma=self.gamma(multiplier, course),
            L=whole.smoothness if self.smooth else 0.0,
            alpha=whole.penalty_curvature,
        )
        z, apart = self.means(t)
        gap = objective(z, federation).sum(axis=0) - course.least
        most, least = Constants(*ends[:3]), Constants(*ends[3:])
        return {
            "theorem_left": gap + facts.gamma * np.sqrt((apart**2).sum(axis=0)),
            "theorem_right": self.right(most, facts),
            "theorem_right_least": self.right(least, facts),
            "theorem_repaired": self.right(most.stacked(facts.P), facts),
            "theorem_repaired_least": self.right(least.stacked(facts.P), facts),
            "theorem_drawn_left": gap,
            **self.more(most, least, facts),
        }

    def more(self, most: Constants, least: Constants, facts: BoundTerms) -> dict[str, Array]:
        """Return right sides of other papers."""
        return {}


class Theorem2(OfRyu2022):
    """Theorem on smooth convex f_p: (16a), and (31) summed."""

    supposes = {"proximity": "smooth"}
    before = False
    smooth = True

    def right(self, k: Constants, f: BoundTerms) -> Array:
        """Return (16a), (16b)."""
        noisy = (2 * f.P * f.size * k.U3**2 + k.U2**2 / (2 * f.E)) / (f.epsilon * math.sqrt(f.T))
        rest = k.U2**2 * (f.last + f.L / f.E) + f.gamma**2 / f.first
        return noisy + rest / (2 * f.T)


class Theorem3(OfRyu2022):
    """Theorem on convex f_p: (20a), and (45) summed; with one local update, theorem 2 of ryu2021."""

    supposes = {"proximity": "sqrt"}
    variables = {
        **OfRyu2022.variables,
        "theorem_ryu2021": (UNIT_OF_LOSS, "right side of (19a) of ryu2021, constants at most"),
        "theorem_ryu2021_least": (
            UNIT_OF_LOSS,
            "right side of (19a) of ryu2021, constants at least",
        ),
    }

    def right(self, k: Constants, f: BoundTerms) -> Array:
        """Return (20a), (20b)."""
        noisy = 2 * f.P * f.size * k.U3**2 / f.epsilon**2 + f.P * k.U1**2 + k.U2**2 / (2 * f.E)
        rest = k.U2**2 * f.last + f.gamma**2 / f.first + 2 * f.gamma * k.U2
        return noisy / math.sqrt(f.T) + rest / (2 * f.T)

    def of_ryu2021(self, k: Constants, f: BoundTerms) -> Array:
        """(19a) of ryu2021: E = 1, and U_2 where (20a) has its square."""
        noisy = f.P * k.U1**2 + 2 * f.P * f.size * k.U3**2 / f.epsilon**2 + k.U2 / 2
        rest = f.gamma * k.U2 + k.U2 * f.last / 2 + f.gamma**2 / (2 * f.first)
        return noisy / math.sqrt(f.T) + rest / f.T

    def more(self, most: Constants, least: Constants, facts: BoundTerms) -> dict[str, Array]:
        """See `OfRyu2022`."""
        return {
            "theorem_ryu2021": self.of_ryu2021(most, facts),
            "theorem_ryu2021_least": self.of_ryu2021(least, facts),
        }


class Theorem4(OfRyu2022):
    """Theorem on strongly convex f_p: (23), and (56) summed."""

    supposes = {"proximity": "strong"}

    def against(self, t: int, rho: float, last: float) -> str:
        """Say what is against assumption 2 (ii)."""
        if t == 1 or rho <= t / (t - 1) * last:
            return ""
        return f"in round {t} it grows faster than assumption 2 (ii) allows"

    def weight(self, t: int) -> int:
        """See `Theorem`: (54)."""
        return t

    def total(self, T: int) -> float:
        """Return T (T + 1) / 2."""
        return T * (T + 1) / 2

    def gamma(self, multiplier: Array, course: Course) -> Array:
        """Return that of assumption 2 (i)."""
        return np.maximum(2 * multiplier, course.largest)

    def right(self, k: Constants, f: BoundTerms) -> Array:
        """Return (23)."""
        noisy = 2 * f.P * (k.U1**2 + 2 * f.size * k.U3**2 / f.epsilon**2) / f.alpha
        rest = 2 * k.U2 * f.gamma + k.U2**2 * f.last + 4 * f.gamma**2 / f.first
        return (noisy + rest + f.alpha * k.U2**2 / (2 * f.E)) / (f.T + 1)

    def drawn(self, s: Step) -> Array:
        """Return (56)."""
        return s.convex() - s.alpha / 2 * s.before


def _constants(parts: RowParts) -> tuple[Constants, Constants]:
    """Enclose the constants of (14), each agent's part of them, shape (B, S): from above, and from below.

    From below by their values at 0 and at the end of W uphill of it, from above by suprema over all models.
    """
    whole, f = parts.whole, parts.objective
    W, penalty, s = whole.feasible, whole.penalty, f.strength
    assert W is not None
    zero = np.zeros((len(parts.n_samples), whole.n_seeds, *whole.model_shape))
    first = f.gradient(zero)
    uphill = W.farthest(first.value)
    last = f.gradient(uphill)
    largest = norms(last.value + s * penalty.gradient(uphill))
    size = W.diameter(whole.size) / 2
    steepest = penalty.gradient_bound(whole.size) if not penalty.smooth else size
    U1 = parts.derivative_bound / f.divisor + s * steepest
    if penalty.smooth:
        U1 = np.minimum(U1, norms(first.value) + parts.smoothness * size)
    U2 = np.full_like(U1, W.diameter(whole.size))
    l1 = [np.asarray(gradient.sensitivity.l1) for gradient in (first, last)]
    most = Constants(U1, U2, parts.contribution_bound / f.divisor)
    return most, Constants(np.maximum(norms(first.value), largest), U2, np.maximum(*l1))


def _largest(of_blocks: list[Constants]) -> Constants:
    """The largest of all agents, shape (S,)."""
    return Constants(*(np.concatenate(each).max(axis=0) for each in zip(*of_blocks, strict=True)))


THEOREMS: Mapping[str, type[Theorem]] = {
    "theorem2": Theorem2,
    "theorem3": Theorem3,
    "theorem4": Theorem4,
}
