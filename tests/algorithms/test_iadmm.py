"""IADMM-Prox and IADMM-Trust: a transcription, and their limit."""

import pytest

from tests.algorithms.literal_ryu2022 import (
    check_trajectory,
    objective_perturbation,
    proximal,
    trust_region,
)


@pytest.mark.parametrize("variant", ["paper", "reference"])
def test_trajectory_is_the_literal_one(variant):
    def literal(run, rounds):
        return objective_perturbation(run, proximal(1), rounds, private=False)

    check_trajectory("iadmm", literal, {}, variant)


@pytest.mark.parametrize("variant", ["paper", "reference"])
def test_trajectory_in_a_trust_region_is_the_literal_one(variant):
    def literal(run, rounds):
        step = trust_region(lambda t: 0.3 if run.reference else 0.3 / t**2)
        return objective_perturbation(run, step, rounds, private=False)

    check_trajectory("iadmm", literal, {"subproblem": "trust_region", "a": 0.3}, variant)
