"""Who leads in studies whose methods are not equally private, or not private."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from admmbench.inference.intervals import ROUNDING
from admmbench.report.answer import row, settings
from admmbench.report.data import Lead, LeadPrivacy, PrivacyKind, Row
from admmbench.results import statistics
from admmbench.results.who_wins import FEASIBLE, lead

if TYPE_CHECKING:
    from admmbench.study.experiment import Experiment


def content(experiments: Iterable[xr.Dataset], definitions: Mapping[str, Experiment]) -> list[Lead]:
    """Make the rows of the table: one for each experiment and budget of which the answer at equal privacy has none.

    Parameters
    ----------
    experiments
        Results, each as its ``results.nc`` holds them.
    definitions
        Definitions of experiments, by name, as far as they are known.
    """
    without_totals = (each for each in experiments if not statistics.of_whole_runs(each))
    return [
        found
        for results in without_totals
        for found in _rows(results, definitions.get(results.attrs["experiment"]))
    ]


def _rows(results: xr.Dataset, experiment: Experiment | None) -> Iterator[Lead]:
    comparison = lead(results)
    if comparison is None:
        return
    private = statistics.equally_private(results)
    constrained = statistics.is_constrained(results)
    several = len(np.unique(results["features"])) > 1
    for setting in settings(comparison):
        known = row(setting, "", experiment)
        own = results.sel(algorithm=setting["algorithm"].values[setting["compared"].values])
        yield Lead(
            known,
            results.attrs["title"],
            _only(known, int(setting["runs"].max())),
            int(own["agents"].max()) if constrained else None,
            int(own["features"].max()) if several else None,
            _privacy(own, private, known.epsilon),
            FEASIBLE if constrained else None,
            _lost(setting),
        )


def _only(known: Row, runs: int) -> str:
    """Why the lowest value is no lead; empty if it is one, or a tie."""
    if not known.lowest:
        return ""
    if known.difference is None:
        return "alone"
    if runs == 1:
        return "one_seed"
    behind, low, high, _ = known.difference
    same = behind > 0 and high - low <= ROUNDING * behind
    return "same" if same else ""


def _privacy(own: xr.Dataset, private: xr.DataArray, epsilon: float) -> LeadPrivacy:
    """What the methods of a row promise of a whole run, and whether it is the same, see `equally_private`."""
    if math.isinf(epsilon):
        return LeadPrivacy("not_private")
    facts = own.reset_coords().sel(epsilon=[epsilon])
    composed, totals = (statistics.final(facts, f"epsilon_{x}") for x in ("composed", "total"))
    totals = totals.where(facts["guarantee"] != "none", composed)
    labels, without = own["algorithm"].values, int((own["guarantee"] == "none").sum())
    ends = float(totals.min()), float(totals.max())
    equal = private.sel(epsilon=epsilon, algorithm=labels, rival=labels).all()
    kind: PrivacyKind = "equal" if equal else "none" if without == len(labels) else "unequal"
    return LeadPrivacy(kind, *ends, len(np.unique(own["delta"])), without, len(labels))


def _lost(setting: xr.Dataset) -> dict[str, tuple[int, int]]:
    """Methods that lost runs: a mean over their other runs would be too good."""
    counts = setting[["lost", "runs"]].isel(
        algorithm=(setting["compared"] & (setting["lost"] > 0)).values
    )
    columns = (counts[name].values.tolist() for name in ("algorithm", "lost", "runs"))
    return {label: (lost, runs) for label, lost, runs in zip(*columns, strict=True)}
