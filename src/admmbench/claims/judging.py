"""How each kind of claim is judged: a function for each makes parts of it, which the runs show, refute or leave open.

:mod:`admmbench.claims.decisions` says what the parts come to.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from admmbench.claims.claims import (
    Claim,
    Close,
    Group,
    Inequality,
    Order,
    Rate,
    Spread,
    Trend,
    Value,
)
from admmbench.claims.decisions import (
    TEST,
    Part,
    above_zero,
    apart,
    at_most,
    below,
    no_flatter,
    within,
)
from admmbench.claims.estimates import (
    Difference,
    Estimate,
    jackknife,
    lowest,
    normal_minimum,
    sampling_error,
)
from admmbench.claims.selection import Selection, Verdict
from admmbench.inference.intervals import LEVEL, ROUNDING
from admmbench.results import statistics
from admmbench.results.wording import at, confidence, percent, quantity, short

if TYPE_CHECKING:
    import xarray as xr
    from numpy.typing import NDArray


def judge(claim: Claim, runs: Selection) -> Verdict:
    """Judge a claim by the runs that it selects."""
    match claim:
        case Value():
            return _judge_value(claim, runs)
        case Order():
            return _judge_order(claim, runs)
        case Close():
            return _judge_close(claim, runs)
        case Trend():
            return (_falls_in_rounds if claim.along == "round" else _falls_in_epsilon)(claim, runs)
        case Spread():
            return _judge_spread(claim, runs)
        case Inequality():
            return _judge_bound(claim, runs)
        case Rate():
            return _judge_rate(claim, runs)


def published(claim: Claim) -> str:
    """Say what the paper gives, as short as it goes."""
    if isinstance(claim, Value):
        if claim.unit == "1":
            return f"{claim.published:.6g}".replace("-", "−")
        return quantity([claim.published], "pp" if claim.minus else claim.unit)
    if isinstance(claim, Order):
        order = " < ".join(", ".join(tier) for tier in claim.labels)
        return f"{order} somewhere" if claim.somewhere else order
    if isinstance(claim, Close):
        others = f", {' and '.join(claim.others)} not" if claim.others else ""
        return f"{claim.algorithm} close to {claim.reference.algorithm}{others}"
    if isinstance(claim, Trend):
        return "falls to 0" if claim.along == "round" else "falls as ε grows"
    if isinstance(claim, Inequality):
        return "left side ≤ right side"
    if isinstance(claim, Rate):
        return f"slope ≤ {short(claim.exponent)}"
    narrow, wide = claim.narrow, claim.wide
    return (
        f"{_OVER[narrow.over]} of {_span(narrow)} matter less than "
        f"{_OVER[wide.over]} of {_span(wide)}"
    )


def _judge_value(claim: Value, runs: Selection) -> Verdict:
    """Ask for the published number, within the tolerance."""
    values, other = runs.at(claim.algorithm, claim.epsilon), None
    form: Callable[..., str] = runs.text
    if claim.minus:
        other, form = runs.at(claim.minus, claim.epsilon), runs.gap
    elif claim.over:
        values = values / runs.at(claim.over, claim.epsilon)
    own = values
    values = own if other is None else own - other
    if claim.over_seeds == "best":
        of = claim.requires.seeds if claim.requires else values.sizes["seed"]
        number, estimate = _of_the_best(own, other, of, runs.redrawn)
        what = f"best of {of}"
    else:
        number, estimate = float(values.mean("seed")), None
        what = f"mean of {int(values.notnull().sum())}"
    sampling = sampling_error(values, claim.instances) if claim.instances else 0.0
    margin = claim.tolerance + (0.0 if math.isnan(sampling) else sampling)
    words = f"within {runs.gap(margin)} of the published value"
    region = within(claim.published, margin, words)
    part = runs.part(
        "The difference" if claim.minus else "The ratio" if claim.over else "The value",
        region,
        values,
        claim.selections(),
        estimate,
    )
    off = number - claim.published  # the number that is shown
    side = "above" if off > 0 else "below"
    source = f", of which {runs.gap(sampling)} are the sampling error of the paper's mean"
    supported = (
        f"{f'{runs.gap(abs(off))} {side} ' if off else 'At '}the published value"
        f"{_and_interval(part)}within {runs.gap(margin)} of it{source if sampling else ''}."
    )
    return runs.verdict(
        [part], supported, form, ours=f"{form(number)} ({what})", interval=_both(part, form)
    )


def _of_the_best(
    values: xr.DataArray, other: xr.DataArray | None, of: int, redrawn: float
) -> tuple[float, Estimate | Difference]:
    """Lowest of so many runs, or its difference to that of another method: the number, and the estimate."""
    depth = normal_minimum(of)
    number, first = lowest(values, of), Estimate.of(values, redrawn, depth)
    if other is None:
        return number, first
    second = Estimate.of(other, redrawn, depth)
    return number - lowest(other, of), Difference(first, second)


def _judge_order(claim: Order, runs: Selection) -> Verdict:
    """Ask each difference between neighbouring tiers to be above 0."""
    parts: list[Part] = []
    chains: list[str] = []
    for epsilon in claim.epsilon:
        there = {label for label, e in runs.present if e == epsilon}
        chains += _chain(claim, runs, epsilon, there)
        parts += [
            _ordered(claim, runs, low, high, epsilon)
            for low, high in claim.pairs()
            if {low, high} <= there
        ]
    return runs.verdict(
        parts,
        "Some difference is above 0." if claim.somewhere else "Every difference is above 0.",
        runs.gap,
        ours="\n".join(chains),
        interval="\n".join(f"{part.name}: {_bounds(part, runs.gap)}" for part in parts),
    )


def _ordered(claim: Order, runs: Selection, low: str, high: str, epsilon: float) -> Part:
    """One comparison of an order: the better method must not have lost a run."""
    smallest = claim.smallest(runs.mean(low, epsilon), runs.mean(high, epsilon))
    gap = runs.at(high, epsilon) - runs.at(low, epsilon)
    return runs.part(
        at(f"{high} − {low}", epsilon),
        above_zero(smallest, f"above 0 by a relevant {runs.gap(smallest)}"),
        gap,
        needs=[(low, epsilon)],
        beside=[(high, epsilon)],
    )


def _chain(claim: Order, runs: Selection, epsilon: float, there: set[str]) -> Iterator[str]:
    """Write the means at one epsilon, in the order of the claim: ``ε = 0.05: 13.9 < 24.1 %``."""
    tiers = [
        [runs.mean(label, epsilon) for label in tier if label in there] for tier in claim.labels
    ]
    tiers = [tier for tier in tiers if tier]
    if not tiers:
        return
    text = runs.text(*tiers[0], join=", ")
    for low, high in itertools.pairwise(tiers):
        text += f" {'<' if max(low) < min(high) else '≮'} {runs.text(*high, join=', ')}"
    yield f"{'no budget' if math.isinf(epsilon) else f'ε = {short(epsilon)}'}: {text}"


def _judge_close(claim: Close, runs: Selection) -> Verdict:
    """Ask the method to lie within the tolerance of the reference, and the others outside."""
    reference = claim.reference.algorithm, claim.reference.epsilon
    limit = runs.gap(claim.tolerance)

    def distance(label: str) -> Part:
        one = label, claim.epsilon
        near = label == claim.algorithm
        return runs.part(
            f"{label} − {reference[0]}",
            within(0, claim.tolerance, f"within {limit} of 0")
            if near
            else apart(0, claim.tolerance, f"farther than {limit} from 0"),
            runs.at(*one) - runs.at(*reference),
            needs=[one, reference] if near else [reference],
            beside=[] if near else [one],
        )

    parts = [distance(label) for label in (claim.algorithm, *claim.others)]
    ours = [f"{part.name} {runs.gap(part.estimate.value, signed=True)}" for part in parts]
    others = f", and the others lie outside of it at {confidence(LEVEL)}"
    return runs.verdict(
        parts,
        f"{parts[0].name} is {runs.gap(parts[0].estimate.value, signed=True)}"
        f"{_and_interval(parts[0])}within {limit} of 0{others if claim.others else ''}.",
        runs.gap,
        ours="\n".join(ours),
        interval="\n".join(f"{part.name}: {_both(part, runs.gap)}" for part in parts),
    )


def _falls_in_rounds(claim: Trend, runs: Selection) -> Verdict:
    """Ask the mean over seeds of last over largest value to be at most a fraction."""
    metric = statistics.after_start(runs.ds[claim.metric])
    ratios = 100 * statistics.final(runs.ds, claim.metric) / metric.max("round")
    limit = f"at most {percent(100 * claim.fraction)} of the maximum"
    parts = [
        runs.part(
            at(f"The end of {label}", epsilon),
            at_most(100 * claim.fraction, limit),
            ratios.sel(algorithm=label, epsilon=epsilon, drop=True),
            [(label, epsilon)],
        )
        for label, epsilon in runs.present
    ]
    return _run_by_run(
        runs, parts, f"Every curve ends at {limit}.", percent, "last value / maximum:\n"
    )


def _falls_in_epsilon(claim: Trend, runs: Selection) -> Verdict:
    """Ask for a fall from first to last budget, and for no relevant rise at any step."""
    parts: list[Part] = []
    ours, intervals = [], []
    for label in claim.algorithms:
        epsilons = [e for e in claim.epsilon if (label, e) in runs.present]
        if len(epsilons) < 2:
            continue
        means = [runs.mean(label, epsilon) for epsilon in epsilons]
        ours.append(f"{label}: {runs.text(*means, join=' → ')}")
        steps = list(_falling(claim, runs, label, epsilons))
        intervals += [
            f"{part.name.removeprefix('The ')}: {_bounds(part, runs.gap)}" for part in steps
        ]
        parts += steps
    return runs.verdict(
        parts,
        "Falls from the first to the last budget, and rises by no relevant difference at any step.",
        runs.gap,
        ours="\n".join(ours),
        interval="\n".join(intervals),
    )


def _falling(claim: Trend, runs: Selection, label: str, epsilons: list[float]) -> Iterator[Part]:
    """Parts about one method; for two budgets, the fall alone is enough."""
    smallest = claim.smallest(*(runs.mean(label, epsilon) for epsilon in epsilons))
    steps = list(itertools.pairwise(epsilons)) if len(epsilons) > 2 else []
    for first, last in [(epsilons[0], epsilons[-1]), *steps]:
        falls = (first, last) not in steps
        change = runs.at(label, first) - runs.at(label, last)
        yield runs.part(
            f"The {'fall' if falls else 'rise'} of {label} from ε = {short(first)} to {short(last)}",
            above_zero(smallest, f"above 0 by a relevant {runs.gap(smallest)}")
            if falls
            else at_most(smallest, f"at most {runs.gap(smallest)}"),
            change if falls else -change,
            needs=[(label, last)],
            beside=[(label, first)],
        )


def _judge_spread(claim: Spread, runs: Selection) -> Verdict:
    """Ask the second range less the first to be above 0.

    That a run of the second group diverged is not contrary to that, but nobody knows its range.
    """
    values = runs.values.sel(
        algorithm=sorted({label for label, _ in runs.present}),
        epsilon=sorted({epsilon for _, epsilon in runs.present}),
    )
    narrow, wide = (_range(group, values) for group in (claim.narrow, claim.wide))
    groups = claim.narrow, claim.wide

    def excess(values: xr.DataArray) -> float:
        return _range(claim.wide, values) - _range(claim.narrow, values)

    smallest = claim.smallest(narrow, wide)
    part = runs.part(
        "The second range less the first",
        above_zero(smallest, f"above 0 by a relevant {runs.gap(smallest)}"),
        jackknife(values, excess),
        runs.present,
    )
    _, limited = runs.lost(claim.narrow.selections())
    part = replace(part, limited=limited)
    names = [f"over {_OVER[group.over]} of {_span(group)}" for group in groups]
    return runs.verdict(
        [part],
        "The second range is larger than the first.",
        runs.gap,
        ours="\nagainst ".join(
            f"{runs.gap(size)} {name}" for size, name in zip((narrow, wide), names, strict=True)
        ),
        interval=f"second − first: {_bounds(part, runs.gap)}",
    )


def _judge_bound(claim: Inequality, runs: Selection) -> Verdict:
    """Ask the left side to be at most the right one, after every evaluated round, in the mean or in every run."""
    parts: list[Part] = []
    ours: list[str] = []
    for label, epsilon in runs.present:
        left, right, least = (
            statistics.after_start(runs.ds[name]).sel(algorithm=label, epsilon=epsilon, drop=True)
            for name in (claim.metric, claim.right, claim.least or claim.right)
        )
        for t in left["round"].values:
            sides = (each.sel(round=t, drop=True) for each in (left, right, least))
            parts.append(_bounded(claim, runs, (label, epsilon), int(t), *sides))
        loose = (right.mean("seed") / left.mean("seed")).values
        if claim.each_run:
            loose = (right / left.where(left > 0)).min("seed").values
        ours.append(f"{at(label, epsilon)}: {_factors(loose)}")
    held = "in every run" if claim.each_run else f"at {confidence(1 - 2 * TEST)}"
    return runs.verdict(
        parts,
        f"The left side is at most the right side after every evaluated round, {held}.",
        runs.gap,
        ours="right / left:\n" + "\n".join(ours),
        interval="",
    )


def _bounded(
    claim: Inequality,
    runs: Selection,
    run: tuple[str, float],
    t: int,
    left: xr.DataArray,
    right: xr.DataArray,
    least: xr.DataArray,
) -> Part:
    """One round of a bound: left less right side, with the largest constants; with the smallest it must be below."""
    excess, estimate = left - right, None
    if claim.each_run:
        worst = float((excess - ROUNDING * np.abs(right)).max("seed"))
        estimate = Estimate(worst, 0.0, int(excess.notnull().sum()))
    room = float((right - least).max("seed"))
    return runs.part(
        f"Left less right side, {at(run[0], run[1])}, after {t:,} rounds",
        below(room, "at most 0"),
        excess,
        [run],
        estimate,
    )


def _factors(loose: NDArray[Any]) -> str:
    """Write by what factors a bound is loose, over the rounds."""
    finite = loose[np.isfinite(loose)]
    if not len(finite):
        return "–"
    low, high = f"{finite.min():.2g}", f"{finite.max():.2g}"
    return low if low == high else f"{low} to {high}"


def _judge_rate(claim: Rate, runs: Selection) -> Verdict:
    """Ask the slope of the mean over the last decade of rounds, on logarithmic axes, to be at most the exponent."""
    left = statistics.after_start(runs.ds[claim.metric])
    parts = [
        runs.part(
            f"The slope of {at(label, epsilon)}",
            no_flatter(claim.exponent, f"at most {short(claim.exponent)}"),
            jackknife(left.sel(algorithm=label, epsilon=epsilon, drop=True), statistics.last_slope),
            [(label, epsilon)],
        )
        for label, epsilon in runs.present
    ]
    return _run_by_run(runs, parts, f"Every slope is at most {short(claim.exponent)}.", runs.gap)


def _run_by_run(
    runs: Selection, parts: list[Part], good: str, show: Callable[..., str], what: str = ""
) -> Verdict:
    """Decide by a part for each run, and write the value of each, below what they are."""
    names = [at(label, epsilon) for label, epsilon in runs.present]
    pairs = list(zip(names, parts, strict=True))
    return runs.verdict(
        parts,
        good,
        show,
        ours=what + "\n".join(f"{name}: {show(part.estimate.value)}" for name, part in pairs),
        interval="\n".join(f"{name}: {_bounds(part, show)}" for name, part in pairs),
    )


_OVER = {"algorithm": "the settings", "epsilon": "the budgets"}


def _span(group: Group) -> str:
    labels = group.algorithms
    return labels[0] if len(labels) == 1 else f"{labels[0]} … {labels[-1]}"


def _range(group: Group, values: xr.DataArray) -> float:
    """Highest minus lowest mean over seeds along one dimension, averaged over the other."""
    means = values.sel(algorithm=group.algorithms, epsilon=group.epsilon).mean("seed")
    return float((means.max(group.over) - means.min(group.over)).mean())


def _bounds(part: Part, show: Callable[..., str]) -> str:
    """Write the interval of the report's level."""
    if not part.is_random:
        return "all seeds agree" if part.estimate.n > 1 else "none from one seed"
    return show(*part.estimate.bounds(LEVEL))


def _both(part: Part, show: Callable[..., str]) -> str:
    """Write the intervals that refute and show equivalence."""
    if not part.is_random:
        return _bounds(part, show)
    levels = LEVEL, 1 - 2 * TEST
    return "\n".join(
        f"{confidence(level)}: {show(*part.estimate.bounds(level))}" for level in levels
    )


def _and_interval(part: Part) -> str:
    """Go on from an estimate to where its interval lies."""
    return f"; its {confidence(1 - 2 * TEST)} interval lies " if part.is_random else ", "
