"""What all methods share."""

import math

import pytest

from admmbench.frames.base import RhoSchedule


def test_penalty_schedule():
    mnist = RhoSchedule()
    assert mnist(1, 0.05) == pytest.approx(2 + 5 / 0.05)
    assert mnist(9_999, math.inf) == 2
    assert mnist(10_000, math.inf) == pytest.approx(2.4)
    assert mnist(20_000, 1.0) == pytest.approx(2 * 1.44 + 5)
    assert mnist(10**9, 1.0) == 1e9
    assert RhoSchedule(scale=0.01)(1, 0.05) == pytest.approx(1.02)
