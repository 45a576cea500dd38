"""`paper-figures`: figures and tables of the papers, with what draws them here, and how much of each is kept."""

import itertools

from kept_reports import reports
from sphinx.util.docutils import SphinxDirective

from admmbench.study.papers import bibtex, list_figures

_HEADS = ("of the paper", "what is drawn", "drawn by `admmbench figures`", "picture", "kept")


class PaperFigures(SphinxDirective):
    """A table for each paper, in the order of its figures, and its BibTeX entry."""

    def run(self):
        """List what the experiments' figures say of their sources."""
        pages = {page.parent.name: page.read_text("utf-8") for page in reports(self.env.srcdir)}
        entries, lines = bibtex(), []
        for paper, figures in itertools.groupby(list_figures(), lambda figure: figure.paper):
            rows = [_cells(figure, pages) for figure in figures]
            lines += [f"## {paper}", "", *_table(rows), "", "```bibtex", entries[paper], "```", ""]
        return self.parse_text_to_nodes("\n".join(lines), allow_section_headings=True)


def _cells(figure, pages):
    command = f"`{figure.command}`"
    if not command.endswith("--reference`"):
        command += ", after `admmbench study`"
    picture = _picture(f"{figure.experiment}-figure-{figure.figure}", pages)
    return (figure.place, figure.caption, command, picture, figure.kept)


def _picture(anchor, pages):
    """Links to the kept reports that have a figure."""
    found = [name for name, page in pages.items() if f'id="{anchor}"' in page]
    return ", ".join(f"[{name}](reports/{name}/index.html#{anchor})" for name in found) or "-"


def _table(rows):
    cells = [_HEADS, ["---"] * len(_HEADS), *rows]
    return ["| " + " | ".join(each.replace("|", "\\|") for each in row) + " |" for row in cells]


def setup(app):
    """Extend Sphinx."""
    app.add_directive("paper-figures", PaperFigures)
    return {"parallel_read_safe": True}
