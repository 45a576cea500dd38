"""Levels 4 and 5: attacks that tell runs on neighbouring data sets apart, and the lower bounds on epsilon they give."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from admmbench.audit import bets
from admmbench.audit.findings import Finding, Interval, Kind, fact, tested_finding
from admmbench.audit.runs import Pair, Replays, Run, innermost_values
from admmbench.audit.transcripts import SPHERICAL, NoisyValue
from admmbench.base.types import Array
from admmbench.inference.intervals import anytime_proportion, clopper_pearson
from admmbench.privacy import Ledger
from admmbench.privacy.curves import curve
from admmbench.problems.rows import BoundRows

TRAJECTORY, MODEL = "lower bound", "black box"
ANY, ON_GRID = "any", "on_grid"
# After one in so many of the runs an attack may stop, but after no fewer than so many.
_FIRST_LOOK, _LEAST_RUNS = 4, 16
# The p-value above which scores of both data sets look alike.
_ALIKE = 0.05
# Statements that hold together: the bound, what is said against the curve, and the rates.
_STATEMENTS = 3
# Rates of false alarms at which curves are stored: more of them where curves are steep.
_ALARMS = np.linspace(0, 1, 41) ** 2

Scores = tuple[Array, Array]
"""Scores of runs on the first and on the second data set, each of shape (S,); the first should be the larger ones."""


def model_scores(pair: Pair, row: int) -> Scores:
    """Return the scores by an adversary who sees the final global model: how much better it fits the first record."""
    first, second = (
        _loss(replays.run.model, pair.second.run, row)
        - _loss(replays.run.model, pair.first.run, row)
        for replays in pair
    )
    return first, second


def grid_scores(pair: Pair) -> Scores | None:
    """Return the scores by an adversary who knows the grid of noise inside a problem; None if there is no such noise.

    The noise that a solution is due to is near points of the grid on its own data set, if nothing hides it.
    """
    if not any(part.solution for (part,) in innermost_values(pair.first.run)):
        return None
    return _grid_proximity(pair.first), _grid_proximity(pair.second)


def _grid_proximity(replays: Replays) -> Array:
    """Return the alignment with the grid of the noise implied by solutions, first minus second data set, shape (S,)."""
    proximity = np.zeros(replays.run.federation.problem.n_seeds)
    for released, in_first, in_second, _ in innermost_values(*replays):
        if released.solution:
            first, second = (_grid_alignment(released, value) for value in (in_first, in_second))
            proximity += (first - second).sum(axis=0)
    return proximity


def _grid_alignment(released: NoisyValue, counterpart: NoisyValue) -> Array:
    """Return how near the noise of a release is to its grid, shape (B, S): 1 an entry on the grid, 0 by chance.

    The noise is the one for the value of the release's counterpart on some data set. Of spherical noise only the norm
    is on a grid.
    """
    noise, grid = released.noise(counterpart), released.grid
    if released.law == SPHERICAL:
        noise, grid = np.linalg.norm(noise, axis=-1, keepdims=True), grid * released.scale
    grid = grid[..., None]
    steps = np.divide(noise, grid, out=np.zeros_like(noise), where=grid > 0)
    return np.asarray(np.cos(2 * np.pi * steps).sum(axis=-1))


def _loss(models: Array, run: Run, row: int) -> Array:
    """Return the loss of a run's record under models of shape (S, K, J), shape (S,); constant for a null record."""
    problem = run.federation.problem
    assert isinstance(problem, BoundRows)
    return problem.loss.losses(models @ problem.X[row], problem.y[row])


def look_sizes(planned: int) -> list[int]:
    """Return the numbers of runs on each data set after which an attack may stop, the planned number last."""
    first = max(_LEAST_RUNS, -(-planned // _FIRST_LOOK))
    doubled = (first * 2**k for k in range(planned.bit_length()))
    return [*(size for size in doubled if size < planned), planned]


def is_hopeless(scores: Scores) -> bool:
    """Return whether scores of both data sets look so much alike that more runs will hardly show anything."""
    from scipy.stats import ks_2samp

    return bool(ks_2samp(*map(np.nan_to_num, scores)).pvalue > _ALIKE)


def lower_bound(
    level: str,
    canary: str,
    scores: Scores,
    delta: float,
    confidence: float,
    ledger: Ledger,
    attack: str = ANY,
    planned: int = 0,
) -> Finding:
    """Bound epsilon from below by an attack, and compare it with the ledger's total, and its rates with the curve.

    The ledger is that of the agent with the largest total ε. The confidence is in the bound, in what is said against
    the curve and in the intervals of the rates together, whenever the runs have stopped of which so many are planned;
    by default as many as there are.
    """
    first, second = (np.nan_to_num(part) for part in scores)
    planned = planned or len(first)
    each = 1 - (1 - confidence) / _STATEMENTS
    allowed, total = curve(ledger.composition()).power, ledger.epsilon(delta)
    value = bets.bound(first, second, planned, delta, each)
    evidence = bets.evidence(first, second, planned, allowed, each)
    rates = _rates(first, second, look_sizes(planned)[0] // 2, delta, each)
    (hits, _), (_, alarms) = rates
    seen = fact(
        Kind.ATTACK,
        attack=attack,
        shown=value,
        power=power(planned, delta, confidence),
        total=total,
        hits=hits,
        alarms=alarms,
        allowed=float(allowed(alarms)),
        evidence=evidence,
        runs=len(first),
        of_runs=planned,
    )
    fault = None if value <= total and evidence < 1 else seen
    finding = tested_finding(level, canary, value, total, fault, seen)
    return finding.model_copy(update={"rates": rates})


def points(ledger: Ledger) -> tuple[tuple[float, float], ...]:
    """Return some points of the trade-off curve of all releases: rates of false alarms, and the hits they allow."""
    hits = curve(ledger.composition()).power(_ALARMS)
    return tuple(zip(_ALARMS.tolist(), hits.round(6).tolist(), strict=True))


def power(runs: int, delta: float, confidence: float) -> float:
    """Return the bound that an attack without an error would show with so many runs on each data set."""
    each = 1 - (1 - confidence) / _STATEMENTS
    return bets.bound(np.ones(runs), np.zeros(runs), runs, delta, each)


def _rates(
    first: Array, second: Array, cut: int, delta: float, level: float
) -> tuple[Interval, Interval]:
    """Return intervals of the rates of hits and of false alarms that hold together, whenever runs stop.

    So many scores of the first look choose the threshold, and the rest count.
    """
    held_out: Any = np.unique(np.concatenate([first[:cut], second[:cut]]))
    thresholds = (held_out[1:] + held_out[:-1]) / 2 if len(held_out) > 1 else held_out
    hits, alarms = ((part[:cut, None] > thresholds).sum(axis=0) for part in (first, second))
    chosen = epsilon_lower(hits, cut, alarms, cut, delta, level)
    # Where no threshold tells the data sets apart, the one in the middle is as good as any.
    middle = np.abs(np.arange(len(thresholds)) - len(thresholds) // 2)
    best = thresholds[np.lexsort((middle, -chosen))[0]]
    hit, alarm = (
        anytime_proportion(int((part[cut:] > best).sum()), len(part) - cut, (1 + level) / 2)
        for part in (first, second)
    )
    return hit, alarm


def epsilon_lower(
    true_positives: ArrayLike,
    n_positive: int,
    false_positives: ArrayLike,
    n_negative: int,
    delta: float,
    level: float,
) -> NDArray[np.float64]:
    """Bound epsilon from below by how well an attack tells two data sets apart.

    Both rates lie in their Clopper-Pearson intervals with a probability of at least ``level``. An epsilon below the
    bound contradicts all rates in these intervals, whichever of the two data sets the attack looks for.

    Parameters
    ----------
    true_positives, n_positive
        Runs on the first data set that the attack takes for such runs, of all runs on the first data set.
    false_positives, n_negative
        Runs on the second data set that the attack takes for runs on the first, of all runs on the second data set.
    delta
        Delta of the guarantee.
    level
        Confidence in the bound.

    Returns
    -------
    The bound, in the shape of the numbers of positives; at least 0.
    """
    both = 1 - (1 - level) / 2
    hit_low, hit_high = clopper_pearson(np.asarray(true_positives), n_positive, both)
    alarm_low, alarm_high = clopper_pearson(np.asarray(false_positives), n_negative, both)
    bound = np.zeros(np.broadcast(hit_low, alarm_low).shape)
    # An attack that is wrong more often than right is a good one for the data sets in the other order.
    for rate, other in (
        (hit_low, alarm_high),
        (1 - alarm_high, 1 - hit_low),
        (alarm_low, hit_high),
        (1 - hit_high, 1 - alarm_low),
    ):
        bound = np.maximum(bound, np.log(np.maximum(rate - delta, other) / other))
    return bound
