"""Drawings of the figure system as parts of the page."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import pandas as pd
import xarray as xr
from markupsafe import Markup, escape
from matplotlib.figure import Figure as Drawing

from admmbench.figures import attacks, differences, drawing
from admmbench.figures.attacks import Attack, Attacks
from admmbench.figures.differences import Differences
from admmbench.figures.wording import stated
from admmbench.privacy.curves import POOR_FIT
from admmbench.report.environment import words

if TYPE_CHECKING:
    from admmbench.audit.findings import Audit
    from admmbench.figures.look import Look
    from admmbench.study.runs import Run

Links = dict[str, str]
"""Addresses of a picture's files, by suffix."""

_PIXELS_PER_POINT = 1.6
"""Pixels of the page for each point of a figure: its smallest text is as large as small print of the page."""


def inline(text: str, prefix: str, label: str) -> Markup:
    """Return an SVG file of matplotlib as a part of the page, as wide as its place allows.

    Identifiers are unique in the page, and places have one decimal, as the page contains all figures.
    """
    head, _, body = text.partition("<svg")[2].partition(">")
    width, height = (float(size) for size in re.findall(r'(?:width|height)="([\d.]+)pt"', head))
    # What a drawing shows of a method has its labels, so that the page can hide it.
    body = re.sub(rf' id="{differences.METHOD}\w+:([^"]*)"', r' data-method="\1"', body)
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


def _settings(comparison: xr.Dataset | None, experiment: str) -> dict[int, Differences]:
    """Return the settings of an experiment in which two methods have a mean, by their number in a comparison."""
    if comparison is None:
        return {}
    numbers = (comparison["experiment"] == experiment).values.nonzero()[0].tolist()
    shown = {number: differences.differences(comparison.isel(setting=number)) for number in numbers}
    return {number: setting for number, setting in shown.items() if setting}


def draw_settings(
    comparison: xr.Dataset, looks: Mapping[str, Mapping[str, Look]], prefix: str
) -> dict[int, Markup]:
    """Draw the differences in each setting in which two methods have a mean, by its number in the comparison.

    Looks are by experiment and label; an experiment without looks has no pictures.
    """
    return {
        number: _part(
            differences.draw([shown], looks[name]), shown.title, f"{prefix}{number}", shown.title
        )
        for name in dict.fromkeys(map(str, comparison["experiment"].values))
        if name in looks
        for number, shown in _settings(comparison, name).items()
    }


def _attacks(audits: Sequence[tuple[Run, Audit]]) -> list[Attacks]:
    """Return the attacks of the audits that have rates and a curve."""
    shown = []
    for run, audit in audits:
        rates = [
            Attack(f"{each.level}, {each.canary}", *each.rates, each.passed is not False)
            for each in audit.findings
            if each.rates
        ]
        if audit.curve and rates:
            title = f"{run.label}, ε = {stated(run.spec.stated_budget)}"
            shown.append(Attacks(title, audit.curve, rates))
    return shown


def draw_audits(audits: Sequence[tuple[Run, Audit]], prefix: str) -> list[Markup]:
    """Draw the audits that have rates and a curve."""
    return [
        _part(
            attacks.draw([shown]), shown.title, f"{prefix}-{number}", words().attacks(shown.title)
        )
        for number, shown in enumerate(_attacks(audits))
    ]


def draw_curves(results: xr.Dataset, prefix: str) -> list[Markup]:
    """Draw the trade-off curves that mu does not describe, each over that of its mu."""
    if "mu" not in results:
        return []
    poor = results[["mu", "regret", "hits"]].stack(run=("algorithm", "epsilon"))
    poor = poor.isel(run=(poor["regret"] > POOR_FIT).values)
    drawn = []
    for place, (label, epsilon) in enumerate(poor["run"].values):
        run, title = poor.isel(run=place), f"{label}, ε = {stated(epsilon)}"
        points = list(zip(run["false_alarms"].values, run["hits"].values, strict=True))
        shown = Attacks(title, points, mu=float(run["mu"]))
        drawn.append(_part(attacks.draw([shown]), title, f"{prefix}-{place}", words().curve(title)))
    return drawn


def _part(drawn: Drawing, name: str, prefix: str, label: str) -> Markup:
    return inline(drawing.content(drawn, "svg", name).decode(), prefix, label)


def save(
    section: str,
    comparison: xr.Dataset | None,
    audits: Sequence[tuple[Run, Audit]],
    looks: Mapping[str, Look],
    pictures: Iterable[str],
    folder: Path,
) -> dict[str, Links]:
    """Write the files of an experiment's pictures, and return their addresses as the page sees them.

    One file has all of its settings and one all of its audits. If the results have nothing to draw for one of the
    names `admmbench.study.experiment.Experiment.pictures`, its files say so, as the workflow waits for them, and it
    has no address.
    """
    settings, attacked = [*_settings(comparison, section).values()], _attacks(audits)
    drawn = {}
    if settings:
        drawn["differences"] = differences.draw(settings, looks), differences.table(settings)
    if attacked:
        drawn["attacks"] = attacks.draw(attacked), attacks.table(attacked)
    empty = Drawing(figsize=(2, 0.5))
    empty.text(0.5, 0.5, "Nothing to draw", ha="center", va="center")
    links = {}
    for name in pictures:
        content = drawn.get(name, (empty, pd.DataFrame(columns=["panel"])))
        files = drawing.write_files(*content, folder / name, section)
        if name in drawn:
            links[name] = {suffix: quote(f"{name}/{path.name}") for suffix, path in files.items()}
    return links
