"""Drawings as parts of the page: smaller, and without a visible change.

Matplotlib writes every point of a line with six decimals, and names every element. The page contains all figures, so
lines keep here only the points that the eye can tell apart, places have one decimal, and only what others refer to has
a name.
"""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import numpy as np
from markupsafe import Markup
from matplotlib.path import Path

TOLERANCE = 0.2
"""Of matplotlib's simplification, in points. A line moves by less than twice as much, which is about half a pixel."""

_ZOOM = 1.6
"""Pixels of the page for each point: the smallest text of a figure is as large as small print of the page."""

_REFERENCE = re.compile(r'(?<=url\(#)[^)]+|(?<=href="#)[^"]+')
_LINE = re.compile(r"M \S+ \S+\s+(?:L \S+ \S+\s+){3,}")
_NUMBER = re.compile(r"-?\d+\.\d+")


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
    width, height = (float(root.attrib[side].removesuffix("pt")) for side in ("width", "height"))
    small = ET.Element(
        "svg",
        {
            "viewBox": f"0 0 {width:g} {height:g}",
            "role": "img",
            "aria-label": label,
            "style": f"--w:{width * _ZOOM:.0f}px;aspect-ratio:{width:.3f}/{height:.3f}",
        },
    )
    small.extend(root)
    referred = set(_REFERENCE.findall(text))
    for element in root.iter():
        _shorten(element, prefix, referred)
    return Markup(ET.tostring(small, encoding="unicode"))


def _shorten(element: ET.Element, prefix: str, referred: set[str]) -> None:
    """Round places, drop namespaces and the names that nothing refers to, and begin the others with the prefix."""
    element.tag, element.tail = _local(element.tag), None
    element.text = element.text if (element.text or "").strip() else None
    given = {_local(name): value for name, value in element.items()}
    if given.get("id") in referred:
        given["id"] = f"{prefix}-{given['id']}"
    else:
        given.pop("id", None)
    for name in given.keys() & {"d", "x", "y"}:
        given[name] = _NUMBER.sub(_rounded, _LINE.sub(_simplified, given[name])).strip()
    for name in given.keys() & {"href", "clip-path", "style"}:
        given[name] = re.sub(r"(^|url\()#", rf"\g<1>#{prefix}-", given[name])
    if given.get("transform", "").startswith("rotate(-0 "):
        del given["transform"]
    element.attrib = given


def _local(name: str) -> str:
    """Name of a tag or an attribute without its namespace."""
    return name.rpartition("}")[2]


def _simplified(found: re.Match[str]) -> str:
    """Leave out points of a line that make no visible difference."""
    points = np.array(re.sub("[ML]", "", found[0]).split(), float).reshape(-1, 2)
    line = Path(points)
    line.simplify_threshold = TOLERANCE
    kept = np.asarray(line.cleaned(simplify=True).vertices)[:-1]  # the last says that it ends
    return "M" + "L".join(f"{x:.6f} {y:.6f}" for x, y in kept)


def _rounded(found: re.Match[str]) -> str:
    return f"{float(found[0]):.1f}".removesuffix(".0")
