"""Levels 4 and 5: attacks that tell runs of the two worlds apart, and what they bound epsilon by from below."""

from __future__ import annotations

import numpy as np

from admmbench.algorithms.base import Array
from admmbench.audit.bounds import bound_of_scores
from admmbench.audit.likelihood import log_ratio
from admmbench.audit.report import Finding
from admmbench.audit.worlds import Pair, Run
from admmbench.problems.rows import BoundRows

TRAJECTORY, MODEL = "lower bound", "black box"
Scores = tuple[Array, Array]
"""Of runs of the first and of the second world, each of shape (S,); runs of the first should have the larger ones."""


def of_trajectory(pair: Pair, sampling: float) -> Scores:
    """Scores of an attacker who sees all messages: the log-likelihood ratio of the noisy values, the best score."""
    return (
        log_ratio(pair.first, pair.first_taken, pair.second_as_first, sampling),
        log_ratio(pair.second, pair.first_as_second, pair.second, sampling),
    )


def of_model(pair: Pair, row: int) -> Scores:
    """Scores of an attacker who sees the final global model: how much better it fits the first world's record."""
    first, second = (
        _loss(run.model, pair.second, row) - _loss(run.model, pair.first, row)
        for run in (pair.first, pair.second)
    )
    return first, second


def _loss(models: Array, world: Run, row: int) -> Array:
    """Loss of a world's record under models of shape (S, K, J), shape (S,); a null record has a constant one."""
    problem = world.federation.problem
    assert isinstance(problem, BoundRows)
    return problem.loss.losses(models @ problem.X[row], problem.y[row])


def lower_bound(
    level: str, canary: str, scores: Scores, delta: float, confidence: float, total: float
) -> Finding:
    """Bound epsilon from below by an attack, and compare it with the ledger's total.

    Parameters
    ----------
    level, canary
        Names.
    scores
        The attack's, of all runs.
    delta
        Delta of the guarantee.
    confidence
        In the bound.
    total
        Total of the ledger.
    """
    first, second = (np.nan_to_num(each) for each in scores)
    value = bound_of_scores(first, second, delta, confidence)
    good = value <= total
    most = power(len(first), delta, confidence)
    sentence = (
        f"An attack shows that epsilon is at least {value:.3f}, without an error it would show {most:.3f}; composed is "
        f"{total:.3f}."
    )
    if not good:
        sentence = f"The total does not hold: {sentence[0].lower()}{sentence[1:]}"
    return Finding(
        level=level, canary=canary, passed=good, value=value, bound=total, sentence=sentence
    )


def power(runs: int, delta: float, confidence: float) -> float:
    """What an attack without an error shows with so many runs in each world."""
    return bound_of_scores(np.ones(runs), np.zeros(runs), delta, confidence)
