"""Parties that hold columns: noise in the range of a party's columns tells which columns they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from admmbench.audit.attacks import Scores, lower_bound, points, power
from admmbench.audit.findings import Audit
from admmbench.audit.runs import Run, RunData, record_rounds
from admmbench.audit.settings import AuditSettings, all_rounds
from admmbench.base.types import Array
from admmbench.datasets import Dataset
from admmbench.privacy import dearest
from admmbench.spec.run import RunSpec

LEVEL, CANARY = "range", "column"


def attack(spec: RunSpec, data: Dataset, settings: AuditSettings, rounds: Sequence[int]) -> Audit:
    """Attack some rounds of a method whose parties send predictions, see `admmbench.audit.audit`.

    In the second data set a column of the first party is another one. A message that lies in the range of a party's
    columns lies in the range of a neighbour's columns by chance only. The attack takes the data set whose range is
    nearer.
    """
    n = settings.repeats
    runs = [
        record_rounds(spec.model_copy(update={"seeds": seeds}), RunData(neighbour), rounds)
        for seeds, neighbour in (
            (tuple(range(n)), data),
            (tuple(range(n, 2 * n)), _with_another_column(data)),
        )
    ]
    federation = runs[0].federation
    ledger = dearest(federation.ledgers, spec.delta)
    finding = lower_bound(LEVEL, CANARY, _scores(*runs), spec.delta, settings.level, ledger)
    return Audit(
        findings=(finding,),
        rounds=len(rounds),
        of_rounds=all_rounds(spec),
        chosen=tuple(rounds),
        delta=spec.delta,
        epsilon_ledger=finding.bound,
        epsilon_lower=finding.value,
        epsilon_power=power(n, spec.delta, settings.level),
        epsilon_claimed=len(rounds) * federation.privacy.epsilon,
        curve=points(ledger),
    )


def _with_another_column(data: Dataset) -> Dataset:
    """Return the data with its first varying column rotated by half of its length, so that its values are the same."""
    X = np.array(data.X_train)
    varying = int((X[:1] != X).any(axis=0).argmax())
    X[:, varying] = np.roll(X[:, varying], len(X) // 2)
    return replace(data, X_train=X)


def _scores(first: Run, second: Run) -> Scores:
    """Return how much nearer the first party's last message is to the range of the first data set's columns."""
    bases = [run.federation.blocks[0].parts.basis for run in (first, second)]

    def nearer(run: Run) -> Array:
        message = run.public[max(run.public)]["message 0"][0]
        in_first, in_second = (_distance(message, basis) for basis in bases)
        return np.asarray(in_second - in_first)

    return nearer(first), nearer(second)


def _distance(message: Array, basis: Any) -> Array:
    """Return the relative part of messages of shape (S, N) that is outside a range, shape (S,)."""
    outside = message - (message @ basis) @ basis.T
    return np.asarray(np.linalg.norm(outside, axis=1) / np.linalg.norm(message, axis=1))
