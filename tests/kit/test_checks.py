"""The kit finds known mistakes of public code, and raises no false alarm."""

import pytest

from admmbench.kit import check
from tests.kit.mechanisms import MISTAKES, RIGHT


@pytest.mark.parametrize("name", RIGHT)
def test_right_mechanisms_pass(name):
    report = check(*RIGHT[name])
    assert report.passed, str(report)


@pytest.mark.parametrize("name", MISTAKES)
def test_known_mistakes_are_found(name):
    mechanism, statement, expected = MISTAKES[name]
    report = check(mechanism, statement)
    assert expected.replace("_", " ") in report.failed, str(report)
