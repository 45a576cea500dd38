"""A small picture of one experiment: error against total, with who is in the running marked and named at the curves."""

from __future__ import annotations

import math
from collections.abc import Sequence

import xarray as xr
from markupsafe import Markup, escape

from admmbench.results.who_wins import marks
from admmbench.results.wording import given

# In units of the picture, which are pixels on a wide screen.
_WIDTH, _HEIGHT = 336, 236
_LEFT, _RIGHT, _TOP, _BOTTOM = 34, 104, 8, 30
# Between two names, one below the other.
_LINE = 11.5
# Radius of the mark of a method that is in the running.
_DOTS = {"winner": 5, "better": 5, "equivalent": 3, "undecided": 2.4}
# Lines of methods that are in the running; dark enough for a white ground.
_COLORS = ("#0173b2", "#d55e00", "#029e73", "#b5517f", "#8a6d00", "#5b4fb0", "#1d87c9", "#a0522d")


def draw(cells: Sequence[xr.Dataset]) -> Markup:
    """Draw the rows of one experiment.

    Methods that are in the running at some budget have a colour, the interval of their mean, and a name; the others are
    grey, and leave the picture where their errors are far above.

    Parameters
    ----------
    cells
        Of `admmbench.results.who_wins.compare`, all of one experiment.

    Returns
    -------
    markupsafe.Markup
        An SVG element; empty if no method has a mean.
    """
    rows = sorted(cells, key=lambda cell: float(cell["epsilon"]))
    whole = xr.concat([cell.reset_coords() for cell in rows], "cell", join="exact")
    whole = whole.isel(algorithm=whole["mean"].notnull().any("cell").values)
    whole = whole.assign(mark=marks(whole))
    running = whole["mark"].isin(list(_DOTS))
    ends = whole["upper"].fillna(whole["mean"]).where(running)
    if not running.any():
        return Markup()
    starts = whole["lower"].fillna(whole["mean"]).where(running)
    x, y = _x(whole["epsilon"].values.tolist()), _Scale(float(starts.min()), float(ends.max()))
    named = whole["algorithm"][running.any("cell").values].values.tolist()
    last = {label: float(whole["mean"].sel(algorithm=label).dropna("cell")[-1]) for label in named}
    named.sort(key=last.__getitem__)
    colors = {label: _COLORS[turn % len(_COLORS)] for turn, label in enumerate(named)}
    behind = [label for label in whole["algorithm"].values if label not in colors]
    parts = _axes(whole, x, y)
    parts += [_line(whole.sel(algorithm=label), x, y, "#c4c9ce") for label in behind]
    for turn, label in enumerate(named):
        own, color = whole.sel(algorithm=label), colors[label]
        aside = 1.6 * (turn - (len(named) - 1) / 2)  # so that intervals do not hide each other
        parts += [_line(own, x, y, color), *_points(own, x, y, color, aside)]
    parts += _names(named, [y(last[label]) for label in named], colors)
    title = f"{rows[0]['long_name'].item()} against the total ε of {', '.join(named)}"
    return Markup(
        f'<svg class="picture" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{escape(title)}">'
        f"{''.join(parts)}</svg>"
    )


class _Scale:
    """Places of values on the vertical axis, with some room; what is above the picture is far above it."""

    def __init__(self, low: float, high: float) -> None:
        room = 0.06 * (high - low) or 0.05 * abs(high) or 1.0
        self.low, self.high = low - room, high + room

    def __call__(self, value: float) -> float:
        part = (value - self.low) / (self.high - self.low)
        return _HEIGHT - _BOTTOM - min(part, 9.0) * (_HEIGHT - _TOP - _BOTTOM)

    def ticks(self) -> list[float]:
        """Return four or so round values."""
        step = 10 ** math.floor(math.log10((self.high - self.low) / 2))
        wide = (self.high - self.low) / step
        step *= 1 if wide <= 5 else 2 if wide <= 10 else 5
        first, last = math.ceil(self.low / step), math.floor(self.high / step)
        return [round(step * number, 12) for number in range(first, last + 1)]


def _x(epsilons: Sequence[float]) -> list[float]:
    """Places on the horizontal axis, which is logarithmic."""
    logs = [math.log(value) for value in epsilons]
    wide = (logs[-1] - logs[0]) or 1.0
    inner = _WIDTH - _LEFT - _RIGHT - 24
    return [_LEFT + 12 + inner * (value - logs[0]) / wide for value in logs]


def _axes(whole: xr.Dataset, x: Sequence[float], y: _Scale) -> list[str]:
    """Ticks of both axes, and what they are."""
    fraction = bool(whole["fraction"].values.ravel()[0])
    right, floor = _WIDTH - _RIGHT, _HEIGHT - _BOTTOM
    parts = []
    for value in y.ticks():
        place = y(value)
        text = f"{100 * value if fraction else value:g}"
        parts.append(f'<path d="M{_LEFT} {place:.1f}H{right}" stroke="#e4e7ea"/>')
        parts.append(f'<text x="{_LEFT - 5}" y="{place + 3.5:.1f}" text-anchor="end">{text}</text>')
    for place, value in zip(x, whole["epsilon"].values, strict=True):
        text = given(float(value))
        parts.append(f'<text x="{place:.1f}" y="{floor + 13}" text-anchor="middle">{text}</text>')
    unit = " in %" if fraction else ""
    label = f"{whole['long_name'].values.ravel()[0]}{unit} against total ε"
    middle = (_LEFT + right) / 2
    parts.append(f'<text x="{middle}" y="{floor + 26}" text-anchor="middle">{escape(label)}</text>')
    return parts


def _line(own: xr.Dataset, x: Sequence[float], y: _Scale, color: str) -> str:
    means = own["mean"].values
    places = [f"{a:.1f} {y(b):.1f}" for a, b in zip(x, means, strict=True) if not math.isnan(b)]
    return f'<path d="M{"L".join(places)}" fill="none" stroke="{color}" stroke-width="1.2"/>'


def _points(own: xr.Dataset, x: Sequence[float], y: _Scale, color: str, aside: float) -> list[str]:
    """Marks of a method: large and full where it wins, full where it is equivalent, hollow where nothing is decided."""
    parts = []
    for place, cell in zip(x, (own.isel(cell=number) for number in range(len(x))), strict=True):
        how = str(cell["mark"].item())
        if how not in _DOTS:
            continue
        mean, low, high = (float(cell[name]) for name in ("mean", "lower", "upper"))
        at = place + aside
        if not math.isnan(low):
            parts.append(f'<path d="M{at:.1f} {y(low):.1f}V{y(high):.1f}" stroke="{color}"/>')
        size, fill = _DOTS[how], "#fff" if how == "undecided" else color
        parts.append(
            f'<circle cx="{at:.1f}" cy="{y(mean):.1f}" r="{size}" fill="{fill}" stroke="{color}"/>'
        )
    return parts


def _names(labels: Sequence[str], places: Sequence[float], colors: dict[str, str]) -> list[str]:
    """Names at the right, none on another, each with a line to the end of its curve."""
    start, right = _WIDTH - _RIGHT - 8, _WIDTH - _RIGHT + 6
    found = list(places)
    for turn in range(1, len(found)):  # lowest errors first, which are lowest on the page
        found[turn] = min(found[turn], found[turn - 1] - _LINE)
    over = max(0.0, _TOP - found[-1])
    for turn in reversed(range(len(found))):
        above = found[turn + 1] + _LINE if turn + 1 < len(found) else -math.inf
        found[turn] = max(found[turn] + (over if turn + 1 == len(found) else 0), above)
    found[0] = min(found[0], _HEIGHT - 4)
    parts = []
    for label, place, curve in zip(labels, found, places, strict=True):
        color = colors[label]
        bend = f"M{start} {curve:.1f}L{right - 2} {place:.1f}"
        parts.append(f'<path d="{bend}" stroke="{color}" stroke-width="0.6" fill="none"/>')
        parts.append(
            f'<text x="{right}" y="{place + 3.5:.1f}" fill="{color}">{escape(label)}</text>'
        )
    return parts
