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
    """However large the noise: the bound is about that of as many bets without a mistake."""
    found = short_audit("dp_admm_sharing", TWO, SETTINGS, epsilon=epsilon, **COLUMNS)
    (finding,) = found.findings
    # Each pair but the first multiplies the capital by 1 + exp(-epsilon) at most; three statements hold together.
    most = -math.log(math.expm1(math.log(3 / 0.05) / 56))
    assert most - 0.35 <= finding.value <= most
    assert finding.level == "range"
    assert found.passed is False
    assert found.epsilon_claimed == pytest.approx(2 * epsilon)


def test_in_equal_worlds_there_is_nothing_to_see(monkeypatch):
    monkeypatch.setattr(columns, "_with_another_column", lambda data: data)
    found = short_audit("dp_admm_sharing", TWO, SETTINGS, **COLUMNS)
    assert found.epsilon_lower == 0
    assert found.passed
