"""Content of a certificate: one JSON document, with a seal that shows whether it was changed."""

from __future__ import annotations

import hashlib
import json
import math
from pathlib import Path
from typing import Annotated, Any, Literal

import xarray as xr
from pydantic import Field

from admmbench import files
from admmbench.audit.findings import Audit
from admmbench.inference import intervals
from admmbench.validation import Count, Strict, Whole, checked

VERSION = 1
_Float = Annotated[float, Field(allow_inf_nan=False)]
_Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class Interval(Strict):
    """Number with its interval, in the unit of its setting's metric."""

    value: _Float
    lower: _Float | None
    """None with fewer than two seeds."""
    upper: _Float | None


class Method(Strict):
    """Method that competed."""

    file: Annotated[str, Field(pattern=r"^[^/\\]+\.py$")]
    """Name of its file, without a folder."""
    sha256: _Digest
    label: str


class Versus(Strict):
    """Comparison with the best rival of a setting, by the rule of methods that are added later."""

    rival: str
    """Rival with the lowest mean."""
    rivals: Count
    """Number of methods that the setting was stated with."""
    margin: _Float
    """Largest difference that does not matter."""
    difference: Interval | None
    """Method minus rival, paired by seed; None where they share fewer than two seeds."""
    verdict: Literal["better", "equivalent", "undecided", "worse", "not compared"]


class Attacked(Strict):
    """What an audit of some rounds showed."""

    rounds: Count
    of_rounds: Count
    passed: bool | None
    """Whether no level found a fault; None if nothing was audited."""
    epsilon_lower: _Float
    """Epsilon of these rounds that an attack shows."""
    epsilon_power: _Float
    """Epsilon that it would show if it made no error."""
    epsilon_ledger: _Float | None
    """Their composed total; None where it is infinite."""

    @classmethod
    def of(cls, audit: Audit) -> Attacked | None:
        """Return what an audit showed; None if there was nothing to attack."""
        if not audit.rounds:
            return None
        return cls(
            rounds=audit.rounds,
            of_rounds=audit.of_rounds,
            passed=audit.passed,
            epsilon_lower=audit.epsilon_lower or 0.0,
            epsilon_power=audit.epsilon_power or 0.0,
            epsilon_ledger=finite(audit.epsilon_ledger),
        )


class Setting(Strict):
    """What a method reached at one total on one data set."""

    experiment: str
    """Kept experiment with the rivals."""
    reference: _Digest
    """SHA-256 of its kept results."""
    dataset: str
    metric: str
    """Name of what methods are compared by; low is good."""
    n_test: Count
    """Number of test records."""
    epsilon: Annotated[_Float, Field(gt=0)]
    """Total of the whole run that was asked for."""
    delta: _Float
    relation: str
    unit: str
    """What neighbouring data sets differ in."""
    trust: str
    """Who sees what."""
    guarantee: str
    conditions: str
    """What the total is worth, and under which conditions."""
    mu: _Float | None = None
    regret: _Float | None = None
    """Gaussian differential privacy of the run, where it is finite."""
    run: dict[str, Any]
    """Settings of the run, without the method's file and the seeds."""
    code: dict[str, str]
    """Hashes of all code that the run reaches: ``method``, ``loss`` and ``shared``."""
    seeds: list[Whole]
    values: list[_Float | None]
    """Metric of the last model of each seed; None for a run that failed."""
    losses: list[_Float | None]
    """Training loss of each seed, of which each bit is compared."""
    mean: Interval | None
    """Mean over seeds with its t interval; None if a run failed."""
    versus: Versus
    rounds: Count
    floats_sent: _Float
    gradients: _Float
    """Gradients of every record in a run."""
    audit: Attacked | None

    @property
    def title(self) -> str:
        """Return the name of the setting."""
        return f"{self.dataset}, ε = {self.epsilon:g}"


class Certificate(Strict):
    """Result of a competition, with all that is needed to compute it again. It is no signature."""

    schema_version: Literal[1] = 1
    track: str
    made: Annotated[str, Field(pattern=r"^\d{4}-\d{2}-\d{2}$")]
    """Date."""
    method: Method
    settings: Annotated[list[Setting], Field(min_length=1)]
    not_checked: list[str]
    versions: dict[str, str]
    arithmetic: str
    """Kernels of linear algebra, and instructions of compiled loops."""
    machine: str
    seal: str
    """SHA-256 of all else, which shows a change by mistake."""

    def sealed(self) -> Certificate:
        """Return the certificate with the seal of its content."""
        content = self.model_dump(mode="json", exclude={"seal"})
        text = json.dumps(content, sort_keys=True, ensure_ascii=False, allow_nan=False)
        return self.model_copy(update={"seal": hashlib.sha256(text.encode()).hexdigest()})


def read(path: Path) -> Certificate:
    """Read a certificate; ValueError if it is none, or of a later version of the schema."""
    try:
        content = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise ValueError(f"{path}: cannot be read as a certificate: {error}") from None
    version = content.get("schema_version") if isinstance(content, dict) else None
    if version != VERSION:
        raise ValueError(f"{path}: schema_version: expected {VERSION}, got {version!r}")
    return checked(Certificate, content, str(path))


def write(certificate: Certificate, path: Path) -> None:
    """Write a certificate."""
    files.write(path, json.dumps(certificate.model_dump(mode="json"), indent=1) + "\n")


def finite(value: float | None) -> float | None:
    """Return a number, or None for one that JSON does not have."""
    return float(value) if value is not None and math.isfinite(value) else None


def interval(value: float, lower: float, upper: float) -> Interval | None:
    """Return a number with its interval; None for a number that is not there."""
    if not math.isfinite(value):
        return None
    return Interval(value=float(value), lower=finite(lower), upper=finite(upper))


def mean(values: list[float | None], redrawn: float = 0.0) -> Interval | None:
    """Return the mean of values of seeds with its t interval; None if one is missing."""
    if None in values:
        return None
    estimate = intervals.student(xr.DataArray(values, dims="seed"), redrawn=redrawn)
    return interval(*(float(estimate[name]) for name in ("mean", "lower", "upper")))
