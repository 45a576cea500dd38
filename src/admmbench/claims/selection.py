"""The runs that a claim selects, and the verdict that its parts come to."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from admmbench.claims.claims import Claim, Order
from admmbench.claims.decisions import (
    FEWEST,
    FIRM,
    MOST,
    Judgement,
    Part,
    Region,
    decide,
    seeds_to_decide,
)
from admmbench.claims.estimates import Difference, Estimate
from admmbench.claims.requirements import Selected, named
from admmbench.frames.outcomes import FAILED, SUCCESSFUL, Outcome
from admmbench.inference.intervals import LEVEL
from admmbench.results import statistics
from admmbench.results.wording import at, confidence, quantity
from admmbench.validation import Strict

if TYPE_CHECKING:
    import xarray as xr

LIMITS = (Outcome.TIMED_OUT, Outcome.STALLED, Outcome.UNDEFINED)
"""Outcomes of runs that come from limits of a study or its data, and say nothing about the method."""

NAMED = 3
"""Parts of a claim that a reason names after the first; the table has the intervals of all."""


class Verdict(Strict):
    """The results say this about one claim; all numbers are text, ready for a table.

    ``ours`` and ``interval`` may have several lines, one for each comparison.

    Attributes
    ----------
    claim
        What the paper states.
    verdict
        One of four outcomes.
    published, ours, interval
        What the paper gives, what the runs give, and intervals.
    why
        The reason, in sentences.
    seeds
        Seeds of the smallest sample that was tested; 0 where nothing random was.
    size
        Probability of a wrong verdict, at most, by the levels of the tests; 0 where nothing random was tested.
    """

    claim: Claim
    verdict: Judgement
    published: str = ""
    ours: str = ""
    interval: str = ""
    why: str
    seeds: int = 0
    size: float = 0.0

    @property
    def is_exploratory(self) -> bool:
        """Say whether it comes from fewer seeds than a paper has."""
        return 0 < self.seeds < FIRM


class Selection:
    """A claim selects these runs; each is one number, in the unit of the claim.

    Parameters
    ----------
    claim, ds
        What the paper states, and results of its experiment.
    present, absent
        Labels and budgets of the claim with and without runs.
    lacking
        In which ways the runs fall short of what the claim presupposes, in words.
    """

    def __init__(
        self,
        claim: Claim,
        ds: xr.Dataset,
        present: list[Selected],
        absent: Sequence[Selected] = (),
        lacking: Sequence[str] = (),
    ) -> None:
        self.claim = claim
        if claim.at_round is not None:
            ds = statistics.until(ds, claim.at_round, claim.metrics)
        self.ds = ds
        self.present = present
        self.absent = absent
        self.lacking = lacking
        self.some = isinstance(claim, Order) and claim.somewhere
        self.redrawn = statistics.redrawn(ds)
        factor = 100.0 if claim.unit == "%" else 1.0
        values = statistics.reduce(self.ds, claim.metric, claim.run) * factor
        # Another round must not stand for one after which a run has no number.
        known = statistics.after_start(self.ds[claim.metric]).notnull()
        self.values = values.where(~(known.any("seed") & ~known).any("round"))

    def at(self, label: str, epsilon: float) -> xr.DataArray:
        """Return one number for each seed."""
        values: xr.DataArray = self.values.sel(algorithm=label, epsilon=epsilon, drop=True)
        return values

    def mean(self, label: str, epsilon: float) -> float:
        """Return the mean over seeds."""
        return float(self.at(label, epsilon).mean("seed"))

    def part(
        self,
        name: str,
        region: Region,
        values: xr.DataArray,
        needs: Iterable[Selected],
        estimate: Estimate | Difference | None = None,
        beside: Iterable[Selected] = (),
    ) -> Part:
        """Make a part of a claim about a mean over seeds, or about another estimate.

        It is open if runs have no number though they completed, if a limit of the study ended runs of the methods
        beside, or if these diverged and the runs that are left do not show it.

        Parameters
        ----------
        name, region
            As in `Part`.
        values
            One for each seed.
        needs
            Methods and budgets that must not have lost a run.
        estimate
            As in `Part`; the mean of the values, if None.
        beside
            Methods and budgets that should be worse, or far off: that a run diverged is not contrary to that.
        """
        needs, beside = list(needs), list(beside)
        lost, limited = self.lost(needs)
        part = Part(
            name,
            region,
            estimate or Estimate.of(values, self.redrawn),
            lost,
            limited,
            by_value=int(np.isfinite(values).sum()) == 1 and self._is_of_one_run(),
        )
        if lost:
            return part
        others, _ = self.lost(beside)
        cut, _ = self.lost(beside, LIMITS)
        if not others or (part.region.shown.shown(part.estimate) and not cut):
            others = self._numberless(values, [*needs, *beside])
        return replace(part, lost=others, limited=True)

    def _numberless(self, values: xr.DataArray, needs: Sequence[Selected]) -> str:
        """Say how many runs have no finite number though they completed; nothing where none has: nobody measured it."""
        ended = self.ds["status"].isin(SUCCESSFUL)
        of = np.all([ended.sel(algorithm=label, epsilon=e) for label, e in needs], axis=0).sum()
        without = int(of - np.isfinite(values).sum())
        if not 0 < without < of:
            return ""
        return f"{named(needs)}: {without} of {of} runs have no finite number"

    def _is_of_one_run(self) -> bool:
        """Say whether one run is all there is to compare, by the file of claims."""
        return self.claim.requires is not None and self.claim.requires.seeds == 1

    def lost(self, needs: Iterable[Selected], by: Collection[Outcome] = FAILED) -> tuple[str, bool]:
        """Say which runs have no value, by these outcomes, and whether limits of the study ended all of these."""
        texts: list[str] = []
        ends: set[int] = set()
        for label, epsilon in dict.fromkeys(needs):
            runs = self.ds[["status"]].sel(algorithm=label, epsilon=epsilon)
            failures = set(runs["status"].values.tolist()) & set(by)
            ends |= failures
            if failures:
                parts, total = statistics.lost(statistics.counts(runs))
                name = at(label, epsilon)
                texts.append(f"{name}: {' and '.join(parts)} of {total} runs")
        return "; ".join(texts), ends <= set(LIMITS)

    def text(self, *values: float, join: str = " to ") -> str:
        """Write values with their unit."""
        return quantity(values, self.claim.unit, join=join)

    def gap(self, *values: float, signed: bool = False) -> str:
        """Write differences with their unit: those of percentages are percentage points."""
        return quantity(values, "pp" if self.claim.unit == "%" else self.claim.unit, signed=signed)

    def verdict(
        self,
        parts: Sequence[Part],
        supported: str,
        show: Callable[..., str],
        ours: str,
        interval: str,
    ) -> Verdict:
        """Decide, and give the reason.

        Parameters
        ----------
        parts
            Of the claim.
        supported
            The reason if all of them hold.
        show
            Writes one or two numbers of a part with their unit.
        ours, interval
            Texts for the table.
        """
        outcome = decide(parts, some=self.some)
        reasons = {"supported": supported, "not run": _too_few(parts)}
        why = reasons.get(outcome) or _reason(
            parts, outcome, show, final=not self.lacking, some=self.some
        )
        if bars := self._bars(outcome):
            if outcome in ("supported", "contradicted"):
                why = f"What ran would {outcome.removesuffix('ed')} it: {why}"
                outcome = "undecided"
            why = " ".join([*bars, why])
        if outcome in ("contradicted", "undecided") and self.claim.note:
            why += f" {self.claim.note}"
        random = [part for part in parts if part.is_random]
        judged = outcome != "not run"
        return Verdict(
            claim=self.claim,
            verdict=outcome,
            ours=ours,
            interval=interval,
            why=why,
            seeds=min((part.estimate.n for part in random), default=0) if judged else 0,
            size=max((part.size() for part in random), default=0.0) if judged else 0.0,
        )

    def _bars(self, outcome: Judgement) -> list[str]:
        """Say in sentences what keeps runs with this outcome from deciding the claim."""
        bars: list[str] = []
        if outcome == "not run":
            return bars
        if self.lacking:
            bars.append(f"Short of what the statement presupposes: {'; '.join(self.lacking)}.")
        if self.absent:
            # A counterexample is one wherever else nothing ran, and so is an example.
            enough = "supported" if self.some else "contradicted"
            bars += [f"Not run: {named(self.absent)}."] if outcome != enough else []
        if self.claim.unprinted and outcome == "contradicted":
            bars.append(self.claim.unprinted)
        return bars


def _reason(
    parts: Sequence[Part], outcome: Judgement, show: Callable[..., str], *, final: bool, some: bool
) -> str:
    """Say what parts contradict a claim, or leave it open, and then how many seeds would settle it if they could."""
    decisive = [part for part in parts if part.outcome(len(parts), some=some) == outcome]
    lost = [f"{part.lost}." for part in decisive if part.lost]
    tested = [part for part in decisive if not part.lost]
    texts = list(dict.fromkeys(lost))
    if tested:
        first, *others = tested
        _, refuted = first.tests(len(parts), some=some)
        level = 1 - 2 * refuted.bounds[0].level
        text = f"{first.name} is {show(first.estimate.value)}"
        if outcome == "undecided" and first.is_negligible:
            text += ", too small to be "
        elif outcome == "undecided":
            text += ", which may or may not be "
        elif first.is_random and level != LEVEL:  # the table has the others
            text += f" ({confidence(level)} interval {show(*first.estimate.bounds(level))}), not "
        else:
            text += ", not "
        texts.append(f"{text}{first.region.words}.")
        named = [f"{part.name} ({show(part.estimate.value)})" for part in others[:NAMED]]
        if len(others) > NAMED:
            named.append(f"{len(others) - NAMED} more")
        if named:
            texts.append(f"Likewise {', '.join(named)}.")
    open_to_seeds = final and not lost and not any(part.is_negligible for part in decisive)
    if outcome == "undecided" and open_to_seeds:
        n = seeds_to_decide(parts, some=some)
        number = f"About {n:,}" if n else f"More than {MOST:,}"
        texts.append(f"{number} seeds would decide it if means and spreads stay as they are.")
    return " ".join(texts)


def _too_few(parts: Sequence[Part]) -> str:
    """Say what a claim lacks that has too few seeds for any verdict."""
    few = [part for part in parts if part.outcome(len(parts)) == "not run"]
    if not few:
        return "No two runs of it can be compared."
    n = min(part.estimate.n for part in few)
    named = next(part.name for part in few if part.estimate.n == n)
    return f"Needs at least {FEWEST} seeds; {named} has {n or 'none'}."
