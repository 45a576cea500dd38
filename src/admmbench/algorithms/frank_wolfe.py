"""Frank-Wolfe over distributed features and an l1 ball (Bellet, Liang, Garakani, Balcan and Sha, 2015)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from pydantic import Field

from admmbench.base.algorithm import Algorithm, Resources, parameters
from admmbench.base.types import UNIT_OF_LOSS, Array, ColumnBlock, ColumnFederation, Messages


@dataclass
class Vertices:
    """Convex combination of vertices of the ball, for S seeds."""

    w: Array
    """Models of all parties, one after another, shape (S, 1, J)."""
    predictions: Array
    """Their sum of predictions, which all parties know, shape (S, N)."""


@parameters
class FrankWolfe(Algorithm[Vertices, ColumnFederation]):
    """Minimisation over ``||x||_1 <= radius``, in rounds that each move towards one vertex, that of one feature.

    Each party sends the entry of its gradient with the largest absolute value, and the party with the largest of all
    sends that column of its data as it is. This is the basic variant of the authors' code, dFW.

    Parameters
    ----------
    radius
        Of the ball.
    """

    sharing = ("columns",)
    variables = {
        "duality_gap": (UNIT_OF_LOSS, "bound on the distance from the optimum over the ball")
    }
    resources = Resources(state_copies=1)
    needs = ("smooth penalty",)  # its gradient is a part of the objective's
    examples = ({"radius": 1.0},)

    radius: Annotated[float, Field(gt=0)] = 10.0

    def init(self, federation: ColumnFederation) -> Vertices:
        """Start at zero."""
        problem = federation.problem
        S, dtype = problem.n_seeds, problem.dtype
        shape = (S, *problem.model_shape)
        return Vertices(np.zeros(shape, dtype), np.zeros((S, problem.n_samples), dtype))

    def round(self, t: int, state: Vertices, federation: ColumnFederation) -> Messages:
        """Move by ``2 / (t + 1)`` towards the vertex of the largest entry of the gradient, against its sign."""
        problem = federation.problem
        gradient, rows = self.gradient(state, federation), np.arange(problem.n_seeds)
        largest = np.abs(gradient).argmax(axis=1)
        sign = np.where(gradient[rows, largest] >= 0, 1, -1).astype(problem.dtype)
        vertex = np.zeros_like(state.w)
        vertex[rows, 0, largest] = -self.radius * sign
        column = problem.X[:, largest].T
        step = problem.dtype.type(2 / (t + 1))
        state.w = (1 - step) * state.w + step * vertex
        to_vertex = -problem.dtype.type(self.radius) * sign[:, None] * column
        state.predictions = (1 - step) * state.predictions + step * to_vertex
        # Of each party an entry and a part of the duality gap, which all receive with the column.
        up = np.broadcast_to(np.float32(0), (problem.n_agents, problem.n_seeds, 2))
        return Messages(down=(up[0], column), up=(up,))

    def gradient(self, state: Vertices, federation: ColumnFederation) -> Array:
        """Return the gradient of the mean objective, to which each party adds its columns; shape (S, J)."""
        problem = federation.problem
        derivative = problem.loss.derivative(state.predictions, problem.y) / problem.n_samples

        def of_party(block: ColumnBlock) -> Array:
            return block.parts.back(derivative)

        own = np.concatenate(federation.each(of_party), axis=1)
        penalty = problem.penalty.gradient(state.w[:, 0])
        return np.asarray(own + problem.dtype.type(problem.problem.strength) * penalty)

    def measure(self, t: int, state: Vertices, federation: ColumnFederation) -> dict[str, Array]:
        """Return ``<x, g> + radius ||g||_inf`` for the gradient g at x, with which the authors' code stops."""
        gradient = self.gradient(state, federation).astype(np.float64)
        inner = (gradient * state.w[:, 0]).sum(axis=1)
        return {"duality_gap": inner + self.radius * np.abs(gradient).max(axis=1)}
