"""Level 3: no release shifts by more than the ledger was told; and the likelihood ratio of all releases together."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator

import numpy as np

from admmbench.audit.findings import Finding, checked
from admmbench.audit.tapes import Entry, Taped
from admmbench.audit.worlds import Pair, Run, side_by_side
from admmbench.frames.base import Array
from admmbench.privacy import Approximate, Cost

LEVEL = "likelihood"
# Of sensitivities, which are computed in floating point.
_ROUNDING = 1e-3
# The p-value below which samples are not what the ledger was told.
_LEAST = 1e-6
# Logarithms of densities but for their sign, of the sizes of a release's entries in units of the scale.
_EXPONENTS: dict[str, Callable[[Array], Array]] = {
    "laplace": lambda size: size.sum(axis=-1),
    "gaussian": lambda size: np.square(size).sum(axis=-1) / 2,
    "spherical": lambda size: np.linalg.norm(size, axis=-1),
}


def find(pair: Pair, canary: str) -> Finding:
    """Compare the shifts between the worlds with what the ledger was told of each release."""
    return of_shifts(pair.first_taken, pair.second_as_first, canary, _wrong_samples(pair))


def of_shifts(first: Run, second: Run, canary: str, faults: Iterable[str] = ()) -> Finding:
    """Compare the shifts between two worlds, where the canary takes part in each round, and name other faults first."""
    value, fault = 0.0, next(itertools.chain(faults, first.faults, second.faults), None)
    for used, what in _used(first, second):
        value = max(value, used)
        if fault is None and not used <= 1 + _ROUNDING:
            fault = what
    good = f"No release shifts by more than {value:.3f} of what the ledger was told."
    return checked(LEVEL, canary, value, 1 + _ROUNDING, fault, good)


def _used(first: Run, second: Run) -> Iterator[tuple[float, str]]:
    """Shift of every agent's every release over what was entered for it, and that in words."""
    blocks = zip(first.federation.blocks, first.tapes, second.tapes, strict=True)
    for block, ours, theirs in blocks:
        for one, other in zip(ours, theirs, strict=False):
            shifts, stretch = _shifts(one, other), _stretch(one, other, one)
            for b, entries in enumerate(one.entered):
                summed = first.federation.privacy.summed
                who = "of the sum" if summed else f"of agent {block.agents.start + b}"
                who += f" in round {one.t}"
                if not _suits(one, entries):
                    told = ", ".join(map(str, entries)) or "nothing"
                    yield np.inf, f"The ledger was told {told} of a {one.law} release {who}."
                    continue
                l1, l2, linf = (each[b] for each in shifts)
                used = _over(l1, l2, linf, np.abs(stretch[b]), entries[0].cost)
                yield used, f"A release {who} shifts by {used:.3f} of what the ledger was told."


def _suits(one: Taped, entries: list[Entry]) -> bool:
    """Whether a ledger was told of one release, of this law; whatever is private may be called approximate."""
    if len(entries) != 1 or entries[0].times != 1:
        return False
    cost = entries[0].cost
    return one.law in cost.laws or (one.law == "gaussian" and isinstance(cost, Approximate))


def _wrong_samples(pair: Pair) -> Iterator[str]:
    """Whether the canary takes part as often as the ledger was told, and anew in each round and seed."""
    for q, (seen, taken) in _participation(pair).items():
        if _unlikely(seen, taken, q):
            yield (
                f"The canary takes part in {taken.sum()} of {seen.sum()} releases; the ledger was told a probability "
                f"of {q:g}."
            )
        for what, axis in (("rounds", 0), ("runs", 1)):
            if _unlikely(_in_pairs(seen, axis), _in_pairs(taken, axis), q**2):
                yield f"Samples are not drawn anew: the canary takes part in the same ones of {what}."


def _participation(pair: Pair) -> dict[float, tuple[Array, Array]]:
    """Where an auditor can see if the canary takes part, and where it does, for each probability in the ledger.

    Both have a row for each release of the canary's agent, shape (R, S).
    """
    found: dict[float, tuple[list[Array], list[Array]]] = {}
    for own, one, other in side_by_side(pair.first, pair.first_taken, pair.second_as_first):
        axes = tuple(range(2, other.value.ndim))
        seen, taken = ((each.value != other.value).any(axis=axes) for each in (one, own))
        for b in np.flatnonzero(seen.any(axis=1)).tolist():
            for entry in own.entered[b][:1]:
                rows = found.setdefault(entry.cost.sampling, ([], []))
                rows[0].append(seen[b])
                rows[1].append(taken[b] & seen[b])
    return {q: (np.array(seen), np.array(taken)) for q, (seen, taken) in found.items()}


def _in_pairs(what: Array, axis: int) -> Array:
    """Whether something is so in both of two neighbouring releases, or seeds."""
    pairs = np.moveaxis(what, axis, 0)
    pairs = pairs[: len(pairs) // 2 * 2]
    found: Array = pairs[::2] & pairs[1::2]
    return found


def _unlikely(seen: Array, taken: Array, q: float) -> bool:
    """Whether so many of those that are seen are not due to chance."""
    from scipy.stats import binomtest

    n = int(seen.sum())
    return n > 0 and bool(binomtest(int(taken.sum()), n, q).pvalue < _LEAST)


def _shifts(one: Taped, other: Taped) -> tuple[Array, Array, Array]:
    """Norms of what the value before noise differs by, in units of the noise, each of shape (B, S)."""
    apart = np.concatenate(
        [_apart(*parts) for parts in zip(one.parts, other.parts, strict=False)], axis=-1
    )
    return apart.sum(axis=-1), np.linalg.norm(apart, axis=-1), apart.max(axis=-1)


def _apart(one: Taped, other: Taped) -> Array:
    """How far each entry differs, in units of the noise, shape (B, S, entries)."""
    apart = np.abs(one.value - other.value).reshape(*one.scale.shape, -1)
    # Where there is no noise, any difference is an infinite shift.
    scale = one.scale[..., None]
    found: Array = np.divide(apart, scale, out=np.where(apart > 0, np.inf, 0.0), where=scale > 0)
    return found


def _stretch(one: Taped, other: Taped, run: Taped) -> Array:
    """Logarithm of the ratio of determinants by which the worlds turn noise into a run's solution, shape (B, S)."""
    found = np.zeros(one.scale.shape)
    one, other, run = (each.parts[-1] for each in (one, other, run))
    if one.curved and other.curved and run.curved:
        convexity = run.curved.convexity
        for b in np.flatnonzero((one.value != other.value).any(axis=(1, 2, 3))).tolist():
            found[b] = one.curved.log_det(b, convexity[b]) - other.curved.log_det(b, convexity[b])
    return found


def _over(l1: Array, l2: Array, linf: Array, stretch: Array, cost: Cost) -> float:
    """Largest of the three norms over its bound; of an approximate release, the epsilon of the shift over its own.

    Of a solution, the l2 norm, or the epsilon, has what the determinants differ by as well: the sum bounds the
    likelihood ratio.
    """
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


def log_ratio(run: Run, first: Run, second: Run, sampling: float) -> Array:
    """Logarithm of the likelihood of a run's noisy values in the first world over that in the second, shape (S,).

    An attacker who does not see the sample sees a mixture in the first world: the ratio is (1 - q) p + q p' over p,
    where p' is the density with the canary, and p is the density without it, which is that of the second world.

    Parameters
    ----------
    run
        The run.
    first, second
        The worlds, with the noisy values of the run; the canary takes part in each round of the first.
    sampling
        q, the probability that it does.
    """
    total = np.zeros(run.federation.problem.n_seeds)
    for own, one, other in side_by_side(run, first, second):
        with np.errstate(invalid="ignore", divide="ignore"):
            ratio = _log_density(own, one) - _log_density(own, other)
            ratio += _stretch(one, other, own)
            ratio = np.logaddexp(np.log1p(-sampling), np.log(sampling) + ratio)
        total += np.where(own.scale > 0, ratio, 0).sum(axis=0)
    return total


def _log_density(run: Taped, world: Taped) -> Array:
    """Logarithm of the density of the noise that a release is due to in a world, but for a constant: shape (B, S)."""
    if run.inside and world.inside:
        # What the solver leaves is no Gaussian shift for whoever sees the sum alone.
        run, world = run.inside, world.inside
    noise = (run.total - world.value).reshape(*run.scale.shape, -1)
    with np.errstate(divide="ignore", invalid="ignore"):
        size = np.abs(noise / world.scale[..., None])
        exponent = _EXPONENTS[run.law](size)
        return -exponent - noise.shape[-1] * np.log(world.scale)
