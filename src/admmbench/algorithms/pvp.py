"""PVP: ADMM with primal variable perturbation (huang2019, algorithm 2)."""

from __future__ import annotations

from admmbench.algorithms.base import Array, parameters
from admmbench.algorithms.consensus import Subproblem
from admmbench.algorithms.exact import Exact
from admmbench.privacy import Release
from admmbench.problems.needs import Need
from admmbench.sensitivity import Sensitivity


@parameters
class PVP(Exact):
    """Algorithm 2: exact subproblems, and Gaussian noise of constant variance on their solutions."""

    release = Release("gaussian", "solution", neighbours="one record is replaced")

    @property
    def needs(self) -> tuple[Need, ...]:
        """Lemma 4 is about smooth f_i, and c1 a bound on gradients."""
        return (*super().needs, "smooth penalty", "bounded slope")

    def update(self, sub: Subproblem) -> Array:
        """Lines 4 and 5, with the l2 sensitivity 2 c1 / ((lambda / n + rho) m) of lemma 4."""
        stiffness = sub.parts.whole.penalty_curvature + sub.rho
        sensitivity = 2 * sub.parts.gradient_bound / (stiffness * sub.n_samples)
        solution = self.minimize(sub, sub.dual)
        return solution + sub.noise.gaussian(Sensitivity(l2=sensitivity))
