"""Rendering of the report: one HTML page, from claims to provenance.

The page is complete: style, figures, data and scripts are inside, and nothing is loaded from elsewhere. Without scripts
the page lacks the view "Explore" alone. The same results give the same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from admmbench.claims.judge import FIRM, Verdict
from admmbench.figures import Figure, drawing, look
from admmbench.figures.wording import confidence, proper
from admmbench.inference.contrasts import Decision
from admmbench.inference.intervals import LEVEL
from admmbench.inference.levels import TOGETHER
from admmbench.report import answer, differences, explore, leaders, picture, tables
from admmbench.report.claims import texts
from admmbench.report.data import Missing, collected
from admmbench.report.environment import TEMPLATES
from admmbench.results import reference
from admmbench.results.who_wins import compare
from admmbench.study.outdated import outdated

if TYPE_CHECKING:
    import xarray as xr

    from admmbench.audit.findings import Audit
    from admmbench.figures.look import Look
    from admmbench.study.experiment import Experiment
    from admmbench.study.runs import Run


@dataclass(frozen=True)
class Section:
    """Section of the report on one experiment."""

    results: xr.Dataset
    """Results of the experiment."""
    experiment: Experiment
    """Definition of the experiment: title, description, artefacts, figures."""
    drawings: Mapping[str, str] = field(default_factory=dict)
    """Text of the SVG of each figure, by name; a figure without a text is drawn."""
    links: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Addresses of the files of each figure, as the page sees them, by the figure's name and the suffix."""
    looks: Mapping[str, Look] = field(default_factory=dict)
    """Looks of its methods, by label, as its study decided them; missing looks are decided for this page."""
    audits: Sequence[tuple[Run, Audit]] = ()
    """Runs that were attacked, with their audits."""
    partitions: Sequence[Sequence[xr.Dataset]] = ()
    """Existing files of each of its partitions."""
    reference: xr.Dataset | None = None
    """Reference results of the experiment; None if there are none."""
    address: str = ""
    """Address of the file of its results, as the page sees it; empty without such a file."""
    digest: str = ""
    """SHA-256 of its reference results, if the page shows these."""

    @property
    def name(self) -> str:
        """Return the name of the experiment."""
        return str(self.results.attrs["experiment"])


def render(
    sections: Sequence[Section],
    verdicts: Sequence[Verdict],
    configuration: str = "",
    references: Sequence[Verdict] = (),
    missing: Sequence[Missing] = (),
    folder: Path | None = None,
) -> str:
    """Return the page.

    Parameters
    ----------
    sections
        The experiments, in the order of the page. Where methods of whole runs have equal totals, the page begins with
        the best methods.
    verdicts
        Verdicts on the papers' claims. Of papers without an experiment among the sections, the page has the names
        alone.
    configuration
        Name of the configuration, such as "config.yaml + quick.yaml".
    references
        Verdicts on the claims by the reference results.
    missing
        Missing parts of the experiments, with which the page begins.
    folder
        Folder of the page, for the files of its pictures, see `admmbench.report.picture.save`; without it there are no
        files.

    Returns
    -------
    str
        An HTML document without external resources.
    """
    here = {section.name for section in sections}
    papers = {v.claim.paper for v in verdicts if here & {*v.claim.experiments}}
    judged = [verdict for verdict in verdicts if verdict.claim.paper in papers]
    elsewhere = dict.fromkeys(v.claim.paper for v in verdicts if v.claim.paper not in papers)
    experiments = [section.results for section in sections]
    comparison = compare(experiments)
    definitions = {section.name: section.experiment for section in sections}
    page_looks = look.of_results(experiments)
    sections = [replace(section, looks={**page_looks, **section.looks}) for section in sections]
    looks = {section.name: section.looks for section in sections}
    leading = leaders.compare(experiments)
    return TEMPLATES.get_template("report.html.jinja").render(
        title=_title(sections, configuration),
        configuration=configuration,
        version=version("admmbench"),
        missing=missing,
        answer={} if comparison is None else answer.content(comparison, definitions, looks),
        links={
            section.name: picture.save(
                section.name,
                comparison,
                section.audits,
                section.looks,
                section.experiment.pictures,
                folder,
            )
            if folder
            else {}
            for section in sections
        },
        leaders=list(leaders.content(leading, definitions)),
        boards=leaders.boards(leading, looks),
        protected=collected(
            (unit, results.attrs["title"])
            for results in experiments
            for unit in tables.protected(results)
        ),
        sections=[_section(section, number, comparison) for number, section in enumerate(sections)],
        verdicts=[verdict for verdict in judged if not verdict.claim.ours],
        ours=[verdict for verdict in judged if verdict.claim.ours],
        elsewhere=list(elsewhere),
        references={v.claim.id: v for v in references if v.verdict != Decision.NOT_RUN},
        texts=texts,
        firm=FIRM,
        here=here,
        level=confidence(LEVEL),
        together=confidence(TOGETHER),
        result_files={section.name: section.address for section in sections if section.address},
        digests={section.name: section.digest for section in sections if section.digest},
        explore=explore.content(experiments, looks),
    )


def _title(sections: Sequence[Section], configuration: str) -> str:
    """Return the title of the study: of its only experiment, or from the name of the configuration's last file."""
    if len(sections) == 1:
        return sections[0].experiment.title
    name = configuration.rpartition(" ")[2].removesuffix(".yaml")
    words = proper(name.replace("_", " "))
    return words[:1].upper() + words[1:] or "ADMM-based federated learning"


def _section(section: Section, number: int, comparison: xr.Dataset | None) -> dict[str, Any]:
    """Return the content of the section on one experiment, which has a number on the page.

    The comparison is of all experiments.
    """
    results, attrs = section.results, section.results.attrs
    compared = (
        None
        if section.reference is None
        else differences.compare_with_reference(results, section.reference)
    )
    return {
        "name": section.name,
        "attrs": attrs,
        "experiment": section.experiment,
        "conditions": tables.conditions(results),
        "agents": [
            (tables.agent_counts(files), tables.agent_classes(files))
            for files in section.partitions
        ],
        "methods": tables.methods(results),
        "tuned": tables.tuning(section.experiment) if section.experiment.chosen else None,
        "marks": reference.outdated(results),
        "outdated": outdated(section.name, section.experiment),
        "figures": [
            _figure(section, figure, f"f{number}-{place}")
            for place, figure in enumerate(_figures(section, comparison))
        ],
        "spread": tables.spread(results),
        "errors": {
            title: tables.errors(results, reduction, comparison)
            for title, reduction in tables.error_tables(results).items()
        },
        "solutions": tables.solutions(results),
        "times": tables.times(results),
        "privacy": tables.privacy(results),
        "curves": picture.draw_curves(results, f"t{number}"),
        "protected": tables.protected(results),
        "audits": tables.audits(section.audits, section.experiment),
        "attacks": picture.draw_audits(section.audits, f"a{number}"),
        "reference": compared,
        "budgets": tables.budgets(results),
        "caveats": tables.caveats(results),
        "versions": json.loads(attrs["versions"]),
        "code": dict(zip(results["algorithm"].values, results["fingerprint"].values, strict=True)),
        "checksums": json.loads(attrs["data_checksums"]),
    }


def _figures(section: Section, comparison: xr.Dataset | None) -> list[Figure]:
    """Return the figures of a section.

    Curves of the error against ε are added if methods are compared at several budgets and no figure has such curves.
    """
    figures = list(section.experiment.figures)
    settings = [] if comparison is None else comparison["experiment"].values.tolist()
    if settings.count(section.name) > 1 and answer.curves(figures) == answer.CURVES:
        settings_of_figure = {"kind": "tradeoff", "metric": section.results.attrs["metric"]}
        figures.append(Figure.model_validate({"name": answer.CURVES, **settings_of_figure}))
    return figures


def _figure(section: Section, figure: Figure, prefix: str) -> dict[str, Any]:
    text = section.drawings.get(figure.name) or drawing.svg(section.results, figure, section.looks)
    label = figure.caption or f"{figure.metric.replace('_', ' ')}, {figure.kind}"
    note = section.results.attrs.get("dataset_note")
    return {
        "id": f"{section.name}-figure-{figure.name}",
        "svg": picture.inline(text, prefix, label),
        "links": section.links.get(figure.name, {}),
        "caption": figure.caption,
        "source": figure.source,
        "note": f"Data: {note}." if note else "",
    }
