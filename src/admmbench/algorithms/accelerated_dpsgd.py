"""Accelerated DP-SGD: AC-SA on noisy gradients of all agents (Lowy and Razaviyayn 2023)."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from pydantic import Field

from admmbench.base.accelerated import Accelerated, AcceleratedDescent
from admmbench.base.algorithm import parameters
from admmbench.base.types import Messages, RowFederation


@parameters
class AcceleratedDPSGD(AcceleratedDescent):
    """Accelerated gradient steps of the server along the mean of noisy gradients of agents.

    A. Lowy and M. Razaviyayn, "Private federated learning without a trusted server: optimal algorithms for convex
    losses" (ICLR 2023). Agents send noisy gradients at one model, as in DPSGD; the server makes one step of AC-SA in a
    round, see `AcceleratedDescent`, with a = ``learning_rate``. With convexity 0 that is
    ``x <- x - (a t / 2) g(x_md)``, so that steps grow. Models evaluated are the means x_ag.

    Parameters
    ----------
    convexity
        mu, at most the strong convexity of the objective, which its penalty has at least.
    """

    examples = ({"sampling": 0.3, "convexity": 0.01, "step": "sqrt"},)
    tune = {
        "rounds": 20,
        "params.learning_rate": 1,
        "params.sampling": {"start": 0.25, "most": 1},
    }

    convexity: Annotated[float, Field(ge=0)] = 0.0

    def round(self, t: int, state: Accelerated, federation: RowFederation) -> Messages:  # type: ignore[override]
        """Make one step."""
        gradient = partial(self.noisy_gradient, t, federation=federation)
        return self.accelerate(t, state, gradient, self.rate(t), self.convexity)
