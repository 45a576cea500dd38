"""The first three levels: the noise is what was declared, nothing leaves without it, and no value shifts too far."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator

import numpy as np

from admmbench.audit.findings import Finding, checked, not_covered
from admmbench.audit.tapes import Entry, Taped
from admmbench.audit.worlds import Pair, Played, Run, innermost, side_by_side
from admmbench.base.types import Array
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
_COMPARED = 16
# Releases of which each is compared with each.
_MOST_COMPARED = 2000
# Both worlds do the same with the same values, to the last bit. Of secure sums they have other terms, so that a sum of
# the loudest noise may be rounded in another way: by this part of the largest entry for each agent.
_EQUAL_SUMS = 2.0**-50
# Of sensitivities, which are computed in floating point.
_ROUNDING = 1e-3
_NAMES = {"laplace": "laplace", "gaussian": "norm", "spherical": "gamma"}
# Logarithms of densities but for their sign, of the sizes of a release's entries in units of the scale.
_EXPONENTS: dict[str, Callable[[Array], Array]] = {
    "laplace": lambda size: size.sum(axis=-1),
    "gaussian": lambda size: np.square(size).sum(axis=-1) / 2,
    "spherical": lambda size: np.linalg.norm(size, axis=-1),
}


def noise_law(pair: Pair, canary: str) -> Finding:
    """Test the noise of a run of the first world."""
    noise = {law: found for law in _NAMES if (found := _standardised(pair.first.run, law)).size}
    if not noise:
        return not_covered(NOISE_LAW, canary, "No noise is added to what leaves")
    value = max(map(_correlation, noise.values()))
    laws = " and ".join(noise)
    good = f"What is added is {laws} noise of the declared scale, and none of it is used twice."
    fault = next((fault for law in noise for fault in _faults(law, noise[law])), None)
    return checked(NOISE_LAW, canary, value, _CORRELATED, fault, good)


def _standardised(run: Run, law: str) -> Array:
    """Noise over its declared scale, of all releases with a law: shape (R, S, entries)."""
    found = [np.zeros((0, run.federation.problem.n_seeds, 0))]
    releases = (part for (each,) in side_by_side(run) for part in each.parts)
    for part in (part for part in releases if part.law == law):
        noisy = (part.scale > 0).all(axis=1)
        if noisy.any():
            found.append(part.added[noisy] / part.scale[noisy][..., None])
    return np.concatenate(found[1:] or found)


def _faults(law: str, noise: Array) -> Iterator[str]:
    from scipy.stats import kstest

    if pairs := _equal_pairs(noise):
        yield f"Releases have the same noise as others: {pairs} pairs."
    entries, parameters = noise.reshape(-1), list[int]()
    if law == "spherical":
        entries, parameters = np.linalg.norm(noise, axis=-1).reshape(-1), [noise.shape[-1]]
    p = kstest(entries[:: -(-entries.size // _MOST)], _NAMES[law], parameters).pvalue
    if not p >= _LEAST:
        yield (
            f"What is added is not {law} noise of the declared scale: its mean size is "
            f"{np.abs(entries).mean():.3g} scales, and the Kolmogorov-Smirnov test has p = {p:.1g}."
        )
    value = _correlation(noise)
    if not value <= _CORRELATED:
        yield f"The noise of different releases is correlated, by {value:.1f} standard deviations."


def _equal_pairs(noise: Array) -> int:
    """Pairs of releases, of whatever round, agent and seed, whose noise is the same."""
    from scipy.spatial import cKDTree

    vectors = noise.reshape(-1, noise.shape[-1])[:, :_COMPARED]
    tree = cKDTree(vectors)
    return (int(tree.count_neighbors(tree, _EQUAL, p=np.inf)) - len(vectors)) // 2


def _correlation(noise: Array) -> float:
    """Largest normalised inner product of two releases, or of two seeds, in standard deviations."""
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
    """Compare a run of the first world with the second world that has its noisy values."""
    federation = first.federation
    most = _EQUAL_SUMS * federation.problem.n_agents if federation.privacy.summed else 0.0
    differences = [*_noises(first, second), *_differences(first, second)]
    value = float(np.max([size for size, _ in differences], initial=0))
    # The first in time is the cause of the others.
    fault = next((sentence for size, sentence in differences if not size <= most), None)
    good = "With the same noisy values, both worlds send, keep and measure the same."
    return checked(COUPLING, canary, value, most, fault, good)


def _differences(first: Run, second: Run) -> Iterator[tuple[float, str]]:
    """How far what is public differs, in the order of rounds, and that in words."""
    n_seeds = first.federation.problem.n_seeds
    for t, ours in first.public.items():
        theirs = second.public[t]
        for name in ours | theirs:
            sentence = f"Data leave without noise: {name} of round {t} tells the worlds apart."
            yield _difference(ours.get(name), theirs.get(name), n_seeds), sentence


def _difference(one: Array | None, other: Array | None, n_seeds: int) -> float:
    """Largest difference in units of the largest entry of its seed; 0 if every bit is the same.

    It is infinite where values are the same and bits are not (the sign of a zero), and where there is no size.
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
        apart = np.abs(np.where(same, 0, np.subtract(one, other, dtype=complex))).max(axis=others)
        found = apart / np.abs(one).max(axis=others)
    # Where both are 0 there is no difference; where one is no number, nothing is known.
    return float(np.max(np.where(apart == 0, 0, found))) or math.inf


def _noises(first: Run, second: Run) -> Iterator[tuple[float, str]]:
    """Releases must be as many, in the same rounds, with noise that is alike: how far they differ, and in words."""
    for ours, theirs in zip(first.tapes, second.tapes, strict=True):
        if [(each.t, each.law) for each in ours] != [(each.t, each.law) for each in theirs]:
            yield math.inf, "The number of releases, or their law, depends on the data."
        pairs = (
            zip(*(each.parts for each in both), strict=True)
            for both in zip(ours, theirs, strict=False)
        )
        for (one, other), what in itertools.product(
            itertools.chain.from_iterable(pairs), ("scale", "grid")
        ):
            apart = _difference(getattr(one, what), getattr(other, what), one.scale.shape[1])
            yield (
                apart,
                f"The {what} of the noise depends on the data: in round {one.t} it differs by up to {apart:.2%} "
                "between the worlds, which tells them apart.",
            )


def likelihood(pair: Pair, canary: str) -> Finding:
    """Compare the shifts between the worlds with what the ledger was told of each release."""
    return of_shifts(pair.first.first, pair.first.second, canary, _wrong_samples(pair.first))


def of_shifts(first: Run, second: Run, canary: str, faults: Iterable[str] = ()) -> Finding:
    """Compare the shifts between two worlds, where the canary takes part in each round, and name other faults first."""
    used = list(_used(first, second))
    beyond = (what for part, what in used if not part <= 1 + _ROUNDING)
    fault = next(itertools.chain(faults, first.faults, second.faults, beyond), None)
    value = float(np.fmax.reduce([part for part, _ in used], initial=0.0))
    good = f"No release shifts by more than {value:.3f} of what the ledger was told."
    return checked(LIKELIHOOD, canary, value, 1 + _ROUNDING, fault, good)


def _used(first: Run, second: Run) -> Iterator[tuple[float, str]]:
    """Shift of every agent's every release over what was entered for it, and that in words."""
    summed = first.federation.privacy.summed
    blocks = zip(first.federation.blocks, first.tapes, second.tapes, strict=True)
    for block, ours, theirs in blocks:
        for one, other in zip(ours, theirs, strict=False):
            parts = zip(one.parts, other.parts, strict=False)
            apart = np.concatenate([_apart(*each) for each in parts], axis=-1)
            stretch = np.abs(_stretch(one.parts[-1], other.parts[-1], one.parts[-1]))
            for b, entries in enumerate(one.entered):
                who = "of the sum" if summed else f"of agent {block.agents.start + b}"
                who += f" in round {one.t}"
                if not _suits(one, entries):
                    told = ", ".join(map(str, entries)) or "nothing"
                    yield np.inf, f"The ledger was told {told} of a {one.law} release {who}."
                    continue
                used = _over(apart[b], stretch[b], entries[0].cost)
                yield used, f"A release {who} shifts by {used:.3f} of what the ledger was told."


def _suits(one: Taped, entries: list[Entry]) -> bool:
    """Whether a ledger was told of one release, of this law; whatever is private may be called approximate."""
    if len(entries) != 1 or entries[0].times != 1:
        return False
    cost = entries[0].cost
    return one.law in cost.laws or (one.law == "gaussian" and isinstance(cost, Approximate))


def _wrong_samples(of: Played) -> Iterator[str]:
    """Whether the canary takes part as often as the ledger was told, and anew in each round and seed."""
    for q, (seen, taken) in _participation(of).items():
        if _unlikely(seen, taken, q):
            yield (
                f"The canary takes part in {taken.sum()} of {seen.sum()} releases; the ledger was told a probability "
                f"of {q:g}."
            )
        for what, axis in (("rounds", 0), ("runs", 1)):
            if _unlikely(_in_pairs(seen, axis), _in_pairs(taken, axis), q**2):
                yield f"Samples are not drawn anew: the canary takes part in the same ones of {what}."


def _participation(of: Played) -> dict[float, tuple[Array, Array]]:
    """Where an auditor can see if the canary takes part, and where it does, for each probability in the ledger.

    Both have a row for each release of the canary's agent, shape (R, S).
    """
    found: dict[float, tuple[list[Array], list[Array]]] = {}
    for own, one, other, without in side_by_side(*of):
        seen = _differ(one, other)
        # A release that does not depend on the sample has the canary in it.
        taken = _differ(own, without) | ~_differ(one, without)
        for b in np.flatnonzero(seen.any(axis=1)).tolist():
            for entry in own.entered[b][:1]:
                rows = found.setdefault(entry.cost.sampling, ([], []))
                rows[0].append(seen[b])
                rows[1].append(taken[b] & seen[b])
    return {q: (np.array(seen), np.array(taken)) for q, (seen, taken) in found.items()}


def _differ(one: Taped, other: Taped) -> Array:
    """Whether the values of two releases are different, shape (B, S)."""
    return np.asarray((one.value != other.value).any(axis=tuple(range(2, one.value.ndim))))


def _in_pairs(what: Array, axis: int) -> Array:
    """Whether something is so in both of two neighbouring releases, or seeds."""
    pairs = np.moveaxis(what, axis, 0)
    pairs = pairs[: len(pairs) // 2 * 2]
    return np.asarray(pairs[::2] & pairs[1::2])


def _unlikely(seen: Array, taken: Array, q: float) -> bool:
    """Whether so many of those that are seen are not due to chance."""
    from scipy.stats import binomtest

    n = int(seen.sum())
    return n > 0 and bool(binomtest(int(taken.sum()), n, q).pvalue < _LEAST)


def _apart(one: Taped, other: Taped) -> Array:
    """How far each entry differs, in units of the noise, shape (B, S, entries)."""
    apart = np.abs(one.value - other.value).reshape(*one.scale.shape, -1)
    # Where there is no noise, any difference is an infinite shift.
    scale = one.scale[..., None]
    return np.divide(apart, scale, out=np.where(apart > 0, np.inf, 0.0), where=scale > 0)


def _stretch(one: Taped, other: Taped, run: Taped) -> Array:
    """Logarithm of the ratio of determinants by which the worlds turn noise into a run's solution, shape (B, S)."""
    found = np.zeros(one.scale.shape)
    if one.curved and other.curved and run.curved:
        convexity = run.curved.convexity
        for b in np.flatnonzero((one.value != other.value).any(axis=(1, 2, 3))).tolist():
            found[b] = one.curved.log_det(b, convexity[b]) - other.curved.log_det(b, convexity[b])
    return found


def _over(apart: Array, stretch: Array, cost: Cost) -> float:
    """Largest norm of shifts of shape (S, entries) over its bound; if approximate, their epsilon over the cost's.

    Of a solution, the l2 norm, or the epsilon, has what the determinants differ by as well: the sum bounds the
    likelihood ratio.
    """
    l1, l2, linf = apart.sum(axis=-1), np.linalg.norm(apart, axis=-1), apart.max(axis=-1)
    shift = l1.max(), (l2 + stretch).max(), linf.max()
    if isinstance(cost, Approximate):
        shift = 0, _gaussian_epsilon(l2.max(), cost.delta) + stretch.max(), 0
    pairs = zip(shift, cost.shift, strict=True)
    with np.errstate(divide="ignore"):
        used = [np.divide(norm, bound) if 0 < norm < np.inf else norm for norm, bound in pairs]
    # NaN, where a ledger was told no number, must not be lost.
    return float(np.max(used))


def _gaussian_epsilon(shift: float, delta: float) -> float:
    """Epsilon of a value that shifts by so many standard deviations."""
    from dp_accounting import get_epsilon_gaussian

    if not 0 < shift < np.inf:
        return shift
    with np.errstate(divide="ignore"):  # hardly any shift costs nothing
        return float(get_epsilon_gaussian(1 / shift, delta)) if 0 < delta < 1 else np.inf


def log_ratio(of: Played, sampling: float) -> Array:
    """Return by how much a run's noisy values are likelier in the first world, as a logarithm, shape (S,).

    An attacker who does not see the sample sees a mixture in both worlds: the ratio is (1 - q) p + q p' over
    (1 - q) p + q p'', where p is the density without the canary and what is in its place, and p' and p'' are those with
    each of them.

    Parameters
    ----------
    of
        The run, and the worlds with its noisy values.
    sampling
        q, the probability that the canary takes part.
    """
    total = np.zeros(of.run.federation.problem.n_seeds)
    # Where noise is inside a problem too, what the solver leaves is no shift for whoever sees the sum alone.
    for own, *worlds, without in innermost(*of):
        mixed = []
        for world in worlds:
            with np.errstate(invalid="ignore", divide="ignore"):
                ratio = _log_density(own, world) - _log_density(own, without)
                ratio += _stretch(world, without, own)
                mixed.append(np.logaddexp(np.log1p(-sampling), np.log(sampling) + ratio))
        total += np.where(own.scale > 0, mixed[0] - mixed[1], 0).sum(axis=0)
    return total


def _log_density(run: Taped, world: Taped) -> Array:
    """Logarithm of the density of the noise that a release is due to in a world, but for a constant: shape (B, S)."""
    noise = run.noise(world)
    size = np.abs(noise / world.scale[..., None])
    return -_EXPONENTS[run.law](size) - noise.shape[-1] * np.log(world.scale)
