"""The report's first section: who wins at equal privacy, as summaries of settings from which templates write."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from admmbench.figures.wording import proper
from admmbench.inference.intervals import ROUNDING
from admmbench.report import picture
from admmbench.report.data import (
    Added,
    Answer,
    Badge,
    ControlRow,
    MatrixCell,
    Notes,
    SettingSummary,
    Value,
    collected,
)
from admmbench.results import reference
from admmbench.results.who_wins import compared_settings, marks, mean_ranks, names

if TYPE_CHECKING:
    from admmbench.figures import Figure
    from admmbench.figures.look import Look
    from admmbench.study.experiment import Experiment

CURVES = "answer_curves"
"""Name of a figure that the page adds to an experiment."""


def content(
    comparison: xr.Dataset,
    experiments: Mapping[str, Experiment],
    looks: Mapping[str, Mapping[str, Look]] | None = None,
) -> dict[str, Any]:
    """Return the content that the template shows.

    Parameters
    ----------
    comparison
        Comparison by `admmbench.results.who_wins.compare`.
    experiments
        Definitions of its experiments, by name, as far as they are known.
    looks
        Looks of the methods in figures of each experiment, see `admmbench.figures.look.of_study`; without looks there
        are no pictures.

    Returns
    -------
    dict
        ``answer``; ``comparisons``, the number of pairs of methods of all settings; ``added``, methods that were added
        after the study was stated; ``groups``, one for each experiment, with the
        identifier of its ``curves``, ``summaries`` and ``control_tables``, all methods against the control; ``mixed``,
        whether the units of settings differ; ``board``, see :func:`make_board`; ``notes``.
    """
    places = _places(comparison)
    summaries = [
        summarize_setting(setting, place, experiments.get(str(setting["experiment"].item())))
        for setting, place in zip(compared_settings(comparison), places, strict=True)
    ]
    return {
        "answer": Answer(summaries, _unbeaten(comparison), _several_names(comparison, places)),
        "comparisons": int(comparison.attrs["comparisons"]),
        "added": _added_labels(comparison),
        "groups": list(_groups(comparison, summaries, experiments)),
        "mixed": len({summary.unit for summary in summaries}) > 1,
        "board": make_board(comparison, looks or {}, "s"),
        "notes": _notes(comparison, places),
    }


def curves(figures: Iterable[Figure]) -> str:
    """Return the name of the figure with curves of the error against ε: the experiment's, or else the page's own."""
    against = ("epsilon", "epsilon_total")
    candidates = (figure for figure in figures if getattr(figure, "against", "") in against)
    return next((figure.name for figure in candidates), CURVES)


def _groups(
    comparison: xr.Dataset,
    summaries: list[SettingSummary],
    experiments: Mapping[str, Experiment],
) -> Iterator[dict[str, Any]]:
    """Yield the group of each experiment: its curves, its settings, and its methods against the control."""
    pairs = zip(compared_settings(comparison), summaries, strict=True)
    for name, members in itertools.groupby(pairs, key=lambda pair: pair[1].experiment):
        group_settings, group_summaries = zip(*members, strict=True)
        yield {
            "first": group_summaries[0],
            "curves": f"{name}-figure-{curves(experiments[name].figures)}"
            if name in experiments and len(group_summaries) > 1
            else "",
            "summaries": group_summaries,
            "control_tables": [_control_table(setting) for setting in group_settings],
        }


def _places(comparison: xr.Dataset) -> list[str]:
    """Return the name of the data of each setting: the data set, or the experiment where several share a data set.

    The name has a mark if results are outdated, as any statement on the setting may rest on them.
    """
    pairs = list(zip(comparison["experiment"].values, comparison["dataset"].values, strict=True))
    several = len({experiment for experiment, _ in pairs}) > len({data for _, data in pairs})
    outdated = (comparison["outdated"] & comparison["compared"]).any("algorithm").values
    return [
        (str(experiment) if several else proper(str(data))) + reference.MARK * bool(mark)
        for (experiment, data), mark in zip(pairs, outdated, strict=True)
    ]


def _unit(setting: xr.Dataset) -> str:
    return "%" if setting["fraction"] else str(setting["units"].item()).removeprefix("1")


def _unbeaten(comparison: xr.Dataset) -> list[str]:
    """Return the methods that are significantly worse in no setting, by all their names."""
    aliases = names(comparison)
    beaten = marks(comparison).isin(["worse", ""]) | (comparison["added"] != "")
    ahead = comparison["algorithm"].values[~beaten.any("setting").values]
    return list(dict.fromkeys(_all_names(label, aliases) for label in ahead.tolist()))


def _several_names(comparison: xr.Dataset, places: list[str]) -> dict[str, list[tuple[str, float]]]:
    return collected(
        (" = ".join(labels), (place, float(setting["epsilon"])))
        for setting, place in zip(compared_settings(comparison), places, strict=True)
        for labels in names(setting).values()
        if len(labels) > 1
    )


def summarize_setting(
    setting: xr.Dataset, place: str, experiment: Experiment | None = None
) -> SettingSummary:
    """Return the best methods in a setting of a comparison, with what the answer says of them.

    The definition of the experiment knows how the settings of methods were found.
    """
    epsilon, lowest = float(setting["epsilon"]), str(setting["lowest"].item())
    runs = setting["runs"].where(setting["compared"], drop=True)
    aliases, runner_up = names(setting), str(setting["runner_up"].item())
    second = setting.sel(algorithm=runner_up) if runner_up else None
    group = _ascending(setting, "winner", "equivalent")
    badges = (
        {} if experiment is None else {label: badge(experiment, label, epsilon) for label in group}
    )
    constant = _value(setting, "constant")
    return SettingSummary(
        place=place,
        experiment=str(setting["experiment"].item()),
        note=str(setting["dataset_note"].item()),
        measure=str(setting["long_name"].item()),
        unit=_unit(setting),
        epsilon=epsilon,
        delta=float(setting["delta"]),
        neighbours=(setting["relation"].item(), setting["unit"].item()),
        runs=(int(runs.min()), int(runs.max())),
        mirrors=int(setting["mirrors"].max()),
        margin=_value(setting, "margin"),
        analyses=int(setting["analyses"]) or 1,
        badges={_all_names(label, aliases): method_badge for label, method_badge in badges.items()},
        group=tuple(_all_names(label, aliases) for label in group),
        undecided=tuple(_all_names(label, aliases) for label in _ascending(setting, "undecided")),
        behind=tuple(_all_names(label, aliases) for label in _ascending(setting, "worse")),
        only_method="".join(_all_names(label, aliases) for label in _ascending(setting, "alone")),
        failed=bool((setting["failed"].where(setting["compared"], 0) > 0).any()),
        control=_all_names(str(setting["control"].item()), aliases),
        possible_lead=None
        if np.isnan(setting["possible_lead"])
        else _value(setting, "possible_lead"),
        seeds=float(setting["seeds"]),
        added=[
            Added(
                _all_names(label, aliases),
                str(setting["added"].sel(algorithm=label).item()),
                _difference(setting.sel(algorithm=label, rival=lowest)) if lowest else None,
                place,
                epsilon,
            )
            for label in _added_labels(setting)
        ],
        lowest=_all_names(lowest, aliases),
        error=_value(setting.sel(algorithm=lowest), "mean", "lower", "upper") if lowest else None,
        runner_up=_all_names(runner_up, aliases),
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
    methods = [method for method in experiment.algorithms if method.label == label]
    states_settings = experiment.params or any(
        method.params or method.problem for method in methods
    )
    return "stated" if states_settings else "default"


def _added_labels(comparison: xr.Dataset) -> list[str]:
    """Return the labels of methods that were added after the study was stated, and compete."""
    joined = comparison["added"] != ""
    anywhere = joined.any([dim for dim in joined.dims if dim != "algorithm"])
    return [str(label) for label in comparison["algorithm"].values[anywhere.values]]


def _all_names(label: str, aliases: Mapping[str, list[str]]) -> str:
    """Return all labels that have a method's values, joined, see `admmbench.results.who_wins.names`."""
    return " = ".join(aliases.get(label, [label]))


def _control_table(setting: xr.Dataset) -> dict[str, Any]:
    """Return the table of the methods in a setting, by their mean: ranks, and differences from the control."""
    control = str(setting["control"].item())
    pairs = setting.sel(rival=control) if control in setting["rival"].values else None
    aliases = names(setting)
    means = setting["mean"].where(setting["same_as"] == setting["algorithm"])
    means = means.sortby(means).dropna("algorithm")
    rows = []
    for label in map(str, means["algorithm"].values):
        method = setting.sel(algorithm=label)
        ranks = (
            None if method["added"] else (float(method["rank_lower"]), float(method["rank_upper"]))
        )
        control_row = ControlRow(_all_names(label, aliases), _value(method, "mean"), ranks)
        if pairs is not None and label != control:
            pair = pairs.sel(algorithm=label)
            part, low, high = (
                100 * float(pair[f"chance{end}"]) for end in ("", "_lower", "_upper")
            )
            control_row = control_row._replace(
                difference=_difference(pair),
                over_records=_over_records(pair),
                chance=None if np.isnan(part) else Value(part, low, high),
            )
        rows.append(control_row)
    return {
        "epsilon": float(setting["epsilon"]),
        "control": _all_names(control, aliases),
        "rows": rows,
    }


def _over_records(pair: xr.Dataset) -> Value | None:
    """Return a difference with its interval over other test records; None if the results do not have it."""
    centre, reach = float(pair["difference"]), float(pair["reach_over_records"])
    fraction = bool(pair["fraction"])
    return None if np.isnan(reach) else Value(centre, centre - reach, centre + reach, fraction)


def _ascending(setting: xr.Dataset, *verdicts: str) -> list[str]:
    """Return the labels of methods with one of these verdicts, by their mean."""
    means = setting["mean"][setting["verdict"].isin(verdicts).values]
    return [str(label) for label in means.sortby(means)["algorithm"].values]


def make_board(
    comparison: xr.Dataset, looks: Mapping[str, Mapping[str, Look]], prefix: str
) -> dict[str, Any]:
    """Return the leaderboard of a comparison: all methods in all settings, by mean rank where a method has one.

    Its ``pictures`` of differences are by the number of the setting; the prefix makes their identifiers unique.
    """
    ranks = mean_ranks(comparison).to_series()
    compared = comparison["algorithm"].values[comparison["compared"].any("setting").values]
    order = dict.fromkeys(map(str, [*ranks.index, *compared]))
    aliases = names(comparison)
    columns = list(compared_settings(comparison.assign(mark=marks(comparison))))
    return {
        "rows": [
            {
                "label": _all_names(label, aliases),
                "rank": float(ranks.get(label, np.nan)),
                "cells": [_matrix_cell(setting.sel(algorithm=label)) for setting in columns],
            }
            for label in order
            if aliases[label][0] == label
        ],
        "constants": bool(comparison["constant"].notnull().any()),
        "pictures": picture.draw_settings(comparison, looks, prefix),
    }


def _matrix_cell(setting: xr.Dataset) -> MatrixCell:
    compared = bool(setting["compared"])
    return MatrixCell(
        _value(setting, "mean"),
        compared and bool(setting["outdated"]),
        str(setting["mark"].item()),
        int(setting["failed"]) if compared else 0,
        int(setting["runs"]),
    )


def _notes(comparison: xr.Dataset, places: list[str]) -> Notes:
    """Return the methods that are not in the tables, and the methods whose guarantee has a condition."""

    def where(chosen: xr.DataArray) -> dict[str, list[str]]:
        labels = chosen["algorithm"].values.tolist()
        selected = np.argwhere(chosen.transpose("algorithm", "setting").values)
        return collected((labels[method], places[setting]) for method, setting in selected)

    return Notes(
        where(comparison["excluded"]),
        where(comparison["guarantee"] == "conditional"),
        bool((comparison["failed"].where(comparison["compared"], 0) > 0).any()),
    )


def _difference(pair: xr.Dataset) -> Value:
    return _value(pair, "difference", "difference_lower", "difference_upper")


def _value(values: xr.Dataset, centre: str, *ends: str) -> Value:
    """Return a number of a setting, with its interval if the names of the ends are given."""
    lower, upper = (float(values[name]) for name in ends) if ends else (np.nan, np.nan)
    return Value(float(values[centre]), lower, upper, bool(values["fraction"]))
