"""Who leads in studies whose methods are not equally private, or not private: in the words that the report shows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from admmbench.inference.intervals import ROUNDING
from admmbench.report.answer import MOST_NAMED, cells, measure, row
from admmbench.results import statistics
from admmbench.results.who_wins import FEASIBLE, lead
from admmbench.results.wording import counted, given, listed, number

if TYPE_CHECKING:
    from admmbench.study.experiment import Experiment


def content(
    experiments: Iterable[xr.Dataset], definitions: Mapping[str, Experiment]
) -> list[dict[str, Any]]:
    """Make the rows of the table: one for each experiment and budget of which the answer at equal privacy has none.

    Parameters
    ----------
    experiments
        Results, each as its ``results.nc`` holds them.
    definitions
        Definitions of experiments, by name, as far as they are known.

    Returns
    -------
    list of dict
        What `admmbench.report.answer.row` gives, and ``title``, ``budget``, ``which`` (agents or features),
        ``measure``, ``privacy`` and ``lost``, as text. Where no interval says who leads, ``only`` has the reason.
    """
    without_totals = (each for each in experiments if not statistics.of_whole_runs(each))
    return [
        found
        for results in without_totals
        for found in _rows(results, definitions.get(results.attrs["experiment"]))
    ]


def _rows(results: xr.Dataset, experiment: Experiment | None) -> Iterator[dict[str, Any]]:
    comparison = lead(results)
    if comparison is None:
        return
    private = statistics.equally_private(results)
    for cell in cells(comparison):
        epsilon = float(cell["epsilon"])
        known = row(cell, "", experiment)
        lowest = str(cell["lowest"].item())
        own = results.sel(algorithm=cell["algorithm"].values[cell["compared"].values])
        yield {
            **known,
            "only": _only(cell, known["left"]) if lowest else "",
            "title": results.attrs["title"],
            "budget": "" if math.isinf(epsilon) else f"ε = {given(epsilon)}",
            "which": _which(results, own),
            "measure": measure(cell),
            "privacy": _privacy(own, private, epsilon),
            "lost": _lost(results, cell),
        }


def _only(cell: xr.Dataset, left: str) -> str:
    """Why the lowest value is no lead; empty if it is one, or a tie."""
    runner_up = str(cell["runner_up"].item())
    if not runner_up:
        return left
    if int(cell["runs"].max()) == 1:
        return "lowest of one seed"
    gap = cell.sel(algorithm=runner_up, rival=str(cell["lowest"].item()))
    behind, low, high = (float(gap[f"difference{end}"]) for end in ("", "_lower", "_upper"))
    same = behind > 0 and high - low <= ROUNDING * behind
    return "lowest, the same for all seeds" if same else ""


def _privacy(own: xr.Dataset, private: xr.DataArray, epsilon: float) -> str:
    """What the methods of a row promise of a whole run, and whether it is the same, see `equally_private`."""
    if math.isinf(epsilon):
        return "none, and no noise"
    facts = own.reset_coords().sel(epsilon=[epsilon])
    composed, totals = (statistics.final(facts, f"epsilon_{x}") for x in ("composed", "total"))
    totals = totals.where(facts["guarantee"] != "none", composed)
    ends = [number(float(end), ".3g") for end in (totals.min(), totals.max())]
    total = " to ".join(dict.fromkeys(ends))
    labels, without = own["algorithm"].values, int((own["guarantee"] == "none").sum())
    if private.sel(epsilon=epsilon, algorithm=labels, rival=labels).all():
        return f"equal: {total}"
    if without == len(labels):
        return f"no guarantee: {total}"
    deltas = len(np.unique(own["delta"])) > 1
    some = f"; {without} of {len(labels)} without a guarantee" if without else ""
    return f"unequal: {total}{' at several δ' if deltas else ''}{some}"


def _which(results: xr.Dataset, own: xr.Dataset) -> str:
    """How many agents or features the methods of a row have, where those with other numbers are in other rows."""
    found = []
    if statistics.is_constrained(results):
        n = int(own["agents"].max())
        found.append(counted(n, "agent"))
    if len(np.unique(results["features"])) > 1:
        found.append(f"{int(own['features'].max()):,} features")
    return ", ".join(found)


def _lost(results: xr.Dataset, cell: xr.Dataset) -> str:
    """Methods that lost runs: a mean over their other runs would be too good."""
    labels = cell["algorithm"].values[(cell["compared"] & (cell["lost"] > 0)).values]
    counts = cell[["lost", "runs"]].sel(algorithm=labels)
    found = [
        f"{label} ({int(lost)} of {int(runs)})"
        for label, lost, runs in zip(labels, counts["lost"], counts["runs"], strict=True)
    ]
    what = f"violation above {FEASIBLE:g}" if statistics.is_constrained(results) else "lost runs"
    return f"{what}: {listed(found, MOST_NAMED)}" if found else ""
