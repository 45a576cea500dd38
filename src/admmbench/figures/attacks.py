"""Drawing of audits' attacks: how often each finds the canary, over the trade-off curve of the releases."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.figure import Figure as Drawing
from scipy.special import ndtr, ndtri

from admmbench.figures.look import PALETTE
from admmbench.figures.style import AS_WRITTEN, Layout

_WIDTH, _HEIGHT = 2.2, 2.4
"""Size of a panel, in inches."""
_SOUND, _WRONG = "#333333", "#c0392b"


Interval = tuple[float, float]


class Attack(NamedTuple):
    """Intervals of an attack's rates."""

    name: str
    hits: Interval
    alarms: Interval
    is_sound: bool
    """Whether the rates agree with the curve and the total."""


class Attacks(NamedTuple):
    """Attacks of an audit."""

    title: str
    curve: Sequence[tuple[float, float]]
    """Largest part of the runs with the canary that an adversary can find who sees all releases of the attacked rounds,
    at some rates of false alarms: pairs of both, alarms first."""
    attacks: Sequence[Attack] = ()
    mu: float | None = None
    """Mu of Gaussian differential privacy, whose curve is drawn as well."""


def draw(audits: Sequence[Attacks]) -> Drawing:
    """Draw audits, of which three are side by side on a page of a paper.

    A panel has the curve of an audit, guessing as a dotted line, the curve of its mu as a dashed one, and the intervals
    of each attack's rates as a cross, which is red if they are not sound.
    """
    columns = min(3, len(audits))
    lines = -(-len(audits) // columns)
    with mpl.rc_context(AS_WRITTEN):
        drawing = Drawing(figsize=(columns * _WIDTH, lines * _HEIGHT), layout=Layout())
        for number, (title, curve, attacks, mu) in enumerate(audits, 1):
            panel = drawing.add_subplot(lines, columns, number)
            panel.plot([0, 1], [0, 1], color="#8a939b", linestyle=":", linewidth=0.8)
            panel.plot(*zip(*curve, strict=True), color=PALETTE[0])
            if mu is not None:
                rates = np.linspace(0, 1, 201)
                panel.plot(rates, ndtr(ndtri(rates) + mu), color=PALETTE[1], linestyle="--")
            for _, (low, high), (alarm_low, alarm_high), is_sound in attacks:
                color = _SOUND if is_sound else _WRONG
                x, y = (alarm_low + alarm_high) / 2, (low + high) / 2
                panel.plot([alarm_low, alarm_high], [y, y], color=color, linewidth=1)
                panel.plot([x, x], [low, high], color=color, linewidth=1)
            ticks = 0, 0.5, 1
            panel.set(xlim=(0, 1), ylim=(0, 1), xticks=ticks, yticks=ticks, aspect="equal")
            panel.set(xlabel="False alarms (share of runs)", ylabel="Hits (share of runs)")
            panel.set_title(textwrap.fill(title, 30))
            panel.spines[["top", "right"]].set_visible(False)
    return drawing


def table(audits: Iterable[Attacks]) -> pd.DataFrame:
    """Return the table that `draw` draws: the points of the curves, and the ends of the crosses."""
    rows: list[dict[str, object]] = []
    for title, curve, attacks, _ in audits:
        rows += [{"panel": title, "line": "curve", "x": x, "y": y} for x, y in curve]
        for name, (low, high), (left, right), is_sound in attacks:
            ends = {"x_lower": left, "x_upper": right, "lower": low, "upper": high}
            rows.append({"panel": title, "line": name, **ends, "sound": is_sound})
    return pd.DataFrame(rows)
