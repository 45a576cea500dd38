"""Lemma 4 of hu2019, from which its theorems 1 and 2 follow: both sides, and the assumptions.

docs/methods/theorems.md says what holds, and with which modulus lemma 4 does.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from admmbench.base.observers import Observer
from admmbench.base.sharing import SharingState
from admmbench.base.types import Array, ColumnFederation

# Of a sum of many terms in double precision.
_ROUNDING = 2.0**-44


@dataclass
class Course:
    """Quantities of both sides of the inequalities, for S seeds and M parties."""

    printed: Array
    """``gamma_m(rho) / 2 - sigma_max(D_m^T D_m)``, shape (M,)."""
    repaired: Array
    """``(gamma_m(rho) - (M - 1) rho sigma_max(D_m^T D_m)) / 2``, shape (M,)."""
    curvature: float
    """``gamma(rho) / 2 - L^2 / rho``."""
    x: list[Array]
    """Models that the round begins with, see `SharingState`."""
    z: Array
    lagrangian: Array
    """(5) after the last round, shape (S,)."""
    sides: Array
    """Those of the last round, in the order of `Lemma4.variables`, shape (3, S)."""


class Lemma4(Observer):
    """Both sides of lemma 4."""

    variables = {
        "lemma4_left": ("1", "least fall of the augmented Lagrangian in the round by lemma 4"),
        "lemma4_repaired": ("1", "the same with (M - 1) rho in place of 2"),
        "lemma4_right": ("1", "fall of the augmented Lagrangian in the round"),
    }
    memory: Course

    def begin(self, state: SharingState, federation: ColumnFederation) -> None:
        """Find the constants before the first round.

        Raises
        ------
        ValueError
            If the run does not meet assumption 1, or is not in double precision.
        """
        problem, rho = federation.problem, self.method.rho
        L = problem.loss.curvature_bound
        if problem.dtype != np.float64 or self.method.coupling != "parallel":
            raise ValueError(
                "theorems: they are about coupling: parallel and exact numbers; set dtype: float64"
            )
        eigenvalues = federation.each(
            lambda block: np.linalg.eigvalsh(block.parts.D.T @ block.parts.D)
        )
        low, high = (np.array([values[k] for values in eigenvalues]) for k in (0, -1))
        # The loss may be linear somewhere, so that gamma(rho) is rho.
        modulus = problem.weight * problem.penalty.curvature + rho * low
        met = (modulus >= 2 * high).all() and rho**2 > 2 * L**2 and rho >= L and (low > 0).all()
        if not met:
            raise ValueError(
                f"theorems: assumption 1 is not met: gamma_m(rho) is {modulus.min():.3g} or more, 2 sigma_max up to "
                f"{2 * high.max():.3g} (raise problem.strength); and rho^2 > 2 L^2, L = {L:.3g}, and columns of full "
                "rank"
            )
        self.memory = Course(
            printed=modulus / 2 - high,
            repaired=(modulus - (len(eigenvalues) - 1) * rho * high) / 2,
            curvature=rho / 2 - L**2 / rho,
            x=list(state.x),
            z=state.z,
            lagrangian=self.lagrangian(state, federation),
            sides=np.zeros((3, problem.n_seeds)),
        )

    def lagrangian(self, state: SharingState, federation: ColumnFederation) -> Array:
        """Return (5) for the loss as a sum, shape (S,)."""
        problem = federation.problem
        gap = state.predictions.sum(axis=0) - state.z
        penalties = np.sum([problem.penalty.value(each[:, None]) for each in state.x], axis=0)
        value = problem.loss.value(state.z, problem.y).sum(axis=1) + problem.weight * penalties
        value += (state.dual * gap).sum(axis=1) + self.method.rho / 2 * np.square(gap).sum(axis=1)
        return np.asarray(value)

    def before_round(self, t: int, state: SharingState, federation: ColumnFederation) -> None:
        """Keep the models that the round begins with."""
        self.memory.x, self.memory.z = list(state.x), state.z

    def after_round(self, t: int, state: SharingState, federation: ColumnFederation) -> None:
        """Compare the augmented Lagrangian with that of the round before."""
        course, now = self.memory, self.lagrangian(state, federation)
        pairs = zip(state.x, course.x, strict=True)
        steps = np.array([np.square(new - old).sum(axis=1) for new, old in pairs])
        moved = course.curvature * np.square(state.z - course.z).sum(axis=1)
        # What is lost in the difference of two large numbers is no violation.
        lost = _ROUNDING * (np.abs(now) + np.abs(course.lagrangian))
        least = [each @ steps + moved for each in (course.printed, course.repaired)]
        course.sides = np.array([*least, course.lagrangian - now + lost])
        course.lagrangian = now

    def measure(
        self, t: int, state: SharingState, federation: ColumnFederation
    ) -> dict[str, Array]:
        """Return both sides of the last round."""
        return dict(zip(self.variables, self.memory.sides, strict=True))
