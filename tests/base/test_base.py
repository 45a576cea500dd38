"""What all methods share."""

import math

import pytest

from admmbench.base.algorithm import Algorithm
from admmbench.base.rho import RhoSchedule


def test_penalty_schedule():
    mnist = RhoSchedule()
    assert mnist(1, 0.05) == pytest.approx(2 + 5 / 0.05)
    assert mnist(9_999, math.inf) == 2
    assert mnist(10_000, math.inf) == pytest.approx(2.4)
    assert mnist(20_000, 1.0) == pytest.approx(2 * 1.44 + 5)
    assert mnist(10**9, 1.0) == 1e9
    assert RhoSchedule(scale=0.01)(1, 0.05) == pytest.approx(1.02)


def test_a_cost_that_is_stated_by_its_name_of_before_is_taken_with_a_warning():
    with pytest.warns(FutureWarning, match=r"^Mine\.plan is now called `cost`; rename it"):

        class Mine(Algorithm):
            def plan(self, t, problem, privacy, release):
                return None

    assert Mine.cost is Mine.plan
