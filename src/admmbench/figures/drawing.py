"""Drawings and files of figures of any kind: panels, with one legend and small print below them.

Files are byte-for-byte reproducible.
"""

from __future__ import annotations

import io
import textwrap
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib as mpl
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure as Drawing
from matplotlib.lines import Line2D

from admmbench import plugins
from admmbench.figures import look
from admmbench.figures.base import CHECKSUMMED, FORMATS
from admmbench.figures.style import (
    AS_WRITTEN,
    SMALL_PRINT,
    STYLE,
    Layout,
    finish,
    set_label,
    set_ticks,
)
from admmbench.figures.wording import budget
from admmbench.files import BINARY, MARKUP, PDF, with_checksum, write
from admmbench.results import statistics

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.legend import Legend

    from admmbench.figures import Figure
    from admmbench.figures.base import Width
    from admmbench.figures.look import Look


WIDTHS: dict[Width, float] = {"column": 3.5, "page": 7.16}
"""Widths of a figure, in inches: one column and two columns of a paper (IEEE, ACM)."""
_SINGLE: dict[Width, float] = {"column": 2.3, "page": 3.0}
"""Height of a panel that is alone, in inches."""
_ROW = 1.9
"""Height of one of several rows of panels, in inches."""
_MOST_COLUMNS: dict[Width, int] = {"column": 2, "page": 3}
"""Largest number of panels side by side."""
_DPI = 300
"""Resolution of a PNG in dots per inch, as journals ask for."""


def draw(results: xr.Dataset, figure: Figure, looks: Mapping[str, Look] | None = None) -> Drawing:
    """Draw one figure.

    Parameters
    ----------
    results
        Results of the experiment.
    figure
        Figure to draw.
    looks
        Looks of the methods of a study, by label; missing ones are chosen for this experiment alone.

    Returns
    -------
    matplotlib.figure.Figure
        Not registered with pyplot; save it with :func:`save`.

    Raises
    ------
    ValueError
        If the figure names a metric or label that the results do not hold.
    """
    return _draw_with_table(results, figure, looks)[0]


def draw_into(ax: Axes, results: xr.Dataset, figure: Figure) -> Axes:
    """Draw the only panel of a figure into given axes, with its legend, and return the axes; see `draw`.

    Raises
    ------
    ValueError
        If the figure has several panels.
    """
    shown = figure.select(results)
    with mpl.rc_context(AS_WRITTEN), plugins.answerable(figure.kind):
        table = figure.table(shown)
        panels = table["panel"].unique() if "panel" in table else [""]
        if len(panels) > 1:
            raise ValueError(
                f"ax: the figure has {len(panels)} panels ({', '.join(map(str, panels))}), and axes hold one; select "
                "one, such as by epsilon=[1], or leave ax out"
            )
        styles = figure.looks(table, look.of_results([results]))
        figure.plot(ax, table, styles)
        finish(ax, figure)
        x_label, y_label = figure.axes(shown)
        ax.set(xlabel=x_label, ylabel=y_label)
        failed = {label for label, _ in _failed_runs(shown, figure)}
        width = float(ax.get_window_extent().width) / ax.figure.dpi
        entries = _entries(width, shown, table, styles, failed)
        ax.legend(list(entries.values()), list(entries), frameon=False)
    return ax


def _draw_with_table(
    results: xr.Dataset, figure: Figure, looks: Mapping[str, Look] | None
) -> tuple[Drawing, pd.DataFrame]:
    """Draw one figure, and return the drawing and the table behind it."""
    shown = figure.select(results)
    # The canvas is needed for a layout without pyplot's global state.
    with mpl.rc_context(AS_WRITTEN):
        with plugins.answerable(figure.kind):
            table = figure.table(shown)
            styles = figure.looks(table, {**look.of_results([results]), **(looks or {})})
            drawing = _panels(figure, shown, table, styles)
        FigureCanvasAgg(drawing)
        failed = _failed_runs(shown, figure)
        width = drawing.get_figwidth()
        entries = _entries(width, shown, table, styles, {label for label, _ in failed})
        _add_foot(drawing, entries, _notes(shown, figure, failed))
    with mpl.rc_context(STYLE):
        _set_numbers(drawing)
    return drawing, table


def _panels(
    figure: Figure, shown: xr.Dataset, table: pd.DataFrame, styles: Mapping[str, Look]
) -> Drawing:
    """Draw a table, panel by panel; panels share their axes, and an array that they do not fill has hidden ones."""
    titles = [""]
    if "panel" in table:  # a panel without rows is among the categories
        column = table["panel"]
        titles = list(column.cat.categories if hasattr(column, "cat") else column.unique())
    x_label, y_label = figure.axes(shown)
    count, width = len(titles), figure.width or ("column" if len(titles) == 1 else "page")
    # Four panels are a square rather than a row of three and one.
    columns = 2 if count == 4 else max(1, min(count, _MOST_COLUMNS[width]))
    rows = max(1, -(-count // columns))
    height = _SINGLE[width] if rows * columns == 1 else _ROW * rows + 0.4
    drawing = Drawing(figsize=(WIDTHS[width], height), layout=Layout())
    panels = drawing.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    for panel in panels.flat[count:]:
        panel.set_visible(False)
    # The lowest panel of each column has the axis, also above a gap in the last row.
    for panel in panels.flat[max(0, count - columns) : count]:
        panel.tick_params(labelbottom=True)
        panel.set_xlabel(x_label)
    for panel, title in zip(panels.flat, titles, strict=False):
        label = panel.get_xlabel()
        shown_rows = table[table["panel"] == title] if "panel" in table else table
        if len(shown_rows):
            figure.plot(panel, shown_rows, styles)
        finish(panel, figure)
        panel.set(title=title, xlabel=label)
    for panel in panels[:, 0]:
        set_label(panel, y_label)
    low, high = panels[0, 0].get_ylim()
    if figure.log and low > 0 and high < 50 * low:  # too short for powers of ten
        for panel in panels.flat:
            set_ticks(panel.yaxis)
    return drawing


def _set_numbers(drawing: Drawing) -> None:
    """Let numbers at ticks be formulas, which powers of ten need."""
    for panel in drawing.axes:
        for axis in (panel.xaxis, panel.yaxis):
            for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks()):
                tick.label1.set_parse_math(True)


def svg(results: xr.Dataset, figure: Figure, looks: Mapping[str, Look] | None = None) -> str:
    """Draw the figure and return it as SVG text, as :func:`save` writes it."""
    return content(draw(results, figure, looks), "svg", figure.name).decode()


def save(
    results: xr.Dataset,
    figures: Iterable[Figure],
    directory: Path | str,
    looks: Mapping[str, Look] | None = None,
) -> list[Path]:
    """Write each figure as ``<name>.svg``, ``.pdf`` and ``.png``, and the table that is drawn as ``<name>.csv``.

    The same results give the same bytes: no dates, no random identifiers. Returns the files, in the order of the
    figures; the folder is made if necessary.
    """
    return [
        path
        for figure in figures
        for path in write_files(
            *_draw_with_table(results, figure, looks), Path(directory), figure.name
        ).values()
    ]


def write_files(drawing: Drawing, table: pd.DataFrame, folder: Path, name: str) -> dict[str, Path]:
    """Write a drawing and its table as `save` does, and return the files by suffix."""
    folder.mkdir(parents=True, exist_ok=True)
    files = {suffix: content(drawing, suffix, name) for suffix in CHECKSUMMED}
    files["csv"] = table.to_csv(index=False, lineterminator="\n").encode()
    paths = {suffix: folder / f"{name}.{suffix}" for suffix in FORMATS}
    for suffix, path in paths.items():
        write(path, files[suffix])
    return paths


def content(drawing: Drawing, suffix: str, name: str) -> bytes:
    """Return the content of a file of a drawing, with its checksum: the same drawing and name give the same bytes."""
    # Identifiers of SVG elements are random unless salted; dates and versions change without the
    # data.
    fields = {
        "svg": ("Date", "Creator", "Format", "Type"),
        "pdf": ("CreationDate", "Creator", "Producer"),
        "png": ("Software",),
    }
    lines = {"svg": MARKUP, "pdf": PDF, "png": BINARY}
    buffer = io.BytesIO()
    with mpl.rc_context({**STYLE, "svg.hashsalt": name}):
        drawing.savefig(buffer, format=suffix, dpi=_DPI, metadata=dict.fromkeys(fields[suffix]))
    return with_checksum(buffer.getvalue(), lines[suffix])


def _failed_runs(shown: xr.Dataset, figure: Figure) -> list[tuple[str, str]]:
    """Return label and text for each method and budget with runs that did not complete."""
    if "seed" not in shown[figure.metric].dims:
        return []
    counts = statistics.counts(shown)
    entries = []
    for label in map(str, shown["algorithm"].values):
        for epsilon in map(float, shown["epsilon"].values):
            by_outcome, total = statistics.failed_runs(counts.sel(algorithm=label, epsilon=epsilon))
            if by_outcome:
                text = f"{label}, {budget(epsilon)}: {' and '.join(by_outcome)} of {total} runs"
                entries.append((label, text))
    return entries


def _notes(shown: xr.Dataset, figure: Figure, failed: list[tuple[str, str]]) -> list[str]:
    """Return footnotes: on seeds, on methods and budgets that are missing or unfinished, on data and on failed runs."""
    seeded = "seed" in shown[figure.metric].dims
    notes = []
    if seeded:
        notes.append(figure.says(shown.sizes["seed"]))
        if ordered := statistics.seeds_by_analyses(shown):
            analyses = statistics.interim_analyses(shown)
            notes.append(
                f"{ordered[0]} seeds or more, where inconclusive (interim analyses at {analyses[0]} to {analyses[-1]})."
            )
        elif fewer := statistics.fewer_seeds(shown):
            points = [f"{label}, {budget(epsilon)} ({n})" for label, epsilon, n in fewer]
            notes.append(f"Fewer seeds: {'; '.join(points)}.")
    if unfinished := statistics.unfinished(shown):
        notes.append(f"Not finished by the method's own test: {', '.join(unfinished)}.")
    if absent := [e for e in figure.epsilon or [] if e not in shown["epsilon"].values]:
        notes.append(f"Not run: {', '.join(map(budget, absent))}.")
    if note := shown.attrs.get("dataset_note"):
        notes.append(f"Data: {note}.")
    if failed:
        notes.append(f"† {'; '.join(text for _, text in failed)}; {figure.failed_runs}.")
    return notes


def _entries(
    width: float,
    shown: xr.Dataset,
    table: pd.DataFrame,
    styles: Mapping[str, Look],
    failed: set[str],
) -> dict[str, Line2D]:
    """Return the entries of a legend of some width in inches: lines in the order of the figure; † where runs failed."""
    drawn = set(table["line"])
    order = [*map(str, shown["algorithm"].values), *table["line"]]
    lines = [line for line in dict.fromkeys(order) if line in drawn]
    room = int(width * 13)
    names = {line: textwrap.shorten(line, room, placeholder=" …") for line in lines}
    if len(set(names.values())) < len(names):
        names = {line: line for line in lines}
    return {
        names[line] + (" †" if line in failed else ""): Line2D([], [], **styles[line].line())
        for line in lines
    }


def _add_foot(drawing: Drawing, entries: dict[str, Line2D], notes: list[str]) -> None:
    """Put legend and small print into a strip below the panels; the drawing grows by its height."""
    width, height = drawing.get_size_inches()
    box = _legend(drawing, entries) if entries else None
    legend = box.get_window_extent().height / drawing.dpi + 0.08 if box else 0.0
    # At the size of the small print an inch has 17 characters, and a line is 0.128 inches high.
    lines = [line for note in notes for line in textwrap.wrap(note, int(width * 17))]
    print_ = 0.128 * len(lines) + 0.06 * bool(lines)
    total = height + legend + print_
    drawing.set_size_inches(width, total)
    drawing.set_layout_engine(Layout(rect=(0, 1 - height / total, 1, height / total)))
    if box:
        box.set_bbox_to_anchor((0.5, 1 - height / total), drawing.transFigure)
    drawing.text(
        *(0.1 / width, print_ / total, "\n".join(lines)),
        fontsize=SMALL_PRINT,
        color="#444444",
        va="top",
        linespacing=1.3,
    )


def _legend(drawing: Drawing, entries: dict[str, Line2D]) -> Legend:
    """Add a legend with as few rows as the width allows, and no more columns than these need."""
    # In SVG and PDF text is up to 4 % wider than measured here, where letters are set to pixels.
    room = 0.95 * drawing.get_window_extent().width
    rows = 1
    while True:
        columns = -(-len(entries) // rows)
        box = drawing.legend(
            list(entries.values()),
            list(entries),
            loc="upper center",
            ncols=columns,
            frameon=False,
            handlelength=2.8,
            columnspacing=1.4,
            borderaxespad=0.2,
            borderpad=0,
            labelspacing=0.35,
        )
        if columns == 1 or box.get_window_extent().width <= room:
            return box
        box.remove()
        rows += 1
