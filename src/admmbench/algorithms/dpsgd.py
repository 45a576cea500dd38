"""DPSGD: gradient descent on noisy gradients of all agents, a baseline of huang2019."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field

from admmbench.base.algorithm import Family, PrivacyFacts, parameters
from admmbench.base.descent import Descent
from admmbench.base.types import Array, Messages, Models, RowBlock, RowFederation
from admmbench.privacy import Release
from admmbench.problems.rows import RowParts
from admmbench.sensitivity import Sensitivity


@parameters
class DPSGD(Descent):
    """Gradient descent of the server along the mean of noisy gradients of agents (Abadi et al. 2016, algorithm 1).

    In each round an agent draws a Poisson sample of its m records, each with probability q, and adds Gaussian noise to
    the sum of their gradients over q m, the expected size of the sample. The noise is scaled as in the other methods of
    huang2019 (one record is replaced, which moves the sum by 2 c1 / (q m) at most). Records are bounded, so that no
    gradient needs clipping. The server takes a step along the mean over agents, with the weights of the objective:
    equal, or by their numbers of records. The local models are the global one. No mean of gradients is longer than c1,
    so that totals may be about whole agents. Under a secure sum agents weigh before they add noise, and all that have
    records add equal parts of the noise of the mean.

    Parameters
    ----------
    sampling
        q, 1 in huang2019: all records take part. Only the agent knows its sample, so the total takes credit for it.
    """

    family = Family(mechanism="noisy_gradients")
    release = Release("gaussian", "gradient", scaled_for="replace")
    privacy_facts = PrivacyFacts(sums_only=True, record_alone="")
    examples = ({"sampling": 0.3, "step": "sqrt"},)
    needs = ("bounded derivative",)  # c1 bounds gradients
    tune = {
        "rounds": 40,
        "params.learning_rate": 4,
        "params.sampling": {"start": 0.25, "most": 1},
    }

    sampling: Annotated[float, Field(gt=0, le=1)] = 1.0

    @property
    def caveats(self) -> tuple[str, ...]:
        """The condition under which the total may take credit for samples."""
        return () if self.sampling == 1 else ("secret_samples",)

    def round(self, t: int, state: Models, federation: RowFederation) -> Messages:
        """Take one step."""
        w, q = state.w, self.sampling

        def gradient(block: RowBlock) -> Array:
            parts = block.parts
            at = np.broadcast_to(w, (len(parts.n_samples), *w.shape))
            sample = block.sampler.draw(t, parts.n_samples, q) if q < 1 else None
            return parts.gradient(at, mean_over=q * parts.n_samples, sample=sample).value

        def sensitivity(parts: RowParts) -> Sensitivity:
            return Sensitivity(l2=parts.gradient_bound / (q * parts.n_units))

        noisy_gradient, seen = self.noisy_mean(gradient, sensitivity, federation, sampling=q)
        noisy_gradient /= noisy_gradient.dtype.type(
            federation.privacy.participation
        )  # of those who are expected
        noisy_gradient = federation.problem.add_penalty_gradient(noisy_gradient, w)
        state.w = w - w.dtype.type(self.rate(t)) * noisy_gradient
        state.z[:] = state.w
        return Messages(down=(w,), up=(seen,))
