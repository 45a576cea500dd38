"""DP-FedADMM: federated ADMM whose agents send clipped, noisy differences (Gong, Li and Freris 2022)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from pydantic import Field

from admmbench.base.algorithm import PrivacyFacts, Resources, parameters
from admmbench.base.descent import Descent
from admmbench.base.types import Array, Messages, Models, RowBlock, RowFederation, clip_norms
from admmbench.privacy import Release
from admmbench.problems.rows import RowParts
from admmbench.sensitivity import Sensitivity
from admmbench.validation import Length


@dataclass
class AugmentedModels(Models):
    """Models, and what agents keep to themselves; a local model is the server's view of it."""

    dual: Array
    """Dual variables y of the agents, shape (P, S, K, J)."""
    sent: Array
    """Sums of what agents have sent, without noise, shape (P, S, K, J)."""


@parameters
class DPFedADMM(Descent):
    """FedADMM whose agents send the clipped, noisy change of their augmented model.

    Y. Gong, Y. Li and N. M. Freris, "FedADMM: a robust federated deep learning framework with adaptivity to system
    heterogeneity" (ICDE 2022), algorithm 1. From the global model, an agent makes local gradient steps on its
    augmented Lagrangian ``f(z) + <y, z - w> + (rho / 2) ||z - w||^2``, and then the dual step ``y <- y + rho (z - w)``.
    The server adds the mean change of the augmented models ``u = z + y / rho``. The paper has no noise. Here an agent
    clips the difference of u to what it has sent so far, so that what was cut off is sent later, and adds noise to it.

    What an agent keeps depends on its records, and never leaves it. A message is a function of that and of what the
    server sent before, and is at most ``clip`` long whatever the records are. So for anybody who has seen all rounds
    before, a round is one Gaussian release with the sensitivity ``clip`` where the agent's message is zero in the other
    data set, and 2 ``clip`` where all of its records are others; rounds compose adaptively. Agents that sit a round out
    keep what they have, and the sum is over all agents: what they sent before counts.

    Parameters
    ----------
    rho
        Penalty parameter; 0.01 in the authors' code.
    local_updates
        Gradient steps that an agent makes in a round, E.
    clip
        Largest l2 norm of a message.
    """

    release = Release("gaussian", "solution", scaled_for="replace")
    privacy_facts = PrivacyFacts(sums_only=True, record_alone="", private_state=("dual", "sent"))
    resources = Resources(state_copies=3)
    state = AugmentedModels
    examples = ({"local_updates": 1, "step": "sqrt", "learning_rate": 1.0}, {"clip": 0.01})
    tune = {
        "rounds": 20,
        "params.rho": 0.01,
        "params.learning_rate": 0.2,
        "params.local_updates": {"start": 8, "whole": True},
        "params.clip": 1,
    }

    rho: Annotated[float, Field(gt=0)] = 0.01
    local_updates: Annotated[int, Field(ge=1)] = 5
    clip: Length = 1.0

    @property
    def gradients(self) -> int:
        """Each local step takes one."""
        return self.local_updates

    def sensitivity(self, parts: RowParts) -> Sensitivity:
        """Return how far a contribution moves a message, bounds of shape (B, S).

        The contribution of an agent is its message. One record moves what the agent keeps from round to round, so that
        its messages may be any two of that length.
        """
        most = self.clip if parts.whole.unit == "agent" else 2 * self.clip
        return Sensitivity(l2=np.full_like(parts.gradient_bound, most))

    def round(self, t: int, state: AugmentedModels, federation: RowFederation) -> Messages:  # type: ignore[override]
        """Do local steps and the dual step, and add the mean of noisy messages to the global model."""
        w, rho, rate = state.w, self.rho, self.rate(t)
        active = federation.active(t)

        def message(block: RowBlock) -> Array:
            parts, p = block.parts, block.agents
            start = w.astype(parts.whole.released)
            y = state.dual[p].astype(start.dtype)
            gap = np.zeros_like(y)  # z - w
            for _ in range(self.local_updates):
                full_gradient = parts.mean_objective.full_gradient(start + gap)
                gap -= rate * (full_gradient + y + rho * gap)
            y += rho * gap
            change = start + gap + y / rho - state.sent[p]
            change *= ~parts.silent
            clip_norms(change, self.clip)
            state.dual[p] = np.where(active[p], y, state.dual[p])
            state.sent[p] += active[p] * change
            return change

        mean, seen = self.noisy_mean(message, self.sensitivity, federation)
        state.z[:] = w + seen
        state.w = w + mean
        return Messages(down=(w,), up=(seen,))
