"""FedPD: a federated primal-dual method that may skip messages (Zhang, Hong, Dhople, Yin and Liu 2021)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from pydantic import Field

from admmbench.base.algorithm import Family, Resources, parameters
from admmbench.base.consensus import OverRows
from admmbench.base.types import Array, Messages, Models, RowBlock, RowFederation


@dataclass
class PrimalDual(Models):
    """Models, and what each agent knows besides."""

    own: Array
    """x_0,i, an agent's copy of the global model, shape (P, S, K, J)."""
    dual: Array
    """Dual variables lambda_i, shape (P, S, K, J)."""


@parameters
class FedPD(OverRows):
    """Gradient steps of agents on their augmented Lagrangians, with communication at random and without noise.

    X. Zhang, M. Hong, S. Dhople, W. Yin and Y. Liu, "FedPD: a federated learning framework with adaptivity to non-IID
    data" (IEEE Trans. Signal Processing 69, 2021): algorithm 2 with oracle I, option I. An agent makes local_updates
    gradient steps

        x_i <- x_i - learning_rate (f_i'(x_i) + lambda_i + (x_i - x_0,i) / eta),

    and then lambda_i <- lambda_i + (x_i - x_0,i) / eta and x_0,i <- x_i + eta lambda_i. With the probability 1 - skip
    all send x_0,i, and get the mean in its place; else they go on alone. Here a round lasts until they communicate.

    Parameters
    ----------
    eta
        One over the penalty parameter.
    learning_rate
        eta_1, of the gradient steps.
    local_updates
        Q, gradient steps between two updates of dual variables.
    skip
        p, the probability that agents do not communicate.
    """

    family = Family(role="reference")
    resources = Resources(state_copies=3)
    state = PrimalDual
    examples = ({"skip": 0.5},)
    tune = {
        "rounds": 20,
        "params.eta": 4,
        "params.learning_rate": 1,
        "params.local_updates": {"start": 8, "whole": True},
    }

    eta: Annotated[float, Field(gt=0)] = 10.0
    learning_rate: Annotated[float, Field(gt=0)] = 0.1
    local_updates: Annotated[int, Field(ge=1)] = 8
    skip: Annotated[float, Field(ge=0, lt=1)] = 0.0

    @property
    def draws(self) -> bool:  # type: ignore[override]
        """The coin that decides whether agents communicate is the only random number."""
        return self.skip > 0

    @property
    def fixed_point(self) -> str:
        """Neighbourhood in which agents that skip communication stay."""
        return "around the optimum, which agents leave while they go on alone" if self.skip else ""

    @property
    def gradients(self) -> float:
        """Count those of a round, which lasts ``1 / (1 - skip)`` updates of dual variables in the mean."""
        return self.local_updates / (1 - self.skip)

    def round(self, t: int, state: PrimalDual, federation: RowFederation) -> Messages:  # type: ignore[override]
        """Update models and dual variables until agents communicate, and take the mean of what they send."""
        times = np.ones(federation.problem.n_seeds, int)
        if self.draws:
            times = federation.draw(lambda coin: np.array(coin.geometric(1 - self.skip)))

        def agents(block: RowBlock) -> None:
            p = block.agents
            for k in range(times.max()):
                going = np.where(k < times)[0]
                new = self.primal_dual(block, state.z[p], state.own[p], state.dual[p])
                for kept, values in zip((state.z, state.own, state.dual), new, strict=True):
                    kept[p, going] = values[:, going]

        federation.each(agents)
        messages = state.own.copy()
        state.w = self.mean(messages, federation)
        state.own[:] = state.w
        return Messages(down=(state.w,), up=(messages,))

    def primal_dual(
        self, block: RowBlock, z: Array, own: Array, dual: Array
    ) -> tuple[Array, Array, Array]:
        """Return models, copies of the global model and dual variables after one local update of all."""
        parts, eta, rate = block.parts, z.dtype.type(self.eta), z.dtype.type(self.learning_rate)
        for _ in range(self.local_updates):
            z = z - rate * (parts.mean_objective.full_gradient(z) + dual + (z - own) / eta)
        dual = dual + (z - own) / eta
        return z, z + eta * dual, dual
