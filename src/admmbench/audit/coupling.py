"""Level 2: with the same noisy values, both worlds send the same: nothing of the data leaves without noise."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from admmbench.algorithms.base import Array
from admmbench.audit.report import Finding
from admmbench.audit.worlds import Pair, Run

LEVEL = "coupling"
# Rounding of double precision, in units of what is compared.
_ROUNDING = 1e-9


def find(pair: Pair, canary: str) -> Finding:
    """Compare a run of the first world with the second world that has its noisy values."""
    first, second = pair.first, pair.second_as_first
    differences = list(_messages(first, second))
    value = float(np.max([size for size, _ in differences]))
    fault = next(itertools.chain(_releases(first, second), _scales(first, second)), None)
    if fault is None and not value <= _ROUNDING:
        # The first in time is the cause of the others.
        what = next(what for size, what in differences if not size <= _ROUNDING)
        fault = f"Data leave without noise: {what} tells the worlds apart."
    return Finding(
        level=LEVEL,
        canary=canary,
        passed=fault is None,
        value=value,
        bound=_ROUNDING,
        sentence=fault or "With the same noisy values, both worlds send the same.",
    )


def _messages(first: Run, second: Run) -> Iterator[tuple[float, str]]:
    """How far what is public differs, in the order of rounds."""
    for t, (ours, theirs) in enumerate(zip(first.public, second.public, strict=True), start=1):
        for name, array in ours.items():
            yield _difference(array, theirs[name]), f"{name} of round {t}"


def _difference(one: Array, other: Array) -> float:
    """Largest difference in units of the largest entry; NaN counts as equal to itself."""
    if np.array_equal(one, other, equal_nan=True):
        return 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.abs(one - other).max() / np.abs(one).max())


def _releases(first: Run, second: Run) -> Iterator[str]:
    """Releases must be as many, in the same rounds, of the same law."""
    for ours, theirs in zip(first.tapes, second.tapes, strict=True):
        if [(each.t, each.law) for each in ours] != [(each.t, each.law) for each in theirs]:
            yield "The number of releases, or their law, depends on the data."


def _scales(first: Run, second: Run) -> Iterator[str]:
    """Scales must be the same."""
    for ours, theirs in zip(first.tapes, second.tapes, strict=True):
        for one, other in zip(ours, theirs, strict=True):
            if _difference(one.scale, other.scale) > _ROUNDING:
                with np.errstate(divide="ignore", invalid="ignore"):
                    ratio = np.nanmax(np.abs(other.scale / one.scale - 1))
                yield (
                    f"The scale of the noise depends on the data: in round {one.t} it differs by up to {ratio:.2%} "
                    "between the worlds, which tells them apart."
                )
