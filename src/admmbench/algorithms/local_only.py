"""Local only: the optimum that the first parties reach with their own features, a baseline of hu2019."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from admmbench.algorithms.base import (
    Algorithm,
    Consensus,
    Federation,
    Messages,
    need_convex,
    parameters,
)


@parameters
class LocalOnly(Algorithm):
    """Logistic regression by scikit-learn on the features of the first parties; nothing is sent.

    Parameters
    ----------
    parties
        How many of the first parties join their features.
    """

    shares = ("columns",)

    parties: Annotated[int, Field(ge=1)] = 1

    def check(self, problem: Any) -> None:
        """The optimum is scikit-learn's."""
        need_convex(problem, "local_only")

    def round(self, t: int, state: Consensus, federation: Federation) -> Messages:
        """Find the optimum, once."""
        problem = federation.problem
        if self.parties > problem.n_agents:
            raise ValueError(f"params.parties: {self.parties}, but there are {problem.n_agents}")
        if t == 1:
            state.w = problem.optimum(self.parties)
            state.z[:] = state.w
        return Messages(down=(), up=())
