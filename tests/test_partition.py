"""Partitions: every row once, in the order that the scheme says."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from admmbench import partition
from tests.conftest import make_dataset


def rows_of(scheme, dataset, seeds=1):
    orders = [np.random.default_rng(seed).permutation for seed in range(seeds)]
    split = partition.split(partition.as_partition(scheme), dataset, orders)
    everything = np.arange(split.dataset.n_train)
    return [[(seeds, everything[rows]) for seeds, rows in agent] for agent in split.shares]


@settings(max_examples=50)
@given(n=st.integers(1, 80), data=st.data(), shuffle=st.booleans(), seeds=st.integers(1, 3))
def test_iid_gives_every_row_to_one_agent(n, data, shuffle, seeds):
    agents = data.draw(st.integers(1, n))
    scheme = {"scheme": "iid", "agents": agents, "shuffle": shuffle}
    shares = rows_of(scheme, make_dataset(n, 1), seeds)
    sizes = [len(agent[0][1]) for agent in shares]
    assert max(sizes) - min(sizes) <= 1
    for s in range(seeds):
        own = [r for agent in shares for k, r in agent if s in range(*k.indices(seeds))]
        assert sorted(np.concatenate(own)) == list(range(n))


@settings(max_examples=50)
@given(n=st.integers(1, 60), n_test=st.integers(1, 20), data=st.data(), seeds=st.integers(1, 3))
def test_drawn_rows_train_and_the_rest_tests(n, n_test, data, seeds):
    train = data.draw(st.integers(1, n + n_test - 1))
    agents = data.draw(st.integers(1, train))
    dataset = make_dataset(n, n_test)
    scheme = partition.as_partition(
        {"scheme": "iid", "agents": agents, "shuffle": True, "train": train}
    )
    assert scheme.check(dataset.info) == agents
    orders = [np.random.default_rng(seed).permutation for seed in range(seeds)]
    split = partition.split(scheme, dataset, orders)
    np.testing.assert_array_equal(
        split.dataset.X_train, np.concatenate([dataset.X_train, dataset.X_test])
    )
    np.testing.assert_array_equal(
        split.dataset.y_train, np.concatenate([dataset.y_train, dataset.y_test])
    )
    for s in range(seeds):
        sizes = [len(agent[s][1]) for agent in split.shares]
        assert sum(sizes) == train
        assert max(sizes) - min(sizes) <= 1
        held_out = split.held_out[s]
        assert held_out[0] == slice(s, s + 1)
        every = np.concatenate([*(agent[s][1] for agent in split.shares), held_out[1]])
        assert sorted(every) == list(range(n + n_test))


def test_drawn_rows_need_a_draw():
    with pytest.raises(ValueError, match="needs shuffle: true"):
        partition.as_partition({"scheme": "iid", "agents": 2, "train": 5})


def test_file_order_is_numpys_split():
    shares = rows_of(4, make_dataset(61))
    for agent, expected in zip(shares, np.array_split(np.arange(61), 4), strict=True):
        np.testing.assert_array_equal(agent[0][1], expected)


def test_writers_keep_their_rows():
    dataset = make_dataset(50, groups=7)
    for g, agent in enumerate(rows_of({"scheme": "by_writer"}, dataset)):
        np.testing.assert_array_equal(agent[0][1], np.flatnonzero(dataset.groups == g))


@pytest.mark.parametrize(
    ("scheme", "message"),
    [
        (61, "61 agents cannot share the 60 training rows"),
        (
            {"scheme": "iid", "agents": 2, "shuffle": True, "train": 90},
            "90 of the 90 rows of made leave none to test on",
        ),
        ({"scheme": "by_writer"}, "does not say who wrote"),
    ],
)
def test_impossible_partitions(scheme, message):
    with pytest.raises(ValueError, match=message):
        partition.as_partition(scheme).check(make_dataset(60).info)
