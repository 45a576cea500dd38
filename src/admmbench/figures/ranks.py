"""Mean ranks of methods on a line, with bars over those that do not differ (Demsar 2006, fig. 1)."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure as Drawing
from matplotlib.textpath import TextPath

from admmbench.figures.style import AS_WRITTEN, SMALL_PRINT, WIDTHS, Look

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes

# In inches, from above: the difference in words and as a bar, the axis, bars, names.
_WORDS, _DIFFERENCE, _AXIS, _BAR, _NAME = 0.12, 0.25, 0.65, 0.1, 0.19
# The axis is between two columns of names, with the numbers beside them; "Mean rank" has room in the narrowest.
_LONGEST, _NUMBER, _NARROWEST, _MARGIN = 28, 0.48, 0.85, 0.08
_INK = "#333333"


def draw(ranks: xr.Dataset, looks: Mapping[str, Look]) -> Drawing:
    """Draw the diagram of critical differences.

    Methods are named beside their mean ranks, the better half on the left. Methods under one bar do not differ. The
    bar above the axis is as long as the critical difference.

    Parameters
    ----------
    ranks
        What `admmbench.results.who_wins.ranks` gives: ``mean_rank`` in ascending order, ``together`` and
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
    half = -(-len(labels) // 2)
    top = _AXIS + _BAR * (ranks.sizes["group"] + 1)
    size = (WIDTHS["page"], top + _NAME * half + _MARGIN)
    means = ranks["mean_rank"].values
    with mpl.rc_context(AS_WRITTEN):
        start = max(_NARROWEST, _NUMBER + max(map(_width, names))) + _MARGIN
        stop = size[0] - start
        places = np.interp(means, (1, len(labels)), (start, stop))
        drawing = Drawing(figsize=size)
        FigureCanvasAgg(drawing)  # for files without pyplot's global state
        panel = drawing.add_axes((0, 0, 1, 1), xlim=(0, size[0]), ylim=(size[1], 0))
        panel.set_axis_off()
        _draw_axis(panel, start, stop, len(labels))
        _draw_difference(panel, start, stop, len(labels), float(ranks["critical_difference"]))
        for level, group in enumerate(ranks["together"].values, 1):
            ends = places[group][[0, -1]] + (-0.04, 0.04)
            panel.plot(ends, [_AXIS + _BAR * level] * 2, color=_INK, linewidth=3, zorder=3)
        for turn, (label, name) in enumerate(zip(labels, names, strict=True)):
            # From either end of the axis inwards, so that no line crosses another.
            row, side = (turn, -1) if turn < half else (len(labels) - 1 - turn, 1)
            end = start if side < 0 else stop
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


def _width(text: str) -> float:
    """Width of a text, in inches."""
    return float(TextPath((0, 0), text, size=mpl.rcParams["font.size"]).get_extents().width) / 72


def _draw_axis(panel: Axes, start: float, stop: float, count: int) -> None:
    """Draw the axis from rank 1 to the last, with its ticks above it."""
    panel.plot([start, stop], [_AXIS] * 2, color=_INK, linewidth=0.8)
    for rank, place in enumerate(np.linspace(start, stop, count), 1):
        panel.plot([place] * 2, [_AXIS - 0.05, _AXIS], color=_INK, linewidth=0.8)
        panel.text(place, _AXIS - 0.08, str(rank), ha="center", va="bottom", fontsize=SMALL_PRINT)
    panel.text(start - 0.15, _AXIS, "Mean rank", ha="right", va="center_baseline")


def _draw_difference(panel: Axes, start: float, stop: float, count: int, difference: float) -> None:
    """Draw the critical difference above the axis; one that is longer than the axis is a number only."""
    length = (stop - start) * difference / (count - 1)
    text = f"critical difference {difference:.2f}"
    if start + length > stop:
        text += ", more than the axis"
    else:
        panel.plot(
            [start, start, start + length, start + length],
            _DIFFERENCE + np.array([0.05, 0, 0, 0.05]),
            color=_INK,
            linewidth=0.8,
        )
    panel.text(start, _WORDS, text, va="center_baseline")
