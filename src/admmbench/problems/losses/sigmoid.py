"""Sigmoid loss: smooth, bounded, and not convex (hu2019's theorems cover it)."""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from admmbench.problems.loss import Array, BinaryLoss
from admmbench.validation import parameters


@parameters
class Sigmoid(BinaryLoss):
    """Loss ``1 / (1 + exp(y u))`` for ``y = +-1``."""

    convex = False
    derivative_bound = 0.25
    curvature_bound = 3**0.5 / 18

    def value(self, u: Array, y: Array) -> Array:
        """Return ``s(-y u)`` with the sigmoid s."""
        return np.asarray(expit(-y * u))

    def derivative(self, u: Array, y: Array) -> Array:
        """Return ``-y s (1 - s)``, s taken at ``-y u``."""
        return -y * expit(-y * u) * expit(y * u)

    def curvature(self, u: Array, y: Array) -> Array:
        """Return ``s (1 - s) (1 - 2 s)``, as ``y^2 = 1``."""
        # 1 - 2 s is a difference of two sigmoids, which loses no digits.
        return expit(-u) * expit(u) * (expit(y * u) - expit(-y * u))
