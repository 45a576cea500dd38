"""The range of a party's columns tells which columns they are."""

import math

import pytest

from admmbench.audit import columns
from admmbench.audit.settings import AuditSettings
from tests.audit.runs import TWO, short_audit

SETTINGS = AuditSettings(rounds=2, repeats=60)
COLUMNS = {"agents": {"scheme": "columns", "blocks": 2}, "sensitivity": "local"}


@pytest.mark.parametrize("epsilon", [0.01, 1.0])
def test_messages_in_a_range_are_attributed(epsilon):
    """However large the noise: the bound is about that of as many runs without a mistake."""
    found = short_audit("dp_admm_sharing", TWO, SETTINGS, epsilon=epsilon, **COLUMNS)
    (finding,) = found.findings
    tested = 45
    rate = 0.0125 ** (1 / tested)  # Clopper-Pearson, both ends of both rates
    most = math.log((rate - 1e-3) / (1 - rate))
    assert most - 0.1 <= finding.value <= most + 1e-9
    assert finding.level == "range"
    assert found.passed is False
    assert found.epsilon_claimed == pytest.approx(2 * epsilon)


def test_in_equal_worlds_there_is_nothing_to_see(monkeypatch):
    monkeypatch.setattr(columns, "_with_another_column", lambda data: data)
    found = short_audit("dp_admm_sharing", TWO, SETTINGS, **COLUMNS)
    assert found.epsilon_lower == 0
    assert found.passed
