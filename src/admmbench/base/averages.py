"""Means of models over rounds: theorems speak of them, and they are measured where they are asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from admmbench.base.observers import Observer
from admmbench.base.types import (
    UNIT_OF_LOSS,
    Array,
    ConsensusState,
    RowBlock,
    RowFederation,
    norms,
)


@dataclass
class Sums:
    """Weighted sums of models over rounds, in double precision."""

    w: Array
    """Of the global model, shape (S, K, J)."""
    z: Array
    """Of the local ones, shape (P, S, K, J)."""


class Average(Observer):
    """Means of the global model and of local models as they are after each local update, as in (18) of ryu2022.

    Attributes
    ----------
    before
        Whether local models are averaged as they are before each update instead.
    """

    before: bool = False
    variables = {
        "averaged_objective": (UNIT_OF_LOSS, "sum of the objectives at the agents' mean models"),
        "averaged_gap": ("1", "distance of the mean models from the mean global model"),
    }
    memory: Sums

    def weight(self, t: int) -> int:
        """Weight of round t in averages, over the sum of weights."""
        return 1

    def total(self, T: int) -> float:
        """Sum of the weights of T rounds."""
        return T

    def begin(self, state: ConsensusState, federation: RowFederation) -> None:
        """Start the sums at zero."""
        self.memory = Sums(np.zeros(state.w.shape), np.zeros(state.z.shape))

    def before_round(self, t: int, state: ConsensusState, federation: RowFederation) -> None:
        """Add the models before the round's first update."""
        if self.before:
            self.memory.z += self.weight(t) / self.method.updates * state.iterates

    def after_round(self, t: int, state: ConsensusState, federation: RowFederation) -> None:
        """Add the models of the round."""
        sums, weight, E = self.memory, self.weight(t), self.method.updates
        sums.w += weight * state.w
        if not self.before:
            sums.z += weight * state.z
        elif E > 1:  # the mean of all iterates but the last, beside the one before them
            sums.z += weight * (state.z - state.iterates / E)

    def means(self, t: int) -> tuple[Array, Array]:
        """Return means of local models, and the norms of their distances from that of the global ones, (P, S)."""
        w, z = (each / self.total(t) for each in (self.memory.w, self.memory.z))
        return z, norms(w - z)

    def measure(self, t: int, state: ConsensusState, federation: RowFederation) -> dict[str, Array]:
        """Return what the means are worth after round t."""
        z, apart = self.means(t)
        own = objective(z.astype(federation.problem.dtype), federation)
        gap = np.sqrt((apart**2).sum(axis=0))
        return {"averaged_objective": own.sum(axis=0), "averaged_gap": gap}


class Before(Average):
    """Means of local models as they are before each local update, as in (21) of ryu2022."""

    before = True


def objective(z: Array, federation: RowFederation) -> Array:
    """Return f_p at each agent's model, shape (P, S)."""
    whole = federation.problem

    def of_block(block: RowBlock) -> Array:
        own = z[block.agents]
        value: Array = block.parts.losses(own) / block.parts.objective.divisor
        return value + whole.own_strength * whole.penalty.value(own)

    return np.concatenate(federation.each(of_block))


AVERAGES: Mapping[str, type[Average]] = {"before": Before, "after": Average}
