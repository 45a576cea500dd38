"""Huber loss: squared for small errors, absolute for large ones (Huber 1964)."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field

from admmbench.problems.loss import Array, RegressionLoss
from admmbench.validation import parameters


@parameters
class Huber(RegressionLoss):
    """(u - y)^2 / 2 up to an error of d (``threshold``, in the targets' unit), ``d |u - y| - d^2 / 2`` beyond."""

    curvature_bound = 1.0

    threshold: Annotated[float, Field(gt=0)] = 1.0

    @property
    def slope_bound(self) -> float:
        """D."""
        return self.threshold

    def value(self, u: Array, y: Array) -> Array:
        """Quadratic, then linear."""
        error = np.abs(u - y)
        quadratic = np.minimum(error, self.threshold)
        return np.asarray(quadratic * (error - quadratic / 2))

    def slope(self, u: Array, y: Array) -> Array:
        """Error, clipped to [-d, d]."""
        return np.clip(u - y, -self.threshold, self.threshold)

    def curvature(self, u: Array, y: Array) -> Array:
        """1, then 0."""
        return np.where(np.abs(u - y) <= self.threshold, 1.0, 0.0)
