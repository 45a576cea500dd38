"""Mean ranks of methods on a line, with bars over those that do not differ (Demsar 2006, fig. 1)."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure as Drawing

from admmbench.figures.style import STYLE, Look

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes

# In inches, from above: the difference, the axis, bars, names; the axis is between two columns of names.
_DIFFERENCE, _AXIS, _BAR, _NAME = 0.14, 0.55, 0.1, 0.2
_WIDTH = 3.7
# A column of names: its longest name at 0.075 a character, and the numbers beside them.
_LONGEST, _CHARACTER, _NUMBER = 32, 0.075, 0.5
_INK = "#333333"


def draw(ranks: xr.Dataset, looks: Mapping[str, Look]) -> Drawing:
    """Draw the diagram of critical differences.

    Methods are named beside their mean ranks, the better half on the left. Methods under one bar do not differ. The
    bar above the axis is as long as the critical difference.

    Parameters
    ----------
    ranks
        What `admmbench.analysis.comparison.ranks` gives: ``mean_rank`` in ascending order, ``together`` and
        ``critical_difference``.
    looks
        Style of each method, by label.

    Returns
    -------
    matplotlib.figure.Figure
        Not registered with pyplot.
    """
    labels = [str(label) for label in ranks["algorithm"].values]
    names = [textwrap.shorten(label, _LONGEST, placeholder=" …") for label in labels]
    column = _CHARACTER * max(map(len, names)) + _NUMBER
    half = -(-len(labels) // 2)
    top = _AXIS + _BAR * (ranks.sizes["group"] + 1)
    size = (2 * column + _WIDTH, top + _NAME * half)
    means = ranks["mean_rank"].values
    places = column + _WIDTH * (means - 1) / (len(labels) - 1)
    with mpl.rc_context(STYLE):
        drawing = Drawing(figsize=size)
        FigureCanvasAgg(drawing)  # for files without pyplot's global state
        panel = drawing.add_axes((0, 0, 1, 1), xlim=(0, size[0]), ylim=(size[1], 0))
        panel.set_axis_off()
        _draw_axis(panel, column, len(labels))
        _draw_difference(panel, column, len(labels), float(ranks["critical_difference"]))
        for level, group in enumerate(ranks["together"].values, 1):
            ends = places[group][[0, -1]] + (-0.04, 0.04)
            panel.plot(ends, [_AXIS + _BAR * level] * 2, color=_INK, linewidth=3, zorder=3)
        for turn, (label, name) in enumerate(zip(labels, names, strict=True)):
            # From either end of the axis inwards, so that no line crosses another.
            row, side = (turn, -1) if turn < half else (len(labels) - 1 - turn, 1)
            end = column if side < 0 else column + _WIDTH
            down = top + _NAME * (row + 0.3)
            x, y = [places[turn], places[turn], end], [_AXIS, down, down]
            look = looks[label]
            panel.plot(x, y, color=look.color, linewidth=0.9)
            panel.plot(end, down, color=look.color, marker=look.marker)
            beside: dict[str, Any] = {
                "ha": "right" if side < 0 else "left",
                "va": "center_baseline",
            }
            panel.text(end + 0.1 * side, down, f"{means[turn]:.2f}", color="#666666", **beside)
            panel.text(end + _NUMBER * side, down, name, **beside)
    return drawing


def _draw_axis(panel: Axes, start: float, count: int) -> None:
    """Draw the axis from rank 1 to the last, with its ticks above it."""
    panel.plot([start, start + _WIDTH], [_AXIS] * 2, color=_INK, linewidth=0.8)
    for rank, place in enumerate(np.linspace(start, start + _WIDTH, count), 1):
        panel.plot([place] * 2, [_AXIS - 0.05, _AXIS], color=_INK, linewidth=0.8)
        panel.text(place, _AXIS - 0.08, str(rank), ha="center", va="bottom", fontsize=7.5)
    panel.text(start - 0.15, _AXIS, "Mean rank", ha="right", va="center_baseline")


def _draw_difference(panel: Axes, start: float, count: int, difference: float) -> None:
    """Draw the critical difference above the axis; one that is longer than the axis is a number only."""
    length = _WIDTH * difference / (count - 1)
    text = f"critical difference {difference:.2f}"
    if length > _WIDTH:
        panel.text(start, _DIFFERENCE, f"{text}, more than the axis", va="center_baseline")
        return
    panel.plot(
        [start, start, start + length, start + length],
        _DIFFERENCE + np.array([0.05, 0, 0, 0.05]),
        color=_INK,
        linewidth=0.8,
    )
    panel.text(start + length + 0.1, _DIFFERENCE, text, va="center_baseline")
