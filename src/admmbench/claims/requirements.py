"""Whether runs meet what a claim presupposes: the one place that says so, for every kind of claim.

Only runs that meet it support or contradict a claim. A limit that the paper does not have, such as fewer rounds or an
end before the method's own test, is ours, and is held against nobody.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from admmbench.base.outcomes import Outcome
from admmbench.claims.claims import Evidence, Rate, Requirements, Trend
from admmbench.claims.runs import Selected
from admmbench.results import statistics
from admmbench.study.missing_data import MissingData

if TYPE_CHECKING:
    import xarray as xr

SEEN = 0.1
"""Part of the rounds after which a curve that is judged along rounds is evaluated first at the latest: it may have been
highest before."""

FEWEST_OF_A_DECADE = 3
"""Evaluated rounds in the last decade, below which a line through them shows no rate."""


class Shortfall(NamedTuple):
    """Difference between runs and what a paper's statement presupposes."""

    what: str
    """Key of the requirement; ``decade`` and ``start`` where too few rounds were evaluated, ``data`` where files of the
    data are missing."""
    here: Any = None
    """Value of the runs; None if they have none."""
    paper: Any = None
    """Value of the paper, or number of runs that ``here`` counts."""
    label: str = ""
    epsilon: float | None = None
    param: str = ""
    note: str = ""
    """What the data lack, or what is counted of them."""


def split(claim: Evidence, ds: xr.Dataset) -> tuple[list[Selected], list[Selected]]:
    """Separate the selections with a started run from the others."""
    present, absent = list[Selected](), list[Selected]()
    for label, epsilon in dict.fromkeys(claim.selections()):
        there = label in ds["algorithm"].values and epsilon in ds["epsilon"].values
        ran = there and (ds["status"].sel(algorithm=label, epsilon=epsilon) >= 0).any()
        (present if ran else absent).append((label, epsilon))
    return present, absent


def shortfalls(claim: Evidence, ds: xr.Dataset, present: list[Selected]) -> list[Shortfall]:
    """Return in which ways the runs fall short of what a claim presupposes; nothing if they meet it all.

    Parameters
    ----------
    claim
        What the paper states; without requirements, all runs meet them.
    ds, present
        Results of its experiment, and the selections of the claim that have a run.
    """
    if not present:
        return []
    unseen = [*_missing_data(ds), *_unseen(claim, ds)]
    needed = claim.requires
    if needed is None:
        return unseen
    if claim.at_round is not None:
        needed = needed.model_copy(update={"rounds": claim.at_round})
    found = [*_too_small(needed, ds, present), *unseen]
    if needed.converged:
        found += _unsolved(ds, present)
    labels = list(dict.fromkeys(label for label, _ in present))
    for label in labels:
        found += _other_params(needed, ds, label)
    if needed.relation:
        # Methods that release no noise have none.
        here = dict.fromkeys(ds["relation"].sel(algorithm=labels).values.tolist())
        others = [each for each in here if each not in ("none", needed.relation)]
        found += [Shortfall("relation", each, needed.relation) for each in others]
    if needed.equally_private and not equally_private(ds, present):
        found.append(Shortfall("equally_private"))
    return found


def _missing_data(ds: xr.Dataset) -> Iterator[Shortfall]:
    """Yield what is short where files of the data were missing: no paper states anything about what is left."""
    if "missing_data" in ds.attrs:
        found = MissingData.model_validate_json(ds.attrs["missing_data"])
        yield Shortfall("data", found.present, found.stated, note=found.unit)


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


def _too_small(
    needed: Requirements, ds: xr.Dataset, present: list[Selected]
) -> Iterator[Shortfall]:
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
    for size in ("rounds", "seeds", "agents", "n_train"):
        paper = getattr(needed, size)
        if here[size] < paper:
            note = ds.attrs.get("dataset_note", "") if size == "n_train" else ""
            yield Shortfall(size, here[size], paper, note=note)


def _unseen(claim: Evidence, ds: xr.Dataset) -> Iterator[Shortfall]:
    """Yield what is short where too few rounds were evaluated for what a claim says of the course of a run."""
    rounds = statistics.after_start(ds)["round"].sel(round=slice(None, claim.at_round))
    if isinstance(claim, Rate):
        there = int(statistics.last_decade(rounds).sum())
        if there < FEWEST_OF_A_DECADE:
            yield Shortfall("decade", there, FEWEST_OF_A_DECADE)
    elif isinstance(claim, Trend) and claim.along == "round" and rounds[0] > SEEN * rounds[-1]:
        yield Shortfall("start", int(rounds[0]), int(rounds[-1]))


def _unsolved(ds: xr.Dataset, present: list[Selected]) -> Iterator[Shortfall]:
    """Name methods of which a run ended at the last round, before the test of the method held."""
    for label, epsilon in present:
        status = ds["status"].sel(algorithm=label, epsilon=epsilon)
        ended = int((status == Outcome.COMPLETED).sum())
        if ended:
            yield Shortfall("converged", ended, int((status >= 0).sum()), label, epsilon)


def _other_params(needed: Requirements, ds: xr.Dataset, label: str) -> Iterator[Shortfall]:
    """Name parameters that are not those that the paper prints."""
    printed = needed.params.get(label, {})
    if not printed:
        return
    given = json.loads(str(ds["params"].sel(algorithm=label).item()))
    for name, value in printed.items():
        if given.get(name) != value:
            yield Shortfall("params", given.get(name), value, label, param=name)
