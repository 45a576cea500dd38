"""Findings of an audit: enums and numbers, of which the report's templates make sentences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any, Self

from pydantic import field_validator

from admmbench.files import CHECKSUM_KEY
from admmbench.validation import Strict

Interval = tuple[float, float]
Value = int | float | str | bool | None | list[str]
"""Value of a fact; numbers without another unit are counts or fractions."""


class Kind(StrEnum):
    """Kinds of facts, each with the names of its values.

    Numbers of rounds count from 1, agents from 0. An agent that is None stands for the sum of all.
    """

    NOISE_AS_DECLARED = "noise_as_declared"  # laws
    NOISE_REPEATED = "noise_repeated"  # pairs of releases
    NOISE_NOT_DECLARED = (
        "noise_not_declared"  # law, mean_size in declared scales, p of the Kolmogorov-Smirnov test
    )
    NOISE_CORRELATED = "noise_correlated"  # deviations: standard deviations
    SAME = "same"
    DATA_LEAVE = "data_leave"  # name of an array, round
    RELEASES_DIFFER = "releases_differ"
    NOISE_DEPENDS = "noise_depends"  # attribute of the noise, round, difference (relative)
    END_DEPENDS = "end_depends"  # round by which one run ends in an error
    SHIFT = "shift"  # shift: part of what the ledger was told, the largest
    RELEASE_SHIFTS = "release_shifts"  # shift, agent, round
    LEDGER_TOLD = "ledger_told"  # entries of a release in the ledger, law, agent, round
    LEDGER_BESIDE = "ledger_beside"  # agent, entry that belongs to no draw, round
    DRAWN_AGAIN = "drawn_again"  # release, round
    UNDERSTATED = "understated"  # round, stated and told (ε)
    PARTICIPATION = "participation"  # taken and seen (releases), probability in the ledger
    SAMPLES_REPEATED = "samples_repeated"  # axis: rounds or runs
    # attack; shown, power and total (ε); hits, alarms and allowed (fractions of runs); evidence against the curve, of
    # which 1 refutes it; runs on each data set, and of_runs that were planned
    ATTACK = "attack"
    GUESSES = "guesses"  # guesses, right, canaries; shown, power and total (ε); mu and its error: estimates
    # Why a level does not apply, or why there is nothing to audit.
    NO_NOISE = "no_noise"
    HIDDEN_NOISE = "hidden_noise"
    ALL_END = "all_end"
    WHOLE_AGENTS = "whole_agents"
    SAMPLES_HAVE_OTHERS = "samples_have_others"
    DIVERGES = "diverges"
    CONSTRAINED = "constrained"
    BY_LABELS = "by_labels"
    NO_RELEASE = "no_release"  # algorithm
    NO_BUDGET = "no_budget"
    COLUMNS_OF_OTHERS = "columns_of_others"
    SENTENCE = "sentence"  # text that an earlier version wrote


class Fact(Strict):
    """What a level saw."""

    kind: Kind
    values: dict[str, Value] = {}

    @field_validator("values", mode="before")
    @classmethod
    def _read_numbers(cls, values: dict[str, Any]) -> dict[str, Any]:
        """Read what JSON has for numbers that are not finite."""
        return {
            name: float(value) if value in ("Infinity", "-Infinity", "NaN") else value
            for name, value in values.items()
        }


def fact(kind: Kind, **values: Value) -> Fact:
    """Return a fact with its values by name."""
    return Fact(kind=kind, values=values)


def _without_sentence(content: Mapping[str, Any], key: str, name: str) -> dict[str, Any]:
    """Return content in which a sentence that an earlier version wrote is a fact."""
    others = {**content}
    if text := others.pop(key, ""):
        others[name] = {"kind": Kind.SENTENCE, "values": {"text": text}}
    return others


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
    fact: Fact
    """What was seen: the first fault, or that there is none, or why the level does not apply."""
    rates: tuple[Interval, Interval] | None = None
    """Intervals of an attack's rates of hits and of false alarms, which hold together; None if it has none."""


def tested_finding(
    level: str, canary: str, value: float, bound: float, fault: Fact | None, good: Fact
) -> Finding:
    """Make the finding of a level that looks for faults: the first fault, or a good fact without one."""
    fields = {"level": level, "canary": canary, "value": value, "bound": bound}
    return Finding(**fields, passed=fault is None, fact=fault or good)


def inapplicable_finding(level: str, canary: str, why: Kind) -> Finding:
    """Make the finding of a level that does not apply."""
    return Finding(level=level, canary=canary, passed=None, value=0, bound=0, fact=fact(why))


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
    mu_estimate: float | None = None
    mu_error: float | None = None
    """Estimate of mu, and its standard error, by which nothing is judged; None if there is none."""


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
    reason: Fact | None = None
    """Why there is nothing to audit; None if there is."""

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

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as values that JSON can hold."""
        return self.model_dump(mode="json")

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """Make an audit from the dictionary of `to_dict`, or from a file, which has a checksum besides.

        Files of earlier versions have sentences.
        """
        content = _without_sentence(values, "comment", "reason")
        content.pop(CHECKSUM_KEY, None)
        found = [
            _without_sentence(each, "sentence", "fact") for each in content.pop("findings", ())
        ]
        return cls.model_validate({**content, "findings": found})
