"""Drawing of an audit's attacks: how often each finds the canary, over the trade-off curve of the releases."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import matplotlib as mpl
from matplotlib.figure import Figure as Drawing

from admmbench.figures.look import PALETTE
from admmbench.figures.style import STYLE, Layout

_SIDE = 2.2
"""Width and height of the drawing, in inches."""
_SOUND, _WRONG = "#333333", "#c0392b"


Interval = tuple[float, float]


def draw(
    curve: Sequence[tuple[float, float]], attacks: Iterable[tuple[Interval, Interval, bool]]
) -> Drawing:
    """Draw the curve of an audit, guessing as a dotted line, and the intervals of each attack's rates as a cross.

    Parameters
    ----------
    curve
        Largest part of the runs with the canary that an adversary can find who sees all releases of the attacked
        rounds, at some rates of false alarms: pairs of both, alarms first.
    attacks
        For each attack the intervals of its rates of hits and of false alarms, and whether these agree with the curve
        and the total; the cross is red if they do not.
    """
    with mpl.rc_context(STYLE):
        drawing = Drawing(figsize=(_SIDE, _SIDE), layout=Layout())
        panel = drawing.add_subplot()
        panel.plot([0, 1], [0, 1], color="#8a939b", linestyle=":", linewidth=0.8)
        panel.plot(*zip(*curve, strict=True), color=PALETTE[0])
        for (low, high), (alarm_low, alarm_high), is_sound in attacks:
            color = _SOUND if is_sound else _WRONG
            x, y = (alarm_low + alarm_high) / 2, (low + high) / 2
            panel.plot([alarm_low, alarm_high], [y, y], color=color, linewidth=1)
            panel.plot([x, x], [low, high], color=color, linewidth=1)
        panel.set(xlim=(0, 1), ylim=(0, 1), xticks=(0, 0.5, 1), yticks=(0, 0.5, 1), aspect="equal")
        panel.set(xlabel="False alarms (share of runs)", ylabel="Hits (share of runs)")
        panel.spines[["top", "right"]].set_visible(False)
    return drawing
