"""One number per run against what runs differ in."""

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
from admmbench.figures.tidy import points, ran, together
from admmbench.results.kinship import with_kinship
from admmbench.validation import unknown

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr
    from matplotlib.axes import Axes

    from admmbench.figures.look import Look

_OF_METHODS = ("agents", "delta", "features")
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
    """Refuse what is no axis."""
    parameter = name.startswith(PARAMETER) and name.removeprefix(PARAMETER).isidentifier()
    if name in _AXES or parameter:
        return name
    raise ValueError(unknown("axis", name, [*_AXES, "params.…"]))


class Tradeoff(Figure):
    """A trade-off shows one number per run against epsilon, or against something else.

    There is a line for each method, or for each epsilon where methods differ in agents, delta, features or a parameter.
    It is the mean over seeds with its band after the last round, or the lowest value of all seeds after that round, as
    claims on "the best of 10 runs" take it. Methods that ran only without noise are dashed reference lines.
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
    def _of_methods(self) -> bool:
        """Whether methods differ in what the axis has, not runs of a method."""
        return self.against in _OF_METHODS or self.against.startswith(PARAMETER)

    def references(self, shown: xr.Dataset) -> list[str]:
        """See `Figure.references`; against a parameter, methods for reference that do not have it."""
        if not self.against.startswith(PARAMETER):
            return super().references(shown)
        places, roles = self._places(shown), with_kinship(shown)["role"].values
        return [
            str(label)
            for label, role in zip(shown["algorithm"].values, roles, strict=True)
            if role != "contender" and label not in places and ran(shown, label, math.inf)
        ]

    def table(self, shown: xr.Dataset) -> pd.DataFrame:
        """Make a row for each point of a line, with the ``tick`` that names its place; references have no place."""
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
        lines = self._over_methods if self._of_methods else self._over_budgets
        for name, ticks, own in lines(shown, values):
            rows = points(own)
            parts.append(rows.assign(line=name, tick=rows["x"].map(ticks)))
        return together([part.assign(panel="") for part in parts])

    def _over_budgets(
        self, shown: xr.Dataset, values: xr.DataArray
    ) -> Iterator[tuple[str, dict[float, float], xr.DataArray]]:
        """Name, ticks and values of one line for each method, over its budgets."""
        from admmbench.results import statistics

        for label in map(str, shown["algorithm"].values):
            own = values.sel(algorithm=label)
            budgets = x = own["epsilon"]
            if self.against in _TOTALS:
                x = statistics.final(shown, self.against).sel(algorithm=label)
            kept = np.isfinite(x.values) & np.isfinite(budgets.values)
            # Guaranteed losses are where budgets are only if these are totals.
            named = self.against == "epsilon" or statistics.of_whole_runs(shown)
            ticks = dict(zip(x.values[kept], budgets.values[kept], strict=True)) if named else {}
            yield label, ticks, own.isel(epsilon=kept).assign_coords(epsilon=x.values[kept])

    def _over_methods(
        self, shown: xr.Dataset, values: xr.DataArray
    ) -> Iterator[tuple[str, dict[float, float], xr.DataArray]]:
        """One line for each budget and each group of methods that are alike but for the axis."""
        places = self._places(shown)
        alike = ["method", "variant", *(name for name in _OF_METHODS if name != self.against)]
        if self.against in _OF_METHODS:
            alike.append("params")
        groups: dict[tuple[object, ...], list[str]] = {}
        for label in places:
            own = shown.sel(algorithm=label)
            groups.setdefault(tuple(own[name].item() for name in alike), []).append(label)
        names = zip(common(groups.values()), groups.values(), strict=True)
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

    def _places(self, shown: xr.Dataset) -> dict[str, float]:
        """Where methods are on such an axis, by label; a parameter may be one that not all methods have."""
        if self.against in _OF_METHODS:
            found = shown[self.against].values
        else:
            name = self.against.removeprefix(PARAMETER)
            given = [json.loads(str(text)).get(name, math.nan) for text in shown["params"].values]
            found = np.array(given, float)
        pairs = zip(shown["algorithm"].values, found, strict=True)
        return {str(label): float(place) for label, place in pairs if np.isfinite(place)}

    def looks(self, table: pd.DataFrame, methods: Mapping[str, Look]) -> Mapping[str, Look]:
        """Lines that stand for no single method look as their order says."""
        from admmbench.figures import look

        if not self._of_methods:
            return methods
        return {**methods, **look.of_lines(table.dropna(subset="x")["line"].unique())}

    def plot(self, panel: Axes, table: pd.DataFrame, looks: Mapping[str, Look]) -> None:
        """See `Figure.plot`: logarithmic, with ticks at what was run."""
        from admmbench.figures import style

        style.draw_lines(panel, table, looks, points=True)
        if table["x"].notna().any():
            panel.set_xscale("log")
            style.set_ticks(panel.xaxis, table["tick"].dropna().unique().tolist())


def common(groups: Iterable[Sequence[str]]) -> list[str]:
    """Name groups of methods by the words with which their labels begin, or by first labels if those are alike."""
    groups = list(groups)
    names = [_leading(labels) for labels in groups]
    distinct = all(names) and len(set(names)) == len(names)
    return names if distinct else [f"{labels[0]} …" for labels in groups]


def _leading(labels: Sequence[str]) -> str:
    """Words with which all labels begin."""
    places = zip(*(label.split() for label in labels), strict=False)
    same = itertools.takewhile(lambda words: len(set(words)) == 1, places)
    return " ".join(words[0] for words in same).rstrip(" ,=")
