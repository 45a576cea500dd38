"""FedADMM-InSa: inexact, self-adaptive federated ADMM without noise (Song, Wang and Zuazua 2024)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
from pydantic import Field

from admmbench.base.algorithm import Family, Resources, parameters
from admmbench.base.consensus import OverRows
from admmbench.base.types import Array, Messages, Models, RowBlock, RowFederation, norms


@dataclass
class Adaptive(Models):
    """Models, dual variables, and penalty parameters of the agents."""

    dual: Array
    """Dual variables lambda_i, shape (P, S, K, J)."""
    beta: Array
    """Penalty parameters beta_i, shape (P, S, 1, 1)."""


@parameters
class FedADMMInSa(OverRows):
    """Federated ADMM whose agents stop their local steps and change their penalty parameters by themselves.

    Y. Song, Z. Wang and E. Zuazua, "FedADMM-InSa: an inexact and self-adaptive ADMM for federated learning" (Neural
    Networks, 2024); the equations are those of the authors' code. Agent i takes gradient steps from the global model z,

        u <- u - learning_rate e_i(u),    e_i(u) = f_i'(u) - lambda_i + beta_i (u - z),

    until ||e_i(u)|| <= sigma_i ||e_i(z)||, with sigma_i = 0.999 sqrt(2) / (sqrt(2) + sqrt(beta_i / convexity)). Then
    lambda_i <- lambda_i - beta_i (u_i - z). The server takes the mean of u_i - lambda_i / beta_i with the weights of
    the objective times beta_i, and moves its model there by 1 / (1 + memory) of the way. beta_i grows by the factor tau
    where mu beta_i ||u_i - u_i of the last round|| < ||u_i - z||, and falls where the opposite holds. The stopping test
    and beta_i follow records that no noise hides, so there is no private form.

    Parameters
    ----------
    learning_rate
        Of the local steps; 0.01 in the authors' code, for networks.
    local_updates
        Most local steps in a round, E.
    beta
        Penalty parameter of all agents at the start.
    convexity
        c_i, constant of strong convexity of the f_i; it sets how exactly subproblems are solved.
    mu, tau
        When penalty parameters change, and by what factor.
    memory
        delta: weight of the server's last model against the new one.
    """

    family = Family(role="reference")
    resources = Resources(state_copies=3)
    state = Adaptive
    tune = {"rounds": 20, "params.learning_rate": 1, "params.beta": 0.1}

    learning_rate: Annotated[float, Field(gt=0)] = 0.1
    local_updates: Annotated[int, Field(ge=1)] = 10
    beta: Annotated[float, Field(gt=0)] = 10.0
    convexity: Annotated[float, Field(gt=0)] = 0.01
    mu: Annotated[float, Field(gt=1)] = 5.0
    tau: Annotated[float, Field(gt=1)] = 2.0
    memory: Annotated[float, Field(ge=0)] = 0.01

    @property
    def gradients(self) -> int:
        """Each local step takes one, unless all stop before."""
        return self.local_updates

    def init(self, federation: RowFederation) -> Models:
        """Models and dual variables start at zero."""
        start = super().init(federation)
        assert isinstance(start, Adaptive)
        return replace(start, beta=np.full((*start.z.shape[:2], 1, 1), self.beta))

    def round(self, t: int, state: Adaptive, federation: RowFederation) -> Messages:  # type: ignore[override]
        """Take local steps, update dual variables and penalty parameters, and average."""
        z = state.w

        def agents(block: RowBlock) -> tuple[Array, Array]:
            p, dual, beta = block.agents, state.dual[block.agents], state.beta[block.agents]
            u = self.local_steps(block, z, dual, beta)
            dual -= beta * (u - z)
            weights = block.parts.weights * beta
            message = weights * u - block.parts.weights * dual
            moved, apart = beta * _length(u - state.z[p]), _length(u - z)
            beta[self.mu * moved < apart] *= self.tau
            beta[self.mu * apart < moved] /= self.tau
            state.z[p] = u
            return message.sum(axis=0), weights.sum(axis=0)

        messages, weights = zip(*federation.each(agents), strict=True)
        mean = (np.sum(messages, axis=0) / np.sum(weights, axis=0)).astype(z.dtype)
        state.w = (mean + z.dtype.type(self.memory) * z) / z.dtype.type(1 + self.memory)
        return Messages(down=(z,), up=(state.z, state.dual, state.beta))

    def local_steps(self, block: RowBlock, z: Array, dual: Array, beta: Array) -> Array:
        """Return the models of a block after steps that end for each agent and seed by its own test."""
        sigma = 0.999 * math.sqrt(2) / (math.sqrt(2) + np.sqrt(beta / self.convexity))
        u = np.broadcast_to(z, dual.shape).copy()
        enough: Array | None = None
        for _ in range(self.local_updates):
            residual = block.parts.mean_objective.full_gradient(u) - dual + beta * (u - z)
            length = _length(residual)
            enough = sigma * length if enough is None else enough
            if not (going := length > enough).any():
                break
            u -= self.learning_rate * np.where(going, residual, 0)
        return u


def _length(x: Array) -> Array:
    """Return l2 norms of models, shape (B, S, 1, 1)."""
    return norms(x)[..., None, None]
