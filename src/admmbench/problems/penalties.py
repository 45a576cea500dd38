"""Penalties R of a model: ||w||_1, and ||w||_2^2 / 2."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

PenaltyName = Literal["l1", "l2"]


class Penalty(Protocol):
    """A convex function of a model; models have shape (..., K, J)."""

    smooth: ClassVar[bool]
    """Whether it has a gradient everywhere."""
    curvature: ClassVar[float]
    """Bound on the second derivative; infinite where there is none."""

    def value(self, w: Array) -> Array:
        """R of each model, float64, shape (...)."""

    @staticmethod
    def gradient(w: Array) -> Array:
        """Gradient, or a subgradient: an equation between numbers, which is compiled too."""

    def gradient_bound(self, size: int) -> float:
        """Bound on the l2 norm of subgradients, for models with so many entries."""

    def prox(self, v: Array, step: Array) -> Array:
        """Minimiser of step R(w) + ||w - v||^2 / 2."""


class L1:
    """||w||_1."""

    smooth: ClassVar[bool] = False
    curvature: ClassVar[float] = math.inf

    def value(self, w: Array) -> Array:
        """Sum of the absolute entries."""
        return np.abs(w).sum(axis=(-2, -1), dtype=np.float64)

    @staticmethod
    def gradient(w: Array) -> Array:
        """Signs."""
        return np.sign(w)

    def gradient_bound(self, size: int) -> float:
        """Norm of a vector of signs."""
        return math.sqrt(size)

    def prox(self, v: Array, step: Array) -> Array:
        """Soft thresholding."""
        return np.sign(v) * np.maximum(np.abs(v) - step.astype(v.dtype), 0)


class L2:
    """||w||_2^2 / 2."""

    smooth: ClassVar[bool] = True
    curvature: ClassVar[float] = 1.0

    def value(self, w: Array) -> Array:
        """Half the sum of the squared entries."""
        return np.square(w, dtype=np.float64).sum(axis=(-2, -1)) / 2

    @staticmethod
    def gradient(w: Array) -> Array:
        """The model itself."""
        return w

    def gradient_bound(self, size: int) -> float:
        """There is none."""
        return math.inf

    def prox(self, v: Array, step: Array) -> Array:
        """Shrinkage."""
        return v / (1 + step).astype(v.dtype)


PENALTIES: dict[PenaltyName, Penalty] = {"l1": L1(), "l2": L2()}
