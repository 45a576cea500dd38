"""Figures and tables of the papers: which experiment draws each, and how much of it the reference results have."""

from __future__ import annotations

import re
from typing import NamedTuple

import xarray as xr

from admmbench.base.outcomes import Outcome
from admmbench.figures import Figure
from admmbench.files.installed import CONFIG, REFERENCE, find_all
from admmbench.study.config import load
from admmbench.study.experiment import Experiment

# A figure's source names one or two papers, and one or two of their figures: "hu2019 fig. 1 (b) and fig. 3 (a)".
_PAPER = re.compile(r"[a-z]+20\d\d")
_PLACE = re.compile(r"(?:fig\.|figure|table) (\w+)(?: \((\w+)\))?")


class PaperFigure(NamedTuple):
    """Figure or table of a paper, and the figure that corresponds to it here."""

    paper: str
    place: str
    """Its number in the paper, such as ``fig. 2 (a)``."""
    caption: str
    experiment: str
    figure: str
    """Name of the experiment, and of its figure."""
    kept: str
    """Part of the figure that the reference results have: ``all``, ``nothing``, or what is less than stated."""

    @property
    def command(self) -> str:
        """Return the arguments of ``admmbench figures``."""
        is_kept = (REFERENCE / f"{self.experiment}.nc").exists()
        return f"{self.experiment} --reference" if is_kept else self.experiment


def bibtex() -> dict[str, str]:
    """Return the BibTeX entry of each paper by its key."""
    entries = (CONFIG / "papers.bib").read_text("utf-8").strip().split("\n\n")
    return {entry.partition("{")[2].partition(",")[0]: entry for entry in entries}


def read_experiments() -> dict[str, Experiment]:
    """Read all experiments, the installed ones and the user's own, by name."""
    return {
        name: load({"experiments": [name]}).experiments[name] for name in find_all("experiments")
    }


def list_figures(paper: str = "") -> list[PaperFigure]:
    """Return the figures of all papers, or of one, by paper and number; tables come after figures."""
    rows = []
    for name, experiment in read_experiments().items():
        for figure in experiment.figures:
            for place in _PLACE.finditer(figure.source):
                order = place[0].startswith("table"), place[1].rjust(3), place[2] or ""
                for source in _PAPER.findall(figure.source) or [experiment.paper]:
                    if paper in ("", source):
                        kept = _kept(name, experiment, figure)
                        own = PaperFigure(source, place[0], figure.caption, name, figure.name, kept)
                        rows.append(((int(source[-4:]), source, order), own))
    return [own for _, own in sorted(rows, key=lambda row: row[0])]


def describe(paper: str) -> str:
    """Return the BibTeX entry of a paper, and the commands that draw its figures, with what is kept of them."""
    lines = [
        f"{figure.place}: {figure.caption}\n  admmbench figures {figure.command} (kept: {figure.kept})"
        for figure in list_figures(paper)
    ]
    return "\n".join(
        [bibtex()[paper], "", "Figures, and what the reference results have of them:", *lines]
    )


def _kept(name: str, experiment: Experiment, figure: Figure) -> str:
    """Return how much of what a figure shows is among the reference results."""
    path = REFERENCE / f"{name}.nc"
    if not path.exists():
        return "nothing"
    methods = [m for m in experiment.algorithms if m.label in (figure.algorithms or [m.label])]
    wanted = {(m.label, b) for m in methods for b in experiment.budgets(m)}
    if figure.epsilon:
        wanted = {(label, b) for label, b in wanted if b in figure.epsilon}
    with xr.open_dataset(path) as kept:
        if figure.metric not in kept:
            return "nothing"
        ended = (kept["status"] != Outcome.NOT_RUN).any("seed").stack(run=["algorithm", "epsilon"])
        there = wanted & set(ended["run"].values[ended])
        parts = {
            "methods and budgets": (len(there), len(wanted)),
            "rounds": (int(kept["rounds"].max()), experiment.rounds),
            "seeds": (kept.sizes["seed"], sum(map(len, experiment.blocks))),
        }
    short = [f"{n:,} of {of:,} {what}" for what, (n, of) in parts.items() if n < of]
    return ", ".join(short) or "all"
