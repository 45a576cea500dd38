"""Huber loss: squared for small errors, absolute for large ones (Huber 1964)."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Self

import numpy as np
from pydantic import Field

from admmbench.problems.loss import Array, RegressionLoss
from admmbench.validation import parameters


@parameters
class Huber(RegressionLoss):
    """Loss ``(u - y)^2 / 2`` up to an error of d, and ``d |u - y| - d^2 / 2`` beyond.

    ``threshold`` is d, in the targets' unit; if absent 1, which is a twentieth of the range of targets that are scaled.
    """

    curvature_bound = 1.0

    threshold: Annotated[float, Field(gt=0)] | None = None

    @property
    def derivative_bound(self) -> float:
        """Return d, the threshold: the largest derivative."""
        return 1.0 if self.threshold is None else self.threshold

    def completed(self, scale: float) -> Self:
        """Return the loss with a threshold that is 1 for the scaled targets, if none is stated."""
        return replace(self, threshold=scale) if self.threshold is None else self

    def for_targets(self, scale: float) -> Self:
        """Return the loss with its threshold in the unit of scaled targets."""
        return self if self.threshold is None else replace(self, threshold=self.threshold / scale)

    def value(self, u: Array, y: Array) -> Array:
        """Return a loss that is quadratic in small errors and linear in large ones."""
        # Both cases at once: q (|u - y| - q / 2) with q the smaller of error and threshold.
        error = np.abs(u - y)
        quadratic = np.minimum(error, self.derivative_bound)
        return np.asarray(quadratic * (error - quadratic / 2))

    def derivative(self, u: Array, y: Array) -> Array:
        """Return the error, clipped to ``[-d, d]``."""
        return np.clip(u - y, -self.derivative_bound, self.derivative_bound)

    def curvature(self, u: Array, y: Array) -> Array:
        """Return 1 for small errors, 0 for large ones."""
        return np.where(np.abs(u - y) <= self.derivative_bound, 1.0, 0.0)
