"""Private SGD over distributed features: noise on predictions and gradients of parties, our rival of hu2019."""

from __future__ import annotations

import math
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from admmbench.base.algorithm import parameters
from admmbench.base.epochs import Epochs, Model
from admmbench.base.types import Array, ColumnBlock, ColumnFederation, Guarantee, Messages
from admmbench.privacy import Release
from admmbench.sensitivity import Sensitivity

# A row may be zero.
_SHORT = 1e-30


@parameters
class PrivateVerticalSGD(Epochs):
    """Minibatch gradient descent whose parties add noise to clipped predictions and to sums of clipped gradients.

    For a batch, each party sends its clipped part of the predictions with noise, and all receive the sum. With its
    derivatives, which all know, a party updates its model by a noisy sum of clipped gradients, as DP-SGD does. A round
    is an epoch, in an order that all parties know: a row is in one batch of it, so it pays once, and no credit is taken
    for samples. Models start at random and are evaluated with their noise. docs/privacy/special.md has the proof.

    Neighbours differ in one record at one party: its features there are zero, or others.

    Parameters
    ----------
    clip
        Bound on the norm of a record's gradient at a party.
    clip_predictions
        Bound on a party's part of a prediction.
    share
        Part of a round's privacy loss (inverse squared multiplier) that goes to the predictions.
    """

    release = Release("gaussian", "predictions")
    examples = ({"batch_size": 20, "share": 0.2},)

    clip: Annotated[float, Field(gt=0)] = 1.0
    clip_predictions: Annotated[float, Field(gt=0)] = 1.0
    share: Annotated[float, Field(gt=0, lt=1)] = 0.5

    def guarantee(self, sensitivity: Literal["local", "global"]) -> Guarantee:
        """Clipping bounds what any record does, so that there is a proof for both kinds of sensitivity."""
        return super().guarantee("global")

    def round(self, t: int, state: Model, federation: ColumnFederation) -> Messages:
        """Do one epoch."""
        problem = federation.problem
        orders = federation.draw(lambda generator: generator.permutation(problem.n_samples))
        step, strength = self.learning_rate / math.sqrt(t), problem.problem.strength
        sent = np.zeros((problem.n_agents, problem.n_seeds, problem.n_samples), problem.dtype)
        # A row is in one batch: its prediction and its gradient share the release of its party.
        releases = [block.noise.shared(problem.n_samples) for block in federation.blocks]

        def noisy(
            block: ColumnBlock, value: Array, bound: float, share: float, rows: Array
        ) -> Array:
            """Add noise to a value that a row moves by a bound, for a share of the privacy loss of a round."""
            sensitivity = Sensitivity(l2=np.full(value.shape[:2], bound))
            release = releases[block.agents.start]
            found: Array = value + release.share(sensitivity, share, rows, value.shape[2:])
            return found

        for start in range(0, problem.n_samples, self.batch_size):
            rows = orders[:, start : start + self.batch_size]

            def predict(block: ColumnBlock, rows: Array = rows) -> Array:
                D, w = self.part(block, rows), state.w[:, 0, block.parts.columns, None]
                # Models that overflow are known to all; what is sent must stay within its bound all the same.
                predictions = np.nan_to_num(np.matmul(D, w)[..., 0])
                bound = self.clip_predictions
                clipped = np.clip(predictions, -bound, bound)[None]
                return noisy(block, clipped, bound, self.share, rows)

            predictions = np.concatenate(federation.each(predict))
            np.put_along_axis(sent, rows[None], predictions, axis=2)
            derivative = problem.loss.derivative(
                predictions.sum(axis=0, dtype=np.float64), problem.y[rows]
            )

            def descend(block: ColumnBlock, rows: Array = rows, g: Array = derivative) -> Array:
                D = self.part(block, rows)
                # The gradient of record i is g_i D_i, with norm |g_i| ||D_i||.
                most = self.clip / np.maximum(np.linalg.norm(D, axis=2), _SHORT)
                gradient = np.matmul(np.clip(g, -most, most)[:, None], D)[None, :, 0]
                return noisy(block, gradient, self.clip, 1 - self.share, rows)[0]

            gradient = np.concatenate(federation.each(descend), axis=1)[:, None] / rows.shape[1]
            w = state.w
            change = step * (gradient + strength * problem.penalty.gradient(w))
            state.w = w - change.astype(w.dtype)
        return Messages(down=(sent.sum(axis=0),), up=(sent,))

    @staticmethod
    def part(block: ColumnBlock, rows: Array) -> Array:
        """Return a party's columns of a batch, in double precision, shape (S, B, d_m)."""
        return np.asarray(block.parts.D[rows], np.float64)
