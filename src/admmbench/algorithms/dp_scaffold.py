"""DP-SCAFFOLD: local steps on noisy gradients, corrected by control variates (Noble et al. 2022)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from pydantic import Field

from admmbench.base.algorithm import PrivacyFacts, parameters
from admmbench.base.descent import Descent
from admmbench.base.types import Array, Messages, Models, RowBlock, RowFederation
from admmbench.privacy import Release
from admmbench.sensitivity import Sensitivity


@dataclass
class Controlled(Models):
    """Models, and the control variates of the agents."""

    control: Array
    """c_i, the mean of an agent's noisy gradients of the last round, shape (P, S, K, J); the server's is their mean."""


@parameters
class DPScaffold(Descent):
    """SCAFFOLD whose agents see their records through noisy gradients alone.

    M. Noble, A. Bellet and A. Dieuleveut, "Differentially private federated learning on heterogeneous data" (AISTATS
    2022); the equations are those of the authors' code. Each of E local steps takes the mean gradient g of the agent's
    records with noise of its own: ``y <- y - learning_rate (g + c - c_i)``. Differences of models and control variates
    are made of these gradients, so that a round has E releases and nothing else. The authors' method clips gradients of
    records, and samples agents and records; here records are bounded, and all take part. Means weigh agents as the
    objective does, equally or by numbers of records; the authors' method weighs models by numbers of records, and
    control variates equally. No mean of gradients is longer than c1, so that totals may be about whole agents. Control
    variates start at zero, without the warm start.

    Parameters
    ----------
    local_updates
        Noisy gradient steps that an agent makes in a round, E.
    """

    release = Release("gaussian", "gradient", scaled_for="replace")
    privacy_facts = PrivacyFacts(record_alone="")
    state = Controlled
    examples = ({"local_updates": 1, "step": "sqrt"},)
    needs = ("bounded derivative",)  # c1 bounds gradients
    tune = {
        "rounds": 20,
        "params.learning_rate": 2,
        "params.local_updates": {"start": 2, "whole": True},
    }

    local_updates: Annotated[int, Field(ge=1)] = 5

    @property
    def updates(self) -> int:
        """Each local step takes a noisy gradient."""
        return self.local_updates

    def round(self, t: int, state: Controlled, federation: RowFederation) -> Messages:  # type: ignore[override]
        """Do local steps, set new control variates, and take means of both."""
        w, c, rate = state.w, self.mean(state.control, federation), self.rate(t)

        def local_steps(block: RowBlock) -> None:
            parts, y, control = block.parts, state.z[block.agents], state.control[block.agents]
            bound = Sensitivity(l2=parts.gradient_bound / parts.n_units)
            y[:] = w
            total = np.zeros_like(y)
            for _ in range(self.local_updates):
                gradient = parts.mean_objective.gradient(y).value
                noisy = gradient + block.noise.gaussian(bound)
                parts.whole.add_penalty_gradient(noisy, y)
                total += noisy
                y -= rate * (noisy + c - control)
            # c_i - c - (y - w) / (E learning_rate), whose differences add up to this.
            control[:] = total / self.local_updates

        federation.each(local_steps)
        state.w = self.mean(state.z, federation)
        return Messages(down=(w, c), up=(state.z, state.control))
