"""Results of an experiment as tables for a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import rich.table
import xarray as xr
from rich.markup import escape

from admmbench.base.outcomes import FAILED
from admmbench.report import leaders, tables
from admmbench.report.data import Cell, Table
from admmbench.report.environment import words
from admmbench.results import reference, statistics


def lines(results: xr.Dataset) -> Iterator[str | rich.table.Table]:
    """Yield the conditions of an experiment, its errors or solutions, the leading methods, and the privacy loss."""
    yield f"[bold]{escape(results.attrs['title'])}[/]"
    if outdated := reference.outdated(results):
        yield escape(words().outdated(outdated))
    yield from escape(words().conditions(tables.conditions(results))).splitlines()
    if solutions := tables.solutions(results):
        yield as_rich("Solutions: means over seeds", solutions)
    else:
        spread = words().spread(tables.spread(results))
        for title, reduction in tables.error_tables(results).items():
            yield as_rich(f"{title}: mean {spread}", tables.errors(results, reduction))
    if statistics.of_whole_runs(results):
        yield "Budgets are totals of whole runs: the report says who wins at equal privacy."
    yield from (
        escape(words().lead(lead)) for lead in leaders.content(leaders.compare([results]), {})
    )
    if spent := tables.privacy(results):
        yield as_rich("Privacy after the last round", spent)
    yield from (escape(words().protects(protected)) for protected in tables.protected(results))


def facts(results: xr.Dataset) -> dict[str, Any]:
    """Return the attributes of the results, and the final metric and totals of each method at each budget."""
    started = (results["status"] >= 0).any("seed")
    rows = statistics.band(statistics.final(results, results.attrs["metric"]))
    rows["failed"] = results["status"].isin(FAILED).sum("seed")
    for name in ("epsilon_total", "epsilon_composed"):
        rows[name] = statistics.final(results, name)
    for name in {"mu", "regret"} & {*results}:
        rows[name] = results[name]
    rows = rows.reset_coords(drop=True).assign(started=started)
    frame = rows.to_dataframe().reset_index()
    frame = frame[frame.pop("started")]
    return {**results.attrs, "methods": frame.to_dict("records")}


def as_rich(title: str, table: Table) -> rich.table.Table:
    """Return a table of the report for a terminal."""
    rich_table = rich.table.Table(title=escape(title))
    for head in table.heads:
        rich_table.add_column(
            escape(head),
            justify="right" if head in table.numbers else "left",
            overflow="fold",  # a narrow terminal breaks words, and drops none of their letters
        )
    for row in table.rows:
        rich_table.add_row(*map(_marked, row))
    return rich_table


def _marked(cell: str | Cell) -> str:
    """Return the text of a cell, with the winner in bold."""
    if isinstance(cell, str):
        return escape(cell)
    text = escape(cell.text)
    if cell.verdict in ("winner", "better"):
        text = f"[bold]{text}[/]"
    return " ".join(filter(None, (text, cell.note, cell.failed)))
