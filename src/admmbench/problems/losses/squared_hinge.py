"""Squared hinge loss: the smooth form of the support vector machine's."""

from __future__ import annotations

import math

import numpy as np

from admmbench.problems.loss import Array, BinaryLoss
from admmbench.validation import parameters


@parameters
class SquaredHinge(BinaryLoss):
    """Loss ``max(0, 1 - y u)^2`` for ``y = +-1``."""

    derivative_bound = math.inf
    curvature_bound = 2.0

    def value(self, u: Array, y: Array) -> Array:
        """Return ``max(0, 1 - y u)^2``."""
        return np.square(np.maximum(1 - y * u, 0))

    def derivative(self, u: Array, y: Array) -> Array:
        """Return ``-2 y max(0, 1 - y u)``."""
        return -2 * y * np.maximum(1 - y * u, 0)

    def curvature(self, u: Array, y: Array) -> Array:
        """Return 2 within the margin, else 0."""
        return np.where(y * u < 1, 2.0, 0.0)
