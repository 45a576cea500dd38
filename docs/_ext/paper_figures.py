"""`paper-figures`: figures and tables of the papers, with what draws them here, and how much of each is kept."""

import re

import xarray as xr
from kept_reports import reports
from sphinx.util.docutils import SphinxDirective

from admmbench.base.outcomes import Outcome
from admmbench.files.installed import REFERENCE, find_all
from admmbench.study import config

# A figure's source names one or two papers, and one or two of their figures: "hu2019 fig. 1 (b) and fig. 3 (a)".
_PAPER = re.compile(r"[a-z]+20\d\d")
_PLACE = re.compile(r"(?:fig\.|figure|table) (\w+)(?: \((\w+)\))?")
_HEADS = ("of the paper", "what is drawn", "drawn by `admmbench figures`", "picture", "kept")


class PaperFigures(SphinxDirective):
    """A table for each paper, in the order of its figures."""

    def run(self):
        """List what the experiments' figures say of their sources."""
        pages = {page.parent.name: page.read_text("utf-8") for page in reports(self.env.srcdir)}
        rows = {}
        for name in sorted(find_all("experiments")):
            experiment = config.load({"experiments": [name]}).experiments[name]
            for figure in experiment.figures:
                for place in _PLACE.finditer(figure.source):
                    picture = _picture(f"{name}-figure-{figure.name}", pages)
                    kept = _kept(name, experiment, figure)
                    cells = (place[0], figure.caption, _command(name), picture, kept)
                    for paper in _PAPER.findall(figure.source) or [experiment.paper]:
                        rows.setdefault(paper, []).append((_order(place), cells))
        lines = []
        for paper in sorted(rows, key=lambda paper: (int(paper[-4:]), paper)):
            lines += [f"## {paper}", "", *_table(sorted(rows[paper], key=lambda row: row[0])), ""]
        return self.parse_text_to_nodes("\n".join(lines), allow_section_headings=True)


def _order(place):
    """Figures come by number and part, tables after them."""
    return (place[0].startswith("table"), place[1].rjust(3), place[2] or "")


def _command(name):
    """The command that draws an experiment's figures, and writes their tables."""
    if (REFERENCE / f"{name}.nc").exists():
        return f"`{name} --reference`"
    return f"`{name}`, after `admmbench study`"


def _picture(anchor, pages):
    """Links to the kept reports that have a figure."""
    found = [name for name, page in pages.items() if f'id="{anchor}"' in page]
    return ", ".join(f"[{name}](reports/{name}/index.html#{anchor})" for name in found) or "-"


def _kept(name, experiment, figure):
    """How much of what a figure shows is among the reference results."""
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


def _table(rows):
    cells = [_HEADS, ["---"] * len(_HEADS), *(cells for _, cells in rows)]
    return ["| " + " | ".join(each.replace("|", "\\|") for each in row) + " |" for row in cells]


def setup(app):
    """Extend Sphinx."""
    app.add_directive("paper-figures", PaperFigures)
    return {"parallel_read_safe": True}
