"""The mechanism of DP-ADMM (huang2019): a linearised subproblem, and Gaussian noise on its solution.

`dp_admm` states it for the problems of its paper; `outp` is what ryu2021 and ryu2022 made of it for theirs.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Annotated, Any

from pydantic import Field

from admmbench.algorithms.agents_first import AgentsFirst, record_count
from admmbench.algorithms.base import Array, Block, factors, parameters
from admmbench.elementwise import elementwise
from admmbench.privacy import Privacy


@elementwise
def noisy_step(
    gradient: float, xi: float, rho: float, w: float, dual: float, z: float, inverse_eta: float
) -> float:
    """Minimiser of the approximate augmented Lagrangian (8), plus noise: (10a), (10b)."""
    return (-gradient + rho * w + dual + inverse_eta * z) / (rho + inverse_eta) + xi


@parameters
class Linearized(AgentsFirst):
    """DP-ADMM with any step size.

    Parameters
    ----------
    a
        Factor of the step size (ryu2021, appendix A.11).
    c_w
        Norm of the optimal model, in the step size; ``None``: sqrt(4 J K), as in the code of ryu2022.
    """

    a: Annotated[float, Field(gt=0)] = 1.0
    c_w: Annotated[float, Field(gt=0)] | None = None

    @abstractmethod
    def inverse_eta(self, t: int, local: Any, privacy: Privacy) -> Array:
        """1 / eta_i^t, shape (B, S)."""

    def primal(
        self, t: int, block: Block, z: Array, w: Array, dual: Array, rho: float, privacy: Privacy
    ) -> Array:
        """Lines 4 to 6 of algorithm 3."""
        inverse_eta = self.inverse_eta(t, block.problem, privacy)
        xi = self.noise(block, rho + inverse_eta, privacy)
        gradient = self.gradient(block.problem, z, w)
        return noisy_step(gradient, xi, rho, w, dual, z, factors(inverse_eta, like=z))

    def gradient(self, local: Any, z: Array, w: Array) -> Array:
        """Gradient, or subgradient, of f_i at z."""
        value = local.gradient(z, mean_over=local.n_samples).value
        total: Array = local.problem.add_regularizer(value, z)
        return total

    def noise(self, block: Block, stiffness: Array, privacy: Privacy) -> Array | float:
        """Gaussian noise for the l2 sensitivity 2 c1 / (m (rho + 1 / eta)): lemma 1 and theorem 1."""
        local = block.problem
        return block.noise.gaussian(2 * local.gradient_bound / (record_count(local) * stiffness))
