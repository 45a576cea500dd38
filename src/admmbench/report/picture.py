"""Drawings of the figure system as parts of the page."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import xarray as xr
from markupsafe import Markup, escape

from admmbench.figures import attacks, differences, drawing
from admmbench.figures.wording import stated
from admmbench.report.environment import words
from admmbench.results.who_wins import marks

if TYPE_CHECKING:
    from admmbench.audit.findings import Audit
    from admmbench.figures.look import Look
    from admmbench.study.runs import Run

_ZOOM = 1.6
"""Pixels of the page for each point of a figure: its smallest text is as large as small print of the page."""
_MEANING = {
    "winner": "winner",
    "equivalent": "equivalent to the lowest",
    "undecided": "undecided",
}


def inline(text: str, prefix: str, label: str) -> Markup:
    """Make an SVG file of matplotlib part of the page, where it is as wide as its place allows.

    Identifiers are unique in the page, and places have one decimal, as the page contains all figures.
    """
    head, _, body = text.partition("<svg")[2].partition(">")
    width, height = (float(size) for size in re.findall(r'(?:width|height)="([\d.]+)pt"', head))
    # What nothing asks for: names of groups, rotations by nothing, indentation, the file's checksum.
    useless = r'(?<=<g) id="[^"]*"| transform="rotate\(-0 [^)]*\)"|(?<=\n) +|<!-- sha256 .*\n'
    body = re.sub(useless, "", body)
    # The page's style says the font.
    body = re.sub(r" font-family: 'DejaVu Sans'(, 'Verdana', sans-serif)?;", "", body)
    body = re.sub(r'( id="|url\(#|href="#)', rf"\g<1>{prefix}-", body)
    body = re.sub(r"\d+\.\d{4,}", lambda found: f"{float(found[0]):.1f}", body)
    place = f"--w:{width * _ZOOM:.0f}px;aspect-ratio:{width:.3f}/{height:.3f}"
    return Markup(
        f'<svg viewBox="0 0 {width:g} {height:g}" role="img" aria-label="{escape(label)}" style="{place}">{body}'
    )


def of_settings(comparison: xr.Dataset, experiment: str, looks: Mapping[str, Look]) -> list[Markup]:
    """Draw the differences of the methods in each setting of an experiment in which two of them have a mean.

    Parameters
    ----------
    comparison
        What `admmbench.results.who_wins.compare` found.
    experiment
        Its name.
    looks
        Of its methods, by label.
    """
    drawn = []
    for number in (comparison["experiment"] == experiment).values.nonzero()[0]:
        setting = comparison.isel(setting=number)
        if found := differences.differences(setting):
            title = differences.title(setting, found)
            figure = differences.draw(setting, found, looks)
            text = drawing.content(figure, "svg", title).decode()
            drawn.append(inline(text, f"s{number}", title))
    return drawn


def key(comparison: xr.Dataset) -> dict[str, str]:
    """Return what the marks in the pictures of a comparison mean; those that are in none are left out."""
    found = marks(comparison)
    found = found.where(found != "better", "winner")
    return {mark: text for mark, text in _MEANING.items() if (found == mark).any()}


def of_audits(audits: Sequence[tuple[Run, Audit]], prefix: str) -> list[tuple[str, Markup]]:
    """Draw the audits that have rates and a curve, each with what it is of."""
    drawn = []
    for number, (run, found) in enumerate(audits):
        if found.curve and any(each.rates for each in found.findings):
            title = f"{run.label}, ε = {stated(run.spec.stated_budget)}"
            text = drawing.content(attacks.draw(found), "svg", title).decode()
            drawn.append((title, inline(text, f"{prefix}-{number}", words().attacks(title))))
    return drawn
