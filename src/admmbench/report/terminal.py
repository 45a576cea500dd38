"""Results of an experiment as tables for a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import xarray as xr
from rich.markup import escape
from rich.table import Table

from admmbench.report import standings, tables
from admmbench.report.answer import MOST_NAMED, listed
from admmbench.results import statistics, wording


def lines(results: xr.Dataset) -> Iterator[str | Table]:
    """What was run, how it ended, who leads, and what it spent.

    Parameters
    ----------
    results
        As a ``results.nc`` holds them.

    Yields
    ------
    str or rich.table.Table
        Sentences and tables, in their order.
    """
    yield f"[bold]{escape(results.attrs['title'])}[/]"
    yield from (f"{name}: {escape(text)}" for name, text in tables.setting(results).items())
    if statistics.is_constrained(results):
        yield _solutions(results)
    else:
        for title, how in tables.error_tables(results).items():
            yield _errors(results, title, how)
    if statistics.of_whole_runs(results):
        yield "Budgets are totals of whole runs: the report says who wins at equal privacy."
    for row in standings.content([results]):
        yield _lead(row)
    if spent := tables.privacy(results):
        yield _privacy(results, spent)
    yield from map(escape, tables.about_totals(results))


def _errors(results: xr.Dataset, title: str, how: statistics.Reduction) -> Table:
    shown = Table(title=f"{title}: mean {tables.spread(results)}")
    shown.add_column("method")
    for epsilon in map(float, results["epsilon"].values):
        shown.add_column(wording.budget(epsilon), justify="right")
    for row in tables.errors(results, how):
        cells = []
        for cell in row["cells"]:
            mean = f"[bold]{cell['mean']}[/]" if cell["best"] else cell["mean"]
            parts = mean, escape(cell["band"]), cell["same"], cell["lost"]
            cells.append(" ".join(filter(None, parts)))
        shown.add_row(escape(row["label"]), *cells)
    return shown


def _solutions(results: xr.Dataset) -> Table:
    found = tables.solutions(results)
    shown = Table(title="Solutions: means over seeds")
    for name in ("method", "runs", *found["heads"]):
        shown.add_column(name, justify="left" if name in ("method", "runs") else "right")
    for row in found["rows"]:
        shown.add_row(escape(row["label"]), row["ended"], *(cell["text"] for cell in row["cells"]))
    return shown


def _lead(row: dict[str, Any]) -> str:
    """A row of the standings, as a sentence."""
    where = ", ".join(filter(None, (row["budget"] or "Without a budget", row["which"])))
    if row["only"]:
        ahead = f"{row['only']}: {escape(row['lowest'])} with {escape(row['error'])}"
    elif row["winner"]:
        ahead = f"[bold]{escape(row['winner'])}[/] leads with {escape(row['error'])}"
    elif row["tied"]:
        named = escape(listed(row["tied"], MOST_NAMED))
        ahead = f"tie of {named}, the lowest {escape(row['error'])}"
    else:
        return f"{where}: all methods lost runs."
    behind = ""
    if row["runner_up"]:
        behind = f"; {escape(row['runner_up'])} is {escape(row['difference'])} behind"
    lost = f"; {escape(row['lost'])}" if row["lost"] else ""
    return f"{where}: {ahead}{behind}. Privacy, composed ε: {escape(row['privacy'])}{lost}."


def _privacy(results: xr.Dataset, spent: list[dict[str, Any]]) -> Table:
    totals = ["ε times rounds", *(each.column for each in tables.accountants(results))]
    shown = Table(title="Privacy after the last round")
    for name in ("method", tables.budget(results), "δ", *totals, "ε guaranteed", "guarantee"):
        shown.add_column(name, justify="left" if name in ("method", "guarantee") else "right")
    for row in spent:
        cells = row["epsilon"], row["delta"], *row["totals"], row["guarantee"]
        shown.add_row(escape(row["label"]), *cells)
    return shown
