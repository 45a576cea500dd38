"""Lower bounds on epsilon from an attack's hits and false alarms."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from admmbench.frames.base import Array

# The part of the scores that chooses the threshold.
_HELD_OUT = 4


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
    true_positives
        Runs of the first world that the attack takes for runs of the first.
    n_positive
        Runs of the first world.
    false_positives
        Runs of the second world that it takes for runs of the first.
    n_negative
        Runs of the second world.
    delta
        Of the guarantee.
    level
        Confidence in the bound.

    Returns
    -------
    The bound, in the shape of the numbers of positives; at least 0.
    """
    level_of_each = 1 - (1 - level) / 2
    hit_low, hit_high = _interval(np.asarray(true_positives), n_positive, level_of_each)
    alarm_low, alarm_high = _interval(np.asarray(false_positives), n_negative, level_of_each)
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


def _interval(count: Array, n: int, level: float) -> tuple[Array, Array]:
    """Clopper-Pearson interval of a rate, without its ends at 0 and 1 where these have the count."""
    from scipy.stats import beta

    tail = (1 - level) / 2
    low = np.where(count == 0, 0.0, beta.ppf(tail, np.maximum(count, 1), n - count + 1))
    high = np.where(count == n, 1.0, beta.ppf(1 - tail, count + 1, np.maximum(n - count, 1)))
    return low, high


def bound_of_scores(first: Array, second: Array, delta: float, level: float) -> float:
    """Lower bound of an attack that takes runs with large scores for runs of the first world.

    The first quarter of the scores chooses the threshold, and the rest tests it: so the bound is valid.

    Parameters
    ----------
    first, second
        Scores of independent runs of the two worlds, shape (n,).
    delta, level
        See `epsilon_lower`.
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
    hits, alarms = (counts(scores, best) for scores in rest)
    return float(epsilon_lower(hits, len(rest[0]), alarms, len(rest[1]), delta, level)[0])
