"""Checks of a mechanism by what it releases for contributions that are made up to break it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from admmbench.kit.statement import Array, Finding, Mechanism, Report, Statement, Tensors
from admmbench.privacy import Gaussian
from admmbench.privacy.composition import total
from admmbench.privacy.events import Composition

# Runs by which noise is measured, numbers measured at least, and standard errors that a measurement may be off.
RUNS, NUMBERS, ERRORS = 40, 20_000, 5.0
# Seeds by which a sample with a contribution is looked for at most.
MOST_SEEDS = 200
# What rounding may add to a norm, relatively, in single precision.
ROUNDING = 1e-4
# What a printed total may lack, relatively, as accountants round.
ACCOUNTANT = 0.01


class Probe:
    """Mechanism with what it states, and the made-up contributions that it is run on."""

    def __init__(self, mechanism: Mechanism, statement: Statement) -> None:
        self.mechanism, self.stated = mechanism, statement
        self.rng = np.random.default_rng(0)
        self.size = sum(math.prod(shape) for shape in statement.shapes.values())

    def contributions(self, flat: Array) -> dict[str, Array]:
        """Return contributions by parameter from rows of all numbers, shape (n, size)."""
        ends = list(itertools.accumulate(math.prod(s) for s in self.stated.shapes.values()))
        parts = np.split(flat, ends[:-1], axis=1)
        named = zip(self.stated.shapes.items(), parts, strict=True)
        return {name: part.reshape(len(flat), *shape) for (name, shape), part in named}

    def zeros(self) -> Array:
        """Return contributions that are zero, shape (n, size)."""
        return np.zeros((self.stated.contributions, self.size))

    def run(
        self, flat: Array, noise_multiplier: float, seed: int = 0, clip: float | None = None
    ) -> Array:
        """Return what is released for contributions, shape (rounds, size) or (rounds, n, size) of messages."""
        stated = self.stated
        releases = self.mechanism(
            self.contributions(flat),
            clip=stated.clip if clip is None else clip,
            noise_multiplier=noise_multiplier,
            rounds=stated.rounds,
            seed=seed,
        )
        return np.stack([self._flat(release, len(flat)) for release in releases])

    def _flat(self, release: Tensors, n: int) -> Array:
        """Return a release as one vector, or one for each message."""
        rows = n if self.stated.observer == "messages" else 1
        arrays = []
        for name, shape in self.stated.shapes.items():
            array = np.asarray(release[name], np.float64)
            wanted = (n, *shape) if self.stated.observer == "messages" else tuple(shape)
            if array.shape != wanted:
                raise ValueError(
                    f"the mechanism released {name!r} with shape {array.shape}; expected {wanted} for observer: "
                    f"{self.stated.observer}"
                )
            arrays.append(array.reshape(rows, -1))
        joined = np.concatenate(arrays, axis=1)
        return joined if self.stated.observer == "messages" else joined[0]

    def noise(self, flat: Array, clip: float, multiplier: float) -> Array:
        """Return the noise of many runs, shape (runs, rounds, ..., size)."""
        base = self.run(flat, 0.0, clip=clip)
        per_run = max(base.size, 1)
        runs = max(RUNS, math.ceil(NUMBERS / per_run))
        return np.stack([self.run(flat, multiplier, seed, clip) - base for seed in range(runs)])

    def worst_contributions(self) -> Iterator[tuple[str, Array, int]]:
        """Yield contributions, with the row that is zero in the neighbouring data set, and what they are."""
        stated, n = self.stated, self.stated.contributions
        direction = np.ones(self.size) / math.sqrt(self.size)
        longest = 1000 * stated.clip * direction
        alone, among = self.zeros(), self.zeros()
        among[:] = 0.9 * stated.clip * direction
        for row, long in itertools.product((0, n - 1), (1.5 * stated.clip * direction, longest)):
            alone[:], alone[row] = 0, long
            yield "a long contribution alone", alone, row
            for sign in (1, -1):
                mixed = among.copy()
                mixed[row] = sign * long
                yield "a long contribution among short ones", mixed, row
        for name, part in self.contributions(np.broadcast_to(longest, (1, self.size))).items():
            single = {
                other: np.zeros_like(values)
                for other, values in self.contributions(self.zeros()).items()
            }
            single[name][0] = part[0] * math.sqrt(self.size / max(part.size, 1))
            rows = np.concatenate([values.reshape(n, -1) for values in single.values()], axis=1)
            yield f"a contribution that is long in {name!r} alone", rows, 0


def check(mechanism: Mechanism, statement: Statement) -> Report:
    """Check a mechanism against what it states.

    Parameters
    ----------
    mechanism
        The black box.
    statement
        What is said of it.

    Returns
    -------
    Report
        A finding for each check. Measurements of noise are fixed by seeds, and right mechanisms pass up to chances of
        about 1e-6.
    """
    probe = Probe(mechanism, statement)
    return Report(tuple(_guarded(function, probe) for function in CHECKS))


def _guarded(function: Callable[[Probe], Finding], probe: Probe) -> Finding:
    """Return the finding of a check; what is stated does not hold where the mechanism raises."""
    name = function.__name__.replace("_", " ")
    try:
        finding = function(probe)
    except Exception as error:  # whatever other people's code raises
        return Finding(name, False, why=f"it raised {type(error).__name__}: {error}")
    holds = None if finding.holds is None else bool(finding.holds)
    return Finding(name, holds, finding.measured, finding.stated, finding.why)


def one_contribution_moves_a_release_by_the_clip_at_most(probe: Probe) -> Finding:
    """Compare neighbours without noise: clips of means, batches or single parameters move further."""
    stated = probe.stated
    bound, worst, where = stated.clip / stated.divisor, 0.0, ""
    # A contribution that no sample has moves nothing.
    seeds = min(MOST_SEEDS, math.ceil(10 / (stated.sampling * stated.rounds)))
    for what, flat, row in probe.worst_contributions():
        neighbour = flat.copy()
        neighbour[row] = 0
        for seed in range(seeds if stated.sampling < 1 else 1):
            moved = probe.run(flat, 0.0, seed) - probe.run(neighbour, 0.0, seed)
            distance = float(np.sqrt(np.square(moved).reshape(len(moved), -1).sum(axis=1)).max())
            if distance > worst:
                worst, where = distance, what
    if not worst:
        return Finding("", None, 0.0, bound, "no contribution moved a release")
    why = (
        f"{where} moves a release by {worst:.4g}; the noise is for {bound:.4g}: clip each contribution over all "
        "parameters together before anything is added up, and divide by a fixed number"
    )
    return Finding("", worst <= bound * (1 + ROUNDING), worst, bound, why)


def the_noise_has_the_stated_deviation(probe: Probe) -> Finding:
    """Measure noise at two clips and multipliers, so that a variance taken for a deviation shows."""
    stated, ratios = probe.stated, []
    for clip, multiplier in ((1.0, 1.0), (0.5, 2.0), (2.0, 0.25)):
        clip, multiplier = clip * stated.clip, multiplier * stated.noise_multiplier
        noise = probe.noise(probe.zeros(), clip, multiplier)
        tolerance = ERRORS / math.sqrt(2 * noise.size)
        ratios.append(
            (noise.std() / (multiplier * clip / stated.divisor), tolerance, clip, multiplier)
        )
    ratio, tolerance, clip, multiplier = max(
        ratios, key=lambda found: abs(math.log(max(found[0], 1e-300)))
    )
    why = (
        f"with clip {clip:g} and noise multiplier {multiplier:g} the standard deviation is {ratio:.4g} times "
        "noise_multiplier * clip / divisor"
        + _diagnose(ratio, multiplier * clip / stated.divisor, stated.contributions)
    )
    return Finding("", abs(ratio - 1) <= tolerance, ratio, 1.0, why)


def _diagnose(ratio: float, std: float, n: int) -> str:
    """Return the usual mistake that a ratio of deviations points to."""
    usual = {
        "the variance is taken for the deviation": std,
        "the noise is divided by n where the sum is divided by sqrt(n), or the reverse": math.sqrt(
            n
        ),
        "the noise is divided by sqrt(n) twice": 1 / math.sqrt(n),
        "the noise is divided by n once too often": 1 / n,
        "the noise is added twice": math.sqrt(2),
        "the noise is missing": 0.0,
    }
    causes = [
        what for what, factor in usual.items() if abs(ratio - factor) <= 0.02 * max(factor, 0.05)
    ]
    return f"; perhaps {' or '.join(causes)}" * bool(causes)


def no_number_is_released_without_noise(probe: Probe) -> Finding:
    """Look at the deviation of each number of a release."""
    stated = probe.stated
    noise = probe.noise(probe.zeros(), stated.clip, stated.noise_multiplier)
    deviations = noise.std(axis=0).min(axis=tuple(range(noise.ndim - 2)))
    bare = deviations < stated.std / 4
    names = [name for name, values in probe.contributions(bare[None]).items() if values.any()]
    why = f"numbers without noise in {', '.join(names)}"
    return Finding("", not bare.any(), float(deviations.min()), stated.std, why)


def noise_does_not_repeat(probe: Probe) -> Finding:
    """Correlate the noise of rounds, runs, messages and numbers."""
    stated = probe.stated
    noise = probe.noise(probe.zeros(), stated.clip, stated.noise_multiplier)
    pairs = [("runs with different seeds", noise[:-1], noise[1:])]
    pairs += [("rounds", noise[:, :-lag], noise[:, lag:]) for lag in range(1, noise.shape[1])]
    if stated.observer == "messages":
        lags = range(1, noise.shape[2])
        pairs += [("messages", noise[:, :, :-lag], noise[:, :, lag:]) for lag in lags]
    pairs.append(("numbers of a release", noise[..., :-1], noise[..., 1:]))
    parts = list(probe.contributions(noise.reshape(-1, probe.size)).values())
    for one, other in itertools.pairwise(parts):
        width = min(one[0].size, other[0].size)
        first, second = (part.reshape(len(part), -1)[:, :width] for part in (one, other))
        pairs.append(("parameters", first, second))
    worst, most, where = 0.0, 0.0, ""
    for what, a, b in pairs:
        if not a.size:  # a release of one number, or of one message
            continue
        spread = math.sqrt(np.square(a).mean() * np.square(b).mean())
        correlation = abs(float((a * b).mean() / spread)) if spread else 1.0
        errors = correlation / (ERRORS / math.sqrt(a.size) + ROUNDING)
        if errors > most:
            worst, most, where = correlation, errors, what
    why = f"the noise of {where} is correlated by {worst:.3g}: draw all of it anew"
    return Finding("", most <= 1, worst, 0.0, why)


def noise_does_not_depend_on_the_contributions(probe: Probe) -> Finding:
    """Compare the noise of contributions that are zero with that of long ones."""
    stated = probe.stated
    long = np.full_like(probe.zeros(), 100 * stated.clip)
    noises = [
        probe.noise(flat, stated.clip, stated.noise_multiplier) for flat in (probe.zeros(), long)
    ]
    if stated.sampling < 1:  # which contributions take part moves a release as well
        return Finding(
            "", None, why="with samples, noise cannot be told from what the sample moves"
        )
    ratio = float(noises[1].std() / noises[0].std()) if noises[0].std() else math.inf
    tolerance = ERRORS * math.sqrt(1 / noises[0].size)
    why = f"the deviation of the noise is {ratio:.4g} times as large where contributions are long"
    return Finding("", abs(ratio - 1) <= tolerance, ratio, 1.0, why)


def there_are_as_many_releases_as_stated(probe: Probe) -> Finding:
    """Count the releases of a run."""
    released = len(probe.run(probe.zeros(), 0.0))
    rounds = probe.stated.rounds
    return Finding(
        "", released == rounds, released, rounds, f"{released} releases instead of {rounds}"
    )


def the_printed_total_covers_all_rounds(probe: Probe) -> Finding:
    """Compose the stated noise over all rounds, and compare the total with what is printed."""
    stated = probe.stated
    if stated.epsilon is None:
        return Finding("", None, why="no epsilon is stated")

    def epsilon(rounds: int) -> float:
        cost = Gaussian(stated.noise_multiplier, stated.sampling)
        return total(Composition([(cost, rounds)]), stated.delta)

    proved = epsilon(stated.rounds)
    why = f"epsilon {stated.epsilon:.4g} is printed, the rounds cost {proved:.4g} at delta {stated.delta:g}"
    if abs(epsilon(1) - stated.epsilon) <= ACCOUNTANT * stated.epsilon and stated.rounds > 1:
        why += "; it is that of a single round"
    return Finding("", stated.epsilon >= proved * (1 - ACCOUNTANT), stated.epsilon, proved, why)


def whole_numbers_are_refused_or_get_noise(probe: Probe) -> Finding:
    """Send a counter among the contributions, as buffers of models are."""
    stated = probe.stated
    given = probe.contributions(probe.zeros())
    given["counter"] = np.arange(stated.contributions)
    known: dict[str, Any] = {"clip": stated.clip, "rounds": stated.rounds, "seed": 0}
    try:
        noisy, plain = (
            [
                np.asarray(release["counter"])
                for release in probe.mechanism(given, noise_multiplier=multiplier, **known)
                if "counter" in release
            ]
            for multiplier in (stated.noise_multiplier, 0.0)
        )
    except Exception:  # a refusal, however it is worded
        return Finding("", True)
    # Noise may be of whole numbers, too; a sample moves a counter without any.
    bare = [
        value
        for value, without in zip(noisy, plain, strict=True)
        if np.all(value == np.round(value))
        and (stated.sampling < 1 or np.array_equal(value, without))
    ]
    why = "a parameter of whole numbers is released as it is: refuse it, or leave it out"
    return Finding("", not bare, len(bare), 0, why)


def contributions_that_are_no_numbers_are_bounded(probe: Probe) -> Finding:
    """Send NaN and infinity, which no clip by division bounds."""
    stated, worst = probe.stated, 0.0
    for value in (np.nan, np.inf):
        flat = probe.zeros()
        flat[0, 0] = value
        with np.errstate(all="ignore"):
            try:
                moved = probe.run(flat, 0.0) - probe.run(probe.zeros(), 0.0)
            except Exception:  # a refusal, however it is worded
                continue
        lengths = np.sqrt(np.square(moved).reshape(len(moved), -1).sum(axis=1))
        worst = max(worst, float(np.nan_to_num(lengths, nan=np.inf).max()))
    bound = stated.clip / stated.divisor
    why = "a contribution with NaN or infinity reaches the release: refuse it, or take it for zero"
    # Most code does not look: a warning, and no mistake about numbers.
    return Finding("", True if worst <= bound * (1 + ROUNDING) else None, worst, bound, why)


CHECKS: Sequence[Callable[[Probe], Finding]] = (
    there_are_as_many_releases_as_stated,
    one_contribution_moves_a_release_by_the_clip_at_most,
    the_noise_has_the_stated_deviation,
    no_number_is_released_without_noise,
    noise_does_not_repeat,
    noise_does_not_depend_on_the_contributions,
    the_printed_total_covers_all_rounds,
    whole_numbers_are_refused_or_get_noise,
    contributions_that_are_no_numbers_are_bounded,
)
