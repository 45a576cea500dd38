"""Partitions: every row once, in the order that the scheme says."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from admmbench import partition
from tests.conftest import make_dataset


def rows_of(scheme, dataset, seeds=1):
    orders = [np.random.default_rng(seed).permutation for seed in range(seeds)]
    shares = partition.split(partition.as_partition(scheme), dataset, orders)
    everything = np.arange(dataset.n_train)
    return [[(seeds, everything[rows]) for seeds, rows in agent] for agent in shares]


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
        ({"scheme": "by_writer"}, "does not say who wrote"),
    ],
)
def test_impossible_partitions(scheme, message):
    with pytest.raises(ValueError, match=message):
        partition.as_partition(scheme).check(make_dataset(60).info)
