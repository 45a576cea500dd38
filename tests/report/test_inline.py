"""Drawings of the page: small, and as far as the eye can tell the same."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from admmbench.figures.drawing import svg
from admmbench.report.inline import TOLERANCE, inline, simplified
from tests.made import ERRORS, INF, build

UNITS = 5
"""Of a coordinate in the page, in a point."""


def drawn(text):
    return ET.fromstring(str(inline(text, "here", "What it shows")))


def vertices(d):
    """Ends of the pieces of a path with relative lines, in points."""
    numbers = [float(each) for each in re.findall(r"-?[\d.]+", d)]
    return np.cumsum(np.reshape(numbers, (-1, 2)), axis=0) / UNITS


def page_of(body):
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" '
        f'width="72pt" height="36pt" viewBox="0 0 72 36">{body}</svg>'
    )


def looks_of(root):
    """Style of each class."""
    (style,) = root.iter("style")
    return dict(re.findall(r"\.(\w+)\{(.*?)\}", style.text))


def distances(points, line):
    """How far each point is from a line."""
    starts, along = line[:-1], np.diff(line, axis=0)
    between = points[:, None] - starts
    part = (between * along).sum(2) / np.maximum((along**2).sum(1), 1e-12)
    nearest = starts + np.clip(part, 0, 1)[..., None] * along
    return np.hypot(*np.moveaxis(points[:, None] - nearest, 2, 0)).min(1)


@pytest.mark.parametrize("tolerance", [0.05, 0.5, 3.0])
def test_a_simplified_line_stays_near_every_point(tolerance):
    rng = np.random.default_rng(0)
    line = np.column_stack([np.linspace(0, 100, 400), 30 * np.exp(-np.linspace(0, 9, 400))])
    line += rng.normal(size=line.shape) * (0, 0.4)
    kept = simplified(line, tolerance)
    assert kept[0] == 0
    assert kept[-1] == 399
    assert distances(line, line[kept]).max() <= tolerance
    assert len(kept) < 400
    straight = np.column_stack([np.arange(50.0), np.arange(50.0)])
    assert simplified(straight, tolerance).tolist() == [0, 49]
    assert simplified(np.ones((3, 2)), tolerance).tolist() == [0, 2]


def test_lines_of_the_page_are_those_of_the_file(figure):
    rng = np.random.default_rng(1)
    ds = build({"OutP": {0.1: 0.2}}, seeds=10, rounds=tuple(range(1, 400)), spread=0.05)
    ds["test_error"] += 0.01 * rng.normal(size=ds["test_error"].shape)
    text = svg(ds, figure())
    root = drawn(text)
    looks = looks_of(root)
    (full,) = re.findall(r'<path d="([^"]*)" clip-path[^>]*stroke: #0173b2', text)
    original = np.array([pair.split() for pair in re.findall(r"[ML]([^ML]*)", full)], float)
    own = [each for each in root.iter("path") if "stroke:#0173b2" in looks[each.get("class")]]
    line = vertices(max((each.get("d") for each in own), key=len))
    assert len(line) < len(original)
    # Coordinates are rounded to whole units.
    assert distances(original, line).max() <= TOLERANCE + np.hypot(0.5, 0.5) / UNITS
    assert len(str(inline(text, "x", ""))) < len(text) / 5
    assert any("fill-opacity:0.2" in look for look in looks.values())


def test_bands_that_a_line_covers_are_left_out(figure):
    ds = build({"OutP": {0.1: 0.2}}, spread=1e-4)
    looks = looks_of(drawn(svg(ds, figure())))
    assert not any("fill-opacity" in look for look in looks.values())


def test_markers_are_where_they_were(results, figure):
    text = svg(results, figure(epsilon=[0.1]))
    uses = [
        (float(x), float(y))
        for x, y, color in re.findall(
            r'<use [^>]*x="([^"]*)" y="([^"]*)" style="fill: (#\w+); stroke', text
        )
        if color == "#0173b2"
    ]
    root = drawn(text)
    looks = looks_of(root)
    names = {
        each.get("id"): looks[each[0].get("class")]
        for each in root.iter("marker")
        if "stroke:#0173b2" in looks[each[0].get("class")]
    }
    (name,) = names
    (path,) = (p for p in root.iter("path") if f"url(#{name})" in looks[p.get("class")])
    # The sample of the legend is alone, and a shape of its own.
    np.testing.assert_allclose(vertices(path.get("d")), uses[:-1], atol=0.5 / UNITS + 1e-6)


def test_lengths_of_styles_and_places_of_texts_are_in_units():
    root = drawn(
        page_of(
            '<path d="M 1 2 L 3 4" style="stroke: #000; stroke-width: 0.8; stroke-dasharray: 2.6,1.3"/>'
            '<text x="10" y="20" style="font: 7.5px serif" transform="rotate(-0 10 20)">a</text>'
            '<text x="10" y="20" transform="rotate(-90 10 20)">b</text>'
            '<g transform="translate(3 4) scale(0.5 -0.5)"><text><tspan x="1 2">c</tspan></text></g>'
        )
    )
    looks = looks_of(root)
    assert root.get("viewBox") == "0 0 360 180"
    assert root.get("stroke-width") == "5"
    assert "stroke:#000;stroke-width:4;stroke-dasharray:13,6.5" in looks.values()
    first, second, third = root.iter("text")
    assert first.get("transform") is None
    assert (first.get("x"), first.get("y")) == ("50", "100")
    assert looks[first.get("class")] == "font:37.5px serif"
    assert second.get("transform") == "rotate(-90 50 100)"
    (group,) = root.iter("g")
    assert group.get("transform") == "translate(15 20) scale(0.5 -0.5)"
    assert third[0].get("x") == "5 10"


def test_a_clip_is_kept_where_it_clips():
    clip = '<defs><clipPath id="c"><rect x="0" y="0" width="10" height="10"/></clipPath></defs>'
    lines = "".join(
        f'<path d="M 0 0 L {end} 5" clip-path="url(#c)" style="stroke: #00{end}"/>'
        for end in (10, 20)
    )
    inside, outside = drawn(page_of(clip + lines)).findall("path")
    assert inside.get("clip-path") is None
    assert outside.get("clip-path") == "url(#here-c)"


def test_curves_are_relative_to_their_beginning():
    body = '<path d="M 1 1 C 1 2 2 3 3 3 C 4 3 5 2 5 1 z" style="fill: #000"/>'
    (path,) = drawn(page_of(body)).iter("path")
    assert path.get("d") == "m5 5c0 5 5 10 10 10c5 0 10-5 10-10z"


def test_the_same_drawing_gives_the_same_text(figure):
    texts = {str(inline(svg(build(ERRORS), figure()), "x", "y")) for _ in range(2)}
    assert len(texts) == 1
    empty = build({"OutP": {INF: np.nan}}, diverged={("OutP", INF): 10})
    assert "no results" in str(inline(svg(empty, figure()), "x", "y"))
