"""What the results say about the papers' claims.

:func:`evaluate` gives one :class:`Verdict` for each claim. Orderings and monotone trade-offs are judged at whatever
scale was run, and the verdict says how far that is from the paper's. Published values, and statements that
something is close to something else, are judged only at the paper's own scale (rounds, seeds, agents, training
samples), which the file gives for each experiment.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Literal

from admmbench import statistics
from admmbench.analysis.claims import (
    Claim,
    Close,
    Group,
    Model,
    Order,
    Spread,
    Trend,
    Value,
    refuse,
)

if TYPE_CHECKING:
    import xarray as xr

Judgement = Literal["reproduced", "not reproduced", "other data", "not run at this scale"]


class Verdict(Model):
    """What the results say about one claim; all numbers as text, ready for a table.

    ``ours`` and ``interval`` may have several lines, one for each comparison.
    """

    claim: Claim
    verdict: Judgement
    published: str
    ours: str = ""
    interval: str = ""
    why: str


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
        With it, a misspelt experiment is told from one that was left out, and labels may be left
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
    published = _published(claim)
    ds = results.get(claim.experiment)
    if ds is None:
        why = f"The experiment {claim.experiment} is not part of this configuration."
        return _verdict(claim, published, "not run at this scale", why)
    if claim.metric not in ds:
        refuse(claim.file, claim.id, "metric", claim.metric, map(str, ds.data_vars))
    present, absent = _split(claim, ds)
    lacking = _lacking(claim, ds, present)
    if absent and not isinstance(claim, Order | Trend):
        lacking.insert(0, f"{', '.join(absent)} was not run")
    enforced = _enforced(claim, lacking)
    if not present or enforced:
        why = f"Needs the paper's scale: {'; '.join(enforced)}."
        if not present:
            why = f"Not run: {', '.join(absent)}."
        return _verdict(claim, published, "not run at this scale", why)
    verdict = _dispatch(claim, _View(claim, ds, present))
    if claim.other_data:
        why = f"Not judged: {claim.other_data} {verdict.why}"
        verdict = verdict.model_copy(update={"verdict": "other data", "why": why})
    remarks = [f"Not run: {', '.join(absent)}."] if absent else []
    if lacking:
        remarks.append(f"Judged below the paper's scale: {'; '.join(lacking)}.")
    return verdict.model_copy(
        update={"published": published, "why": " ".join([verdict.why, *remarks])}
    )


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


def _split(claim: Claim, ds: xr.Dataset) -> tuple[list[tuple[str, float]], list[str]]:
    """Tell the selections of which a run was started from the others, given by name."""
    present, absent = [], []
    for label, epsilon in dict.fromkeys(claim.selections()):
        there = label in ds["algorithm"].values and epsilon in ds["epsilon"].values
        if there and (ds["status"].sel(algorithm=label, epsilon=epsilon) >= 0).any():
            present.append((label, epsilon))
        else:
            absent.append(f"{label} at ε = {_number(epsilon)}")
    return present, absent


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
        self.ds = ds
        self.present = present
        self.unit = claim.unit
        self.metric = claim.metric
        self.factor = 100.0 if claim.unit == "%" else 1.0
        self.values = statistics.reduce(ds, claim.metric, claim.run) * self.factor

    def at(self, label: str, epsilon: float) -> xr.DataArray:
        """One number for each seed."""
        values: xr.DataArray = self.values.sel(algorithm=label, epsilon=epsilon)
        return values

    def mean(self, label: str, epsilon: float) -> float:
        return float(self.at(label, epsilon).mean("seed"))

    def failed(self, label: str, epsilon: float) -> str:
        """Say how many runs have no value, or nothing if all have one."""
        state = statistics.counts(self.ds).sel(algorithm=label, epsilon=epsilon)
        parts, total = statistics.lost(state)
        return (
            f"{label} at ε = {_number(epsilon)}: {' and '.join(parts)} of {total} runs"
            if parts
            else ""
        )

    def text(self, *values: float, join: str = " to ") -> str:
        """Write values with their unit."""
        return _quantity(values, self.unit, join=join)

    def gap(self, *values: float, signed: bool = False) -> str:
        """Write differences with their unit: those of percentages are percentage points."""
        return _quantity(values, "pp" if self.unit == "%" else self.unit, signed=signed)


def _judge_value(claim: Value, view: _View) -> Verdict:
    """Compare with the tolerance; a method that lost a run has no value over all seeds."""
    values = view.at(claim.algorithm, claim.epsilon)
    number = float(statistics.over_seeds(values, claim.over_seeds))
    spread = statistics.interval(values)
    if claim.minus:
        other = view.at(claim.minus, claim.epsilon)
        number -= float(statistics.over_seeds(other, claim.over_seeds))
        spread = statistics.paired(values, other)
    elif claim.over:
        ratios = values / view.at(claim.over, claim.epsilon)
        number = float(statistics.over_seeds(ratios, claim.over_seeds))
        spread = statistics.interval(ratios)
    failed = [text for text in (view.failed(*pair) for pair in claim.selections()) if text]
    off = number - claim.published
    sampling = statistics.sampling_error(values, claim.instances) if claim.instances else 0.0
    tolerance = claim.tolerance + sampling
    ok = not failed and abs(off) <= tolerance
    source = ", of which the sampling error of both means is " + view.gap(sampling)
    side = "above" if off > 0 else "below"
    why = (
        f"{_sentence(failed)}, so there is no value over all seeds."
        if failed
        else f"{view.gap(abs(off))} {side} the published value; "
        f"the tolerance is {view.gap(tolerance)}{source if sampling else ''}."
    )
    what = {"mean": "mean of", "best": "best of"}[claim.over_seeds]
    return _verdict(
        claim,
        "",
        "reproduced" if ok else "not reproduced",
        _because(claim, why, ok),
        ours=f"{(view.gap if claim.minus else view.text)(number)} ({what} {int(spread['n'])})",
        interval=_mean_interval(claim, view, spread),
    )


def _judge_order(claim: Order, view: _View) -> Verdict:
    """Ask each difference between neighbouring tiers for an interval on the right side of 0."""
    wrong: list[str] = []
    single: list[str] = []
    intervals: list[str] = []
    chains: list[str] = []
    for epsilon in claim.epsilon:
        runs = {label for label, e in view.present if e == epsilon}
        chains += _chain(claim, view, epsilon, runs)
        bounds: list[str] = []
        for low, high in claim.pairs():
            if not {low, high} <= runs:
                continue
            gap = statistics.paired(view.at(high, epsilon), view.at(low, epsilon))
            name = f"{high} − {low} at ε = {_number(epsilon)}"
            bounds.append(f"{high} − {low} {_bounds(view, gap)}")
            if view.failed(low, epsilon) or gap["n"] == 0:
                wrong.append(view.failed(low, epsilon) or view.failed(high, epsilon))
            elif gap["n"] == 1:
                single.append(f"{name} has no interval from one seed")
            elif not gap["lower"] > 0:
                text = f"{name} is {view.gap(float(gap['mean']), signed=True)}"
                if gap["upper"] > 0:
                    text += ", an interval with 0 in it"
                undecided = gap["upper"] > 0 and _too_few(claim, gap)
                (single if undecided else wrong).append(text)
        if bounds:
            intervals.append(f"ε = {_number(epsilon)}: {', '.join(bounds)}")
    why = "Every difference is positive, and no interval contains 0."
    outcome: Judgement = "reproduced"
    if wrong:
        outcome, why = "not reproduced", f"{_sentence(wrong)}."
    elif single or not intervals:
        outcome = "not run at this scale"
        why = "No two methods of it were run together."
        if single:
            why = f"Too few seeds to decide: {_sentence(single)}."
    return _verdict(
        claim,
        "",
        outcome,
        _because(claim, why, outcome != "not reproduced"),
        ours="\n".join(chains),
        interval="\n".join(intervals),
    )


def _too_few(claim: Claim, gap: xr.Dataset) -> bool:
    """Whether fewer seeds were run than in the paper, so that an interval with 0 in it decides nothing."""
    seeds = claim.requires.seeds if claim.requires else None
    return seeds is not None and int(gap["n"]) < seeds


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
    yield f"ε = {_number(epsilon)}: {text}"


def _judge_close(claim: Close, view: _View) -> Verdict:
    """Ask the method to lie within the tolerance of the reference, and the others outside."""
    reference = view.at(claim.reference.algorithm, claim.reference.epsilon)
    wrong, ours, intervals = [], [], []
    for label in (claim.algorithm, *claim.others):
        gap = statistics.paired(view.at(label, claim.epsilon), reference)
        mean = float(gap["mean"])
        near = abs(mean) <= claim.tolerance
        ours.append(f"{label} {view.gap(mean, signed=True)}")
        intervals.append(f"{label}: {_bounds(view, gap)}")
        if text := view.failed(label, claim.epsilon):
            wrong.append(text)
        elif near != (label == claim.algorithm):
            wrong.append(f"{label} is {view.gap(abs(mean))} away")
    ok = not wrong
    limit = f"the tolerance is {view.gap(claim.tolerance)}"
    why = f"{_sentence(wrong)}; {limit}." if wrong else f"As stated; {limit}."
    return _verdict(
        claim,
        "",
        "reproduced" if ok else "not reproduced",
        _because(claim, why, ok),
        ours=f"minus {claim.reference.algorithm}:\n" + "\n".join(ours),
        interval="\n".join(intervals),
    )


def _falls_in_rounds(claim: Trend, view: _View) -> Verdict:
    """Ask the mean over seeds to end at no more than a fraction of its largest value."""
    wrong, ours = [], []
    for label, epsilon in view.present:
        curve = view.ds[view.metric].sel(algorithm=label, epsilon=epsilon).mean("seed")
        curve = curve.dropna("round")
        part = float(curve[-1] / curve.max()) if curve.size else math.nan
        name = f"{label} at ε = {_number(epsilon)}"
        ours.append(f"{name}: {_number(100 * part)} %")
        if failed := view.failed(label, epsilon):
            wrong.append(failed)
        elif not part <= claim.fraction:
            wrong.append(f"{name} ends at {_number(100 * part)} % of its maximum")
    limit = f"{_number(100 * claim.fraction)} %"
    why = (
        f"{_sentence(wrong)}; at most {limit} was asked for."
        if wrong
        else (f"Every curve ends at no more than {limit} of its maximum.")
    )
    ok = not wrong
    return _verdict(
        claim,
        "",
        "reproduced" if ok else "not reproduced",
        _because(claim, why, ok),
        ours="last value / maximum:\n" + "\n".join(ours),
    )


def _falls_in_epsilon(claim: Trend, view: _View) -> Verdict:
    """Ask the means to fall at every step, and the interval from first to last to exclude 0."""
    wrong, single, ours, intervals = [], [], [], []
    for label in claim.algorithms:
        epsilons = [e for e in claim.epsilon if (label, e) in view.present]
        if len(epsilons) < 2:
            single.append(f"{label} was run at fewer than two budgets")
            continue
        means = [view.mean(label, epsilon) for epsilon in epsilons]
        ours.append(f"{label}: {view.text(*means, join=' → ')}")
        gap = statistics.paired(view.at(label, epsilons[0]), view.at(label, epsilons[-1]))
        intervals.append(f"{label}, first − last: {_bounds(view, gap)}")
        wrong += [text for text in (view.failed(label, e) for e in epsilons) if text]
        wrong += [
            f"{label} rises from ε = {_number(a)} to {_number(b)}"
            for (a, x), (b, y) in itertools.pairwise(zip(epsilons, means, strict=True))
            if not y < x
        ]
        if gap["n"] < 2:
            single.append(f"{label} has no interval from one seed")
        elif not gap["lower"] > 0 and means[-1] < means[0]:
            text = f"the interval of {label} from first to last contains 0"
            (single if _too_few(claim, gap) else wrong).append(text)
    outcome: Judgement = "reproduced"
    why = "Falls at every step, and no interval from the first to the last budget contains 0."
    if wrong:
        outcome, why = "not reproduced", f"{_sentence(wrong)}."
    elif single:
        outcome = "not run at this scale"
        why = f"Too little to decide: {_sentence(single)}."
    return _verdict(
        claim,
        "",
        outcome,
        _because(claim, why, outcome != "not reproduced"),
        ours="\n".join(ours),
        interval="\n".join(intervals),
    )


def _judge_spread(claim: Spread, view: _View) -> Verdict:
    """Compare the ranges of the means, averaged over the other dimension of each group."""
    ranges = [_range(group, view) for group in (claim.narrow, claim.wide)]
    failed = [text for text in (view.failed(*pair) for pair in view.present) if text]
    ok = not failed and ranges[0] < ranges[1]
    comparison = "smaller" if ranges[0] < ranges[1] else "not smaller"
    why = f"The first range is {comparison} than the second."
    if failed:
        why = f"{_sentence(failed)}."
    names = [f"over {_OVER[group.over]} of {_span(group)}" for group in (claim.narrow, claim.wide)]
    return _verdict(
        claim,
        "",
        "reproduced" if ok else "not reproduced",
        _because(claim, why, ok),
        ours="\nagainst ".join(
            f"{view.gap(size)} {name}" for size, name in zip(ranges, names, strict=True)
        ),
    )


_OVER = {"algorithm": "the settings", "epsilon": "the budgets"}


def _span(group: Group) -> str:
    labels = group.algorithms
    return labels[0] if len(labels) == 1 else f"{labels[0]} … {labels[-1]}"


def _range(group: Group, view: _View) -> float:
    means = view.values.sel(algorithm=group.algorithms, epsilon=group.epsilon).mean("seed")
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
        return _quantity(
            [claim.published], "pp" if claim.minus and claim.unit == "%" else claim.unit
        )
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


def _verdict(
    claim: Claim, published: str, outcome: Judgement, why: str, ours: str = "", interval: str = ""
) -> Verdict:
    return Verdict(
        claim=claim, verdict=outcome, published=published, ours=ours, interval=interval, why=why
    )


def _because(claim: Claim, why: str, ok: bool) -> str:
    """Add the known reason where the numbers deviate."""
    return why if ok or not claim.note else f"{why} {claim.note}"


def _mean_interval(claim: Value, view: _View, spread: xr.Dataset) -> str:
    if spread["n"] < 2:
        return "none from one seed"
    if claim.minus:
        return f"difference of means: {_bounds(view, spread)}"
    return f"mean: {view.text(float(spread['lower']), float(spread['upper']))}"


def _bounds(view: _View, gap: xr.Dataset) -> str:
    return view.gap(float(gap["lower"]), float(gap["upper"])) if gap["n"] > 1 else "none"


def _quantity(
    values: Iterable[float], unit: str, *, signed: bool = False, join: str = " to "
) -> str:
    """Write numbers with their unit: percentages with two decimals, others with three digits."""
    form = ("+" if signed else "") + (".3g" if unit == "1" else ".2f")
    text = join.join(format(value, form).replace("-", "−") for value in values)
    return text if unit == "1" else f"{text} {unit}"


def _number(value: float) -> str:
    return "∞" if math.isinf(value) else f"{value:.3g}"


def _sentence(parts: list[str]) -> str:
    text = "; ".join(dict.fromkeys(parts))
    return text[:1].upper() + text[1:]
