"""One number per run against epsilon, or another quantity in which runs differ."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from pydantic import AfterValidator, Field

from admmbench.figures import wording
from admmbench.figures.base import PARAMETER, Figure
from admmbench.figures.tidy import combine, points, ran
from admmbench.results.declarations import with_declarations
from admmbench.validation import unknown

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr
    from matplotlib.axes import Axes

    from admmbench.figures.look import Look

_METHOD_AXES = ("agents", "delta", "features")
_TOTALS = {
    "epsilon_total": "Guaranteed composed privacy loss, ε",
    "epsilon_moments": "Composed privacy loss by the moments accountant, ε",
}
_AXES = {
    "epsilon": "Privacy budget per iteration, ε",
    **_TOTALS,
    "agents": "Agents",
    "features": "Features",
    "delta": "Failure probability of an iteration, δ",
}


def _axis(name: str) -> str:
    """Return the name of an axis, or refuse an unknown one."""
    parameter = name.startswith(PARAMETER) and name.removeprefix(PARAMETER).isidentifier()
    if name in _AXES or parameter:
        return name
    raise ValueError(unknown("axis", name, [*_AXES, "params.…"]))


class Tradeoff(Figure):
    """Trade-off between one number per run and epsilon, or another quantity in which runs differ.

    There is a line for each method, or for each epsilon where methods differ in agents, delta, features or a parameter.
    The line is the mean over seeds with its band after the last round, or the lowest value of all seeds after that
    round, as in claims on "the best of 10 runs". Methods that ran only without noise are dashed reference lines.
    """

    against: Annotated[
        str,
        AfterValidator(_axis),
        Field(description=f"the horizontal axis: {', '.join(_AXES)}, or params. and a parameter"),
    ] = "epsilon"
    statistic: Annotated[
        Literal["final", "best"],
        Field(
            description="of the values after the last round: their mean, or the best of the runs"
        ),
    ] = "final"

    def says(self, n_seeds: int) -> str:
        """See `Figure.says`."""
        if self.statistic == "best":
            return f"Lowest of {n_seeds} seeds after the last round."
        return super().says(n_seeds)

    def axes(self, shown: xr.Dataset) -> tuple[str, str]:
        """See `Figure.axes`."""
        from admmbench.results import statistics

        name = _AXES.get(self.against, self.against.removeprefix(PARAMETER))
        if self.against == "epsilon" and statistics.of_whole_runs(shown):
            name = "Privacy budget of the whole run, ε"
        lowest = "\nlowest over seeds" if self.statistic == "best" else ""
        return name, self.scale(shown).label + lowest

    @property
    def _is_over_methods(self) -> bool:
        """Return whether the axis is a property of methods, and not of the runs of a method."""
        return self.against in _METHOD_AXES or self.against.startswith(PARAMETER)

    def references(self, shown: xr.Dataset) -> list[str]:
        """See `Figure.references`; against a parameter, methods for reference that do not have it."""
        if not self.against.startswith(PARAMETER):
            return super().references(shown)
        places, roles = self._method_places(shown), with_declarations(shown)["role"].values
        return [
            str(label)
            for label, role in zip(shown["algorithm"].values, roles, strict=True)
            if role != "contender" and label not in places and ran(shown, label, math.inf)
        ]

    def table(self, shown: xr.Dataset) -> pd.DataFrame:
        """Make a row for each point of a line, with the ``tick`` at its place; reference lines have no place."""
        from admmbench.results import statistics

        values = statistics.final(shown, self.metric) * self.scale(shown).factor
        if self.statistic == "best" and "seed" in values.dims:
            values = values.min("seed")
        references = self.references(shown)
        parts = [
            points(values.sel(algorithm=label, epsilon=[math.inf]))[["y"]].assign(line=label)
            for label in references
        ]
        others = [label for label in shown["algorithm"].values if label not in references]
        chosen = {"algorithm": others, "epsilon": self.budgets(shown)}
        shown, values = shown.sel(chosen), values.sel(chosen)
        lines = self._over_methods if self._is_over_methods else self._over_budgets
        for name, ticks, line_values in lines(shown, values):
            rows = points(line_values)
            parts.append(rows.assign(line=name, tick=rows["x"].map(ticks)))
        return combine({"": parts})

    def _over_budgets(
        self, shown: xr.Dataset, values: xr.DataArray
    ) -> Iterator[tuple[str, dict[float, float], xr.DataArray]]:
        """Yield name, ticks and values of one line for each method, over its budgets."""
        from admmbench.results import statistics

        for label in map(str, shown["algorithm"].values):
            method_values = values.sel(algorithm=label)
            budgets = x = method_values["epsilon"]
            if self.against in _TOTALS:
                x = statistics.final(shown, self.against).sel(algorithm=label)
            finite = np.isfinite(x.values) & np.isfinite(budgets.values)
            line = method_values.isel(epsilon=finite).assign_coords(epsilon=x.values[finite])
            # Only totals are at the places of budgets, so that ticks can name these.
            named = self.against == "epsilon" or statistics.of_whole_runs(shown)
            places = zip(x.values[finite], budgets.values[finite], strict=True)
            yield label, dict(places) if named else {}, line

    def _over_methods(
        self, shown: xr.Dataset, values: xr.DataArray
    ) -> Iterator[tuple[str, dict[float, float], xr.DataArray]]:
        """Yield one line for each budget and each group of methods that differ in the axis alone."""
        places = self._method_places(shown)
        facts = ["method", "variant", *(name for name in _METHOD_AXES if name != self.against)]
        if self.against in _METHOD_AXES:
            facts.append("params")
        groups: dict[tuple[object, ...], list[str]] = {}
        for label in places:
            method = shown.sel(algorithm=label)
            groups.setdefault(tuple(method[name].item() for name in facts), []).append(label)
        names = zip(group_names(groups.values()), groups.values(), strict=True)
        for name, labels in names:
            labels.sort(key=lambda label: places[label])
            x = [places[label] for label in labels]
            for budget in values["epsilon"].values:
                words = [name] * (len(groups) > 1)
                if values.sizes["epsilon"] > 1 or (not words and math.isfinite(budget)):
                    words.append(wording.budget(budget))
                if not words:  # nothing is private
                    words = [str(shown["method"].sel(algorithm=labels[0]).item())]
                line = values.sel(algorithm=labels, epsilon=budget).assign_coords(algorithm=x)
                yield ", ".join(words), dict(zip(x, x, strict=True)), line

    def _method_places(self, shown: xr.Dataset) -> dict[str, float]:
        """Return the places of methods on an axis of methods, by label, without those that lack the parameter."""
        if self.against in _METHOD_AXES:
            values = shown[self.against].values
        else:
            name = self.against.removeprefix(PARAMETER)
            settings = [
                json.loads(str(text)).get(name, math.nan) for text in shown["params"].values
            ]
            values = np.array(settings, float)
        pairs = zip(shown["algorithm"].values, values, strict=True)
        return {str(label): float(place) for label, place in pairs if np.isfinite(place)}

    def looks(self, table: pd.DataFrame, methods: Mapping[str, Look]) -> Mapping[str, Look]:
        """Return the style of each line; the order decides it for lines that are no single methods."""
        from admmbench.figures import look

        if not self._is_over_methods:
            return methods
        return {**methods, **look.of_lines(table.dropna(subset="x")["line"].unique())}

    def plot(self, panel: Axes, table: pd.DataFrame, looks: Mapping[str, Look]) -> None:
        """See `Figure.plot`: logarithmic, with ticks at the places of runs."""
        from admmbench.figures import style

        style.draw_lines(panel, table, looks, points=True)
        if table["x"].notna().any():
            panel.set_xscale("log")
            style.set_ticks(panel.xaxis, table["tick"].dropna().unique().tolist())


def group_names(groups: Iterable[Sequence[str]]) -> list[str]:
    """Return names of groups of methods: the common start of their labels, or the first label if names are the same."""
    groups = list(groups)
    names = [_common_start(labels) for labels in groups]
    distinct = all(names) and len(set(names)) == len(names)
    return names if distinct else [f"{labels[0]} …" for labels in groups]


def _common_start(labels: Sequence[str]) -> str:
    """Return the words with which all labels begin."""
    places = zip(*(label.split() for label in labels), strict=False)
    same = itertools.takewhile(lambda words: len(set(words)) == 1, places)
    return " ".join(words[0] for words in same).rstrip(" ,=")
