"""PVP: ADMM with primal variable perturbation (huang2019, algorithm 2)."""

from __future__ import annotations

from admmbench.algorithms.base import Array, parameters
from admmbench.algorithms.consensus import Subproblem
from admmbench.algorithms.exact import Exact
from admmbench.privacy import Release
from admmbench.problems.needs import Need


@parameters
class PVP(Exact):
    """Algorithm 2: exact subproblems, and Gaussian noise of constant variance on their solutions."""

    release = Release("gaussian", "solution", scaled_for="replace")

    @property
    def needs(self) -> tuple[Need, ...]:
        """Lemma 4 is about smooth f_i, and c1 a bound on gradients."""
        return (*super().needs, "smooth penalty", "bounded slope")

    def update(self, sub: Subproblem) -> Array:
        """Lines 4 and 5, with the stiffness lambda / n + rho of lemma 4, and what the solver leaves."""
        stiffness = sub.parts.whole.penalty_curvature + sub.rho
        c1 = sub.parts.gradient_bound
        sensitivity = sub.solution_sensitivity(c1, stiffness, self.tolerance)
        return self.minimize(sub, sub.dual) + sub.noise.gaussian(sensitivity)
