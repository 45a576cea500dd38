"""How much a method loses where its tuned settings are a little off."""

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
    """A sensitivity shows by how much the error on held-out rows grows at half or twice a tuned value, at most.

    There is a row for each method, in the order of its largest loss, and a mark for each budget, at the right edge
    where a trial diverged. Below 0 are settings that the search, which saw a limited number of trials, missed.
    """

    lines_are_methods = False

    def says(self, n_seeds: int) -> str:
        """See `Figure.says`."""
        found = "Errors on held-out training rows, means over the seeds of the trials"
        return f"{found}; at the right edge where a trial diverged."

    def axes(self, shown: xr.Dataset) -> tuple[str, str]:
        """See `Figure.axes`."""
        scale = self.scale(shown)
        unit = "points" if scale.factor == 100 else scale.label
        return f"Largest growth of the error ({unit})", ""

    def table(self, shown: xr.Dataset) -> pd.DataFrame:
        """Take the losses of all methods of which they are known, those that lose least last."""
        unknown = shown["rounds"] * math.nan
        lost = shown.coords.get("lost_beside", unknown) * self.scale(shown).factor
        rows = lost.rename("x").reset_coords(drop=True).to_dataframe().dropna().reset_index()
        order = rows.groupby("algorithm")["x"].max().sort_values(ascending=False).index
        rows["line"] = [wording.budget(float(each)) for each in rows["epsilon"]]
        rank = {label: place for place, label in enumerate(order)}
        rows["place"] = rows["algorithm"].map(rank)
        return rows.rename(columns={"algorithm": "y"}).sort_values(["place", "epsilon"])

    def plot(self, panel: Axes, table: pd.DataFrame, looks: Mapping[str, Look]) -> None:
        """See `Figure.plot`."""
        panel.axvline(0, color="0.8", linewidth=0.8, zorder=0)
        panel.set_yticks(table["place"].unique(), labels=table["y"].unique())
        panel.invert_yaxis()
        for line, own in table.groupby("line", sort=False):
            look = {**looks[str(line)].line(), "linestyle": "none"}
            panel.plot(own["x"], own["place"], label=line, **look)
            beyond = own["place"][own["x"] == math.inf]
            edge = {"marker": ">", "transform": panel.get_yaxis_transform(), "clip_on": False}
            panel.plot([1] * len(beyond), beyond, **{**look, **edge}, in_layout=False)
