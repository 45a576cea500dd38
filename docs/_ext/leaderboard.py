"""`leaderboard`: submissions and kept methods as a table whose text is escaped, and reasons of refusals."""

from pathlib import Path

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from admmbench.certificate.board import HEADS, rows, submissions
from admmbench.results import reference
from admmbench.study.competition import TRACKS

FOLDER = Path(__file__).parents[2] / "leaderboard"


def table(heads, body):
    """A table of text alone."""
    group = nodes.tgroup("", *(nodes.colspec() for _ in heads), cols=len(heads))

    def row(cells):
        entries = (nodes.entry("", nodes.paragraph(text=text)) for text in cells)
        return nodes.row("", *entries)

    group += nodes.thead("", row(heads))
    group += nodes.tbody("", *map(row, body))
    return nodes.table("", group)


class Leaderboard(SphinxDirective):
    """A table, and the refused submissions."""

    def run(self):
        """Read the folders of submissions, and kept results."""
        refused = [
            nodes.list_item("", nodes.paragraph(text=f"{name}: {about.refused}"))
            for name, (about, _) in submissions(FOLDER).items()
            if about.refused
        ]
        heading = nodes.paragraph(text="Refused submissions:")
        body = rows(FOLDER, reference.load(TRACKS["full"], [reference.REFERENCE]))
        return [table(HEADS, body), heading, nodes.bullet_list("", *refused)]


def setup(app):
    """Extend Sphinx."""
    app.add_directive("leaderboard", Leaderboard)
    return {"parallel_read_safe": True}
