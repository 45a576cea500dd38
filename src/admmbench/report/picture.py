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

if TYPE_CHECKING:
    from admmbench.audit.findings import Audit
    from admmbench.figures.look import Look
    from admmbench.study.runs import Run

_PIXELS_PER_POINT = 1.6
"""Pixels of the page for each point of a figure: its smallest text is as large as small print of the page."""


def inline(text: str, prefix: str, label: str) -> Markup:
    """Return an SVG file of matplotlib as a part of the page, as wide as its place allows.

    Identifiers are unique in the page, and places have one decimal, as the page contains all figures.
    """
    head, _, body = text.partition("<svg")[2].partition(">")
    width, height = (float(size) for size in re.findall(r'(?:width|height)="([\d.]+)pt"', head))
    # The page needs no names of groups, no rotations by nothing, no indentation and no checksum of the file.
    useless = r'(?<=<g) id="[^"]*"| transform="rotate\(-0 [^)]*\)"|(?<=\n) +|<!-- sha256 .*\n'
    body = re.sub(useless, "", body)
    # The page's style sets the font.
    body = re.sub(r" font-family: 'DejaVu Sans'(, 'Verdana', sans-serif)?;", "", body)
    body = re.sub(r'( id="|url\(#|href="#)', rf"\g<1>{prefix}-", body)
    body = re.sub(r"\d+\.\d{4,}", lambda match: f"{float(match[0]):.1f}", body)
    place = f"--w:{width * _PIXELS_PER_POINT:.0f}px;aspect-ratio:{width:.3f}/{height:.3f}"
    return Markup(
        f'<svg viewBox="0 0 {width:g} {height:g}" role="img" aria-label="{escape(label)}" style="{place}">{body}'
    )


def draw_settings(
    comparison: xr.Dataset, experiment: str, looks: Mapping[str, Look]
) -> list[Markup]:
    """Draw the differences of the methods in each setting of an experiment in which two of them have a mean.

    Parameters
    ----------
    comparison
        Comparison by `admmbench.results.who_wins.compare`.
    experiment
        Name of the experiment.
    looks
        Looks of its methods, by label.
    """
    drawn = []
    for number in (comparison["experiment"] == experiment).values.nonzero()[0]:
        if shown := differences.differences(comparison.isel(setting=number)):
            text = drawing.content(differences.draw(shown, looks), "svg", shown.title).decode()
            drawn.append(inline(text, f"s{number}", shown.title))
    return drawn


def draw_audits(audits: Sequence[tuple[Run, Audit]], prefix: str) -> list[tuple[str, Markup]]:
    """Draw the audits that have rates and a curve, each with its title."""
    drawn = []
    for number, (run, audit) in enumerate(audits):
        rates = [(*each.rates, each.passed is not False) for each in audit.findings if each.rates]
        if audit.curve and rates:
            title = f"{run.label}, ε = {stated(run.spec.stated_budget)}"
            text = drawing.content(attacks.draw(audit.curve, rates), "svg", title).decode()
            drawn.append((title, inline(text, f"{prefix}-{number}", words().attacks(title))))
    return drawn
