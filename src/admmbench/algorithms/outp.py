"""OutP: output perturbation with time-varying Gaussian noise, DP-ADMM of huang2019 for the softmax problem.

ryu2021 and ryu2022 use it as their baseline.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from admmbench.algorithms.agents_first import record_count
from admmbench.algorithms.base import Array, Block, need_smooth, parameters
from admmbench.algorithms.linearized import Linearized
from admmbench.privacy import Privacy, gaussian_multiplier


@parameters
class OutP(Linearized):
    """DP-ADMM, multiclass, with the step size of theorem 4.

    With ``variant: reference`` the constants are c1 = I_p and c3 = I_p / 4, though the gradient is an average, and
    the noise has the standard deviation sigma^2 where the paper has sigma.
    """

    variants = ("paper", "reference")

    def check(self, problem: Any) -> None:
        """Theorem 4 is about smooth f_p."""
        need_smooth(problem, "outp")

    def gradient(self, local: Any, z: Array, w: Array) -> Array:
        """Gradient of f_p; the code clips probabilities, and takes the whole regulariser at the global model."""
        if not self.reference:
            return Linearized.gradient(self, local, z, w)
        value = local.gradient(z, mean_over=local.n_samples, floor=1e-9).value
        total: Array = local.problem.add_regularizer(value, w, whole=True)
        return total

    def inverse_eta(self, t: int, local: Any, privacy: Privacy) -> Array:
        """1 / eta = c3 + lambda c4 / n + 4 c1 sqrt(d p t ln(1.25 / delta)) / (m epsilon c_w): theorem 4."""
        size, m = math.prod(local.problem.model_shape), record_count(local)
        c_w = self.c_w or math.sqrt(4 * size)
        if self.reference:
            c1 = np.broadcast_to(m, local.gradient_bound.shape)
            smoothness = 0.25 * m
        else:
            c1 = local.gradient_bound
            smoothness = local.curvature_bound + local.problem.regularizer_weight
        growth = 4 * math.sqrt(size * t * math.log(1.25 / privacy.delta)) / (m * c_w)
        return (smoothness + growth * c1 / privacy.epsilon) / self.a

    def noise(self, block: Block, stiffness: Array, privacy: Privacy) -> Array | float:
        """Noise of lemma 1 and theorem 1; the code's does not depend on the data."""
        if not self.reference or not privacy.private:
            return Linearized.noise(self, block, stiffness, privacy)
        # The worst case over admissible records applies to noise that does not know the data.
        local = block.problem
        sensitivity = 2 * local.problem.gradient_bound / (record_count(local) * stiffness)
        sigma = 2 / stiffness * gaussian_multiplier(privacy.epsilon, privacy.delta)
        return block.noise.gaussian(sensitivity, std=sigma**2)
