"""Ledger: every noisy release of an agent, and what they cost together.

Agents hold disjoint records, so a record pays for the releases of its own agent only (parallel composition): each agent
keeps a ledger, and the federation's total is the largest.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from admmbench.privacy.accountants import (
    ACCOUNTANTS,
    Approximate,
    Releases,
    Sampled,
    Shift,
    over_square,
)

# Of norms, which are computed in floating point.
_ROUNDED = 1 + 1e-9


class Ledger:
    """Releases of one agent; memory is constant in the number of rounds."""

    def __init__(self) -> None:
        self._laplace: Counter[Shift] = Counter()
        self._gaussian = 0.0
        self._pure: Counter[float] = Counter()
        self._sampled: Counter[Sampled] = Counter()
        self._approximate: Counter[Approximate] = Counter()

    def __bool__(self) -> bool:
        """Whether there was any release."""
        return any(self.releases())

    def add(self, releases: Releases, count: int = 1) -> None:
        """Record releases, ``count`` times."""
        for shift, number in releases.laplace:
            self.laplace(shift, count * number)
        for epsilon, number in releases.pure:
            self.pure(epsilon, count * number)
        if releases.gaussian:
            multiplier = 1 / math.sqrt(releases.gaussian) if releases.gaussian > 0 else math.nan
            self.gaussian(multiplier, count)
        for each, number in releases.sampled:
            self.gaussian(each.multiplier, count * number, each.sampling)
        for stated, number in releases.approximate:
            self.approximate(*stated, count * number)

    def laplace(self, shift: Shift, count: int = 1) -> None:
        """Record releases with Laplace noise on every entry; ``shift`` of the values is in units of its scale."""
        self._laplace[shift] += count

    def gaussian(self, multiplier: float, count: int = 1, sampling: float = 1.0) -> None:
        """Record releases with Gaussian noise of standard deviation ``multiplier`` times the l2 sensitivity.

        Each record takes part in a release with the probability ``sampling``: releases are of Poisson samples, which
        nobody but the agent sees.
        """
        if not (multiplier > 0 and sampling > 0):
            self._gaussian = math.inf  # nothing is known of the noise
        elif sampling < 1:
            self._sampled[Sampled(multiplier, sampling)] += count
        else:
            self._gaussian += over_square(count, multiplier)

    def pure(self, epsilon: float, count: int = 1) -> None:
        """Record releases that are (epsilon, 0)-differentially private, whatever their noise."""
        self._pure[epsilon] += count

    def approximate(self, epsilon: float, delta: float, count: int = 1) -> None:
        """Record releases that are (epsilon, delta)-differentially private, whatever their noise."""
        self._approximate[Approximate(epsilon, delta)] += count

    def variables(self) -> dict[str, Any]:
        """All releases so far, as lists of (what each is, count) and a number."""
        laplace = [[list(shift), count] for shift, count in self._laplace.items()]
        pure = [list(each) for each in self._pure.items()]
        sampled = [[list(each), count] for each, count in self._sampled.items()]
        approximate = [[list(each), count] for each, count in self._approximate.items()]
        return {
            "laplace": laplace,
            "gaussian": self._gaussian,
            "pure": pure,
            "sampled": sampled,
            "approximate": approximate,
        }

    def restore(self, variables: dict[str, Any]) -> None:
        """Take up what `variables` returned."""
        self._laplace = Counter({Shift(*shift): count for shift, count in variables["laplace"]})
        self._pure = Counter(dict(variables["pure"]))
        self._gaussian = variables["gaussian"]
        self._sampled = Counter({Sampled(*each): count for each, count in variables["sampled"]})
        self._approximate = Counter(
            {Approximate(*each): count for each, count in variables["approximate"]}
        )

    def releases(self) -> Releases:
        """All releases so far."""
        return Releases(
            tuple(sorted(self._laplace.items())),
            self._gaussian,
            tuple(sorted(self._pure.items())),
            tuple(sorted(self._sampled.items())),
            tuple(sorted(self._approximate.items())),
        )

    def epsilon(self, delta: float, accountant: str = "rdp") -> float:
        """Total epsilon at ``delta``.

        Parameters
        ----------
        delta
            Failure probability of the total guarantee.
        accountant
            Name in `ACCOUNTANTS`.

        Returns
        -------
        float
            Infinite if the ledger has a number that is negative or not finite, or norms of no vector, as then nothing
            is known of the noise; NaN if there are releases that the accountant cannot compose.
        """
        releases = self.releases()
        if not _is_sound(releases):
            return math.inf
        return ACCOUNTANTS[accountant].epsilon(releases, delta)


def _is_sound(releases: Releases) -> bool:
    """Whether all numbers are finite and at least 0, and the norms of a shift those of some vector."""
    shifts = (shift for shift, _ in releases.laplace)
    return all(0 <= number < math.inf for number in _numbers(releases)) and all(
        each.linf <= _ROUNDED * each.l2 and each.l2 <= _ROUNDED * each.l1 for each in shifts
    )


def _numbers(what: Any) -> Iterator[float]:
    """All numbers in nested tuples."""
    if isinstance(what, tuple):
        for each in what:
            yield from _numbers(each)
    else:
        yield what


def epsilon_total(ledgers: Iterable[Ledger], delta: float, accountant: str = "rdp") -> float:
    """Total epsilon of a federation: that of the agent who pays most, NaN if any agent's is."""
    totals = {ledger.releases(): ledger for ledger in ledgers}
    return float(np.max([each.epsilon(delta, accountant) for each in totals.values()], initial=0))
