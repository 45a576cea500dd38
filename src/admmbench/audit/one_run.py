"""Many canaries in one run: how many guesses about them are right bounds epsilon from below.

A fair coin decides for each of m records whether the run has it, or what a neighbour has in its place. Who sees all
messages guesses the coins, and may keep silent about some. Guesses about an (epsilon, delta)-private run are hardly
more often right than coins that show heads with the probability ``1 / (1 + exp(-epsilon))`` (Steinke, Nasr and
Jagielski 2023, theorem 5.2).
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

from admmbench.audit.findings import Finding, ManyCanaries, checked, not_covered
from admmbench.audit.tapes import SPHERICAL
from admmbench.audit.worlds import Run, World, play, possible_targets, rows_of_agents
from admmbench.base.types import Array
from admmbench.datasets import Dataset
from admmbench.engine.rounds import bind
from admmbench.engine.streams import FEDERATION, stream
from admmbench.privacy import dearest
from admmbench.problems.rows import BoundRows
from admmbench.spec.run import RunSpec

LEVEL, CANARY = "one run", "many"
# Numbers of guesses to choose from; how exact bounds are, and their end.
_CHOICES, _EXACT, _LARGEST = 24, 1e-4, 100.0
# Mean squares of noise in scales, by the entries of a release, and the size over the declared one that is no chance.
_SQUARES: dict[str, Callable[[int], float]] = {
    "gaussian": lambda _: 1.0,
    "laplace": lambda _: 2.0,
    SPHERICAL: lambda entries: entries + 1.0,
}
_QUIET = 0.5
# Of the probability of a wrong bound, for what delta may add.
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

    What each canary would add to a message is seen in further runs that have the same noisy values, each with one
    canary of every observer: a server sees each agent's messages, or under a secure sum their sum alone.

    Parameters
    ----------
    spec, data
        What is audited, unshuffled, and its data set.
    count
        Canaries, at most: no more than the agents have records.
    rounds
        Numbers of the rounds.
    confidence
        In the bound.
    progress
        Called with the number of runs done, and of all runs.

    Returns
    -------
    tuple
        The finding, and its numbers; None where they are not known.
    """
    if spec.privacy.unit == "agent":
        return not_covered(
            LEVEL, CANARY, "Its canaries are records, the total is about agents"
        ), None
    if spec.sampling < 1 and spec.privacy.relation == "replace":
        return not_covered(LEVEL, CANARY, "Samples have other records in the canaries' place"), None
    spec = spec.model_copy(update={"seeds": spec.seeds[:1]})
    canaries = Canaries(spec, data, count)
    run = play(spec, canaries.world(canaries.coins), rounds)
    if run.uncovered:
        return not_covered(LEVEL, CANARY, run.uncovered), None
    if not np.isfinite(run.model).all():
        return not_covered(LEVEL, CANARY, "The run diverges"), None
    without = _noise(run, play(spec, canaries.world(np.zeros_like(canaries.coins)), rounds, run))
    shifts: dict[int, list[Array]] = defaultdict(list)
    turns = int(canaries.turns.max()) + 1
    for turn in range(turns):
        present = canaries.turns == turn
        taken = canaries.rows[present] if spec.method.sampling < 1 else None
        found = _noise(run, play(spec, canaries.world(present), rounds, run, taken))
        for observer in canaries.observers[present]:
            pairs = zip(without[observer], found[observer], strict=True)
            shift = np.concatenate([one - other for (_, one), (_, other) in pairs])
            # Whether a canary is in a sample is not seen, only how often that is so.
            shifts[observer].append((spec.method.sampling * shift).astype(np.float32))
        if progress:
            progress(turn + 1, turns)
    scores = np.zeros(len(canaries.coins))
    for observer, each in shifts.items():
        scores[canaries.observers == observer] = log_odds(without[observer], np.array(each))
    guesses, right = guess(scores, canaries.coins, spec.delta, confidence)
    total = dearest(run.federation.ledgers, spec.delta).epsilon(spec.delta)
    numbers = ManyCanaries(
        canaries=len(scores),
        rounds=len(rounds),
        guesses=guesses,
        right=right,
        epsilon_ledger=total,
        epsilon_lower=epsilon_lower(len(scores), guesses, right, spec.delta, confidence),
        epsilon_power=epsilon_lower(len(scores), len(scores), len(scores), spec.delta, confidence),
    )
    return _finding(numbers), numbers


def _finding(found: ManyCanaries) -> Finding:
    sentence = (
        f"Of {found.guesses} guesses about {found.canaries} canaries in one run {found.right} are right, which shows "
        f"that epsilon is at least {found.epsilon_lower:.3f}, without an error it would show "
        f"{found.epsilon_power:.3f}; composed is {found.epsilon_ledger:.3f}."
    )
    holds = found.epsilon_lower <= found.epsilon_ledger
    fault = None if holds else f"The total does not hold: {sentence[0].lower()}{sentence[1:]}"
    return checked(LEVEL, CANARY, found.epsilon_lower, found.epsilon_ledger, fault, sentence)


class Canaries:
    """Records that a run may have: at random corners of what is admissible, with random targets.

    Parameters
    ----------
    spec, data, count
        See `attack`.

    Attributes
    ----------
    rows
        Training rows of which they take the place, shape (m,).
    observers
        Whose messages show each, shape (m,): its agent's, or those of all together, which count as the first one's.
    turns
        Which of its observer's canaries each is, shape (m,).
    coins
        Whether the run has it, shape (m,).
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

    def world(self, present: Array) -> World:
        """Make the data set with these canaries; in the place of others it has what neighbours have.

        That is a record that contributes nothing, or one with another target.
        """
        X, y = self._data.X_train.copy(), self._data.y_train.copy()
        X[self.rows] = np.where(present[:, None] | self._replaced, self._X, 0)
        y[self.rows] = np.where(present | (not self._replaced), self._y, self._other_y)
        return World(replace(self._data, X_train=X, y_train=y))


def _noise(run: Run, world: Run) -> dict[int, list[tuple[str, Array]]]:
    """Noise that each release of a run is due to in a world, in scales, with its law, by who is seen to send it."""
    found: dict[int, list[tuple[str, Array]]] = defaultdict(list)
    for block, tape, other in zip(run.federation.blocks, run.tapes, world.tapes, strict=True):
        for own, theirs in zip(tape, other, strict=False):
            one, there = own.parts[-1], theirs.parts[-1]
            scale = one.scale[..., None]
            noise = one.noise(there)
            scaled = np.divide(noise, scale, out=np.zeros_like(noise), where=scale > 0)
            for b, each in enumerate(scaled[:, 0]):
                found[block.agents.start + b].append((one.law, each))
    return found


def log_odds(noise: Sequence[tuple[str, Array]], shifts: Array) -> Array:
    """Return the logarithms of the odds that canaries are there, shape (n,), as far as one linear estimate knows.

    With half of every canary, releases differ from their noise by a sum of half shifts, of either sign. One step of
    Fisher's scoring from there estimates all signs at once, as if they were normal. Noise that is far quieter than it
    should be is taken for what it is.

    Parameters
    ----------
    noise
        That releases are due to if no canary is there, each in scales, with its law.
    shifts
        Of all releases by each canary, in scales, shape (n, entries).
    """
    laws = [law for law, _ in noise]
    sizes = [len(each) for _, each in noise]
    left = np.concatenate([each for _, each in noise]) - shifts.sum(axis=0, dtype=float) / 2
    declared = sum(n * _SQUARES[law](n) for law, n in zip(laws, sizes, strict=True))
    size = math.sqrt((left**2).sum() / declared)
    if size < _QUIET:
        left, shifts = left / size, shifts / size
    slopes, information = [], []
    for law, each in zip(laws, np.split(left, np.cumsum(sizes)[:-1]), strict=True):
        slope, known = each, 1.0
        if law == "laplace":
            slope = np.sign(each)
        elif law == SPHERICAL:
            slope, known = each / max(np.linalg.norm(each), np.finfo(float).tiny), 1 / len(each)
        slopes.append(slope)
        information.append(np.full(len(each), known))
    gram = (shifts * np.concatenate(information).astype(shifts.dtype)) @ shifts.T
    spread = np.linalg.inv(gram.astype(float) / 4 + np.eye(len(shifts)))
    return 2 * (spread @ (shifts @ np.concatenate(slopes) / 2)) / np.diag(spread)


def guess(scores: Array, coins: Array, delta: float, confidence: float) -> tuple[int, int]:
    """Guess some coins; return how many, and how many of these guesses are right.

    How many guesses there are is decided by the scores, which the adversary knows, and not by the coins.

    Parameters
    ----------
    scores
        Logarithms of the odds of each coin, shape (m,); where they are no number nothing is known.
    coins
        The coins, shape (m,).
    delta, confidence
        Of the bound that should be large.
    """
    scores = np.nan_to_num(scores)
    order = np.argsort(-np.abs(scores), kind="stable")
    expected = np.cumsum(expit(np.abs(scores[order])))
    choices = np.unique(np.geomspace(1, len(scores), _CHOICES).round().astype(int))
    bounds = [
        epsilon_lower(len(scores), r, int(expected[r - 1]), delta, confidence)
        for r in choices.tolist()
    ]
    # Where no number promises anything, all are guessed.
    guesses = int(choices[len(choices) - 1 - np.argmax(bounds[::-1])])
    made = order[:guesses]
    return guesses, int(((scores[made] > 0) == coins[made]).sum())


def epsilon_lower(
    canaries: int, guesses: int, right: int, delta: float, confidence: float
) -> float:
    """Bound epsilon from below by guesses about many canaries in one run; at least 0.

    The theorem is about a number of guesses that is fixed in advance. Here the scores choose it, and delta may tell
    canaries where few guesses are enough. So each of the two terms of `chances` has a part of the level of its own,
    which no score chooses: what all outputs add up to is then at most the level.

    Parameters
    ----------
    canaries, guesses, right
        How many canaries there are, about how many of them there are guesses, and how many of these are right.
    delta
        Of the guarantee.
    confidence
        In the bound.
    """
    level = 1 - confidence
    of_delta = min(_MOST_OF_DELTA, 2 * canaries * delta / level)

    def unlikely(epsilon: float) -> float:
        found = chances(canaries, guesses, right, epsilon, delta)
        parts = zip(found, (1 - of_delta, of_delta), strict=True)
        return max(each - part * level for each, part in parts if part)

    if unlikely(0.0) >= 0:
        return 0.0
    # Without wrong guesses and delta, the chance of so many right ones comes near 1 at last.
    return float(brentq(unlikely, 0.0, _LARGEST, xtol=_EXACT)) - _EXACT


def chances(
    canaries: int, guesses: int, right: int, epsilon: float, delta: float
) -> tuple[float, float]:
    """Return the largest chance of so many right guesses if the run is (epsilon, 0)-private, and what delta may add.

    With ``f(v)`` the chance that a binomial variable is at least v, they are ``f(v)`` and the largest of
    ``2 m delta (f(v - i) - f(v)) / i`` over whole numbers i from 1 (Steinke, Nasr and Jagielski 2023, theorem 5.2).

    Parameters
    ----------
    canaries, guesses, right
        See `epsilon_lower`.
    epsilon, delta
        Of the guarantee.
    """
    chance = expit(epsilon)
    tail = binom.sf(right - 1, guesses, chance)
    fewer = np.arange(1, right + 1)
    more = (binom.sf(right - fewer - 1, guesses, chance) - tail) / fewer
    return float(tail), float(2 * canaries * delta * max(more, default=0.0))
