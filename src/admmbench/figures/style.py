"""Style of all figures, and lines in the looks of methods.

Drawing packages take seconds to import; kinds import this module when they draw.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import seaborn as sns
from matplotlib.figure import Figure as Drawing
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import EngFormatter, LogLocator, MaxNLocator, NullLocator

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

    from admmbench.figures.base import Figure
    from admmbench.figures.look import Look

STYLE = {
    **sns.axes_style("whitegrid"),
    "axes.edgecolor": "#444444",
    "axes.linewidth": 0.8,
    # Text stays text. A reader of SVG that lacks the font of the layout uses another one of the same width.
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Verdana"],
    "svg.fonttype": "none",
    # Lines leave out points that are nearer than half a point to the line without them.
    "path.simplify_threshold": 0.5,
    # Ends of lines are the default of SVG.
    "lines.solid_capstyle": "butt",
    # A small range far from 0 has long numbers at its ticks, and no offset that a reader must add.
    "axes.formatter.useoffset": False,
    "pdf.fonttype": 42,
    "font.size": 8,
    "axes.labelsize": 8,
    "axes.titlesize": 8,
    "axes.titleweight": "bold",
    "grid.color": "#e4e4e4",
    "grid.linewidth": 0.6,
    "legend.fontsize": 7.5,
    "lines.linewidth": 1.3,
    "lines.markersize": 5,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
}


AS_WRITTEN = {**STYLE, "text.parse_math": False}
"""Style for text of users, in which ``$`` begins no formula; numbers at ticks of a logarithmic axis are formulas."""

SMALL_PRINT = 7.0
"""Size of the smallest text, in points, as journals ask for."""


MOST_EDGES = 40
"""Largest number of points at which a band is drawn."""
MOST_TICKS = 5
"""Largest number of ticks that are chosen for a logarithmic axis."""


def draw_lines(
    panel: Axes,
    table: pd.DataFrame,
    looks: Mapping[str, Look],
    *,
    marks: int = 0,
    points: bool = False,
) -> None:
    """Draw a line for each ``line`` of a table, in its band or with each of a few seeds.

    Parameters
    ----------
    panel
        Axes to draw into.
    table
        Rows with the columns `admmbench.figures.tidy.COLUMNS`.
    looks
        Style of each line.
    marks
        Number of markers of a line with many points, at equal distances along the line; if 0, each point has one.
    points
        Whether the values of few seeds are points instead of thin lines.
    """
    placed, seeds = table["x"].notna(), table["seed"].notna()
    levels, means = table[~placed], table[placed & ~seeds]
    for name, level in zip(levels["line"], levels["y"], strict=True):
        panel.axhline(level, label=name, **looks[name].line())
    colors = {line: looks[line].color for line in table["line"].unique()}
    common: dict[str, Any] = {"x": "x", "y": "y", "hue": "line", "palette": colors, "ax": panel}
    sns.lineplot(means, **common, estimator=None, legend=False)
    lines = zip(panel.lines[len(levels) :], means["line"].unique(), strict=True)
    for turn, (line, name) in enumerate(lines):
        rows = means[means["line"] == name]
        # Each line begins its markers at another place, so that markers of two methods do not coincide.
        is_thinned = marks and len(rows) > 2 * marks
        spacing = (0.02 + 0.02 * (turn % 5), 1 / marks) if is_thinned else None
        line.set(**looks[name].line(), markevery=spacing, label=name)
        if rows["upper"].notna().any():
            count = len(rows)
            places = np.linspace(0, count - 1, min(count, MOST_EDGES)).round().astype(int)
            x, low, high = rows[["x", "lower", "upper"]].values[np.unique(places)].T
            panel.fill_between(x, low, high, color=colors[name], alpha=0.2, linewidth=0)
    if seeds.any() and points:
        sns.scatterplot(table[seeds], **common, marker=".", s=18, linewidth=0, legend=False)
    elif seeds.any():
        thin_lines = {"units": "seed", "estimator": None, "linewidth": 0.5, "zorder": 1.5}
        sns.lineplot(table[seeds], **common, **thin_lines, legend=False)


class Layout(ConstrainedLayoutEngine):
    """Constrained layout with rounded places, as last digits of its solver differ from one drawing to the next."""

    def execute(self, fig: Drawing) -> None:
        """Lay out the panels of a drawing."""
        super().execute(fig)
        for panel in fig.axes:
            laid_out = panel.get_in_layout()
            panel.set_position(np.round(panel.get_position(original=True).bounds, 6).tolist())
            # Setting a place removes the panel from the layout.
            panel.set_in_layout(laid_out)


def finish(panel: Axes, figure: Figure) -> None:
    """Set the vertical axis, and write into an empty panel why it is empty."""
    panel.set(xlabel=None, ylabel=None)
    if not panel.has_data():
        empty = "no values above 0" if figure.log else "no results"
        middle: dict[str, Any] = {"ha": "center", "va": "center", "transform": panel.transAxes}
        panel.text(0.5, 0.5, empty, color="#555555", **middle)
        if not any(other.has_data() for other in panel.figure.axes):
            panel.set(xticks=[], yticks=[])
    if figure.log:
        panel.set_yscale("log")
    elif figure.metric in {"noise_magnitude", "consensus_violation"}:
        panel.set_ylim(bottom=0)
    panel.spines[["top", "right"]].set_visible(False)


def set_rounds(panel: Axes) -> None:
    """Give the horizontal axis few ticks, in thousands where there are many rounds."""
    panel.xaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10], integer=True))
    if panel.get_xlim()[1] >= 10_000:
        panel.xaxis.set_major_formatter(EngFormatter(sep=""))


def set_ticks(axis: Axis, values: Sequence[float] = ()) -> None:
    """Give a logarithmic axis ticks at some values and nowhere else, or at a few round ones."""
    if not values:
        low, high = axis.get_view_interval()
        # Powers of ten, and round numbers in between where powers are few.
        locator = LogLocator(subs=(1, 2, 5) if high < 50 * low else (1,), numticks=MOST_TICKS)
        ticks = np.array(locator.tick_values(low, high))
        inside = ticks[(ticks >= low) & (ticks <= high)]
        values = inside[:: -(-len(inside) // MOST_TICKS)].tolist()
    axis.set_ticks(values, labels=[f"{value:g}".replace("e-0", "e-") for value in values])
    axis.set_minor_locator(NullLocator())


def set_label(panel: Axes, label: str) -> None:
    """Label the vertical axis, in as many lines as the height of the panel requires."""
    inches = panel.bbox.height / panel.figure.dpi
    lines = [textwrap.fill(line, int(inches * 13)) for line in label.splitlines()]
    panel.set_ylabel("\n".join(lines))
