"""Sentences of audits, which templates write where they are shown, and the table for a terminal."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.table import Table

    from admmbench.audit.findings import Audit


@cache
def words() -> Any:
    """Return the macros that write sentences about findings and audits."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("admmbench.audit"),
        undefined=StrictUndefined,
        autoescape=False,  # a page escapes what it shows
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("audits.jinja").module


def table(audit: Audit) -> Table:
    """Lay out all findings for a terminal."""
    from rich.table import Table

    marks = {True: "[green]✓[/]", False: "[red]✗[/]", None: "–"}
    rows = Table("level", "canary", "", "value", "bound")
    for finding in audit.findings:
        numbers = finding.value, finding.bound
        shown = [f"{number:.3g}" if finding.passed is not None else "" for number in numbers]
        rows.add_row(finding.level, finding.canary, marks[finding.passed], *shown)
    rows.caption = words().epsilons(audit).strip()
    return rows
