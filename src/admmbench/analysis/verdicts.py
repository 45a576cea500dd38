"""What the results say about the papers' claims.

:func:`evaluate` gives one :class:`Verdict` for each claim: a function for each kind of claim turns it into parts, and
:mod:`admmbench.analysis.decisions` says what they come to. Orderings and trends in epsilon are judged at whatever
scale was run, and the verdict says how far that is from the paper's. Published values, and statements that
something is close to something else, are judged only at the paper's own scale (rounds, seeds, agents, training
samples), which the file gives for each experiment.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from admmbench import statistics
from admmbench.analysis.claims import Claim, Close, Group, Order, Spread, Trend, Value, refuse
from admmbench.analysis.decisions import (
    FEWEST,
    FIRM,
    MOST,
    TEST,
    Judgement,
    Part,
    Region,
    above_zero,
    apart,
    at_most,
    decide,
    permutations_agree,
    seeds_to_decide,
    within,
)
from admmbench.outcomes import FAILED, Outcome
from admmbench.statistics import Difference, Estimate
from admmbench.validation import Strict

if TYPE_CHECKING:
    import xarray as xr

LIMITS = (Outcome.TIMED_OUT, Outcome.STALLED)
"""Outcomes of runs that come from limits of a study, and say nothing about the method."""

NAMED = 3
"""Parts of a claim that a reason names after the first; the table has the intervals of all."""

_MOST_DIGITS = 8


class Verdict(Strict):
    """What the results say about one claim; all numbers as text, ready for a table.

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
        """Whether it comes from fewer seeds than a paper has."""
        return 0 < self.seeds < FIRM


def evaluate(
    claims: Iterable[Claim],
    results: Mapping[str, xr.Dataset],
    known: Mapping[str, Iterable[str]] | None = None,
) -> list[Verdict]:
    """Judge each claim by the results.

    Parameters
    ----------
    claims
        As :func:`load` gives them.
    results
        Experiment name -> its results. A claim on an experiment that is not here was not run.
    known
        Every experiment of the project and its labels, whether part of this configuration or not.
        With it, a misspelt experiment can be told from one that was left out, and labels may be left
        out too. Without it, a claim may name only labels that its experiment holds.

    Returns
    -------
    list of Verdict
        In the order of the claims.

    Raises
    ------
    ClaimError
        If a claim names an unknown experiment, label or metric.
    """
    return [_judge(claim, results, known) for claim in claims]


def _judge(
    claim: Claim, results: Mapping[str, xr.Dataset], known: Mapping[str, Iterable[str]] | None
) -> Verdict:
    _check_names(claim, results, known)
    return _found(claim, results).model_copy(update={"published": _published(claim)})


def _found(claim: Claim, results: Mapping[str, xr.Dataset]) -> Verdict:
    """Judge a claim whose names exist; all but what the paper gives."""
    ds = results.get(claim.experiment)
    if ds is None:
        why = f"The experiment {claim.experiment} is not part of this configuration."
        return Verdict(claim=claim, verdict="not run", why=why)
    if claim.metric not in ds:
        refuse(claim.file, claim.id, "metric", claim.metric, map(str, ds.data_vars))
    present, absent = _split(claim, ds)
    lacking = _lacking(claim, ds, present)
    if absent and not isinstance(claim, Order | Trend):
        lacking.insert(0, f"no runs of {_named(absent)}")
    enforced = _enforced(claim, lacking)
    if not present or enforced:
        why = f"Needs the paper's scale: {'; '.join(enforced)}."
        if not present:
            why = f"Not run: {_named(absent)}."
        return Verdict(claim=claim, verdict="not run", why=why)
    verdict = _dispatch(claim, _View(claim, ds, present))
    remarks = [f"Not run: {_named(absent)}."] if absent else []
    if isinstance(claim, Order) and not _equally_private(ds, present):
        remarks.append("These methods are not equally private.")
    if lacking:
        remarks.append(f"Judged below the paper's scale: {'; '.join(lacking)}.")
    why = " ".join([verdict.why, *remarks])
    if claim.other_data:
        why = f"Not judged: {claim.other_data} {why}"
        update = {"verdict": "not run", "why": why, "seeds": 0, "size": 0.0}
        return verdict.model_copy(update=update)
    return verdict.model_copy(update={"why": why})


def _check_names(
    claim: Claim, results: Mapping[str, xr.Dataset], known: Mapping[str, Iterable[str]] | None
) -> None:
    names = {name: [str(x) for x in ds["algorithm"].values] for name, ds in results.items()}
    labels = {**names, **{name: list(given) for name, given in (known or {}).items()}}
    if known is not None and claim.experiment not in labels:
        refuse(claim.file, claim.id, "experiment", claim.experiment, labels)
    for label, _ in claim.selections():
        if claim.experiment in labels and label not in labels[claim.experiment]:
            refuse(claim.file, claim.id, "label", label, labels[claim.experiment])


def _split(claim: Claim, ds: xr.Dataset) -> tuple[list[tuple[str, float]], list[tuple[str, float]]]:
    """Separate the selections with a started run from the others."""
    present, absent = list[tuple[str, float]](), list[tuple[str, float]]()
    for label, epsilon in dict.fromkeys(claim.selections()):
        there = label in ds["algorithm"].values and epsilon in ds["epsilon"].values
        ran = there and (ds["status"].sel(algorithm=label, epsilon=epsilon) >= 0).any()
        (present if ran else absent).append((label, epsilon))
    return present, absent


def _named(selections: Iterable[tuple[str, float]]) -> str:
    """Methods and budgets in words; methods with the same budgets share them."""
    budgets: dict[str, list[float]] = {}
    for label, epsilon in selections:
        budgets.setdefault(label, []).append(epsilon)
    labels: dict[tuple[float, ...], list[str]] = {}
    for label, own in budgets.items():
        labels.setdefault(tuple(own), []).append(label)
    return "; ".join(_at(", ".join(those), *own) for own, those in labels.items())


def _at(what: str, *epsilons: float) -> str:
    """Something at some budgets, or without one."""
    finite = [_number(each) for each in epsilons if each < math.inf]
    places = [f"at ε = {', '.join(finite)}"] if finite else []
    if math.inf in epsilons:
        places.append("without a budget")
    return f"{what} {' and '.join(places)}"


def _lacking(claim: Claim, ds: xr.Dataset, present: list[tuple[str, float]]) -> list[str]:
    """How the runs fall short of the paper's scale."""
    scale = claim.requires
    if scale is None:
        return []
    here = {name: int(ds.attrs[name]) for name in ("rounds", "n_train")}
    if present:
        here["agents"] = int(ds["agents"].sel(algorithm=[label for label, _ in present]).min())
    started = [(ds["status"].sel(algorithm=a, epsilon=e) >= 0).sum().item() for a, e in present]
    noisy = [n for n, (_, e) in zip(started, present, strict=True) if math.isfinite(e)]
    # Without noise the seeds differ at most in the partition, and the papers give a single number.
    here["seeds"] = min(noisy, default=scale.seeds)
    words = {
        "rounds": "rounds",
        "seeds": "seeds",
        "agents": "agents",
        "n_train": "training samples",
    }
    short = {
        key: name for key, name in words.items() if key in here and here[key] < getattr(scale, key)
    }
    texts = [f"{here[key]:,} of {getattr(scale, key):,} {name}" for key, name in short.items()]
    if "n_train" in short and ds.attrs.get("dataset_note"):
        texts[-1] += f" ({ds.attrs['dataset_note']})"
    return texts


def _equally_private(ds: xr.Dataset, present: list[tuple[str, float]]) -> bool:
    """Whether methods that are compared at a budget have equal totals; without a budget none is asked for."""
    finite = {epsilon for _, epsilon in present if math.isfinite(epsilon)}
    if not finite:
        return True
    equal = statistics.equally_private(ds)
    for epsilon in finite:
        labels = [label for label, e in present if e == epsilon]
        if not equal.sel(epsilon=epsilon, algorithm=labels, rival=labels).all():
            return False
    return True


def _enforced(claim: Claim, lacking: list[str]) -> list[str]:
    """Keep the shortfalls that rule out a judgement of this kind of claim."""
    if isinstance(claim, Order) or (isinstance(claim, Trend) and claim.along == "epsilon"):
        return []
    if isinstance(claim, Trend):
        return [text for text in lacking if "rounds" in text]
    return lacking


class _View:
    """The runs that a claim selects, one number each, in the unit of the claim."""

    def __init__(self, claim: Claim, ds: xr.Dataset, present: list[tuple[str, float]]) -> None:
        self.claim = claim
        self.ds = ds
        self.present = present
        self.redrawn = statistics.redrawn(ds)
        factor = 100.0 if claim.unit == "%" else 1.0
        self.values = statistics.reduce(ds, claim.metric, claim.run) * factor

    def at(self, label: str, epsilon: float) -> xr.DataArray:
        """One number for each seed."""
        values: xr.DataArray = self.values.sel(algorithm=label, epsilon=epsilon, drop=True)
        return values

    def mean(self, label: str, epsilon: float) -> float:
        return float(self.at(label, epsilon).mean("seed"))

    def part(
        self,
        name: str,
        region: Region,
        values: xr.DataArray,
        needs: Iterable[tuple[str, float]],
        estimate: Estimate | Difference | None = None,
    ) -> Part:
        """Make a part of a claim about a mean over seeds, or about another estimate.

        Parameters
        ----------
        name, region, estimate
            As in `Part`.
        values
            One for each seed.
        needs
            Methods and budgets that must not have lost a run.
        """
        finite = values.values[np.isfinite(values.values)]
        lost, limited = self.lost(needs)
        return Part(
            name,
            region,
            estimate or Estimate.of(values, self.redrawn),
            None if estimate else finite,
            lost,
            limited,
            by_value=len(finite) == 1 and self._is_of_one_run(),
        )

    def _is_of_one_run(self) -> bool:
        """Whether the file says that one run is all there is to compare."""
        return self.claim.requires is not None and self.claim.requires.seeds == 1

    def lost(self, needs: Iterable[tuple[str, float]]) -> tuple[str, bool]:
        """Say which runs have no value, and whether limits of the study ended all of these."""
        texts: list[str] = []
        ends: set[int] = set()
        for label, epsilon in dict.fromkeys(needs):
            own = self.ds[["status"]].sel(algorithm=label, epsilon=epsilon)
            found = set(own["status"].values.tolist()) & set(FAILED)
            ends |= found
            if found:
                parts, total = statistics.lost(statistics.counts(own))
                name = _at(label, epsilon)
                texts.append(f"{name}: {' and '.join(parts)} of {total} runs")
        return "; ".join(texts), ends <= set(LIMITS)

    def text(self, *values: float, join: str = " to ") -> str:
        """Write values with their unit."""
        return _quantity(values, self.claim.unit, join=join)

    def gap(self, *values: float, signed: bool = False) -> str:
        """Write differences with their unit: those of percentages are percentage points."""
        return _quantity(values, "pp" if self.claim.unit == "%" else self.claim.unit, signed=signed)

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
        outcome = decide(parts)
        reasons = {"supported": supported, "not run": _too_few(parts)}
        why = reasons.get(outcome) or _reason(parts, outcome, show)
        if agreement := permutations_agree(parts, outcome):
            why += f" {agreement}"
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


def _reason(parts: Sequence[Part], outcome: Judgement, show: Callable[..., str]) -> str:
    """Say what parts contradict a claim, or leave it open, and then how many seeds would settle it."""
    found = [part for part in parts if part.outcome(len(parts)) == outcome]
    lost = [f"{part.lost}." for part in found if part.lost]
    tested = [part for part in found if not part.lost]
    texts = list(dict.fromkeys(lost))
    if tested:
        first, *others = tested
        level = 1 - 2 * first.region.refuted.among(len(parts)).bounds[0].level
        text = f"{first.name} is {show(first.estimate.value)}"
        if outcome == "undecided" and first.is_negligible:
            text += ", too small to be "
        elif outcome == "undecided":
            text += ", which may or may not be "
        elif first.is_random and level != statistics.LEVEL:  # the table has the others
            text += f" ({_level(level)} interval {show(*first.estimate.bounds(level))}), not "
        else:
            text += ", not "
        texts.append(f"{text}{first.region.words}.")
        named = [f"{part.name} ({show(part.estimate.value)})" for part in others[:NAMED]]
        if len(others) > NAMED:
            named.append(f"{len(others) - NAMED} more")
        if named:
            texts.append(f"Likewise {', '.join(named)}.")
    if outcome == "undecided" and not lost and not any(part.is_negligible for part in found):
        n = seeds_to_decide(parts)
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


def _judge_value(claim: Value, view: _View) -> Verdict:
    """Ask for the published number, within the tolerance."""
    values, other = view.at(claim.algorithm, claim.epsilon), None
    form: Callable[..., str] = view.text
    if claim.minus:
        other, form = view.at(claim.minus, claim.epsilon), view.gap
    elif claim.over:
        values = values / view.at(claim.over, claim.epsilon)
    sampling = statistics.sampling_error(values, claim.instances) if claim.instances else 0.0
    margin = claim.tolerance + (0.0 if math.isnan(sampling) else sampling)
    if claim.over_seeds == "best":
        of = claim.requires.seeds if claim.requires else values.sizes["seed"]
        number, estimate = _of_the_best(values, other, of, view.redrawn)
        what = f"best of {of}"
    else:
        values = values if other is None else statistics.difference(values, other)
        number, estimate = float(values.mean("seed")), None
        what = f"mean of {int(values.notnull().sum())}"
    words = f"within {view.gap(margin)} of the published value"
    region = within(claim.published, margin, words)
    part = view.part(
        "The difference" if claim.minus else "The ratio" if claim.over else "The value",
        region,
        values,
        claim.selections(),
        estimate,
    )
    off = part.estimate.value - claim.published
    side = "above" if off > 0 else "below"
    source = f", of which {view.gap(sampling)} are the sampling error of the paper's mean"
    supported = (
        f"{f'{view.gap(abs(off))} {side} ' if off else 'At '}the published value"
        f"{_and_interval(part)}within {view.gap(margin)} of it{source if sampling else ''}."
    )
    return view.verdict(
        [part], supported, form, ours=f"{form(number)} ({what})", interval=_both(part, form)
    )


def _of_the_best(
    values: xr.DataArray, other: xr.DataArray | None, of: int, redrawn: float
) -> tuple[float, Estimate | Difference]:
    """Lowest of so many runs, or its difference to that of another method: the number, and the estimate."""
    depth = statistics.normal_minimum(of)
    number, own = statistics.lowest(values, of), Estimate.of(values, redrawn, depth)
    if other is None:
        return number, own
    second = Estimate.of(other, redrawn, depth)
    return number - statistics.lowest(other, of), Difference(own, second)


def _judge_order(claim: Order, view: _View) -> Verdict:
    """Ask each difference between neighbouring tiers to be above 0."""
    parts: list[Part] = []
    chains: list[str] = []
    for epsilon in claim.epsilon:
        runs = {label for label, e in view.present if e == epsilon}
        chains += _chain(claim, view, epsilon, runs)
        parts += [
            _ordered(claim, view, low, high, epsilon)
            for low, high in claim.pairs()
            if {low, high} <= runs
        ]
    return view.verdict(
        parts,
        "Every difference is above 0.",
        view.gap,
        ours="\n".join(chains),
        interval="\n".join(f"{part.name}: {_bounds(part, view.gap)}" for part in parts),
    )


def _ordered(claim: Order, view: _View, low: str, high: str, epsilon: float) -> Part:
    """One comparison of an order: a better method must not have lost a run, a worse one not all."""
    smallest = claim.smallest(view.mean(low, epsilon), view.mean(high, epsilon))
    gap = statistics.difference(view.at(high, epsilon), view.at(low, epsilon))
    needs = [(low, epsilon)]
    part = view.part(
        _at(f"{high} − {low}", epsilon),
        above_zero(smallest, f"above 0 by a relevant {view.gap(smallest)}"),
        gap,
        needs,
    )
    if part.lost or part.estimate.n:
        return part
    lost, _ = view.lost([(high, epsilon)])
    return replace(part, lost=lost, limited=True)


def _chain(claim: Order, view: _View, epsilon: float, runs: set[str]) -> Iterator[str]:
    """Write the means at one epsilon, in the order of the claim: ``ε = 0.05: 13.9 < 24.1 %``."""
    tiers = [
        [view.mean(label, epsilon) for label in tier if label in runs] for tier in claim.labels
    ]
    tiers = [tier for tier in tiers if tier]
    if not tiers:
        return
    text = view.text(*tiers[0], join=", ")
    for low, high in itertools.pairwise(tiers):
        text += f" {'<' if max(low) < min(high) else '≮'} {view.text(*high, join=', ')}"
    yield f"{'no budget' if math.isinf(epsilon) else f'ε = {_number(epsilon)}'}: {text}"


def _judge_close(claim: Close, view: _View) -> Verdict:
    """Ask the method to lie within the tolerance of the reference, and the others outside."""
    reference = claim.reference.algorithm, claim.reference.epsilon
    limit = view.gap(claim.tolerance)
    parts = [
        view.part(
            f"{label} − {reference[0]}",
            within(0, claim.tolerance, f"within {limit} of 0")
            if label == claim.algorithm
            else apart(0, claim.tolerance, f"farther than {limit} from 0"),
            statistics.difference(view.at(label, claim.epsilon), view.at(*reference)),
            [(label, claim.epsilon), reference],
        )
        for label in (claim.algorithm, *claim.others)
    ]
    ours = [f"{part.name} {view.gap(part.estimate.value, signed=True)}" for part in parts]
    others = f", and the others lie outside of it at {_level(statistics.LEVEL)}"
    return view.verdict(
        parts,
        f"{parts[0].name} is {view.gap(parts[0].estimate.value, signed=True)}"
        f"{_and_interval(parts[0])}within {limit} of 0{others if claim.others else ''}.",
        view.gap,
        ours="\n".join(ours),
        interval="\n".join(f"{part.name}: {_both(part, view.gap)}" for part in parts),
    )


def _falls_in_rounds(claim: Trend, view: _View) -> Verdict:
    """Ask the mean over seeds of last over largest value to be at most a fraction."""
    metric = statistics.after_start(view.ds[claim.metric])
    ratios = 100 * statistics.final(view.ds, claim.metric) / metric.max("round")
    limit = f"at most {_percent(100 * claim.fraction)} of the maximum"
    parts = [
        view.part(
            _at(f"The end of {label}", epsilon),
            at_most(100 * claim.fraction, limit),
            ratios.sel(algorithm=label, epsilon=epsilon, drop=True),
            [(label, epsilon)],
        )
        for label, epsilon in view.present
    ]
    names = [_at(label, epsilon) for label, epsilon in view.present]
    pairs = list(zip(names, parts, strict=True))
    return view.verdict(
        parts,
        f"Every curve ends at {limit}.",
        _percent,
        ours="last value / maximum:\n"
        + "\n".join(f"{name}: {_percent(part.estimate.value)}" for name, part in pairs),
        interval="\n".join(f"{name}: {_bounds(part, _percent)}" for name, part in pairs),
    )


def _falls_in_epsilon(claim: Trend, view: _View) -> Verdict:
    """Ask for a fall from first to last budget, and for no relevant rise at any step."""
    parts: list[Part] = []
    ours, intervals = [], []
    for label in claim.algorithms:
        epsilons = [e for e in claim.epsilon if (label, e) in view.present]
        if len(epsilons) < 2:
            continue
        means = [view.mean(label, epsilon) for epsilon in epsilons]
        ours.append(f"{label}: {view.text(*means, join=' → ')}")
        own = list(_falling(claim, view, label, epsilons))
        intervals += [
            f"{part.name.removeprefix('The ')}: {_bounds(part, view.gap)}" for part in own
        ]
        parts += own
    return view.verdict(
        parts,
        "Falls from the first to the last budget, and rises by no relevant difference at any step.",
        view.gap,
        ours="\n".join(ours),
        interval="\n".join(intervals),
    )


def _falling(claim: Trend, view: _View, label: str, epsilons: list[float]) -> Iterator[Part]:
    """Parts about one method; for two budgets, the fall alone is enough."""
    smallest = claim.smallest(*(view.mean(label, epsilon) for epsilon in epsilons))
    steps = list(itertools.pairwise(epsilons)) if len(epsilons) > 2 else []
    for first, last in [(epsilons[0], epsilons[-1]), *steps]:
        falls = (first, last) not in steps
        change = statistics.difference(view.at(label, first), view.at(label, last))
        yield view.part(
            f"The {'fall' if falls else 'rise'} of {label} from ε = {_number(first)} to {_number(last)}",
            above_zero(smallest, f"above 0 by a relevant {view.gap(smallest)}")
            if falls
            else at_most(smallest, f"at most {view.gap(smallest)}"),
            change if falls else -change,
            [(label, epsilon) for epsilon in epsilons],
        )


def _judge_spread(claim: Spread, view: _View) -> Verdict:
    """Ask the second range less the first to be above 0."""
    values = view.values.sel(
        algorithm=sorted({label for label, _ in view.present}),
        epsilon=sorted({epsilon for _, epsilon in view.present}),
    )
    narrow, wide = (_range(group, values) for group in (claim.narrow, claim.wide))
    groups = claim.narrow, claim.wide

    def excess(values: xr.DataArray) -> float:
        return _range(claim.wide, values) - _range(claim.narrow, values)

    smallest = claim.smallest(narrow, wide)
    part = view.part(
        "The second range less the first",
        above_zero(smallest, f"above 0 by a relevant {view.gap(smallest)}"),
        statistics.jackknife(values, excess),
        view.present,
    )
    names = [f"over {_OVER[group.over]} of {_span(group)}" for group in groups]
    return view.verdict(
        [part],
        "The second range is larger than the first.",
        view.gap,
        ours="\nagainst ".join(
            f"{view.gap(size)} {name}" for size, name in zip((narrow, wide), names, strict=True)
        ),
        interval=f"second − first: {_bounds(part, view.gap)}",
    )


_OVER = {"algorithm": "the settings", "epsilon": "the budgets"}


def _span(group: Group) -> str:
    labels = group.algorithms
    return labels[0] if len(labels) == 1 else f"{labels[0]} … {labels[-1]}"


def _range(group: Group, values: xr.DataArray) -> float:
    """Highest minus lowest mean over seeds along one dimension, averaged over the other."""
    means = values.sel(algorithm=group.algorithms, epsilon=group.epsilon).mean("seed")
    return float((means.max(group.over) - means.min(group.over)).mean())


def _dispatch(claim: Claim, view: _View) -> Verdict:
    match claim:
        case Value():
            return _judge_value(claim, view)
        case Order():
            return _judge_order(claim, view)
        case Close():
            return _judge_close(claim, view)
        case Trend():
            return (_falls_in_rounds if claim.along == "round" else _falls_in_epsilon)(claim, view)
        case Spread():
            return _judge_spread(claim, view)


def _published(claim: Claim) -> str:
    """Say what the paper gives, as short as it goes."""
    if isinstance(claim, Value):
        if claim.unit == "1":
            return f"{claim.published:.6g}".replace("-", "−")
        return _quantity([claim.published], "pp" if claim.minus else claim.unit)
    if isinstance(claim, Order):
        return " < ".join(", ".join(tier) for tier in claim.labels)
    if isinstance(claim, Close):
        others = f", {' and '.join(claim.others)} not" if claim.others else ""
        return f"{claim.algorithm} close to {claim.reference.algorithm}{others}"
    if isinstance(claim, Trend):
        return "falls to 0" if claim.along == "round" else "falls as ε grows"
    narrow, wide = claim.narrow, claim.wide
    return (
        f"{_OVER[narrow.over]} of {_span(narrow)} matter less than "
        f"{_OVER[wide.over]} of {_span(wide)}"
    )


def _bounds(part: Part, show: Callable[..., str]) -> str:
    """Interval of the report's level."""
    if not part.is_random:
        return "all seeds agree" if part.estimate.n > 1 else "none"
    return show(*part.estimate.bounds(statistics.LEVEL))


def _both(part: Part, show: Callable[..., str]) -> str:
    """Intervals that refute and show equivalence."""
    if not part.is_random:
        return "all seeds agree" if part.estimate.n > 1 else "none from one seed"
    levels = statistics.LEVEL, 1 - 2 * TEST
    return "\n".join(f"{_level(each)}: {show(*part.estimate.bounds(each))}" for each in levels)


def _and_interval(part: Part) -> str:
    """Go on from an estimate to where its interval lies."""
    return f"; its {_level(1 - 2 * TEST)} interval lies " if part.is_random else ", "


def _level(level: float) -> str:
    return f"{100 * level:.4g} %"


def _percent(*values: float) -> str:
    return f"{' to '.join(_number(value) for value in values)} %"


def _quantity(
    values: Iterable[float], unit: str, *, signed: bool = False, join: str = " to "
) -> str:
    """Write numbers with their unit: percentages with two decimals, others with three digits, and more if needed."""
    values = list(values)
    kind = ".{}g" if unit == "1" else ".{}f"
    for digits in range(3 if unit == "1" else 2, _MOST_DIGITS):
        form = ("+" if signed else "") + kind.format(digits)
        texts = [format(value, form).replace("-", "−") for value in values]
        if len(set(texts)) == len(set(values)):
            break
    text = join.join(texts)
    return text if unit == "1" else f"{text} {unit}"


def _number(value: float) -> str:
    return "∞" if math.isinf(value) else f"{value:.3g}"
