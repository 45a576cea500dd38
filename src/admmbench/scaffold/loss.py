"""Say here in one line what the loss is, and where it comes from."""

from __future__ import annotations

import numpy as np

from admmbench.api import Array, RegressionLoss, parameters


@parameters
class Template(RegressionLoss):
    """Loss ``ln cosh(u - y)``: squared for small errors, absolute for large ones, and smooth."""

    derivative_bound = 1.0  # supremum of |derivative|; math.inf if there is none
    curvature_bound = 1.0  # supremum of |curvature|

    def value(self, u: Array, y: Array) -> Array:
        """Return ``ln cosh(u - y)``, without overflow."""
        error = u - y
        return np.logaddexp(error, -error) - np.log(u.dtype.type(2))

    def derivative(self, u: Array, y: Array) -> Array:
        """Return ``tanh(u - y)``."""
        return np.tanh(u - y)

    def curvature(self, u: Array, y: Array) -> Array:
        """Return ``1 - tanh(u - y)^2``."""
        return 1 - np.square(np.tanh(u - y))
