"""Templates of the report's pages."""

import math
from collections.abc import Iterable
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from admmbench.figures import wording
from admmbench.inference.power import POWER
from admmbench.privacy import delta_warning


def grouped(selections: Iterable[tuple[str, float]]) -> list[tuple[list[str], list[float]]]:
    """Group methods that are named at the same budgets."""
    budgets: dict[str, list[float]] = {}
    for label, epsilon in selections:
        budgets.setdefault(label, []).append(epsilon)
    labels: dict[tuple[float, ...], list[str]] = {}
    for label, epsilons in budgets.items():
        labels.setdefault(tuple(epsilons), []).append(label)
    return [(group, list(epsilons)) for epsilons, group in labels.items()]


#: Compiles each template once.
TEMPLATES = Environment(
    loader=PackageLoader("admmbench.report"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
TEMPLATES.filters |= {
    each.__name__: each
    for each in (
        grouped,
        wording.about,
        wording.at,
        wording.best_constant,
        wording.budget,
        wording.confidence,
        wording.counted,
        wording.given,
        wording.in_unit,
        wording.listed,
        wording.mapping,
        wording.measured,
        wording.number,
        wording.one_line,
        wording.percent,
        wording.proper,
        wording.quantity,
        wording.short,
        wording.stated,
        wording.some,
        wording.together,
    )
}
TEMPLATES.globals |= {"delta_warning": delta_warning, "infinity": math.inf, "power": POWER}
#: The same for a terminal.
TEXT = TEMPLATES.overlay(autoescape=False)


def texts(name: str, **given: Any) -> Any:
    """Return the macros of a template that write sentences, without markup, with what they are given besides."""
    return TEXT.get_template(f"{name}.jinja", globals=given).module


def words() -> Any:
    """Return the macros that page and terminal share."""
    return texts("words")
