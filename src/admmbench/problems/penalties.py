"""Penalties R of a model: ``||w||_1``, and ``||w||_2^2 / 2``."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

PenaltyName = Literal["l1", "l2"]


class L1:
    """l1 norm ``||w||_1``."""

    smooth: ClassVar[bool] = False
    """Whether the penalty has a gradient everywhere."""
    curvature: ClassVar[float] = math.inf
    """Bound on the second derivative; infinite without a bound."""

    def value(self, w: Array) -> Array:
        """Return the sum of the absolute entries, float64, for models of shape (..., K, J)."""
        return np.abs(w).sum(axis=(-2, -1), dtype=np.float64)

    @staticmethod
    def gradient(w: Array) -> Array:
        """Return the signs, a subgradient: an equation of numbers, which is compiled too."""
        return np.sign(w)

    def gradient_bound(self, size: int) -> float:
        """Return a bound on the l2 norm of subgradients for so many entries: the norm of a vector of signs."""
        return math.sqrt(size)

    def prox(self, v: Array, step: Array | float) -> Array:
        """Minimise ``step R(w) + ||w - v||^2 / 2``: entries shrink towards 0 by the step, soft thresholding."""
        return np.sign(v) * np.maximum(np.abs(v) - np.asarray(step, v.dtype), 0)


class L2:
    """Half the squared l2 norm, ``||w||_2^2 / 2``."""

    smooth: ClassVar[bool] = True
    curvature: ClassVar[float] = 1.0

    def value(self, w: Array) -> Array:
        """Return half the sum of the squared entries."""
        return np.square(w, dtype=np.float64).sum(axis=(-2, -1)) / 2

    @staticmethod
    def gradient(w: Array) -> Array:
        """Return the model itself."""
        return w

    def gradient_bound(self, size: int) -> float:
        """Return infinity: gradients have no bound."""
        return math.inf

    def prox(self, v: Array, step: Array | float) -> Array:
        """Shrink the model by a factor."""
        return v / np.asarray(1 + step, v.dtype)


Penalty = L1 | L2
PENALTIES: dict[PenaltyName, Penalty] = {"l1": L1(), "l2": L2()}
