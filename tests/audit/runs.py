"""What the tests of the audit share: small data, and short audits of them."""

from __future__ import annotations

from typing import Any

from admmbench.audit.auditor import audit
from admmbench.audit.findings import Audit
from admmbench.audit.settings import AuditSettings
from admmbench.audit.words import words
from admmbench.contracts.made_up_data import make_dataset
from admmbench.datasets import Dataset
from admmbench.spec.run import RunSpec

THREE = make_dataset(60, n_classes=3)
# A problem in which agents count alike, for totals of whole agents.
WEIGHED_BY_AGENT = {
    "loss": "logistic",
    "average": "agents",
    "per": "agent",
    "penalty": "l2",
    "strength": 0.3,
    "records": {"max_l2_norm": 1},
}
TWO = make_dataset(60, n_classes=2)
SHORT = AuditSettings(rounds=3, repeats=24, canaries=["worst"])


def make_spec(algorithm: str, data: Dataset = THREE, **changes: Any) -> RunSpec:
    given: dict[str, Any] = {
        "dataset": data,
        "algorithm": algorithm,
        "problem": "softmax" if data.n_classes > 2 else "logistic",
        "agents": 4,
        "epsilon": 1.0,
        "delta": 1e-3,
        "sensitivity": "global",
        "rounds": 1 if algorithm == "amp" else 9,
        "seeds": 24,
    }
    return RunSpec(**{**given, **changes})


def short_audit(
    algorithm: str, data: Dataset = THREE, settings: AuditSettings = SHORT, **changes: Any
) -> Audit:
    return audit(make_spec(algorithm, data, **changes), data, settings)


def failed(found: Audit) -> dict[str, str]:
    """Sentences of the levels that did not pass."""
    return {
        finding.level: words().sentence(finding)
        for finding in found.findings
        if finding.passed is False
    }
