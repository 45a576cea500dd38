"""Figures of an experiment: what the configuration may ask for, and how each kind is drawn."""

# A kind is one class in one module; naming the module here makes it known.
from admmbench.figures import agents, curves, tradeoff
from admmbench.figures.base import Figure

__all__ = ["Figure", "agents", "curves", "tradeoff"]
