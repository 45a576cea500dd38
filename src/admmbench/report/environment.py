"""Templates of the report's pages."""

import math
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from admmbench.privacy import delta_warning
from admmbench.results import wording

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
        wording.about,
        wording.best_constant,
        wording.counted,
        wording.given,
        wording.in_unit,
        wording.listed,
        wording.measured,
        wording.number,
        wording.one_line,
        wording.proper,
        wording.some,
        wording.together,
    )
}
TEMPLATES.globals |= {"delta_warning": delta_warning, "infinity": math.inf}
#: The same for a terminal.
TEXT = TEMPLATES.overlay(autoescape=False)


def words() -> Any:
    """Return the macros that write sentences, without markup."""
    return TEXT.get_template("words.jinja").module
