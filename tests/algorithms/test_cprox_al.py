"""Centralized Prox-AL: how runs end, and what it needs."""

import pytest

from admmbench import simulate
from admmbench.base.outcomes import Outcome
from tests.algorithms.he2023 import NEYMAN_PEARSON, at_most, final_state, run_of, two_classes


def test_a_feasible_point_is_never_out_of_reach():
    """However short the reach."""
    loose, params = {**NEYMAN_PEARSON, "constraints": [at_most(99)]}, {"beta": 10.0, "reach": 1e-9}
    _, status = final_state(run_of("cprox_al", params, 200, two_classes(), problem=loose))
    assert status == [Outcome.CONVERGED]


def test_it_needs_a_penalty_with_a_gradient():
    l1 = {**NEYMAN_PEARSON, "penalty": "l1", "strength": 1}
    with pytest.raises(ValueError, match="needs a penalty with a gradient"):
        simulate(two_classes(), "cprox_al", problem=l1)
