"""Templates of the report's pages."""

from jinja2 import Environment, PackageLoader, StrictUndefined

from admmbench.privacy import delta_warning
from admmbench.results.wording import proper

#: Compiles each template once.
TEMPLATES = Environment(
    loader=PackageLoader("admmbench.report"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
TEMPLATES.filters["proper"] = proper
TEMPLATES.globals["delta_warning"] = delta_warning
#: The same for a terminal.
TEXT = TEMPLATES.overlay(autoescape=False)
