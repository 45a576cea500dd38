"""Lemma 4 of hu2019, from which its theorems 1 and 2 follow: both sides, and the assumptions.

docs/methods/theorems.md says what holds, and with which modulus lemma 4 does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from admmbench.base.types import Array, ColumnFederation

if TYPE_CHECKING:
    from admmbench.base.sharing import Sharing
    from admmbench.base.types import SharingState

# Of a sum of many terms in double precision.
_ROUNDING = 2.0**-44

VARIABLES = {
    "lemma4_left": ("1", "least fall of the augmented Lagrangian in the round by lemma 4"),
    "lemma4_repaired": ("1", "the same with (M - 1) rho in place of 2"),
    "lemma4_right": ("1", "fall of the augmented Lagrangian in the round"),
}


@dataclass
class Course:
    """What both sides are made of, for S seeds and M parties."""

    printed: Array
    """``gamma_m(rho) / 2 - sigma_max(D_m^T D_m)``, shape (M,)."""
    repaired: Array
    """``(gamma_m(rho) - (M - 1) rho sigma_max(D_m^T D_m)) / 2``, shape (M,)."""
    z: float
    """``gamma(rho) / 2 - L^2 / rho``."""
    lagrangian: Array
    """(5) after the last round, shape (S,)."""
    sides: Array
    """Those of the last round, in the order of `VARIABLES`, shape (3, S)."""


def start(method: Sharing, state: SharingState, federation: ColumnFederation) -> Course:
    """Find the constants before the first round.

    Raises
    ------
    ValueError
        If the run does not meet assumption 1, or is not in double precision.
    """
    problem, rho, L = federation.problem, method.rho, federation.problem.loss.curvature_bound
    if problem.dtype != np.float64 or method.coupling != "parallel":
        raise ValueError(
            "theorems: they are about coupling: parallel and exact numbers; set dtype: float64"
        )
    own = federation.each(lambda block: np.linalg.eigvalsh(block.parts.D.T @ block.parts.D))
    low, high = (np.array([each[k] for each in own]) for k in (0, -1))
    # The loss may be linear somewhere, so that gamma(rho) is rho.
    modulus = problem.weight * problem.penalty.curvature + rho * low
    if not ((modulus >= 2 * high).all() and rho**2 > 2 * L**2 and rho >= L and (low > 0).all()):
        raise ValueError(
            f"theorems: assumption 1 is not met: gamma_m(rho) is {modulus.min():.3g} or more, 2 sigma_max up to "
            f"{2 * high.max():.3g} (raise problem.strength); and rho^2 > 2 L^2, L = {L:.3g}, and columns of full rank"
        )
    return Course(
        printed=modulus / 2 - high,
        repaired=(modulus - (len(own) - 1) * rho * high) / 2,
        z=rho / 2 - L**2 / rho,
        lagrangian=lagrangian(method, state, federation),
        sides=np.zeros((3, problem.n_seeds)),
    )


def lagrangian(method: Sharing, state: SharingState, federation: ColumnFederation) -> Array:
    """Return (5) for the loss as a sum, shape (S,)."""
    problem = federation.problem
    gap = state.predictions.sum(axis=0) - state.z
    penalties = np.sum([problem.penalty.value(each[:, None]) for each in state.x], axis=0)
    found = problem.loss.value(state.z, problem.y).sum(axis=1) + problem.weight * penalties
    found += (state.dual * gap).sum(axis=1) + method.rho / 2 * np.square(gap).sum(axis=1)
    return np.asarray(found)


def follow(
    method: Sharing, state: SharingState, federation: ColumnFederation, x: list[Array], z: Array
) -> None:
    """Look at a round that began with the models x and z."""
    course = state.course
    assert course is not None
    now = lagrangian(method, state, federation)
    pairs = zip(state.x, x, strict=True)
    steps = np.array([np.square(new - old).sum(axis=1) for new, old in pairs])
    moved = course.z * np.square(state.z - z).sum(axis=1)
    # What is lost in the difference of two large numbers is no violation.
    lost = _ROUNDING * (np.abs(now) + np.abs(course.lagrangian))
    least = [each @ steps + moved for each in (course.printed, course.repaired)]
    course.sides = np.array([*least, course.lagrangian - now + lost])
    course.lagrangian = now
