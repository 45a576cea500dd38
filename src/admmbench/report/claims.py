"""Verdicts on claims in words: the papers' values, the values of the runs, and the reasons."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from admmbench.claims.judge import FEWEST, LOOSE, Finding, Verdict
from admmbench.inference.contrasts import TEST, Decision
from admmbench.inference.intervals import LEVEL
from admmbench.inference.power import MOST
from admmbench.report import environment
from admmbench.report.data import collected

_NUMBERS = {
    "fewest": FEWEST,
    "loose": LOOSE,
    "level": LEVEL,
    "equivalence_level": 1 - 2 * TEST,
    "most": MOST,
}


class Texts(NamedTuple):
    """Texts of the report on a verdict, perhaps with a line for each comparison."""

    published: str
    ours: str
    interval: str
    why: str


def texts(verdict: Verdict) -> Texts:
    """Return the texts on a verdict.

    Several pieces of evidence follow each other, each behind the name of its experiment, or of its metric if all are of
    one experiment. The reason for a contradiction
    is of the pieces that contradict the claim alone.
    """
    words = environment.texts("claims", **_NUMBERS)
    findings = verdict.findings
    reasons = findings
    if verdict.verdict == Decision.CONTRADICTED:
        reasons = tuple(finding for finding in findings if finding.outcome == verdict.verdict)
    published = (words.published(finding.evidence) for finding in findings)
    return Texts(
        "\n".join(dict.fromkeys(published)),
        _join_findings(words.ours, findings, "\n"),
        _join_findings(words.intervals, findings, "\n"),
        " ".join(filter(None, (words.tightest(verdict), _join_findings(words.why, reasons, " ")))),
    )


def _join_findings(write: Callable[[Finding], str], findings: Sequence[Finding], space: str) -> str:
    """Return the texts of findings, each behind the name of its piece; a text that all share, without names."""
    pieces = [finding.evidence for finding in findings]
    by_metric = len({piece.experiment for piece in pieces}) == 1 < len({p.metric for p in pieces})
    names_of_pieces = [piece.metric if by_metric else piece.experiment for piece in pieces]
    written = collected(zip(map(write, findings), names_of_pieces, strict=True))
    if 1 in (len(written), len({*names_of_pieces})):
        return space.join(filter(None, written))
    pairs = ((", ".join(names), text) for text, names in written.items())
    return space.join(f"{names}:{space}{text}" for names, text in pairs if text)
