"""Level 2: with the same noisy values, both worlds are the same: nothing of the data is known without noise."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np

from admmbench.audit.findings import Finding, checked
from admmbench.audit.worlds import Run, side_by_side
from admmbench.frames.base import Array

LEVEL = "coupling"
# Both worlds do the same with the same values, in any precision: this is room for sums in another order.
_ROUNDING = 1e-9


def find(first: Run, second: Run, canary: str) -> Finding:
    """Compare a run of the first world with the second world that has its noisy values."""
    differences = list(_differences(first, second))
    value = float(np.max([size for size, _ in differences], initial=0))
    fault = next(itertools.chain(_releases(first, second), _scales(first, second)), None)
    if fault is None and not value <= _ROUNDING:
        # The first in time is the cause of the others.
        what = next(what for size, what in differences if not size <= _ROUNDING)
        fault = f"Data leave without noise: {what} tells the worlds apart."
    good = "With the same noisy values, both worlds send, keep and measure the same."
    return checked(LEVEL, canary, value, _ROUNDING, fault, good)


def _differences(first: Run, second: Run) -> Iterator[tuple[float, str]]:
    """How far what is public differs, in the order of rounds."""
    n_seeds = first.federation.problem.n_seeds
    for t, ours in first.public.items():
        theirs = second.public[t]
        for name in ours | theirs:
            both = ours.get(name), theirs.get(name)
            yield _difference(*both, n_seeds), f"{name} of round {t}"


def _difference(one: Array | None, other: Array | None, n_seeds: int) -> float:
    """Largest difference in units of the largest entry of its seed; NaN counts as equal to itself."""
    if one is None or other is None or one.shape != other.shape:
        return math.inf
    if not {one.dtype.kind, other.dtype.kind} <= set("biufc"):
        return 0.0 if np.array_equal(one, other) else math.inf
    if np.array_equal(one, other, equal_nan=True):
        return 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        apart = np.where(
            (one == other) | (np.isnan(one) & np.isnan(other)),
            0,
            np.subtract(one, other, dtype=complex),
        )
        seeds = [axis for axis, length in enumerate(one.shape) if length == n_seeds][-1:]
        others = tuple(axis for axis in range(one.ndim) if axis not in seeds)
        found = np.abs(apart).max(axis=others) / np.abs(one).max(axis=others)
    # Where both are 0 there is no difference; where one is no number, nothing is known.
    return float(np.max(np.where(np.abs(apart).max(axis=others) == 0, 0, found), initial=0))


def _releases(first: Run, second: Run) -> Iterator[str]:
    """Releases must be as many, in the same rounds, of the same law."""
    for ours, theirs in zip(first.tapes, second.tapes, strict=True):
        if [(each.t, each.law) for each in ours] != [(each.t, each.law) for each in theirs]:
            yield "The number of releases, or their law, depends on the data."


def _scales(first: Run, second: Run) -> Iterator[str]:
    """Scales must be the same."""
    for ours, theirs in side_by_side(first, second):
        for one, other in zip(ours.parts, theirs.parts, strict=True):
            if not _difference(one.scale, other.scale, one.scale.shape[1]) <= _ROUNDING:
                with np.errstate(divide="ignore", invalid="ignore"):
                    ratio = np.nanmax(np.abs(other.scale / one.scale - 1))
                yield (
                    f"The scale of the noise depends on the data: in round {one.t} it differs by up to {ratio:.2%} "
                    "between the worlds, which tells them apart."
                )
