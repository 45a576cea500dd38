"""Settings of a comparison: a budget of an experiment, with the methods that may be compared there."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import xarray as xr

from admmbench.base.outcomes import Outcome
from admmbench.inference import intervals
from admmbench.results import statistics
from admmbench.results.joining import MIRROR


@dataclass(frozen=True)
class Setting:
    """Budget of an experiment with the methods that may be compared there."""

    facts: xr.Dataset
    """Variables that comparisons read, see `select_facts`."""
    floor: dict[str, float | str]
    """Lowest mean without privacy, see `_floor`."""
    epsilon: float
    """The budget."""
    labels: list[str]
    """Labels of the methods."""

    @cached_property
    def same_as(self) -> dict[str, str]:
        """Return for each label the rival that has the same values.

        Of several labels with the same values, the rival is one that the setting was stated with, and that has the most
        seeds. Values are the same at all budgets: two methods that share a run at one budget, by their tuning, stay
        two.
        """
        facts = self.facts.sel(algorithm=self.labels)
        dims = "algorithm", "epsilon", "seed"
        ran = (facts["status"] != Outcome.NOT_RUN).transpose(*dims).values
        metrics = dict.fromkeys((facts.attrs["metric"], "train_loss"))
        values = [statistics.after_start(facts[name]) for name in metrics]
        arrays = [value.transpose(*dims, "round").values for value in values]

        def same(first: int, second: int) -> bool:
            shared = ran[first] & ran[second]
            pairs = [(array[first, shared], array[second, shared]) for array in arrays]
            # Two methods without any value in common runs are not known to be the same.
            return all(
                np.array_equal(one, other, equal_nan=True) and np.isfinite(one).any()
                for one, other in pairs
            )

        later = statistics.added(self.facts)
        order = sorted(
            range(len(self.labels)), key=lambda k: (self.labels[k] in later, -ran[k].sum())
        )
        rivals: list[int] = []
        rival_of = {}
        for place in order:
            rival = next((known for known in rivals if same(known, place)), place)
            if rival == place:
                rivals.append(place)
            rival_of[self.labels[place]] = self.labels[rival]
        return rival_of

    @property
    def rivals(self) -> list[str]:
        """Return the methods, each under one of its labels."""
        return [label for label in self.labels if self.same_as[label] == label]

    @property
    def added(self) -> dict[str, int]:
        """Return the rivals that were added later, with their turns, which do not depend on the setting."""
        of_pairs = statistics.turn_of_pairs(self.facts) or math.inf
        turns = enumerate(statistics.added(self.facts), 1)
        return {label: turn + (turn >= of_pairs) for turn, label in turns if label in self.rivals}

    @property
    def stated(self) -> list[str]:
        """Return the rivals that the setting was stated with."""
        added = self.added
        return [label for label in self.rivals if label not in added]

    @property
    def of_totals(self) -> bool:
        """Return whether the budget is a total ε of the whole run."""
        return statistics.of_whole_runs(self.facts) and math.isfinite(self.epsilon)

    @property
    def pairs(self) -> int:
        """Count the pairs of rivals that the setting was stated with."""
        return math.comb(len(self.stated), 2)


def select_facts(results: xr.Dataset) -> xr.Dataset:
    """Return the variables and coordinates that comparisons read, all as variables.

    Selecting from all variables of the results would take most of the time.
    """
    names = ["status", "guarantee", "delta", "relation", "unit", "noise_magnitude"]
    names += ["agents", "features", "method"]
    names += [n for n in ("mistakes", "train_loss", *MIRROR) if n in results]
    return results.reset_coords()[list(dict.fromkeys([results.attrs["metric"], *names]))]


def equally_private_groups(results: xr.Dataset) -> Iterator[tuple[float, list[str]]]:
    """Yield each budget with a group of equally private methods: one group, unless methods set delta."""
    table = statistics.equally_private(results)
    for epsilon in map(float, results["epsilon"].values):
        groups = np.unique(table.sel(epsilon=epsilon).values, axis=0)
        for group in groups[groups.sum(axis=1) > 1]:
            yield epsilon, list(table["rival"].values[group])


def make_settings(results: xr.Dataset, rivals: Iterable[tuple[float, list[str]]]) -> list[Setting]:
    """Make the settings of an experiment from pairs of a budget and the labels of rivals."""
    groups, facts = list(rivals), select_facts(results)
    floor = _floor(facts) if groups else {}
    return [Setting(facts, floor, *group) for group in groups]


def _floor(facts: xr.Dataset) -> dict[str, float | str]:
    """Return the lowest mean of methods without a budget and without noise, its interval and its method."""
    names = {"floor": "mean", "floor_lower": "lower", "floor_upper": "upper"}
    if math.inf in facts["epsilon"].values:
        free = facts.sel(epsilon=math.inf)
        values = statistics.final_if_none_failed(free, free.attrs["metric"]).where(
            ~statistics.noisy(free)
        )
        means = intervals.student(values, redrawn=statistics.redrawn(free))
        means = means.sortby(means["mean"]).dropna("algorithm", subset=["mean"])
        if means.sizes["algorithm"]:
            best = means.isel(algorithm=0)
            numbers = {name: best[column].item() for name, column in names.items()}
            return {**numbers, "floor_method": str(best["algorithm"].item())}
    return {**dict.fromkeys(names, math.nan), "floor_method": ""}
