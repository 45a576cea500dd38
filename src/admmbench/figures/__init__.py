"""Figures of an experiment: a kind makes a tidy table of the results, which seaborn draws."""

from admmbench.figures.base import Figure

__all__ = ["Figure"]
