"""Templates of the report's pages."""

import math
from collections.abc import Iterable
from inspect import getmembers, isfunction
from operator import attrgetter
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from admmbench.figures import wording
from admmbench.inference.power import POWER
from admmbench.privacy import delta_warning
from admmbench.privacy.curves import POOR_FIT
from admmbench.report.data import collected, grouped


def by(rows: Iterable[Any], *attributes: str) -> dict[Any, list[Any]]:
    """Return rows by their values of an attribute, or of several, in their order."""
    return grouped(rows, attrgetter(*attributes))


def at_same_budgets(selections: Iterable[tuple[str, float]]) -> list[tuple[list[str], list[float]]]:
    """Return groups of methods that are named at the same budgets, with the budgets."""
    budgets = collected(selections).items()
    labels = collected((tuple(epsilons), label) for label, epsilons in budgets)
    return [(group, list(epsilons)) for epsilons, group in labels.items()]


#: Compiles each template once.
TEMPLATES = Environment(
    loader=PackageLoader("admmbench.report"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
#: All functions of `admmbench.figures.wording` are filters.
TEMPLATES.filters |= {
    "by": by,
    "at_same_budgets": at_same_budgets,
    **dict(getmembers(wording, isfunction)),
}
TEMPLATES.globals |= {
    "delta_warning": delta_warning,
    "infinity": math.inf,
    "power": POWER,
    "poor_fit": POOR_FIT,
}
#: The same for a terminal.
TEXT = TEMPLATES.overlay(autoescape=False)


def texts(name: str, **variables: Any) -> Any:
    """Return the macros of a template that write sentences, without markup; the macros can use the variables."""
    return TEXT.get_template(f"{name}.jinja", globals=variables).module


def words() -> Any:
    """Return the macros that page and terminal share."""
    return texts("words")
