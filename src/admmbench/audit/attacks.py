"""Levels 4 and 5: attacks that tell runs of the two worlds apart, and what they bound epsilon by from below."""

from __future__ import annotations

import numpy as np

from admmbench.audit.bounds import bound_of_scores
from admmbench.audit.findings import Finding, checked
from admmbench.audit.levels import log_ratio
from admmbench.audit.tapes import SPHERICAL, Taped
from admmbench.audit.worlds import Pair, Run, innermost
from admmbench.frames.base import Array
from admmbench.problems.rows import BoundRows

TRAJECTORY, MODEL = "lower bound", "black box"
ANY, ON_GRID = "attack", "attack on the grid of the noise"
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


def of_lattice(pair: Pair) -> Scores | None:
    """Scores of an attacker who knows the grid of noise inside a problem; None if there is no such noise.

    The noise that a solution is due to is near points of the grid in its own world, if nothing hides it.
    """
    if not any(each.parts[-1].solution for each in pair.first.releases):
        return None
    return (
        _nearer(pair.first, pair.first_taken, pair.second_as_first),
        _nearer(pair.second, pair.first_as_second, pair.second),
    )


def _nearer(run: Run, first: Run, second: Run) -> Array:
    """How much nearer to its grid the noise is that a run's solutions are due to in the first world, shape (S,)."""
    found = np.zeros(run.federation.problem.n_seeds)
    for own, one, other in innermost(run, first, second):
        if own.solution:
            found += (_on_grid(own, one) - _on_grid(own, other)).sum(axis=0)
    return found


def _on_grid(run: Taped, world: Taped) -> Array:
    """How near the noise of a release is to its grid in a world, shape (B, S): 1 an entry if it is there, 0 by chance.

    Of spherical noise only the norm is on a grid.
    """
    noise, grid = run.noise(world), run.grid
    if run.law == SPHERICAL:
        noise, grid = np.linalg.norm(noise, axis=-1, keepdims=True), grid * run.scale
    grid = grid[..., None]
    steps = np.divide(noise, grid, out=np.zeros_like(noise), where=grid > 0)
    found: Array = np.cos(2 * np.pi * steps).sum(axis=-1)
    return found


def _loss(models: Array, world: Run, row: int) -> Array:
    """Loss of a world's record under models of shape (S, K, J), shape (S,); a null record has a constant one."""
    problem = world.federation.problem
    assert isinstance(problem, BoundRows)
    return problem.loss.losses(models @ problem.X[row], problem.y[row])


def lower_bound(
    level: str,
    canary: str,
    scores: Scores,
    delta: float,
    confidence: float,
    total: float,
    attack: str = ANY,
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
    attack
        What it is, in words.
    """
    first, second = (np.nan_to_num(each) for each in scores)
    value = bound_of_scores(first, second, delta, confidence)
    most = power(len(first), delta, confidence)
    sentence = (
        f"An {attack} shows that epsilon is at least {value:.3f}, without an error it would show "
        f"{most:.3f}; composed is {total:.3f}."
    )
    fault = f"The total does not hold: {sentence[0].lower()}{sentence[1:]}"
    return checked(level, canary, value, total, None if value <= total else fault, sentence)


def power(runs: int, delta: float, confidence: float) -> float:
    """What an attack without an error shows with so many runs in each world."""
    return bound_of_scores(np.ones(runs), np.zeros(runs), delta, confidence)
