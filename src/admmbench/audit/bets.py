"""Tests of privacy by betting, which may stop at any time.

A run on each of two neighbouring data sets is a pair. If the runs are (epsilon, delta)-private, no event is much more
frequent on one data set: ``P(A) <= exp(epsilon) Q(A) + delta``. A gambler bets a part of the capital on that: a pair
multiplies it by ``1 + stake (1[A] - exp(epsilon) 1[B] - delta)``, with A on one and B on the other data set. Event and
stake follow from earlier pairs. So the capital does not grow on average, and it exceeds 1 / alpha at any time with a
probability of at most alpha (Ville's inequality; Gonzalez et al. 2025, https://arxiv.org/abs/2509.07055). A trade-off
curve is the upper end of such lines, which are tested together (Kutta et al. 2026, https://arxiv.org/abs/2602.06518,
whose own test is another one).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from admmbench.base.types import Array

# Stakes, as parts of the largest one that leaves no debt.
_STAKES = np.array([0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.97])
# Times at which bets are renewed, most thresholds to choose from, and numbers of epsilons of a bound and of a curve.
_STAGES, _THRESHOLDS, _BOUNDS, _LINES = 16, 48, 96, 24
# Pairs of each outcome that are thought of beside those seen, so that no bet is the whole capital.
_PRIOR = 0.125
# False alarms at which a curve is read.
_ALARMS = np.concatenate([[0.0], np.geomspace(1e-9, 1, 4096)])


def bound(first: Array, second: Array, planned: int, delta: float, level: float) -> float:
    """Bound epsilon from below by the scores of runs on both data sets, however many are played of those planned.

    Parameters
    ----------
    first, second
        Scores of runs on either data set, shape (n,).
    planned
        Number of runs on each data set, if nothing stops them.
    delta
        Delta of the guarantee.
    level
        Confidence in the bound, at any time.

    Returns
    -------
    float
        The largest epsilon of a grid up to which all are refuted; at least 0.
    """
    most = -math.log(math.expm1(-math.log1p(-level) / planned))
    epsilons = np.linspace(0, max(most, 1e-3), _BOUNDS)
    capital = _play(first, second, planned, epsilons, np.full(_BOUNDS, delta))
    refuted = np.cumprod(capital >= -math.log1p(-level)).sum()
    return float(epsilons[refuted - 1]) if refuted else 0.0


def evidence(
    first: Array, second: Array, planned: int, power: Callable[[ArrayLike], Array], level: float
) -> float:
    """Return the evidence against a trade-off curve; above 1 the curve is refuted at this confidence, at any time.

    Parameters
    ----------
    first, second, planned
        As those of `bound`.
    power
        Largest rate of hits at each rate of false alarms.
    level
        As that of `bound`.
    """
    epsilons = np.linspace(0, math.log(2 * planned), _LINES)
    # Hits at the next rate of false alarms bound those between the two.
    hits, odds = power(_ALARMS)[1:], np.exp(epsilons)[:, None]
    deltas = np.clip((hits - odds * _ALARMS[:-1]).max(axis=1), 0, 1)
    (capital,) = _play(first, second, planned, epsilons, deltas, together=True)
    return float(capital / -math.log1p(-level))


def _play(
    first: Array,
    second: Array,
    planned: int,
    epsilons: Array,
    deltas: Array,
    together: bool = False,
) -> Array:
    """Return the logarithm of the largest capital so far against each (epsilon, delta), or of one against all."""
    gains = _log_gains(np.exp(epsilons), deltas)
    flat, shape = gains.reshape(-1, gains.shape[-1]), gains.shape[:2]
    ends = np.ceil(planned * np.arange(1, _STAGES + 1) / _STAGES).astype(int)
    stages = np.unique([*ends[ends < len(first)], len(first)])
    capital, largest = np.zeros(len(epsilons)), np.zeros(len(epsilons))
    for start, end in itertools.pairwise(stages):
        thresholds = _thresholds(first[:start], second[:start])
        seen = _outcomes(first[:start], second[:start], thresholds) + _PRIOR
        growth = (flat @ seen.T).reshape(*shape, -1).max(axis=2)
        events = (flat @ seen.T).reshape(*shape, -1).argmax(axis=2)
        stakes, lines = growth.argmax(axis=1), np.arange(len(epsilons))
        if together:
            lines = np.full_like(lines, growth.max(axis=1).argmax())
        event = events[lines, stakes[lines]]
        new = _outcomes(first[start:end], second[start:end], thresholds)[event]
        capital += (gains[lines, stakes[lines]] * new).sum(axis=1)
        largest = np.maximum(largest, capital)
    return largest[:1] if together else largest


def _log_gains(odds: Array, deltas: Array) -> Array:
    """Return the logarithms of what a pair multiplies the capital by, shape (lines, stakes, outcomes).

    Outcomes are those of `_outcomes`.
    """
    gains = np.stack([1 - deltas, 1 - odds - deltas, -deltas, -odds - deltas], axis=-1)
    stakes = _STAKES / (odds + deltas)[:, None]
    return np.log1p(stakes[..., None] * gains[:, None])


def _thresholds(first: Array, second: Array) -> Array:
    """Return thresholds between scores."""
    scores = np.unique(np.concatenate([first, second]))
    between = (scores[1:] + scores[:-1]) / 2 if len(scores) > 1 else scores
    return between[:: -(-len(between) // _THRESHOLDS)]


def _outcomes(first: Array, second: Array, thresholds: Array) -> Array:
    """Count the outcomes of each event, shape (events, 4): of one data set alone, of both, of neither, of the other.

    Events are scores above a threshold or not, looked for on the first data set or on the second one.
    """
    over, other = (scores > thresholds[:, None] for scores in (first, second))
    ones = np.concatenate([over, ~other, other, ~over])
    others = np.concatenate([other, ~over, over, ~other])
    pairs = (ones & ~others, ones & others, ~ones & ~others, ~ones & others)
    return np.stack([pair.sum(axis=1) for pair in pairs], axis=-1)
