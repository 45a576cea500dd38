"""DVP: ADMM with dual variable perturbation (Zhang and Zhu 2017), a baseline of huang2019."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from admmbench.base.algorithm import Family, parameters
from admmbench.base.exact import Exact
from admmbench.base.types import Array, Guarantee, Subproblem
from admmbench.privacy import Release


@parameters
class DVP(Exact):
    """Consensus ADMM whose agents solve exact subproblems with noise on their dual variable.

    huang2019 compares with this method but does not state it. This is the definition of T. Zhang and Q. Zhu, "Dynamic
    differential privacy for ADMM-based distributed classification learning" (IEEE Trans. Information Forensics and
    Security 12, 2017): objective perturbation (Chaudhuri, Monteleoni and Sarwate 2011, algorithm 2) of each subproblem.
    Their penalty couples neighbours in a network; with a server, rho takes the place of their 2 eta N_p.

    With b of density proportional to exp(-zeta ||b||), agent i sends

        argmin_v f_i(v) - <gamma_i - b / n_i, v> + (rho / 2) ||v - w||^2 + (Phi / 2) ||v||^2,

    where n_i divides the sum of losses in f_i (m_i in huang2019), zeta = alpha / (2 c1), and alpha = epsilon -
    2 ln(1 + c3 / (n_i (lambda / n + rho))) is what the curvature leaves of the budget. If nothing
    is left, Phi makes the subproblem so convex that half of the budget is left.

    Each message is (epsilon, 0)-DP where one record is replaced: pure differential privacy, where the other methods of
    huang2019 have (epsilon, delta). If one record contributes nothing, both parts of the loss are half as large: the
    gradient differs by one contribution, and one curvature enters the ratio of densities instead of two. The proof
    needs exact solutions, noise of real numbers, and a smooth loss of a single inner product with the record, as in
    binary classification.
    """

    family = Family(mechanism="perturbation_of_dual_variables")
    release = Release("spherical", "dual variable", scaled_for="replace")
    tune = {"rounds": 10, "params.rho": 0.05}
    # What the proof covers.
    needs = ("convex loss", "smooth penalty", "bounded derivative", "one output")

    def guarantee(self, sensitivity: Literal["local", "global"]) -> Guarantee:
        """The proof is about exact solutions and real numbers."""
        found = super().guarantee(sensitivity)
        if found.kind == "none":
            return found
        return Guarantee(
            "conditional",
            "for the worst case over admissible records, if subproblems are solved exactly, with noise of real "
            "numbers; they are solved up to `tolerance`, in floating point",
            ("exact_solutions",),
        )

    def update(self, sub: Subproblem) -> Array:
        """Solve the perturbed subproblem."""
        parts, f = sub.parts, self.objective(sub.parts)
        n, c1, c3 = f.divisor, parts.gradient_bound, parts.curvature_bound
        convexity = f.penalty_curvature + sub.rho
        alpha, ridge = noise_budget(sub.privacy.epsilon, c3 / n, convexity)
        # With its own records' bounds, an agent without records has nothing to protect, and no noise.
        share = sub.noise.spherical(2 * c1 / (alpha * n))  # b / n
        return self.minimize(sub, sub.dual - share, ridge)


def noise_budget(epsilon: float, curvature: Array, convexity: float) -> tuple[Array, Array]:
    """Part of the budget that is left for noise, and the weight Phi of the added quadratic term.

    Parameters
    ----------
    epsilon
        Budget of the message.
    curvature
        c3 / n_i, bound on what one record adds to the Hessian, shape (B, S).
    convexity
        Strong convexity of the subproblem.
    """
    if math.isinf(epsilon):
        return np.full_like(curvature, np.inf), np.zeros_like(curvature)
    alpha = epsilon - 2 * np.log1p(curvature / convexity)
    with np.errstate(over="ignore"):  # a budget of thousands needs nothing
        needed = np.maximum(curvature / np.expm1(epsilon / 4) - convexity, 0)
    enough = alpha > 0
    return np.where(enough, alpha, epsilon / 2), np.where(enough, 0.0, needed)
