"""Federated private ADMM: noisy fixed-point iterations (Cyffers, Bellet and Basu 2023)."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from admmbench.base.algorithm import parameters
from admmbench.base.exact import PerturbedSolution
from admmbench.base.types import Array, ConsensusState, Messages, RowFederation, Subproblem


@parameters
class PrivateADMM(PerturbedSolution):
    """ADMM as a relaxed fixed-point iteration with Gaussian noise, with all agents in each round.

    E. Cyffers, A. Bellet and D. Basu, "From noisy fixed-point iterations to private ADMM for centralized and federated
    learning" (ICML 2023); the equations are those of the authors' code. With w the mean of the u_i, agent i does

        x_i = argmin_v f_i(v) + (rho / 2) ||v - (2 w - u_i)||^2,    u_i <- u_i + 2 relaxation (x_i - w) + noise,

    where rho is their 1 / gamma. With u_i = w - lambda_i / rho this is consensus ADMM whose local model is
    w + 2 relaxation (x_i - w): over-relaxation, and PVP with relaxation 1/2, noise included. The authors' method
    protects an agent, samples agents, clips x_i - w, and has a regulariser at the server. Here neighbours differ in one
    record, whose influence on x_i is bounded. All agents take part, and each has its part of the penalty.

    Parameters
    ----------
    relaxation
        lambda of the paper: the part of the step to the fixed point.
    """

    tune = {"rounds": 10, "params.rho": 0.05, "params.relaxation": {"start": 0.5, "most": 1}}

    relaxation: Annotated[float, Field(gt=0, le=1)] = 0.5

    def update(self, sub: Subproblem) -> Array:
        """Return the new ``u_i``, as the local model that it stands for."""
        part = 2 * self.relaxation
        z: Array = sub.w + part * (self.minimize(sub, sub.dual) - sub.w)
        return z + sub.noise.gaussian(self.sensitivity(sub, part))

    def round(self, t: int, state: ConsensusState, federation: RowFederation) -> Messages:  # type: ignore[override]
        """Agents send u_i alone, from which the server knows the dual variables."""
        sent = super().round(t, state, federation)
        return Messages(sent.down, up=sent.up[:1])
