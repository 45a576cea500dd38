"""A small picture of one experiment: error against total, or a row for each method where there is one total.

Who is in the running is marked and named.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import xarray as xr
from markupsafe import Markup, escape

from admmbench.results.who_wins import marks
from admmbench.results.wording import given

# In units of the picture, which are pixels on a wide screen.
_WIDTH, _HEIGHT = 336, 236
_LEFT, _RIGHT, _TOP, _BOTTOM = 36, 116, 8, 32
# Between two names, one below the other, and what a letter takes.
_LINE, _LETTER = 12.5, 6.6
# Between the marks of two methods at one budget, and of all of them.
_ASIDE, _MOST_ASIDE = 1.6, 24
# Radius of the mark of a method that is in the running, and what the mark means. One that was added later and is better
# looks like a winner.
_DOTS = {"winner": 5, "better": 5, "equivalent": 3, "undecided": 2.4}
_MEANING = {
    "winner": "winner",
    "equivalent": "equivalent to the lowest",
    "undecided": "undecided",
}
# Lines of methods that are in the running; dark enough for a white ground.
_COLORS = ("#0173b2", "#d55e00", "#029e73", "#b5517f", "#8a6d00", "#5b4fb0", "#2f3437", "#a0522d")


class Style(NamedTuple):
    """How the line of a method looks."""

    color: str
    dashes: str = ""


_BEHIND = Style("#c4c9ce")


def draw(comparison: xr.Dataset, experiment: str) -> Markup:
    """Draw the rows of one experiment.

    Methods that are in the running at some budget have a colour, the interval of their mean, and a name; the others are
    grey, and leave the picture where their errors are far above. A method looks the same in the pictures of all
    experiments.

    Parameters
    ----------
    comparison
        What `admmbench.results.who_wins.compare` found.
    experiment
        Its name.

    Returns
    -------
    markupsafe.Markup
        An SVG element; empty if no method has a mean.
    """
    comparison = comparison.assign(mark=marks(comparison))
    styles = _styles(comparison)
    whole = comparison.isel(cell=(comparison["experiment"] == experiment).values).sortby("epsilon")
    whole = whole.isel(algorithm=whole["mean"].notnull().any("cell").values)
    running = whole["mark"].isin(list(_DOTS))
    ends = whole["upper"].fillna(whole["mean"]).where(running)
    if not running.any():
        return Markup()
    starts = whole["lower"].fillna(whole["mean"]).where(running)
    shown = float(starts.min()), float(ends.max())
    named = whole["algorithm"][running.any("cell").values].values.tolist()
    last = {label: float(whole["mean"].sel(algorithm=label).dropna("cell")[-1]) for label in named}
    named.sort(key=last.__getitem__)
    own = {label: styles[label] for label in named}
    title = f"{whole['long_name'].values[0]} against the total ε of {', '.join(named)}"
    if whole.sizes["cell"] == 1:
        ranked, high = _ranked(whole.isel(cell=0))
        height = math.ceil(_TOP + high * len(ranked) + _BOTTOM)
        parts = _rows(whole.isel(cell=0).sel(algorithm=ranked), high, shown, own)
    else:  # it grows with its names
        height = max(_HEIGHT, math.ceil(_TOP + _LINE * len(named)))
        parts = _curves(whole, shown, last, own, height)
    return Markup(
        f'<svg class="picture" viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="{escape(title)}">'
        f"{''.join(parts)}</svg>"
    )


def key(comparison: xr.Dataset) -> dict[str, str]:
    """Say what the marks mean that are in the pictures of a comparison; those that are in none are left out."""
    found = marks(comparison)
    found = found.where(found != "better", "winner")
    return {mark: text for mark, text in _MEANING.items() if (found == mark).any()}


def _styles(comparison: xr.Dataset) -> dict[str, Style]:
    """Give every method that is in the running somewhere a look of its own."""
    running = comparison["mark"].isin(list(_DOTS)).any("cell").values
    looks = [Style(color, dashes) for dashes in ("", "5 2", "1.5 1.5") for color in _COLORS]
    labels = comparison["algorithm"].values[running].tolist()
    return {label: looks[turn % len(looks)] for turn, label in enumerate(labels)}


class _Scale:
    """Places of errors between two ends of the picture, with some room; what is beyond the second is far beyond it."""

    def __init__(self, low: float, high: float, start: float, end: float) -> None:
        same = math.isclose(low, high)  # within rounding
        room = 0.05 * abs(high) or 1.0 if same else 0.06 * (high - low)
        self.low, self.high = low - room, high + room
        self.start, self.end = start, end

    def __call__(self, value: float) -> float:
        part = (value - self.low) / (self.high - self.low)
        return self.start + min(part, 9.0) * (self.end - self.start)

    def ticks(self) -> list[float]:
        """Return four or so round values."""
        step = 10 ** math.floor(math.log10((self.high - self.low) / 2))
        wide = (self.high - self.low) / step
        step *= 1 if wide <= 5 else 2 if wide <= 10 else 5
        first, last = math.ceil(self.low / step), math.floor(self.high / step)
        return [round(step * number, 12) for number in range(first, last + 1)]


def _curves(
    whole: xr.Dataset,
    shown: tuple[float, float],
    last: dict[str, float],
    styles: dict[str, Style],
    height: float,
) -> list[str]:
    """Error against total: a curve for each method, and the names of those in the running at the ends of theirs."""
    floor = height - _BOTTOM
    x, y = _x(whole["epsilon"].values.tolist()), _Scale(*shown, floor, _TOP)
    behind = [label for label in whole["algorithm"].values if label not in styles]
    step = min(_ASIDE, _MOST_ASIDE / len(styles))
    parts = _axes(whole, x, y, floor)
    parts += [_line(whole.sel(algorithm=label), x, y, _BEHIND) for label in behind]
    for turn, (label, style) in enumerate(styles.items()):
        own = whole.sel(algorithm=label)
        aside = step * (turn - (len(styles) - 1) / 2)  # so that intervals do not hide each other
        parts += [_line(own, x, y, style), *_points(own, x, y, style.color, aside)]
    return parts + _names([y(last[label]) for label in styles], styles, height)


def _ranked(cell: xr.Dataset) -> tuple[list[str], float]:
    """Methods of one total from the lowest mean up, as many as there is room for, and the height of a row."""
    ranked = cell["algorithm"][cell["mean"].argsort().values].values.tolist()
    ranked = ranked[: int((_HEIGHT - _TOP - _BOTTOM) / _LINE)]
    return ranked, min(2 * _LINE, (_HEIGHT - _TOP - _BOTTOM) / len(ranked))


def _rows(
    cell: xr.Dataset, high: float, shown: tuple[float, float], styles: dict[str, Style]
) -> list[str]:
    """Draw a row for each method of one total: name, interval and mark.

    A method that is far behind has its mean written at the edge.
    """
    ranked = cell["algorithm"].values.tolist()
    start = min(12 + _LETTER * max(map(len, ranked)), 0.55 * _WIDTH)
    end, floor = _WIDTH - 12, _TOP + high * len(ranked)
    x = _Scale(*shown, start, end)
    parts = []
    for value in x.ticks():
        parts.append(f'<path d="M{x(value):.1f} {_TOP}V{floor:.1f}" stroke="#e4e7ea"/>')
        parts.append(_text(x(value), floor + 14, _tick(cell, value), "middle"))
    title = f"{_quantity(cell)} at total ε = {given(float(cell['epsilon']))}"
    parts.append(_text((start + end) / 2, floor + 28, title, "middle"))
    for turn, label in enumerate(ranked):
        own, y = cell.sel(algorithm=label), _TOP + high * (turn + 0.5)
        color = styles.get(label, _BEHIND).color
        mean, lower, upper = (float(own[name]) for name in ("mean", "lower", "upper"))
        name = _short(label, start - 6)
        parts.append(_text(start - 6, y + 3.5, name, "end", color if label in styles else None))
        if x(mean) > end:
            parts.append(_text(end, y + 3.5, f"{_tick(cell, mean, 3)} →", "end"))
            continue
        if not math.isnan(lower):
            ends = f"M{max(x(lower), start):.1f} {y:.1f}H{min(x(upper), end):.1f}"
            parts.append(f'<path d="{ends}" stroke="{color}"/>')
        parts.append(_mark(x(mean), y, str(own["mark"].item()), color))
    return parts


def _x(epsilons: Sequence[float]) -> list[float]:
    """Places on the horizontal axis, which is logarithmic."""
    logs = [math.log(value) for value in epsilons]
    wide = (logs[-1] - logs[0]) or 1.0
    inner = _WIDTH - _LEFT - _RIGHT - 24
    return [_LEFT + 12 + inner * (value - logs[0]) / wide for value in logs]


def _quantity(cells: xr.Dataset) -> str:
    """What the errors are."""
    unit = " in %" if cells["fraction"].values.ravel()[0] else ""
    return f"{cells['long_name'].values.ravel()[0]}{unit}"


def _tick(cells: xr.Dataset, value: float, digits: int = 6) -> str:
    return f"{100 * value if cells['fraction'].values.ravel()[0] else value:.{digits}g}"


def _short(label: str, room: float) -> str:
    """Cut a name that needs more room, as it is written in full in the tables."""
    most = int(room / _LETTER)
    return label if len(label) <= most else f"{label[: most - 1].rstrip()}…"


def _text(x: float, y: float, text: str, anchor: str = "start", color: str | None = None) -> str:
    fill = f' fill="{color}"' if color else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{fill}>{escape(text)}</text>'


def _mark(x: float, y: float, how: str, color: str) -> str:
    """A circle: large where a method wins, full where it is equivalent, hollow where nothing is decided."""
    size, fill = _DOTS.get(how, 1.5), "#fff" if how == "undecided" else color
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{size}" fill="{fill}" stroke="{color}"/>'


def _axes(whole: xr.Dataset, x: Sequence[float], y: _Scale, floor: float) -> list[str]:
    """Ticks of both axes, and what they are."""
    right = _WIDTH - _RIGHT
    parts = []
    for value in y.ticks():
        parts.append(f'<path d="M{_LEFT} {y(value):.1f}H{right}" stroke="#e4e7ea"/>')
        parts.append(_text(_LEFT - 5, y(value) + 3.5, _tick(whole, value), "end"))
    for place, epsilon in zip(x, whole["epsilon"].values, strict=True):
        parts.append(_text(place, floor + 14, given(float(epsilon)), "middle"))
    title = f"{_quantity(whole)} against total ε"
    return [*parts, _text((_LEFT + right) / 2, floor + 28, title, "middle")]


def _line(own: xr.Dataset, x: Sequence[float], y: _Scale, style: Style) -> str:
    means = own["mean"].values
    places = [f"{a:.1f} {y(b):.1f}" for a, b in zip(x, means, strict=True) if not math.isnan(b)]
    return _path(f"M{'L'.join(places)}", style, 1.2)


def _path(way: str, style: Style, width: float) -> str:
    dashes = f' stroke-dasharray="{style.dashes}"' if style.dashes else ""
    return f'<path d="{way}" fill="none" stroke="{style.color}" stroke-width="{width}"{dashes}/>'


def _points(own: xr.Dataset, x: Sequence[float], y: _Scale, color: str, aside: float) -> list[str]:
    """Marks of a method where it is in the running, with the interval of its mean."""
    parts = []
    for place, cell in zip(x, (own.isel(cell=number) for number in range(len(x))), strict=True):
        how = str(cell["mark"].item())
        if how not in _DOTS:
            continue
        mean, low, high = (float(cell[name]) for name in ("mean", "lower", "upper"))
        at = place + aside
        if not math.isnan(low):
            parts.append(f'<path d="M{at:.1f} {y(low):.1f}V{y(high):.1f}" stroke="{color}"/>')
        parts.append(_mark(at, y(mean), how, color))
    return parts


def _names(places: Sequence[float], styles: Mapping[str, Style], height: float) -> list[str]:
    """Names at the right, none on another, each with a line to the end of its curve."""
    start, right = _WIDTH - _RIGHT - 8, _WIDTH - _RIGHT + 6
    found = list(places)
    for turn in range(1, len(found)):  # lowest errors first, which are lowest on the page
        found[turn] = min(found[turn], found[turn - 1] - _LINE)
    over = max(0.0, _TOP - found[-1])
    for turn in reversed(range(len(found))):
        above = found[turn + 1] + _LINE if turn + 1 < len(found) else -math.inf
        found[turn] = max(found[turn] + (over if turn + 1 == len(found) else 0), above)
    found[0] = min(found[0], height - 4)
    parts = []
    for (label, style), place, curve in zip(styles.items(), found, places, strict=True):
        parts.append(_path(f"M{start} {curve:.1f}L{right - 2} {place:.1f}", style, 0.6))
        parts.append(_text(right, place + 3.5, _short(label, _WIDTH - right), color=style.color))
    return parts
