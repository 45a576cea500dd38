"""Theorems 3 and 4 of huang2019: their right sides."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping

import numpy as np

from admmbench.base.averages import objective
from admmbench.base.output_perturbation import OutputPerturbation
from admmbench.base.types import Array, RowBlock, RowFederation
from admmbench.privacy import Privacy
from admmbench.problems.rows import RowParts
from admmbench.theorems.linearized import Theorem


class OfHuang2019(Theorem):
    """Theorems with Gaussian noise, beta = rho, and c_w that of the step size; W may be everything."""

    compact = False
    law = "gaussian"
    variables = {
        **{name: Theorem.variables[name] for name in Theorem.variables if "least" not in name},
        "theorem_farthest": ("1", "largest distance of a local model from w* so far"),
    }

    def against(self, t: int, rho: float, last: float) -> str:
        """Rho is one number."""
        return "" if rho == last else "the theorems are about one that is constant"

    def smoothness(self, parts: RowParts) -> Array | float:
        """Return ``c3 + (lambda / n) c4`` of f_i, from an agent's records."""
        return parts.objective.curvature if self.smooth else 0.0

    def constants(self, federation: RowFederation, gradients: Array) -> list[Array]:
        """None: those of the step size are all."""
        return []

    @abstractmethod
    def right(self, t: int, c_w: float, rho: float, parts: RowParts, privacy: Privacy) -> Array:
        """Return the part of each agent in the right side, shape (B, S)."""

    def sides(self, t: int, federation: RowFederation) -> dict[str, Array]:
        """See `Theorem`; the distance is the sum over agents."""
        method, privacy, whole = self.method, federation.privacy, federation.problem
        assert isinstance(method, OutputPerturbation)
        rho, c_w = method.rho(t, privacy.epsilon), method.norm_of_optimum(whole.size)

        def of_block(block: RowBlock) -> Array:
            return self.right(t, c_w, rho, block.parts, privacy).sum(axis=0)

        z, apart = self.means(t)
        gap = objective(z, federation).sum(axis=0) - self.memory.least
        return {
            "theorem_left": gap + rho * apart.sum(axis=0),
            "theorem_right": np.sum(federation.each(of_block), axis=0),
            "theorem_drawn_left": gap,
            "theorem_farthest": self.memory.farthest,
        }


def _noise(parts: RowParts, privacy: Privacy) -> Array:
    """``d p ln(1.25 / delta) c1^2 / (n_i epsilon)^2``, where n_i divides the sum of losses, shape (B, S)."""
    size, n = parts.whole.size, parts.objective.divisor
    found: Array = size * math.log(1.25 / privacy.delta) * (parts.gradient_bound / n) ** 2
    return found / privacy.epsilon**2


class Theorem3(OfHuang2019):
    """Theorem on convex f_i: (32), and (28) summed."""

    def right(self, t: int, c_w: float, rho: float, parts: RowParts, privacy: Privacy) -> Array:
        """Return the part of each agent: (30), (31)."""
        gradient_bound = (
            parts.objective.weight * parts.gradient_bound + parts.whole.penalty_gradient_bound
        )
        M1 = c_w * np.sqrt(2 * gradient_bound**2 + 16 * _noise(parts, privacy))
        M2 = rho * (c_w**2 + 1) / 2
        return np.asarray(M1 / math.sqrt(t) + M2 / t)


class Theorem4(OfHuang2019):
    """Theorem on smooth convex f_i: (37), and (33) summed."""

    before = False
    smooth = True

    def right(self, t: int, c_w: float, rho: float, parts: RowParts, privacy: Privacy) -> Array:
        """Return the part of each agent: (35), (36)."""
        M3 = 4 * c_w * np.sqrt(_noise(parts, privacy))
        M4 = (c_w**2 * (self.smoothness(parts) + rho) + rho) / 2
        return np.asarray(M3 / math.sqrt(t) + M4 / t)


THEOREMS: Mapping[str, type[Theorem]] = {"theorem3": Theorem3, "theorem4": Theorem4}
