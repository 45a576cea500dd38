"""Squared loss: least squares."""

from __future__ import annotations

import math

import numpy as np

from admmbench.problems.loss import Array, RegressionLoss
from admmbench.validation import parameters


@parameters
class Squared(RegressionLoss):
    """Loss ``(u - y)^2 / 2``."""

    derivative_bound = math.inf
    curvature_bound = 1.0

    def value(self, u: Array, y: Array) -> Array:
        """Return ``(u - y)^2 / 2``."""
        return np.square(u - y) / 2

    def derivative(self, u: Array, y: Array) -> Array:
        """Return ``u - y``."""
        return u - y

    def curvature(self, u: Array, y: Array) -> Array:
        """Return 1 everywhere."""
        return np.ones_like(u)
