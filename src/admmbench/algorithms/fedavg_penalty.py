"""Local steps on a quadratic penalty: what one would otherwise use for a constrained problem."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field

from admmbench.base.algorithm import Resources, parameters
from admmbench.base.constrained import (
    AugmentedLagrangian,
    ConstrainedMethod,
    Ending,
    start_fields,
    update_multipliers,
)
from admmbench.base.types import Array, ConstrainedBlock, ConstrainedFederation, Messages


@parameters
class FedAvgPenalty(ConstrainedMethod[Ending]):
    """FedAvg (McMahan et al., 2017) on the objectives ``f_i + weight dist(c_i, -K_i)^2 / 2``.

    In a round each agent makes local gradient steps on n times its own part, the server averages the models and makes
    as many steps on its own constraints and the penalty of the problem. Its fixed point is not feasible: the violation
    falls as 1 / weight, and the step size must fall with it.

    Parameters
    ----------
    weight
        Of the squared violation.
    learning_rate
        Step size.
    local_updates
        Local steps in a round.
    start
        Every entry of the first model.
    """

    resources = Resources(state_copies=1)
    examples = ({"local_updates": 2},)
    needs = ("smooth penalty",)  # steps follow gradients

    weight: Annotated[float, Field(gt=0)] = 10.0
    learning_rate: Annotated[float, Field(gt=0)] = 1e-3
    local_updates: Annotated[int, Field(ge=1)] = 5
    start: float = 1.0

    @property
    def gradients(self) -> int:
        """Each local step takes one."""
        return self.local_updates

    def init(self, federation: ConstrainedFederation) -> Ending:
        """Start everywhere at the same point."""
        return Ending(**start_fields(federation, self.start))

    def round(self, t: int, state: Ending, federation: ConstrainedFederation) -> Messages:
        """Do local steps, take their mean, and do steps of the server."""
        problem, n, w = federation.problem, federation.problem.n_agents, state.model
        state.mu[:], state.mu_server[:] = 0, 0

        def local(block: ConstrainedBlock) -> Array:
            lagrangian = AugmentedLagrangian(
                block.parts, self.weight, state.mu[block.agents], 0.0, w
            )
            u = np.broadcast_to(w, (len(state.mu[block.agents]), *w.shape))
            for _ in range(self.local_updates):
                u = u - self.learning_rate * n * lagrangian.at(u).gradient
            return u

        w = np.concatenate(federation.each(local)).mean(axis=0)
        lagrangian = AugmentedLagrangian(problem.server, self.weight, state.mu_server, 0.0, w)
        for _ in range(self.local_updates):
            full_gradient = lagrangian.at(w[None]).gradient[
                0
            ] + problem.strength * problem.penalty.gradient(w)
            w = w - self.learning_rate * full_gradient
        state.model[:] = w
        live = state.ended == 0
        update_multipliers(state, federation, self.weight, live)
        state.sent += 2 * n * w.shape[1]
        return Messages(down=(), up=())
