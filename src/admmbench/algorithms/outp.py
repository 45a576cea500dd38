"""OutP: output perturbation with time-varying Gaussian noise, DP-ADMM of huang2019 for the softmax problem.

ryu2021 and ryu2022 use it as their baseline.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from admmbench.algorithms.base import Guarantee, parameters
from admmbench.algorithms.consensus import Subproblem
from admmbench.algorithms.linearized import Schedule
from admmbench.algorithms.output_perturbation import OutputPerturbation
from admmbench.privacy import Draw, gaussian_multiplier
from admmbench.problems.needs import Need


@parameters
class OutP(OutputPerturbation):
    """DP-ADMM, multiclass, with the step size of theorem 4.

    With ``variant: reference`` the constants are c1 = I_p and c3 = I_p / 4, though the gradient is an average, and
    the noise has the standard deviation sigma^2 where the paper has sigma.
    """

    variants = ("paper", "reference")

    @property
    def needs(self) -> tuple[Need, ...]:
        """Theorem 4 is about smooth f_p, and c1 a bound on gradients."""
        return ("smooth penalty", "bounded slope")

    def schedule(self, sub: Subproblem) -> Schedule:
        """1 / eta of theorem 4."""
        if self.reference:
            m = np.broadcast_to(sub.n_samples, sub.parts.gradient_bound.shape)
            return {"inverse_eta": self.theorem4(sub, c1=m, curvature=0.25 * m)}
        curvature = sub.parts.curvature_bound + sub.parts.whole.penalty_curvature
        return {"inverse_eta": self.theorem4(sub, sub.parts.gradient_bound, curvature)}

    def perturb_solution(self, sub: Subproblem, schedule: Schedule) -> Draw | float:
        """Noise of lemma 1 and theorem 1; the code's does not depend on the data."""
        if not self.reference or not sub.privacy.private:
            return OutputPerturbation.perturb_solution(self, sub, schedule)
        # The worst case over admissible records applies to noise that does not know the data.
        stiffness = sub.rho + schedule["inverse_eta"]
        bound = sub.solution_sensitivity(sub.parts.whole.gradient_bound, stiffness)
        sigma = 2 / stiffness * gaussian_multiplier(sub.privacy.epsilon, sub.privacy.delta)
        return sub.noise.gaussian(bound, std=np.asarray(sigma**2))

    def guarantee(self, sensitivity: Literal["local", "global"]) -> Guarantee:
        """The code's steps and noise know nothing of the records, whatever the sensitivity."""
        return super().guarantee("global" if self.reference else sensitivity)

    @property
    def caveats(self) -> tuple[str, ...]:
        """The code's noise."""
        if not self.reference:
            return super().caveats
        return (
            *super().caveats,
            "The reference variant of OutP draws its noise with standard deviation σ², as the authors' code does, "
            "where the equation has variance σ².",
        )
