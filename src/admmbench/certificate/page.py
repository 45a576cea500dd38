"""Page of a competition: where a method stands, and what is known of its privacy."""

from __future__ import annotations

from admmbench.certificate.content import Certificate
from admmbench.certificate.issue import Competed
from admmbench.figures import look
from admmbench.report import picture
from admmbench.report.environment import TEMPLATES, texts


def sentence(certificate: Certificate) -> str:
    """Return what a method reached in one sentence for each setting, fit for an abstract."""
    return str(texts("competition").summary(certificate))


def page(competed: Competed) -> str:
    """Return the page of a competition, an HTML document without external resources."""
    looks = {name: look.of_results([results]) for name, results in competed.results.items()}
    pictures = picture.draw_settings(competed.comparison, looks, "s")
    places = list(
        zip(
            competed.comparison["experiment"].values.tolist(),
            competed.comparison["epsilon"].values.tolist(),
            strict=True,
        )
    )
    here = {(setting.experiment, setting.epsilon) for setting in competed.certificate.settings}
    return TEMPLATES.get_template("competition.html.jinja").render(
        certificate=competed.certificate,
        summary=sentence(competed.certificate),
        pictures=[picture for number, picture in pictures.items() if places[number] in here],
    )
