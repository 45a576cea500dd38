"""Engine: rounds, random streams, batching over seeds, threads, evaluation."""

from admmbench.engine.simulate import simulate

__all__ = ["simulate"]
