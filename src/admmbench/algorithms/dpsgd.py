"""DPSGD: gradient descent on noisy gradients of all agents, a baseline of huang2019."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field

from admmbench.algorithms.agents_first import record_count
from admmbench.algorithms.base import (
    Algorithm,
    Array,
    Block,
    Consensus,
    Federation,
    Messages,
    parameters,
)


@parameters
class DPSGD(Algorithm):
    """Differentially private gradient descent (Abadi et al. 2016) with sampling ratio 1, over agents.

    Each agent adds Gaussian noise to the mean gradient of its records, for the same neighbours as the other methods
    of huang2019 (one record is replaced, so that the l2 sensitivity is 2 c1 / m). Records are bounded, so that no
    gradient needs clipping. The server takes a step along the mean over agents; the local models are the global one.

    Parameters
    ----------
    learning_rate
        0.1 in the paper.
    """

    learning_rate: Annotated[float, Field(gt=0)] = 0.1

    def round(self, t: int, state: Consensus, federation: Federation) -> Messages:
        """Take one step."""
        w = state.w

        def noisy_gradient(block: Block) -> Array:
            local = block.problem
            at = np.broadcast_to(w, (len(local.n_samples), *w.shape))
            gradient = local.gradient(at, mean_over=local.n_samples).value
            gradient += block.noise.gaussian(2 * local.gradient_bound / record_count(local))
            total: Array = local.problem.add_regularizer(gradient, at)
            return total

        gradients = np.concatenate(federation.each(noisy_gradient))
        state.w = w - w.dtype.type(self.learning_rate) * gradients.mean(axis=0)
        state.z[:] = state.w
        return Messages(down=(w,), up=(gradients,))
