"""The frame of algorithms 1 to 3 of huang2019: agents first, then the server, then the dual variables.

The methods differ in how an agent finds its new local model; each states it in its own module.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from admmbench.algorithms.base import (
    ADMM,
    Array,
    Block,
    Consensus,
    Federation,
    Messages,
    dual_ascent,
    parameters,
    server_average,
)


@parameters
class AgentsFirst(ADMM):
    """Consensus ADMM in the order of huang2019; the loss is averaged over an agent's own records."""

    @abstractmethod
    def primal(
        self, t: int, block: Block, z: Array, w: Array, dual: Array, rho: float, privacy: Any
    ) -> Array:
        """Return what the agents of a block send, shape (B, S, K, J), from their last message ``z``."""

    def round(self, t: int, state: Consensus, federation: Federation) -> Messages:
        """Do one pass of the loop over k, lines 3 to 11 of algorithm 3."""
        privacy = federation.privacy
        rho = self.rho(t, privacy.epsilon)

        def primal(block: Block) -> None:  # lines 3 to 7
            p = block.agents
            state.z[p] = self.primal(t, block, state.z[p], state.w, state.dual[p], rho, privacy)

        def dual(block: Block) -> None:  # line 10
            p = block.agents
            dual_ascent(state.dual[p], rho, state.w, state.z[p], out=state.dual[p])

        federation.each(primal)
        state.w = server_average(state, rho)  # line 8
        federation.each(dual)
        return Messages(down=(state.w,), up=(state.z, state.dual))


def record_count(local: Any) -> Array:
    """m_i, shape (B, 1); 1 for an agent without records, whose sums are 0 anyway."""
    counts: Array = local.n_samples[:, None].clip(1)
    return counts
