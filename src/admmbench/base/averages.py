"""Means of models over rounds: theorems speak of them, and they are kept where they are asked for."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, ClassVar

import numpy as np

from admmbench.base.types import (
    UNIT_OF_LOSS,
    Array,
    ConsensusState,
    Messages,
    RowBlock,
    RowFederation,
    norms,
)
from admmbench.problems.base import Problem

Variables = Mapping[str, tuple[str, str]]


class Average:
    """Local models are averaged as they are after each local update, as in (18) of ryu2022.

    Attributes
    ----------
    before
        Whether they are averaged as they are before it instead. The global model is that of the round.
    variables
        What is measured, as `Algorithm.variables`.
    evaluated
        As `Algorithm.evaluated`.
    """

    before: ClassVar[bool] = False
    variables: ClassVar[Variables] = {
        "averaged_objective": (UNIT_OF_LOSS, "sum of the objectives at the agents' mean models"),
        "averaged_gap": ("1", "distance of the mean models from the mean global model"),
    }
    evaluated: ClassVar[Collection[str]] = ("averaged_objective",)

    def weight(self, t: int) -> int:
        """Weight of round t in averages, over the sum of weights."""
        return 1

    def total(self, T: int) -> float:
        """Sum of the weights of T rounds."""
        return T

    def check(self, method: Any, problem: Problem) -> None:
        """Raise a ValueError if a method or a problem is not what is averaged."""

    def start(
        self, method: Any, state: ConsensusState, federation: RowFederation
    ) -> ConsensusState:
        """Return the state before the first round, with what is needed besides the sums."""
        return state

    def round(
        self, t: int, method: Any, state: ConsensusState, federation: RowFederation
    ) -> Messages:
        """Do a round, and add its models to the sums."""
        sums, weight, E = state.sums, self.weight(t), method.updates
        assert sums is not None
        if self.before:  # the mean of all iterates but the last, with the one before them
            sums.z += weight / E * state.iterates
        sent = self.exchange(t, method, state, federation)
        sums.w += weight * state.w
        if not self.before:
            sums.z += weight * state.z
        elif E > 1:
            sums.z += weight * (state.z - state.iterates / E)
        return sent

    def exchange(
        self, t: int, method: Any, state: ConsensusState, federation: RowFederation
    ) -> Messages:
        """Do a round."""
        return method.exchange(t, state, federation)

    def means(self, t: int, state: ConsensusState) -> tuple[Array, Array]:
        """Return means of local models, and the norms of their distances from that of the global ones, (P, S)."""
        assert state.sums is not None
        w, z = (each / self.total(t) for each in (state.sums.w, state.sums.z))
        return z, norms(w - z)

    def measure(
        self, t: int, method: Any, state: ConsensusState, federation: RowFederation
    ) -> dict[str, Array]:
        """Return the `variables` after round t, each of shape (S,)."""
        z, apart = self.means(t, state)
        own = objective(z.astype(federation.problem.dtype), federation)
        gap = np.sqrt((apart**2).sum(axis=0))
        return {"averaged_objective": own.sum(axis=0), "averaged_gap": gap}


class Before(Average):
    """Local models are averaged as they are before each local update, as in (21) of ryu2022."""

    before = True


def objective(z: Array, federation: RowFederation) -> Array:
    """Return f_p at each agent's model, shape (P, S)."""
    whole = federation.problem

    def of_block(block: RowBlock) -> Array:
        own = z[block.agents]
        value: Array = block.parts.losses(own) / block.parts.objective.divisor
        return value + whole.own_strength * whole.penalty.value(own)

    return np.concatenate(federation.each(of_block))


AVERAGES: Mapping[str, Average] = {"before": Before(), "after": Average()}
