"""A run between two rounds, and what keeps it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from admmbench.base.observers import Observer
from admmbench.engine.trace import Trace
from admmbench.privacy import Noise
from admmbench.problems.base import State


@dataclass
class Snapshot:
    """State of a run between two rounds: all that the rounds to come depend on."""

    t: int
    """Rounds done."""
    state: State
    """Variables of the algorithm."""
    noise: list[Noise]
    """Noise sources of the blocks of agents, with their ledgers."""
    choices: list[np.random.Generator]
    """Sources of what all agents know."""
    trace: Trace
    seconds: float = 0.0
    """Computing time so far."""
    elapsed: float = 0.0
    """Wall-clock time so far, in all attempts."""
    done: list[dict[str, Any]] = field(default_factory=list)
    """What was recorded of the seeds before, where each is a run of its own."""
    observers: Sequence[Observer] = ()
    """What measures the run."""

    def variables(self) -> dict[str, Any]:
        """Return all that must be kept, as numbers, text, arrays, lists, mappings and dataclasses."""
        return {
            "t": self.t,
            "seconds": self.seconds,
            "elapsed": self.elapsed,
            "state": self.state,
            "noise": [
                {"ledgers": [ledger.variables() for ledger in noise.ledgers]}
                for noise in self.noise
            ],
            "choices": [generator.bit_generator.state for generator in self.choices],
            "trace": self.trace.variables(),
            "observers": [observer.memory for observer in self.observers],
            "done": self.done,
        }

    def restore(self, variables: dict[str, Any]) -> None:
        """Set everything to what `variables` returned; of a later seed it takes what was recorded before alone."""
        if len(variables["done"]) > len(self.done):
            self.done = variables["done"]
            return
        self.t, self.seconds, self.elapsed = (
            variables[name] for name in ("t", "seconds", "elapsed")
        )
        self.state = variables["state"]
        for noise, kept in zip(self.noise, variables["noise"], strict=True):
            for ledger, mechanisms in zip(noise.ledgers, kept["ledgers"], strict=True):
                ledger.restore(mechanisms)
        for generator, state in zip(self.choices, variables["choices"], strict=True):
            generator.bit_generator.state = state
        for observer, memory in zip(self.observers, variables["observers"], strict=True):
            observer.memory = memory
        self.trace.restore(variables["trace"])


class Keeper(Protocol):
    """Checkpoint of a run between two rounds, so that it can continue later."""

    def load(self, snapshot: Snapshot) -> None:
        """Set a new run to the state that was kept, if there is one."""

    def after_round(self, snapshot: Snapshot) -> None:
        """Take note of a finished round; may raise, to end the run here."""

    def save(self, snapshot: Snapshot) -> None:
        """Keep a run that is about to end before its last round."""
