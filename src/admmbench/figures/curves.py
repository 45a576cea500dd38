"""A metric against the round, or what else advances during a run."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from pydantic import Field

from admmbench.figures.base import COURSES, Course, Figure, along, ran

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

    from admmbench.figures.style import Look

MAX_COLUMNS = 3
PANEL = (2.35, 2.0)
"""Width and height of one of several panels, in inches."""
MARKERS_PER_LINE = 7


class Curves(Figure):
    """A metric against the round, the outer iteration or the numbers sent.

    There is a panel for each epsilon and a line for each method: the mean over seeds in a band from the 20th to the
    80th percentile. Methods that ran only without noise are dashed lines in every panel.
    """

    kind: Literal["curves"]
    against: Annotated[Course, Field(description="the horizontal axis")] = "round"

    lost_runs = "drawn until they stop"

    def draw(self, shown: xr.Dataset, looks: Mapping[str, Look]) -> Drawing:
        """See `Figure.draw`."""
        from admmbench.figures import style

        budgets = self.budgets(shown)
        references = self.references(shown)
        scale = self.scale(shown)
        # Four panels are a square rather than a row of three and one.
        columns = 2 if len(budgets) == 4 else min(len(budgets), MAX_COLUMNS)
        rows = -(-len(budgets) // columns)
        size = (max(columns * PANEL[0], 3.6), rows * PANEL[1] + 0.55)
        if len(budgets) == 1:
            size = style.SINGLE
        drawing, panels = style.sheet(size, rows, columns)
        for panel, budget in itertools.zip_longest(panels.flat, budgets):
            if budget is None:
                panel.set_visible(False)
                continue
            if math.isfinite(budget) or len(budgets) > 1:
                panel.set_title(style.budget(budget))
            for turn, label in enumerate(map(str, shown["algorithm"].values)):
                source = math.inf if label in references else budget
                if ran(shown, label, source):
                    own = shown.sel(algorithm=label, epsilon=source)
                    values = along(own[self.metric] * scale.factor, own, self.against)
                    self._curve(panel, values, label, looks[label], turn)
            style.finish(panel, self)
            style.set_rounds(panel, shown[self.against])
        # The lowest panel of each column has the round axis, also above a gap in the last row.
        for panel in panels.flat[max(0, len(budgets) - columns) : len(budgets)]:
            panel.tick_params(labelbottom=True)
            panel.set_xlabel(COURSES[self.against])
        for panel in panels[:, 0]:
            panel.set_ylabel(style.wrapped(scale.label, PANEL[1]))
        return drawing

    def _curve(self, panel: Axes, values: xr.DataArray, label: str, look: Look, turn: int) -> None:
        """Mean over seeds against the round, with its band; points without any value are left out."""
        from admmbench import statistics

        band = statistics.band(values) if "seed" in values.dims else None
        mean = values if band is None else band["mean"]
        mean = mean.where(np.isfinite(mean)).dropna("round")
        if self.log:
            mean = mean.where(mean > 0, drop=True)
        if mean.size == 0:
            return
        rounds = mean["round"].values
        # Markers at equal distances along the curve, shifted so that those of two methods do not
        # coincide.
        every = (0.02 + 0.02 * (turn % 5), 1 / MARKERS_PER_LINE)
        panel.plot(rounds, mean, label=label, markevery=every, **look.line())
        if band is not None and values.sizes["seed"] > 1:
            edges = band.sel(round=rounds)
            lower = edges["lower"].where(edges["lower"] > 0, mean) if self.log else edges["lower"]
            look.shade(panel, rounds, lower, edges["upper"])
