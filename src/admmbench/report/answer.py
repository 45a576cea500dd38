"""The report's first section: who wins at equal privacy, as rows from which templates write."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import xarray as xr

from admmbench.figures.wording import proper
from admmbench.inference.intervals import ROUNDING
from admmbench.report import picture
from admmbench.report.data import (
    Added,
    Answer,
    Badge,
    Beside,
    Facts,
    MatrixCell,
    Notes,
    Row,
    Value,
    collected,
)
from admmbench.results import reference
from admmbench.results.who_wins import marks, mean_ranks, names

if TYPE_CHECKING:
    from admmbench.figures import Figure
    from admmbench.figures.look import Look
    from admmbench.study.experiment import Experiment

T = TypeVar("T", bound=Hashable)

CURVES = "answer_curves"
"""Name of a figure that the page adds to an experiment."""


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
        ``answer`` with its ``facts``; ``marks`` of the pictures, with what they mean; ``parts``, names of data by what
        is left out of them; ``groups``, one for each experiment, its ``pictures``, the identifier of its ``curves``,
        ``rows`` and ``beside``, all methods beside the control; ``mixed``, whether their units differ; ``matrix`` of
        all methods and settings; ``notes``.
    """
    places = _places(comparison)
    rows = [
        row(setting, place, experiments.get(str(setting["experiment"].item())))
        for setting, place in zip(settings(comparison), places, strict=True)
    ]
    return {
        "answer": Answer(rows, _unbeaten(comparison)),
        "facts": _facts(comparison, places),
        "marks": picture.key(comparison),
        "parts": collected((each.note, each.place) for each in rows if each.note),
        "groups": list(_groups(comparison, rows, experiments, looks or {})),
        "mixed": len({each.unit for each in rows}) > 1,
        "matrix": _matrix(comparison, rows),
        "notes": _notes(comparison, places),
    }


def curves(figures: Iterable[Figure]) -> str:
    """Name the figure with curves of the error against ε, one of an experiment or, if it has none, one of the page."""
    against = ("epsilon", "epsilon_total")
    found = (each for each in figures if getattr(each, "against", "") in against)
    return next((each.name for each in found), CURVES)


def _groups(
    comparison: xr.Dataset,
    rows: list[Row],
    experiments: Mapping[str, Experiment],
    looks: Mapping[str, Mapping[str, Look]],
) -> Iterator[dict[str, Any]]:
    """Rows of the experiments, one after another."""
    both = zip(settings(comparison), rows, strict=True)
    for name, group in itertools.groupby(both, key=lambda each: each[1].experiment):
        of_experiment, own = zip(*group, strict=True)
        yield {
            "first": own[0],
            "pictures": picture.of_settings(comparison, name, looks[name]) if name in looks else [],
            "curves": f"{name}-figure-{curves(experiments[name].figures)}"
            if name in experiments and len(own) > 1
            else "",
            "rows": own,
            "beside": [_beside_control(setting) for setting in of_experiment],
        }


def settings(comparison: xr.Dataset) -> Iterator[xr.Dataset]:
    """Give the settings of a comparison, one after another."""
    return (comparison.isel(setting=number) for number in range(comparison.sizes["setting"]))


def _places(comparison: xr.Dataset) -> list[str]:
    """Name of the data of each setting: the data set, or the experiment where several have one data set.

    It has a mark where results are outdated: whatever is said of the setting may rest on them.
    """
    pairs = list(zip(comparison["experiment"].values, comparison["dataset"].values, strict=True))
    several = len({experiment for experiment, _ in pairs}) > len({data for _, data in pairs})
    outdated = (comparison["outdated"] & comparison["compared"]).any("algorithm").values
    return [
        (str(experiment) if several else proper(str(data))) + reference.MARK * bool(mark)
        for (experiment, data), mark in zip(pairs, outdated, strict=True)
    ]


def _facts(comparison: xr.Dataset, places: list[str]) -> Facts:
    """Return what holds for all rows, or for the rows of some data."""

    def spread(values: Iterable[T]) -> dict[T, list[str]]:
        return collected(zip(values, places, strict=True))

    each = list(settings(comparison))
    return Facts(
        spread(float(setting["delta"]) for setting in each),
        spread((setting["relation"].item(), setting["unit"].item()) for setting in each),
        spread((setting["long_name"].item(), _unit(setting)) for setting in each),
        spread(map(_seeds, each)),
        spread((_value(setting, "margin"), _unit(setting)) for setting in each),
        spread(int(setting["analyses"]) or 1 for setting in each),
        int(comparison.attrs["comparisons"]),
        _added(comparison),
    )


def _unit(setting: xr.Dataset) -> str:
    return "%" if setting["fraction"] else str(setting["units"].item()).removeprefix("1")


def _seeds(setting: xr.Dataset) -> tuple[int, int]:
    """The fewest and the most of a method that is compared."""
    runs = setting["runs"].where(setting["compared"], drop=True)
    return int(runs.min()), int(runs.max())


def _unbeaten(comparison: xr.Dataset) -> list[str]:
    """Methods that were nowhere shown to be behind, by all their names."""
    own = names(comparison)
    out = marks(comparison).isin(["worse", ""]) | (comparison["added"] != "")
    ahead = comparison["algorithm"].values[~out.any("setting").values]
    return list(dict.fromkeys(_all_names(label, own) for label in ahead.tolist()))


def row(setting: xr.Dataset, place: str, experiment: Experiment | None = None) -> Row:
    """Make one row of the answer.

    Parameters
    ----------
    setting
        One of those of a comparison.
    place
        Name of its data.
    experiment
        Its definition, which knows how settings were found.
    """
    epsilon, lowest = float(setting["epsilon"]), str(setting["lowest"].item())
    same, behind = names(setting), str(setting["runner_up"].item())
    second = setting.sel(algorithm=behind) if behind else None
    group = _ascending(setting, "winner", "equivalent")
    badges = (
        {} if experiment is None else {each: badge(experiment, each, epsilon) for each in group}
    )
    constant = _value(setting, "constant")
    return Row(
        place=place,
        experiment=str(setting["experiment"].item()),
        note=str(setting["dataset_note"].item()),
        measure=str(setting["long_name"].item()),
        unit=_unit(setting),
        epsilon=epsilon,
        names=same,
        badges={_all_names(each, same): found for each, found in badges.items()},
        group=[_all_names(each, same) for each in group],
        undecided=[_all_names(each, same) for each in _ascending(setting, "undecided")],
        alone="".join(_all_names(each, same) for each in _ascending(setting, "alone")),
        lost=bool((setting["lost"].where(setting["compared"], 0) > 0).any()),
        seeds=float(setting["seeds"]),
        added=[
            Added(
                _all_names(label, same),
                str(setting["added"].sel(algorithm=label).item()),
                _difference(setting.sel(algorithm=label, rival=lowest)) if lowest else None,
            )
            for label in _added(setting)
        ],
        lowest=_all_names(lowest, same),
        error=_value(setting.sel(algorithm=lowest), "mean", "lower", "upper") if lowest else None,
        runner_up=_all_names(behind, same),
        next_error=None if second is None else _value(second, "mean"),
        difference=None if second is None else _difference(second.sel(rival=lowest)),
        over_records=None if second is None else _over_records(second.sel(rival=lowest)),
        floor_method=str(setting["floor_method"].item()),
        floor=_value(setting, "floor"),
        constant=constant,
        # Up to rounding: a method may predict the constant, too.
        no_better=bool(setting["mean"].min() >= constant.centre * (1 - ROUNDING)),
    )


def badge(experiment: Experiment, label: str, epsilon: float) -> Badge:
    """Return how the settings of a method at a budget were found."""
    if chosen := experiment.chosen.get(label, {}).get(epsilon):
        return "tuned_at_edge" if chosen.edges else "tuned"
    own = [method for method in experiment.algorithms if method.label == label]
    stated = experiment.params or any(method.params or method.problem for method in own)
    return "stated" if stated else "default"


def _added(comparison: xr.Dataset) -> list[str]:
    """Labels of methods that were added after the study was stated, and compete."""
    joined = comparison["added"] != ""
    anywhere = joined.any([dim for dim in joined.dims if dim != "algorithm"])
    return [str(label) for label in comparison["algorithm"].values[anywhere.values]]


def _all_names(label: str, same: Mapping[str, list[str]]) -> str:
    """Name a method by all labels that have its values, see `admmbench.results.who_wins.names`."""
    return " = ".join(same.get(label, [label]))


def _beside_control(setting: xr.Dataset) -> dict[str, Any]:
    """All methods that compete in a row, by their mean: bounds of their rank, and each beside the control."""
    control = str(setting["control"].item())
    beside = setting.sel(rival=control) if control in setting["rival"].values else None
    same = names(setting)
    means = setting["mean"].where(setting["same_as"] == setting["algorithm"])
    means = means.sortby(means).dropna("algorithm")
    rows = []
    for label in map(str, means["algorithm"].values):
        own = setting.sel(algorithm=label)
        ranks = None if own["added"] else (float(own["rank_lower"]), float(own["rank_upper"]))
        found = Beside(_all_names(label, same), _value(own, "mean"), ranks)
        if beside is not None and label != control:
            pair = beside.sel(algorithm=label)
            part, low, high = (
                100 * float(pair[f"chance{end}"]) for end in ("", "_lower", "_upper")
            )
            found = found._replace(
                difference=_difference(pair),
                over_records=_over_records(pair),
                chance=None if np.isnan(part) else Value(part, low, high),
            )
        rows.append(found)
    return {
        "epsilon": float(setting["epsilon"]),
        "control": _all_names(control, same),
        "rows": rows,
    }


def _over_records(pair: xr.Dataset) -> Value | None:
    """The interval of a difference over other test records, None if results do not tell."""
    centre, reach = float(pair["difference"]), float(pair["reach_over_records"])
    fraction = bool(pair["fraction"])
    return None if np.isnan(reach) else Value(centre, centre - reach, centre + reach, fraction)


def _ascending(setting: xr.Dataset, *verdicts: str) -> list[str]:
    """Labels of methods that stand so, by their mean."""
    means = setting["mean"][setting["verdict"].isin(verdicts).values]
    return [str(label) for label in means.sortby(means)["algorithm"].values]


def _matrix(comparison: xr.Dataset, rows: list[Row]) -> dict[str, Any]:
    """All methods in all settings, by mean rank where they have one."""
    ranks = mean_ranks(comparison).to_series()
    compared = comparison["algorithm"].values[comparison["compared"].any("setting").values]
    order = dict.fromkeys(map(str, [*ranks.index, *compared]))
    same = names(comparison)
    columns = list(settings(comparison.assign(mark=marks(comparison))))
    spans = itertools.groupby(rows, key=lambda head: head.experiment)
    return {
        "spans": [list(own) for _, own in spans],
        "rows": [
            {
                "label": _all_names(label, same),
                "rank": float(ranks.get(label, np.nan)),
                "cells": [_of_method(setting.sel(algorithm=label)) for setting in columns],
            }
            for label in order
            if same[label][0] == label
        ],
        "constants": bool(comparison["constant"].notnull().any()),
    }


def _of_method(setting: xr.Dataset) -> MatrixCell:
    compared = bool(setting["compared"])
    return MatrixCell(
        _value(setting, "mean"),
        compared and bool(setting["outdated"]),
        str(setting["mark"].item()),
        int(setting["lost"]) if compared else 0,
        int(setting["runs"]),
    )


def _notes(comparison: xr.Dataset, places: list[str]) -> Notes:
    """Return who is not in the tables, and whose guarantee has a condition."""
    rows = np.array(places)

    def where(chosen: xr.DataArray) -> dict[str, list[str]]:
        chosen = chosen.transpose("algorithm", "setting")
        found = zip(chosen["algorithm"].values, chosen.values, strict=True)
        return {
            str(label): list(dict.fromkeys(rows[own].tolist())) for label, own in found if own.any()
        }

    return Notes(
        where(comparison["excluded"]),
        where(comparison["guarantee"] == "conditional"),
        bool((comparison["lost"].where(comparison["compared"], 0) > 0).any()),
    )


def _difference(pair: xr.Dataset) -> Value:
    return _value(pair, "difference", "difference_lower", "difference_upper")


def _value(values: xr.Dataset, centre: str, *ends: str) -> Value:
    """A number of a setting, with its interval if that is asked for."""
    lower, upper = (float(values[name]) for name in ends) if ends else (np.nan, np.nan)
    return Value(float(values[centre]), lower, upper, bool(values["fraction"]))
