"""Random streams: each comes from (seed, agent, purpose) alone, whatever else runs beside it."""

from __future__ import annotations

from typing import Literal

import numpy as np

Purpose = Literal["noise", "partition"]
_PURPOSES: dict[Purpose, int] = {"noise": 0, "partition": 1}

# Stands for the federation as a whole where a stream belongs to no agent.
FEDERATION = 2**32 - 1


def stream(seed: int, agent: int, purpose: Purpose) -> np.random.Generator:
    """Independent generator for a seed, an agent and a purpose.

    ``SeedSequence`` hashes all three into the state, so that streams do not overlap in practice; SFC64 is the fastest
    of numpy's bit generators.
    """
    sequence = np.random.SeedSequence(seed, spawn_key=(agent, _PURPOSES[purpose]))
    return np.random.Generator(np.random.SFC64(sequence))
