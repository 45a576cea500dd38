"""Who leads in studies whose methods are not equally private, or not private: in the words that the report shows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from admmbench.report.answer import MOST_NAMED, cells, listed, row, short
from admmbench.results import statistics
from admmbench.results.who_wins import FEASIBLE, lead


def content(experiments: Iterable[xr.Dataset]) -> list[dict[str, Any]]:
    """Rows of the table: one for each experiment and budget that the answer at equal privacy has no row for.

    Parameters
    ----------
    experiments
        Results, each as its ``results.nc`` holds them.

    Returns
    -------
    list of dict
        What `admmbench.report.answer.row` gives, and ``title``, ``budget``, ``which`` (agents or features),
        ``measure``, ``privacy`` and ``lost``, as text. Where no interval says who leads, ``only`` has the reason, and
        ``lowest`` the method with the lowest value.
    """
    without_totals = (each for each in experiments if not statistics.of_whole_runs(each))
    return [found for results in without_totals for found in _rows(results)]


def without_row(experiments: Iterable[xr.Dataset], rows: Iterable[Mapping[str, Any]]) -> str:
    """Say at which budgets of these studies there is nothing to compare; empty if the table has a row for all.

    Parameters
    ----------
    experiments, rows
        What :func:`content` took and gave.
    """
    shown = {(row["experiment"], row["epsilon"]) for row in rows}
    missing, noisy = [], []
    for results in experiments:
        if statistics.of_whole_runs(results):
            continue
        ran = (results["status"] >= 0).any(["algorithm", "seed"])
        budgets = map(float, results["epsilon"].values[ran.values])
        open_ = [e for e in budgets if (results.attrs["experiment"], short(e)) not in shown]
        named = ", ".join("no budget" if math.isinf(e) else f"ε = {short(e)}" for e in open_)
        if open_:
            whole = named == "no budget" and results.sizes["epsilon"] == 1
            missing.append(results.attrs["title"] + ("" if whole else f" ({named})"))
        if math.inf in results["epsilon"].values:
            free = statistics.noisy(results).sel(epsilon=math.inf)
            labels = results["algorithm"].values[free.values]
            if len(labels):
                noisy.append(f"{results.attrs['title']} ({listed(labels)})")
    sentences = []
    if missing:
        sentences.append(f"Without a row, as no two methods compete there: {listed(missing)}.")
    if noisy:
        sentences.append(f"Left out, as they add noise without a budget: {listed(noisy)}.")
    return " ".join(sentences)


def _rows(results: xr.Dataset) -> Iterator[dict[str, Any]]:
    comparison = lead(results)
    if comparison is None:
        return
    private = statistics.equally_private(results)
    for cell in cells(comparison):
        epsilon = float(cell["epsilon"])
        known = row(cell, "")
        lowest = str(cell["winner"].item())
        yield {
            **known,
            "only": _only(cell, known["runner_up"]) if lowest else "",
            "lowest": lowest,
            "title": results.attrs["title"],
            "budget": "" if math.isinf(epsilon) else f"ε = {short(epsilon)}",
            "which": _which(results, cell),
            "measure": _measure(cell),
            "privacy": _privacy(results, private, cell),
            "lost": _lost(results, cell),
        }


def _only(cell: xr.Dataset, runner_up: str) -> str:
    """Why the lowest value is no lead; empty if it is one, or a tie."""
    if not runner_up:
        return "the only one left"
    if int(cell["runs"].max()) == 1:
        return "lowest of one seed"
    gap = cell.sel(algorithm=runner_up, rival=str(cell["winner"].item()))
    behind, low, high = (float(gap[f"difference{end}"]) for end in ("", "_lower", "_upper"))
    same = behind > 0 and high - low <= statistics.ROUNDING * behind
    return "lowest, the same for all seeds" if same else ""


def _measure(cell: xr.Dataset) -> str:
    unit = "%" if cell["fraction"] else str(cell["units"].item())
    return f"final {cell['long_name'].item()}" + ("" if unit == "1" else f", {unit}")


def _privacy(results: xr.Dataset, private: xr.DataArray, cell: xr.Dataset) -> str:
    """What the methods of a row promise of a whole run, and whether it is the same, see `equally_private`."""
    epsilon = float(cell["epsilon"])
    if math.isinf(epsilon):
        return "none, and no noise"
    labels = cell["algorithm"].values[cell["compared"].values]
    own = results.reset_coords().sel(epsilon=epsilon, algorithm=labels)
    composed = _range(_last(own, "epsilon_composed"))
    deltas = sorted(map(float, set(own["delta"].values)))
    if len(deltas) > 1:
        composed += f" at δ from {short(deltas[0])} to {short(deltas[-1])}"
    if private.sel(epsilon=epsilon, algorithm=labels, rival=labels).all():
        return f"equal{' within 2 %' if ' to ' in composed else ''}: {composed}"
    without = labels[own["guarantee"].values == "none"]
    if len(without) == len(labels):
        return f"no guarantee: {composed}"
    worth = f"unequal: {composed}"
    return (
        f"{worth}; {len(without)} of {len(labels)} without a guarantee" if len(without) else worth
    )


def _last(own: xr.Dataset, name: str) -> NDArray[np.float64]:
    """Finite values after the last round, the largest of all seeds."""
    values = statistics.final(own, name)
    if "seed" in values.dims:
        values = values.max("seed")
    return np.asarray(values.values[np.isfinite(values.values)])


def _range(values: NDArray[np.float64]) -> str:
    if not values.size:
        return "unknown"
    ends = [f"{end:,.0f}" if end >= 1000 else f"{end:.3g}" for end in (values.min(), values.max())]
    return " to ".join(dict.fromkeys(ends))


def _which(results: xr.Dataset, cell: xr.Dataset) -> str:
    """How many agents or features the methods of a row have, where those with other numbers are in other rows."""
    own = results.sel(algorithm=cell["algorithm"].values[cell["compared"].values])
    found = []
    if statistics.is_constrained(results):
        n = int(own["agents"].max())
        found.append("1 agent" if n == 1 else f"{n} agents")
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
