"""Verdicts on the papers' claims, by one judge for all kinds.

:func:`evaluate` returns one :class:`Verdict` for each claim, in numbers and enums. Runs that do not meet what the
paper's statement presupposes are judged all the same, and the verdict holds their apparent outcome, but these runs
support and contradict nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from admmbench.base.outcomes import FAILED, SUCCESSFUL, Outcome
from admmbench.claims import requirements
from admmbench.claims.claims import Claim, check
from admmbench.claims.evidence import Evidence
from admmbench.claims.kinds import Inequality, Order
from admmbench.claims.requirements import Shortfall
from admmbench.claims.runs import Contrast, Quantity, Row, Runs, Selected
from admmbench.inference.contrasts import TEST, Decision, Region, joint_decision
from admmbench.inference.intervals import LEVEL
from admmbench.inference.power import seeds_needed
from admmbench.results import statistics

if TYPE_CHECKING:
    import xarray as xr

FEWEST = 3
"""Seeds that a verdict needs."""

LOOSE = 10.0
"""Factor of right over left side above which a bound is no test of its constants."""

FIRM = 10
"""Seeds below which a verdict is exploratory; the papers have ten."""

NOT_JUDGED = ("data", "noise")
"""Shortfalls of runs that are about something else than the statement."""

LIMITS = (Outcome.TIMED_OUT, Outcome.STALLED, Outcome.UNDEFINED)
"""Outcomes of runs that come from limits of a study or its data, and say nothing about the method."""


class Missing(StrEnum):
    """Reason why evidence has no contrasts: the part of the results that is missing."""

    EXPERIMENT = "experiment"
    METRIC = "metric"
    ROUND = "round"
    RUNS = "runs"


class Interval(NamedTuple):
    """Confidence interval in the unit of the claim, or of the quantity."""

    level: float
    lower: float
    upper: float


class Loss(NamedTuple):
    """Failed or diverged runs of a method at a budget."""

    run: Selected
    counts: dict[Outcome, int]
    """Number of runs that ended so."""
    total: int
    """Number of runs that were started."""


class Gap(NamedTuple):
    """Number of runs that completed without a finite number."""

    runs: tuple[Selected, ...]
    without: int
    total: int


class Part(NamedTuple):
    """Judged contrast: its estimate, intervals and outcome."""

    quantity: Quantity
    runs: tuple[Selected, ...]
    round: int
    limit: float
    estimate: float
    n: int
    interval: Interval | None
    """Interval of the report's level; None where seeds do not differ."""
    equivalence: Interval | None
    """Interval of the level that shows equivalence."""
    refutation: Interval | None
    """Interval of the level that refutes the part, as one of all parts of the claim."""
    outcome: Decision
    is_negligible: bool
    size: float
    """Largest probability of a wrong outcome."""
    losses: tuple[Loss, ...] = ()
    gap: Gap | None = None


@dataclass(frozen=True)
class Finding:
    """Judgement of one piece of evidence."""

    evidence: Evidence
    """Piece of evidence."""
    outcome: Decision = Decision.NOT_RUN
    """Outcome of the evidence."""
    apparent: Decision = Decision.NOT_RUN
    """Outcome that the runs would have if they met all requirements of the statement."""
    missing: Missing | None = None
    """Missing part of the results, if there are no contrasts."""
    unmeasured: str = ""
    """Name of the missing metric."""
    shortfalls: Sequence[Shortfall] = ()
    """Requirements of the statement that the runs do not meet, so that the runs are inconclusive."""
    absent: Sequence[Selected] = ()
    """Methods and budgets that were not run, so that the other runs are inconclusive."""
    is_unprinted: bool = False
    """Whether the runs would contradict the claim if the paper printed all that the outcome depends on."""
    is_equally_private: bool = True
    """Whether methods that are ordered are equally private."""
    rows: Sequence[Row] = ()
    """Our numbers to show."""
    parts: Sequence[Part] = ()
    """Contrasts with their outcomes."""
    seeds_needed: float | None = None
    """Number of seeds that would make the evidence conclusive, with the power of
    :data:`admmbench.inference.power.POWER`; infinite if too many would be needed, or no number is enough; None if the
    evidence does not lack seeds."""

    @property
    def is_barred(self) -> bool:
        """Return whether shortfalls, absent runs or unprinted details make the runs inconclusive."""
        return bool(self.shortfalls or self.absent or self.is_unprinted)

    @property
    def decisive(self) -> list[Part]:
        """Return the parts that have the apparent outcome of the evidence."""
        return [part for part in self.parts if part.outcome == self.apparent]


@dataclass(frozen=True)
class Verdict:
    """Judgement of one claim."""

    claim: Claim
    """Claim of the paper."""
    verdict: Decision
    """One of four outcomes."""
    findings: tuple[Finding, ...]
    """One for each piece of evidence."""

    @property
    def tightest(self) -> float | None:
        """Return the smallest factor of a right over a left side; None if there are no bounds, or no factors."""
        rows = [row for f in self.findings if isinstance(f.evidence, Inequality) for row in f.rows]
        return min((row.tiers[0][0] for row in rows if row.tiers), default=None)

    @property
    def seeds(self) -> int:
        """Return the number of seeds of the smallest sample that was tested; 0 where nothing random was."""
        return min((part.n for part in self._random()), default=0)

    @property
    def size(self) -> float:
        """Return the probability of a wrong verdict, at most; 0 where nothing random was tested."""
        return max((part.size for part in self._random()), default=0.0)

    @property
    def is_exploratory(self) -> bool:
        """Return whether the verdict rests on fewer seeds than a paper has."""
        return 0 < self.seeds < FIRM

    def _random(self) -> list[Part]:
        """Return the judged parts whose estimates are random."""
        return [
            part
            for finding in self.findings
            if finding.outcome != Decision.NOT_RUN
            for part in finding.parts
            if part.interval
        ]


def evaluate(
    claims: Iterable[Claim],
    results: Mapping[str, xr.Dataset],
    known: Mapping[str, Collection[str]] | None = None,
) -> list[Verdict]:
    """Judge each claim by the results, in the order of the claims.

    Parameters
    ----------
    claims
        Claims that :func:`admmbench.claims.claims.load` returned.
    results
        Results by name of the experiment. Evidence from an absent experiment was not run.
    known
        Labels of every experiment of the project, whether part of this configuration or not: a misspelt experiment is
        then told from one that was left out. If absent, a claim may name only labels that its experiment holds.

    Raises
    ------
    ClaimError
        If a claim names an unknown experiment or label.
    """
    all_claims = list(claims)
    names = {name: [str(x) for x in ds["algorithm"].values] for name, ds in results.items()}
    check(all_claims, {**names, **(known or {})}, complete=known is not None)
    return [judge(claim, results) for claim in all_claims]


def judge(claim: Claim, results: Mapping[str, xr.Dataset]) -> Verdict:
    """Judge a claim whose names exist: all pieces of evidence must support the claim, and one piece refutes it."""
    cases = [_Case(piece, results.get(piece.experiment)) for piece in claim.evidence]
    # Number of tests that may each refute the claim: one for each contrast, or for a piece where one is enough.
    tests = sum(1 if case.evidence.some else len(case.contrasts) for case in cases)
    findings = tuple(case.find(tests) for case in cases)
    outcomes = {finding.outcome for finding in findings}
    verdict = outcomes.pop() if len(outcomes) == 1 else Decision.UNDECIDED
    if Decision.CONTRADICTED in outcomes:
        verdict = Decision.CONTRADICTED
    judged = Verdict(claim, verdict, findings)
    if verdict == Decision.SUPPORTED and (judged.tightest or 0.0) > LOOSE:
        return replace(judged, verdict=Decision.NOT_FALSIFIED)
    return judged


def regions_of(contrasts: Sequence[Contrast], tests: int, *, some: bool) -> list[Region]:
    """Return the regions of the contrasts of a piece of evidence, at levels corrected for the tests of the whole claim.

    Each of the tests may refute the claim; with ``some``, any contrast shows the statement, instead of all.
    """
    shows = len(contrasts) if some else 1
    return [contrast.region.among(shown=shows, refuted=tests) for contrast in contrasts]


class _Case:
    """Piece of evidence with the results of its experiment and the contrasts of these."""

    def __init__(self, evidence: Evidence, ds: xr.Dataset | None) -> None:
        self.evidence = evidence
        self.contrasts: list[Contrast] = []
        self.rows: list[Row] = []
        self.present, self.absent = list[Selected](), list[Selected]()
        self.shortfalls: list[Shortfall] = []
        self.unmeasured = ""
        self.missing = self._missing(ds)
        if ds is None or self.missing:
            return
        self.present, self.absent = requirements.split(evidence, ds)
        if not self.present or (self.absent and not evidence.partial):
            self.missing = Missing.RUNS
            return
        self.shortfalls = requirements.shortfalls(evidence, ds, self.present)
        if evidence.at_round is not None:
            ds = statistics.after_round(ds, evidence.at_round, evidence.metrics)
        # Privacy losses are the same for all seeds.
        same = [name for name in evidence.metrics if "seed" not in ds[name].dims]
        ds = ds.assign({name: ds[name].broadcast_like(ds["status"]) for name in same})
        self.ds = ds
        self.status = {
            (label, epsilon): ds["status"].sel(algorithm=label, epsilon=epsilon).values
            for label, epsilon in self.present
        }
        factor = 100.0 if evidence.unit == "%" else 1.0
        runs = Runs(ds, self.present, evidence.metric, evidence.run, factor)
        self.contrasts = list(evidence.contrasts(runs))
        self.rows = evidence.rows(runs)

    def _missing(self, ds: xr.Dataset | None) -> Missing | None:
        """Return the missing part of the results: the experiment, a metric or a round."""
        if ds is None:
            return Missing.EXPERIMENT
        self.unmeasured = next((name for name in self.evidence.metrics if name not in ds), "")
        if self.unmeasured:
            return Missing.METRIC
        at_round = self.evidence.at_round
        return Missing.ROUND if at_round and at_round not in ds["round"].values else None

    def find(self, tests: int) -> Finding:
        """Judge the evidence, given the number of tests that may each refute the claim."""
        evidence = self.evidence
        if self.missing:
            return Finding(
                evidence, missing=self.missing, unmeasured=self.unmeasured, absent=self.absent
            )
        regions = regions_of(self.contrasts, tests, some=evidence.some)
        parts = [self._part(*pair) for pair in zip(self.contrasts, regions, strict=True)]
        apparent = joint_decision((part.outcome for part in parts), some=evidence.some)
        # A counterexample stands even if other runs are absent, and so does an example where one is enough.
        enough = Decision.SUPPORTED if evidence.some else Decision.CONTRADICTED
        # Other choices of what the paper does not print might meet the statement, so our choice cannot contradict it.
        is_unprinted = bool(evidence.unprinted) and apparent == Decision.CONTRADICTED
        finding = Finding(
            evidence,
            apparent,
            apparent,
            shortfalls=self.shortfalls,
            absent=[] if apparent in (enough, Decision.NOT_RUN) else self.absent,
            is_unprinted=is_unprinted,
            is_equally_private=self._is_equally_private(),
            rows=self.rows,
            parts=parts,
        )
        if finding.is_barred and apparent in (Decision.SUPPORTED, Decision.CONTRADICTED):
            finding = replace(finding, outcome=Decision.UNDECIDED)
        # This overrules what is above: such numbers are shown and judge nothing, not even as undecided.
        if evidence.other_data or any(s.what in NOT_JUDGED for s in self.shortfalls):
            finding = replace(finding, outcome=Decision.NOT_RUN)
        # More seeds help only against chance: not where runs failed, have no number, or differ by too little to matter.
        by_chance = all(contrast.is_of_seeds for contrast in self.contrasts)
        if apparent == Decision.UNDECIDED and not self.shortfalls and by_chance:
            closed = (part.losses or part.gap or part.is_negligible for part in finding.decisive)
            if not any(closed):
                estimates = [contrast.estimate for contrast in self.contrasts]
                pairs = list(zip(estimates, regions, strict=True))
                return replace(finding, seeds_needed=seeds_needed(pairs, some=evidence.some))
        return finding

    def _is_equally_private(self) -> bool:
        """Return whether methods that are ordered are equally private.

        Where the statement requires that, a shortfall reports it, and the method returns True.
        """
        evidence = self.evidence
        if not isinstance(evidence, Order) or (
            evidence.requires is not None and evidence.requires.equally_private
        ):
            return True
        return requirements.equally_private(self.ds, self.present)

    def _part(self, contrast: Contrast, region: Region) -> Part:
        """Judge a contrast by its region, whose levels are those of one of several tests."""
        estimate = contrast.estimate
        is_random = estimate.deviation > 0
        # Failures come before means, as a mean over only the runs that completed would make a method look too good.
        needed = [run for run in contrast.runs if run not in contrast.worse]
        losses = self._losses(needed) if contrast.is_of_seeds else []
        gap = None
        # Levels that are corrected for several tests add up to these levels at most, which therefore bound the error.
        bounds = contrast.region.shown.bounds + contrast.region.refuted.bounds
        shown = contrast.region.shown.shown(estimate)
        if losses:
            # A limit of the study would have ended a good method as well, so that it contradicts nothing.
            blamed = losses if contrast.blamed is None else self._losses(contrast.blamed)
            ends = {end for loss in blamed for end in loss.counts}
            outcome = Decision.UNDECIDED if ends <= {*LIMITS} else Decision.CONTRADICTED
        elif self._losses(contrast.worse) and (not shown or self._losses(contrast.worse, LIMITS)):
            # Runs that are left of a worse method are its better ones: they may support the statement, not refute it.
            # What a limit ended might have become better still, so then they do not support it either.
            losses = self._losses(contrast.worse)
            outcome = Decision.UNDECIDED
        elif contrast.is_of_seeds and (gap := self._gap(contrast)):
            outcome = Decision.UNDECIDED
        elif estimate.n < (1 if self._is_of_one_run(contrast) else FEWEST):
            outcome = Decision.NOT_RUN
        else:
            outcome = region.judge(estimate)

        def interval(level: float) -> Interval | None:
            return Interval(level, *estimate.interval(level)) if is_random else None

        return Part(
            contrast.quantity,
            contrast.runs,
            contrast.round,
            contrast.limit,
            estimate.value,
            estimate.n,
            interval(LEVEL),
            interval(1 - 2 * TEST),
            interval(1 - 2 * region.refuted.bounds[0].level),
            outcome,
            region.is_negligible(estimate),
            max(bound.level for bound in bounds) if is_random else 0.0,
            tuple(losses),
            gap,
        )

    def _losses(self, runs: Iterable[Selected], ends: Collection[Outcome] = FAILED) -> list[Loss]:
        """Count failed runs, of methods and budgets of which a run ended in one of the given ways."""
        losses: list[Loss] = []
        for run in dict.fromkeys(runs):
            by_outcome = Counter(self.status[run].tolist())
            if any(by_outcome[end] for end in ends):
                counts: dict[Outcome, int] = {
                    end: by_outcome[end] for end in FAILED if by_outcome[end]
                }
                losses.append(Loss(run, counts, by_outcome.total() - by_outcome[Outcome.NOT_RUN]))
        return losses

    def _gap(self, contrast: Contrast) -> Gap | None:
        """Count completed runs without a finite number; None if all have one, or none, as nobody measured it then."""
        runs = sorted(contrast.runs, key=contrast.worse.__contains__)
        ended = np.isin([self.status[run] for run in runs], SUCCESSFUL)
        total = int(ended.all(axis=0).sum())
        without = total - int(np.isfinite(contrast.values).sum())
        return Gap(tuple(runs), without, total) if 0 < without < total else None

    def _is_of_one_run(self, contrast: Contrast) -> bool:
        """Return whether the claim is about one run alone, by its file, or not about these runs."""
        needed = self.evidence.requires
        one = int(np.isfinite(contrast.values).sum()) == 1
        return not contrast.is_of_seeds or (one and needed is not None and needed.seeds == 1)
