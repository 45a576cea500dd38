"""SGD over distributed features, the baseline of hu2019 (Hu, Niu, Yang and Zhou, "FDML", KDD 2019)."""

from __future__ import annotations

import math

import numpy as np

from admmbench.base.algorithm import parameters
from admmbench.base.epochs import Epochs, Model
from admmbench.base.types import ColumnFederation, Messages


@parameters
class VerticalSGD(Epochs):
    """Minibatch gradient descent: for a batch, parties send their parts of the predictions and receive the sum.

    A round is an epoch: every sample is in one batch, in an order that each seed draws for itself. FDML lets parties
    work with predictions that are some batches old; here they are in step, which is its best case. The step size falls
    with the square root of the epoch, as FDML's does with the iteration. Models start at random (hu2019, section 5).
    """

    examples = ({"batch_size": 20},)

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
