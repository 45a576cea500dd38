"""Differences of methods from the best one, or from the control, in one setting of a comparison."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import matplotlib as mpl
import numpy as np
import pandas as pd
import xarray as xr
from matplotlib.figure import Figure as Drawing
from matplotlib.figure import SubFigure
from matplotlib.textpath import TextPath
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

from admmbench.figures.style import AS_WRITTEN, SMALL_PRINT
from admmbench.figures.wording import budget, in_unit, proper
from admmbench.results.reference import MARK
from admmbench.results.who_wins import marks, names

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from admmbench.figures.look import Look

# Sizes in inches: the width, so that a wide page has three drawings side by side; the longest label; a row; the space
# above, below and at the edges.
_WIDTH, _LONGEST, _ROW, _TOP, _BOTTOM, _EDGE = 2.95, 1.65, 0.14, 0.22, 0.4, 0.08
_SIZES = {"winner": 7.0, "better": 7.0, "equivalent": 5.0, "undecided": 5.0}
"""Sizes of markers, in points, by the marks of methods that are not significantly worse than another."""
_BEHIND = 3.0
METHOD = "method:"
"""Beginning of the identifiers of what a drawing shows of a method; the part and all its labels follow."""
_INK, _SOFT, _BAND = "#1d2125", "#59626b", "#dcefe2"


class Differences(NamedTuple):
    """Differences from one method in one setting."""

    title: str
    epsilon: float
    """Budget of the setting."""
    base: str
    """All labels of the method with which others are compared."""
    unit: str
    """Unit of the differences: points of percentages, or the unit of the metric."""
    margin: float
    """Largest difference that does not matter."""
    rows: pd.DataFrame
    """Rows of methods, the lowest mean first: ``line``, all labels of a method, ``label``, the first of them,
    ``difference``, the ends ``lower`` and ``upper`` of its interval, ``mark``, see
    `admmbench.results.who_wins.marks`, and ``outdated``. A method with failed runs has no difference; one with a single
    seed has no interval."""


def differences(setting: xr.Dataset) -> Differences | None:
    """Return the differences of all methods of a setting from its control, else from the lowest mean.

    Parameters
    ----------
    setting
        Setting in the result of `admmbench.results.who_wins.compare`.

    Returns
    -------
    Differences or None
        None if fewer than two methods have a mean.
    """
    same = names(setting)
    means = setting["mean"].to_series()
    control, lowest = (str(setting[name].item()) for name in ("control", "lowest"))
    base = control if math.isfinite(means.get(control, math.nan)) else lowest
    if means.count() < 2:
        return None
    factor = 100 if setting["fraction"] else 1
    pairs = setting.sel(rival=base)
    # Two methods that were added later, or that have a single seed, have no paired difference.
    plain = setting["mean"] - setting["mean"].sel(algorithm=base)
    rows = pd.DataFrame(
        {
            "difference": (pairs["difference"].fillna(plain) * factor).values,
            "lower": (pairs["difference_lower"] * factor).values,
            "upper": (pairs["difference_upper"] * factor).values,
            "mark": marks(setting).values,
            "outdated": setting["outdated"].values,
        },
        index=means.index,
    )
    rows = rows.loc[list({labels[0]: None for labels in same.values()})]
    rows.insert(0, "line", [" = ".join(same[label]) for label in rows.index])
    rows = rows.iloc[means[rows.index].argsort(kind="stable")].reset_index(names="label")
    unit = "points" if setting["fraction"] else str(setting["units"].item()).removeprefix("1")
    epsilon, shown_base = float(setting["epsilon"]), " = ".join(same[base])
    where = f"{proper(str(setting['dataset'].item()))} at {budget(epsilon)}"
    title = f"{setting['long_name'].item()} on {where}: differences from {shown_base}"
    return Differences(title, epsilon, shown_base, unit, float(setting["margin"]) * factor, rows)


def draw(settings: Sequence[Differences], looks: Mapping[str, Look]) -> Drawing:
    """Draw settings, of which two are side by side on a page of a paper.

    A method has a row with its difference, its simultaneous interval, and the margin as a band. Axes are linear about 0
    and logarithmic beyond, so that methods far behind leave room for the others.
    """
    columns = min(2, len(settings))
    lines = -(-len(settings) // columns)
    height = _TOP + _ROW * max(len(shown.rows) for shown in settings) + _BOTTOM
    with mpl.rc_context(AS_WRITTEN):
        drawing = Drawing(figsize=(columns * _WIDTH, lines * height))
        parts: Iterable[Drawing | SubFigure] = [drawing]
        if len(settings) > 1:
            parts = drawing.subfigures(lines, columns, squeeze=False, wspace=0, hspace=0).flat
        for part, shown in zip(parts, settings, strict=False):
            _draw_setting(part, height, shown, looks)
    return drawing


def _draw_setting(
    part: Drawing | SubFigure, height: float, shown: Differences, looks: Mapping[str, Look]
) -> None:
    """Draw one setting into a part of a drawing, with this height in inches."""
    rows = shown.rows
    pairs = zip(rows["line"], rows["outdated"], strict=True)
    labels = [_short(line) + MARK * old for line, old in pairs]
    left = 2 * _EDGE + max(map(_width, labels))
    width = _WIDTH - left - 2 * _EDGE
    place = left / _WIDTH, _BOTTOM / height, width / _WIDTH, _ROW * len(rows) / height
    panel = part.add_axes(place)
    _set_axis(panel, shown)
    if shown.margin:
        panel.axvspan(-shown.margin, shown.margin, color=_BAND, linewidth=0, zorder=0)
    panel.axvline(0, color=_SOFT, linewidth=0.8, zorder=1)
    for number, row in enumerate(rows.itertuples()):
        _draw_row(panel, number, row, looks[str(row.label)])
    panel.set_yticks(range(len(rows)), labels=labels)
    for text, row in zip(panel.get_yticklabels(), rows.itertuples(), strict=True):
        text.set(color=_INK if row.mark in _SIZES else _SOFT, gid=f"{METHOD}label:{row.line}")
    panel.set_ylim(len(rows) - 0.4, -0.6)
    panel.tick_params(axis="y", length=0)
    panel.grid(False, axis="y")
    panel.spines[["top", "right", "left"]].set_visible(False)
    x_label = f"Difference from {_short(shown.base)}{in_unit(shown.unit)}"
    part.text(0.5, 0.05 / height, x_label, ha="center", fontsize=7.5)
    part.text(_EDGE / _WIDTH, 1 - 0.16 / height, budget(shown.epsilon), weight="bold")


def table(settings: Iterable[Differences]) -> pd.DataFrame:
    """Return the rows of all settings as the table of their drawing, each with the facts of its setting."""
    facts = "epsilon", "base", "unit", "margin"
    rows = [
        shown.rows.assign(**{fact: getattr(shown, fact) for fact in facts}) for shown in settings
    ]
    return pd.concat(rows, ignore_index=True)


def _draw_row(panel: Axes, number: int, row: Any, look: Look) -> None:
    """Draw the interval and the marker: large for a winner, hollow if inconclusive, small if significantly worse."""
    own = f"{METHOD}mark:{row.line}"
    if math.isnan(row.difference):
        how: dict[str, Any] = {"va": "center", "color": _SOFT, "fontsize": SMALL_PRINT, "gid": own}
        panel.annotate("failed or diverged", (0, number), (4, 0), textcoords="offset points", **how)
        return
    if not math.isnan(row.lower):
        ends = [row.lower, row.upper]
        interval = f"{METHOD}interval:{row.line}"
        panel.plot(ends, [number, number], color=look.color, linewidth=1.1, gid=interval)
    hollow = row.mark == "undecided"
    panel.plot(
        row.difference,
        number,
        color=look.color,
        marker=look.marker,
        markersize=_SIZES.get(row.mark, _BEHIND),
        markerfacecolor="white" if hollow else look.color,
        markeredgewidth=1.0 if hollow else 0,
        clip_on=False,
        gid=own,
    )


def _set_axis(panel: Axes, shown: Differences) -> None:
    """Set ends, scale and ticks of the horizontal axis, so that the axis holds all intervals."""
    rows = shown.rows
    values = rows[["difference", "lower", "upper"]].to_numpy()
    ends = np.array([np.nanmin(values), np.nanmax(values)])
    reach = (rows["upper"] - rows["lower"])[rows["mark"].isin([*_SIZES])].median() / 2
    far = max(abs(ends).max(), shown.margin) or 1.0
    near = np.nanmax([shown.margin, reach])
    # There is room for three powers of ten. Without a margin and an interval, all of the axis is linear.
    near = _round(max(2 * near, far / 500) if near > 1e-9 * far else far)
    low, high = (1.1 * end for end in (min(ends[0], -near / 2), max(ends[1], near / 2)))
    panel.set_xscale("symlog", linthresh=near, linscale=1.0)
    panel.set_xlim(low, high)
    ticks = [0.0, *(sign * near * 10**k for k in range(12) for sign in (-1, 1))]
    ticks = [tick for tick in ticks if low <= tick <= high]
    if len(ticks) == 1:  # all of the axis is linear
        round_ = MaxNLocator(4, steps=[1, 2, 5, 10]).tick_values(low, high)
        ticks = [tick for tick in map(float, round_) if low <= tick <= high]
    panel.xaxis.set_major_locator(FixedLocator(ticks))
    panel.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}".replace("-", "−")))
    panel.xaxis.set_minor_locator(NullLocator())


def _round(value: float) -> float:
    """Return the next of 1, 2, 5, 10, 20, ..."""
    power = 10.0 ** math.floor(math.log10(value))
    return next(power * digit for digit in (1, 2, 5, 10) if power * digit >= value * (1 - 1e-9))


def _short(label: str) -> str:
    """Cut a label that is too long; the tables of the page have the whole label."""
    cut = label
    while _width(cut) > _LONGEST:
        label = label[:60][:-1]
        cut = f"{label.rstrip()}…"
    return cut


@cache
def _width(label: str) -> float:
    """Return the width of a label in inches."""
    return float(TextPath((0, 0), label, size=AS_WRITTEN["ytick.labelsize"]).get_extents().x1) / 72
