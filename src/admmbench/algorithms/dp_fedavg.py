"""DP-FedAvg: clipped model differences with Gaussian noise (McMahan et al. 2018)."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import numpy as np
from pydantic import Field

from admmbench.base.algorithm import PrivacyFacts, parameters
from admmbench.base.descent import Descent
from admmbench.base.types import Array, Messages, Models, RowBlock, RowFederation, clip_norms
from admmbench.privacy import Release
from admmbench.problems.rows import RowParts
from admmbench.sensitivity import Sensitivity
from admmbench.validation import Length


@parameters
class DPFedAvg(Descent):
    """Federated averaging whose agents send a clipped, noisy difference from the global model.

    H. B. McMahan, D. Ramage, K. Talwar and L. Zhang, "Learning differentially private recurrent language models" (ICLR
    2018), with flat clipping. In a round each agent makes local gradient steps from the global model on the mean loss
    of its records, clips the difference, and adds noise: one release, however many steps. The server adds the mean over
    agents, with the weights of the objective. The paper's method protects all records of a user, samples users, steps
    along batches, and lets the server add the noise. Here all records of an agent take part, and each agent adds the
    noise itself. Where neighbours differ in one record, the noise is scaled by how far that moves the local steps, if
    this is less than the bound by clipping; where they differ in an agent, by the clip, as in the paper. Under a secure
    sum agents may take part by coins, as users do in the paper; the sum is then over the number that is expected.

    Parameters
    ----------
    learning_rate
        Of the local steps. 0.005 is just below 2 / 392, where steps stop being non-expansive on MNIST with `softmax` if
        no records are scaled down.
    local_updates
        Gradient steps that an agent makes in a round, E.
    clip
        Largest l2 norm of a difference, S of the paper.
    """

    release = Release("gaussian", "solution", scaled_for="replace")
    privacy_facts = PrivacyFacts(sums_only=True, record_alone="")
    examples = ({"local_updates": 1, "step": "sqrt", "learning_rate": 0.1}, {"clip": 0.01})
    tune = {
        "rounds": 20,
        "params.learning_rate": 0.2,
        "params.local_updates": {"start": 8, "whole": True},
        "params.clip": 10,
    }
    # c1 bounds gradients; a step along clipped derivatives, which are no gradients, may move models apart.
    needs = ("bounded derivative", "unclipped derivative")

    learning_rate: Annotated[float, Field(gt=0)] = 0.005
    local_updates: Annotated[int, Field(ge=1)] = 20
    clip: Length = 1.0

    @property
    def fixed_point(self) -> str:
        """Several local steps leave the gradients of the agents' own objectives in the mean."""
        return "where the agents' local steps cancel in the mean" if self.local_updates > 1 else ""

    @property
    def gradients(self) -> int:
        """Each local step takes one."""
        return self.local_updates

    def sensitivity(self, parts: RowParts) -> Sensitivity:
        """Return how far one contribution moves a clipped difference, bounds of shape (B, S).

        Two clipped differences are at most 2 clip apart, whatever the records. And a contribution moves each step by
        learning_rate c1 / m, while a step brings two models of the same records at most `stretch` times as far apart:
        1 where the loss is convex and the step at most 2 over the curvature (Hardt, Recht and Singer 2016, lemma 3.6).
        Clipping is a projection on a ball and moves nothing apart. Where a record is replaced, twice the minimum is a
        bound too, though 2 clip would do. The contribution of an agent is its difference, at most clip.
        """
        if parts.whole.unit == "agent":
            return Sensitivity(l2=np.full_like(parts.gradient_bound, self.clip))
        f = parts.mean_objective
        step = self.learning_rate * f.curvature
        stretch = np.maximum(1, step - 1) if parts.whole.loss.convex else 1 + step
        with np.errstate(over="ignore"):
            steps = sum(stretch**k for k in range(self.local_updates))
        moved = self.learning_rate * parts.gradient_bound / f.divisor * steps
        # Where there is no bound on the curvature, it may be no number.
        return Sensitivity(l2=np.fmin(2 * self.clip, moved))

    def round(self, t: int, state: Models, federation: RowFederation) -> Messages:
        """Do local steps, add noise to their clipped differences, and take the mean."""
        w, rate = state.w, self.rate(t)

        def local_steps(block: RowBlock) -> Array:
            parts = block.parts
            # Not the models are summed up, beside which a difference may be as small as their rounding errors.
            start = w.astype(parts.whole.released)
            difference = np.zeros((len(parts.n_samples), *w.shape), start.dtype)
            for _ in range(self.local_updates):
                difference -= rate * parts.mean_objective.full_gradient(start + difference)
            difference *= ~parts.silent
            return clip_norms(difference, self.clip)

        now = replace(self, learning_rate=rate)
        _, seen = self.noisy_mean(local_steps, now.sensitivity, federation)
        state.z[:] = w + seen / federation.privacy.participation
        state.w = self.mean(state.z, federation)
        return Messages(down=(w,), up=(state.z,))
