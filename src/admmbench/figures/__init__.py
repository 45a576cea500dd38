"""Figures of an experiment: a kind is a tidy table of the results, and what seaborn draws of it."""

from admmbench.figures.base import Figure

__all__ = ["Figure"]
