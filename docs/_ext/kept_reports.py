"""`kept-reports`: links to the reports in the folder `reports`, which the site takes along as they are."""

import re
import shutil
from pathlib import Path

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

FOLDER = "reports"
# What a page that newer ones replace begins with.
_OLDER = re.compile(r'<p class="note older"><strong>(.*?)</strong>')


def reports(source):
    """Pages `reports/<configuration>/index.html`; none where there is no such folder."""
    return sorted(Path(source, FOLDER).glob("*/index.html"))


class KeptReports(SphinxDirective):
    """A list of links, each with the name of its configuration; older pages come last, and say so."""

    def run(self):
        """List the pages that are there."""
        pages = reports(self.env.srcdir)
        if not pages:
            return [nodes.paragraph(text="This copy of the site has no reports.")]
        items = nodes.bullet_list()
        older = {page: _OLDER.search(page.read_text(encoding="utf-8")) for page in pages}
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


def outdated(app, env, added, changed, removed):
    """The list follows the folder."""
    return ["reports"]


def setup(app):
    """Extend Sphinx."""
    app.add_directive("kept-reports", KeptReports)
    app.connect("build-finished", copy)
    app.connect("env-get-outdated", outdated)
    return {"parallel_read_safe": True}
