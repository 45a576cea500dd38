"""SGD over distributed features, the baseline of hu2019 (Hu, Niu, Yang and Zhou, "FDML", KDD 2019)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from pydantic import Field

from admmbench.base.algorithm import Algorithm, Resources, parameters
from admmbench.base.types import Array, ColumnFederation, Messages


@dataclass
class Model:
    """State of SGD over features."""

    w: Array
    """Models of all parties, one after another, shape (S, 1, J)."""


@parameters
class VerticalSGD(Algorithm[Model, ColumnFederation]):
    """Minibatch gradient descent: for a batch, parties send their parts of the predictions and receive the sum.

    A round is an epoch: every sample is in one batch, in an order that each seed draws for itself. FDML lets parties
    work with predictions that are some batches old; here they are in step, which is its best case. The step size falls
    with the square root of the epoch, as FDML's does with the iteration. Models start at random (hu2019, section 5).

    Parameters
    ----------
    learning_rate
        Step size of the first epoch.
    batch_size
        Samples in a batch.
    init_std
        Standard deviation of the first models.
    """

    sharing = ("columns",)
    resources = Resources(state_copies=0)
    draws = True
    examples = ({"batch_size": 20},)

    learning_rate: Annotated[float, Field(gt=0)] = 0.1
    batch_size: Annotated[int, Field(ge=1)] = 100
    init_std: Annotated[float, Field(ge=0)] = 0.01

    def init(self, federation: ColumnFederation) -> Model:
        """Models start at random."""
        problem = federation.problem
        normal = federation.draw(
            lambda generator: generator.standard_normal(problem.model_shape, np.float32)
        )
        return Model((self.init_std * normal).astype(problem.dtype))

    def round(self, t: int, state: Model, federation: ColumnFederation) -> Messages:
        """Do one epoch."""
        problem = federation.problem
        orders = federation.draw(lambda generator: generator.permutation(problem.n_samples))
        step = problem.dtype.type(self.learning_rate / math.sqrt(t))
        strength = problem.dtype.type(problem.problem.strength)
        w = state.w
        for start in range(0, problem.n_samples, self.batch_size):
            rows = orders[:, start : start + self.batch_size]
            X, y = problem.X[rows], problem.y[rows]
            # The sum of the parties' parts is the prediction of the joined model.
            predictions = np.matmul(X, w.transpose(0, 2, 1))[..., 0]
            derivative = problem.loss.derivative(predictions, y)[:, None] / rows.shape[1]
            w = w - step * (np.matmul(derivative, X) + strength * problem.penalty.gradient(w))
        state.w = w
        sent = np.broadcast_to(
            np.float32(0), (problem.n_agents, problem.n_seeds, problem.n_samples)
        )
        return Messages(down=(sent[0],), up=(sent,))
