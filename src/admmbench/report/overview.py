"""Overview: the page with links to the reports of all configurations that were run."""

from __future__ import annotations

import re
from pathlib import Path

from markupsafe import Markup

from admmbench import files
from admmbench.report.environment import TEMPLATES

PAGE = "index.html"
# Description in the head of a report, see its template.
_DESCRIPTION = re.compile(r'<meta name="description" content="([^"]*)">')


def write(folder: Path, path: Path) -> None:
    """Write the page to a path, with a link to each report ``<configuration>/index.html`` in a folder."""
    pages = {report.parent.name: report for report in sorted(folder.glob(f"*/{PAGE}"))}
    texts = {name: page.read_text("utf-8", "replace") for name, page in pages.items()}
    matches = {name: _DESCRIPTION.search(text) for name, text in texts.items()}
    reports = {name: Markup(match[1] if match else "") for name, match in matches.items()}
    template = TEMPLATES.get_template("overview.html.jinja")
    page = template.render(reports=reports, page=PAGE)
    files.write(path, files.with_checksum(page.encode(), files.MARKUP))
