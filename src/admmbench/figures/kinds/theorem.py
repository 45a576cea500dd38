"""Both sides of a theorem's inequality against the round, and the slope of its left side."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from admmbench.figures import wording
from admmbench.figures.base import Figure
from admmbench.figures.tidy import COURSES, combine, runs

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr
    from matplotlib.axes import Axes

    from admmbench.figures.look import Look


class Theorem(Figure):
    """Left side of a theorem's inequality, the metric, with the interval of its mean, and right side, on log axes.

    There is a panel for each method and epsilon. A straight line is fitted to the last decade of rounds; the title has
    its slope.
    """

    lines_are_methods = False

    log: Annotated[bool, Field(description="logarithmic vertical axis")] = True
    right: Annotated[str, Field(description="variable with the right side")]

    @property
    def metrics(self) -> list[str]:
        """See `Figure.metrics`."""
        return [self.metric, self.right]

    def says(self, n_seeds: int) -> str:
        """See `Figure.says`."""
        from admmbench.inference.intervals import LEVEL

        level = wording.confidence(LEVEL)
        return f"Means over {n_seeds} seeds; band: {level} interval of the mean of the left side."

    def axes(self, shown: xr.Dataset) -> tuple[str, str]:
        """See `Figure.axes`."""
        return COURSES["round"], ""

    def table(self, shown: xr.Dataset) -> pd.DataFrame:
        """Make rows of three lines for each method and epsilon: both sides, and the line fitted to the left side."""
        panels = {}
        for label, budget, run in runs(shown, self.budgets(shown)):
            rows, slope = self._lines(run)
            text = f"{slope:.2f}".replace("-", "−")
            panels[f"{label}, {wording.budget(budget)}: slope {text}"] = [rows]
        return combine(panels)

    def _lines(self, run: xr.Dataset) -> tuple[pd.DataFrame, float]:
        """Return the rows of one panel, and the slope of the fitted line."""
        import numpy as np
        import pandas as pd

        from admmbench.inference.intervals import student
        from admmbench.results import statistics

        left, right = (statistics.after_start(run[name]) for name in self.metrics)
        x, means = left["round"].values, student(left)
        slope = statistics.last_slope(left)
        end = x[x >= x[-1] / 10]
        middle = np.log(means["mean"].sel(round=end)).mean().item() - slope * np.log(end).mean()
        lines = {
            "left side": {"x": x, "y": means["mean"].values},
            "right side": {"x": x, "y": right.mean("seed").values},
            "fit of the last decade": {"x": end, "y": np.exp(middle) * end**slope},
        }
        low, high = means["lower"].values, means["upper"].values
        if (low > 0).all() and (high > low).any():
            lines["left side"] |= {"lower": low, "upper": high}
        return pd.concat([pd.DataFrame(v).assign(line=k) for k, v in lines.items()]), slope

    def plot(self, panel: Axes, table: pd.DataFrame, looks: Mapping[str, Look]) -> None:
        """See `Figure.plot`."""
        from admmbench.figures import style

        style.draw_lines(panel, table, looks, marks=5)
        panel.set_xscale("log")
