"""Verdicts on claims in words: what papers state, what the runs give, and why."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from admmbench.claims.judge import FEWEST, Finding, Verdict
from admmbench.inference.contrasts import TEST, Decision
from admmbench.inference.intervals import LEVEL
from admmbench.inference.power import MOST
from admmbench.report import environment
from admmbench.report.data import collected

_NUMBERS = {
    "fewest": FEWEST,
    "level": LEVEL,
    "equivalence_level": 1 - 2 * TEST,
    "most": MOST,
}


class Texts(NamedTuple):
    """What the report says of a verdict; there may be a line for each comparison."""

    published: str
    ours: str
    interval: str
    why: str


def texts(verdict: Verdict) -> Texts:
    """Return what is said of a verdict.

    Several pieces of evidence follow each other, each behind the name of its experiment. Where a claim is contradicted,
    only those that contradict it give the reason.
    """
    words = environment.texts("claims", **_NUMBERS)
    findings = verdict.findings
    reasons = findings
    if verdict.verdict == Decision.CONTRADICTED:
        reasons = tuple(each for each in findings if each.outcome == verdict.verdict)
    published = (words.published(finding.evidence) for finding in findings)
    return Texts(
        "\n".join(dict.fromkeys(published)),
        _of_each(words.ours, findings, "\n"),
        _of_each(words.intervals, findings, "\n"),
        _of_each(words.why, reasons, " "),
    )


def _of_each(write: Callable[[Finding], str], findings: Iterable[Finding], space: str) -> str:
    """Write each finding behind the name of its experiment; what is the same of all, without names."""
    written = collected((write(finding), finding.evidence.experiment) for finding in findings)
    if len(written) == 1:
        return next(iter(written))
    pairs = ((", ".join(names), text) for text, names in written.items())
    return space.join(f"{names}:{space}{text}" for names, text in pairs if text)
