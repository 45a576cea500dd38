"""Leading methods of studies whose methods are not equally private, or not private."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from admmbench.inference.intervals import ROUNDING
from admmbench.report.answer import make_board, summarize_setting
from admmbench.report.data import Lead, LeadPrivacy, PrivacyKind, SettingSummary
from admmbench.results import statistics
from admmbench.results.who_wins import FEASIBLE, compared_settings, lead

if TYPE_CHECKING:
    from admmbench.figures.look import Look
    from admmbench.study.experiment import Experiment


def compare(experiments: Iterable[xr.Dataset]) -> list[tuple[xr.Dataset, xr.Dataset]]:
    """Return the experiments whose budgets the answer at equal privacy leaves out, each with its comparison."""
    pairs = (
        (results, lead(results)) for results in experiments if not statistics.of_whole_runs(results)
    )
    return [(results, comparison) for results, comparison in pairs if comparison is not None]


def boards(
    compared: Sequence[tuple[xr.Dataset, xr.Dataset]], looks: Mapping[str, Mapping[str, Look]]
) -> dict[str, dict[str, Any]]:
    """Return the leaderboard of each experiment by its name, see `admmbench.report.answer.make_board`."""
    return {
        results.attrs["experiment"]: make_board(comparison, looks, f"l{number}-")
        for number, (results, comparison) in enumerate(compared)
    }


def content(
    pairs: Iterable[tuple[xr.Dataset, xr.Dataset]], definitions: Mapping[str, Experiment]
) -> Iterator[Lead]:
    """Yield a row for each setting of experiments with their comparisons, see :func:`compare`."""
    for results, comparison in pairs:
        definition = definitions.get(results.attrs["experiment"])
        private = statistics.equally_private(results)
        constrained = statistics.is_constrained(results)
        several = len(np.unique(results["features"])) > 1
        for setting in compared_settings(comparison):
            leading = summarize_setting(setting, "", definition)
            labels = setting["algorithm"].values[setting["compared"].values]
            compared = results.sel(algorithm=labels)
            yield Lead(
                leading,
                results.attrs["title"],
                _reason_against_lead(leading, int(setting["runs"].max())),
                int(compared["agents"].max()) if constrained else None,
                int(compared["features"].max()) if several else None,
                _privacy(compared, private, leading.epsilon),
                FEASIBLE if constrained else None,
                _failed_runs(setting),
            )


def _reason_against_lead(leading: SettingSummary, runs: int) -> str:
    """Return why the lowest value is no lead; empty if it is a lead, or inconclusive."""
    if not leading.lowest:
        return ""
    if leading.difference is None:
        return "alone"
    if runs == 1:
        return "one_seed"
    difference, low, high, _ = leading.difference
    is_tie = difference > 0 and high - low <= ROUNDING * difference
    return "same" if is_tie else ""


def _privacy(compared: xr.Dataset, private: xr.DataArray, epsilon: float) -> LeadPrivacy:
    """Return the privacy of a whole run of the methods in a setting, and whether it is equal, see `equally_private`."""
    if math.isinf(epsilon):
        return LeadPrivacy("not_private")
    facts = compared.reset_coords().sel(epsilon=[epsilon])
    composed, totals = (statistics.final(facts, f"epsilon_{x}") for x in ("composed", "total"))
    totals = totals.where(facts["guarantee"] != "none", composed)
    labels, without = compared["algorithm"].values, int((compared["guarantee"] == "none").sum())
    ends = float(totals.min()), float(totals.max())
    equal = private.sel(epsilon=epsilon, algorithm=labels, rival=labels).all()
    kind: PrivacyKind = "equal" if equal else "none" if without == len(labels) else "unequal"
    return LeadPrivacy(kind, *ends, len(np.unique(compared["delta"])), without, len(labels))


def _failed_runs(setting: xr.Dataset) -> dict[str, tuple[int, int]]:
    """Return the methods with failed or diverged runs, and their numbers: means of the others would be too good."""
    counts = setting[["failed", "runs"]].isel(
        algorithm=(setting["compared"] & (setting["failed"] > 0)).values
    )
    columns = (counts[name].values.tolist() for name in ("algorithm", "failed", "runs"))
    return {label: (failed, runs) for label, failed, runs in zip(*columns, strict=True)}
