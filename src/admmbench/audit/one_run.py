"""Many canaries in one run: how many guesses about them are right bounds epsilon from below.

A fair coin decides for each of m records whether the run has it, or what a neighbour has in its place. Who sees all
messages guesses the coins, and may keep silent about some. Guesses about an (epsilon, delta)-private run are hardly
more often right than coins that show heads with the probability ``1 / (1 + exp(-epsilon))`` (Steinke, Nasr and
Jagielski 2023, theorem 5.2).

Sums of many scores are nearly normal, so that the distance between canaries that are there and others estimates mu
(Agrawal et al. 2026, https://arxiv.org/abs/2606.12733). Nothing is judged by the estimate, which is no bound.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit
from scipy.stats import binom

from admmbench.audit.findings import (
    Finding,
    Kind,
    ManyCanaries,
    fact,
    inapplicable_finding,
    tested_finding,
)
from admmbench.audit.neighbours import possible_targets, rows_of_agents
from admmbench.audit.runs import Run, RunData, record_rounds
from admmbench.audit.transcripts import SPHERICAL
from admmbench.base.types import Array
from admmbench.datasets import Dataset
from admmbench.engine.rounds import bind
from admmbench.engine.streams import FEDERATION, stream
from admmbench.privacy import dearest
from admmbench.problems.rows import BoundRows
from admmbench.spec.run import RunSpec

LEVEL, CANARY = "one run", "many"
# Count of numbers of guesses to choose from; error of a bound, and largest bound.
_CHOICES, _EXACT, _LARGEST = 24, 1e-4, 100.0
# Mean squares of noise in scales, by the entries of a release.
_SQUARES: dict[str, Callable[[int], float]] = {
    "gaussian": lambda _: 1.0,
    "laplace": lambda _: 2.0,
    SPHERICAL: lambda entries: entries + 1.0,
}
# Relative size of noise below which chance does not explain that it is smaller than declared.
_QUIET = 0.5
# Largest part of the probability of a wrong bound that is left to delta.
_MOST_OF_DELTA = 0.5


def attack(
    spec: RunSpec,
    data: Dataset,
    count: int,
    rounds: Sequence[int],
    confidence: float,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[Finding, ManyCanaries | None]:
    """Attack one run with many canaries.

    Replays of the run, each with one canary of every observer, show the shift that a canary would add to a message. A
    server observes each agent's messages, or under a secure sum their sum alone.

    Parameters
    ----------
    spec, data
        Audited run, unshuffled, and its data set.
    count
        Largest number of canaries: no more than the agents have records.
    rounds
        Numbers of the rounds.
    confidence
        Confidence in the bound.
    progress
        Function that is called with the number of runs done, and of all runs.

    Returns
    -------
    tuple
        The finding, and its numbers; None where the attack does not apply.
    """
    if spec.privacy.unit == "agent":
        return inapplicable_finding(LEVEL, CANARY, Kind.WHOLE_AGENTS), None
    if spec.sampling < 1 and spec.privacy.relation == "replace":
        return inapplicable_finding(LEVEL, CANARY, Kind.SAMPLES_HAVE_OTHERS), None
    spec = spec.model_copy(update={"seeds": spec.seeds[:1]})
    canaries = Canaries(spec, data, count)
    run = record_rounds(spec, canaries.data_with(canaries.coins), rounds)
    if run.uncovered:
        return inapplicable_finding(LEVEL, CANARY, Kind.HIDDEN_NOISE), None
    if not np.isfinite(run.model).all():
        return inapplicable_finding(LEVEL, CANARY, Kind.DIVERGES), None
    nobody = canaries.data_with(np.zeros_like(canaries.coins))
    noise_without = _noise(run, record_rounds(spec, nobody, rounds, run))
    shifts: dict[int, list[Array]] = defaultdict(list)
    turns = int(canaries.turns.max()) + 1
    for turn in range(turns):
        present = canaries.turns == turn
        taken = canaries.rows[present] if spec.method.sampling < 1 else None
        replay = record_rounds(spec, canaries.data_with(present), rounds, run, taken)
        noise_with = _noise(run, replay)
        for observer in canaries.observers[present]:
            pairs = zip(noise_without[observer], noise_with[observer], strict=True)
            shift = np.concatenate([noise - shifted for (_, noise), (_, shifted) in pairs])
            # Whether a canary is in a sample is not seen, only how often that is so.
            shifts[observer].append((spec.method.sampling * shift).astype(np.float32))
        if progress:
            progress(turn + 1, turns)
    scores = np.zeros(len(canaries.coins))
    for observer, rows in shifts.items():
        scores[canaries.observers == observer] = log_odds(noise_without[observer], np.array(rows))
    guesses, right = guess(scores, canaries.coins, spec.delta, confidence)
    mu, error = estimate_mu(scores, canaries.coins)
    total = dearest(run.federation.ledgers, spec.delta).epsilon(spec.delta)
    many = ManyCanaries(
        canaries=len(scores),
        rounds=len(rounds),
        guesses=guesses,
        right=right,
        epsilon_ledger=total,
        epsilon_lower=epsilon_lower_by_guesses(len(scores), guesses, right, spec.delta, confidence),
        epsilon_power=epsilon_lower_by_guesses(
            len(scores), len(scores), len(scores), spec.delta, confidence
        ),
        mu_estimate=mu,
        mu_error=error,
    )
    counts = {"guesses": guesses, "right": right, "canaries": len(scores), "mu": mu, "error": error}
    bound, power = many.epsilon_lower, many.epsilon_power
    seen = fact(Kind.GUESSES, **counts, shown=bound, power=power, total=total)
    fault = None if bound <= total else seen
    return tested_finding(LEVEL, CANARY, bound, total, fault, seen), many


class Canaries:
    """Records that a run may have: at random corners of the admissible range, with random targets.

    Attributes
    ----------
    rows
        Training rows that the canaries replace, shape (m,).
    observers
        Agent whose messages show a canary, shape (m,); under a secure sum the first agent stands for all.
    turns
        Number of a canary among those of its observer, shape (m,).
    coins
        Whether the run has a canary, shape (m,).
    """

    def __init__(self, spec: RunSpec, data: Dataset, count: int) -> None:
        source = stream(spec.seeds[0], FEDERATION, "canaries")
        shares = rows_of_agents(spec, data)
        pairs = [
            (turn, agent, row) for agent, rows in enumerate(shares) for turn, row in enumerate(rows)
        ]
        self.turns, self.observers, self.rows = np.array(sorted(pairs)[:count]).T
        if spec.privacy.trust == "secure_sum":
            self.turns, self.observers = np.arange(len(self.rows)), np.zeros_like(self.rows)
        self.coins = source.random(len(self.rows)) < 0.5
        problem = bind(spec, data)
        assert isinstance(problem, BoundRows)
        low, high = problem.split.dataset.domain
        if not np.isfinite(problem.bound_linf):
            low, high = float(data.X_train.min()), float(data.X_train.max())
        ends = np.clip([low, high], -problem.bound_linf, problem.bound_linf)
        shape = len(self.rows), data.X_train.shape[1]
        targets = possible_targets(data)
        first = source.integers(len(targets), size=len(self.rows))
        others = first + source.integers(1, len(targets), size=len(self.rows))
        self._data, self._replaced = data, spec.privacy.relation == "replace"
        self._X = ends[source.integers(2, size=shape)]
        self._y, self._other_y = targets[first], targets[others % len(targets)]

    def data_with(self, present: Array) -> RunData:
        """Make the data set with these canaries, shape (m,).

        The place of every other canary has a record that contributes nothing, or one with another target, as the
        relation of neighbours demands.
        """
        X, y = self._data.X_train.copy(), self._data.y_train.copy()
        X[self.rows] = np.where(present[:, None] | self._replaced, self._X, 0)
        y[self.rows] = np.where(present | (not self._replaced), self._y, self._other_y)
        return RunData(replace(self._data, X_train=X, y_train=y))


def _noise(run: Run, replay: Run) -> dict[int, list[tuple[str, Array]]]:
    """Return the noise to which each release of a run is due on the data of a replay.

    Each release has its law and its noise in scales, in a list for each visible sender.
    """
    noise_by_sender: dict[int, list[tuple[str, Array]]] = defaultdict(list)
    blocks = zip(run.federation.blocks, run.transcripts, replay.transcripts, strict=True)
    for block, released, replayed in blocks:
        for value, counterpart in zip(released, replayed, strict=False):
            inner = value.parts[-1]
            scale, noise = inner.scale[..., None], inner.noise(counterpart.parts[-1])
            scaled = np.divide(noise, scale, out=np.zeros_like(noise), where=scale > 0)
            for b, entries in enumerate(scaled[:, 0]):
                noise_by_sender[block.agents.start + b].append((inner.law, entries))
    return noise_by_sender


def log_odds(noise: Sequence[tuple[str, Array]], shifts: Array) -> Array:
    """Return the logarithms of the odds that canaries are there, shape (n,), as far as one linear estimate knows.

    With half of every canary, releases differ from their noise by a sum of half shifts, of either sign. One step of
    Fisher's scoring from there estimates all signs at once, as if they were normal. Noise that is far smaller than
    declared is rescaled to its real size.

    Parameters
    ----------
    noise
        Noise to which releases are due if no canary is there, each in scales, with its law.
    shifts
        Shifts of all releases by each canary, in scales, shape (n, entries).
    """
    laws = [law for law, _ in noise]
    sizes = [len(entries) for _, entries in noise]
    residual = (
        np.concatenate([entries for _, entries in noise]) - shifts.sum(axis=0, dtype=float) / 2
    )
    declared = sum(n * _SQUARES[law](n) for law, n in zip(laws, sizes, strict=True))
    size = math.sqrt((residual**2).sum() / declared)
    if size < _QUIET:
        residual, shifts = residual / size, shifts / size
    # Derivative of each law's negative log-density, and Fisher's information on a shift.
    derivatives, information = [], []
    for law, entries in zip(laws, np.split(residual, np.cumsum(sizes)[:-1]), strict=True):
        derivative, per_entry = entries, 1.0
        if law == "laplace":
            derivative = np.sign(entries)
        elif law == SPHERICAL:
            norm = max(np.linalg.norm(entries), np.finfo(float).tiny)
            derivative, per_entry = entries / norm, 1 / len(entries)
        derivatives.append(derivative)
        information.append(np.full(len(entries), per_entry))
    gram = (shifts * np.concatenate(information).astype(shifts.dtype)) @ shifts.T
    spread = np.linalg.inv(gram.astype(float) / 4 + np.eye(len(shifts)))
    return 2 * (spread @ (shifts @ np.concatenate(derivatives) / 2)) / np.diag(spread)


def guess(scores: Array, coins: Array, delta: float, confidence: float) -> tuple[int, int]:
    """Guess some coins, and return the number of guesses and the number of right ones.

    The scores, which the adversary knows, decide the number of guesses, and not the coins.

    Parameters
    ----------
    scores
        Logarithms of the odds of each coin, shape (m,); a score that is no number tells nothing.
    coins
        Whether the run has each canary, shape (m,).
    delta, confidence
        Delta and confidence of the bound that should be large.
    """
    scores = np.nan_to_num(scores)
    order = np.argsort(-np.abs(scores), kind="stable")
    expected = np.cumsum(expit(np.abs(scores[order])))
    choices = np.unique(np.geomspace(1, len(scores), _CHOICES).round().astype(int))
    bounds = [
        epsilon_lower_by_guesses(len(scores), r, int(expected[r - 1]), delta, confidence)
        for r in choices.tolist()
    ]
    # Where no number promises anything, all are guessed.
    guesses = int(choices[len(choices) - 1 - np.argmax(bounds[::-1])])
    guessed = order[:guesses]
    return guesses, int(((scores[guessed] > 0) == coins[guessed]).sum())


def estimate_mu(scores: Array, coins: Array) -> tuple[float | None, float | None]:
    """Estimate mu of Gaussian differential privacy from the scores of many canaries, with its standard error.

    Scores of a Gaussian mechanism are normal, at a distance of mu standard deviations between canaries that are there
    and others. Where canaries hide each other, or move messages less than the worst record, the estimate is smaller.

    Parameters
    ----------
    scores
        Logarithms of the odds of each coin, shape (m,).
    coins
        Whether the run has each canary, shape (m,).

    Returns
    -------
    float, float
        None for both where there are too few canaries, or scores without a spread.
    """
    parts = [scores[coins], scores[~coins]]
    if min(map(len, parts)) < 2:
        return None, None
    deviations = [part - part.mean() for part in parts]
    spread = math.sqrt(sum((each**2).sum() for each in deviations) / (len(scores) - 2))
    if not 0 < spread < math.inf:
        return None, None
    mu = max(0.0, float(parts[0].mean() - parts[1].mean()) / spread)
    variance = sum(1 / len(part) for part in parts) + mu**2 / (2 * len(scores))
    return mu, math.sqrt(variance)


def epsilon_lower_by_guesses(
    canaries: int, guesses: int, right: int, delta: float, confidence: float
) -> float:
    """Bound epsilon from below by guesses about many canaries in one run; at least 0.

    The theorem is about a number of guesses that is fixed in advance. Here the scores choose it, and delta may tell
    canaries where few guesses are enough. So each of the two terms of `chances` has a part of the level of its own,
    which no score chooses: the sum over all outputs is then at most the level.

    Parameters
    ----------
    canaries, guesses, right
        Numbers of canaries, of guesses about them, and of right guesses.
    delta
        Delta of the guarantee.
    confidence
        Confidence in the bound.
    """
    level = 1 - confidence
    delta_part = min(_MOST_OF_DELTA, 2 * canaries * delta / level)

    def excess_chance(epsilon: float) -> float:
        terms = chances(canaries, guesses, right, epsilon, delta)
        level_parts = zip(terms, (1 - delta_part, delta_part), strict=True)
        return max(chance - level_part * level for chance, level_part in level_parts if level_part)

    if excess_chance(0.0) >= 0:
        return 0.0
    # Without wrong guesses and delta, the chance of so many right ones comes near 1 at last.
    return float(brentq(excess_chance, 0.0, _LARGEST, xtol=_EXACT)) - _EXACT


def chances(
    canaries: int, guesses: int, right: int, epsilon: float, delta: float
) -> tuple[float, float]:
    """Return the largest chance of so many right guesses if the run is (epsilon, 0)-private, and the term of delta.

    With ``f(v)`` the chance that a binomial variable is at least v, both terms are ``f(v)`` and the largest of
    ``2 m delta (f(v - i) - f(v)) / i`` over whole numbers i from 1 (Steinke, Nasr and Jagielski 2023, theorem 5.2).
    """
    chance = expit(epsilon)
    tail = binom.sf(right - 1, guesses, chance)
    fewer = np.arange(1, right + 1)
    more = (binom.sf(right - fewer - 1, guesses, chance) - tail) / fewer
    return float(tail), float(2 * canaries * delta * max(more, default=0.0))
