"""Level 3: no release shifts by more than the ledger was told; and the likelihood ratio of all releases together."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from admmbench.algorithms.base import Array
from admmbench.audit.report import Finding
from admmbench.audit.tapes import Entry, Taped
from admmbench.audit.worlds import Pair, Run
from admmbench.privacy import Shift

LEVEL = "likelihood"
# Of sensitivities, which are computed in floating point.
_ROUNDING = 1e-3
# Logarithms of densities but for their sign, of the sizes of a release's entries in units of the scale.
_EXPONENTS: dict[str, Callable[[Array], Array]] = {
    "laplace": lambda size: size.sum(axis=-1),
    "gaussian": lambda size: np.square(size).sum(axis=-1) / 2,
    "spherical": lambda size: np.linalg.norm(size, axis=-1),
}


def find(pair: Pair, canary: str) -> Finding:
    """Compare the shifts between the worlds with what the ledger was told of each release."""
    value, fault = 0.0, None
    for used, what in _used(pair.first, pair.second_as_first):
        value = max(value, used)
        if fault is None and not used <= 1 + _ROUNDING:
            fault = what
    return Finding(
        level=LEVEL,
        canary=canary,
        passed=fault is None,
        value=value,
        bound=1 + _ROUNDING,
        sentence=fault
        or f"No release shifts by more than {value:.3f} of what the ledger was told.",
    )


def _used(first: Run, second: Run) -> Iterator[tuple[float, str]]:
    """Shift of every agent's every release over what was entered for it, and that in words."""
    blocks = zip(first.federation.blocks, first.tapes, second.tapes, strict=True)
    for block, ours, theirs in blocks:
        for one, other in zip(ours, theirs, strict=False):
            shifts = _shifts(one, other)
            for b, entries in enumerate(one.entered):
                who = f"of agent {block.agents.start + b} in round {one.t}"
                if [(each.law, each.times) for each in entries] != [(one.law, 1)]:
                    told = ", ".join(f"{each.times} {each.law}" for each in entries) or "nothing"
                    yield np.inf, f"The ledger was told {told} of a {one.law} release {who}."
                    continue
                used = _over(Shift(*(float(each[b].max()) for each in shifts)), entries[0])
                yield used, f"A release {who} shifts by {used:.3f} of what the ledger was told."


def _shifts(one: Taped, other: Taped) -> tuple[Array, Array, Array]:
    """Norms of what the value before noise differs by, in units of the noise, each of shape (B, S).

    Of a solution, the l2 norm has what the determinants differ by as well: the sum bounds the likelihood ratio.
    """
    apart = np.abs(one.value - other.value).reshape(*one.scale.shape, -1)
    # Where there is no noise, any difference is an infinite shift.
    scale = one.scale[..., None]
    apart = np.divide(apart, scale, out=np.where(apart > 0, np.inf, 0.0), where=scale > 0)
    l2 = np.linalg.norm(apart, axis=-1) + np.abs(_stretch(one, other))
    return apart.sum(axis=-1), l2, apart.max(axis=-1)


def _stretch(one: Taped, other: Taped) -> Array:
    """Logarithm of the ratio of determinants by which the worlds turn noise into a solution, shape (B, S)."""
    found = np.zeros(one.scale.shape)
    if one.curved and other.curved:
        convexity = one.curved.convexity
        for b in np.flatnonzero((one.value != other.value).any(axis=(1, 2, 3))).tolist():
            found[b] = one.curved.log_det(b, convexity[b]) - other.curved.log_det(b, convexity[b])
    return found


def _over(shift: Shift, entry: Entry) -> float:
    """Largest of the three norms over its bound."""
    pairs = zip(shift, entry.shift, strict=True)
    return max(norm / bound if norm else 0.0 for norm, bound in pairs)


def log_ratio(run: Run, other: Run) -> Array:
    """Logarithm of the likelihood of a run's noisy values in its own world over that in another one, shape (S,).

    Parameters
    ----------
    run
        The run.
    other
        The other world, with the noisy values of the run.
    """
    total = np.zeros(run.federation.problem.n_seeds)
    for ours, theirs in zip(run.tapes, other.tapes, strict=True):
        for one, there in zip(ours, theirs, strict=False):
            with np.errstate(invalid="ignore"):
                ratio = _log_density(one, one) - _log_density(one, there) + _stretch(one, there)
            total += np.where(one.scale > 0, ratio, 0).sum(axis=0)
    return total


def _log_density(run: Taped, world: Taped) -> Array:
    """Logarithm of the density of the noise that a release is due to in a world, but for a constant: shape (B, S)."""
    noise = (run.total - world.value).reshape(*run.scale.shape, -1)
    with np.errstate(divide="ignore", invalid="ignore"):
        size = np.abs(noise / world.scale[..., None])
        exponent = _EXPONENTS[run.law](size)
        return -exponent - noise.shape[-1] * np.log(world.scale)
