"""Logistic loss, as huang2019 and hu2019 state it."""

from __future__ import annotations

from typing import Self

import numpy as np
from pydantic import Field
from scipy.special import expit

from admmbench.datasets import DatasetInfo
from admmbench.problems.loss import Array, BinaryLoss, Convention
from admmbench.validation import parameters


@parameters
class Logistic(BinaryLoss):
    """Loss ``ln(1 + exp(-y u))`` for ``y = +-1``; an agent's l2 penalty has weight ``lambda / n`` in huang2019."""

    convention = Convention("agents", "agent", strength=1e-6, max_l2_norm=1.0, smoothness="norms")
    likelihood = True
    derivative_bound = 1.0
    curvature_bound = 0.25

    floor: float = Field(default=0.0, ge=0, lt=0.5, repr=False)

    def value(self, u: Array, y: Array) -> Array:
        """Return ``ln(1 + exp(-y u))``, without overflow."""
        return np.logaddexp(0, -y * u)

    def derivative(self, u: Array, y: Array) -> Array:
        """Return ``-y s(-y u)`` with the sigmoid s, by exponentials that do not overflow."""
        margin = y * u
        miss = np.exp(np.minimum(-margin, 0)) / (1 + np.exp(-np.abs(margin)))
        return -y * np.minimum(miss, 1 - self.floor)

    def curvature(self, u: Array, y: Array) -> Array:
        """Return ``s(u) s(-u)``."""
        # s(-u) is 1 - s(u), which would lose its digits for large u.
        return expit(u) * expit(-u)

    def unit(self, data: DatasetInfo) -> str:
        """Return nat, the unit of natural logarithms."""
        return "nat"

    def clipped(self, floor: float) -> Self:
        """Return the loss whose probabilities of the right class are at least ``floor``."""
        return type(self)(floor=floor)
