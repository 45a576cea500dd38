"""NbAFL: noising before aggregation, of clipped models with a proximal term (Wei et al. 2020)."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np

from admmbench.base.algorithm import PrivacyFacts, parameters
from admmbench.base.exact import PerturbedSolution
from admmbench.base.types import (
    Array,
    ConsensusState,
    Guarantee,
    Messages,
    RowFederation,
    Subproblem,
    factors,
    norms,
)
from admmbench.problems.rows import BoundRows, Objective, RowParts
from admmbench.sensitivity import Sensitivity
from admmbench.validation import Length


@parameters
class NbAFL(PerturbedSolution):
    """FedProx whose agents clip their models and add noise before the server averages them.

    K. Wei, J. Li, M. Ding, C. Ma, H. H. Yang, F. Farokhi, S. Jin, T. Q. S. Quek and H. V. Poor, "Federated learning
    with differential privacy: algorithms and performance analysis" (IEEE Trans. Information Forensics and Security 15,
    2020), algorithm 1 with all agents. Agent i sends

        x_i = argmin_v f_i(v) + (rho / 2) ||v - w||^2,    x_i / max(1, ||x_i|| / clip) + noise,

    where rho is their mu: consensus ADMM whose dual variables stay at zero. The server averages with the weights of the
    objective. It adds no noise of its own: theorem 1 asks for none where every round is exposed, as here.

    Parameters
    ----------
    clip
        Largest norm of a model before noise, C of the paper.
    bound
        How far a record moves what is sent: ``proved``, by the strong convexity of the subproblem; ``printed``,
        2 clip / m, which the paper derives as if the minimiser were the mean of those of the records.
    """

    privacy_facts = PrivacyFacts(
        record_alone="an agent without records sends a model that is not zero"
    )
    tune = {"rounds": 10, "params.rho": 0.25, "params.clip": 10}
    examples = ({"clip": 0.01},)

    fixed_point = "where the agents' proximal steps cancel in the mean; the larger rho, the nearer to the optimum"

    clip: Length = 10.0
    bound: Literal["proved", "printed"] = "proved"

    def guarantee(self, sensitivity: Literal["local", "global"]) -> Guarantee:
        """The printed bound does not hold."""
        if self.bound == "proved":
            return super().guarantee(sensitivity)
        return Guarantee(
            "none",
            "2 clip / m does not bound what one record changes, unless rho clip is above its gradient; the total is "
            "what the paper claims",
            ("printed_bound",),
        )

    def objective(self, parts: RowParts) -> Objective:
        """Return the mean over an agent's own records: the server weighs agents."""
        return parts.mean_objective

    def error(self, whole: BoundRows) -> float:
        """Return the tolerance, as that objective has one unit whatever counts alike."""
        return self.tolerance

    @property
    def farthest(self) -> float:
        """Two clipped models are at most so far apart."""
        return 2 * self.clip

    def sensitivity(self, sub: Subproblem, part: float = 1.0) -> Sensitivity:
        """Return how far one contribution moves a clipped solution; clipping moves no two solutions apart."""
        if self.bound == "proved":
            return super().sensitivity(sub, part)
        parts = sub.parts
        moved = self.clip / parts.mean_objective.divisor
        return Sensitivity(l2=np.broadcast_to(moved, parts.gradient_bound.shape))

    def update(self, sub: Subproblem) -> Array:
        """Solve the subproblem, clip its solution, and add noise."""
        x = self.minimize(sub, sub.dual)
        x *= factors(self.clip / np.maximum(norms(x), self.clip), like=x)
        return x + sub.noise.gaussian(self.sensitivity(sub))

    def local_round(self, sub: Subproblem) -> None:
        """Update the models; the dual variables stay as they are, zero."""
        super().local_round(replace(sub, rho_dual=0.0))

    def round(self, t: int, state: ConsensusState, federation: RowFederation) -> Messages:  # type: ignore[override]
        """Agents send their models, and the server averages them with the weights of the objective."""
        sent = super().round(t, state, federation)
        state.w = state.average = self.mean(state.z, federation)
        return Messages(sent.down, up=sent.up[:1])
