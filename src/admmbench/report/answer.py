"""The report's first section: who wins at equal privacy, in the words and numbers that the page shows."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from admmbench.inference.intervals import LEVEL, ROUNDING
from admmbench.inference.levels import TOGETHER
from admmbench.report import picture
from admmbench.report.environment import TEXT
from admmbench.results import reference
from admmbench.results.who_wins import marks, mean_ranks, names
from admmbench.results.wording import (
    about,
    best_constant,
    confidence,
    counted,
    given,
    in_unit,
    listed,
    measured,
    proper,
    some,
    together,
)

if TYPE_CHECKING:
    from admmbench.figures import Figure
    from admmbench.figures.look import Look
    from admmbench.study.experiment import Experiment

_AHEAD = {"better": "better than the best and leads"}
_BEHIND_THE_BEST = {
    "equivalent": "equivalent to the best",
    "undecided": "undecided",
    "worse": "behind",
    "not compared": "not compared",
}
"""How a method that was added later is beside the best of a row, of those that it was stated with."""

MOST_NAMED = 3
"""Number of methods that a cell of a table names before it says how many more there are."""
CURVES = "answer_curves"
"""Name of a figure that the page adds to an experiment."""
_LEFT = "the only one left"
# As the head of the page names.
_MOST_EVERYWHERE = 12


def content(
    comparison: xr.Dataset,
    experiments: Mapping[str, Experiment],
    looks: Mapping[str, Mapping[str, Look]] | None = None,
) -> dict[str, Any]:
    """Gather everything that the template shows.

    Parameters
    ----------
    comparison
        What `admmbench.results.who_wins.compare` found.
    experiments
        Definitions of its experiments, by name, as far as they are known.
    looks
        How figures of each experiment draw its methods, see `admmbench.figures.look.of_study`; without, no pictures.

    Returns
    -------
    dict
        ``facts`` by name; ``short``, the answer in a sentence or two; ``added``, how methods that joined later and do
        not lead are beside it; ``marks`` of the pictures, with what they mean; ``parts``, what is left out of data;
        ``groups``, one for each experiment, with its ``pictures``, the figure of its ``curves``, ``rows`` and
        ``beside``, all methods beside the control; ``mixed``, whether their units differ; ``matrix`` of all methods
        and cells; ``notes``.
    """
    places = _places(comparison)
    rows = [
        row(cell, place, experiments.get(str(cell["experiment"].item())))
        for cell, place in zip(cells(comparison), places, strict=True)
    ]
    return {
        "facts": _facts(comparison, places),
        "short": _short(comparison, rows),
        "added": " ".join(_of_added(rows, _BEHIND_THE_BEST)),
        "marks": picture.key(comparison),
        "parts": incomplete(zip(places, comparison["dataset_note"].values, strict=True)),
        "groups": list(_groups(comparison, rows, experiments, looks or {})),
        "mixed": len({each["unit"] for each in rows}) > 1,
        "matrix": _matrix(comparison, rows),
        "notes": [*_notes(comparison, places), *_one_run(rows)],
    }


def curves(figures: Iterable[Figure]) -> str:
    """Name the figure with curves of the error against ε, one of an experiment or, if it has none, one of the page."""
    against = ("epsilon", "epsilon_total")
    found = (each for each in figures if getattr(each, "against", "") in against)
    return next((each.name for each in found), CURVES)


def _groups(
    comparison: xr.Dataset,
    rows: list[dict[str, Any]],
    experiments: Mapping[str, Experiment],
    looks: Mapping[str, Mapping[str, Look]],
) -> Iterator[dict[str, Any]]:
    """Rows of the experiments, one after another."""
    both = zip(cells(comparison), rows, strict=True)
    for name, group in itertools.groupby(both, key=lambda each: each[1]["experiment"]):
        of_experiment, own = zip(*group, strict=True)
        yield {
            "experiment": name,
            "place": own[0]["place"],
            "note": own[0]["note"],
            "unit": own[0]["unit"],
            "measure": str(of_experiment[0]["long_name"].item()),
            "pictures": picture.of_settings(comparison, name, looks[name]) if name in looks else [],
            "curves": curves(experiments[name].figures)
            if name in experiments and len(own) > 1
            else "",
            "rows": own,
            "beside": [_beside_control(cell) for cell in of_experiment],
        }


def cells(comparison: xr.Dataset) -> Iterator[xr.Dataset]:
    """Give the cells of a comparison, one after another."""
    return (comparison.isel(cell=number) for number in range(comparison.sizes["cell"]))


def _places(comparison: xr.Dataset) -> list[str]:
    """Name of the data of each cell: the data set, or the experiment where several have one data set.

    It has a mark where results are outdated: whatever is said of the cell may rest on them.
    """
    pairs = list(zip(comparison["experiment"].values, comparison["dataset"].values, strict=True))
    several = len({experiment for experiment, _ in pairs}) > len({data for _, data in pairs})
    outdated = (comparison["outdated"] & comparison["compared"]).any("algorithm").values
    return [
        (str(experiment) if several else proper(str(data))) + reference.MARK * bool(mark)
        for (experiment, data), mark in zip(pairs, outdated, strict=True)
    ]


def _facts(comparison: xr.Dataset, places: list[str]) -> dict[str, str]:
    """Facts that hold for all rows, or for the rows of some data."""

    def each(write: Callable[[xr.Dataset], str]) -> str:
        found: dict[str, dict[str, None]] = {}
        for cell, place in zip(cells(comparison), places, strict=True):
            found.setdefault(write(cell), {})[place] = None
        if len(found) == 1:
            return next(iter(found))
        return "; ".join(f"{text} ({', '.join(where)})" for text, where in found.items())

    words: Any = TEXT.get_template("words.jinja").module
    looks = each(lambda cell: str(int(cell["looks"]) or 1))
    return {
        "Budgets": f"ε of the whole run, at δ = {each(lambda cell: given(float(cell['delta'])))}",
        "Neighbours": each(
            lambda cell: words.neighbours(cell["relation"].item(), cell["unit"].item())
        ),
        "Errors": f"{each(measure)}: mean over {each(_seeds)} [{confidence(LEVEL)} interval of this "
        "mean]",
        "Margin": each(_margin),
        "Differences": "paired by seed; of percentages in percentage points. Their intervals hold together at "
        f"{confidence(TOGETHER)} for all {int(comparison.attrs['comparisons']):,} pairs of methods of all "
        f"rows, and for all looks ({looks}), because results decide which pairs are shown (Bonferroni)",
        **_fact_of_added(comparison),
    }


def _fact_of_added(comparison: xr.Dataset) -> dict[str, str]:
    if not (added := _added(comparison)):
        return {}
    return {
        "Added later": f"{together(added)}: compared with all other methods of a row, whose verdicts do not depend on "
        f"it. These intervals and those of all pairs hold together at {confidence(LEVEL)}"
    }


def _margin(cell: xr.Dataset) -> str:
    if not cell["margin"]:
        return "none was stated, so that no two methods can be equivalent unless they are equal"
    unit = "points" if cell["fraction"] else str(cell["units"].item()).removeprefix("1")
    margin = f"{_number(cell, 'margin')} {unit}".rstrip()
    return f"differences of up to {margin} do not matter"


def _short(comparison: xr.Dataset, rows: list[dict[str, Any]]) -> str:
    """Who wins where, which methods are equivalent, what is open, and who is never behind."""
    found: dict[tuple[str, ...], dict[str, list[str]]] = {}
    many: dict[str, list[str]] = {}
    for each in rows:
        group = tuple(each["group"])
        if len(group) > MOST_NAMED:
            many.setdefault(each["place"], []).append(f"{len(group)} at ε = {each['epsilon']}")
        elif group:
            found.setdefault(group, {}).setdefault(each["place"], []).append(each["epsilon"])
    sentences = []
    for group, where in found.items():
        wins = "wins" if len(group) == 1 else "are the best and equivalent"
        place = " and ".join(f"{name} at ε = {', '.join(at)}" for name, at in where.items())
        sentences.append(f"{together(group)} {wins} on {place}.")
    if many:
        places = "; ".join(f"on {name} {together(own)}" for name, own in many.items())
        sentences.append(f"Several methods are the best and equivalent: {places}.")
    sentences += (leading := list(_of_added(rows, _AHEAD)))
    if len(rows) > 1 and sentences and not leading and not any(each["winner"] for each in rows):
        sentences.insert(0, "No method wins alone.")
    for each in rows:
        here = f"{each['place']} at ε = {each['epsilon']}"
        if not each["lowest"]:
            which = "All methods that it was stated with" if each["added"] else "All methods"
            sentences.append(f"{which} lost runs on {here}.")
        if each["alone"]:
            others = ": all others lost runs" if each["left"] == _LEFT else ""
            sentences.append(f"{each['alone']} is {each['left']} on {here}{others}.")
    if undecided := [each for each in rows if each["undecided"]]:
        number = len(undecided)
        open_places = _all_open(rows)
        among = f", among them all on {together(open_places)}," if open_places else ""
        text = f"{number} of {len(rows)} rows{among} {'is' if number == 1 else 'are'} undecided"
        if number == len(rows) == 1:
            text = f"Undecided between {_few(rows[0]['undecided'])} at ε = {rows[0]['epsilon']}"
        elif number == len(rows):
            text = f"{'Both' if number == 2 else f'All {number}'} rows are undecided"
        numbers = sorted({each["needs"] for each in undecided})
        if all(map(math.isfinite, numbers)):
            ends = dict.fromkeys((about(numbers[0]), about(numbers[-1])))
            text += f": {' to '.join(ends)} seeds {'' if number == 1 else 'each '}would decide "
            text += "it" if number == 1 else "them"
        sentences.append(f"{text}.")
    own = names(comparison)
    out = marks(comparison).isin(["worse", ""]) | (comparison["added"] != "")
    behind = out.any("cell").values
    ahead = comparison["algorithm"].values[~behind].tolist()
    everywhere = list(dict.fromkeys(_all_names(label, own) for label in ahead))
    if len(rows) > 1 and everywhere:
        sentences.append(f"Never shown to be behind: {_few(everywhere, _MOST_EVERYWHERE)}.")
    return " ".join([*_of_constants(rows), *sentences])


def _of_constants(rows: list[dict[str, Any]]) -> Iterator[str]:
    """Where all methods fail: who is best among them matters little."""
    failed: dict[str, list[dict[str, Any]]] = {}
    for each in rows:
        if each["no_better"]:
            failed.setdefault(each["place"], []).append(each)
    places = [
        f"on {place} at ε = {', '.join(each['epsilon'] for each in own)} ({own[0]['constant']})"
        for place, own in failed.items()
    ]
    if places:
        yield f"No method is better than a constant prediction {' and '.join(places)}."


def _all_open(rows: list[dict[str, Any]]) -> list[str]:
    """Data with several rows, none of which is decided."""
    places: dict[str, list[bool]] = {}
    for each in rows:
        places.setdefault(each["place"], []).append(bool(each["undecided"]))
    return [place for place, open_ in places.items() if len(open_) > 1 and all(open_)]


def _of_added(rows: list[dict[str, Any]], beside: Mapping[str, str]) -> Iterator[str]:
    """What methods that were added later are beside the best of the row, a sentence for each with such verdicts."""
    found: dict[str, dict[str, dict[str, list[str]]]] = {}
    for each in rows:
        for own in (own for own in each["added"] if own["verdict"] in beside):
            where = found.setdefault(own["label"], {}).setdefault(own["verdict"], {})
            where.setdefault(each["place"], []).append(each["epsilon"])
    for label, verdicts in found.items():
        said = (
            f"{beside[verdict]} on "
            + " and ".join(
                f"{name} at ε = {', '.join(at)}" for name, at in verdicts[verdict].items()
            )
            for verdict in beside
            if verdict in verdicts
        )
        yield f"{label}, added later, is {'; '.join(said)}."


def _few(labels: Sequence[str], most: int = MOST_NAMED) -> str:
    """Name methods, unless there are many."""
    return together(labels) if len(labels) <= most else f"{len(labels)} methods"


def incomplete(notes: Iterable[tuple[str, str]]) -> list[str]:
    """Say what is left out of data, each note once, from names and notes; empty ones say nothing."""
    named: dict[str, dict[str, None]] = {}
    for name, note in notes:
        if note:
            named.setdefault(note, {})[name] = None
    return [f"{listed(names)}: {note}" for note, names in named.items()]


def measure(cell: xr.Dataset) -> str:
    """Say what is compared in a cell, with its unit."""
    unit = "%" if cell["fraction"] else str(cell["units"].item())
    return f"final {cell['long_name'].item()}{in_unit(unit)}"


def _seeds(cell: xr.Dataset) -> str:
    runs = cell["runs"].where(cell["compared"], drop=True).values.astype(int)
    *fewest, most = sorted({int(runs.min()), int(runs.max())})
    return " to ".join([*map(str, fewest), counted(most, "seed")])


def row(cell: xr.Dataset, place: str, experiment: Experiment | None = None) -> dict[str, Any]:
    """Make one row of the answer: names, texts, and numbers of seeds.

    Parameters
    ----------
    cell
        Cell of a comparison.
    place
        Name of its data.
    experiment
        Its definition, which knows how settings were found.
    """
    epsilon, lowest = float(cell["epsilon"]), str(cell["lowest"].item())
    same, behind = names(cell), str(cell["runner_up"].item())
    own = cell.sel(algorithm=lowest) if lowest else None
    second = cell.sel(algorithm=behind) if behind else None
    difference = ("difference", "difference_lower", "difference_upper")
    undecided, group = _ascending(cell, "undecided"), _ascending(cell, "winner", "equivalent")
    badges = (
        {} if experiment is None else {each: badge(experiment, each, epsilon) for each in group}
    )
    undecided, group = ([_all_names(each, same) for each in some] for some in (undecided, group))
    return {
        **_name(cell, place),
        "same": same,
        "badges": {_all_names(each, same): text for each, text in badges.items()},
        "badge": next(iter(badges.values())) if len(set(badges.values())) == 1 else "",
        "winner": group[0] if len(group) == 1 else "",
        "alone": "".join(_all_names(each, same) for each in _ascending(cell, "alone")),
        "left": _LEFT if (cell["lost"].where(cell["compared"], 0) > 0).any() else "the only method",
        "group": group,
        "undecided": undecided,
        "named": some(group or undecided, MOST_NAMED),
        "needs": float(cell["seeds"]),
        "seeds": about(float(cell["seeds"])),
        "added": [
            {
                "label": _all_names(label, same),
                "verdict": str(cell["added"].sel(algorithm=label).item()),
                "difference": _interval(cell.sel(algorithm=label, rival=lowest), *difference)
                if lowest
                else "–",
            }
            for label in _added(cell)
        ],
        "lowest": _all_names(lowest, same),
        "error": "–" if own is None else _interval(own, "mean", "lower", "upper"),
        "runner_up": _all_names(behind, same),
        "error_behind": "–" if second is None else _number(second, "mean"),
        "difference": "–" if second is None else _interval(second.sel(rival=lowest), *difference),
        "over_records": "" if second is None else _over_records(second.sel(rival=lowest)),
        "floor_method": str(cell["floor_method"].item()),
        "floor": _number(cell, "floor"),
        "constant": best_constant(
            float(cell["constant"]), cell["fraction"], str(cell["units"].item())
        ),
        # Up to rounding: a method may predict the constant, too.
        "no_better": bool(cell["mean"].min() >= cell["constant"] * (1 - ROUNDING)),
    }


def badge(experiment: Experiment, label: str, epsilon: float) -> str:
    """Say how the settings of a method at a budget were found."""
    if chosen := experiment.chosen.get(label, {}).get(epsilon):
        return "tuned at an edge" if chosen.edges else "tuned"
    own = [method for method in experiment.algorithms if method.label == label]
    stated = experiment.params or any(method.params or method.problem for method in own)
    return "stated settings" if stated else "default settings"


def _added(comparison: xr.Dataset) -> list[str]:
    """Labels of methods that were added after the study was stated, and compete."""
    joined = comparison["added"] != ""
    anywhere = joined.any([dim for dim in joined.dims if dim != "algorithm"])
    return [str(label) for label in comparison["algorithm"].values[anywhere.values]]


def _all_names(label: str, same: Mapping[str, list[str]]) -> str:
    """Name a method by all labels that have its values, see `admmbench.results.who_wins.names`."""
    return " = ".join(same.get(label, [label]))


def _beside_control(cell: xr.Dataset) -> dict[str, Any]:
    """All methods that compete in a row, by their mean: bounds of their rank, and each beside the control."""
    control = str(cell["control"].item())
    beside = cell.sel(rival=control) if control in cell["rival"].values else None
    same = names(cell)
    means = cell["mean"].where(cell["same_as"] == cell["algorithm"])
    means = means.sortby(means).dropna("algorithm")
    rows = []
    for label in map(str, means["algorithm"].values):
        own = cell.sel(algorithm=label)
        ranks = dict.fromkeys(f"{float(own[f'rank_{end}']):.0f}" for end in ("lower", "upper"))
        found = {"label": _all_names(label, same), "error": _number(own, "mean")}
        found["rank"] = "added" if own["added"] else " to ".join(ranks)
        found |= {"difference": "–", "over_records": "", "chance": "–"}
        if beside is not None and label != control:
            pair = beside.sel(algorithm=label)
            found["difference"] = _interval(
                pair, "difference", "difference_lower", "difference_upper"
            )
            found["over_records"] = _over_records(pair)
            part, low, high = (
                100 * float(pair[f"chance{end}"]) for end in ("", "_lower", "_upper")
            )
            if not math.isnan(part):
                found["chance"] = f"{part:.0f} % [{low:.0f} to {high:.0f}]"
        rows.append(found)
    epsilon = given(float(cell["epsilon"]))
    return {"epsilon": epsilon, "control": _all_names(control, same), "rows": rows}


def _over_records(pair: xr.Dataset) -> str:
    """The interval of a difference over other test records, empty if results do not tell."""
    reach = pair["reach_over_records"]
    if math.isnan(reach):
        return ""
    ends = xr.Dataset({"low": pair["difference"] - reach, "high": pair["difference"] + reach})
    return f"{_number(ends, 'low')} to {_number(ends, 'high')}"


def _name(cell: xr.Dataset, place: str) -> dict[str, str]:
    return {
        "place": place,
        "experiment": str(cell["experiment"].item()),
        "note": str(cell["dataset_note"].item()),
        "unit": "%" if cell["fraction"] else str(cell["units"].item()).removeprefix("1"),
        "epsilon": given(float(cell["epsilon"])),
    }


def _ascending(cell: xr.Dataset, *standings: str) -> list[str]:
    """Labels of methods that stand so, by their mean."""
    means = cell["mean"][cell["standing"].isin(standings).values]
    return [str(label) for label in means.sortby(means)["algorithm"].values]


def _matrix(comparison: xr.Dataset, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """All methods in all cells, by mean rank where they have one."""
    ranks = mean_ranks(comparison).to_series()
    compared = comparison["algorithm"].values[comparison["compared"].any("cell").values]
    order = dict.fromkeys(map(str, [*ranks.index, *compared]))
    same = names(comparison)
    columns = list(cells(comparison.assign(mark=marks(comparison))))
    floors = {"floor": "Without privacy", "constant": "Best constant prediction"}
    spans = itertools.groupby(rows, key=lambda head: head["experiment"])
    return {
        "spans": [{**group[0], "size": len(group)} for _, own in spans for group in [list(own)]],
        "epsilons": [head["epsilon"] for head in rows],
        "rows": [
            {
                "label": _all_names(label, same),
                "rank": f"{ranks[label]:.2f}" if label in ranks else "–",
                "cells": [_of_method(cell.sel(algorithm=label)) for cell in columns],
            }
            for label in order
            if same[label][0] == label
        ],
        "floors": {
            text: [_number(cell, name) for cell in columns]
            for name, text in floors.items()
            if name == "floor" or comparison[name].notnull().any()
        },
    }


def _of_method(cell: xr.Dataset) -> dict[str, Any]:
    lost = bool(cell["compared"]) and int(cell["lost"])
    return {
        "error": _number(cell, "mean")
        + reference.MARK.strip() * bool(cell["outdated"] & cell["compared"]),
        "standing": str(cell["mark"].item()),
        "lost": f"{lost} of {int(cell['runs'])} lost" if lost else "",
    }


def _notes(comparison: xr.Dataset, places: list[str]) -> list[str]:
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
    if (comparison["lost"].where(comparison["compared"], 0) > 0).any():
        notes.append(
            "A method that lost a run (it diverged or timed out) does not compete, and has the last rank."
        )
    return notes


def _one_run(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Say which methods have the same values, as after a search that made one of them the other."""
    found: dict[str, list[str]] = {}
    for each in rows:
        for labels in dict.fromkeys(tuple(own) for own in each["same"].values() if len(own) > 1):
            where = found.setdefault(" = ".join(labels), [])
            where.append(f"{each['place']} at ε = {each['epsilon']}")
    return [
        f"{labels}: one method on {together(where)}, with the same values at all seeds."
        for labels, where in found.items()
    ]


def _interval(values: xr.Dataset, centre: str, lower: str, upper: str) -> str:
    """A number of a cell with its interval, if it has one, or that all seeds have the same value."""
    text = _number(values, centre)
    ends = float(values[lower]), float(values[upper])
    if math.isnan(ends[0]):
        return text
    if math.isclose(*ends, rel_tol=ROUNDING):
        return f"{text}, the same for all seeds"
    return f"{text} [{_number(values, lower)} to {_number(values, upper)}]"


def _number(values: xr.Dataset, name: str) -> str:
    return measured(float(values[name]), values["fraction"])
