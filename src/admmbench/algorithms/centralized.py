"""Centralized: the optimum over the records of all agents, without privacy; what the others are compared with."""

from __future__ import annotations

from admmbench.algorithms.base import Algorithm, Consensus, Federation, Messages, parameters


@parameters
class Centralized(Algorithm):
    """Minimiser w* of sum_i f_i, by scikit-learn, from the first round on; nothing is sent, and no budget matters."""

    def round(self, t: int, state: Consensus, federation: Federation) -> Messages:
        """Find the optimum, once."""
        if t == 1:
            state.w = federation.problem.optimum()
            state.z[:] = state.w
        return Messages(down=(), up=())
