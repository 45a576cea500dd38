"""ObjT: a transcription."""

import pytest

from tests.algorithms.literal_ryu2022 import check_trajectory, objective_perturbation, trust_region


@pytest.mark.parametrize("variant", ["paper", "reference"])
def test_trajectory_is_the_literal_one(variant):
    def literal(run, rounds):
        step = trust_region(lambda t: 0.4 if run.reference else 0.4 / t**2)
        return objective_perturbation(run, step, rounds)

    check_trajectory("objt", literal, {"a": 0.4}, variant)
