"""Requirements of claims, and the shortfalls of runs that do not meet them, for every kind of claim.

Only runs that meet all requirements support or contradict a claim. A limit that the paper does not have, such as fewer
rounds or an end before the method's own test, is ours, so that it contradicts nobody.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from admmbench.base.outcomes import Outcome
from admmbench.claims.evidence import Evidence, Requirements
from admmbench.claims.kinds import Rate, Trend
from admmbench.claims.runs import Selected
from admmbench.datasets import MissingData
from admmbench.results import statistics

if TYPE_CHECKING:
    import xarray as xr

SEEN = 0.1
"""Latest first evaluation of a curve that is judged along rounds, as a part of all rounds: the curve may have been
highest before."""

FEWEST_OF_A_DECADE = 3
"""Smallest number of evaluated rounds in the last decade through which a line shows a rate."""


NOISE = 0.9
"""Smallest part of a metric that noise must make where its dependence on epsilon is judged."""


class Shortfall(NamedTuple):
    """Difference between runs and what a paper's statement presupposes."""

    what: str
    """Key of the requirement; ``decade`` and ``start`` where too few rounds were evaluated, ``noise`` where
    too little of a metric is noise, ``data`` where files of the data are missing."""
    here: Any = None
    """Value of the runs; None if they have none."""
    paper: Any = None
    """Value of the paper, or number of runs that ``here`` counts."""
    label: str = ""
    epsilon: float | None = None
    param: str = ""
    note: str = ""
    """Note on the data, or unit of their count."""


def split(claim: Evidence, ds: xr.Dataset) -> tuple[list[Selected], list[Selected]]:
    """Separate the selections with a started run from the others."""
    present, absent = list[Selected](), list[Selected]()
    for label, epsilon in dict.fromkeys(claim.selections()):
        there = label in ds["algorithm"].values and epsilon in ds["epsilon"].values
        ran = there and (ds["status"].sel(algorithm=label, epsilon=epsilon) >= 0).any()
        (present if ran else absent).append((label, epsilon))
    return present, absent


def shortfalls(claim: Evidence, ds: xr.Dataset, present: list[Selected]) -> list[Shortfall]:
    """Return the requirements of a claim that its runs do not meet; without requirements, all runs meet them."""
    if not present:
        return []
    unseen = [*_missing_data(ds), *_unseen(claim, ds)]
    needed = claim.requires
    if needed is None:
        return unseen
    if claim.at_round is not None:
        needed = needed.model_copy(update={"rounds": claim.at_round})
    short = [*_too_small(needed, ds, present), *unseen]
    if needed.converged:
        short += _unsolved(ds, present)
    labels = list(dict.fromkeys(label for label, _ in present))
    for label in labels:
        short += _other_params(needed, ds, label)
    if needed.relation:
        # Methods that release no noise have no relation of neighbours.
        here = dict.fromkeys(ds["relation"].sel(algorithm=labels).values.tolist())
        others = [relation for relation in here if relation not in ("none", needed.relation)]
        short += [Shortfall("relation", relation, needed.relation) for relation in others]
    if needed.equally_private and not equally_private(ds, present):
        short.append(Shortfall("equally_private"))
    return short


def _missing_data(ds: xr.Dataset) -> Iterator[Shortfall]:
    """Yield a shortfall where files of the data were missing: no paper states anything about the remaining data."""
    if "missing_data" in ds.attrs:
        counts = MissingData.model_validate_json(ds.attrs["missing_data"])
        yield Shortfall("data", counts.present, counts.stated, note=counts.unit)


def equally_private(ds: xr.Dataset, present: list[Selected]) -> bool:
    """Return whether methods that are compared at a budget have equal total ε; runs without a budget need none."""
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
    """Yield a shortfall for each size that is below the paper's."""
    here = {name: int(ds.attrs[name]) for name in ("rounds", "n_train")}
    # Rounds of the longest run, and of each method. An optimum is computed without rounds of the paper.
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
    """Yield a shortfall where too few rounds were evaluated for a claim about the course of a run."""
    rounds = statistics.after_start(ds)["round"].sel(round=slice(None, claim.at_round))
    if isinstance(claim, Rate) and claim.along == "epsilon":
        yield from _noise_parts(claim, ds)
    elif isinstance(claim, Rate):
        there = int(statistics.last_decade(rounds).sum())
        if there < FEWEST_OF_A_DECADE:
            yield Shortfall("decade", there, FEWEST_OF_A_DECADE)
    elif isinstance(claim, Trend) and claim.along == "round" and rounds[0] > SEEN * rounds[-1]:
        yield Shortfall("start", int(rounds[0]), int(rounds[-1]))


def _noise_parts(claim: Rate, ds: xr.Dataset) -> Iterator[Shortfall]:
    """Yield a shortfall for each run of which noise makes too small a part of the metric."""
    means = statistics.final(ds, claim.metric).mean("seed")
    for label, epsilon in itertools.product(claim.algorithms, claim.epsilon):
        exact, noisy = (float(means.sel(algorithm=label, epsilon=e)) for e in (math.inf, epsilon))
        if not 1 - exact / noisy >= NOISE:
            yield Shortfall("noise", 1 - exact / noisy, NOISE, label, epsilon)


def _unsolved(ds: xr.Dataset, present: list[Selected]) -> Iterator[Shortfall]:
    """Yield a shortfall for each method of which a run ended at the last round, before the method's own test held."""
    for label, epsilon in present:
        status = ds["status"].sel(algorithm=label, epsilon=epsilon)
        ended = int((status == Outcome.COMPLETED).sum())
        if ended:
            yield Shortfall("converged", ended, int((status >= 0).sum()), label, epsilon)


def _other_params(needed: Requirements, ds: xr.Dataset, label: str) -> Iterator[Shortfall]:
    """Yield a shortfall for each parameter that differs from the printed one."""
    printed = needed.params.get(label, {})
    if not printed:
        return
    params = json.loads(str(ds["params"].sel(algorithm=label).item()))
    for name, value in printed.items():
        if params.get(name) != value:
            yield Shortfall("params", params.get(name), value, label, param=name)
