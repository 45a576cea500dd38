"""Random streams: each comes from (seed, agent, purpose) alone, whatever else runs beside it."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

Purpose = Literal["choices", "partition", "noise", "instance", "sample", "audit", "canaries"]
"""What numbers are for; a purpose's place in this list is part of its streams, so that new ones come last."""

# Stands for the federation as a whole where a stream belongs to no agent.
FEDERATION = 2**32 - 1


def stream(seed: int, agent: int, purpose: Purpose) -> np.random.Generator:
    """Return an independent generator for a seed, an agent and a purpose.

    ``SeedSequence`` hashes all three into the state, so that streams do not overlap in practice; SFC64 is the fastest
    of numpy's bit generators.
    """
    return np.random.Generator(np.random.SFC64(_sequence(seed, agent, purpose)))


def noise_key(seed: int, agent: int) -> NDArray[Any]:
    """Return the key of an agent's noise, two words of 32 bits: see `admmbench.privacy.samplers`."""
    return np.array(_key(seed, agent, "noise"), np.uint32)


def sample_key(seed: int, agent: int) -> NDArray[Any]:
    """Return the key of an agent's samples of its records, two words of 32 bits."""
    return np.array(_key(seed, agent, "sample"), np.uint32)


# An audit plays the same seeds again and again, and a key takes as long as a short round of an agent.
@lru_cache(maxsize=2**16)
def _key(seed: int, agent: int, purpose: Purpose) -> tuple[int, int]:
    first, second = _sequence(seed, agent, purpose).generate_state(2).tolist()
    return first, second


def _sequence(seed: int, agent: int, purpose: Purpose) -> np.random.SeedSequence:
    return np.random.SeedSequence(seed, spawn_key=(agent, get_args(Purpose).index(purpose)))
