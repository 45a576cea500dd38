"""What the results say about the papers' claims.

:func:`evaluate` gives one :class:`Verdict` for each claim; :mod:`admmbench.claims.judging` has the kinds of claims.
Orderings and trends in epsilon are judged at whatever scale was run, and the verdict says how far that is from the
paper's. Published values, and statements that something is close to something else, are judged only at the paper's own
scale (rounds, seeds, agents, training samples), which the file gives for each experiment.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING

from admmbench.claims.claims import Claim, Order, Trend, check
from admmbench.claims.judging import judge, published
from admmbench.claims.selection import Selection, Verdict
from admmbench.results import statistics
from admmbench.results.wording import at

if TYPE_CHECKING:
    import xarray as xr


def evaluate(
    claims: Iterable[Claim],
    results: Mapping[str, xr.Dataset],
    known: Mapping[str, Collection[str]] | None = None,
) -> list[Verdict]:
    """Judge each claim by the results.

    Parameters
    ----------
    claims
        As :func:`admmbench.claims.claims.load` gives them.
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
        If a claim names an unknown experiment or label.
    """
    given = list(claims)
    names = {name: [str(x) for x in ds["algorithm"].values] for name, ds in results.items()}
    check(given, {**names, **(known or {})}, complete=known is not None)
    return [
        _judged(claim, results).model_copy(update={"published": published(claim)})
        for claim in given
    ]


def _judged(claim: Claim, results: Mapping[str, xr.Dataset]) -> Verdict:
    """Judge a claim whose names exist; all but what the paper gives."""
    ds = results.get(claim.experiment)
    if ds is None:
        why = f"The experiment {claim.experiment} is not part of this configuration."
        return Verdict(claim=claim, verdict="not run", why=why)
    if claim.metric not in ds:
        why = f"No run measures {claim.metric}."
        return Verdict(claim=claim, verdict="not run", why=why)
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
    verdict = judge(claim, Selection(claim, ds, present))
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


def _split(claim: Claim, ds: xr.Dataset) -> tuple[list[tuple[str, float]], list[tuple[str, float]]]:
    """Separate the selections with a started run from the others."""
    present, absent = list[tuple[str, float]](), list[tuple[str, float]]()
    for label, epsilon in dict.fromkeys(claim.selections()):
        there = label in ds["algorithm"].values and epsilon in ds["epsilon"].values
        ran = there and (ds["status"].sel(algorithm=label, epsilon=epsilon) >= 0).any()
        (present if ran else absent).append((label, epsilon))
    return present, absent


def _named(selections: Iterable[tuple[str, float]]) -> str:
    """Name methods and budgets; methods with the same budgets share them."""
    budgets: dict[str, list[float]] = {}
    for label, epsilon in selections:
        budgets.setdefault(label, []).append(epsilon)
    labels: dict[tuple[float, ...], list[str]] = {}
    for label, epsilons in budgets.items():
        labels.setdefault(tuple(epsilons), []).append(label)
    return "; ".join(at(", ".join(group), *epsilons) for epsilons, group in labels.items())


def _lacking(claim: Claim, ds: xr.Dataset, present: list[tuple[str, float]]) -> list[str]:
    """Say how the runs fall short of the paper's scale."""
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
