"""OutP: output perturbation with time-varying Gaussian noise, DP-ADMM of huang2019 for the softmax problem.

ryu2021 and ryu2022 use it as their baseline. Agents come first, then the server, then the dual variables
(Algorithm 3 of huang2019); the loss is averaged over the agent's own I_p records.
"""

from __future__ import annotations

import math
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from admmbench.algorithms.base import (
    Algorithm,
    Array,
    Block,
    Consensus,
    Federation,
    Messages,
    dual_ascent,
    elementwise,
    factors,
    parameters,
    plus_regularizer,
    server_average,
)
from admmbench.privacy import Privacy, gaussian_multiplier


@elementwise
def noisy_step(
    gradient: float, xi: float, rho: float, w: float, dual: float, z: float, inverse_eta: float
) -> float:
    """Minimiser of the approximate augmented Lagrangian (8) of huang2019, plus noise."""
    return (-gradient + rho * w + dual + inverse_eta * z) / (rho + inverse_eta) + xi


@parameters
class OutP(Algorithm):
    """DP-ADMM, multiclass.

    With ``variant: reference`` the constants are c1 = I_p and c3 = I_p / 4, though the gradient is an average, and
    the noise has the standard deviation sigma^2 where the paper has sigma.

    Parameters
    ----------
    a
        Factor of the step size (ryu2021, appendix A.11).
    c_w
        Norm of the optimal model, in the step size; ``None``: sqrt(4 J K), as in the authors' code.
    """

    a: Annotated[float, Field(gt=0)] = 1.0
    c_w: Annotated[float, Field(gt=0)] | None = None

    def round(self, t: int, state: Consensus, federation: Federation) -> Messages:
        """Algorithm 3 of huang2019."""
        privacy = federation.privacy
        rho = self.rho(t, privacy.epsilon)

        def primal(block: Block) -> None:  # lines 4 to 6
            p, local = block.agents, block.problem
            inverse_eta = self._inverse_eta(t, local, privacy)
            xi = self._noise(block, rho + inverse_eta, privacy)
            z = state.z[p]
            gradient = self._gradient(local, z, state.w)
            k = factors(inverse_eta, like=z)
            noisy_step(gradient, xi, rho, state.w, state.dual[p], z, k, out=z)

        def dual(block: Block) -> None:  # line 10
            p = block.agents
            dual_ascent(state.dual[p], rho, state.w, state.z[p], out=state.dual[p])

        federation.each(primal)
        state.w = server_average(state, rho)  # line 8
        federation.each(dual)
        return Messages(down=(state.w,), up=(state.z, state.dual))

    def _gradient(self, local: Any, z: Array, w: Array) -> Array:
        problem = local.problem
        floor = 1e-9 if self.reference else 0.0
        gradient: Array = local.gradient(z, mean_over=local.n_samples, floor=floor).value
        if self.reference:  # the code takes the whole regulariser, at the global model
            weight, at = 2 * problem.params.regularization, w
        else:
            weight, at = problem.regularizer_weight, z
        return plus_regularizer(gradient, weight, at, out=gradient)

    def _inverse_eta(self, t: int, local: Any, privacy: Privacy) -> Array:
        """1 / eta = c3 + lambda c4 / n + 4 c1 sqrt(d p t ln(1.25 / delta)) / (m epsilon c_w): theorem 4; (B, S)."""
        size, m = math.prod(local.problem.model_shape), np.maximum(local.n_samples, 1)[:, None]
        c_w = self.c_w or math.sqrt(4 * size)
        if self.reference:
            c1 = np.broadcast_to(m, local.gradient_bound.shape)
            smoothness = 0.25 * m
        else:
            c1 = local.gradient_bound
            smoothness = local.curvature_bound + local.problem.regularizer_weight
        growth = 4 * math.sqrt(size * t * math.log(1.25 / privacy.delta)) / (m * c_w)
        return (smoothness + growth * c1 / privacy.epsilon) / self.a

    def _noise(self, block: Block, stiffness: Array, privacy: Privacy) -> Array | float:
        """Gaussian noise for the l2 sensitivity 2 c1 / (m (rho + 1 / eta)): lemma 1 and theorem 1."""
        local = block.problem
        m = np.maximum(local.n_samples, 1)[:, None]
        if not self.reference:
            return block.noise.gaussian(2 * local.gradient_bound / (m * stiffness))
        # The code's noise does not depend on the data, so that the worst case over admissible records applies to it.
        sensitivity = 2 * local.problem.gradient_bound / (m * stiffness)
        sigma = 2 / stiffness * gaussian_multiplier(privacy.epsilon, privacy.delta)
        return block.noise.gaussian(sensitivity, std=sigma**2)
