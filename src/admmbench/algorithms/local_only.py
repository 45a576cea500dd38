"""Local only: the optimum that the first parties reach with their own features, a baseline of hu2019."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from admmbench.base.algorithm import parameters
from admmbench.base.optimum import Optimum, Whole
from admmbench.base.types import Array
from admmbench.problems.base import Problem
from admmbench.problems.columns import BoundColumns


@parameters
class LocalOnly(Optimum):
    """Optimum over the features of the first parties, found by a solver.

    Parameters
    ----------
    parties
        How many of the first parties join their features.
    """

    sharing = ("columns",)

    parties: Annotated[int, Field(ge=1)] = 1

    def check(self, problem: Problem, agents: int) -> None:
        """Raise a ValueError if there are fewer parties."""
        if self.parties > agents:
            raise ValueError(f"parties: {self.parties}, but there are {agents} parties")

    def find(self, problem: Whole) -> Array:
        """Find the model, whose other entries are 0."""
        assert isinstance(problem, BoundColumns)
        return problem.optimum(self.parties)
