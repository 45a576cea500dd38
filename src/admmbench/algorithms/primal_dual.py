"""Gradient steps on the Lagrangian, for the model and the multipliers: what he2023 says needs careful tuning."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field

from admmbench.base.algorithm import Resources, parameters
from admmbench.base.constrained import ConstrainedMethod, Ending, start_fields, update_multipliers
from admmbench.base.types import Array, ConstrainedFederation, Messages
from admmbench.problems.constraints import Functions


@parameters
class PrimalDual(ConstrainedMethod[Ending]):
    """Descent in the model and projected ascent in the multipliers, at once (Cotter, Jiang and Sridharan, 2019).

    The equations are those of the authors' library, tensorflow_constrained_optimization, with gradient descent for its
    optimizers and without proxies: a round is a step. Each agent sends the gradient of its Lagrangian and keeps its
    multipliers; the server does the same for its own constraints.

    Parameters
    ----------
    learning_rate
        Step size for the model.
    multiplier_rate
        Step size for the multipliers.
    multiplier
        Every entry of the first multipliers, which are then projected on the dual cones.
    start
        Every entry of the first model.
    """

    resources = Resources(state_copies=1)
    examples = ({"multiplier_rate": 0.02, "multiplier": 0.5},)
    needs = ("smooth penalty",)  # steps follow gradients

    learning_rate: Annotated[float, Field(gt=0)] = 0.01
    multiplier_rate: Annotated[float, Field(gt=0)] = 0.01
    multiplier: float = 0.0
    start: float = 1.0

    def init(self, federation: ConstrainedFederation) -> Ending:
        """Start everywhere at the same model, with the same multipliers."""
        state = Ending(**start_fields(federation, self.start))
        for mu, holder in (
            (state.mu, federation.blocks[0].parts),
            (state.mu_server, federation.problem.server),
        ):
            mu[:] = holder.cone.project_dual(mu + self.multiplier)
        return state

    def round(self, t: int, state: Ending, federation: ConstrainedFederation) -> Messages:
        """Take both steps from the same point."""
        problem, w = federation.problem, state.model

        def gradient(functions: Functions, mu: Array) -> Array:
            return functions.at(w[None]).gradient(mu).sum(axis=0)

        full_gradient = np.sum(state.each(gradient, federation), axis=0)
        full_gradient += problem.strength * problem.penalty.gradient(w)
        update_multipliers(state, federation, self.multiplier_rate, state.ended == 0)
        state.model = w - self.learning_rate * full_gradient
        state.sent += 2 * problem.n_agents * w.shape[1]
        return Messages(down=(), up=())
