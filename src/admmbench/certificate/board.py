"""Leaderboard: submissions, which are folders with a method, its certificate and its authors, and kept methods."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated

import xarray as xr
from pydantic import Field

from admmbench.certificate.content import Certificate, read
from admmbench.files.core_yaml import read_yaml
from admmbench.results import statistics
from admmbench.results.who_wins import compare, compared_settings, marks
from admmbench.validation import Strict, Text, checked

HEADS = (
    "Method",
    "Data",
    "Total ε",
    "Unit",
    "Seen by",
    "Guarantee",
    "Metric",
    "Verdict",
    "Floats sent",
    "By",
    "Date",
    "Certificate",
)
ABOUT, CERTIFICATE = "submission.yaml", "certificate.json"


class Submission(Strict):
    """What ``submission.yaml`` states."""

    authors: Annotated[list[Text], Field(min_length=1)]
    licence: Text
    """Of the method's file, as an SPDX identifier."""
    citation: Text = ""
    refused: Text = ""
    """Why it was refused; then it needs no certificate."""


def submissions(folder: Path) -> dict[str, tuple[Submission, Certificate | None]]:
    """Return the submissions in a folder by the name of theirs: JSON and YAML are read, and nothing is executed.

    Raises
    ------
    ValueError
        If a file is missing or wrong; the message names it.
    """
    found = {}
    for path in sorted(folder.glob(f"*/{ABOUT}")):
        about = checked(Submission, read_yaml(path), str(path))
        certificate = path.with_name(CERTIFICATE)
        has_one = certificate.exists() or not about.refused
        found[path.parent.name] = about, read(certificate) if has_one else None
    return found


def rows(folder: Path, rivals: Mapping[str, xr.Dataset]) -> Iterator[list[str]]:
    """Yield a row, of the columns `HEADS`, for each setting of submissions and of kept methods."""
    for name, (about, certificate) in submissions(folder).items():
        for setting in certificate.settings if certificate and not about.refused else ():
            yield [
                certificate.method.label if certificate else "",
                setting.dataset,
                f"{setting.epsilon:g}",
                setting.unit,
                setting.trust.replace("_", " "),
                setting.guarantee,
                "failed" if setting.mean is None else f"{setting.mean.value:.4f}",
                setting.versus.verdict,
                f"{setting.floats_sent:.3g}",
                ", ".join(about.authors),
                certificate.made if certificate else "",
                f"leaderboard/{name}/{CERTIFICATE}",
            ]
    comparison = compare(rivals.values())
    for rivals_here in compared_settings(comparison) if comparison is not None else ():
        sent = statistics.final(
            rivals[str(rivals_here["experiment"].item())].sel(epsilon=rivals_here["epsilon"]),
            "floats_sent",
        )
        for method in rivals_here["algorithm"].values[rivals_here["compared"].values]:
            facts = rivals_here.sel(algorithm=method)
            yield [
                str(method),
                str(rivals_here["dataset"].item()),
                f"{float(rivals_here['epsilon']):g}",
                str(rivals_here["unit"].item()),
                "agents",
                str(facts["guarantee"].item()),
                f"{float(facts['mean']):.4f}",
                str(marks(rivals_here).sel(algorithm=method).item()),
                f"{float(sent.sel(algorithm=method)):.3g}",
                "kept",
                "",
                "",
            ]
