"""How seeds are cut into blocks: on a grid that is the same however many there are."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from admmbench.study.runs import blocks

SEEDS = st.sets(st.integers(0, 60) | st.integers(2**63 - 9, 2**63 - 1), min_size=1, max_size=40)
SIZES = st.integers(1, 12) | st.just(10**9)


@pytest.mark.parametrize(
    ("n", "found"),
    [
        (1, ["0-0"]),
        (2, ["0-1"]),
        (3, ["0-2"]),
        (4, ["0-2", "3-3"]),
        (5, ["0-4"]),
        (7, ["0-4", "5-6"]),
        (9, ["0-4", "5-7", "8-8"]),
        (10, ["0-9"]),
        (25, ["0-9", "10-19", "20-24"]),
    ],
)
def test_blocks_of_the_first_seeds(n, found):
    assert [f"{block[0]}-{block[-1]}" for block in blocks(range(n), 10)] == found


@given(SEEDS, SIZES)
def test_each_seed_is_in_one_block_of_consecutive_seeds(seeds, size):
    found = blocks(seeds, size)
    assert list(itertools.chain(*found)) == sorted(seeds)
    for block in found:
        assert block == tuple(range(block[0], block[-1] + 1))
        assert block[0] // size == block[-1] // size


@given(SEEDS, SEEDS, SIZES)
def test_a_block_stays_or_becomes_part_of_a_larger_one(seeds, more, size):
    before, after = blocks(seeds, size), blocks(seeds | more, size)
    for block in before:
        (holder,) = [other for other in after if set(other) & set(block)]
        assert set(block) <= set(holder)
        if len(block) == size:
            assert holder == block
