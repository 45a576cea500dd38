"""Comparison of methods at equal privacy, in each setting of several experiments and over all settings.

A *setting* is a data set and a guarantee: an experiment, a total epsilon of the whole run, its delta and neighbours.
The rivals of a setting are the methods that give this guarantee, see `admmbench.results.statistics.equally_private`.
Studies without totals have settings as well, whose rivals need not be equally private, see `lead`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pandas as pd
import xarray as xr

from admmbench.base.outcomes import SUCCESSFUL, Outcome
from admmbench.inference import contrasts, intervals, levels, power
from admmbench.results import mirrors, statistics
from admmbench.results.joining import NOTHING
from admmbench.results.reference import outdated_labels
from admmbench.results.settings import (
    Setting,
    equally_private_groups,
    make_settings,
    select_facts,
)

FEASIBLE = 0.01
"""Largest violation of constraints of a point that counts as a solution."""


def compare(experiments: Iterable[xr.Dataset]) -> xr.Dataset | None:
    """Compare methods by the final metric of their problem, in every setting with two or more rivals.

    Intervals of differences hold together at `admmbench.inference.levels.TOGETHER`, for all pairs of rivals, all
    settings and all interim analyses that the experiments state. Pairs count whether or not runs failed.

    Methods with the same values in every evaluated round at all seeds and budgets, such as two names of one method, are
    one rival: the first of them, or the one that was run with more seeds. The pairs of such a rival count once; nothing
    else in results changes the number of comparisons.

    Methods that an experiment states as ``added`` do not change the other comparisons: each is compared with the
    methods that the setting was stated with, two at least, at the level of
    `admmbench.inference.levels.level_of_added`.

    A method with a failed or diverged run is not judged by its other seeds: the method has no mean, does not compete,
    and is last in :func:`mean_ranks`.

    Parameters
    ----------
    experiments
        Results, each as its ``results.nc`` holds them. Results whose budgets are not of whole runs have no settings.

    Returns
    -------
    xarray.Dataset or None
        None if no setting has two rivals. Dims ``setting``, and ``algorithm`` and ``rival``, both with the labels of
        all experiments. Values are in the unit of the metric.

        - ``compared``, ``excluded``: methods that are rivals in a setting, and others that ran at its budget.
        - ``same_as``: label of the rival with the values of a method, mostly the method's own label. Pairs and verdicts
          are of such rivals alone; `marks` and `names` give them to the other methods.
        - ``guarantee``: kind of guarantee of a rival's total. ``runs``, ``mirrors``, ``failed``: numbers of its seeds,
          of those with a mirror, and of runs without a model, see `admmbench.results.mirrors`.
        - ``mean``, ``lower``, ``upper``: mean over seeds, with the t interval of each method by itself.
        - ``difference``, ``difference_lower``, ``difference_upper``: ``algorithm`` minus ``rival``, paired by seed,
          with simultaneous intervals; NaN where two methods share fewer than two seeds, or were both added.
          ``deviation``: the standard deviation over seeds of this difference.
        - ``pair_verdict``, see `admmbench.inference.contrasts.judge_pairs`, and ``verdict`` on each method, see
          `admmbench.inference.contrasts.judge_setting`, empty for methods that were added.
        - ``added``: verdict on the pair of each method that was added and ``lowest``, ``not compared`` where one of
          both has no mean, and empty for methods that the setting was stated with.
        - ``rank_lower``, ``rank_upper``: bounds of the rank of a method, see `admmbench.inference.contrasts.ranks`.
        - ``chance``, ``chance_lower``, ``chance_upper``: probability that ``algorithm`` has the lower value at a seed,
          see `admmbench.inference.intervals.chance_of_lower`.
        - ``reach_over_records``: half the interval of a difference over other test records, see
          `admmbench.inference.intervals.half_width_over_records`; NaN where results do not name the wrong records.
        - ``outdated``: whether the results of a method are to be run again, see `admmbench.results.reference`.
        - ``control``: label of the method with which others are compared: the one that the experiment states, else
          ``lowest``.
        - ``possible_lead``: largest amount by which a method may be better than the control, by the intervals; 0 if
          none may be, NaN where a method that competes has no interval.
        - ``lowest``, ``runner_up``: labels with the lowest and the next mean, empty where there are none.
        - ``seeds``: number of seeds that makes the setting conclusive, see
          `admmbench.inference.power.seeds_needed`; 0 where it is conclusive.
        - ``level``: level of one interval of two methods that the setting was stated with. ``margin`` and the number of
          interim ``analyses`` are those that the experiment states.
        - ``redrawn``: see `admmbench.results.statistics.redrawn`.
        - ``floor``, ``floor_lower``, ``floor_upper``, ``floor_method``: the lowest mean without privacy.
        - ``constant``: value of the best constant prediction; NaN where the value is not known.

        Coordinates of a setting: ``experiment``, ``dataset``, ``dataset_note``, ``epsilon``, ``delta``, ``relation``,
        ``unit``; ``metric`` with its ``long_name``, ``units`` and whether it is a ``fraction`` of the records.
        Attributes: ``comparisons``, the number of pairs of methods that settings were stated with.
    """
    whole = (results for results in experiments if statistics.of_whole_runs(results))
    settings = [
        setting
        for results in whole
        for setting in make_settings(results, equally_private_groups(results))
    ]
    return _compare_settings([setting for setting in settings if setting.of_totals])


def compared_settings(comparison: xr.Dataset) -> Iterator[xr.Dataset]:
    """Return the settings of a comparison, one after another."""
    return (comparison.isel(setting=number) for number in range(comparison.sizes["setting"]))


def verdicts(results: xr.Dataset, comparison: xr.Dataset | None) -> xr.DataArray:
    """Return the verdicts on methods of one experiment among equally private ones, over ``algorithm`` and ``epsilon``.

    These are verdicts of `admmbench.inference.contrasts.judge_setting`, and ``added`` of :func:`compare`, in a
    comparison of all experiments that are judged together; empty where a method has no rival. Methods that
    :func:`compare` leaves out, without privacy or with budgets that are not of whole runs, are judged here; their
    intervals hold together for this experiment.
    """
    status = results["status"].isel(seed=0, drop=True)
    verdict = xr.full_like(status, "", "U16").reset_coords(drop=True)
    settings = make_settings(results, equally_private_groups(results))
    without_totals = _compare_settings([setting for setting in settings if not setting.of_totals])
    comparisons = [c for c in (comparison, without_totals) if c is not None]
    for setting in itertools.chain(*map(marks, comparisons)):
        if setting["experiment"] == results.attrs["experiment"]:
            rivals = setting["algorithm"][setting.values != ""]
            place = {"algorithm": rivals, "epsilon": setting["epsilon"].item()}
            verdict.loc[place] = setting.sel(algorithm=rivals).values
    return verdict


def marks(comparison: xr.Dataset) -> xr.DataArray:
    """Return the marks of methods in tables and pictures: their verdicts, or ``added`` for methods that were added.

    Parameters
    ----------
    comparison
        Result of :func:`compare`, or a setting of it.
    """
    verdict = comparison["verdict"].where(comparison["added"] == "", comparison["added"])
    return _values_of_rivals(verdict, comparison)


def names(comparison: xr.Dataset) -> dict[str, list[str]]:
    """Return for each label the labels of all methods with the same values in every setting, in their order.

    Parameters
    ----------
    comparison
        Result of :func:`compare`, or a setting of it.
    """
    same = comparison["same_as"].where(comparison["compared"], "").transpose("algorithm", ...)
    labels_of_rivals: dict[str, list[str]] = {}
    for label, rivals in zip(same["algorithm"].values, same.values.tolist(), strict=True):
        if any(rivals):  # else the method is no rival in any setting
            labels_of_rivals.setdefault(str(rivals), []).append(str(label))
    return {label: labels for labels in labels_of_rivals.values() for label in labels}


def _values_of_rivals(values: xr.DataArray, comparison: xr.Dataset) -> xr.DataArray:
    """Return values over ``algorithm`` in which each method has the entry of its rival."""
    values, same = xr.broadcast(values, comparison["same_as"])
    places = same.copy(
        data=same.indexes["algorithm"].get_indexer(same.values.ravel()).reshape(same.shape)
    )
    taken = np.take_along_axis(values.values, places.values, values.get_axis_num("algorithm"))
    return values.copy(data=taken)


def lead(results: xr.Dataset) -> xr.Dataset | None:
    """Compare the methods of one experiment at each of its budgets, whether or not they are equally private.

    At a budget, methods that add no noise are left out; without a budget, methods that add noise of their own, and
    optima that are computed for reference. Methods of a setting have data of the same number of features. With
    constraints, methods for the same number of agents are compared by their objective. Runs whose last point violates
    constraints by more than `FEASIBLE` count as failed. Methods of a timed study are compared by their computing time.

    Parameters
    ----------
    results
        Results of the experiment; intervals of differences hold together for all its pairs.

    Returns
    -------
    xarray.Dataset or None
        Variables of :func:`compare`; ``delta``, ``relation`` and ``unit`` are those of one method. None if no budget
        has two methods.
    """
    constrained = statistics.is_constrained(results)
    if constrained:
        results = _by_objective(results)
    elif "seconds" in results:
        # The stated margin is about errors, not about time.
        results = results.assign_attrs(metric="seconds", margin=0.0)
    facts = select_facts(results)
    ran = (facts["status"] != Outcome.NOT_RUN).any("seed")
    ran &= statistics.noisy(facts) == (facts["epsilon"] < math.inf)
    ran &= ~statistics.is_optimum(results)
    # An objective may add up over agents, so that other numbers of agents have other objectives.
    dims = ["features", "agents"] if constrained else ["features"]
    groups = []
    for epsilon in map(float, facts["epsilon"].values):
        methods = facts.isel(algorithm=ran.sel(epsilon=epsilon).values)
        for _, group in methods.groupby(dims) if methods.sizes["algorithm"] else ():
            several = len(set(group["method"].values)) if constrained else group.sizes["algorithm"]
            if several > 1:
                groups.append((epsilon, list(group["algorithm"].values)))
    return _compare_settings(make_settings(results, groups))


def _by_objective(results: xr.Dataset) -> xr.Dataset:
    """Return results whose metric is the objective, and whose runs that violate the constraints count as failed.

    A margin that is stated for another metric, such as an error, does not apply to the objective.
    """
    feasible = ~(statistics.final(results, "feasibility") > FEASIBLE)
    status = results["status"].where(feasible | (results["status"] < 0), Outcome.INFEASIBLE)
    margin = statistics.margin(results) if results.attrs["metric"] == "train_loss" else 0.0
    return results.assign(status=status).assign_attrs(metric="train_loss", margin=margin)


def _compare_settings(settings: Sequence[Setting]) -> xr.Dataset | None:
    """Compare the rivals of each setting that was stated with two methods, perhaps two names of one rival."""
    settings = [
        setting
        for setting in settings
        if len({*setting.labels} - {*statistics.added(setting.facts)}) > 1
    ]
    if not settings:
        return None
    count = max(sum(setting.pairs > 0 for setting in settings), 1)
    parts = [_compare_setting(setting, count) for setting in settings]
    labels = list(dict.fromkeys(str(label) for part in parts for label in part["algorithm"].values))
    fills = {name: NOTHING[variable.dtype.kind] for name, variable in parts[0].items()}
    aligned = [part.reindex(algorithm=labels, rival=labels, fill_value=fills) for part in parts]
    comparison = xr.concat(
        aligned, "setting", data_vars="all", coords="all", compat="equals", join="exact"
    )
    comparison["same_as"] = comparison["same_as"].where(
        comparison["compared"], comparison["algorithm"]
    )
    return comparison.assign_attrs(comparisons=sum(setting.pairs for setting in settings))


def _runner_up(means: xr.DataArray, lowest: str) -> str:
    """Return the label of the lowest mean over ``algorithm`` without ``lowest``; empty if there is none."""
    others = means.where(means["algorithm"] != lowest)
    return str([*others.sortby(others).dropna("algorithm")["algorithm"].values, ""][0])


def mean_ranks(comparison: xr.Dataset) -> xr.DataArray:
    """Rank methods by their means in each setting, 1 for the lowest, and average over the settings.

    Equal means share a rank, and methods with failed runs share the last rank. Methods that are one rival count once.
    Methods that were added have no rank, so that the ranks of others stay.

    Parameters
    ----------
    comparison
        Result of :func:`compare`.

    Returns
    -------
    xarray.DataArray
        Mean ranks over the methods that are rivals in all settings, the lowest first.
    """
    everywhere = (comparison["compared"] & (comparison["added"] == "")).all("setting").values
    of_rivals = comparison[["mean", "same_as"]].isel(algorithm=everywhere)
    ranks = {}
    for place in range(comparison.sizes["setting"]):
        setting = of_rivals.isel(setting=place, drop=True).reset_coords(drop=True).to_dataframe()
        # Means of the same errors in another order may differ in their last digits.
        means = setting["mean"].round(12).fillna(np.inf).groupby(setting["same_as"]).first()
        ranks[place] = setting["same_as"].map(means.rank()).astype(float)
    mean = pd.DataFrame(ranks).mean(axis=1).sort_values(kind="stable")
    return xr.DataArray(mean, dims="algorithm")


def _compare_setting(setting: Setting, count: int) -> xr.Dataset:
    """Compare the rivals of one setting, given the number of all settings."""
    facts = setting.facts.sel(epsilon=setting.epsilon)
    ran = facts["status"] != Outcome.NOT_RUN
    compared, stated = (
        facts["algorithm"].isin(labels) for labels in (setting.labels, setting.stated)
    )
    values = statistics.final_if_none_failed(facts, facts.attrs["metric"]).where(compared)
    second = mirrors.mirrored(setting, values)
    redrawn = statistics.redrawn(facts)
    # Each seed gives one value: the mean of its antithetic pair where it has one.
    best_values = ((values + second) / 2).fillna(values)
    means = intervals.student(best_values, redrawn=redrawn)
    # Pairs are of rivals alone, so that two names of one method count once.
    values = values.where(facts["algorithm"].isin(setting.rivals))
    same_as = [setting.same_as.get(str(label), str(label)) for label in facts["algorithm"].values]
    control = str(facts.attrs.get("control", ""))
    control = setting.same_as.get(control, control)
    stated_analyses, margin = statistics.interim_analyses(facts), statistics.margin(facts)
    analyses = max(len(stated_analyses), 1)
    level = levels.level_of_pairs(setting.pairs, count, analyses)
    pairs = _differences(values)
    pair_levels = levels.levels(setting.stated, setting.added, count, analyses).reindex_like(pairs)
    pairs = pairs.where(pair_levels.notnull())
    mirrored_pairs = _differences(second).where(pairs.notnull())
    least = statistics.resolution(facts)
    # Planning of further seeds uses the interval of all seeds; verdicts use what all interim analyses have in common.
    all_seeds = intervals.student(pairs, level, redrawn, least)
    gap = levels.intersected(pairs, pair_levels, stated_analyses, redrawn, least)
    by_pairs = mirrors.judge(setting, (pairs + mirrored_pairs) / 2, count, least)
    if by_pairs is not None:
        gap = levels.narrowed(gap, by_pairs).where(by_pairs["lower"].notnull(), gap)
    pair_verdict = contrasts.judge_pairs(gap, margin)
    # Methods that were added later must not change the verdicts on the stated ones.
    stated_pairs = stated & stated.rename(algorithm="rival")
    verdict = contrasts.judge_setting(
        means["mean"].where(stated), pair_verdict.where(stated_pairs, "")
    )
    rank = contrasts.ranks(gap.where(stated_pairs))
    chance = intervals.chance_of_lower(pairs, pair_levels)
    candidates = means["mean"].where(stated & (verdict != "worse"))
    order = [*candidates.sortby(candidates).dropna("algorithm")["algorithm"].values]
    lowest = str(order[0]) if order else ""
    against_lowest = pair_verdict.sel(rival=lowest or setting.stated[0], drop=True)
    running = (verdict == "undecided") | (facts["algorithm"] == lowest)
    running = (running | (against_lowest == "undecided")).drop_vars("rival", errors="ignore")
    open_pairs = (pair_verdict == "undecided") & running & running.rename(algorithm="rival")
    estimates = all_seeds.assign(mean=_differences(best_values).mean("seed"))
    comparison = xr.Dataset(
        {
            "compared": compared,
            "excluded": ran.any("seed") & ~compared,
            "outdated": facts["algorithm"].isin(outdated_labels(facts)),
            "same_as": ("algorithm", same_as),
            "guarantee": facts["guarantee"].where(compared, ""),
            "runs": ran.sum("seed"),
            "mirrors": mirrors.mirrors_run(facts),
            "failed": mirrors.failed(facts),
            **means[["mean", "lower", "upper"]],
            "difference": gap["mean"],
            "difference_lower": gap["lower"],
            "difference_upper": gap["upper"],
            "deviation": all_seeds["deviation"],
            "verdict": verdict,
            "pair_verdict": pair_verdict,
            "added": against_lowest.where(against_lowest != "", "not compared").where(
                facts["algorithm"].isin([*setting.added]), ""
            ),
            **{f"rank_{end}": rank[end] for end in ("lower", "upper")},
            "chance": chance["mean"],
            **{f"chance_{end}": chance[end] for end in ("lower", "upper")},
            "reach_over_records": _half_widths_over_records(facts, values, pair_levels),
            "control": control or lowest,
            "possible_lead": _possible_lead(gap["lower"], values, control or lowest),
            "lowest": lowest,
            "runner_up": _runner_up(means["mean"].where(stated), lowest),
            "seeds": _seeds_needed(
                estimates, verdict, pair_verdict, lowest, margin, level, redrawn
            ),
            "gain": mirrors.gain(pairs, mirrored_pairs, open_pairs, (stated_analyses or [0])[0]),
            "pairs": math.nan
            if by_pairs is None
            else _seeds_needed(
                by_pairs.assign(mean=estimates["mean"]),
                verdict,
                pair_verdict,
                lowest,
                margin,
                float(by_pairs.attrs["level"]),
                redrawn,
            ),
            "level": level,
            "margin": margin,
            "analyses": len(stated_analyses),
            "redrawn": redrawn,
            **setting.floor,
            "constant": facts[facts.attrs["metric"]].attrs.get("best_constant", math.nan),
        }
    )
    metric = facts.attrs["metric"]
    rival = facts.sel(algorithm=setting.labels[0])
    coordinates = {
        **{name: facts.attrs[name] for name in ("experiment", "dataset_note", "metric")},
        "dataset": statistics.data_of(facts.attrs),
        **{name: facts[metric].attrs[name] for name in ("long_name", "units")},
        **{name: rival[name].item() for name in ("delta", "relation", "unit")},
        "fraction": statistics.is_fraction(facts),
        "epsilon": setting.epsilon,
    }
    return comparison.assign_coords(coordinates)


def _differences(values: xr.DataArray) -> xr.DataArray:
    """Return the differences of methods and their rivals at each seed."""
    return values - values.rename(algorithm="rival")


def _possible_lead(lower: xr.DataArray, values: xr.DataArray, control: str) -> float:
    """Return the largest lead over a control that lower ends of differences over ``algorithm`` and ``rival`` allow."""
    others = values.notnull().any("seed") & (values["algorithm"] != control)
    if control not in lower["rival"] or not others.any():
        return math.nan
    # A method without an interval may have any lead.
    ends = lower.sel(rival=control, drop=True).where(others, drop=True)
    return max(-float(ends.min(skipna=False)), 0.0) if ends.notnull().all() else math.nan


def _half_widths_over_records(
    facts: xr.Dataset, values: xr.DataArray, level: xr.DataArray
) -> xr.DataArray:
    """Return half the intervals over test records, of methods that compete by errors; NaN without counted mistakes."""
    compete = values.notnull().any("seed")
    nothing = xr.full_like(values.isel(seed=0, drop=True), np.nan)
    pairs = nothing + nothing.rename(algorithm="rival")
    if "mistakes" not in facts or facts.attrs["metric"] != "test_error" or not compete.any():
        return pairs
    runs = facts["status"].isin(SUCCESSFUL).sum("seed")
    parts = (facts["mistakes"] / runs).isel(algorithm=compete.values)
    return intervals.half_width_over_records(parts, level).reindex_like(pairs)


def _seeds_needed(
    differences: xr.Dataset,
    verdict: xr.DataArray,
    pair_verdict: xr.DataArray,
    lowest: str,
    margin: float,
    level: float,
    redrawn: float,
) -> float:
    """Return the number of seeds that makes a setting conclusive: that of its hardest pair with the lowest mean."""
    region = contrasts.equivalent(margin, level)
    needed = [0.0]
    for label in map(str, verdict["algorithm"].values[(verdict == "undecided").values]):
        place = {"algorithm": label, "rival": lowest}
        if label != lowest and pair_verdict.sel(place).item() in ("undecided", ""):
            mean, deviation, n = (
                float(differences[name].sel(place)) for name in ("mean", "deviation", "n")
            )
            pair = intervals.Estimate(mean, deviation, int(n), redrawn)
            needed.append(power.seeds_needed([(pair, region)]))
    return max(needed)
