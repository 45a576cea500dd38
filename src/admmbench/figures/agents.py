"""What is measured at each agent during a run: figures 1 and 2 of he2023."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from pydantic import Field

from admmbench.figures.base import COURSES, Course, Figure, along, ran
from admmbench.results import wording

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

    from admmbench.figures.style import Look

_MEAN, _LOWEST, _HIGHEST = "_mean", "_min", "_max"


class Agents(Figure):
    """Means over agents in a band from the lowest agent to the highest.

    There is a panel for each method and epsilon, and a line for each metric, the mean over seeds. A metric whose name
    ends in ``_mean`` has a band if there are metrics that end in ``_min`` and ``_max``.
    """

    kind: Literal["agents"]
    beside: Annotated[list[str], Field(description="further metrics in the same panels")] = []
    against: Annotated[Course, Field(description="the horizontal axis")] = "round"

    lost_runs = "drawn until they stop"

    @property
    def metrics(self) -> list[str]:
        """See `Figure.metrics`."""
        return [self.metric, *self.beside]

    def says(self, n_seeds: int) -> str:
        """See `Figure.says`."""
        seeds = "One seed." if n_seeds == 1 else f"Means over {n_seeds} seeds."
        return f"{seeds} Bands: from the lowest agent to the highest."

    def draw(self, shown: xr.Dataset, looks: Mapping[str, Look]) -> Drawing:
        """See `Figure.draw`."""
        from admmbench.figures import style

        budgets = self.budgets(shown)
        pairs = [
            (str(label), budget)
            for label in shown["algorithm"].values
            for budget in budgets
            if ran(shown, str(label), budget)
        ]
        means = shown.mean("seed", keep_attrs=True) if "seed" in shown.dims else shown
        drawing, panels = style.grid(self, len(pairs), COURSES[self.against])
        for panel, (label, budget) in zip(panels.flat, pairs, strict=False):
            several = len(budgets) > 1
            panel.set_title(f"{label}, {wording.budget(budget)}" if several else label)
            own = means.sel(algorithm=label, epsilon=budget)
            for turn, metric in enumerate(self.metrics):
                self._line(panel, own, metric, style.look(turn))
            style.finish(panel, self)
            style.set_rounds(panel, shown[self.against])
        return drawing

    def _line(self, panel: Axes, own: xr.Dataset, metric: str, look: Look) -> None:
        """One metric of a method, with its band."""

        def course(name: str) -> xr.DataArray:
            return along(own[name], own, self.against)

        values = course(metric)
        values = values.where(np.isfinite(values)).dropna("round")
        if values.size == 0:
            return
        label = str(own[metric].attrs.get("long_name", metric.replace("_", " ")))
        panel.plot(values["round"], values, label=label, markevery=(0.0, 1 / 7), **look.line())
        stem = metric.removesuffix(_MEAN)
        ends = [stem + _LOWEST, stem + _HIGHEST]
        if stem != metric and all(name in own for name in ends):
            lower, upper = (course(name).sel(round=values["round"]) for name in ends)
            look.shade(panel, values["round"], lower, upper)
