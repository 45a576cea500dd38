"""Drawings of the page: small, and as far as the eye can tell the same."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from admmbench.figures.drawing import svg
from admmbench.report.inline import TOLERANCE, inline
from tests.made import ERRORS, INF, build

ROUNDING = np.hypot(0.05, 0.05)
"""How far a place moves by having one decimal, in points."""


def drawn(text):
    return ET.fromstring(str(inline(text, "here", "What it shows")))


def vertices(d):
    """Ends of the pieces of a path, in points."""
    return np.reshape([float(each) for each in re.findall(r"-?[\d.]+", d)], (-1, 2))


def path_of(points):
    return "M " + "L ".join(f"{x:.6f} {y:.6f} \n" for x, y in points)


def page_of(body):
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" '
        f'width="72pt" height="36pt" viewBox="0 0 72 36">{body}</svg>'
    )


def distances(points, line):
    """How far each point is from a line."""
    starts, along = line[:-1], np.diff(line, axis=0)
    between = points[:, None] - starts
    part = (between * along).sum(2) / np.maximum((along**2).sum(1), 1e-12)
    nearest = starts + np.clip(part, 0, 1)[..., None] * along
    return np.hypot(*np.moveaxis(points[:, None] - nearest, 2, 0)).min(1)


@pytest.mark.parametrize("shake", [0.0, 0.05, 0.4])
@pytest.mark.parametrize("end", ["", "z"])
def test_a_line_stays_near_every_point_and_ends_where_it_ended(shake, end):
    rng = np.random.default_rng(0)
    line = np.column_stack([np.linspace(0, 100, 400), 30 * np.exp(-np.linspace(0, 9, 400))])
    line += rng.normal(size=line.shape) * (0, shake)
    (path,) = drawn(page_of(f'<path d="{path_of(line)}{end}" />')).iter("path")
    found = vertices(path.get("d"))
    np.testing.assert_allclose(found[[0, -1]], line[[0, -1]], atol=0.051)
    assert distances(line, found).max() <= 2 * TOLERANCE + ROUNDING
    assert distances(found, line).max() <= 2 * TOLERANCE + ROUNDING
    assert len(found) < 350
    assert path.get("d").endswith("z") == bool(end)


def test_lines_of_the_page_are_those_of_the_file(figure):
    rng = np.random.default_rng(1)
    ds = build({"OutP": {0.1: 0.2}}, seeds=10, rounds=tuple(range(1, 400)), spread=0.05)
    ds["test_error"] += 0.01 * rng.normal(size=ds["test_error"].shape)
    text = svg(ds, figure())
    (full,) = re.findall(r'<path d="([^"]*)" clip-path[^>]*stroke: #0173b2', text)
    own = [each for each in drawn(text).iter("path") if "stroke: #0173b2" in each.get("style", "")]
    original, line = vertices(full), vertices(max((each.get("d") for each in own), key=len))
    assert len(line) < len(original)
    assert distances(original, line).max() <= 2 * TOLERANCE + ROUNDING
    assert len(str(inline(text, "x", ""))) < len(text) / 2


def test_markers_are_where_they_were(results, figure):
    text = svg(results, figure(epsilon=[0.1]))
    before = ET.fromstring(text).iter("{http://www.w3.org/2000/svg}use")
    root = drawn(text)
    shapes = {each.get("id") for each in root.iter("path")}
    uses = list(root.iter("use"))
    assert all(each.get("href")[1:] in shapes for each in uses)
    places = [[[float(each.get(side)) for side in "xy"] for each in of] for of in (before, uses)]
    np.testing.assert_allclose(*places, atol=0.051)


def test_words_and_styles_stay_and_texts_are_turned_as_they_were():
    style = "stroke: #000; stroke-width: 0.85"
    root = drawn(
        page_of(
            f'<path d="M 1.04 2 L 3.06 4" style="{style}"/>'
            '<text x="10.123" y="20" style="font: 7.25px serif" transform="rotate(-0 10 20)">0.25</text>'
            '<text x="10" y="20" transform="rotate(-90 10 20)">b</text>'
            '<g transform="translate(3 4) scale(0.08 -0.08)"><text><tspan x="1 2">c</tspan></text></g>'
        )
    )
    assert root.get("viewBox") == "0 0 72 36"
    assert root.get("aria-label") == "What it shows"
    (path,) = root.iter("path")
    assert dict(path.items()) == {"d": "M 1 2 L 3.1 4", "style": style}
    first, second, third = root.iter("text")
    assert dict(first.items()) == {"x": "10.1", "y": "20", "style": "font: 7.25px serif"}
    assert first.text == "0.25"
    assert second.get("transform") == "rotate(-90 10 20)"
    assert root.find("g").get("transform") == "translate(3 4) scale(0.08 -0.08)"
    assert third[0].get("x") == "1 2"


def test_what_is_referred_to_has_a_name_of_its_own_figure():
    clip = '<defs><clipPath id="c"><rect x="0" y="0" width="10" height="10"/></clipPath></defs>'
    line = '<g id="axes"><path id="m" d="M 0 0 L 9 5" clip-path="url(#c)"/></g>'
    root = drawn(page_of(clip + line + '<use xlink:href="#m" style="fill: #abc"/>'))
    names = [each.get("id") for each in root.iter() if each.get("id")]
    assert names == ["here-c", "here-m"]
    assert root.find(".//path").get("clip-path") == "url(#here-c)"
    assert dict(root.find("use").items()) == {"href": "#here-m", "style": "fill: #abc"}


def test_the_same_drawing_gives_the_same_text(figure):
    texts = {str(inline(svg(build(ERRORS), figure()), "x", "y")) for _ in range(2)}
    assert len(texts) == 1
    empty = build({"OutP": {INF: np.nan}}, diverged={("OutP", INF): 10})
    assert "no results" in str(inline(svg(empty, figure()), "x", "y"))
