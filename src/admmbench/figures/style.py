"""One look for all figures.

A method has the same colour, line style and marker in every figure of an experiment, and the styles tell methods apart
without colour. Drawing packages take seconds to import; kinds import this module when they draw.
"""

from __future__ import annotations

import itertools
import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import seaborn as sns
from matplotlib.figure import Figure as Drawing
from matplotlib.ticker import EngFormatter, LogLocator, MaxNLocator, NullLocator

from admmbench.results.kinship import with_kinship

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from numpy.typing import NDArray

    from admmbench.figures.base import Figure, Width

WIDTHS: dict[Width, float] = {"column": 3.5, "page": 7.16}
"""Of a figure, in inches: one column and two columns of a paper (IEEE, ACM)."""
_SINGLE: dict[Width, float] = {"column": 2.3, "page": 3.0}
"""Height of a panel that is alone, in inches."""
_ROW = 1.9
"""Height of one of several rows of panels, in inches."""
_MOST_COLUMNS: dict[Width, int] = {"column": 2, "page": 3}
"""Panels side by side."""

STYLE = {
    **sns.axes_style("whitegrid"),
    "axes.edgecolor": "#444444",
    "axes.linewidth": 0.8,
    # Text stays text. Where a reader of SVG lacks the font of the layout, another as wide stands for it.
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Verdana"],
    "svg.fonttype": "none",
    # Lines leave out points that are nearer than half a point to the line without them.
    "path.simplify_threshold": 0.5,
    # Ends of lines are those of an SVG that says nothing of them.
    "lines.solid_capstyle": "butt",
    # A small range far from 0 has long ticks, and no offset that a reader must add.
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
"""With text of users, in which ``$`` begins no formula; numbers at ticks of a logarithmic axis are formulas."""

SMALL_PRINT = 7.0
"""Size of the smallest text, in points: what journals ask for."""


class Look(NamedTuple):
    """A method is drawn in this way."""

    color: str
    linestyle: str | tuple[int, tuple[float, ...]]
    marker: str

    @property
    def dashes(self) -> Sequence[float]:
        """Dashes and gaps of the line, in its widths; none of a line that is whole."""
        return () if isinstance(self.linestyle, str) else self.linestyle[1]

    def line(self) -> dict[str, Any]:
        """Return the keywords of :meth:`matplotlib.axes.Axes.plot`."""
        return {
            "color": self.color,
            "linestyle": self.linestyle,
            "marker": self.marker,
            "markeredgewidth": 0,
        }


_PALETTE = (
    "#0173b2",
    "#d55e00",
    "#029e73",
    "#ca8205",
    "#cb74ba",
    "#1d99e0",
    "#c4844e",
    "#919191",
    "#f64bc2",
    "#9e950f",
)
"""Seaborn's palette for the colour-blind, those that stand out from white first.

Light colours are darkened to a contrast of 3:1 to white.
"""
_LINES: tuple[str | tuple[int, tuple[float, ...]], ...] = (
    "-",
    (0, (5, 1.5)),
    (0, (1.5, 1.2)),
    (0, (6, 1.5, 1.5, 1.5)),
    (0, (6, 1.2, 1.2, 1.2, 1.2, 1.2)),
)
_MARKERS = "osD^vP<X>*"
_OWN_COLOR = {
    "objective perturbation": 0,
    "output perturbation": 1,
    "objective perturbation in a trust region": 2,
    "objective perturbation, several local updates": 3,
    "output perturbation, scaled penalty": 4,
    "noisy gradients": 4,
}
"""Places in the palette that families have in every study where they are free; others take the first that is."""
_DARK = "#333333"
_REFERENCES = ((0, (4, 2)), (0, (1.2, 1.6)))
"""Lines of the methods that others are compared with."""
MOST_EDGES = 40
"""Points at which a band is drawn, however many rounds there are."""
MOST_TICKS = 5
"""Of a logarithmic axis that says which values it has itself."""


def looks(results: xr.Dataset) -> dict[str, Look]:
    """Choose the style of every method of an experiment, by label, whichever of them a figure shows.

    The coordinates ``family`` and ``role`` decide, whatever labels are. Methods of one family have one colour and
    differ in line and marker. Methods without a family have a colour each, and so have all where no family is told from
    another, as in a study of one method's parameters. Methods that are no contenders are dark dashed lines.
    """
    results = with_kinship(results)
    labels = [str(label) for label in results["algorithm"].values]
    families = dict(zip(labels, map(str, results["family"].values), strict=True))
    contends = results["role"].values == "contender"
    contenders = [label for label, own in zip(labels, contends, strict=True) if own]
    if len(set(results["method"].values[contends])) == 1:
        families = dict.fromkeys(labels, "")
    owners = [families[label] or f"label {label}" for label in contenders]
    places = _places(owners)
    found = _drawn(dict(zip(contenders, map(places.__getitem__, owners), strict=True)))
    for turn, label in enumerate(label for label in labels if label not in found):
        # The first have none of the markers, so that they look like no other line.
        marker = _MARKERS[turn - 2] if turn >= len(_REFERENCES) else ""
        found[label] = Look(_DARK, _REFERENCES[turn % len(_REFERENCES)], marker)
    return {label: found[label] for label in labels}


def looks_of_lines(lines: Iterable[str]) -> dict[str, Look]:
    """Choose styles of lines that stand for no single method, by their order."""
    return _drawn({line: turn % len(_PALETTE) for turn, line in enumerate(lines)})


def _places(owners: Sequence[str]) -> dict[str, int]:
    """Place in the palette of each owner of a colour, in the order of the experiment."""
    own: dict[int, str] = {}
    for owner in owners:
        if owner in _OWN_COLOR:
            own.setdefault(_OWN_COLOR[owner], owner)
    places = {owner: place for place, owner in own.items()}
    free = itertools.cycle(k for k in range(len(_PALETTE)) if k not in own)
    return places | {owner: next(free) for owner in dict.fromkeys(owners) if owner not in places}


def _drawn(places: Mapping[str, int]) -> dict[str, Look]:
    """Draw each name in the colour of its place; no two share line and marker, whatever their colours are."""
    used: set[tuple[object, str]] = set()
    found: dict[str, Look] = {}
    steps: Counter[int] = Counter()
    for name, place in places.items():
        step = steps[place]
        steps[place] += 1
        first = place + 3 * step
        options = [
            (_LINES[line % len(_LINES)], _MARKERS[marker % len(_MARKERS)])
            for line in range(step, step + len(_LINES))
            for marker in range(first, first + len(_MARKERS))
        ]
        shape = next((each for each in options if each not in used), options[0])
        used.add(shape)
        found[name] = Look(_PALETTE[place], *shape)
    return found


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
        Where to.
    table
        Has the columns `admmbench.figures.tidy.COLUMNS`.
    looks
        Style of each line.
    marks
        Markers of a line with many points, at equal distances along it; one at each point if 0.
    points
        Whether the few seeds are points and not thin lines.
    """
    placed, seeds = table["x"].notna(), table["seed"].notna()
    levels, means = table[~placed], table[placed & ~seeds]
    for name, level in zip(levels["line"], levels["y"], strict=True):
        panel.axhline(level, label=name, **looks[name].line())
    colors = {line: looks[line].color for line in table["line"].unique()}
    how: dict[str, Any] = {"x": "x", "y": "y", "hue": "line", "palette": colors, "ax": panel}
    sns.lineplot(means, **how, estimator=None, legend=False)
    lines = zip(panel.lines[len(levels) :], means["line"].unique(), strict=True)
    for turn, (line, name) in enumerate(lines):
        own = means[means["line"] == name]
        # Markers of two methods do not coincide.
        thin = marks and len(own) > 2 * marks
        every = (0.02 + 0.02 * (turn % 5), 1 / marks) if thin else None
        line.set(**looks[name].line(), markevery=every, label=name)
        if own["upper"].notna().any():
            x, low, high = own[["x", "lower", "upper"]].values[_spread(len(own))].T
            panel.fill_between(x, low, high, color=colors[name], alpha=0.2, linewidth=0)
    if seeds.any() and points:
        sns.scatterplot(table[seeds], **how, marker=".", s=18, linewidth=0, legend=False)
    elif seeds.any():
        each = {"units": "seed", "estimator": None, "linewidth": 0.5, "zorder": 1.5}
        sns.lineplot(table[seeds], **how, **each, legend=False)


def _spread(count: int) -> NDArray[Any]:
    """Places of some of many points, at equal distances, from the first to the last: edges of bands need no more."""
    return np.unique(np.linspace(0, count - 1, min(count, MOST_EDGES)).round().astype(int))


def grid(figure: Figure, count: int, label: str) -> tuple[Drawing, NDArray[Any]]:
    """Make an empty drawing with some panels that share their axes, and a label on the horizontal axes of the lowest.

    The array has rows and columns, and may have more panels than are asked for; the last ones are then not visible.
    """
    width = figure.width or ("column" if count == 1 else "page")
    # Four panels are a square rather than a row of three and one.
    columns = 2 if count == 4 else max(1, min(count, _MOST_COLUMNS[width]))
    rows = max(1, -(-count // columns))
    height = _SINGLE[width] if rows * columns == 1 else _ROW * rows + 0.4
    drawing = Drawing(figsize=(WIDTHS[width], height), layout="constrained")
    panels = drawing.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    for panel in panels.flat[count:]:
        panel.set_visible(False)
    # The lowest panel of each column has the axis, also above a gap in the last row.
    for panel in panels.flat[max(0, count - columns) : count]:
        panel.tick_params(labelbottom=True)
        panel.set_xlabel(label)
    return drawing, panels


def finish(panel: Axes, figure: Figure) -> None:
    """Set the vertical axis, and say why if there is nothing in the panel."""
    panel.set(xlabel=None, ylabel=None)
    if not panel.has_data():
        empty = "no values above 0" if figure.log else "no results"
        middle: dict[str, Any] = {"ha": "center", "va": "center", "transform": panel.transAxes}
        panel.text(0.5, 0.5, empty, color="#555555", **middle)
        if not any(each.has_data() for each in panel.figure.axes):
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
    values = values or few_ticks(*axis.get_view_interval())
    axis.set_ticks(values, labels=[f"{value:g}".replace("e-0", "e-") for value in values])
    axis.set_minor_locator(NullLocator())


def few_ticks(low: float, high: float) -> list[float]:
    """Choose places on a logarithmic axis: powers of ten, and round numbers between them where these are few."""
    factors = (1, 2, 5) if high < 50 * low else (1,)
    found = np.array(LogLocator(subs=factors, numticks=MOST_TICKS).tick_values(low, high))
    inside = found[(found >= low) & (found <= high)]
    return inside[:: -(-len(inside) // MOST_TICKS)].tolist()


def set_label(panel: Axes, label: str) -> None:
    """Label the vertical axis, in as many lines as the height of the panel asks for."""
    inches = panel.bbox.height / panel.figure.dpi
    lines = [textwrap.fill(line, int(inches * 13)) for line in label.splitlines()]
    panel.set_ylabel("\n".join(lines))
