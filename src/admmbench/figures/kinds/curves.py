"""A metric against the round, or another quantity that advances during a run."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from admmbench.figures import wording
from admmbench.figures.base import Figure
from admmbench.figures.tidy import COURSES, Course, combine, points, ran, values_over_course

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr
    from matplotlib.axes import Axes

    from admmbench.figures.look import Look


class Curves(Figure):
    """Curves of a metric against the round, the outer iteration or the numbers sent.

    There is a panel for each epsilon and a line for each method: the mean over seeds in a band from the 20th to the
    80th percentile, or with a thin line for each of a few seeds. Methods that ran only without noise are dashed lines
    in every panel.
    """

    against: Annotated[Course, Field(description="the horizontal axis")] = "round"

    failed_runs = "drawn until they stop"

    def axes(self, shown: xr.Dataset) -> tuple[str, str]:
        """See `Figure.axes`."""
        return COURSES[self.against], self.scale(shown).label

    def table(self, shown: xr.Dataset) -> pd.DataFrame:
        """Make rows of means over seeds with their bands, see `points`."""
        budgets, references = self.budgets(shown), self.references(shown)
        private = len(budgets) > 1 or math.isfinite(budgets[0])
        panels: dict[str, list[pd.DataFrame]] = {}
        for budget in budgets:
            lines = panels.setdefault(wording.budget(budget) if private else "", [])
            for label in map(str, shown["algorithm"].values):
                epsilon = math.inf if label in references else budget
                if ran(shown, label, epsilon):
                    run = shown.sel(algorithm=label, epsilon=epsilon)
                    values = values_over_course(
                        run[self.metric] * self.scale(shown).factor, run, self.against
                    )
                    lines.append(points(values, log=self.log).assign(line=label))
        return combine(panels)

    def plot(self, panel: Axes, table: pd.DataFrame, looks: Mapping[str, Look]) -> None:
        """See `Figure.plot`."""
        from admmbench.figures import style

        style.draw_lines(panel, table, looks, marks=5)
        style.set_rounds(panel)
