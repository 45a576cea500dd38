"""The page that leads to the reports of all configurations that were run."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import quote

from admmbench import files
from admmbench.report.environment import TEMPLATES

PAGE = "index.html"


class _Head(HTMLParser):
    """What a page says of itself."""

    description = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "meta" and given.get("name") == "description":
            self.description = given.get("content") or ""


def write(folder: Path, path: Path) -> None:
    """Write the page, with a link to each report there is.

    Parameters
    ----------
    folder
        Has the report of a configuration as ``<configuration>/index.html``.
    path
        File to write, which is replaced as a whole or not at all.
    """
    reports = [
        {
            "name": report.parent.name,
            "link": f"{quote(report.parent.name)}/{PAGE}",
            "description": _description(report),
        }
        for report in sorted(folder.glob(f"*/{PAGE}"))
    ]
    page = TEMPLATES.get_template("overview.html.jinja").render(reports=reports)
    files.write(path, page)


def _description(report: Path) -> str:
    head = _Head()
    text = report.read_text("utf-8")
    head.feed(text[: text.index("</head>")])
    return head.description
