"""ObjP and ObjPM: a transcription, and what is left without noise."""

from types import SimpleNamespace

import numpy as np
import pytest

from admmbench import simulate
from admmbench.algorithms.objp import ObjP
from admmbench.contracts.made_up_data import make_dataset
from tests.algorithms.literal_ryu2022 import (
    J,
    K,
    N,
    P,
    check_trajectory,
    objective_perturbation,
    proximal,
)


@pytest.mark.parametrize("variant", ["paper", "reference"])
@pytest.mark.parametrize(
    ("params", "a", "E"), [({}, 1, 1), ({"a": 5}, 5, 1), ({"local_updates": 4}, 1, 4)]
)
def test_trajectory_is_the_literal_one(params, a, E, variant):
    def literal(run, rounds):
        return objective_perturbation(run, proximal(a), rounds, E)

    check_trajectory("objp", literal, params, variant)


@pytest.mark.parametrize("updates", [1, 3])
def test_objp_and_iadmm_agree_without_noise(updates):
    """ryu2022, section IV: with infinite epsilon ObjP is IADMM, and ObjPM that with several local updates."""
    dataset = make_dataset(N, 30, J, K)
    given = {"agents": P, "rounds": 20, "evaluate_every": 5, "seeds": 1}
    first, second = (
        simulate(dataset, name, {"local_updates": updates}, **given) for name in ("objp", "iadmm")
    )
    np.testing.assert_array_equal(first.train_loss, second.train_loss)


def test_only_several_local_updates_compose_within_a_round():
    assert ObjP().caveats == ()
    assert ObjP(local_updates=2).caveats == ("local_updates",)


def test_theorem_2_alone_takes_the_largest_smoothness_of_all_agents():
    parts = SimpleNamespace(
        smoothness=np.array([[1.0], [3.0]]), whole=SimpleNamespace(smoothness=np.array([3.0]))
    )
    sub = SimpleNamespace(t=4, privacy=SimpleNamespace(epsilon=1.0), parts=parts)
    for average, expected in ((None, [[3], [5]]), ("after", [[3], [5]]), ("theorem2", [5])):
        method = ObjP(proximity="smooth", average=average)
        np.testing.assert_array_equal(method.schedule(sub)["inverse_eta"], expected)
