"""Links of a page to its own parts: every heading, table, figure and claim has one beside its words."""

from __future__ import annotations

import re

# Headings, captions of tables and captions of figures, as the templates write them. The figure has the name, and its
# caption the link.
_NAMED = re.compile(
    r'(<(?P<tag>h[1-6]|p|summary)(?: class="caption")? id="(?P<id>[^"]+)">.*?)(?=</(?P=tag)>)',
    re.DOTALL,
)
_FIGURES = re.compile(
    r'(<figure id="(?P<id>[^"]+)">.*?<figcaption>.*?)(?=</figcaption>)', re.DOTALL
)
# Rows of tables, whose heads have the link: behind the statement, and before the small print below it.
_ROWS = re.compile(
    r'(<tr id="(?P<id>[^"]+)"[^>]*>\s*<th scope="row">.*?)(?=\s*(?:<small>|</th>))', re.DOTALL
)


def add(page: str) -> str:
    """Put a link to itself behind the words of every part that has a name.

    Parameters
    ----------
    page
        HTML of the templates, without scripts.
    """
    for part in (_NAMED, _FIGURES, _ROWS):
        page = part.sub(_with_link, page)
    return page


def _with_link(found: re.Match[str]) -> str:
    name = found["id"]
    return f'{found[1]}<a class="permalink" href="#{name}" aria-label="Link to this part">#</a>'
