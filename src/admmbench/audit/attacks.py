"""Levels 4 and 5: attacks that tell runs of the two worlds apart, and what they bound epsilon by from below."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from admmbench.audit.findings import Finding, checked
from admmbench.audit.levels import log_ratio
from admmbench.audit.tapes import SPHERICAL, Taped
from admmbench.audit.worlds import Pair, Played, Run, innermost
from admmbench.base.types import Array
from admmbench.inference.intervals import clopper_pearson
from admmbench.privacy import Ledger
from admmbench.privacy.curves import curve
from admmbench.problems.rows import BoundRows

TRAJECTORY, MODEL = "lower bound", "black box"
ANY, ON_GRID = "attack", "attack on the grid of the noise"
# The part of the scores that chooses the threshold.
_HELD_OUT = 4
# Rates of false alarms at which curves are kept: more of them where curves are steep.
_ALARMS = np.linspace(0, 1, 41) ** 2

Scores = tuple[Array, Array]
"""Of runs of the first and of the second world, each of shape (S,); runs of the first should have the larger ones."""


def of_trajectory(pair: Pair, sampling: float) -> Scores:
    """Score runs as who sees all messages does: by the log-likelihood ratio of noisy values, the best score."""
    return log_ratio(pair.first, sampling), log_ratio(pair.second, sampling)


def of_model(pair: Pair, row: int) -> Scores:
    """Score runs as who sees the final global model does: by how much better it fits the first world's record."""
    first, second = (
        _loss(of.run.model, pair.second.run, row) - _loss(of.run.model, pair.first.run, row)
        for of in (pair.first, pair.second)
    )
    return first, second


def of_lattice(pair: Pair) -> Scores | None:
    """Score runs as who knows the grid of noise inside a problem does; return None if there is no such noise.

    The noise that a solution is due to is near points of the grid in its own world, if nothing hides it.
    """
    if not any(part.solution for (part,) in innermost(pair.first.run)):
        return None
    return _nearer(pair.first), _nearer(pair.second)


def _nearer(of: Played) -> Array:
    """How much nearer to its grid the noise is that a run's solutions are due to in the first world, shape (S,)."""
    found = np.zeros(of.run.federation.problem.n_seeds)
    for own, one, other, _ in innermost(*of):
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
    return np.asarray(np.cos(2 * np.pi * steps).sum(axis=-1))


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
    ledger: Ledger,
    attack: str = ANY,
) -> Finding:
    """Bound epsilon from below by an attack, and compare it with the ledger's total, and its rates with the curve.

    Parameters
    ----------
    level, canary
        Names.
    scores
        The attack's, of all runs.
    delta
        Delta of the guarantee.
    confidence
        In the bound and in the rates, together.
    ledger
        All releases of the agent who pays most.
    attack
        What it is, in words.
    """
    first, second = (np.nan_to_num(each) for each in scores)
    tested = _tested(first, second, delta, confidence)
    value = float(epsilon_lower(*tested, delta, confidence))
    rates = _both_rates(*tested, confidence)
    (hits, _), (_, alarms) = rates
    total, allowed = ledger.epsilon(delta), float(curve(ledger.spending()).power(alarms))
    sentence = (
        f"An {attack} shows that epsilon is at least {value:.3f}, without an error it would show "
        f"{power(len(first), delta, confidence):.3f}; composed is {total:.3f}. It finds the canary in at least "
        f"{hits:.1%} of the runs, with at most {alarms:.1%} false alarms; the releases allow {allowed:.1%}."
    )
    fault = None
    if not (value <= total and hits <= allowed):
        fault = f"The total does not hold: {sentence[0].lower()}{sentence[1:]}"
    found = checked(level, canary, value, total, fault, sentence)
    ends = tuple((float(low), float(high)) for low, high in rates)
    return found.model_copy(update={"rates": ends})


def points(ledger: Ledger) -> tuple[tuple[float, float], ...]:
    """Return some points of the trade-off curve of all releases: rates of false alarms, and the hits they allow."""
    hits = curve(ledger.spending()).power(_ALARMS)
    return tuple(zip(_ALARMS.tolist(), hits.round(6).tolist(), strict=True))


def power(runs: int, delta: float, confidence: float) -> float:
    """Return what an attack without an error would show with so many runs in each world."""
    return bound_of_scores(np.ones(runs), np.zeros(runs), delta, confidence)


def bound_of_scores(first: Array, second: Array, delta: float, level: float) -> float:
    """Bound epsilon from below by the scores of independent runs of the first and of the second world, shape (n,).

    The attack takes runs with large scores for runs of the first world; see `epsilon_lower`.
    """
    return float(epsilon_lower(*_tested(first, second, delta, level), delta, level))


def _tested(first: Array, second: Array, delta: float, level: float) -> tuple[int, int, int, int]:
    """Test a threshold: hits among so many runs of the first world, and alarms among so many of the second.

    The first quarter of the scores chooses the threshold, and the rest tests it: so the bound is valid.
    """
    cut = len(first) // _HELD_OUT
    held_out: Any = np.unique(np.concatenate([first[:cut], second[:cut]]))
    thresholds = (held_out[1:] + held_out[:-1]) / 2 if len(held_out) > 1 else held_out

    def counts(scores: Array, over: Array) -> Array:
        return (scores[:, None] > over).sum(axis=0)

    chosen = epsilon_lower(
        counts(first[:cut], thresholds), cut, counts(second[:cut], thresholds), cut, delta, level
    )
    # Where no threshold tells the worlds apart, the one in the middle is as good as any.
    middle = np.abs(np.arange(len(thresholds)) - len(thresholds) // 2)
    best = thresholds[np.lexsort((middle, -chosen))[:1]]
    rest = first[cut:], second[cut:]
    hits, alarms = (int(counts(scores, best)[0]) for scores in rest)
    return hits, len(rest[0]), alarms, len(rest[1])


def epsilon_lower(
    true_positives: ArrayLike,
    n_positive: int,
    false_positives: ArrayLike,
    n_negative: int,
    delta: float,
    level: float,
) -> NDArray[np.float64]:
    """Bound epsilon from below by how well an attack tells two worlds apart.

    Both rates lie in their Clopper-Pearson intervals with a probability of at least ``level``. An epsilon below the
    bound contradicts all rates in these intervals, whichever of the two worlds the attack looks for.

    Parameters
    ----------
    true_positives, n_positive
        Runs of the first world that the attack takes for such runs, of all runs of the first world.
    false_positives, n_negative
        Runs of the second world that it takes for runs of the first, of all runs of the second world.
    delta
        Of the guarantee.
    level
        Confidence in the bound.

    Returns
    -------
    The bound, in the shape of the numbers of positives; at least 0.
    """
    (hit_low, hit_high), (alarm_low, alarm_high) = _both_rates(
        true_positives, n_positive, false_positives, n_negative, level
    )
    found = np.zeros(np.broadcast(hit_low, alarm_low).shape)
    # An attack that is wrong more often than right is a good one for the worlds in the other order.
    for rate, other in (
        (hit_low, alarm_high),
        (1 - alarm_high, 1 - hit_low),
        (alarm_low, hit_high),
        (1 - hit_high, 1 - alarm_low),
    ):
        found = np.maximum(found, np.log(np.maximum(rate - delta, other) / other))
    return found


def _both_rates(
    hits: ArrayLike, n: int, alarms: ArrayLike, n_other: int, level: float
) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    """Intervals of both rates, which hold together."""
    of_each = 1 - (1 - level) / 2
    return (
        clopper_pearson(np.asarray(hits), n, of_each),
        clopper_pearson(np.asarray(alarms), n_other, of_each),
    )
