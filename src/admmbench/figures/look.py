"""Looks of methods: colour, dashes and marker, decided once for all experiments of a study.

The opening picture of the report, its figures and the view "Explore" read the same looks. Drawing packages take seconds
to import, and the configuration decides looks, so this module imports none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import xarray as xr

PALETTE = (
    "#0173b2",
    "#d55e00",
    "#029e73",
    "#4b2e83",
    "#e0559a",
    "#1d99e0",
    "#7a3b00",
    "#00567a",
)
"""Colours with a contrast of 3:1 to white or more, which the colour-blind can tell apart."""
LINES: tuple[tuple[float, ...], ...] = (
    (),
    (5, 1.5),
    (1.5, 1.2),
    (6, 1.5, 1.5, 1.5),
    (6, 1.2, 1.2, 1.2, 1.2, 1.2),
)
MARKERS = "osD^vP<X>*"
_OWN_COLOR = {
    "objective perturbation": 0,
    "output perturbation": 1,
    "objective perturbation in a trust region": 2,
    "objective perturbation, several local updates": 3,
    "output perturbation, scaled penalty": 4,
    "noisy gradients": 4,
}
"""Places in the palette that families have in every study where they are free; others take the first that is."""
_DARK = "#333333"
_REFERENCES = ((4, 2), (1.2, 1.6))
"""Lines of the methods that others are compared with."""


class Look(NamedTuple):
    """Colour, dashes and gaps in widths of the line (none of a whole line), and marker of a method."""

    color: str
    dashes: tuple[float, ...]
    marker: str

    @classmethod
    def of_json(cls, content: Mapping[str, Any]) -> Look:
        """Return the look that `_asdict` gave to JSON."""
        return cls(content["color"], tuple(content["dashes"]), content["marker"])

    @property
    def linestyle(self) -> str | tuple[int, tuple[float, ...]]:
        """Return the line as matplotlib has it."""
        return (0, self.dashes) if self.dashes else "-"

    def line(self) -> dict[str, Any]:
        """Return the keywords of :meth:`matplotlib.axes.Axes.plot`."""
        return {
            "color": self.color,
            "linestyle": self.linestyle,
            "marker": self.marker,
            "markeredgewidth": 0,
        }


class Kin(NamedTuple):
    """What decides the look of a method, besides its label."""

    method: str
    family: str
    role: str


def of_study(experiments: Iterable[Mapping[str, Kin]]) -> dict[str, Look]:
    """Choose the look of every label of a study.

    Methods of one family have one colour and differ in line and marker. Methods without a family have a colour each,
    and so have all of an experiment in which no family is told from another, as in a study of one method's parameters.
    Methods that are no contenders are dark dashed lines. No two methods of one experiment share line and marker.

    Parameters
    ----------
    experiments
        Methods of each experiment, by label. A label has the look of the first method that it names.

    Returns
    -------
    dict
        By label, in the order of the experiments.
    """
    experiments = list(experiments)
    methods: dict[str, Kin] = {}
    owners: dict[str, str] = {}
    for own in experiments:
        methods = {**own, **methods}
        contenders = {label: each for label, each in own.items() if each.role == "contender"}
        if len({each.method for each in contenders.values()}) > 1:
            owners |= {label: methods[label].family for label in contenders}
    labels = list(dict.fromkeys(label for own in experiments for label in own))
    beside = {label: {b for own in experiments if label in own for b in own} for label in labels}
    families = {family for family in owners.values() if family}
    owners = {label: owners.get(label) or f"label {label}" for label in labels}
    contends = [label for label in labels if methods[label].role == "contender"]
    rivals: dict[str, set[str]] = {}
    for label in contends:
        apart = rivals.setdefault(owners[label], set())
        apart |= {owners[b] for b in beside[label]}
        apart |= families if owners[label] in families else set()
    places = _places(rivals)
    found: dict[str, Look] = {}
    for label in contends:
        found[label] = _look(places[owners[label]], [found[b] for b in beside[label] if b in found])
    for label in labels:
        if label not in found:
            turn = sum(found[b].color == _DARK for b in beside[label] if b in found)
            # The first have none of the markers, so that they look like no other line.
            marker = MARKERS[(turn - 2) % len(MARKERS)] if turn >= len(_REFERENCES) else ""
            found[label] = Look(_DARK, _REFERENCES[turn % len(_REFERENCES)], marker)
    return {label: found[label] for label in labels}


def of_results(experiments: Iterable[xr.Dataset]) -> dict[str, Look]:
    """Choose the look of every label of results, see `of_study`; the coordinates ``family`` and ``role`` decide."""
    from admmbench.results.kinship import with_kinship

    studied = []
    for results in map(with_kinship, experiments):
        columns = (results[name].values.tolist() for name in ("algorithm", *Kin._fields))
        studied.append({label: Kin(*kin) for label, *kin in zip(*columns, strict=True)})
    return of_study(studied)


def of_lines(lines: Iterable[str]) -> dict[str, Look]:
    """Choose looks of lines that stand for no single method, by their order."""
    found: dict[str, Look] = {}
    for turn, line in enumerate(dict.fromkeys(lines)):
        found[line] = _look(turn % len(PALETTE), list(found.values()))
    return found


def _places(rivals: Mapping[str, set[str]]) -> dict[str, int]:
    """Place in the palette of each owner of a colour, from the owners that it must be told from."""
    found: dict[str, int] = {}
    for owner in sorted(rivals, key=lambda owner: owner not in _OWN_COLOR):  # stable
        taken = [found[other] for other in rivals[owner] if other in found]
        own = _OWN_COLOR.get(owner, -1)
        order = sorted(range(len(PALETTE)), key=lambda place: (taken.count(place), place))
        found[owner] = own if own >= 0 and own not in taken else order[0]
    return found


def _look(place: int, others: Sequence[Look]) -> Look:
    """Draw a method in the colour of its place, with another line and marker than those beside it."""
    step = sum(look.color == PALETTE[place] for look in others)
    used = {(look.dashes, look.marker) for look in others}
    first = place + 3 * step
    options = [
        (LINES[line % len(LINES)], MARKERS[marker % len(MARKERS)])
        for line in range(step, step + len(LINES))
        for marker in range(first, first + len(MARKERS))
    ]
    return Look(PALETTE[place], *next((each for each in options if each not in used), options[0]))
