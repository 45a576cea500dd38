"""`kept-reports`: links to the reports in the folder `reports`, which the site takes along as they are."""

import re
import shutil
from pathlib import Path

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from admmbench.results.reference import digests

FOLDER = "reports"
# Reference results that a page shows, with their SHA-256.
_RESULTS = re.compile(r'<meta name="reference-results" content="(.*?)">')
_NOTE = (
    '<p class="note older"><strong>An older report</strong>: its results were computed again since. '
    '<a href="../../findings.html">Findings</a> has the present ones.</p>'
)
# What a page that newer ones replace begins with.
_OLDER = re.compile(r'<p class="note older"><strong>(.*?)</strong>')


def reports(source):
    """Pages `reports/<configuration>/index.html`; none where there is no such folder."""
    return sorted(Path(source, FOLDER).glob("*/index.html"))


def text(page):
    """Text of a page; one that is older than its results gets a note at its head."""
    content = page.read_text(encoding="utf-8")
    shown = _RESULTS.search(content)
    shown = dict(pair.split("=") for pair in shown[1].split()) if shown else {}
    if shown != digests(shown):
        content = content.replace("<main>\n", f"<main>\n{_NOTE}\n", 1)
    return content


class KeptReports(SphinxDirective):
    """A list of links, each with the name of its configuration; older pages come last, and say so."""

    def run(self):
        """List the pages that are there."""
        pages = reports(self.env.srcdir)
        if not pages:
            return [nodes.paragraph(text="This copy of the site has no reports.")]
        items = nodes.bullet_list()
        older = {page: _OLDER.search(text(page)) for page in pages}
        for page in sorted(pages, key=lambda page: bool(older[page])):
            name, said = page.parent.name, older[page]
            # Paths are relative to the page, which lies beside the folder.
            link = nodes.reference("", name, refuri=f"{FOLDER}/{name}/index.html")
            note = [nodes.Text(f": {said[1][0].lower()}{said[1][1:]}")] if said else []
            items += nodes.list_item("", nodes.paragraph("", "", link, *note))
        return [items]


def copy(app, error):
    """Take the reports along, with what lies beside them."""
    if error is None:
        for page in reports(app.srcdir):
            folder = Path(app.outdir, FOLDER, page.parent.name)
            shutil.copytree(page.parent, folder, dirs_exist_ok=True)
            (folder / page.name).write_text(text(page), encoding="utf-8")


def outdated(app, env, added, changed, removed):
    """The list follows the folder."""
    return ["reports"]


def setup(app):
    """Extend Sphinx."""
    app.add_directive("kept-reports", KeptReports)
    app.connect("build-finished", copy)
    app.connect("env-get-outdated", outdated)
    return {"parallel_read_safe": True}
