"""Whether runs meet what a claim presupposes: the one place that says so, for every kind of claim.

Only runs that meet it support or contradict a claim. A limit that the paper does not have, such as fewer rounds or an
end before the method's own test, is ours, and is held against nobody.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from admmbench.claims.claims import Claim, Requirements
from admmbench.frames.outcomes import Outcome
from admmbench.results import statistics
from admmbench.results.wording import at

if TYPE_CHECKING:
    import xarray as xr

Selected = tuple[str, float]
"""A label and a budget."""

SEEN = 0.1
"""Part of the rounds after which a curve that is judged along rounds is evaluated first at the latest: it may have been
highest before."""

FEWEST_OF_A_DECADE = 3
"""Evaluated rounds in the last decade, below which a line through them shows no rate."""

_SIZES = {
    "rounds": "rounds",
    "seeds": "seeds",
    "agents": "agents",
    "n_train": "training samples",
}


def split(claim: Claim, ds: xr.Dataset) -> tuple[list[Selected], list[Selected]]:
    """Separate the selections with a started run from the others."""
    present, absent = list[Selected](), list[Selected]()
    for label, epsilon in dict.fromkeys(claim.selections()):
        there = label in ds["algorithm"].values and epsilon in ds["epsilon"].values
        ran = there and (ds["status"].sel(algorithm=label, epsilon=epsilon) >= 0).any()
        (present if ran else absent).append((label, epsilon))
    return present, absent


def named(selections: Iterable[Selected]) -> str:
    """Name methods and budgets; methods with the same budgets share them."""
    budgets: dict[str, list[float]] = {}
    for label, epsilon in selections:
        budgets.setdefault(label, []).append(epsilon)
    labels: dict[tuple[float, ...], list[str]] = {}
    for label, epsilons in budgets.items():
        labels.setdefault(tuple(epsilons), []).append(label)
    return "; ".join(at(", ".join(group), *epsilons) for epsilons, group in labels.items())


def lacking(claim: Claim, ds: xr.Dataset, present: list[Selected]) -> list[str]:
    """Say in which ways the runs fall short of what a claim presupposes; nothing if they meet it all.

    Parameters
    ----------
    claim
        What the paper states, with its requirements; without any, all runs meet them.
    ds
        Results of its experiment.
    present
        The selections of the claim that have a run.
    """
    if not present:
        return []
    unseen = list(_unseen(claim, ds))
    needed = claim.requires
    if needed is None:
        return unseen
    if claim.at_round is not None:
        needed = needed.model_copy(update={"rounds": claim.at_round})
    texts = [*_too_small(needed, ds, present), *unseen]
    if needed.converged:
        texts += _unsolved(ds, present)
    for label in dict.fromkeys(label for label, _ in present):
        texts += _other_params(needed, ds, label)
    relation = ds.attrs.get("relation")
    if needed.relation and relation != needed.relation:
        texts.append(f"neighbours by {relation}, the paper's by {needed.relation}")
    if needed.equally_private and not equally_private(ds, present):
        texts.append("methods that are not equally private")
    return texts


def equally_private(ds: xr.Dataset, present: list[Selected]) -> bool:
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


def _too_small(needed: Requirements, ds: xr.Dataset, present: list[Selected]) -> Iterator[str]:
    """Name each size that is below the paper's."""
    here = {name: int(ds.attrs[name]) for name in ("rounds", "n_train")}
    # Those of the longest run, and of each method. An optimum is not found in rounds of the paper.
    optimum = statistics.is_optimum(ds)
    contenders = [(a, e) for a, e in present if not optimum.sel(algorithm=a)]
    here["rounds"] = min(
        [here["rounds"], *(int(ds["rounds"].sel(algorithm=a, epsilon=e)) for a, e in contenders)]
    )
    here["agents"] = int(ds["agents"].sel(algorithm=[label for label, _ in present]).min())
    started = [(ds["status"].sel(algorithm=a, epsilon=e) >= 0).sum().item() for a, e in present]
    noisy = [n for n, (_, e) in zip(started, present, strict=True) if math.isfinite(e)]
    # Without noise the seeds differ at most in the partition, and the papers give a single number.
    here["seeds"] = min(noisy, default=needed.seeds)
    for size, name in _SIZES.items():
        papers = getattr(needed, size)
        if here[size] < papers:
            note = ds.attrs.get("dataset_note") if size == "n_train" else ""
            yield f"{here[size]:,} of {papers:,} {name}" + (f" ({note})" if note else "")


def _unseen(claim: Claim, ds: xr.Dataset) -> Iterator[str]:
    """Say that too few rounds were evaluated for what a claim says of the course of a run."""
    rounds = statistics.after_start(ds)["round"].sel(round=slice(None, claim.at_round))
    if claim.kind == "rate":
        there = int(statistics.last_decade(rounds).sum())
        if there < FEWEST_OF_A_DECADE:
            yield f"{there} of {FEWEST_OF_A_DECADE} evaluated rounds in the last decade"
    elif claim.kind == "trend" and claim.along == "round" and rounds[0] > SEEN * rounds[-1]:
        yield f"first evaluated after {int(rounds[0]):,} of {int(rounds[-1]):,} rounds"


def _unsolved(ds: xr.Dataset, present: list[Selected]) -> Iterator[str]:
    """Name methods of which a run ended at the last round, before the test of the method held."""
    for label, epsilon in present:
        status = ds["status"].sel(algorithm=label, epsilon=epsilon)
        ended = int((status == Outcome.COMPLETED).sum())
        if ended:
            started = int((status >= 0).sum())
            yield f"{at(label, epsilon)}: {ended} of {started} runs ended before the method's own test"


def _other_params(needed: Requirements, ds: xr.Dataset, label: str) -> Iterator[str]:
    """Name parameters that are not those that the paper prints."""
    printed = needed.params.get(label, {})
    if not printed:
        return
    given = json.loads(str(ds["params"].sel(algorithm=label).item()))
    for name, value in printed.items():
        if given.get(name) != value:
            yield f"{label}: {name} is {given.get(name, 'not stated')}, as printed {value}"
