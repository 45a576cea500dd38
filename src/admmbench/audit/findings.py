"""Findings of an audit, and their table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Self

from admmbench.files import CHECKSUM_KEY
from admmbench.validation import Strict

if TYPE_CHECKING:
    from rich.table import Table


Interval = tuple[float, float]


class Finding(Strict):
    """Result of one level with one canary."""

    level: str
    """Name of the level."""
    canary: str
    """Name of the canary."""
    passed: bool | None
    """Whether the level found no fault; None if the level does not apply."""
    value: float
    """Measured value."""
    bound: float
    """Largest admissible value."""
    sentence: str
    """The finding in words."""
    rates: tuple[Interval, Interval] | None = None
    """Intervals of an attack's rates of hits and of false alarms, which hold together; None if it has none."""


def tested_finding(
    level: str, canary: str, value: float, bound: float, fault: str | None, good: str
) -> Finding:
    """Make the finding of a level that looks for faults: the first fault in words, or a good sentence without one."""
    fields = {"level": level, "canary": canary, "value": value, "bound": bound}
    return Finding(**fields, passed=fault is None, sentence=fault or good)


def inapplicable_finding(level: str, canary: str, why: str) -> Finding:
    """Make the finding of a level that does not apply."""
    sentence = f"{why}, so that this level does not apply."
    return Finding(level=level, canary=canary, passed=None, value=0, bound=0, sentence=sentence)


def worst_finding(findings: Iterable[Finding]) -> Finding:
    """Return the first finding that failed, else one that does not apply, else the one with the largest value.

    The returned finding has the largest value of all.
    """
    every = list(findings)
    largest = max(every, key=lambda finding: finding.value)
    verdict = min((finding.passed for finding in every), key=(False, None, True).index)
    shown = largest if verdict else next(finding for finding in every if finding.passed is verdict)
    return shown.model_copy(update={"value": largest.value})


class ManyCanaries(Strict):
    """Numbers of an attack on one run with many canaries."""

    canaries: int
    """Number of canaries."""
    rounds: int
    """Number of attacked rounds."""
    guesses: int
    """Number of guessed canaries."""
    right: int
    """Number of guesses that were right."""
    epsilon_ledger: float
    epsilon_lower: float
    epsilon_power: float
    """Total, lower bound and power as in `Audit`, of these rounds."""


class Audit(Strict):
    """All findings, and the three epsilons of the audited rounds."""

    findings: tuple[Finding, ...] = ()
    """One for each level and canary."""
    rounds: int = 0
    """Attacked rounds."""
    of_rounds: int = 0
    """Rounds of the run."""
    chosen: tuple[int, ...] = ()
    """Numbers of the attacked rounds."""
    compared: int = 0
    """Rounds in which runs with the same noisy values were compared: the levels coupling and likelihood."""
    delta: float = 0.0
    """Delta at which the epsilons are stated; epsilons are None if nothing was audited."""
    epsilon_ledger: float | None = None
    """Total ε composed from the ledgers' entries."""
    epsilon_lower: float | None = None
    """Largest lower bound that an attack gave; all of them hold together with the confidence asked for."""
    epsilon_power: float | None = None
    """Lower bound that an attack would give with as many runs if it made no error."""
    epsilon_claimed: float | None = None
    """Rounds times the budget of one release."""
    curve: tuple[tuple[float, float], ...] = ()
    """Largest rate of hits that the releases of the attacked rounds allow, at some rates of false alarms: pairs of
    both, alarms first."""
    one_run: ManyCanaries | None = None
    """Numbers of the attack on one run; None if there was none."""
    comment: str = ""
    """Why there is nothing to audit; empty if there is."""

    @property
    def passed(self) -> bool | None:
        """Return whether no level found a fault; None if nothing was audited."""
        verdicts = {finding.passed for finding in self.findings}
        return False if False in verdicts else True if True in verdicts else None

    @property
    def failures(self) -> Sequence[Finding]:
        """Return the findings that did not pass."""
        return [finding for finding in self.findings if finding.passed is False]

    @property
    def uncovered(self) -> Sequence[Finding]:
        """Return the findings of levels that do not apply."""
        return [finding for finding in self.findings if finding.passed is None]

    @property
    def complete(self) -> bool:
        """Return whether every level applied, and none found a fault."""
        return bool(self.findings) and all(finding.passed for finding in self.findings)

    @property
    def summary(self) -> str:
        """Return the result in words."""
        if not self.findings:
            return self.comment
        tried = len(self.findings) - len(self.uncovered)
        sentences = ["The one check holds" if tried == 1 else f"{tried} checks hold"]
        if self.failures:
            sentences = [f"{len(self.failures)} of {tried} checks fail"]
        if self.uncovered:
            counts = f"{len(self.uncovered)} of {len(self.findings)} do not apply"
            sentences += [f"{counts}: {self.uncovered[0].sentence.rstrip('.')}"]
        numbers = f" ({', '.join(map(str, self.chosen))})" if self.rounds < self.of_rounds else ""
        if self.rounds:
            sentences += [f"Attacked: {self.rounds} of {self.of_rounds} rounds{numbers}"]
        if self.compared:
            sentences += [
                f"Compared between the data sets: {self.compared} of {self.of_rounds} rounds"
            ]
        if self.one_run:
            sentences += [
                f"In one run: {self.one_run.canaries} canaries, {self.one_run.rounds} rounds"
            ]
        return ". ".join(sentences) + "."

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as values that JSON can hold."""
        return self.model_dump(mode="json")

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """Make an audit from the dictionary of `to_dict`, or from a file that has a checksum besides."""
        return cls.model_validate({name: v for name, v in values.items() if name != CHECKSUM_KEY})


def table(audit: Audit) -> Table:
    """Lay out all findings for a terminal."""
    from rich.table import Table

    marks = {True: "[green]✓[/]", False: "[red]✗[/]", None: "–"}
    rows = Table("level", "canary", "", "value", "bound")
    for finding in audit.findings:
        numbers = finding.value, finding.bound
        shown = [f"{number:.3g}" if finding.passed is not None else "" for number in numbers]
        rows.add_row(finding.level, finding.canary, marks[finding.passed], *shown)
    epsilons = [
        "–" if value is None else f"{value:.3g}"
        for value in (
            audit.epsilon_claimed,
            audit.epsilon_ledger,
            audit.epsilon_lower,
            audit.epsilon_power,
        )
    ]
    words = "epsilon of {} rounds at delta {:g}: claimed {}, composed {}, at least {}; an attack can show {}"
    lines = [words.format(audit.rounds, audit.delta, *epsilons)] if audit.rounds else []
    if many := audit.one_run:
        lines.append(
            f"epsilon of one run of {many.rounds} rounds at delta {audit.delta:g}: composed {many.epsilon_ledger:.3g}, "
            f"at least {many.epsilon_lower:.3g}; an attack with {many.canaries} canaries can show "
            f"{many.epsilon_power:.3g}"
        )
    rows.caption = "\n".join(lines)
    return rows
