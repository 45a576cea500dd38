"""A metric against the round, or what else advances during a run."""

from __future__ import annotations

import math
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

MARKERS_PER_LINE = 7


class Curves(Figure):
    """A metric against the round, the outer iteration or the numbers sent.

    There is a panel for each epsilon and a line for each method: the mean over seeds in a band from the 20th to the
    80th percentile, or with a thin line for each of a few seeds. Methods that ran only without noise are dashed lines
    in every panel.
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
        drawing, panels = style.grid(self, len(budgets), COURSES[self.against])
        for panel, budget in zip(panels.flat, budgets, strict=False):
            if math.isfinite(budget) or len(budgets) > 1:
                panel.set_title(wording.budget(budget))
            empty = "no results"
            for turn, label in enumerate(map(str, shown["algorithm"].values)):
                source = math.inf if label in references else budget
                if ran(shown, label, source):
                    own = shown.sel(algorithm=label, epsilon=source)
                    values = along(own[self.metric] * scale.factor, own, self.against)
                    self._curve(panel, values, label, looks[label], turn)
                    if self.log and values.notnull().any():
                        empty = "no values above 0"
            style.finish(panel, self, empty)
            style.set_rounds(panel, shown[self.against])
        for panel in panels[:, 0]:
            style.set_label(panel, scale.label)
        return drawing

    def _curve(self, panel: Axes, values: xr.DataArray, label: str, look: Look, turn: int) -> None:
        """Mean over seeds against the round, with its band; points without any value are left out."""
        mean = values.mean("seed") if "seed" in values.dims else values
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
        look.spread(panel, values.sel(round=rounds), log=self.log)
