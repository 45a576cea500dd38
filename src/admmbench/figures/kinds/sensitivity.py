"""Sensitivity of methods to their tuned settings."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from admmbench.figures import wording
from admmbench.figures.base import Figure

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr
    from matplotlib.axes import Axes

    from admmbench.figures.look import Look


class Sensitivity(Figure):
    """Largest growth of the error on held-out rows at half or twice a tuned value.

    There is a row for each method, in the order of its largest growth, and a mark for each budget, at the right edge if
    a trial diverged. A mark below 0 is a better setting that the search, with its limited number of trials, missed.
    """

    lines_are_methods = False

    def says(self, n_seeds: int) -> str:
        """See `Figure.says`."""
        errors = "Errors on held-out training rows, means over the seeds of the trials"
        return f"{errors}; at the right edge where a trial diverged."

    def axes(self, shown: xr.Dataset) -> tuple[str, str]:
        """See `Figure.axes`."""
        scale = self.scale(shown)
        unit = "points" if scale.factor == 100 else scale.label
        return f"Largest growth of the error ({unit})", ""

    def table(self, shown: xr.Dataset) -> pd.DataFrame:
        """Make rows of the methods with known sensitivity, the least sensitive ones last."""
        unknown = shown["rounds"] * math.nan
        growth = shown.coords.get("error_growth", unknown) * self.scale(shown).factor
        rows = growth.rename("x").reset_coords(drop=True).to_dataframe().dropna().reset_index()
        order = rows.groupby("algorithm")["x"].max().sort_values(ascending=False).index
        rows["line"] = [wording.budget(float(epsilon)) for epsilon in rows["epsilon"]]
        rank = {label: place for place, label in enumerate(order)}
        rows["place"] = rows["algorithm"].map(rank)
        return rows.rename(columns={"algorithm": "y"}).sort_values(["place", "epsilon"])

    def plot(self, panel: Axes, table: pd.DataFrame, looks: Mapping[str, Look]) -> None:
        """See `Figure.plot`."""
        panel.axvline(0, color="0.8", linewidth=0.8, zorder=0)
        panel.set_yticks(table["place"].unique(), labels=table["y"].unique())
        panel.invert_yaxis()
        for line, marks in table.groupby("line", sort=False):
            look = {**looks[str(line)].line(), "linestyle": "none"}
            panel.plot(marks["x"], marks["place"], label=line, **look)
            beyond = marks["place"][marks["x"] == math.inf]
            edge = {"marker": ">", "transform": panel.get_yaxis_transform(), "clip_on": False}
            panel.plot([1] * len(beyond), beyond, **{**look, **edge}, in_layout=False)
