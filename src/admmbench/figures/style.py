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
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import seaborn as sns
from matplotlib.colors import to_hex
from matplotlib.figure import Figure as Drawing
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullLocator
from seaborn.utils import relative_luminance

from admmbench.results import statistics

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike, NDArray

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
        return {"color": self.color, "linestyle": self.linestyle, "marker": self.marker}

    def shade(self, panel: Axes, x: ArrayLike, lower: ArrayLike, upper: ArrayLike) -> None:
        """Draw the band of a line."""
        panel.fill_between(x, lower, upper, color=self.color, alpha=0.2, linewidth=0)

    def spread(
        self, panel: Axes, values: xr.DataArray, *, points: bool = False, log: bool = False
    ) -> None:
        """Draw how seeds spread about a line: a band, or each of a few seeds; nothing where all are the same.

        Parameters
        ----------
        panel
            Where to.
        values
            Over ``seed`` and one dimension more, the horizontal axis.
        points
            Whether the few are points and not thin lines.
        log
            Whether the vertical axis is logarithmic: there a band ends at the line where it would reach 0.
        """
        if "seed" not in values.dims or values.sizes["seed"] < 2:
            return
        if statistics.same_for_all_seeds(values).all():
            return
        values = values.transpose(..., "seed")
        x = values[values.dims[0]].values
        if values.sizes["seed"] <= statistics.FEW_SEEDS:
            shape = {"linestyle": "", "marker": "."} if points else {"linewidth": 0.5}
            panel.plot(x, values, color=self.color, zorder=1.5, label="_seed", **shape)
            return
        band = statistics.band(values)
        lower = band["lower"].where(band["lower"] > 0, band["mean"]) if log else band["lower"]
        self.shade(panel, x, lower, band["upper"])


_PALETTE = (
    *("#0173b2", "#ca8205", "#029e73", "#d55e00", "#cb74ba"),
    *("#c4844e", "#f64bc2", "#919191", "#9e950f", "#1d99e0"),
)
"""Seaborn's palette for the colour-blind, the light ones darkened until their contrast to white is 3:1."""
_LINES: tuple[str | tuple[int, tuple[float, ...]], ...] = (
    "-",
    (0, (5, 1.5)),
    (0, (1.5, 1.2)),
    (0, (6, 1.5, 1.5, 1.5)),
    (0, (6, 1.2, 1.2, 1.2, 1.2, 1.2)),
)
_MARKERS = "osD^vP<X>*"
_FAMILIES = {
    "objp": (_PALETTE[0], 0),
    "outp": (_PALETTE[3], 1),
    "objp, several local updates": (_PALETTE[1], 2),
    "objt": (_PALETTE[2], 3),
    "outp, scaled penalty": (_PALETTE[4], 5),
    "dp_admm": (_PALETTE[3], 1),
    "admm": (_PALETTE[0], 0),
    "admm_sharing": (_PALETTE[0], 0),
    "pvp": (_PALETTE[1], 2),
    "dvp": (_PALETTE[2], 3),
    "dpsgd": (_PALETTE[4], 5),
}
"""Colour and first marker of the papers' methods; dp_admm and outp are one mechanism."""
_SCALES = {
    _PALETTE[0]: "Blues",
    _PALETTE[1]: "YlOrBr",
    _PALETTE[2]: "BuGn",
    _PALETTE[3]: "flare",
    _PALETTE[4]: "RdPu",
    _PALETTE[5]: "Oranges",
    _PALETTE[6]: "PuRd",
    _PALETTE[7]: "Greys",
    _PALETTE[8]: "YlGn",
    _PALETTE[9]: "GnBu",
}
"""Sequential scale of each colour, from light to dark."""
_DARKEST, _LIGHTEST = 0.01, 0.3
"""Relative luminances at the ends of what is cut from a scale: not quite black, and a contrast of 3:1 to white."""
MOST_TICKS = 5
"""Of a logarithmic axis that says which values it has itself."""
SHORTEST_ROW = 3
"""Two lines need no scale."""
_FREE_MARKER = 4
"""First marker for other methods: one that no family begins with."""
_BY_CONTRAST = tuple(_PALETTE[k] for k in (0, 3, 2, 1, 4, 9, 5, 7, 6, 8))
"""Colours for other methods, those that stand out from white first."""
_DARK = "#333333"
_REFERENCES: dict[str, str | tuple[int, tuple[float, ...]]] = {
    "admm": (0, (4, 2)),
    "iadmm": (0, (4, 2)),
    "centralized": (0, (4, 2)),
    "local_only": (0, (1.2, 1.6)),
}
"""Lines of the methods that others are compared with: they add no noise."""


def looks(results: xr.Dataset) -> dict[str, Look]:
    """Style of every method of an experiment, by label, whichever of them a figure shows.

    The coordinates ``method`` and ``params`` decide. Methods of one family have its colour and differ in line and
    marker. Where no family is told from another, as in a study of one method's parameters, and for methods without
    a colour of their own, each label takes a colour that the experiment leaves, in its order. So does a family whose
    colour is that of another paper's, which comes before it in the experiment.

    Methods that differ in one quantity alone are a row: they share a line, and a scale from light to dark as the
    quantity grows in the place of one colour.
    """
    labels = [str(label) for label in results["algorithm"].values]
    methods = [str(name) for name in results["method"].values]
    params = [json.loads(str(text)) for text in results["params"].values]
    families = list(map(_family, methods, params))
    names = {name for name in methods if name not in _REFERENCES}
    if len(names) == 1:
        families = [""] * len(families)
    owners: dict[str, str] = {}  # of colours
    for family in filter(None, families):
        owners.setdefault(_FAMILIES[family][0], family)
    families = [family if family in owners.values() else "" for family in families]
    free = itertools.cycle(
        c for c in _BY_CONTRAST if c not in {_FAMILIES[f][0] for f in families if f}
    )
    rows = _rows(results)
    in_rows = {label for row in rows for label in row}
    chosen: dict[str, Look] = {}
    used: Counter[object] = Counter()
    for label, method, family in zip(labels, methods, families, strict=True):
        if label in in_rows:
            continue
        line = _REFERENCES.get(method)
        step = used[line or family]
        used[line or family] += 1
        if line:
            # The first has none of the markers, so that it looks like no other line.
            chosen[label] = Look(_DARK, line, _MARKERS[step - 1] if step else "")
        elif family:
            chosen[label] = _look(*_FAMILIES[family], step)
    colors = {
        label: _FAMILIES[family][0]
        for label, family in zip(labels, families, strict=True)
        if family
    }
    for turn, row in enumerate(rows):
        # Of two rows of one family, one has its colour.
        color = colors.pop(row[0], "") or next(free)
        colors = {label: own for label, own in colors.items() if own != color}
        chosen.update(zip(row, series(color, len(row), turn, chosen.values()), strict=True))
    for step, label in enumerate(label for label in labels if label not in chosen):
        chosen[label] = _unlike(chosen.values(), next(free), step)
    return {label: chosen[label] for label in labels}


def series(color: str, count: int, turn: int, others: Iterable[Look] = ()) -> list[Look]:
    """Styles of lines in an order: one line, from light to dark, with markers that no other has on such a line.

    Parameters
    ----------
    color
        One of the palette's; its scale is taken.
    count
        How many lines there are.
    turn
        How many series there are already, which have other lines.
    others
        Styles of other lines of the figure.
    """
    scale = [
        shade
        for shade in sns.color_palette(_SCALES[color], 256)
        if _DARKEST <= relative_luminance(shade) <= _LIGHTEST
    ]
    scale.sort(key=relative_luminance, reverse=True)
    shades = [to_hex(scale[k]) for k in np.linspace(0, len(scale) - 1, count).round().astype(int)]
    shapes = {(each.linestyle, each.marker) for each in others}
    options = [
        [
            (_LINES[(turn + line) % len(_LINES)], _MARKERS[(k + first) % len(_MARKERS)])
            for k in range(count)
        ]
        for line in range(len(_LINES))
        for first in range(len(_MARKERS))
    ]
    best = min(options, key=lambda each: sum(shape in shapes for shape in each))
    return [Look(shade, *shape) for shade, shape in zip(shades, best, strict=True)]


def grid_of_looks(rows: int, columns: int) -> list[list[Look]]:
    """Styles of lines that stand for no single method: columns are in an order, such as that of budgets."""
    if columns < SHORTEST_ROW:
        turns = iter(range(rows * columns))
        return [[look(next(turns)) for _ in range(columns)] for _ in range(rows)]
    colors = itertools.cycle(_BY_CONTRAST)
    return [series(next(colors), columns, turn) for turn in range(rows)]


def _rows(results: xr.Dataset) -> list[list[str]]:
    """Labels of methods that differ in one quantity alone, in ascending order of it.

    Quantities that grow together, such as two tolerances, count as one; so does a quantity in which no two methods are
    alike, whatever else was adapted to it.
    """
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
        if method not in _REFERENCES:
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


def _unlike(others: Iterable[Look], color: str, step: int) -> Look:
    """Give a colour a line and a marker, which no other method has both, and a line that its others do not have."""
    shapes = {(each.linestyle, each.marker) for each in others}
    lines = {(each.color, each.linestyle) for each in others}
    options = (
        _look(color, marker, turn)
        for turn in range(step, step + len(_LINES))
        for marker in range(_FREE_MARKER, _FREE_MARKER + len(_MARKERS))
    )
    return min(
        options,
        key=lambda each: (
            (each.linestyle, each.marker) in shapes,
            (color, each.linestyle) in lines,
        ),
    )


def _family(method: str, params: dict[str, Any]) -> str:
    """Name in `_FAMILIES`, empty if there is none; papers name a method anew for some of its parameters."""
    penalty = params.get("rho")
    if method == "objp" and params.get("local_updates", 1) > 1:
        return "objp, several local updates"
    if method == "outp" and isinstance(penalty, dict) and "scale" in penalty:
        return "outp, scaled penalty"
    return method if method in _FAMILIES else ""


def look(turn: int) -> Look:
    """Style of a line that stands for no single method."""
    return _look(_BY_CONTRAST[turn % len(_BY_CONTRAST)], turn, turn)


def _look(color: str, marker: int, step: int) -> Look:
    # Steps change line and marker together, so that no two methods share both, whatever their colour.
    return Look(color, _LINES[step % len(_LINES)], _MARKERS[(marker + 3 * step) % len(_MARKERS)])


def sheet(figure: Figure, rows: int = 1, columns: int = 1) -> tuple[Drawing, NDArray[Any]]:
    """Make an empty drawing for a figure, and its panels by row and column, which share their axes."""
    width = figure.width or _usual_width(rows * columns)
    height = _SINGLE[width] if rows * columns == 1 else _ROW * rows + 0.4
    drawing = Drawing(figsize=(WIDTHS[width], height), layout="constrained")
    return drawing, drawing.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)


def grid(figure: Figure, count: int, label: str) -> tuple[Drawing, NDArray[Any]]:
    """Make an empty drawing with some panels, and a label on the horizontal axes of the lowest.

    The array has rows and columns, and may have more panels than are asked for; the last ones are then not visible.
    """
    most = _MOST_COLUMNS[figure.width or _usual_width(count)]
    # Four panels are a square rather than a row of three and one.
    columns = 2 if count == 4 else max(1, min(count, most))
    drawing, panels = sheet(figure, max(1, -(-count // columns)), columns)
    for panel in panels.flat[count:]:
        panel.set_visible(False)
    # The lowest panel of each column has the axis, also above a gap in the last row.
    for panel in panels.flat[max(0, count - columns) : count]:
        panel.tick_params(labelbottom=True)
        panel.set_xlabel(label)
    return drawing, panels


def _usual_width(panels: int) -> Width:
    return "column" if panels == 1 else "page"


def finish(panel: Axes, figure: Figure, empty: str = "no results") -> None:
    """Set the vertical axis, and say why if there is nothing in the panel."""
    if not panel.has_data():
        middle: dict[str, Any] = {"ha": "center", "va": "center", "transform": panel.transAxes}
        panel.text(0.5, 0.5, empty, color="#555555", **middle)
    if figure.log:
        panel.set_yscale("log")
    elif figure.metric in {"noise_magnitude", "consensus_violation"}:
        panel.set_ylim(bottom=0)
    panel.spines[["top", "right"]].set_visible(False)


def set_rounds(panel: Axes, rounds: xr.DataArray) -> None:
    """Give the horizontal axis few ticks, in thousands where there are many rounds."""
    panel.xaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10], integer=True))
    if rounds.max() >= 10_000:
        panel.xaxis.set_major_formatter(FuncFormatter(_thousands))


def set_ticks(panel: Axes, values: Sequence[float]) -> None:
    """Give the horizontal axis ticks at some values and nowhere else."""
    panel.set_xticks(values, [f"{value:g}".replace("e-0", "e-") for value in values])
    panel.xaxis.set_minor_locator(NullLocator())


def set_few_ticks(panel: Axes) -> None:
    """Give a logarithmic horizontal axis powers of ten, and round numbers between them where these are few."""
    low, high = panel.get_xlim()
    if high < 10 * low:
        found = np.array(MaxNLocator(MOST_TICKS - 1, steps=[1, 2, 5, 10]).tick_values(low, high))
    else:
        powers = 10.0 ** np.arange(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        factors = (1, 2, 5) if high < 50 * low else (1,)
        found = np.multiply.outer(powers, factors).ravel()
    inside = found[(found >= low) & (found <= high)]
    set_ticks(panel, inside[:: -(-len(inside) // MOST_TICKS)].tolist())


def set_label(panel: Axes, label: str) -> None:
    """Label the vertical axis, in as many lines as the height of the panel asks for."""
    inches = panel.bbox.height / panel.figure.dpi
    lines = [textwrap.fill(line, int(inches * 13)) for line in label.splitlines()]
    panel.set_ylabel("\n".join(lines))


def common(groups: Iterable[Sequence[str]]) -> list[str]:
    """Name groups of methods by the words that their labels share, or by their first labels if those are alike."""
    groups = list(groups)
    names = [_shared(labels) for labels in groups]
    distinct = all(names) and len(set(names)) == len(names)
    return names if distinct else [f"{labels[0]} …" for labels in groups]


def _shared(labels: Sequence[str]) -> str:
    """Words with which all labels begin and end; a value between them, or after "=", is an ellipsis."""
    words = [label.split() for label in labels]
    head = _leading(words)
    tail = _leading([each[len(head) :][::-1] for each in words])[::-1]
    if len(labels) == 1 or not (tail or (head and head[-1] == "=")):
        return " ".join(head).rstrip(" ,=")
    value = words[0][len(head) : len(words[0]) - len(tail)]
    comma = "," if value and value[-1].endswith(",") else ""
    return " ".join([*head, f"…{comma}", *tail])


def _leading(words: Iterable[Sequence[str]]) -> list[str]:
    """Words with which all begin."""
    same = itertools.takewhile(lambda each: len(set(each)) == 1, zip(*words, strict=False))
    return [each[0] for each in same]


def _thousands(value: float, _: object = None) -> str:
    return f"{value / 1e6:g}M" if value >= 1e6 else f"{value / 1e3:g}k" if value else "0"
