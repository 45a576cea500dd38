"""Rows of the report: numbers, units and keys, from which templates write the sentences of page and terminal."""

from __future__ import annotations

from typing import NamedTuple


class Protected(NamedTuple):
    """What totals protect; or that a delta is too large to protect it."""

    unit: str
    """As of `admmbench.privacy.Neighbours`."""
    delta: float | None = None
    """The largest one, if it is above 1 / n."""
    n: int | None = None
    """Number of training records or agents, if delta is too large for it."""


class Budgets(NamedTuple):
    """What the budgets of an experiment promise, with the labels of the methods that a fact is of."""

    whole_runs: bool
    """Whether budgets are totals of whole runs, and not of one iteration."""
    sensitivity: str
    guarantees: dict[str, list[str]]
    neighbours: dict[tuple[str, str], list[str]]
    """By relation and unit."""
    notions: dict[str, list[str]]
    beyond_proof: bool
    """Whether Gaussian noise was calibrated for one iteration beyond the budgets that a proof covers."""
