"""One number per run against what runs differ in."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from pydantic import AfterValidator, Field

from admmbench.figures.base import Figure
from admmbench.results import wording
from admmbench.validation import unknown

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

    from admmbench.figures.style import Look

_OF_METHODS = ("agents", "delta", "features")
_AXES = {
    "epsilon": "Privacy budget per iteration, ε",
    "epsilon_total": "Guaranteed composed privacy loss, ε",
    "agents": "Agents",
    "features": "Features",
    "delta": "Failure probability of an iteration, δ",
}
PARAMETER = "params."
"""Of an axis that is a parameter."""


def _axis(name: str) -> str:
    """Refuse what is no axis."""
    parameter = name.startswith(PARAMETER) and name.removeprefix(PARAMETER).isidentifier()
    if name in _AXES or parameter:
        return name
    raise ValueError(unknown("axis", name, [*_AXES, "params.…"]))


class Tradeoff(Figure):
    """One number per run against epsilon, or against something else.

    There is a line for each method, or for each epsilon where methods differ in agents, delta, features or a parameter.
    It is the mean over seeds with its band after the last round, or the lowest value over rounds and seeds. Methods
    that ran only without noise are dashed reference lines.
    """

    kind: Literal["tradeoff"]
    against: Annotated[
        str,
        AfterValidator(_axis),
        Field(description=f"the horizontal axis: {', '.join(_AXES)}, or params. and a parameter"),
    ] = "epsilon"
    statistic: Annotated[
        Literal["final", "best"],
        Field(description="the value after the last round, or the best of the runs"),
    ] = "final"

    @property
    def _of_methods(self) -> bool:
        """Whether methods differ in it, not runs of a method."""
        return self.against in _OF_METHODS or self.against.startswith(PARAMETER)

    def _places(self, shown: xr.Dataset) -> xr.DataArray:
        """Where methods are on such an axis."""
        if self.against in _OF_METHODS:
            return shown[self.against]
        name = self.against.removeprefix(PARAMETER)
        given = [json.loads(str(text)).get(name, math.nan) for text in shown["params"].values]
        return shown["params"].copy(data=np.array(given, float))

    def says(self, n_seeds: int) -> str:
        """See `Figure.says`."""
        if self.statistic == "best":
            return f"Lowest of {n_seeds} seeds and all evaluated rounds."
        return super().says(n_seeds)

    def draw(self, shown: xr.Dataset, looks: Mapping[str, Look]) -> Drawing:
        """See `Figure.draw`."""
        from admmbench.figures import style
        from admmbench.results import statistics

        drawing, ((panel,),) = style.sheet(self)
        scale = self.scale(shown)
        references = self.references(shown)
        values = statistics.reduce(shown, self.metric, self.statistic) * scale.factor
        for label in references:
            level = float(self._centre(values.sel(algorithm=label, epsilon=math.inf)))
            if math.isfinite(level):
                panel.axhline(level, label=label, **looks[label].line())
        others = [str(label) for label in shown["algorithm"].values if label not in references]
        chosen = {"algorithm": others, "epsilon": self.budgets(shown)}
        for label, look, own in self._lines(shown.sel(chosen), values.sel(chosen), looks):
            line = self._centre(own).dropna("x")
            if line.size == 0:
                continue
            panel.plot(line["x"], line, label=label, **look.line())
            if self.statistic == "final":
                look.spread(panel, own.sel(x=line["x"]), points=True)
        style.finish(panel, self)
        self._set_axis(panel, shown)
        lowest = "\nlowest over rounds and seeds" if self.statistic == "best" else ""
        style.set_label(panel, scale.label + lowest)
        return drawing

    def _centre(self, values: xr.DataArray) -> xr.DataArray:
        """Mean over seeds for the final value, lowest for the best one."""
        if "seed" not in values.dims:
            return values
        return values.min("seed") if self.statistic == "best" else values.mean("seed")

    def _lines(
        self, shown: xr.Dataset, values: xr.DataArray, looks: Mapping[str, Look]
    ) -> Iterator[tuple[str, Look, xr.DataArray]]:
        """Label, look and values of each line; values have the dimension ``x``."""
        if self._of_methods:
            return self._over_methods(shown, values)
        return self._over_budgets(shown, values, looks)

    def _name_of_axis(self, shown: xr.Dataset) -> str:
        from admmbench.results import statistics

        if self.against == "epsilon" and statistics.of_whole_runs(shown):
            return "Privacy budget of the whole run, ε"
        return _AXES.get(self.against, self.against.removeprefix(PARAMETER))

    def _over_budgets(
        self, shown: xr.Dataset, values: xr.DataArray, looks: Mapping[str, Look]
    ) -> Iterator[tuple[str, Look, xr.DataArray]]:
        """One line for each method, over its budgets."""
        from admmbench.results import statistics

        for label in map(str, shown["algorithm"].values):
            own = values.sel(algorithm=label)
            x = own["epsilon"]
            if self.against == "epsilon_total":
                x = statistics.final(shown, "epsilon_total").sel(algorithm=label)
            kept = np.isfinite(x.values) & np.isfinite(own["epsilon"].values)
            line = own.isel(epsilon=kept).rename(epsilon="x").assign_coords(x=x.values[kept])
            yield label, looks[label], line

    def _over_methods(
        self, shown: xr.Dataset, values: xr.DataArray
    ) -> Iterator[tuple[str, Look, xr.DataArray]]:
        """One line for each budget and each group of methods that are alike but for the axis."""
        from admmbench.figures import style

        alike = ["method", "variant", *(name for name in _OF_METHODS if name != self.against)]
        if self.against in _OF_METHODS:
            alike.append("params")
        along = values.assign_coords(x=("algorithm", self._places(shown).values))
        # A parameter may be one that not all methods have.
        placed = along["algorithm"].values[np.isfinite(along["x"].values)]
        groups: dict[tuple[object, ...], list[str]] = {}
        for label in map(str, placed):
            own = shown.sel(algorithm=label)
            groups.setdefault(tuple(own[name].item() for name in alike), []).append(label)
        budgets = values["epsilon"].values
        names = zip(style.common(groups.values()), groups.values(), strict=True)
        looks = style.grid_of_looks(len(groups), len(budgets))
        for (name, labels), row in zip(names, looks, strict=True):
            for budget, look in zip(budgets, row, strict=True):
                line = along.sel(algorithm=labels, epsilon=budget)
                words = [name] * (len(groups) > 1)
                if len(budgets) > 1 or (not words and math.isfinite(budget)):
                    words.append(wording.budget(budget))
                if not words:  # nothing is private
                    words = [str(shown["method"].sel(algorithm=labels[0]).item())]
                yield ", ".join(words), look, line.swap_dims(algorithm="x").sortby("x")

    def _set_axis(self, panel: Axes, shown: xr.Dataset) -> None:
        """Label the horizontal axis: logarithmic, with ticks at what was run."""
        from admmbench.figures import style
        from admmbench.results import statistics

        panel.set_xlabel(self._name_of_axis(shown))
        ticks = np.unique(self._places(shown)) if self._of_methods else self.budgets(shown)
        if finite := [float(tick) for tick in ticks if math.isfinite(tick)]:
            panel.set_xscale("log")
            # Guaranteed losses are where budgets are only if these are totals.
            if self.against != "epsilon_total" or statistics.of_whole_runs(shown):
                style.set_ticks(panel, finite)
            else:
                style.set_few_ticks(panel)
