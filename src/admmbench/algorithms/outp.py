"""OutP: output perturbation with time-varying Gaussian noise, DP-ADMM of huang2019 for the softmax problem.

ryu2021 and ryu2022 use it as their baseline.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from admmbench.base.algorithm import parameters
from admmbench.base.linearized import Schedule
from admmbench.base.output_perturbation import OutputPerturbation, Value
from admmbench.base.types import Guarantee, Subproblem
from admmbench.privacy import Cost, Draw, Gaussian, Privacy, Release, gaussian_multiplier, on_grid
from admmbench.problems.rows import BoundRows


@parameters
class OutP(OutputPerturbation):
    """DP-ADMM, multiclass, with the step size of theorem 4.

    With ``variant: reference`` the constants are c1 = I_p and c3 = I_p / 4, though the loss is an average, and the
    noise has the standard deviation sigma^2 where the paper has sigma.
    """

    variants = ("paper", "reference")
    tune = {"rounds": 20, "params.rho": 0.004, "params.a": 32}
    # Theorem 4 is about smooth f_p, and c1 a bound on gradients.
    needs = ("smooth penalty", "bounded derivative")

    def schedule(self, sub: Subproblem) -> Schedule:
        """Return ``1 / eta`` of theorem 4."""
        parts, f, known = sub.parts, sub.parts.objective, (sub.t, sub.privacy, sub.parts.whole.size)
        if self.reference:
            m = np.broadcast_to(parts.mean_objective.divisor, parts.gradient_bound.shape)
            return {"inverse_eta": self._theorem4_of_code(*known, m.astype(float), f.divisor)}
        return {"inverse_eta": self.theorem4(*known, f.divisor, parts.gradient_bound, f.curvature)}

    def _theorem4_of_code(self, t: int, privacy: Privacy, size: int, m: Value, n: Value) -> Value:
        return self.theorem4(t, privacy, size, n, c1=m, curvature=m / n * (0.25 * m))

    def perturb_solution(self, sub: Subproblem, schedule: Schedule) -> Draw | float:
        """Draw the noise of lemma 1 and theorem 1; the code's does not depend on the data."""
        if not self.reference or not sub.privacy.private:
            return OutputPerturbation.perturb_solution(self, sub, schedule)
        # The worst case over admissible records applies to noise that does not depend on the data.
        parts, stiffness = sub.parts, np.asarray(sub.rho + schedule["inverse_eta"])
        c1 = parts.whole.gradient_bound
        bound = sub.solution_sensitivity(c1, stiffness, worst_case=True)
        return sub.noise.gaussian(bound, std=_std(parts.objective.weight, stiffness, sub.privacy))

    def cost(self, t: int, problem: BoundRows, privacy: Privacy, release: Release) -> Cost | None:
        """The code's standard deviation is no constant times the sensitivity; an agent with few records pays most."""
        if not self.reference:
            return super().cost(t, problem, privacy, release)
        m = float(problem.fewest)
        (n,) = problem.counts(np.array([m])).tolist()
        stiffness = self.rho(t, privacy.epsilon)
        stiffness += self._theorem4_of_code(t, privacy, problem.size, m, n)
        contribution = np.array(problem.gradient_bound / (n * stiffness))
        _, bound = on_grid(contribution, math.sqrt(problem.size))
        shift = release.contributions(privacy.relation) * float(bound)
        return Gaussian(_std(m / n, stiffness, privacy) / shift)

    @property
    def steady(self) -> bool:
        """The cost of a round of the authors' code is not the same in all."""
        return not self.reference

    def guarantee(self, sensitivity: Literal["local", "global"]) -> Guarantee:
        """The code's steps and noise do not depend on the records, whatever the sensitivity."""
        return super().guarantee("global" if self.reference else sensitivity)

    @property
    def caveats(self) -> tuple[str, ...]:
        """Say which noise the authors' code has."""
        if not self.reference:
            return super().caveats
        return (*super().caveats, "sigma_squared")


def _std(weight: Value, stiffness: Value, privacy: Privacy) -> Value:
    """sigma^2, with sigma = 2 (I_p / n_p) sqrt(2 ln(1.25 / delta)) / (epsilon (rho + 1 / eta))."""
    sigma = weight * 2 / stiffness * gaussian_multiplier(privacy.epsilon, privacy.delta)
    return sigma**2
