"""One look for all figures.

A method has the same colour, line style and marker in every figure of an experiment, and the styles tell methods apart
without colour. Drawing packages take seconds to import; kinds import this module when they draw.
"""

from __future__ import annotations

import itertools
import json
import math
import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import seaborn as sns
from matplotlib.colors import to_hex
from matplotlib.figure import Figure as Drawing
from matplotlib.ticker import EngFormatter, MaxNLocator, NullLocator
from seaborn.utils import relative_luminance

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
    "lines.markersize": 4,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
}


AS_WRITTEN = {**STYLE, "text.parse_math": False}
"""With text of users, in which ``$`` begins no formula; numbers at ticks of a logarithmic axis are formulas."""

SMALL_PRINT = 7.0
"""Size of the smallest text, in points: what journals ask for."""


class Look(NamedTuple):
    """How a method is drawn."""

    color: str
    linestyle: str | tuple[int, tuple[float, ...]]
    marker: str

    def line(self) -> dict[str, Any]:
        """Keywords of :meth:`matplotlib.axes.Axes.plot`."""
        edge = {"markeredgecolor": self.color, "markeredgewidth": 1}
        return {"color": self.color, "linestyle": self.linestyle, "marker": self.marker, **edge}


_PALETTE = (
    ("#0173b2", "Blues"),
    ("#d55e00", "flare"),
    ("#029e73", "BuGn"),
    ("#ca8205", "YlOrBr"),
    ("#cb74ba", "RdPu"),
    ("#1d99e0", "GnBu"),
    ("#c4844e", "Oranges"),
    ("#919191", "Greys"),
    ("#f64bc2", "PuRd"),
    ("#9e950f", "YlGn"),
)
"""Seaborn's palette for the colour-blind, those that stand out from white first, each with a sequential scale.

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
_DARKEST, _LIGHTEST = 0.01, 0.3
"""Relative luminances at the ends of a scale: not quite black, and a contrast of 3:1 to white."""
MOST_TICKS = 5
"""Of a logarithmic axis that says which values it has itself."""
SHORTEST_ROW = 3
"""Two lines need no scale."""


def looks(results: xr.Dataset) -> dict[str, Look]:
    """Style of every method of an experiment, by label, whichever of them a figure shows.

    The coordinates ``family`` and ``role`` decide, whatever labels are. Methods of one family have one colour and
    differ in line and marker. Methods without a family have a colour each, and so have all where no family is told from
    another, as in a study of one method's parameters. Methods that are no contenders are dark dashed lines.

    Methods that differ in one quantity alone are a row: they share a line, and a scale from light to dark as the
    quantity grows in the place of one colour.
    """
    results = with_kinship(results)
    labels = [str(label) for label in results["algorithm"].values]
    roles = dict(zip(labels, results["role"].values, strict=True))
    families = dict(zip(labels, map(str, results["family"].values), strict=True))
    others = [label for label in labels if roles[label] == "contender"]
    if len({str(results["method"].sel(algorithm=label).item()) for label in others}) == 1:
        families = dict.fromkeys(labels, "")
    rows = rows_of_methods(results)
    in_rows = {label for row in rows for label in row}
    groups = [*rows, *([label] for label in others if label not in in_rows)]
    # Of two rows of one family, one has its colour.
    firsts = {families[row[0]]: row[0] for row in reversed(rows)}
    owners = [
        families[own]
        if families[own] and (len(group) == 1 or firsts[families[own]] == own)
        else f"label {own}"
        for group in groups
        for own in group[:1]
    ]
    order = sorted(range(len(groups)), key=lambda k: labels.index(groups[k][0]))
    places = _places([owners[k] for k in order])
    brush = _Brush()
    chosen: dict[str, Look] = {}
    for group, owner in zip(groups, owners, strict=True):
        chosen.update(zip(group, brush.draw(places[owner], len(group)), strict=True))
    for turn, label in enumerate(label for label in labels if label not in chosen):
        # The first have none of the markers, so that they look like no other line.
        marker = _MARKERS[turn - 2] if turn >= len(_REFERENCES) else ""
        chosen[label] = Look(_DARK, _REFERENCES[turn % len(_REFERENCES)], marker)
    return {label: chosen[label] for label in labels}


def _places(owners: Sequence[str]) -> dict[str, int]:
    """Place in the palette of each owner of a colour, in the order of the experiment."""
    own: dict[int, str] = {}
    for owner in owners:
        if owner in _OWN_COLOR:
            own.setdefault(_OWN_COLOR[owner], owner)
    places = {owner: place for place, owner in own.items()}
    free = itertools.cycle(k for k in range(len(_PALETTE)) if k not in own)
    return places | {owner: next(free) for owner in dict.fromkeys(owners) if owner not in places}


class _Brush:
    """Lines and markers, of which no two methods share both, whatever their colours are."""

    def __init__(self) -> None:
        self.shapes: set[tuple[object, str]] = set()
        self.lines: Counter[int] = Counter()

    def draw(self, place: int, count: int = 1) -> list[Look]:
        """Draw so many methods in a colour: one line, from light to dark, with markers that are free on that line."""
        step = self.lines[place]
        self.lines[place] += 1
        options = [
            [
                (_LINES[line % len(_LINES)], _MARKERS[(first + k) % len(_MARKERS)])
                for k in range(count)
            ]
            for line in range(step, step + len(_LINES))
            for first in range(place + 3 * step, place + 3 * step + len(_MARKERS))
        ]
        best = min(options, key=lambda each: sum(shape in self.shapes for shape in each))
        self.shapes.update(best)
        color, scale = _PALETTE[place]
        colors = [color] if count == 1 else shades(scale, count)
        return [Look(color, *shape) for color, shape in zip(colors, best, strict=True)]


def shades(scale: str, count: int) -> list[str]:
    """Colours from light to dark, as far as they stand out from white and are not quite black."""
    found = [
        shade
        for shade in sns.color_palette(scale, 256)
        if _DARKEST <= relative_luminance(shade) <= _LIGHTEST
    ]
    found.sort(key=relative_luminance, reverse=True)
    return [to_hex(found[k]) for k in np.linspace(0, len(found) - 1, count).round().astype(int)]


def looks_of_rows(rows: Sequence[Sequence[str]]) -> dict[str, Look]:
    """Styles of lines that stand for no single method: those of a row are in an order, such as that of budgets."""
    if max(map(len, rows), default=0) < SHORTEST_ROW:
        return {line: look(turn) for turn, line in enumerate(itertools.chain(*rows))}
    brush = _Brush()
    drawn = (brush.draw(turn % len(_PALETTE), len(row)) for turn, row in enumerate(rows))
    return dict(zip(itertools.chain(*rows), itertools.chain(*drawn), strict=True))


def rows_of_methods(results: xr.Dataset) -> list[list[str]]:
    """Labels of methods that differ in one quantity alone, in ascending order of it.

    Quantities that grow together, such as two tolerances, count as one; so does a quantity in which no two methods are
    alike, whatever else was adapted to it.
    """
    results = with_kinship(results)
    alike: dict[object, dict[str, dict[str, float]]] = {}
    for label in results["algorithm"].values:
        own = results.sel(algorithm=label)
        method = str(own["method"].item())
        facts = {name: own[name].item() for name in ("agents", "features", "delta")}
        facts |= _flat(json.loads(str(own["params"].item())), "params")
        numbers = {name: value for name, value in facts.items() if _is_number(value)}
        rest = {name: repr(value) for name, value in facts.items() if name not in numbers}
        kind = (
            method,
            own["variant"].item(),
            own["noise"].item(),
            *sorted(rest.items()),
            *sorted(numbers),
        )
        if own["role"] == "contender":
            alike.setdefault(kind, {})[str(label)] = numbers
    rows = (row for members in alike.values() for row in _rows_of(members))
    return [row for row in rows if len(row) >= SHORTEST_ROW]


def _rows_of(members: Mapping[str, Mapping[str, float]]) -> list[list[str]]:
    """Divide methods that have the same quantities into rows, by their values."""
    numbers = list(members.values())
    names = [name for name in numbers[0] if len({each[name] for each in numbers}) > 1]
    orders = [
        sorted(members, key=lambda label: members[label][name])
        for name in names
        if len({each[name] for each in numbers}) == len(members)
    ]
    if orders:
        agree = all(order in (orders[0], orders[0][::-1]) for order in orders)
        return orders[:1] if agree else []
    divisions = []
    for name in reversed(names):  # what varies fastest comes last
        groups: dict[object, list[str]] = {}
        for label in sorted(members, key=lambda label: members[label][name]):
            others = tuple(members[label][other] for other in names if other != name)
            groups.setdefault(others, []).append(label)
        divisions.append(list(groups.values()))
    return min(divisions, key=len, default=[])


def _flat(params: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Parameters by their paths."""
    found: dict[str, Any] = {}
    for key, value in params.items():
        path = f"{name}.{key}"
        found |= _flat(value, path) if isinstance(value, Mapping) else {path: value}
    return found


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def look(turn: int) -> Look:
    """Style of a line that stands for no single method."""
    color, _ = _PALETTE[turn % len(_PALETTE)]
    return Look(color, _LINES[turn % len(_LINES)], _MARKERS[4 * turn % len(_MARKERS)])


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
            low, high, color = own["lower"], own["upper"], colors[name]
            panel.fill_between(own["x"], low, high, color=color, alpha=0.2, linewidth=0)
    if seeds.any() and points:
        sns.scatterplot(table[seeds], **how, marker=".", s=18, linewidth=0, legend=False)
    elif seeds.any():
        each = {"units": "seed", "estimator": None, "linewidth": 0.5, "zorder": 1.5}
        sns.lineplot(table[seeds], **how, **each, legend=False)


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
    """Places on a logarithmic axis: powers of ten, and round numbers between them where these are few."""
    if high < 10 * low:
        found = np.array(MaxNLocator(MOST_TICKS - 1, steps=[1, 2, 5, 10]).tick_values(low, high))
    else:
        powers = 10.0 ** np.arange(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        factors = (1, 2, 5) if high < 50 * low else (1,)
        found = np.multiply.outer(powers, factors).ravel()
    inside = found[(found >= low) & (found <= high)]
    return inside[:: -(-len(inside) // MOST_TICKS)].tolist()


def set_label(panel: Axes, label: str) -> None:
    """Label the vertical axis, in as many lines as the height of the panel asks for."""
    inches = panel.bbox.height / panel.figure.dpi
    lines = [textwrap.fill(line, int(inches * 13)) for line in label.splitlines()]
    panel.set_ylabel("\n".join(lines))
