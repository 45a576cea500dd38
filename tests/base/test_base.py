"""What all methods share."""

import math
from pathlib import Path

import pytest

from admmbench.algorithms.dpsgd import DPSGD
from admmbench.base.algorithm import Algorithm, Family, PrivacyFacts, Resources, parameters
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

    assert Mine.cost.__name__ == "plan"


def test_facts_that_are_stated_by_their_names_of_before_are_taken_with_a_warning():
    with pytest.warns(FutureWarning, match="Old.* is now called") as warned:

        @parameters
        class Old(DPSGD):
            family = "steps"  # type: ignore[assignment]
            private_state = ("z",)
            state_copies = 7

    assert len(warned) == 3
    assert {Path(each.filename).name for each in warned} == {Path(__file__).name}
    assert vars(Old)["family"] == Family("steps")
    assert Old().privacy_facts == PrivacyFacts(True, "", ("z",))
    assert Old().resources == Resources(state_copies=7)
    with pytest.warns(
        FutureWarning, match=r"^Old\.state_copies is now called `resources.state_copi"
    ):
        assert Old().state_copies == 7
    with pytest.raises(TypeError, match=r"Made\.state_copies: make resources a property instead"):

        class Made(DPSGD):
            @property
            def state_copies(self):
                return 2
