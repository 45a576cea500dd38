"""Minibatches over distributed features: models of parties, and the order of records in an epoch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from pydantic import Field

from admmbench.base.algorithm import Algorithm, Resources, parameters
from admmbench.base.types import Array, ColumnFederation


@dataclass
class Model:
    """State of SGD over features."""

    w: Array
    """Models of all parties, one after another, shape (S, 1, J)."""


@parameters
class Epochs(Algorithm[Model, ColumnFederation]):
    """Methods whose round is an epoch: every sample is in one batch, in an order that each seed draws for itself.

    Parameters
    ----------
    learning_rate
        Step size of the first epoch; it falls with the square root of the epoch.
    batch_size
        Samples in a batch.
    init_std
        Standard deviation of the first models.
    """

    sharing = ("columns",)
    resources = Resources(state_copies=0)
    draws = True

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
