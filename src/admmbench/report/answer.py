"""The report's first section: who wins at equal privacy, in the words and numbers that the page shows."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import xarray as xr

from admmbench.results import statistics

_NONE = "–"

MOST_NAMED = 3
"""Number of methods that a cell of a table names before it says how many more there are."""


def content(comparison: xr.Dataset, ranks: xr.Dataset | None) -> dict[str, Any]:
    """Everything the template shows.

    Parameters
    ----------
    comparison
        What `admmbench.results.who_wins.compare` found.
    ranks
        What `admmbench.results.who_wins.ranks` found of it.

    Returns
    -------
    dict
        ``facts`` by name; ``short``, the answer in a sentence or two; ``parts``, what is left out of data; ``rows`` of
        the first table, one for each cell; ``matrix`` of all methods and cells; ``ranks``, a sentence about them, and
        ``described``, the diagram in words; ``notes``.
    """
    places = _places(comparison)
    return {
        "facts": _facts(comparison, places),
        "short": _short(comparison, places),
        "parts": incomplete(zip(places, comparison["dataset_note"].values, strict=True)),
        "rows": [row(cell, place) for cell, place in zip(cells(comparison), places, strict=True)],
        "matrix": _matrix(comparison, ranks, places),
        "ranks": _about_ranks(ranks),
        "described": _described(ranks),
        "notes": _notes(comparison, ranks, places),
    }


def cells(comparison: xr.Dataset) -> Iterator[xr.Dataset]:
    """Cells of a comparison, one after another."""
    return (comparison.isel(cell=number) for number in range(comparison.sizes["cell"]))


def _places(comparison: xr.Dataset) -> list[str]:
    """Name of the data of each cell: the data set, or the experiment where several have one data set."""
    pairs = list(zip(comparison["experiment"].values, comparison["dataset"].values, strict=True))
    several = len({experiment for experiment, _ in pairs}) > len({data for _, data in pairs})
    return [str(experiment if several else data) for experiment, data in pairs]


def _facts(comparison: xr.Dataset, places: list[str]) -> dict[str, str]:
    """Facts that hold for all rows, or for the rows of some data."""

    def each(write: Callable[[xr.Dataset], str]) -> str:
        found: dict[str, dict[str, None]] = {}
        for cell, place in zip(cells(comparison), places, strict=True):
            found.setdefault(write(cell), {})[place] = None
        if len(found) == 1:
            return next(iter(found))
        return "; ".join(f"{text} ({', '.join(where)})" for text, where in found.items())

    level = f"{100 * comparison.attrs['level']:g} %"
    pairs = int(comparison.attrs["comparisons"])
    return {
        "Budgets": f"ε of the whole run, at δ = {each(lambda cell: short(float(cell['delta'])))}",
        "Neighbours": each(lambda cell: str(cell["neighbours"].item())),
        "Errors": f"{each(_measure)}: mean over {each(_seeds)} seeds [{level} interval of this mean]",
        "Differences": f"runner-up minus lowest{each(_points)}, paired by seed. "
        + (
            f"The {level} intervals hold together for all {pairs:,} pairs of methods of all rows, "
            "because results decide which pairs are shown (Bonferroni)"
            if pairs > 1
            else f"The {level} interval is that of the only pair of methods"
        ),
    }


def _short(comparison: xr.Dataset, places: list[str]) -> str:
    """Who wins where, or that nobody does, and who is never beaten."""
    won: dict[str, dict[str, list[str]]] = {}
    decided = 0
    for cell, place in zip(cells(comparison), places, strict=True):
        if int(cell["tied"].sum()) == 1:
            where = won.setdefault(str(cell["winner"].item()), {})
            where.setdefault(place, []).append(short(float(cell["epsilon"])))
            decided += 1
    number = comparison.sizes["cell"]
    sentences = [
        f"{label} wins on "
        + " and ".join(f"{place} at ε = {', '.join(budgets)}" for place, budgets in where.items())
        + "."
        for label, where in won.items()
    ]
    if not won:
        anywhere = f" in any of {number} rows" if number > 1 else ""
        sentences.append(f"Nobody is shown to win{anywhere}.")
    elif decided < number:
        sentences.append(f"In the other rows of {number} nobody is shown to win.")
    everywhere = comparison["algorithm"].values[comparison["tied"].all("cell").values]
    if number > 1 and len(everywhere) and not (len(won) == 1 and len(everywhere) == 1):
        sentences.append(f"Lowest or tied with the lowest in every row: {listed(everywhere)}.")
    return " ".join(sentences)


def incomplete(notes: Iterable[tuple[str, str]]) -> list[str]:
    """What is left out of data, each note once, from names and notes; empty ones say nothing."""
    named: dict[str, dict[str, None]] = {}
    for name, note in notes:
        if note:
            named.setdefault(note, {})[name] = None
    return [f"{listed(names)}: {note}" for note, names in named.items()]


def _measure(cell: xr.Dataset) -> str:
    unit = "%" if cell["fraction"] else str(cell["units"].item())
    words = {"%": " in percent", "1": ""}.get(unit, f" in {unit}")
    return f"final {cell['long_name'].item()}{words}"


def _points(cell: xr.Dataset) -> str:
    return " in percentage points" if cell["fraction"] else ""


def _seeds(cell: xr.Dataset) -> str:
    runs = cell["runs"].where(cell["compared"], drop=True).values.astype(int)
    return " to ".join(str(number) for number in sorted({runs.min(), runs.max()}))


def row(cell: xr.Dataset, place: str) -> dict[str, Any]:
    """One row of the first table."""
    winner, runner_up = str(cell["winner"].item()), str(cell["runner_up"].item())
    order, tied = _ascending(cell), _ascending(cell.where(cell["tied"]))
    # A method between them may not be tied, as its values vary less.
    behind = order.index(tied[-1]) + 1 - len(tied) if tied else 0
    own = cell.sel(algorithm=winner) if winner else None
    second = cell.sel(algorithm=runner_up) if runner_up else None
    difference = ("difference", "difference_lower", "difference_upper")
    return {
        **_name(cell, place),
        "winner": winner if len(tied) == 1 else "",
        "tied": tied if len(tied) > 1 else [],
        "named": tied[:MOST_NAMED],
        "between": f"{behind} with lower means {'is' if behind == 1 else 'are'} behind"
        if behind
        else "",
        "error": _NONE if own is None else interval(own, "mean", "lower", "upper"),
        "runner_up": runner_up,
        "error_behind": _NONE if second is None else number(second, "mean"),
        "difference": _NONE if second is None else interval(second.sel(rival=winner), *difference),
        "floor_method": str(cell["floor_method"].item()),
        "floor": number(cell, "floor"),
    }


def _name(cell: xr.Dataset, place: str) -> dict[str, str]:
    return {
        "place": place,
        "experiment": str(cell["experiment"].item()),
        "note": str(cell["dataset_note"].item()),
        "epsilon": short(float(cell["epsilon"])),
    }


def listed(labels: Iterable[str], most: int | None = None) -> str:
    """Labels in a sentence, apart even where they hold commas; some of them, and how many more there are."""
    labels = [str(label) for label in labels]
    more = len(labels) - most if most else 0
    return "; ".join(labels[:most]) + (f" and {more} more" if more > 0 else "")


def _ascending(cell: xr.Dataset) -> list[str]:
    """Labels of methods by their mean, those without a mean left out."""
    means = cell["mean"].dropna("algorithm")
    return [str(label) for label in means.sortby(means)["algorithm"].values]


def _matrix(comparison: xr.Dataset, ranks: xr.Dataset | None, places: list[str]) -> dict[str, Any]:
    """All methods in all cells, by mean rank where they have one."""
    compared = [str(a) for a in comparison["algorithm"].values[comparison["compared"].any("cell")]]
    order = [] if ranks is None else [str(label) for label in ranks["algorithm"].values]
    order += [label for label in compared if label not in order]
    columns = list(cells(comparison))
    heads = [_name(cell, place) for cell, place in zip(columns, places, strict=True)]
    spans = itertools.groupby(heads, key=lambda head: head["experiment"])
    return {
        "spans": [{**group[0], "size": len(group)} for _, own in spans for group in [list(own)]],
        "epsilons": [head["epsilon"] for head in heads],
        "ranked": ranks is not None,
        "rows": [
            {
                "label": label,
                "rank": _rank(ranks, label),
                "cells": [_of_method(cell.sel(algorithm=label)) for cell in columns],
            }
            for label in order
        ],
        "floors": [number(cell, "floor") for cell in columns],
    }


def _rank(ranks: xr.Dataset | None, label: str) -> str:
    if ranks is None or label not in ranks["algorithm"].values:
        return _NONE
    return f"{float(ranks['mean_rank'].sel(algorithm=label)):.2f}"


def _of_method(cell: xr.Dataset) -> dict[str, Any]:
    lost = bool(cell["compared"]) and int(cell["lost"])
    return {
        "error": number(cell, "mean"),
        "tied": bool(cell["tied"]),
        "lost": f"{lost} of {int(cell['runs'])} lost" if lost else "",
    }


def _about_ranks(ranks: xr.Dataset | None) -> str:
    if ranks is None:
        return ""
    statistic, p_value = float(ranks["statistic"]), float(ranks["p_value"])
    test = ""
    if math.isfinite(statistic):
        p = "p < 0.001" if p_value < 0.001 else f"p = {p_value:.2g}"
        test = f" Friedman's test that all methods are alike gives χ² = {statistic:.1f}, {p}."
    return (
        f"Ranks of {ranks.sizes['algorithm']} methods, 1 for the lowest error: means over {ranks.sizes['cell']} rows."
        f"{test} Methods under one bar are not told apart: their mean ranks differ by less than the critical "
        f"difference (Nemenyi, {100 * ranks.attrs['level']:g} %). Both tests assume that rows are independent. Rows of "
        "one data set at several budgets are not, so that the critical difference is too small: the diagram describes "
        "these rows, and says nothing about other data sets."
    )


def _described(ranks: xr.Dataset | None) -> str:
    if ranks is None:
        return ""
    labels = ranks["algorithm"].values
    names = listed(f"{label} {_rank(ranks, label)}" for label in labels)
    difference = float(ranks["critical_difference"])
    return f"Mean ranks: {names}; critical difference {difference:.2f}."


def _notes(comparison: xr.Dataset, ranks: xr.Dataset | None, places: list[str]) -> list[str]:
    """What a reader should know: who is not in the tables, whose guarantee has a condition, what lost runs mean."""
    rows = np.array(places)

    def where(chosen: xr.DataArray) -> list[str]:
        found = []
        for label in chosen["algorithm"].values:
            own = chosen.sel(algorithm=label).values
            if own.any():
                found.append(f"{label} ({', '.join(dict.fromkeys(rows[own]))})")
        return found

    notes = []
    if left_out := where(comparison["excluded"]):
        notes.append(
            "Not compared at budgets at which they ran, because they have no guarantee, or one with another total, δ "
            f"or neighbours: {listed(left_out)}."
        )
    if conditional := where(comparison["guarantee"] == "conditional"):
        notes.append(f"The guarantee of {listed(conditional)} is conditional and not proved.")
    if ranks is not None:
        compared = comparison["compared"].any("cell")
        unranked = [
            str(label)
            for label in comparison["algorithm"].values[compared.values]
            if label not in ranks["algorithm"].values
        ]
        if unranked:
            notes.append(
                f"Without a mean rank, because they are not in all rows: {listed(unranked)}."
            )
    if (comparison["lost"].where(comparison["compared"], 0) > 0).any():
        notes.append(
            "A method that lost a run (it diverged or timed out) neither wins nor ties, and has the last rank."
        )
    return notes


def interval(values: xr.Dataset, centre: str, lower: str, upper: str) -> str:
    """A number of a cell with its interval, if it has one, or that all seeds have the same value."""
    text = number(values, centre)
    ends = float(values[lower]), float(values[upper])
    if math.isnan(ends[0]):
        return text
    if math.isclose(*ends, rel_tol=statistics.ROUNDING):
        return f"{text}, the same for all seeds"
    return f"{text} [{number(values, lower)} to {number(values, upper)}]"


def number(values: xr.Dataset, name: str) -> str:
    """A number of a cell: fractions in percent with two decimals, others with four digits, a dash for none."""
    value = float(values[name])
    if math.isnan(value):
        return _NONE
    text = f"{100 * value:.2f}" if values["fraction"] else f"{value:.4g}"
    return text.replace("-", "−")


def short(value: float) -> str:
    """A budget or delta with few digits."""
    return f"{value:g}".replace("e-0", "e\N{MINUS SIGN}")  # a hyphen may end a line
