"""When a claim is supported, contradicted or undecided: tests of its parts, and how they decide.

A claim has one or more parts: each says that one quantity lies in a region. One-sided tests show a part, and others
refute it. A claim is supported if all of its parts are shown (intersection-union: the claim is false if one part is,
and that part is shown with a probability of at most its own level, so no level is corrected). A claim is contradicted
if a part is refuted. Here one of several parts suffices, so each of k parts is refuted at a k-th of the level
(Bonferroni). Otherwise the claim is undecided. What a paper says of some cases is the contrary of all this: one part
that is shown at a k-th of its level is enough, and it takes all parts to refute it.
"""

from __future__ import annotations

import math
import operator
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from admmbench.claims import estimates
from admmbench.inference.intervals import LEVEL

Judgement = Literal["supported", "contradicted", "undecided", "not run"]

MEANING: dict[Judgement, str] = {
    "supported": "the runs show what the paper states",
    "contradicted": "the runs show that it does not hold",
    "undecided": "the runs show neither, and the reason says how many seeds would; or they fall short of what the "
    "paper's statement presupposes",
    "not run": "no runs, fewer than three seeds, or other data than the paper's",
}
"""Every outcome, in the order of the report, and what it means."""

FEWEST = 3
"""Seeds that a verdict needs."""

FIRM = 10
"""Seeds below which a verdict is exploratory; the papers have ten."""

MOST = 1000
"""Seeds up to which the number that would decide is looked for."""

TEST = 0.05
"""Level of each of the two one-sided tests of equivalence; an interval of 90 %."""

TAIL = (1 - LEVEL) / 2
"""Level of other one-sided tests: one end of the report's intervals."""

_COMPARE = {">": operator.gt, ">=": operator.ge, "<": operator.lt, "<=": operator.le}


class Bound(NamedTuple):
    """A quantity lies on one side of a number; a test of this level shows it."""

    side: Literal[">", ">=", "<", "<="]
    limit: float
    level: float

    def shown(self, estimate: Estimate) -> bool:
        """Say whether the interval with this level beyond each end lies on the side."""
        lower, upper = estimate.bounds(1 - 2 * self.level)
        return bool(_COMPARE[self.side](lower if ">" in self.side else upper, self.limit))


Estimate = estimates.Estimate | estimates.Difference


class Evidence(NamedTuple):
    """All of several bounds together show something, or any of them does."""

    how: Literal["all", "any"]
    bounds: tuple[Bound, ...]

    def shown(self, estimate: Estimate) -> bool:
        """Say whether the bounds that an estimate shows are enough."""
        enough = all if self.how == "all" else any
        return enough(bound.shown(estimate) for bound in self.bounds)

    def among(self, parts: int) -> Evidence:
        """Return this evidence at levels that are corrected for so many parts, any of which would do."""
        bounds = tuple(bound._replace(level=bound.level / parts) for bound in self.bounds)
        return self._replace(bounds=bounds)


@dataclass(frozen=True)
class Region:
    """A quantity should lie here: what shows it, what refutes it, and how a sentence goes on about it."""

    shown: Evidence
    refuted: Evidence
    words: str
    relevant: float = 0.0
    """Smallest difference that matters; one that is shown to be smaller decides nothing."""


def within(centre: float, margin: float, words: str) -> Region:
    """Make the region no farther from the centre than the margin: two one-sided tests show it (Schuirmann 1987)."""
    low, high = centre - margin, centre + margin
    return Region(
        Evidence("all", (Bound(">=", low, TEST), Bound("<=", high, TEST))),
        Evidence("any", (Bound(">", high, TAIL), Bound("<", low, TAIL))),
        words,
    )


def apart(centre: float, margin: float, words: str) -> Region:
    """Make the region farther from the centre than the margin, the contrary of `within`."""
    inside = within(centre, margin, words)
    return replace(inside, shown=inside.refuted, refuted=inside.shown)


def above_zero(relevant: float, words: str) -> Region:
    """Make the region above 0, which is refuted by less than the smallest relevant difference."""
    return Region(
        Evidence("all", (Bound(">", 0.0, TAIL),)),
        Evidence("all", (Bound("<", relevant, TAIL),)),
        words,
        relevant,
    )


def at_most(limit: float, words: str) -> Region:
    """Make the region of at most the limit."""
    return Region(
        Evidence("all", (Bound("<=", limit, TEST),)),
        Evidence("all", (Bound(">", limit, TAIL),)),
        words,
    )


def below(room: float, words: str) -> Region:
    """Make the region of at most 0; only what has some room below 0 is shown to be there."""
    return Region(
        Evidence("all", (Bound("<=", -room, TEST),)),
        Evidence("all", (Bound(">", 0.0, TAIL),)),
        words,
    )


def no_flatter(slope: float, words: str) -> Region:
    """Make the region of at most a slope, which nothing refutes."""
    never = Evidence("all", (Bound(">", math.inf, TAIL),))
    return Region(Evidence("all", (Bound("<=", slope, TEST),)), never, words)


@dataclass(frozen=True)
class Part:
    """A claim says, among other things, that a quantity lies in a region.

    Attributes
    ----------
    name
        Of the quantity, in a sentence.
    region
        Where it should lie.
    estimate
        What the runs say of it.
    lost
        How many runs have no value, in words, if that settles the part: a mean over the other runs would be too good.
    limited
        Whether a limit of the study ended these runs, which says nothing about the method.
    by_value
        Whether there is only one run, because runs do not depend on the seed.
    """

    name: str
    region: Region
    estimate: Estimate
    lost: str = ""
    limited: bool = False
    by_value: bool = False

    @property
    def is_random(self) -> bool:
        """Say whether seeds differ."""
        return self.estimate.sd > 0

    @property
    def is_negligible(self) -> bool:
        """Say whether a difference is too small to matter: above 0 all the same, or without variance on either side."""
        region = self.region
        if not self.is_random:
            return abs(self.estimate.value) < region.relevant
        both = region.shown.shown(self.estimate) and region.refuted.shown(self.estimate)
        return bool(region.relevant and both)

    def tests(self, parts: int, *, some: bool) -> tuple[Evidence, Evidence]:
        """Return what shows it and what refutes it, as one of so many parts of which all are to hold, or some."""
        shown, refuted = self.region.shown, self.region.refuted
        return (shown.among(parts), refuted) if some else (shown, refuted.among(parts))

    def outcome(self, parts: int, *, some: bool = False) -> Judgement:
        """Judge it, as one of so many parts of which all are to hold, or some."""
        if self.lost:
            return "undecided" if self.limited else "contradicted"
        if self.estimate.n < (1 if self.by_value else FEWEST):
            return "not run"
        if self.is_negligible:
            return "undecided"
        shown, refuted = self.tests(parts, some=some)
        if refuted.shown(self.estimate):
            return "contradicted"
        return "supported" if shown.shown(self.estimate) else "undecided"

    def with_seeds(self, n: int) -> Part:
        """Return the part with the same means and spreads from so many seeds."""
        return replace(self, estimate=self.estimate.with_seeds(n))

    def size(self) -> float:
        """Return the largest level of its tests; 0 where nothing is random."""
        bounds = (*self.region.shown.bounds, *self.region.refuted.bounds)
        return max(bound.level for bound in bounds) if self.is_random else 0.0


def decide(parts: Sequence[Part], *, some: bool = False) -> Judgement:
    """Return the outcome of a claim with these parts, all of which are to hold, or some."""
    outcomes = {part.outcome(len(parts), some=some) for part in parts}
    decisive: list[Judgement] = ["contradicted", "not run", "undecided", "supported"]
    if some:
        decisive.reverse()
    return next((outcome for outcome in decisive if outcome in outcomes), "not run")


def seeds_to_decide(parts: Sequence[Part], *, some: bool = False) -> int | None:
    """Find the fewest seeds at which an undecided claim would be decided if means and spreads stayed as they are.

    The answer is None if more than `MOST` would, or no number of them: where runs were lost, or a quantity lies on the
    edge of its region.
    """
    more = range(max(part.estimate.n for part in parts) + 1, MOST + 1)

    def settled(n: int) -> bool:
        return decide([part.with_seeds(n) for part in parts], some=some) != "undecided"

    place = bisect_left(more, x=True, key=settled)
    return more[place] if place < len(more) else None
