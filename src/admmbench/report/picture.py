"""A small picture of one experiment: error against total, or a row for each method where there is one total.

Who is in the running is marked and named.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import xarray as xr
from markupsafe import Markup, escape

from admmbench.results.who_wins import marks, names
from admmbench.results.wording import given

if TYPE_CHECKING:
    from admmbench.figures.look import Look

# In units of the picture, which are pixels on a wide screen.
_WIDTH, _HEIGHT = 336, 236
_LEFT, _RIGHT, _TOP, _BOTTOM = 36, 116, 8, 32
# Between two names, one below the other, and what a letter takes.
_LINE, _LETTER = 12.5, 6.6
# Between the marks of two methods at one budget, and of all of them.
_ASIDE, _MOST_ASIDE = 1.6, 24
# Half the height of the mark of a method that is in the running, and what its size and filling mean. One that was added
# later and is better looks like a winner.
_DOTS = {"winner": 5.5, "better": 5.5, "equivalent": 3.5, "undecided": 3}
_MEANING = {
    "winner": "winner",
    "equivalent": "equivalent to the lowest",
    "undecided": "undecided",
}
# Lines of the others.
_BEHIND = "#c4c9ce"


def draw(comparison: xr.Dataset, experiment: str, looks: Mapping[str, Look]) -> Markup:
    """Draw the rows of one experiment.

    Methods that are in the running at some budget have the look of the figures, the interval of their mean, and a name;
    the others are grey, and leave the picture where their errors are far above.

    Parameters
    ----------
    comparison
        What `admmbench.results.who_wins.compare` found.
    experiment
        Its name.
    looks
        How its figures draw its methods, by label, see `admmbench.figures.look.of_study`.

    Returns
    -------
    markupsafe.Markup
        An SVG element; empty if no method has a mean.
    """
    comparison = comparison.assign(mark=marks(comparison))
    whole = comparison.isel(cell=(comparison["experiment"] == experiment).values).sortby("epsilon")
    whole = whole.isel(algorithm=whole["mean"].notnull().any("cell").values)
    # Labels that are one method everywhere have one line.
    same = {labels[0]: " = ".join(labels) for labels in names(whole).values()}
    whole = whole.sel(algorithm=[*same]).assign_coords(algorithm=[*same.values()])
    styles = {name: looks[label] for label, name in same.items()}
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
    styles: dict[str, Look],
    height: float,
) -> list[str]:
    """Error against total: a curve for each method, and the names of those in the running at the ends of theirs."""
    floor = height - _BOTTOM
    x, y = _x(whole["epsilon"].values.tolist()), _Scale(*shown, floor, _TOP)
    behind = [label for label in whole["algorithm"].values if label not in styles]
    step = min(_ASIDE, _MOST_ASIDE / len(styles))
    parts = _axes(whole, x, y, floor)
    parts += [_path(_line(whole.sel(algorithm=label), x, y), _BEHIND, 1.2) for label in behind]
    for turn, (label, look) in enumerate(styles.items()):
        own = whole.sel(algorithm=label)
        aside = step * (turn - (len(styles) - 1) / 2)  # so that intervals do not hide each other
        parts.append(_path(_line(own, x, y), look.color, 1.2, look.dashes))
        parts += _points(own, x, y, look, aside)
    return parts + _names([y(last[label]) for label in styles], styles, height)


def _ranked(cell: xr.Dataset) -> tuple[list[str], float]:
    """Methods of one total from the lowest mean up, as many as there is room for, and the height of a row."""
    ranked = cell["algorithm"][cell["mean"].argsort().values].values.tolist()
    ranked = ranked[: int((_HEIGHT - _TOP - _BOTTOM) / _LINE)]
    return ranked, min(2 * _LINE, (_HEIGHT - _TOP - _BOTTOM) / len(ranked))


def _rows(
    cell: xr.Dataset, high: float, shown: tuple[float, float], styles: dict[str, Look]
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
        look = styles.get(label)
        color = look.color if look else _BEHIND
        mean, lower, upper = (float(own[name]) for name in ("mean", "lower", "upper"))
        parts.append(_text(start - 6, y + 3.5, _short(label, start - 6), "end", bool(look)))
        if x(mean) > end:
            parts.append(_text(end, y + 3.5, f"{_tick(cell, mean, 3)} →", "end"))
            continue
        if not math.isnan(lower):
            ends = f"M{max(x(lower), start):.1f} {y:.1f}H{min(x(upper), end):.1f}"
            parts.append(f'<path d="{ends}" stroke="{color}"/>')
        marker = look.marker if look else "o"
        parts.append(_mark(x(mean), y, str(own["mark"].item()), color, marker))
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


def _text(x: float, y: float, text: str, anchor: str = "start", dark: bool = False) -> str:
    fill = ' fill="#1d2125"' if dark else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{fill}>{escape(text)}</text>'


def _mark(x: float, y: float, how: str, color: str, marker: str) -> str:
    """The marker of a method: large where it wins, full where it is equivalent, hollow where nothing is decided."""
    size, fill = _DOTS.get(how, 1.5), "#fff" if how == "undecided" else color
    how_drawn = f'class="mark" fill="{fill}" stroke="{color}"'
    if marker in ("", "o"):
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{size}" {how_drawn}/>'
    from matplotlib.markers import MarkerStyle  # slow to import

    shape = MarkerStyle(marker)
    corners: Any = shape.get_path().transformed(shape.get_transform()).to_polygons()[0]
    places = (f"{x + 2 * size * a:.1f} {y - 2 * size * b:.1f}" for a, b in corners[:-1])
    return f'<path d="M{"L".join(places)}Z" {how_drawn}/>'


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


def _line(own: xr.Dataset, x: Sequence[float], y: _Scale) -> str:
    means = own["mean"].values
    places = [f"{a:.1f} {y(b):.1f}" for a, b in zip(x, means, strict=True) if not math.isnan(b)]
    return f"M{'L'.join(places)}"


def _path(way: str, color: str, width: float, dashes: Sequence[float] = ()) -> str:
    """A line, with dashes in its widths."""
    sizes = " ".join(f"{width * dash:.2g}" for dash in dashes)
    dashed = f' stroke-dasharray="{sizes}"' if sizes else ""
    return f'<path d="{way}" fill="none" stroke="{color}" stroke-width="{width}"{dashed}/>'


def _points(own: xr.Dataset, x: Sequence[float], y: _Scale, look: Look, aside: float) -> list[str]:
    """Marks of a method where it is in the running, with the interval of its mean."""
    parts = []
    for place, cell in zip(x, (own.isel(cell=number) for number in range(len(x))), strict=True):
        how = str(cell["mark"].item())
        if how not in _DOTS:
            continue
        mean, low, high = (float(cell[name]) for name in ("mean", "lower", "upper"))
        at = place + aside
        if not math.isnan(low):
            way = f"M{at:.1f} {y(low):.1f}V{y(high):.1f}"
            parts.append(f'<path d="{way}" stroke="{look.color}"/>')
        parts.append(_mark(at, y(mean), how, look.color, look.marker))
    return parts


def _names(places: Sequence[float], styles: Mapping[str, Look], height: float) -> list[str]:
    """Names at the right, none on another, each with its marker and a line to the end of its curve."""
    start, right = _WIDTH - _RIGHT - 8, _WIDTH - _RIGHT + 12
    found = list(places)
    for turn in range(1, len(found)):  # lowest errors first, which are lowest on the page
        found[turn] = min(found[turn], found[turn - 1] - _LINE)
    over = max(0.0, _TOP - found[-1])
    for turn in reversed(range(len(found))):
        above = found[turn + 1] + _LINE if turn + 1 < len(found) else -math.inf
        found[turn] = max(found[turn] + (over if turn + 1 == len(found) else 0), above)
    found[0] = min(found[0], height - 4)
    parts = []
    for (label, look), place, curve in zip(styles.items(), found, places, strict=True):
        parts.append(_path(f"M{start} {curve:.1f}L{right - 6} {place:.1f}", look.color, 0.6))
        parts.append(_mark(right - 6, place, "equivalent", look.color, look.marker))
        parts.append(_text(right, place + 3.5, _short(label, _WIDTH - right), dark=True))
    return parts
