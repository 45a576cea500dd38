"""Canaries: worlds differ in one record of the smallest agent, and in nothing else."""

import numpy as np
import pytest

from admmbench.audit.neighbours import make_neighbours
from admmbench.audit.settings import AuditSettings
from admmbench.contracts.made_up_data import make_dataset, make_regression
from tests.audit.runs import THREE, TWO, make_spec, short_audit

NAMES = ["worst", "extreme", "natural"]


def worlds_of(data, spec):
    return {each.canary: each for each in make_neighbours(spec, data, [1, 2], NAMES)}


@pytest.mark.parametrize("relation", ["zero_out", "replace"])
@pytest.mark.parametrize("data", [THREE, TWO], ids=["softmax", "logistic"])
def test_worlds_are_neighbours(data, relation):
    spec = make_spec("objp", data, agents=7, privacy={"relation": relation})
    for name, worlds in worlds_of(data, spec).items():
        one, other = worlds.first.data, worlds.second.data
        differs = np.flatnonzero(
            (one.X_train != other.X_train).any(axis=1) | (one.y_train != other.y_train)
        )
        assert differs.tolist() == [worlds.row]
        # 60 records are 9 for each of four agents, and then 8 for each of three.
        assert 36 <= worlds.row < 44
        others = np.arange(60) != worlds.row
        for world in (one, other):
            np.testing.assert_array_equal(world.X_train[others], data.X_train[others])
            np.testing.assert_array_equal(world.y_train[others], data.y_train[others])
        null = other.X_train[worlds.row]
        if relation == "zero_out":
            assert not null.any()
        else:
            np.testing.assert_array_equal(null, one.X_train[worlds.row])
        changed = (one.X_train[worlds.row] != data.X_train[worlds.row]).any()
        assert changed == (name == "worst")


def test_opposed_records_are_those_of_the_agent_and_the_same_on_both_sides():
    spec = make_spec("objp", agents=7, privacy={"relation": "replace"})
    for name, worlds in worlds_of(THREE, spec).items():
        if name != "worst":
            assert worlds.opposed is None
            continue
        ours, opposed, row = np.arange(36, 44), worlds.opposed, worlds.row
        others = np.setdiff1d(ours, row)
        for side in ("first", "second", "without"):
            plain, data = (getattr(each, side).data for each in (worlds, opposed))
            unchanged = np.setdiff1d(np.arange(60), others)
            np.testing.assert_array_equal(data.X_train[unchanged], plain.X_train[unchanged])
            np.testing.assert_array_equal(data.y_train[unchanged], plain.y_train[unchanged])
            # The entries of the worst record are 1.
            np.testing.assert_allclose(data.X_train[others].sum(axis=0), 0.5, rtol=1e-5)
            assert set(data.y_train[others]) == {0, 1, 2} - {worlds.first.data.y_train[row]}


def test_canaries_are_what_they_are_called():
    spec = make_spec("objp", agents=7)
    worlds = worlds_of(THREE, spec)
    rows = np.arange(36, 44)
    longest = rows[np.linalg.norm(THREE.X_train[rows], axis=1).argmax()]
    assert (worlds["worst"].first.data.X_train[worlds["worst"].row] == 1).all()
    assert worlds["extreme"].row == worlds["natural"].row == longest
    np.testing.assert_array_equal(worlds["natural"].first.data.y_train, THREE.y_train)


def test_a_wrong_target_is_the_one_that_the_model_likes_least():
    # All records are of one class: the models prefer it, and the canary has the other.
    data = make_dataset(60, n_classes=2)
    data.y_train[:] = 1
    spec = make_spec("objp", data, epsilon=100)
    for name, worlds in worlds_of(data, spec).items():
        assert worlds.first.data.y_train[worlds.row] == (name == "natural")
    spec = make_spec("objp", data, epsilon=100, privacy={"relation": "replace"})
    for worlds in worlds_of(data, spec).values():
        assert worlds.first.data.y_train[worlds.row] != worlds.second.data.y_train[worlds.row]


def test_records_without_a_domain():
    data = make_regression(60)
    problem = {"loss": "huber", "records": {"max_l2_norm": 1}}
    settings = AuditSettings(rounds=2, repeats=24)
    found = short_audit("objp", data, settings, problem=problem)
    assert found.passed
    assert all(finding.passed for finding in found.findings)
    local = make_spec("objp", data, problem="huber", sensitivity="local")
    worst = worlds_of(data, local)["worst"]
    assert worst.first.data.X_train[worst.row].max() <= 1
