"""Figures of an experiment: curves over the rounds, and trade-offs between error and privacy.

One look for all of them: a method has the same colour, line style and marker in every figure, and
the styles tell methods apart without colour. Files are byte-for-byte reproducible.
"""

from __future__ import annotations

import io
import itertools
import math
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import matplotlib as mpl
import numpy as np
import seaborn as sns
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullLocator

from admmbench.analysis import statistics

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

    from admmbench import config

MAX_COLUMNS = 3
PANEL = (2.35, 2.0)
"""Width and height of one panel of curves, in inches."""
SINGLE = (4.7, 3.0)
"""Width and height of a panel that is alone, in inches."""
MARKERS_PER_LINE = 7

STYLE = {
    **sns.axes_style("whitegrid"),
    "axes.edgecolor": "#444444",
    "axes.linewidth": 0.8,
    "font.family": "DejaVu Sans",
    "font.size": 8.5,
    "axes.labelsize": 8.5,
    "axes.titlesize": 8.5,
    "axes.titleweight": "bold",
    "grid.color": "#e4e4e4",
    "grid.linewidth": 0.6,
    "legend.fontsize": 8.5,
    "lines.linewidth": 1.5,
    "lines.markersize": 4.5,
    "pdf.fonttype": 42,
    "xtick.labelsize": 7.5,
    "ytick.labelsize": 7.5,
}


class Look(NamedTuple):
    """How a method is drawn."""

    color: str
    linestyle: str | tuple[int, tuple[float, ...]]
    marker: str

    def line(self) -> dict[str, Any]:
        """Keywords of :meth:`matplotlib.axes.Axes.plot`."""
        return {"color": self.color, "linestyle": self.linestyle, "marker": self.marker}


_PALETTE = sns.color_palette("colorblind", 10).as_hex()
_LINES: tuple[str | tuple[int, tuple[float, ...]], ...] = (
    "-",
    (0, (5, 1.5)),
    (0, (1.5, 1.2)),
    (0, (6, 1.5, 1.5, 1.5)),
    (0, (6, 1.2, 1.2, 1.2, 1.2, 1.2)),
)
_MARKERS = "osD^vP<X>*"
_FAMILIES = {
    "ObjP": (_PALETTE[0], 0),
    "OutP": (_PALETTE[3], 1),
    "ObjPM": (_PALETTE[1], 2),
    "ObjT": (_PALETTE[2], 3),
    "OutP+": (_PALETTE[4], 5),
    "DP-ADMM": (_PALETTE[3], 1),
    "ADMM": (_PALETTE[0], 0),
    "PVP": (_PALETTE[1], 2),
    "DVP": (_PALETTE[2], 3),
    "DPSGD": (_PALETTE[4], 5),
}
"""Colour and first marker of the papers' methods; DP-ADMM and OutP are one mechanism."""
_FREE_MARKERS = (4, 6, 7, 8, 9)
"""First markers that are left for other labels."""
_BY_CONTRAST = tuple(_PALETTE[k] for k in (0, 3, 2, 1, 4, 9, 5, 7, 6, 8))
"""Colours for other labels, those that stand out from white first."""
_REFERENCE = Look("#333333", (0, (4, 2)), "")
_REFERENCES = {
    **dict.fromkeys(("Non-private", "Centralized", "All features"), _REFERENCE),
    "Local only": Look("#333333", (0, (1.2, 1.6)), ""),
}
"""Looks of what others are compared with."""


def looks(results: xr.Dataset) -> dict[str, Look]:
    """Style of every method of an experiment, whichever of them a figure shows.

    A label belongs to the method that its first word names: "OutP (paper)" and "OutP a=100" have
    the colour of "OutP" and another line style. Labels without a fixed colour take those that
    the experiment leaves, in its order.
    """
    labels = [str(label) for label in results["algorithm"].values]
    families = {label: label.split()[0] for label in labels if label.split()[0] in _FAMILIES}
    taken = {_FAMILIES[family][0] for family in families.values()}
    colors = [color for color in _BY_CONTRAST if color not in taken]
    chosen: dict[str, Look] = {}
    used: Counter[str] = Counter()
    for label in labels:
        family = families.get(label, "")
        step = used[family]
        if label in _REFERENCES:
            chosen[label] = _REFERENCES[label]
            continue
        if family:
            color, marker = _FAMILIES[family]
        else:
            count = len(_FREE_MARKERS)
            color, marker = (
                colors[step % len(colors)],
                _FREE_MARKERS[(step + step // count) % count],
            )
        chosen[label] = _look(color, marker, step)
        used[family] += 1
    return chosen


def _look(color: str, marker: int, step: int) -> Look:
    # Steps change line and marker together, so that no two methods share both, whatever their colour.
    return Look(color, _LINES[step % len(_LINES)], _MARKERS[(marker + 3 * step) % len(_MARKERS)])


def draw(results: xr.Dataset, figure: config.Figure) -> Figure:
    """Draw one figure.

    Parameters
    ----------
    results : xarray.Dataset
        Results of the experiment.
    figure : admmbench.config.Figure
        What to draw. ``curves``: the metric against the round, one panel for each finite epsilon,
        mean over seeds in a band from the 20th to the 80th percentile. ``tradeoff``: one number per
        run against epsilon, or what ``against`` says; for ``statistic: final`` mean and band over
        seeds of the last round, for ``statistic: best`` the lowest value over rounds and seeds.
        Methods that ran only without noise are dashed reference lines.

    Returns
    -------
    matplotlib.figure.Figure
        Not registered with pyplot; save it with :func:`save`.

    Raises
    ------
    ValueError
        If the figure names a metric, label or epsilon that the results do not hold.
    """
    shown = _select(results, figure)
    # The canvas is needed for a layout without pyplot's global state.
    with mpl.rc_context(STYLE):
        drawing = (_curves if figure.kind == "curves" else _tradeoff)(shown, figure, looks(results))
        FigureCanvasAgg(drawing)
        _add_foot(drawing, _entries(drawing, shown, figure), _notes(shown, figure))
    return drawing


def svg(results: xr.Dataset, figure: config.Figure) -> str:
    """Text of the figure as SVG, as :func:`save` writes it."""
    buffer = io.BytesIO()
    _write(draw(results, figure), buffer, "svg", figure.name)
    return buffer.getvalue().decode("utf-8")


def save(
    results: xr.Dataset, figures: Iterable[config.Figure], directory: Path | str
) -> list[Path]:
    """Write each figure as ``<name>.svg`` and ``<name>.pdf``.

    The same results give the same bytes: no dates, no random identifiers.

    Parameters
    ----------
    results : xarray.Dataset
        Results of the experiment.
    figures : iterable of admmbench.config.Figure
        Figures of the experiment.
    directory : path
        Made if it is not there.

    Returns
    -------
    list of pathlib.Path
        The files, in the order of the figures.
    """
    folder = Path(directory)
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for figure in figures:
        drawing = draw(results, figure)
        for suffix in ("svg", "pdf"):
            path = folder / f"{figure.name}.{suffix}"
            buffer = io.BytesIO()
            _write(drawing, buffer, suffix, figure.name)
            path.write_bytes(buffer.getvalue())
            paths.append(path)
    return paths


def _write(drawing: Figure, buffer: io.BytesIO, suffix: str, name: str) -> None:
    # Identifiers of SVG elements are random unless salted; dates and versions change without the
    # data.
    fields = {
        "svg": ("Date", "Creator", "Format", "Type"),
        "pdf": ("CreationDate", "Creator", "Producer"),
    }
    with mpl.rc_context({**STYLE, "svg.hashsalt": name, "svg.fonttype": "path"}):
        drawing.savefig(buffer, format=suffix, metadata=dict.fromkeys(fields[suffix]))


def _select(results: xr.Dataset, figure: config.Figure) -> xr.Dataset:
    """Select methods and budgets; budgets without noise stay, for the reference lines.

    A study that is scaled down may lack budgets that the figure of the paper shows: those that were run are drawn,
    and all of them if none of the figure's is among them.
    """
    if figure.metric not in results:
        raise ValueError(f"figure {figure.name}: no metric {figure.metric!r} in the results")
    labels = figure.algorithms or list(results["algorithm"].values)
    epsilons = results["epsilon"].values
    if figure.epsilon is not None:
        asked = [e for e in epsilons if e in figure.epsilon]
        if asked:
            epsilons = np.array([e for e in epsilons if e in asked or math.isinf(e)])
    if unknown := [label for label in labels if label not in results["algorithm"].values]:
        raise ValueError(f"figure {figure.name}: no algorithm {unknown} in the results")
    return results.sel(algorithm=labels, epsilon=epsilons)


def _ran(shown: xr.Dataset, label: str, epsilon: float) -> bool:
    return bool((shown["status"].sel(algorithm=label, epsilon=epsilon) >= 0).any())


def _budgets(shown: xr.Dataset, figure: config.Figure) -> list[float]:
    """Epsilons that get a panel: the finite ones, and infinity where it is asked for or alone."""
    values = [float(e) for e in shown["epsilon"].values]
    finite = [e for e in values if math.isfinite(e)]
    asked = figure.epsilon is not None and math.inf in figure.epsilon
    return values if asked or not finite else finite


def _references(shown: xr.Dataset, budgets: list[float], metric: str) -> list[str]:
    """Methods that ran without noise only; noise and privacy are trivial for them."""
    if math.inf in budgets or math.inf not in shown["epsilon"].values:
        return []
    if metric.startswith(("noise", "epsilon")):
        return []
    return [
        str(label)
        for label in shown["algorithm"].values
        if _ran(shown, label, math.inf) and not any(_ran(shown, label, e) for e in budgets)
    ]


class _Scale(NamedTuple):
    """Axis of a metric: factor from the stored unit to the shown one, and the label."""

    factor: float
    label: str


def _scale(shown: xr.Dataset, figure: config.Figure) -> _Scale:
    attrs = shown[figure.metric].attrs
    name = str(attrs.get("long_name", figure.metric.replace("_", " ")))
    name = name[:1].upper() + name[1:]
    if figure.metric == "test_error":
        return _Scale(100.0, f"{name} (%)")
    unit = str(attrs.get("units", "1"))
    return _Scale(1.0, name if unit in {"1", ""} else f"{name} ({unit})")


def _curves(shown: xr.Dataset, figure: config.Figure, styles: dict[str, Look]) -> Figure:
    budgets = _budgets(shown, figure)
    references = _references(shown, budgets, figure.metric)
    scale = _scale(shown, figure)
    # Four panels are a square rather than a row of three and one.
    columns = 2 if len(budgets) == 4 else min(len(budgets), MAX_COLUMNS)
    rows = -(-len(budgets) // columns)
    size = (max(columns * PANEL[0], 3.6), rows * PANEL[1] + 0.55)
    if len(budgets) == 1:
        size = SINGLE
    drawing = Figure(figsize=size, layout="constrained")
    panels = drawing.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    for panel, budget in itertools.zip_longest(panels.flat, budgets):
        if budget is None:
            panel.set_visible(False)
            continue
        if math.isfinite(budget) or len(budgets) > 1:
            panel.set_title("ε = ∞" if math.isinf(budget) else f"ε = {budget:g}")
        for turn, label in enumerate(map(str, shown["algorithm"].values)):
            source = math.inf if label in references else budget
            if _ran(shown, label, source):
                values = shown[figure.metric].sel(algorithm=label, epsilon=source) * scale.factor
                _curve(panel, values, label, styles[label], turn, figure.log)
        if not panel.lines:
            _say_empty(panel)
        _finish(panel, figure)
        panel.xaxis.set_major_locator(MaxNLocator(4, integer=True))
        if shown["round"].max() >= 10_000:
            panel.xaxis.set_major_formatter(FuncFormatter(_thousands))
    # The lowest panel of each column has the round axis, also above a gap in the last row.
    for panel in panels.flat[max(0, len(budgets) - columns) : len(budgets)]:
        panel.tick_params(labelbottom=True)
        panel.set_xlabel("Round")
    for panel in panels[:, 0]:
        panel.set_ylabel(_wrapped(scale.label, PANEL[1]))
    return drawing


def _curve(panel: Axes, values: xr.DataArray, label: str, look: Look, turn: int, log: bool) -> None:
    """Mean over seeds against the round, with its band; points without any value are left out."""
    band = statistics.band(values) if "seed" in values.dims else None
    mean = values if band is None else band["mean"]
    mean = mean.where(np.isfinite(mean)).dropna("round")
    if log:
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
        lower = edges["lower"].where(edges["lower"] > 0, mean) if log else edges["lower"]
        panel.fill_between(rounds, lower, edges["upper"], color=look.color, alpha=0.2, linewidth=0)


def _tradeoff(shown: xr.Dataset, figure: config.Figure, styles: dict[str, Look]) -> Figure:
    drawing = Figure(figsize=SINGLE, layout="constrained")
    panel = drawing.subplots()
    scale = _scale(shown, figure)
    budgets = _budgets(shown, figure)
    references = _references(shown, budgets, figure.metric)
    values = statistics.reduce(shown, figure.metric, figure.statistic) * scale.factor
    for label in references:
        level = float(_centre(values.sel(algorithm=label, epsilon=math.inf), figure))
        if math.isfinite(level):
            panel.axhline(level, label=label, **styles[label].line())
    others = [str(a) for a in shown["algorithm"].values if a not in references]
    values = values.sel(algorithm=others, epsilon=budgets)
    lines = _over_methods if figure.against in _OF_METHODS else _over_budgets
    for label, look, own in lines(shown.sel(algorithm=others, epsilon=budgets), values, figure):
        line = _centre(own, figure).dropna("x")
        if line.size == 0:
            continue
        panel.plot(line["x"], line, label=label, **(look or styles[label]).line())
        if figure.statistic == "final" and "seed" in own.dims and own.sizes["seed"] > 1:
            band = statistics.band(own).sel(x=line["x"])
            color = (look or styles[label]).color
            panel.fill_between(
                band["x"], band["lower"], band["upper"], color=color, alpha=0.2, linewidth=0
            )
    if not panel.lines:
        _say_empty(panel)
    _finish(panel, figure)
    _set_axis(panel, shown, figure, budgets)
    lowest = "\nlowest over rounds and seeds" if figure.statistic == "best" else ""
    panel.set_ylabel(_wrapped(scale.label, SINGLE[1]) + lowest)
    return drawing


def _wrapped(label: str, height: float) -> str:
    """Break a label of a vertical axis that is longer than the panel, whose height is in inches, is high."""
    return textwrap.fill(label, int(height * 14))


_Lines = Iterator[tuple[str, Look | None, "xr.DataArray"]]


def _over_budgets(shown: xr.Dataset, values: xr.DataArray, figure: config.Figure) -> _Lines:
    """One line for each method, over its budgets; values have the dimension ``x``."""
    for label in map(str, shown["algorithm"].values):
        own = values.sel(algorithm=label)
        x = own["epsilon"]
        if figure.against == "epsilon_total":
            x = statistics.final(shown, "epsilon_total").sel(algorithm=label)
        kept = np.isfinite(x.values) & np.isfinite(own["epsilon"].values)
        yield (
            label,
            None,
            own.isel(epsilon=kept).rename(epsilon="x").assign_coords(x=x.values[kept]),
        )


def _over_methods(shown: xr.Dataset, values: xr.DataArray, figure: config.Figure) -> _Lines:
    """One line for each budget and family, over methods that differ in agents, delta or features.

    The family is what stands before the last comma of a label: "SGD" in "SGD, 500 features".
    """
    labels = [str(label) for label in shown["algorithm"].values]
    families = dict.fromkeys(label.rpartition(", ")[0] for label in labels)
    along = values.assign_coords(x=("algorithm", shown[figure.against].values))
    budgets = values["epsilon"].values
    lines = itertools.product(families, budgets)
    for turn, (family, budget) in enumerate(lines):
        own = [label for label in labels if label.rpartition(", ")[0] == family]
        line = along.sel(algorithm=own, epsilon=budget).swap_dims(algorithm="x").sortby("x")
        words = [family] * bool(family)
        if len(budgets) > 1 or not family:
            words.append(f"ε = {budget:g}")
        yield ", ".join(words), _look(_BY_CONTRAST[turn % len(_BY_CONTRAST)], turn, turn), line


_OF_METHODS = ("agents", "delta", "features")
_AXES = {
    "epsilon": "Privacy budget per iteration, ε",
    "epsilon_total": "Composed privacy loss, ε",
    "agents": "Agents",
    "features": "Features",
    "delta": "Failure probability of an iteration, δ",
}


def _set_axis(panel: Axes, shown: xr.Dataset, figure: config.Figure, budgets: list[float]) -> None:
    """Label the horizontal axis: logarithmic, with ticks at what was run."""
    panel.set_xlabel(_AXES[figure.against])
    methods_differ = figure.against in _OF_METHODS
    ticks = np.unique(shown[figure.against].values).tolist() if methods_differ else budgets
    ticks = [tick for tick in ticks if math.isfinite(tick)]
    if ticks:
        panel.set_xscale("log")
    if ticks and figure.against != "epsilon_total":
        panel.set_xticks(ticks, [f"{tick:g}".replace("e-0", "e-") for tick in ticks])
        panel.xaxis.set_minor_locator(NullLocator())


def _centre(values: xr.DataArray, figure: config.Figure) -> xr.DataArray:
    """Mean over seeds for the final value, lowest for the best one."""
    if "seed" not in values.dims:
        return values
    return statistics.over_seeds(values, "best" if figure.statistic == "best" else "mean")


def _finish(panel: Axes, figure: config.Figure) -> None:
    if figure.log:
        panel.set_yscale("log")
    elif figure.metric in {"noise_magnitude", "consensus_violation"}:
        panel.set_ylim(bottom=0)
    panel.spines[["top", "right"]].set_visible(False)


def _say_empty(panel: Axes) -> None:
    panel.text(
        0.5, 0.5, "no results", ha="center", va="center", transform=panel.transAxes, color="#555555"
    )


def _thousands(value: float, _: object = None) -> str:
    return f"{value / 1e6:g}M" if value >= 1e6 else f"{value / 1e3:g}k" if value else "0"


def _lost(shown: xr.Dataset, figure: config.Figure) -> Iterator[tuple[str, str]]:
    """(label, text) for each method and budget of which runs did not complete."""
    if "seed" not in shown[figure.metric].dims:
        return
    counts = statistics.counts(shown)
    for label in map(str, shown["algorithm"].values):
        for epsilon in map(float, shown["epsilon"].values):
            state = counts.sel(algorithm=label, epsilon=epsilon)
            lost = [
                f"{int(state[name])} {name.replace('_', ' ')}"
                for name in ("diverged", "timed_out")
                if state[name] > 0
            ]
            if lost:
                total = int(state["completed"] + state["diverged"] + state["timed_out"])
                at = "without noise" if math.isinf(epsilon) else f"ε = {epsilon:g}"
                yield label, f"{label}, {at}: {' and '.join(lost)} of {total} runs"


def _notes(shown: xr.Dataset, figure: config.Figure) -> list[str]:
    """Footnotes: what the lines are, what the data leave out, and which runs were lost."""
    count = shown.sizes["seed"]
    seeded = "seed" in shown[figure.metric].dims
    notes = []
    if seeded and (figure.kind == "curves" or figure.statistic == "final"):
        notes.append(
            f"Mean and 20–80 percentile band over {count} seeds."
            if count > 1
            else "One seed, no band."
        )
    elif seeded:
        notes.append(f"Lowest of {count} seeds and all evaluated rounds.")
    if note := shown.attrs.get("dataset_note"):
        notes.append(f"Data: {note}.")
    if lost := [text for _, text in _lost(shown, figure)]:
        how = "drawn until they stop" if figure.kind == "curves" else "left out"
        notes.append(f"† {'; '.join(lost)}; {how}.")
    return notes


def _entries(drawing: Figure, shown: xr.Dataset, figure: config.Figure) -> dict[str, Line2D]:
    """Find one line for each method, in the order of the figure; † where runs were lost."""
    lost = {label for label, _ in _lost(shown, figure)}
    lines = {str(line.get_label()): line for panel in drawing.axes for line in panel.lines}
    methods = [str(label) for label in shown["algorithm"].values]
    labels = [label for label in methods if label in lines]
    labels += [label for label in lines if label not in methods and not label.startswith("_")]
    room = int(drawing.get_figwidth() * 11)
    names = {label: textwrap.shorten(label, room, placeholder=" …") for label in labels}
    if len(set(names.values())) < len(names):
        names = {label: label for label in labels}
    return {names[label] + (" †" if label in lost else ""): lines[label] for label in labels}


def _add_foot(drawing: Figure, entries: dict[str, Line2D], notes: list[str]) -> None:
    """Put legend and small print into a strip below the panels; the drawing grows by its height."""
    width, height = drawing.get_size_inches()
    # Sizes in inches at the font sizes of STYLE: 0.6 for the sample of a line, 0.075 a character.
    longest = max(map(len, entries), default=0)
    columns = max(1, min(len(entries), int((width - 0.2) / (0.75 + 0.075 * longest))))
    rows = -(-len(entries) // columns) if entries else 0
    lines = [line for note in notes for line in textwrap.wrap(note, int(width * 17))]
    legend, print_ = 0.19 * rows + 0.08 * bool(rows), 0.125 * len(lines) + 0.06 * bool(lines)
    total = height + legend + print_
    drawing.set_size_inches(width, total)
    drawing.set_layout_engine("constrained", rect=(0, 1 - height / total, 1, height / total))
    if entries:
        box = drawing.legend(
            list(entries.values()),
            list(entries),
            loc="upper center",
            bbox_to_anchor=(0.5, 1 - height / total),
            ncols=columns,
            frameon=False,
            handlelength=3.2,
            columnspacing=1.6,
            borderaxespad=0.2,
            borderpad=0,
            labelspacing=0.4,
        )
        box.set_in_layout(False)
    text = drawing.text(
        *(0.1 / width, print_ / total, "\n".join(lines)),
        fontsize=6.8,
        color="#444444",
        va="top",
        linespacing=1.3,
    )
    text.set_in_layout(False)
