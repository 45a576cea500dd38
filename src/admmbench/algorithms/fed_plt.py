"""Fed-PLT: Peaceman-Rachford splitting with noisy local training (Bastianello, Liu and Johansson 2024)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from admmbench.base.algorithm import PrivacyFacts, parameters
from admmbench.base.consensus import OverRows
from admmbench.base.types import Array, Messages, Models, RowBlock, RowFederation
from admmbench.privacy import Release
from admmbench.sensitivity import Sensitivity


@dataclass
class Split(Models):
    """Models, and the messages of the agents."""

    sent: Array
    """z_i of the paper, shape (P, S, K, J); the global model is their mean."""


@parameters
class FedPLT(OverRows):
    """Peaceman-Rachford splitting whose agents solve their subproblems by a few noisy gradient steps.

    N. Bastianello, C. Liu and K. H. Johansson, "Enhancing privacy in federated learning through local training" (arXiv
    2403.17572). With y the mean of the z_i, agent i makes E steps from its last model x_i,

        x_i <- x_i - learning_rate (f_i'(x_i) + noise + rho (x_i - (2 y - z_i))),

    and sends z_i <- z_i + 2 (x_i - y). Here rho is the paper's 1 / rho. Solved exactly and without noise, this is
    federated private ADMM with relaxation 1. Each noisy gradient is a release, from which all that is sent follows. The
    paper adds the noise to the model after each step, which is the same up to the factor learning_rate, and bounds what
    the last model reveals; here totals are about all that is sent. All agents take part, each with its part of the
    penalty.

    Parameters
    ----------
    learning_rate
        Of the local steps.
    local_updates
        N_e, noisy gradient steps that an agent makes in a round, E.
    rho
        Penalty parameter.
    """

    release = Release("gaussian", "gradient", scaled_for="replace")
    privacy_facts = PrivacyFacts(record_alone="")
    state = Split
    examples = ({"local_updates": 1},)
    needs = ("bounded derivative",)  # c1 bounds gradients
    tune = {
        "rounds": 20,
        "params.learning_rate": 8,
        "params.rho": 0.05,
        "params.local_updates": {"start": 2, "whole": True},
    }

    learning_rate: Annotated[float, Field(gt=0)] = 0.1
    local_updates: Annotated[int, Field(ge=1)] = 5
    rho: Annotated[float, Field(gt=0)] = 0.1

    @property
    def updates(self) -> int:
        """Each local step takes a noisy gradient."""
        return self.local_updates

    def round(self, t: int, state: Split, federation: RowFederation) -> Messages:  # type: ignore[override]
        """Do local steps, reflect, and take the mean."""
        y = state.w

        def agents(block: RowBlock, total: Array) -> None:
            parts, x, z = block.parts, state.z[block.agents], state.sent[block.agents]
            f = parts.objective
            bound = Sensitivity(l2=f.weight * parts.gradient_bound / parts.n_units)
            anchor = 2 * y - z
            for _ in range(self.local_updates):
                gradient = f.gradient(x).value + block.noise.gaussian(bound)
                parts.whole.add_penalty_gradient(gradient, x, f.strength)
                x -= self.learning_rate * (gradient + self.rho * (x - anchor))
            z += 2 * (x - y)
            total += z.sum(axis=0)

        state.w = federation.sum(agents, like=y) / federation.problem.n_agents
        return Messages(down=(y,), up=(state.sent,))
