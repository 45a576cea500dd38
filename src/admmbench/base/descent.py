"""Gradient steps of one length, or of a length that falls over rounds, and noisy gradients of all agents."""

from __future__ import annotations

import math
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from admmbench.base.algorithm import Family, PrivacyFacts, parameters
from admmbench.base.consensus import OverRows
from admmbench.base.types import Array, RowBlock, RowFederation
from admmbench.privacy import Release
from admmbench.problems.rows import RowParts
from admmbench.sensitivity import Sensitivity


@parameters
class Descent(OverRows):
    """Base of methods over rows that make gradient steps.

    Parameters
    ----------
    learning_rate
        Length of a step, a; with ``step: sqrt`` that of the first round.
    step
        ``constant``: a in every round; ``sqrt``: a / sqrt(t) in round t, as the steps of ObjP fall.
    """

    learning_rate: Annotated[float, Field(gt=0)] = 0.1
    # Left out where it is the default, so that runs of before keep their names.
    step: Annotated[
        Literal["constant", "sqrt"], Field(exclude_if=lambda step: step == "constant")
    ] = "constant"

    def rate(self, t: int) -> float:
        """Return the length of a step in round t = 1, 2, ..."""
        return self.learning_rate / (math.sqrt(t) if self.step == "sqrt" else 1)


@parameters
class NoisyDescent(Descent):
    """Base of methods whose server steps along the mean of noisy gradients of agents at a model that all know.

    Parameters
    ----------
    sampling
        q, 1 in huang2019: all records take part. Only the agent knows its sample, so the total takes credit for it.
    """

    family = Family(mechanism="noisy_gradients")
    release = Release("gaussian", "gradient", scaled_for="replace")
    privacy_facts = PrivacyFacts(sums_only=True, record_alone="")
    needs = ("bounded derivative",)  # c1 bounds gradients

    sampling: Annotated[float, Field(gt=0, le=1)] = 1.0

    @property
    def caveats(self) -> tuple[str, ...]:
        """The condition under which the total may take credit for samples."""
        return () if self.sampling == 1 else ("secret_samples",)

    def noisy_gradient(self, t: int, at: Array, federation: RowFederation) -> tuple[Array, Array]:
        """Return the gradient of the objective with the agents' noise, one release of each agent.

        Parameters
        ----------
        t
            The round.
        at
            Model, shape (S, K, J).
        federation
            All agents.

        Returns
        -------
        The gradient of the stated objective, shape (S, K, J), and what the server sees, shape (P, S, K, J).
        """
        q = self.sampling

        def gradient(block: RowBlock) -> Array:
            parts = block.parts
            everywhere = np.broadcast_to(at, (len(parts.n_samples), *at.shape))
            sample = block.sampler.draw(t, parts.n_samples, q) if q < 1 else None
            return parts.gradient(everywhere, mean_over=q * parts.n_samples, sample=sample).value

        def sensitivity(parts: RowParts) -> Sensitivity:
            return Sensitivity(l2=parts.gradient_bound / (q * parts.n_units))

        mean, seen = self.noisy_mean(gradient, sensitivity, federation, sampling=q)
        mean /= mean.dtype.type(federation.privacy.participation)  # of those who are expected
        return federation.problem.add_penalty_gradient(mean, at), seen
