"""The first three levels: the noise is what was declared, nothing leaves without noise, and no value shifts too far."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator

import numpy as np

from admmbench.audit.findings import (
    Fact,
    Finding,
    Kind,
    Value,
    fact,
    inapplicable_finding,
    tested_finding,
)
from admmbench.audit.runs import Pair, Replays, Run, aligned_values, innermost_values
from admmbench.audit.transcripts import Entry, NoisyValue
from admmbench.base.types import Array
from admmbench.inference.intervals import clopper_pearson
from admmbench.privacy import Approximate, Cost

NOISE_LAW, COUPLING, LIKELIHOOD = "noise law", "coupling", "likelihood"
# The p-value below which a law is wrong or samples are not what the ledger was told, and the entries that a law is
# tested on: more would see the grid itself.
_LEAST = 1e-6
_MOST = 100_000
# Inner products of independent noise are of the order of 1 in these units.
_CORRELATED = 6.0
# Entries that agree so far are equal, but for rounding to different grids.
_EQUAL = 2.0**-9
_COMPARED_ENTRIES = 16
# Most releases that are compared with each other.
_MOST_COMPARED = 2000
# Runs on neighbouring data sets do the same with the same values, to the last bit. Under secure sums they have other
# terms, so that a sum of the loudest noise may be rounded in another way: by this part of the largest entry for each
# agent.
_EQUAL_SUMS = 2.0**-50
# Relative error of sensitivities, which are computed in floating point.
_ROUNDING = 1e-3
_NAMES = {"laplace": "laplace", "gaussian": "norm", "spherical": "gamma"}
# Logarithms of densities but for their sign, of the sizes of a release's entries in units of the scale.
_EXPONENTS: dict[str, Callable[[Array], Array]] = {
    "laplace": lambda size: size.sum(axis=-1),
    "gaussian": lambda size: np.square(size).sum(axis=-1) / 2,
    "spherical": lambda size: np.linalg.norm(size, axis=-1),
}

Measured = tuple[float, Kind, dict[str, Value]]
"""Measured number, with kind and values of the fact that it would be if it were too large."""


def noise_law(pair: Pair, canary: str) -> Finding:
    """Test the noise of a run on the first data set."""
    noise = {law: _standardised_noise(pair.first.run, law) for law in _NAMES}
    noise = {law: entries for law, entries in noise.items() if entries.size}
    if not noise:
        return inapplicable_finding(NOISE_LAW, canary, Kind.NO_NOISE)
    value = max(map(_correlation, noise.values()))
    good = fact(Kind.NOISE_AS_DECLARED, laws=[*noise])
    fault = next((fault for law in noise for fault in _faults(law, noise[law])), None)
    return tested_finding(NOISE_LAW, canary, value, _CORRELATED, fault, good)


def _standardised_noise(run: Run, law: str) -> Array:
    """Return the noise over its declared scale, of all releases with a law: shape (R, S, entries)."""
    standardised = []
    releases = (part for (value,) in aligned_values(run) for part in value.parts)
    for part in (part for part in releases if part.law == law):
        noisy = (part.scale > 0).all(axis=1)
        if noisy.any():
            standardised.append(part.added[noisy] / part.scale[noisy][..., None])
    empty = np.zeros((0, run.federation.problem.n_seeds, 0))
    return np.concatenate(standardised or [empty])


def _faults(law: str, noise: Array) -> Iterator[Fact]:
    """Yield facts on noise that has another law or scale than declared, is used twice, or is correlated."""
    from scipy.stats import kstest

    if pairs := _equal_pairs(noise):
        yield fact(Kind.NOISE_REPEATED, pairs=pairs)
    entries, parameters = noise.reshape(-1), list[int]()
    if law == "spherical":
        entries, parameters = np.linalg.norm(noise, axis=-1).reshape(-1), [noise.shape[-1]]
    p = kstest(entries[:: -(-entries.size // _MOST)], _NAMES[law], parameters).pvalue
    if not p >= _LEAST:
        size = float(np.abs(entries).mean())
        yield fact(Kind.NOISE_NOT_DECLARED, law=law, mean_size=size, p=float(p))
    value = _correlation(noise)
    if not value <= _CORRELATED:
        yield fact(Kind.NOISE_CORRELATED, deviations=value)


def _equal_pairs(noise: Array) -> int:
    """Count the pairs of releases, of any round, agent and seed, whose noise is the same."""
    from scipy.spatial import cKDTree

    vectors = noise.reshape(-1, noise.shape[-1])[:, :_COMPARED_ENTRIES]
    tree = cKDTree(vectors)
    return (int(tree.count_neighbors(tree, _EQUAL, p=np.inf)) - len(vectors)) // 2


def _correlation(noise: Array) -> float:
    """Return the largest normalised inner product of two releases, or of two seeds, in standard deviations."""
    largest = 0.0
    for vectors in (noise, noise.swapaxes(0, 1)):
        some = vectors[:: -(-len(vectors) // _MOST_COMPARED)]
        flat = some.reshape(len(some), -1)
        unit = flat / np.maximum(np.linalg.norm(flat, axis=1, keepdims=True), np.finfo(float).tiny)
        products = np.abs(unit @ unit.T)
        np.fill_diagonal(products, 0)
        largest = max(largest, float(products.max()) * flat.shape[1] ** 0.5)
    return largest


def coupling(first: Run, second: Run, canary: str) -> Finding:
    """Compare a run on the first data set with its replay on the second one."""
    federation = first.federation
    most = _EQUAL_SUMS * federation.problem.n_agents if federation.privacy.summed else 0.0
    differences = [*_noise_differences(first, second), *_differences(first, second)]
    value = float(np.max([size for size, *_ in differences], initial=0))
    # The first in time is the cause of the others.
    causes = (fact(kind, **facts) for size, kind, facts in differences if not size <= most)
    fault = next(causes, None)
    return tested_finding(COUPLING, canary, value, most, fault, fact(Kind.SAME))


def end_of_one(canary: str, t: int) -> Finding:
    """Return the finding of runs with the same noisy values of which one alone ends in an error in a round."""
    fault = fact(Kind.END_DEPENDS, round=t)
    return tested_finding(COUPLING, canary, math.inf, 0.0, fault, fault)


def _differences(first: Run, second: Run) -> Iterator[Measured]:
    """Yield how far public arrays differ, in the order of rounds."""
    n_seeds = first.federation.problem.n_seeds
    for t, ours in first.public.items():
        theirs = second.public[t]
        for name in ours | theirs:
            difference = _difference(ours.get(name), theirs.get(name), n_seeds)
            yield difference, Kind.DATA_LEAVE, {"name": name, "round": t}


def _difference(one: Array | None, other: Array | None, n_seeds: int) -> float:
    """Return the largest difference in units of the largest entry of its seed; 0 if every bit is the same.

    The difference is infinite where values are the same and bits are not (the sign of a zero), and where values have no
    size.
    """
    if one is None or other is None or one.dtype != other.dtype or one.shape != other.shape:
        return math.inf
    if one.tobytes() == other.tobytes():
        return 0.0
    if one.dtype.kind not in "biufc":
        return math.inf
    seeds = [axis for axis, length in enumerate(one.shape) if length == n_seeds][-1:]
    others = tuple(axis for axis in range(one.ndim) if axis not in seeds)
    same = (one == other) | (np.isnan(one) & np.isnan(other))
    with np.errstate(divide="ignore", invalid="ignore"):
        distance = np.abs(np.where(same, 0, np.subtract(one, other, dtype=complex))).max(
            axis=others
        )
        relative = distance / np.abs(one).max(axis=others)
    # Where both are 0 there is no difference; where one is no number, nothing is known.
    return float(np.max(np.where(distance == 0, 0, relative))) or math.inf


def _noise_differences(first: Run, second: Run) -> Iterator[Measured]:
    """Yield how far the noise of two runs differs.

    Releases must be as many, in the same rounds, with noise of the same law, scale and grid.
    """
    for ours, theirs in zip(first.transcripts, second.transcripts, strict=True):
        if [(value.t, value.law) for value in ours] != [(value.t, value.law) for value in theirs]:
            yield math.inf, Kind.RELEASES_DIFFER, {}
        pairs = (
            zip(*(value.parts for value in pair), strict=True)
            for pair in zip(ours, theirs, strict=False)
        )
        for (one, other), attribute in itertools.product(
            itertools.chain.from_iterable(pairs), ("scale", "grid")
        ):
            difference = _difference(
                getattr(one, attribute), getattr(other, attribute), one.scale.shape[1]
            )
            values = {"attribute": attribute, "round": one.t, "difference": difference}
            yield difference, Kind.NOISE_DEPENDS, values


def likelihood(pair: Pair, canary: str) -> Finding:
    """Compare the shifts between neighbouring data sets with the ledger's entry of each release."""
    return compare_shifts(pair.first.first, pair.first.second, canary, _sampling_faults(pair.first))


def compare_shifts(first: Run, second: Run, canary: str, faults: Iterable[Fact] = ()) -> Finding:
    """Compare the shifts between two runs, in which the canary takes part in each round, with the ledger's entries.

    Other faults are named first.
    """
    shifts = list(_relative_shifts(first, second))
    beyond = (fact(kind, **facts) for size, kind, facts in shifts if not size <= 1 + _ROUNDING)
    fault = next(itertools.chain(faults, first.faults, second.faults, beyond), None)
    value = float(np.fmax.reduce([shift for shift, *_ in shifts], initial=0.0))
    good = fact(Kind.SHIFT, shift=value)
    return tested_finding(LIKELIHOOD, canary, value, 1 + _ROUNDING, fault, good)


def _relative_shifts(first: Run, second: Run) -> Iterator[Measured]:
    """Yield each agent's shift of each release over the ledger's bound."""
    summed = first.federation.privacy.summed
    blocks = zip(first.federation.blocks, first.transcripts, second.transcripts, strict=True)
    for block, ours, theirs in blocks:
        for one, other in zip(ours, theirs, strict=False):
            parts = zip(one.parts, other.parts, strict=False)
            differences = np.concatenate([_scaled_difference(*pair) for pair in parts], axis=-1)
            log_det_ratio = np.abs(_log_det_ratio(one.parts[-1], other.parts[-1], one.parts[-1]))
            for b, entries in enumerate(one.entered):
                place: dict[str, Value] = {
                    "agent": None if summed else block.agents.start + b,
                    "round": one.t,
                }
                if not _suits(one, entries):
                    told = [*map(str, entries)]
                    values = {"entries": told, "law": one.law, **place}
                    yield np.inf, Kind.LEDGER_TOLD, values
                    continue
                shift = _relative_shift(differences[b], log_det_ratio[b], entries[0].cost)
                yield shift, Kind.RELEASE_SHIFTS, {"shift": shift, **place}


def _suits(one: NoisyValue, entries: list[Entry]) -> bool:
    """Return whether a ledger has one entry of this law; Gaussian noise may be entered as approximate."""
    if len(entries) != 1 or entries[0].times != 1:
        return False
    cost = entries[0].cost
    return one.law in cost.laws or (one.law == "gaussian" and isinstance(cost, Approximate))


def _sampling_faults(replays: Replays) -> Iterator[Fact]:
    """Yield facts on a canary that takes part more or less often than the ledger was told, or not anew.

    Samples must be drawn anew in each round and seed.
    """
    for q, (seen, taken) in _participation(replays).items():
        if _is_unlikely(seen, taken, q):
            yield fact(
                Kind.PARTICIPATION, taken=int(taken.sum()), seen=int(seen.sum()), probability=q
            )
        for repetitions, axis in (("rounds", 0), ("runs", 1)):
            if _is_unlikely(_both_of_pairs(seen, axis), _both_of_pairs(taken, axis), q**2):
                yield fact(Kind.SAMPLES_REPEATED, axis=repetitions)


def _participation(replays: Replays) -> dict[float, tuple[Array, Array]]:
    """Return where an auditor can see if the canary takes part, and where it does, by probability in the ledger.

    Both arrays have a row for each release of the canary's agent, shape (R, S).
    """
    by_probability: dict[float, tuple[list[Array], list[Array]]] = {}
    for released, one, other, without in aligned_values(*replays):
        seen = _differ(one, other)
        # A release that does not depend on the sample has the canary in it.
        taken = _differ(released, without) | ~_differ(one, without)
        for b in np.flatnonzero(seen.any(axis=1)).tolist():
            for entry in released.entered[b][:1]:
                rows = by_probability.setdefault(entry.cost.sampling, ([], []))
                rows[0].append(seen[b])
                rows[1].append(taken[b] & seen[b])
    return {q: (np.array(seen), np.array(taken)) for q, (seen, taken) in by_probability.items()}


def _differ(one: NoisyValue, other: NoisyValue) -> Array:
    """Return whether the values of two releases are different, shape (B, S)."""
    return np.asarray((one.value != other.value).any(axis=tuple(range(2, one.value.ndim))))


def _both_of_pairs(occurs: Array, axis: int) -> Array:
    """Return whether an event occurs in both of two neighbouring releases, or seeds."""
    pairs = np.moveaxis(occurs, axis, 0)
    pairs = pairs[: len(pairs) // 2 * 2]
    return np.asarray(pairs[::2] & pairs[1::2])


def _is_unlikely(seen: Array, taken: Array, q: float) -> bool:
    """Return whether chance hardly explains in how many of the visible releases the canary takes part."""
    low, high = clopper_pearson(int(taken.sum()), int(seen.sum()), 1 - _LEAST)
    return not low <= q <= high


def _scaled_difference(one: NoisyValue, other: NoisyValue) -> Array:
    """Return how far each entry differs, in units of the noise, shape (B, S, entries)."""
    difference = np.abs(one.value - other.value).reshape(*one.scale.shape, -1)
    # Where there is no noise, any difference is an infinite shift.
    scale = one.scale[..., None]
    return np.divide(difference, scale, out=np.where(difference > 0, np.inf, 0.0), where=scale > 0)


def _log_det_ratio(one: NoisyValue, other: NoisyValue, released: NoisyValue) -> Array:
    """Return the logarithm of the ratio of the two Hessians' determinants at a released solution, shape (B, S).

    By these determinants, the two data sets turn densities of noise into densities of the solution.
    """
    ratio = np.zeros(one.scale.shape)
    if one.transformation and other.transformation and released.transformation:
        convexity = released.transformation.convexity
        for b in np.flatnonzero((one.value != other.value).any(axis=(1, 2, 3))).tolist():
            ratio[b] = one.transformation.log_det(b, convexity[b]) - other.transformation.log_det(
                b, convexity[b]
            )
    return ratio


def _relative_shift(differences: Array, log_det_ratio: Array, cost: Cost) -> float:
    """Return the largest norm of shifts of shape (S, entries) over its bound.

    If the cost is approximate, the shifts' epsilon is compared with the cost's. For a solution, the log-ratio of
    determinants is added to the l2 norm, or to the epsilon: the sum bounds the likelihood ratio.
    """
    l1, linf = differences.sum(axis=-1), differences.max(axis=-1)
    l2 = np.linalg.norm(differences, axis=-1)
    shift = l1.max(), (l2 + log_det_ratio).max(), linf.max()
    if isinstance(cost, Approximate):
        shift = 0, _gaussian_epsilon(l2.max(), cost.delta) + log_det_ratio.max(), 0
    pairs = zip(shift, cost.shift, strict=True)
    with np.errstate(divide="ignore"):
        relative = [np.divide(norm, bound) if 0 < norm < np.inf else norm for norm, bound in pairs]
    # NaN, where a ledger was told no number, must not be lost.
    return float(np.max(relative))


def _gaussian_epsilon(shift: float, delta: float) -> float:
    """Return the epsilon of a value that shifts by so many standard deviations."""
    from dp_accounting.gaussian_mechanism import get_epsilon_gaussian

    if not 0 < shift < np.inf:
        return shift
    with np.errstate(divide="ignore"):  # hardly any shift costs nothing
        return float(get_epsilon_gaussian(1 / shift, delta)) if 0 < delta < 1 else np.inf


def log_ratio(replays: Replays, sampling: float) -> Array:
    """Return the log-likelihood ratio of a run's noisy values, first data set over second, shape (S,).

    An attacker who does not see the sample sees a mixture on both data sets: the ratio is (1 - q) p + q p' over
    (1 - q) p + q p'', where p is the density without the canary and the record in its place, and p' and p'' are the
    densities with each of them; q is the probability that the canary takes part.
    """
    total = np.zeros(replays.run.federation.problem.n_seeds)
    # Where noise is inside a problem too, the solver's error is no shift for an adversary who sees the sum alone.
    for released, *neighbours, without in innermost_values(*replays):
        mixed = []
        for neighbour in neighbours:
            with np.errstate(invalid="ignore", divide="ignore"):
                ratio = _log_density(released, neighbour) - _log_density(released, without)
                ratio += _log_det_ratio(neighbour, without, released)
                mixed.append(np.logaddexp(np.log1p(-sampling), np.log(sampling) + ratio))
        total += np.where(released.scale > 0, mixed[0] - mixed[1], 0).sum(axis=0)
    return total


def _log_density(released: NoisyValue, counterpart: NoisyValue) -> Array:
    """Return the log-density, up to a constant, of the noise to which a release is due, shape (B, S).

    The noise is the one for the value of the release's counterpart on some data set.
    """
    noise = released.noise(counterpart)
    size = np.abs(noise / counterpart.scale[..., None])
    return -_EXPONENTS[released.law](size) - noise.shape[-1] * np.log(counterpart.scale)
