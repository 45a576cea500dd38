"""Metrics of the agents during a run: figures 1 and 2 of he2023."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from admmbench.figures import wording
from admmbench.figures.kinds.curves import Curves
from admmbench.figures.tidy import COURSES, combine, points, runs, values_over_course

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr


class Agents(Curves):
    """Means over agents during a run, in a band from the lowest agent to the highest.

    There is a panel for each method and epsilon, and a line for each metric, the mean over seeds. A metric whose name
    ends in ``_mean`` has a band if there are metrics that end in ``_min`` and ``_max``.
    """

    lines_are_methods = False

    beside: Annotated[list[str], Field(description="further metrics in the same panels")] = []

    @property
    def metrics(self) -> list[str]:
        """See `Figure.metrics`."""
        return [self.metric, *self.beside]

    def says(self, n_seeds: int) -> str:
        """See `Figure.says`."""
        seeds = "One seed." if n_seeds == 1 else f"Means over {n_seeds} seeds."
        return f"{seeds} Bands: from the lowest agent to the highest."

    def axes(self, shown: xr.Dataset) -> tuple[str, str]:
        """See `Figure.axes`."""
        return COURSES[self.against], ""

    def table(self, shown: xr.Dataset) -> pd.DataFrame:
        """Make rows of means over seeds, of the agents' means with their lowest and highest values."""
        budgets, panels = self.budgets(shown), {}
        for label, budget, run in runs(shown, budgets):
            means = run.mean("seed", keep_attrs=True) if "seed" in run.dims else run
            panel = f"{label}, {wording.budget(budget)}" if budgets[1:] else label
            panels[panel] = [self._rows(means, metric) for metric in self.metrics]
        return combine(panels)

    def _rows(self, method: xr.Dataset, metric: str) -> pd.DataFrame:
        """Return the rows of one metric of a method, with its band."""
        rows = points(values_over_course(method[metric], method, self.against))
        rows["line"] = str(method[metric].attrs.get("long_name", metric.replace("_", " ")))
        for column, end in (("lower", "_min"), ("upper", "_max")):
            name = metric.removesuffix("_mean") + end
            if name in method and metric.endswith("_mean"):
                rows[column] = (
                    values_over_course(method[name], method, self.against)
                    .sel(round=rows["x"].values)
                    .values
                )
        return rows if {"lower", "upper"} <= {*rows} else rows[["x", "y", "line"]]
