"""Pictures of audits: how often attacks find the canary, over the trade-off curve of the releases."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from markupsafe import Markup, escape

from admmbench.report.tables import stated

if TYPE_CHECKING:
    from admmbench.audit.findings import Audit, Finding
    from admmbench.study.runs import Run

# In units of the picture: its sides without labels, and the room for these.
_SIDE, _ROOM, _TOP = 150, 30, 6


def pictures(audits: Sequence[tuple[Run, Audit]]) -> list[tuple[str, Markup]]:
    """Draw the audits that have rates and a curve, each with what it is of.

    The curve is the largest share of runs with the record that anybody finds who sees all releases of the attacked
    rounds. A cross has the intervals of an attack's rates; it is red if it contradicts the curve or the total.
    """
    return [
        (f"{run.label}, ε = {stated(run.spec.stated_budget)}", _draw(found))
        for run, found in audits
        if found.curve and any(each.rates for each in found.findings)
    ]


def _draw(found: Audit) -> Markup:
    left, floor = _ROOM, _TOP + _SIDE
    line = "L".join(_place(*point) for point in found.curve)
    parts = [
        f'<path d="M{left} {_TOP}V{floor}H{left + _SIDE}" fill="none" stroke="#8a939b"/>',
        f'<path d="M{_place(0, 0)}L{_place(1, 1)}" stroke="#c4c9ce" stroke-dasharray="2 3"/>',
        f'<path d="M{line}" fill="none" stroke="#0173b2" stroke-width="1.5"/>',
    ]
    for share in (0, 0.5, 1):
        x, y = _place(share, share).split()
        parts.append(f'<text x="{x}" y="{floor + 12}" text-anchor="middle">{share:g}</text>')
        parts.append(
            f'<text x="{left - 4}" y="{float(y) + 3.5:g}" text-anchor="end">{share:g}</text>'
        )
    for finding in found.findings:
        parts += _cross(finding)
    middle = left + _SIDE / 2
    parts.append(
        f'<text x="{middle}" y="{floor + 25}" text-anchor="middle">hits against false alarms</text>'
    )
    return Markup(
        f'<svg class="picture" viewBox="0 0 {left + _SIDE + 12} {floor + _ROOM}" role="img" '
        f'aria-label="hits of attacks against their false alarms">{"".join(parts)}</svg>'
    )


def _cross(finding: Finding) -> Iterator[str]:
    """Intervals of both rates of an attack."""
    if not finding.rates:
        return
    (low, high), (alarm_low, alarm_high) = finding.rates
    x, y = (alarm_low + alarm_high) / 2, (low + high) / 2
    color = "#c0392b" if finding.passed is False else "#333a41"
    yield (
        f'<path d="M{_place(alarm_low, y)}L{_place(alarm_high, y)}M{_place(x, low)}L{_place(x, high)}" '
        f'stroke="{color}"><title>{escape(f"{finding.level}, {finding.canary}")}</title></path>'
    )


def _place(alarms: float, hits: float) -> str:
    return f"{_ROOM + _SIDE * alarms:.1f} {_TOP + _SIDE * (1 - hits):.1f}"
