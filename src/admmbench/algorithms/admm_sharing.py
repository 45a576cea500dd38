"""ADMM sharing: parties with different features of the same samples share predictions (hu2019, algorithm 1)."""

from __future__ import annotations

from collections.abc import Sequence

from admmbench.base.algorithm import Family, parameters
from admmbench.base.observers import Observer
from admmbench.base.sharing import Sharing
from admmbench.problems.base import Problem
from admmbench.theorems.hu2019 import Lemma4


@parameters
class ADMMSharing(Sharing):
    """Algorithm 1, (6) to (8). The privacy budget has no effect: what is sent has no noise.

    Its rival, for which Hong, Luo and Razaviyayn (2016) prove convergence, has ``coupling: sequential``.

    Parameters
    ----------
    theorems
        Whether both sides of lemma 4 are measured, from which theorems 1 and 2 follow; the problem must meet
        assumption 1.
    """

    family = Family(mechanism="sharing")
    examples = ({"coupling": "averaged"}, {"coupling": "sequential"})

    theorems: bool = False

    def observers(self, problem: Problem) -> Sequence[Observer]:
        """Measure lemma 4 if it is asked for."""
        return [Lemma4(self)] if self.theorems else []
