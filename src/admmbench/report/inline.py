"""Drawings as parts of the page: as small as possible without a visible change.

Matplotlib writes every point with six decimals, and a style at every element. The page contains all figures. So lines
keep here only the points that the eye can tell apart, coordinates are whole numbers of a small unit, and equal styles
are written once.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from xml.etree import ElementTree as ET

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

TOLERANCE = 0.35
"""How far a line may move, in points: about half a pixel, as the page shows a point as 1.6 pixels."""

_ZOOM = 1.6
"""Pixels of the page for each point: the smallest text of a figure is as large as small print of the page."""

_PALE = 2
"""How many times the tolerance the edge of a band may move, which is pale."""

_UNITS = 5
"""Units of coordinates in a point."""

_COMMAND = re.compile(r"([MLCQz])([^MLCQz]*)")
_REFERENCE = re.compile(r"url\(#(.*)\)")

Points = NDArray[np.float64]
Commands = list[tuple[str, Points]]


def inline(text: str, prefix: str, label: str) -> Markup:
    """Make an SVG file of matplotlib part of a page.

    Parameters
    ----------
    text
        Of the file.
    prefix
        Begins all identifiers, which are unique in the page.
    label
        What the figure shows, in words.

    Returns
    -------
    markupsafe.Markup
        An element ``svg`` that is as wide as its place allows.
    """
    root = ET.fromstring(text)
    for each in root.iter():
        each.tag = each.tag.rpartition("}")[2]
        each.attrib = {name.rpartition("}")[2]: value for name, value in each.attrib.items()}
    width, height = (float(root.attrib[side].removesuffix("pt")) for side in ("width", "height"))
    box = f"0 0 {_short(_UNITS * width)} {_short(_UNITS * height)}"
    size = f"--w:{width * _ZOOM:.0f}px;aspect-ratio:{width:.3f}/{height:.3f}"
    # Lines whose width matplotlib leaves out are a point wide.
    described = {"viewBox": box, "stroke-width": str(_UNITS), "role": "img", "aria-label": label}
    small = ET.Element("svg", {**described, "style": size})
    small.extend(_Smaller(root, prefix).parts())
    return Markup(ET.tostring(small, encoding="unicode"))


class _Smaller:
    """One drawing on its way into the page."""

    def __init__(self, root: ET.Element, prefix: str) -> None:
        self.root, self.prefix = root, prefix
        self.shapes = {each.get("id", ""): each for each in root.iter() if each.get("id")}
        self.rules: dict[str, str] = {}  # of styles, by class
        self.kept: dict[str, ET.Element] = {}  # what others refer to, by its new identifier

    def parts(self) -> list[ET.Element]:
        """Children of the drawing: styles, what is referred to, and what is seen."""
        seen = _joined(part for child in self.root for part in self._of(child))
        style = ET.Element("style")
        given = [each.text or "" for each in self.root.iter("style")]
        style.text = "".join([*given, *(f".{name}{{{rule}}}" for name, rule in self.rules.items())])
        referred = ET.Element("defs")
        referred.extend(self.kept.values())
        return [style, *([referred] if self.kept else []), *seen]

    def _of(self, element: ET.Element) -> Iterator[ET.Element]:
        """Make something smaller; what only groups or defines disappears."""
        if element.tag == "g":
            for uses in _alike(element.findall("use")):
                yield from self._shape(uses, element.get("clip-path", ""))
            rest = [part for child in element for part in self._of(child)]
            if turn := element.get("transform"):
                group = ET.Element("g", {"transform": _turned(turn)})
                group.extend(rest)
                rest = [group]
            yield from rest
        elif element.tag == "path":
            yield from self._path(element.attrib, _commands(element.get("d", "")))
        elif element.tag == "text":
            yield self._text(element)

    def _path(self, given: dict[str, str], commands: Commands) -> Iterator[ET.Element]:
        style = given.get("style", "")
        band = "fill-opacity" in style
        if band and _thickness(commands) <= 2 * TOLERANCE:
            return  # the line covers it
        own = {"d": _written(_simplified(commands, _PALE if band else 1)), "style": style}
        clip = given.get("clip-path", "")
        if clip and not self._inside(commands, clip):
            own["clip-path"] = self._clip(clip)
        if own["d"]:
            yield self._styled(ET.Element("path", own))

    def _shape(self, uses: list[ET.Element], clip: str) -> Iterator[ET.Element]:
        """One shape at many places: markers of a line, or a band, which is at one place."""
        places = np.array([[float(use.get("x", 0)), float(use.get("y", 0))] for use in uses])
        shape = self.shapes[uses[0].get("href", "")[1:]]
        commands = _commands(shape.get("d", ""))
        # Properties of the use come later: a shape's own would win if both had one, and are then the same.
        style = "; ".join(filter(None, (shape.get("style"), uses[0].get("style"))))
        if len(uses) == 1:
            moved = [(letter, points + places[0]) for letter, points in commands]
            yield from self._path({"style": style, "clip-path": clip}, moved)
            return
        path = {"style": f"fill:none;marker:url(#{self._mark(commands, style)})"}
        path["d"] = _written([("M", places[:1]), ("L", places[1:])])
        yield self._styled(ET.Element("path", path))

    def _mark(self, commands: Commands, style: str) -> str:
        """Keep a marker, and give its identifier."""
        shape = self._styled(ET.Element("path", {"d": _written(commands), "style": style}))
        name = f"{self.prefix}-mark{len(self.kept)}"
        for old, kept in self.kept.items():
            if kept.tag == "marker" and kept[0].attrib == shape.attrib:
                return old
        given = {"id": name, "overflow": "visible", "markerUnits": "userSpaceOnUse"}
        self.kept[name] = ET.Element("marker", given)
        self.kept[name].append(shape)
        return name

    def _clip(self, reference: str) -> str:
        """Keep a clip, and give the reference to it."""
        found = _REFERENCE.fullmatch(reference)[1]  # type: ignore[index]
        name = f"{self.prefix}-{found}"
        if name not in self.kept:
            (box,) = self.shapes[found]
            sides = {side: _short(_UNITS * float(box.attrib[side])) for side in _BOX}
            self.kept[name] = ET.Element("clipPath", {"id": name})
            ET.SubElement(self.kept[name], "rect", sides)
        return f"url(#{name})"

    def _inside(self, commands: Commands, reference: str) -> bool:
        """Whether a path ends within its clip, so that nothing is clipped but half a line."""
        (box,) = self.shapes[_REFERENCE.fullmatch(reference)[1]]  # type: ignore[index]
        x, y, width, height = (float(box.attrib[side]) for side in _BOX)
        points = np.concatenate([points for _, points in commands])
        low, high = points.min(axis=0), points.max(axis=0)
        return bool(
            (low >= (x - TOLERANCE, y - TOLERANCE)).all()
            and (high <= (x + width + TOLERANCE, y + height + TOLERANCE)).all()
        )

    def _text(self, element: ET.Element) -> ET.Element:
        for each in element.iter():
            for side in ("x", "y"):
                if side in each.attrib:
                    places = each.attrib[side].split()
                    each.set(side, " ".join(_short(_UNITS * float(place)) for place in places))
            turn = each.attrib.pop("transform", "")
            if turn and not turn.startswith("rotate(-0 "):
                each.set("transform", _turned(turn))
            self._styled(each)
        element.tail = None
        return element

    def _styled(self, element: ET.Element) -> ET.Element:
        """Put a class in the place of a style."""
        style = element.attrib.pop("style", "")
        if style:
            properties = dict(
                each.split(":", 1)
                for each in re.sub(r"\s*([;:,])\s*", r"\1", style).split(";")
                if each
            )
            properties.pop("stroke-dashoffset", None)
            rule = ";".join(f"{name}:{_lengths(name, value)}" for name, value in properties.items())
            name = "f" + hashlib.sha256(rule.encode()).hexdigest()[:5]
            self.rules[name] = rule
            element.set("class", name)
        return element


_BOX = ("x", "y", "width", "height")
_LENGTHS = {"stroke-width", "stroke-dasharray", "font-size", "font"}


def _lengths(name: str, value: str) -> str:
    if name not in _LENGTHS:
        return value
    return re.sub(
        r"(?<![\w.])[\d.]+(?=px|,|$)", lambda found: f"{_UNITS * float(found[0]):g}", value
    )


def _turned(transform: str) -> str:
    """Write "translate(x y) scale(s)" or "rotate(angle x y)" for places in units."""

    def places(found: re.Match[str]) -> str:
        return found[1] + " ".join(_short(_UNITS * float(each)) for each in found[2].split())

    return re.sub(r"(translate\(|rotate\(\S+ )([^)]*)", places, transform)


def _alike(uses: list[ET.Element]) -> list[list[ET.Element]]:
    """Divide uses by their shapes and styles."""
    groups: dict[object, list[ET.Element]] = {}
    for use in uses:
        groups.setdefault((use.get("href"), use.get("style")), []).append(use)
    return list(groups.values())


def _joined(elements: Iterator[ET.Element]) -> list[ET.Element]:
    """Make one path of neighbours that look alike, such as lines of a grid."""
    found: list[ET.Element] = []
    for each in elements:
        last = found[-1] if found else each
        if last is not each and each.tag == "path" and _looks(last) == _looks(each):
            last.set("d", last.attrib["d"] + each.attrib["d"].replace("m", "M", 1))
        else:
            found.append(each)
    return found


def _looks(element: ET.Element) -> tuple[str, dict[str, str]]:
    return element.tag, {name: value for name, value in element.attrib.items() if name != "d"}


def _commands(d: str) -> Commands:
    """Commands of a path with their absolute points, each an array over points and (x, y)."""
    found: Commands = []
    for letter, numbers in _COMMAND.findall(d):
        points = np.array(numbers.split(), float).reshape(-1, 2)
        if letter == "L" and found and found[-1][0] == "L":
            found[-1] = ("L", np.concatenate([found[-1][1], points]))
        else:
            found.append((letter, points))
    return found


def _thickness(commands: Commands) -> float:
    """How far the edges of a band are apart, at most."""
    points = np.concatenate([points for _, points in commands])
    points = points[np.argsort(points[:, 0], kind="stable")]
    first = np.flatnonzero(np.diff(points[:, 0], prepend=-np.inf))
    apart = np.maximum.reduceat(points[:, 1], first) - np.minimum.reduceat(points[:, 1], first)
    return float(apart.max())


def _simplified(commands: Commands, times: float) -> Commands:
    """Leave out points of lines that make no visible difference, with a multiple of the tolerance."""
    found: Commands = []
    for letter, points in commands:
        if letter == "L":
            chain = np.concatenate([found[-1][1][-1:], points])
            points = chain[simplified(chain, times * TOLERANCE)][1:]
        found.append((letter, points))
    return found


def simplified(points: Points, tolerance: float) -> NDArray[np.int64]:
    """Places of the points that a line needs to stay within a distance of all of them (Ramer, Douglas and Peucker).

    Parameters
    ----------
    points
        Over points and (x, y).
    tolerance
        In the unit of the points.
    """
    kept = {0, len(points) - 1}
    open_ = [(0, len(points) - 1)]
    while open_:
        first, last = open_.pop()
        if last - first < 2:
            continue
        between = points[first + 1 : last] - points[first]
        along = points[last] - points[first]
        length = float(along @ along)
        part = np.clip(between @ along / length, 0, 1) if length else np.zeros(len(between))
        distance = np.hypot(*(between - part[:, None] * along).T)
        if distance.max() > tolerance:
            middle = first + 1 + int(distance.argmax())
            kept.add(middle)
            open_ += [(first, middle), (middle, last)]
    return np.array(sorted(kept))


def _written(commands: Commands) -> str:
    """Write a path in whole units, with relative coordinates."""
    said = ""
    here = np.zeros(2)
    for letter, points in commands:
        if letter == "z":
            said += "z"
            continue
        places = (_UNITS * points).round()
        size = {"C": 3, "Q": 2}.get(
            letter, 1
        )  # points of a command, which are relative to where it begins
        starts = np.concatenate([here[None], places[size - 1 :: size]])[: len(places) // size]
        steps = (places - np.repeat(starts, size, axis=0)).reshape(-1, 2 * size)
        if letter == "L":
            steps = steps[steps.any(axis=1)]
        if len(steps):
            said += letter.lower()
            for step in steps.ravel():
                text = f"{step:.0f}".replace("-0", "0") if step == 0 else f"{step:.0f}"
                said += text if text[0] == "-" or said[-1].isalpha() else f" {text}"
            here = places[-1]
    return said


def _short(value: float) -> str:
    """Write a length in whole units."""
    return str(round(value))
