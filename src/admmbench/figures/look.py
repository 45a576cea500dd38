"""Looks of methods: colour, dashes and marker, chosen once for all experiments of a study.

The opening picture of the report, its figures and the view "Explore" read the same looks. Drawing packages take seconds
to import, and the configuration chooses looks, so this module imports none.
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
"""Colours with a contrast of at least 3:1 to white, which colour-blind readers can tell apart."""
LINES: tuple[tuple[float, ...], ...] = (
    (),
    (5, 1.5),
    (1.5, 1.2),
    (6, 1.5, 1.5, 1.5),
    (6, 1.2, 1.2, 1.2, 1.2, 1.2),
)
MARKERS = "osD^vP<X>*"
_OWN_COLOR = {
    "objective_perturbation": 0,
    "output_perturbation": 1,
    "objective_perturbation_in_a_trust_region": 2,
    "objective_perturbation_several_local_updates": 3,
    "output_perturbation_scaled_penalty": 4,
    "noisy_gradients": 4,
}
"""Places in the palette that families have in every study where the places are free; others take the first free one."""
_DARK = "#333333"
_REFERENCES = ((4, 2), (1.2, 1.6))
"""Dashes of methods with which others are compared."""


class Look(NamedTuple):
    """Colour, dashes and marker of a method; dashes and gaps are in widths of the line, and a solid line has none."""

    color: str
    dashes: tuple[float, ...]
    marker: str

    @classmethod
    def of_json(cls, content: Mapping[str, Any]) -> Look:
        """Make a look from the JSON of `_asdict`."""
        return cls(content["color"], tuple(content["dashes"]), content["marker"])

    @property
    def linestyle(self) -> str | tuple[int, tuple[float, ...]]:
        """Return the style of the line in the form that matplotlib takes."""
        return (0, self.dashes) if self.dashes else "-"

    def line(self) -> dict[str, Any]:
        """Return the keywords of :meth:`matplotlib.axes.Axes.plot`."""
        return {
            "color": self.color,
            "linestyle": self.linestyle,
            "marker": self.marker,
            "markeredgewidth": 0,
        }


class Traits(NamedTuple):
    """Traits of a method that decide its look, besides its label."""

    method: str
    family: str
    role: str


def of_study(experiments: Iterable[Mapping[str, Traits]]) -> dict[str, Look]:
    """Choose the look of every label of a study.

    Methods of one family have one colour and differ in line and marker. Methods without a family have a colour each,
    and so have all methods of an experiment that compares no families, as in a study of one method's parameters.
    Methods that are no contenders are dark dashed lines. No two methods of one experiment share line and marker.

    Parameters
    ----------
    experiments
        Methods of each experiment, by label. A label has the look of the first method that it names.

    Returns
    -------
    dict
        Looks by label, in the order of the experiments.
    """
    experiments = list(experiments)
    # A colour belongs to an owner: a family, or a label that has no family or competes with no other method.
    methods: dict[str, Traits] = {}
    owners: dict[str, str] = {}
    for experiment in experiments:
        methods = {**experiment, **methods}
        contenders = [label for label in experiment if experiment[label].role == "contender"]
        if len({experiment[label].method for label in contenders}) > 1:
            # A plug-in may spell the key of its family in words.
            words = {label: methods[label].family.replace(",", "") for label in contenders}
            owners |= {label: family.replace(" ", "_") for label, family in words.items()}
    labels = list(dict.fromkeys(label for experiment in experiments for label in experiment))
    companions = {
        label: {b for experiment in experiments if label in experiment for b in experiment}
        for label in labels
    }
    families = {family for family in owners.values() if family}
    owners = {label: owners.get(label) or f"label {label}" for label in labels}
    contends = [label for label in labels if methods[label].role == "contender"]
    # Owners in one experiment must differ in colour, and families must in all of the study.
    rivals: dict[str, set[str]] = {}
    for label in contends:
        opponents = rivals.setdefault(owners[label], set())
        opponents |= {owners[b] for b in companions[label]}
        opponents |= families if owners[label] in families else set()
    places = _color_places(rivals)
    looks: dict[str, Look] = {}
    for label in contends:
        others = [looks[b] for b in companions[label] if b in looks]
        looks[label] = _new_look(places[owners[label]], others)
    for label in labels:
        if label not in looks:
            turn = sum(looks[b].color == _DARK for b in companions[label] if b in looks)
            # The first ones have no marker, so that they look like no other line.
            marker = MARKERS[(turn - 2) % len(MARKERS)] if turn >= len(_REFERENCES) else ""
            looks[label] = Look(_DARK, _REFERENCES[turn % len(_REFERENCES)], marker)
    return {label: looks[label] for label in labels}


def of_results(experiments: Iterable[xr.Dataset]) -> dict[str, Look]:
    """Choose the look of every label of results, see `of_study`; the coordinates ``family`` and ``role`` decide."""
    from admmbench.results.declarations import with_declarations

    studied = []
    for results in map(with_declarations, experiments):
        columns = (results[name].values.tolist() for name in ("algorithm", *Traits._fields))
        studied.append({label: Traits(*traits) for label, *traits in zip(*columns, strict=True)})
    return of_study(studied)


def of_lines(lines: Iterable[str]) -> dict[str, Look]:
    """Choose looks of lines that are no single methods, by their order."""
    looks: dict[str, Look] = {}
    for turn, line in enumerate(dict.fromkeys(lines)):
        looks[line] = _new_look(turn % len(PALETTE), list(looks.values()))
    return looks


def _color_places(rivals: Mapping[str, set[str]]) -> dict[str, int]:
    """Return the place in the palette of each owner of a colour, given the owners that must have other colours."""
    places: dict[str, int] = {}
    for owner in sorted(rivals, key=lambda owner: owner not in _OWN_COLOR):  # stable
        taken = [places[other] for other in rivals[owner] if other in places]
        preferred = _OWN_COLOR.get(owner, -1)
        order = sorted(range(len(PALETTE)), key=lambda place: (taken.count(place), place))
        places[owner] = preferred if preferred >= 0 and preferred not in taken else order[0]
    return places


def _new_look(place: int, others: Sequence[Look]) -> Look:
    """Return a look in the colour of a place, with another line and marker than the other looks."""
    step = sum(look.color == PALETTE[place] for look in others)
    used = {(look.dashes, look.marker) for look in others}
    first = place + 3 * step
    options = [
        (LINES[line % len(LINES)], MARKERS[marker % len(MARKERS)])
        for line in range(step, step + len(LINES))
        for marker in range(first, first + len(MARKERS))
    ]
    return Look(
        PALETTE[place], *next((option for option in options if option not in used), options[0])
    )
