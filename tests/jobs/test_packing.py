"""Variables of a run as JSON and arrays: what comes back is what was kept, and never code."""

import json
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from admmbench.base.types import ConsensusState
from admmbench.jobs.packing import pack, unpack


@dataclass
class State:
    w: np.ndarray
    z: np.ndarray
    chain: np.ndarray | None
    parts: list = field(default_factory=list)
    rounds: int = 0


def state(seed=0):
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(2, 3))
    return State(rng.normal(size=3).astype(np.float32), z, None, [rng.normal(size=2)], 3)


def through_json(value, into):
    arrays: list[np.ndarray] = []
    text = json.dumps(pack(value, arrays))
    return unpack(json.loads(text), arrays, into)


@pytest.mark.parametrize("updates", [1, 3])
def test_what_is_one_array_in_a_state_of_consensus_stays_one(updates):
    """The last iterates are the models themselves with one local update, and others with several."""

    def made(seed):
        z = np.random.default_rng(seed).normal(size=(2, 1, 1, 3))
        return ConsensusState(z[0], z, z + 1, None if updates == 1 else z + 2, z[0] + 3)

    found, kept = through_json(made(0), made(1)), made(0)
    assert (found.iterates is found.z) == (updates == 1)
    for name in ("w", "z", "dual", "average", "iterates"):
        np.testing.assert_array_equal(getattr(found, name), getattr(kept, name))


numbers = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
trees = st.recursive(
    numbers, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20
)


@given(trees)
def test_any_tree_comes_back(tree):
    found = through_json(tree, None)
    assert repr(found) == repr(tree)  # equal, NaN included


@pytest.mark.parametrize("value", [{1: 2}, {"f": print}, object(), [lambda: 0], (1, 2)])
def test_what_is_no_data_is_refused(value):
    with pytest.raises(TypeError, match="a state may hold numbers"):
        pack(value, [])


def test_arrays_of_other_shapes_take_the_place_of_arrays_and_of_nothing():
    kept, other = state(0), state(1)
    other.w, kept.chain = np.zeros(0), kept.z + 1
    found = through_json(kept, other)
    np.testing.assert_array_equal(found.w, kept.w)
    np.testing.assert_array_equal(found.chain, kept.chain)
    assert through_json(state(0), kept).chain is None


def test_numbers_and_arrays_without_dimensions_keep_their_type():
    numbers = {"a": np.float64(0.1), "b": np.float32(2), "c": np.int64(3)}
    found = through_json({"d": np.array(3.0), **numbers}, {"d": np.array(0.0)})
    assert [type(each) for each in found.values()] == [np.ndarray, *map(type, numbers.values())]
