"""PVP: ADMM with primal variable perturbation (huang2019, algorithm 2)."""

from __future__ import annotations

from admmbench.base.algorithm import Family, parameters
from admmbench.base.exact import PerturbedSolution
from admmbench.base.types import Array, Subproblem


@parameters
class PVP(PerturbedSolution):
    """Consensus ADMM whose agents add Gaussian noise of constant variance to exact solutions: algorithm 2."""

    family = Family(mechanism="perturbation_of_primal_variables")
    tune = {"rounds": 10, "params.rho": 0.05}

    def update(self, sub: Subproblem) -> Array:
        """Solve the subproblem of line 4, and add the noise of line 5."""
        return self.minimize(sub, sub.dual) + sub.noise.gaussian(self.sensitivity(sub))
