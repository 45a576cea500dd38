"""Who wins at equal privacy: methods of several experiments, in each setting and over all. And who leads elsewhere.

A *setting* is a data set and a guarantee: an experiment, a total epsilon of the whole run, its delta and neighbours.
The rivals of a setting are the methods that give this guarantee, see `admmbench.results.statistics.equally_private`.
Studies without totals have settings as well, whose rivals need not be equally private.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
import xarray as xr

from admmbench.base.outcomes import FAILED, SUCCESSFUL, Outcome
from admmbench.inference import contrasts, intervals, levels, power
from admmbench.results import statistics
from admmbench.results.reference import outdated_labels

FEASIBLE = 0.01
"""Largest violation of constraints of a point that counts as a solution."""

# What stands for a method that an experiment does not have, where NaN does not.
_FILLS = {
    "compared": False,
    "excluded": False,
    "outdated": False,
    "same_as": "",
    "verdict": "",
    "added": "",
    "pair_verdict": "",
    "guarantee": "",
    "runs": 0,
    "lost": 0,
}


def compare(experiments: Iterable[xr.Dataset]) -> xr.Dataset | None:
    """Compare methods by the final metric of their problem, in every setting with two or more rivals.

    Intervals of differences hold together at `admmbench.inference.levels.TOGETHER`, for all pairs of rivals, all
    settings and all interim analyses that the experiments state. Pairs count whether or not runs were lost.

    Methods with the same values in every evaluated round at all seeds and budgets, such as two names of one method, are
    one rival: the first of them, or the one that was run with more seeds. Its pairs count once: nothing else in results
    changes the number of comparisons.

    Methods that an experiment states as ``added`` change nothing of this: each is compared with those that the
    setting was stated with, two at least, at the level of `admmbench.inference.levels.level_of_added`.

    A method that lost a run, such as one that diverged, is not judged by the seeds that went well: it has no mean, does
    not compete, and is last in :func:`mean_ranks`.

    Parameters
    ----------
    experiments
        Results, each as its ``results.nc`` holds them. Those whose budgets are not of whole runs have no settings.

    Returns
    -------
    xarray.Dataset or None
        None if no setting has two rivals. Dims ``setting``, and ``algorithm`` and ``rival``, both with the labels of
        all experiments. Values are in the unit of the metric.

        - ``compared``, ``excluded``: methods that are rivals in a setting, and others that ran at its budget.
        - ``same_as``: label of the rival that a method has the values of, mostly its own. Pairs and verdicts are of
          such rivals alone; `marks` and `names` give them to the other methods.
        - ``guarantee``: what the total of a rival is worth. ``runs``, ``lost``: its runs, and those without a model.
        - ``mean``, ``lower``, ``upper``: over seeds, with the t interval of each method by itself.
        - ``difference``, ``difference_lower``, ``difference_upper``: ``algorithm`` minus ``rival``, paired by seed,
          with simultaneous intervals; NaN where two methods share fewer than two seeds, or were both added.
          ``deviation``: the standard deviation over seeds of this difference.
        - ``pair_verdict``, see `admmbench.inference.contrasts.judge_pairs`, and ``verdict`` on each method, see
          `admmbench.inference.contrasts.judge_setting`, empty for those that were added.
        - ``added``: the verdict of each method that was added on its pair with ``lowest``, ``not compared`` where one
          of them has no mean, and empty for methods that the setting was stated with.
        - ``rank_lower``, ``rank_upper``: bounds of the rank of a method, see `admmbench.inference.contrasts.ranks`.
        - ``chance``, ``chance_lower``, ``chance_upper``: probability that ``algorithm`` has the lower value at a seed,
          see `admmbench.inference.intervals.chance_of_lower`.
        - ``reach_over_records``: half the interval of a difference over other test records, see
          `admmbench.inference.intervals.half_width_over_records`; NaN where results do not say which were wrong.
        - ``outdated``: whether the results of a method are to be run again, see `admmbench.results.reference`.
        - ``control``: label of the method that others are compared with: the one that the experiment states, else
          ``lowest``.
        - ``lowest``, ``runner_up``: labels with the lowest and the next mean, empty where there are none.
        - ``seeds``: how many decide the setting, see `admmbench.inference.power.seeds_needed`; 0 where it is decided.
        - ``level``: of one interval of two methods that the setting was stated with. ``margin`` and the number of
          interim ``analyses`` are as the experiment states them.
        - ``redrawn``: see `admmbench.results.statistics.redrawn`.
        - ``floor``, ``floor_lower``, ``floor_upper``, ``floor_method``: the lowest mean without privacy.
        - ``constant``: value of the best constant prediction; NaN where it is not known.

        Coordinates of a setting: ``experiment``, ``dataset``, ``dataset_note``, ``epsilon``, ``delta``, ``relation``,
        ``unit``; ``metric`` with its ``long_name``, ``units`` and whether it is a ``fraction`` of the records.
        Attributes: ``comparisons``, the number of pairs of methods that settings were stated with.
    """
    whole = (results for results in experiments if statistics.of_whole_runs(results))
    settings = [
        setting for results in whole for setting in _settings(results, _equally_private(results))
    ]
    return _together([setting for setting in settings if setting.of_totals])


def verdicts(results: xr.Dataset, comparison: xr.Dataset | None) -> xr.DataArray:
    """Return the verdicts on methods of one experiment among those that are equally private.

    Parameters
    ----------
    results
        As in :func:`compare`.
    comparison
        What :func:`compare` found for all experiments that are judged together, this one among them. Its settings are
        judged nowhere else.

    Returns
    -------
    xarray.DataArray
        Over ``algorithm`` and ``epsilon``, see `admmbench.inference.contrasts.judge_setting`, and ``added`` of
        :func:`compare`; empty where a method has no rival. Methods that :func:`compare` leaves out, without privacy or
        with budgets that are not of whole runs, are judged here; their intervals hold together for this experiment.
    """
    status = results["status"].isel(seed=0, drop=True)
    found = xr.full_like(status, "", "U16").reset_coords(drop=True)
    others = [
        setting
        for setting in _settings(results, _equally_private(results))
        if not setting.of_totals
    ]
    together = [] if comparison is None else marks(comparison)
    alone = [] if (own := _together(others)) is None else marks(own)
    for setting in itertools.chain(together, alone):
        if setting["experiment"] == results.attrs["experiment"]:
            rivals = setting["algorithm"][setting.values != ""]
            place = {"algorithm": rivals, "epsilon": setting["epsilon"].item()}
            found.loc[place] = setting.sel(algorithm=rivals).values
    return found


def marks(comparison: xr.Dataset) -> xr.DataArray:
    """Return how methods are marked in tables and pictures: by their verdict, or that of those that were added.

    Parameters
    ----------
    comparison
        What :func:`compare` found, or a setting of it.
    """
    own = comparison["verdict"].where(comparison["added"] == "", comparison["added"])
    return _of_same(own, comparison)


def names(comparison: xr.Dataset) -> dict[str, list[str]]:
    """Return for each rival the labels of all methods that have its values in every setting, in their order.

    Parameters
    ----------
    comparison
        What :func:`compare` found, or a setting of it.
    """
    same = comparison["same_as"].where(comparison["compared"], "").transpose("algorithm", ...)
    found: dict[str, list[str]] = {}
    for label, own in zip(same["algorithm"].values, same.values.tolist(), strict=True):
        if any(own):  # else it is no rival
            found.setdefault(str(own), []).append(str(label))
    return {label: labels for labels in found.values() for label in labels}


def _of_same(values: xr.DataArray, comparison: xr.Dataset) -> xr.DataArray:
    """Give methods with the values of a rival what the rival has."""
    values, same = xr.broadcast(values, comparison["same_as"])
    places = same.copy(
        data=same.indexes["algorithm"].get_indexer(same.values.ravel()).reshape(same.shape)
    )
    taken = np.take_along_axis(values.values, places.values, values.get_axis_num("algorithm"))
    return values.copy(data=taken)


def lead(results: xr.Dataset) -> xr.Dataset | None:
    """Compare the methods of one experiment at each of its budgets, whether or not they are equally private.

    At a budget, methods that add no noise are left out; without a budget, those that add noise of their own, and optima
    that are computed for reference. Methods of a row have data of as many features. With constraints, methods for the
    same number of agents are compared by their objective. Runs whose last point violates constraints by more than
    `FEASIBLE` count as lost. Methods of a timed study are compared by their computing time.

    Parameters
    ----------
    results
        As in :func:`compare`; intervals of differences hold together for all pairs of this experiment.

    Returns
    -------
    xarray.Dataset or None
        As of :func:`compare`; ``delta``, ``relation`` and ``unit`` are those of one method. None if no budget has two
        methods.
    """
    constrained = statistics.is_constrained(results)
    if constrained:
        results = _by_objective(results)
    elif "seconds" in results:
        # The margin is stated for errors.
        results = results.assign_attrs(metric="seconds", margin=0.0)
    facts = _facts(results)
    ran = (facts["status"] != Outcome.NOT_RUN).any("seed")
    ran &= statistics.noisy(facts) == (facts["epsilon"] < math.inf)
    ran &= ~statistics.is_optimum(results)
    # An objective may add up over agents.
    by = ["features", "agents"] if constrained else ["features"]
    found = []
    for epsilon in map(float, facts["epsilon"].values):
        methods = facts.isel(algorithm=ran.sel(epsilon=epsilon).values)
        for _, group in methods.groupby(by) if methods.sizes["algorithm"] else ():
            several = len(set(group["method"].values)) if constrained else group.sizes["algorithm"]
            if several > 1:
                found.append((epsilon, list(group["algorithm"].values)))
    return _together(_settings(results, found))


def _by_objective(results: xr.Dataset) -> xr.Dataset:
    """Compare by the objective, and count runs as lost that do not meet the constraints.

    A margin that is stated for another metric, such as an error, says nothing of the objective.
    """
    met = ~(statistics.final(results, "feasibility") > FEASIBLE)
    status = results["status"].where(met | (results["status"] < 0), Outcome.INFEASIBLE)
    margin = statistics.margin(results) if results.attrs["metric"] == "train_loss" else 0.0
    return results.assign(status=status).assign_attrs(metric="train_loss", margin=margin)


def _together(settings: Sequence[_Setting]) -> xr.Dataset | None:
    """Compare the rivals of all settings that were stated with two methods, perhaps two names of one rival."""
    settings = [
        setting
        for setting in settings
        if len({*setting.labels} - {*statistics.added(setting.facts)}) > 1
    ]
    if not settings:
        return None
    count = max(sum(setting.pairs > 0 for setting in settings), 1)
    parts = [_compared(setting, count) for setting in settings]
    labels = list(dict.fromkeys(str(label) for part in parts for label in part["algorithm"].values))
    fills = {name: _FILLS.get(str(name), np.nan) for name in parts[0].data_vars}
    alike = [part.reindex(algorithm=labels, rival=labels, fill_value=fills) for part in parts]
    together = xr.concat(
        alike, "setting", data_vars="all", coords="all", compat="equals", join="exact"
    )
    together["same_as"] = together["same_as"].where(together["compared"], together["algorithm"])
    return together.assign_attrs(comparisons=sum(setting.pairs for setting in settings))


def _runner_up(means: xr.DataArray, lowest: str) -> str:
    """Return the label of the lowest mean over ``algorithm`` but that of ``lowest``; empty if there is none."""
    others = means.where(means["algorithm"] != lowest)
    return str([*others.sortby(others).dropna("algorithm")["algorithm"].values, ""][0])


def mean_ranks(comparison: xr.Dataset) -> xr.DataArray:
    """Rank methods by their means in each setting, 1 for the lowest, and average over the settings.

    Equal means share a rank, and methods that lost runs share the last. Methods that are one rival count once. Methods
    that were added have none, so that the ranks of others stay.

    Parameters
    ----------
    comparison
        What :func:`compare` found.

    Returns
    -------
    xarray.DataArray
        Over the methods that are rivals in all settings, the lowest first.
    """
    everywhere = (comparison["compared"] & (comparison["added"] == "")).all("setting").values
    of_rivals = comparison[["mean", "same_as"]].isel(algorithm=everywhere)
    ranks = {}
    for place in range(comparison.sizes["setting"]):
        setting = of_rivals.isel(setting=place, drop=True).reset_coords(drop=True).to_dataframe()
        # Means of the same errors in another order may differ in their last digits.
        means = setting["mean"].round(12).fillna(np.inf).groupby(setting["same_as"]).first()
        ranks[place] = setting["same_as"].map(means.rank())
    found = pd.DataFrame(ranks).mean(axis=1).sort_values(kind="stable")
    return xr.DataArray(found, dims="algorithm")


@dataclass(frozen=True)
class _Setting:
    """Labels of methods of an experiment that may be compared at a budget; and its floor, see `_floor`."""

    facts: xr.Dataset
    floor: dict[str, float | str]
    epsilon: float
    labels: list[str]

    @cached_property
    def same_as(self) -> dict[str, str]:
        """For each label the rival whose values it has: one that the setting was stated with, and with the most seeds.

        They are the same at all budgets: two methods that tuning made one run at one of them stay two.
        """
        at = self.facts.sel(algorithm=self.labels)
        dims = "algorithm", "epsilon", "seed"
        ran = (at["status"] != Outcome.NOT_RUN).transpose(*dims).values
        metrics = dict.fromkeys((at.attrs["metric"], "train_loss"))
        values = [statistics.after_start(at[name]) for name in metrics]
        values = [each.transpose(*dims, "round").values for each in values]

        def same(first: int, second: int) -> bool:
            both = ran[first] & ran[second]
            pairs = [(each[first, both], each[second, both]) for each in values]
            return all(np.array_equal(*pair, equal_nan=True) for pair in pairs) and all(
                np.isfinite(own).any() for own, _ in pairs
            )

        later = statistics.added(self.facts)
        order = sorted(
            range(len(self.labels)), key=lambda k: (self.labels[k] in later, -ran[k].sum())
        )
        rivals: list[int] = []
        found = {}
        for place in order:
            rival = next((each for each in rivals if same(each, place)), place)
            if rival == place:
                rivals.append(place)
            found[self.labels[place]] = self.labels[rival]
        return found

    @property
    def rivals(self) -> list[str]:
        """Methods, each under one of its labels."""
        return [label for label in self.labels if self.same_as[label] == label]

    @property
    def added(self) -> dict[str, int]:
        """Those that were added later, with their turns, which do not depend on the setting."""
        turns = enumerate(statistics.added(self.facts), 1)
        return {label: turn for turn, label in turns if label in self.rivals}

    @property
    def stated(self) -> list[str]:
        """All others."""
        added = self.added
        return [label for label in self.rivals if label not in added]

    @property
    def of_totals(self) -> bool:
        """Whether rivals have the total of a whole run."""
        return statistics.of_whole_runs(self.facts) and math.isfinite(self.epsilon)

    @property
    def pairs(self) -> int:
        """Number of pairs of rivals that the setting was stated with."""
        return math.comb(len(self.stated), 2)


def _facts(results: xr.Dataset) -> xr.Dataset:
    """Take what comparisons read, all of it as variables: selecting from all variables takes most of the time."""
    names = ["status", "guarantee", "delta", "relation", "unit", "noise_magnitude"]
    names += ["agents", "features", "method"]
    names += [name for name in ("mistakes", "train_loss") if name in results]
    return results.reset_coords()[list(dict.fromkeys([results.attrs["metric"], *names]))]


def _equally_private(results: xr.Dataset) -> Iterator[tuple[float, list[str]]]:
    """Find the rivals at each budget: one group of them, unless methods set delta."""
    table = statistics.equally_private(results)
    for epsilon in map(float, results["epsilon"].values):
        groups = np.unique(table.sel(epsilon=epsilon).values, axis=0)
        for group in groups[groups.sum(axis=1) > 1]:
            yield epsilon, list(table["rival"].values[group])


def _settings(results: xr.Dataset, rivals: Iterable[tuple[float, list[str]]]) -> list[_Setting]:
    """Make the settings of an experiment, from budgets and rivals."""
    found, facts = list(rivals), _facts(results)
    floor = _floor(facts) if found else {}
    return [_Setting(facts, floor, *each) for each in found]


def _compared(setting: _Setting, count: int) -> xr.Dataset:
    """Compare the rivals of one setting of so many."""
    at = setting.facts.sel(epsilon=setting.epsilon)
    ran = at["status"] != Outcome.NOT_RUN
    compared, stated = (at["algorithm"].isin(labels) for labels in (setting.labels, setting.stated))
    values = statistics.unlost(at, at.attrs["metric"]).where(compared)
    redrawn = statistics.redrawn(at)
    means = intervals.student(values, redrawn=redrawn)
    values = values.where(at["algorithm"].isin(setting.rivals))
    same_as = [setting.same_as.get(str(label), str(label)) for label in at["algorithm"].values]
    control = str(at.attrs.get("control", ""))
    stated_analyses, margin = statistics.interim_analyses(at), statistics.margin(at)
    analyses = max(len(stated_analyses), 1)
    level = levels.level_of_pairs(setting.pairs, count, analyses)
    pairs = values - values.rename(algorithm="rival")
    of_pairs = levels.levels(setting.stated, setting.added, count, analyses).reindex_like(pairs)
    pairs = pairs.where(of_pairs.notnull())
    least = statistics.resolution(at)
    seen = intervals.student(pairs, level, redrawn, least)
    gap = levels.intersected(pairs, of_pairs, stated_analyses, redrawn, least)
    pair_verdict = contrasts.judge_pairs(gap, margin)
    both = stated & stated.rename(algorithm="rival")
    verdict = contrasts.judge_setting(means["mean"].where(stated), pair_verdict.where(both, ""))
    rank = contrasts.ranks(gap.where(both))
    chance = intervals.chance_of_lower(pairs, of_pairs)
    ahead = means["mean"].where(stated & (verdict != "worse"))
    order = [*ahead.sortby(ahead).dropna("algorithm")["algorithm"].values]
    lowest = str(order[0]) if order else ""
    beside = pair_verdict.sel(rival=lowest or setting.stated[0], drop=True)
    comparison = xr.Dataset(
        {
            "compared": compared,
            "excluded": ran.any("seed") & ~compared,
            "outdated": at["algorithm"].isin(outdated_labels(at)),
            "same_as": ("algorithm", same_as),
            "guarantee": at["guarantee"].where(compared, ""),
            "runs": ran.sum("seed"),
            "lost": at["status"].isin(FAILED).sum("seed"),
            **means[["mean", "lower", "upper"]],
            "difference": gap["mean"],
            "difference_lower": gap["lower"],
            "difference_upper": gap["upper"],
            "deviation": seen["deviation"],
            "verdict": verdict,
            "pair_verdict": pair_verdict,
            "added": beside.where(beside != "", "not compared").where(
                at["algorithm"].isin([*setting.added]), ""
            ),
            **{f"rank_{end}": rank[end] for end in ("lower", "upper")},
            "chance": chance["mean"],
            **{f"chance_{end}": chance[end] for end in ("lower", "upper")},
            "reach_over_records": _over_records(at, values, of_pairs),
            "control": setting.same_as.get(control, control) or lowest,
            "lowest": lowest,
            "runner_up": _runner_up(means["mean"].where(stated), lowest),
            "seeds": _needed(seen, verdict, pair_verdict, lowest, margin, level, redrawn),
            "level": level,
            "margin": margin,
            "analyses": len(stated_analyses),
            "redrawn": redrawn,
            **setting.floor,
            "constant": at[at.attrs["metric"]].attrs.get("best_constant", math.nan),
        }
    )
    metric = at.attrs["metric"]
    rival = at.sel(algorithm=setting.labels[0])
    facts = {
        **{name: at.attrs[name] for name in ("experiment", "dataset_note", "metric")},
        "dataset": statistics.data_of(at.attrs),
        **{name: at[metric].attrs[name] for name in ("long_name", "units")},
        **{name: rival[name].item() for name in ("delta", "relation", "unit")},
        "fraction": statistics.is_fraction(at),
        "epsilon": setting.epsilon,
    }
    return comparison.assign_coords(facts)


def _over_records(at: xr.Dataset, values: xr.DataArray, level: xr.DataArray) -> xr.DataArray:
    """Half the intervals over test records, of methods that compete by errors; NaN if results do not tell."""
    compete = values.notnull().any("seed")
    nothing = xr.full_like(values.isel(seed=0, drop=True), np.nan)
    pairs = nothing + nothing.rename(algorithm="rival")
    if "mistakes" not in at or not statistics.is_fraction(at) or not compete.any():
        return pairs
    runs = at["status"].isin(SUCCESSFUL).sum("seed")
    parts = (at["mistakes"] / runs).isel(algorithm=compete.values)
    return intervals.half_width_over_records(parts, level).reindex_like(pairs)


def _needed(
    seen: xr.Dataset,
    verdict: xr.DataArray,
    pair_verdict: xr.DataArray,
    lowest: str,
    margin: float,
    level: float,
    redrawn: float,
) -> float:
    """Seeds that decide a setting: as many as its hardest pair with the lowest mean takes."""
    region = contrasts.equivalent(margin, level)
    found = [0.0]
    for label in map(str, verdict["algorithm"].values[(verdict == "undecided").values]):
        at = {"algorithm": label, "rival": lowest}
        if label != lowest and pair_verdict.sel(at).item() in ("undecided", ""):
            mean, deviation, n = (float(seen[name].sel(at)) for name in ("mean", "deviation", "n"))
            pair = intervals.Estimate(mean, deviation, int(n), redrawn)
            found.append(power.seeds_needed([(pair, region)]))
    return max(found)


def _floor(facts: xr.Dataset) -> dict[str, float | str]:
    """Lowest mean of the methods of an experiment without a budget and without noise, and whose it is."""
    names = {"floor": "mean", "floor_lower": "lower", "floor_upper": "upper"}
    if math.inf in facts["epsilon"].values:
        at = facts.sel(epsilon=math.inf)
        values = statistics.unlost(at, at.attrs["metric"]).where(~statistics.noisy(at))
        means = intervals.student(values, redrawn=statistics.redrawn(at))
        means = means.sortby(means["mean"]).dropna("algorithm", subset=["mean"])
        if means.sizes["algorithm"]:
            best = means.isel(algorithm=0)
            numbers = {name: best[of].item() for name, of in names.items()}
            return {**numbers, "floor_method": str(best["algorithm"].item())}
    return {**dict.fromkeys(names, math.nan), "floor_method": ""}
