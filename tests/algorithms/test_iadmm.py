"""IADMM-Prox and IADMM-Trust: transcriptions."""

import pytest

from tests.algorithms.literal_ryu2022 import (
    check_trajectory,
    objective_perturbation,
    proximal,
    trust_region,
)


@pytest.mark.parametrize("variant", ["paper", "reference"])
@pytest.mark.parametrize("subproblem", ["proximal", "trust_region"])
def test_trajectory_is_the_literal_one(subproblem, variant):
    def literal(run, rounds):
        radius = trust_region(lambda t: 0.3 if run.reference else 0.3 / t**2)
        step = proximal(0.3) if subproblem == "proximal" else radius
        return objective_perturbation(run, step, rounds, private=False)

    check_trajectory("iadmm", literal, {"subproblem": subproblem, "a": 0.3}, variant)
