"""Columns that no record of an agent uses are left out, and nothing changes."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from admmbench.problems.used_columns import gather, take_tile


@settings(max_examples=60)
@given(
    K=st.integers(1, 4), J=st.integers(1, 50), start=st.integers(0, 199), size=st.integers(0, 99)
)
def test_a_tile_is_a_part_of_the_wide_model(K, J, start, size):
    rng = np.random.default_rng(K * J)
    entries = rng.normal(size=(1, 1, K, 6))
    position = rng.integers(0, 6, (1, J)).astype(np.uint32)
    wide = gather(entries, position).ravel()
    start = min(start, wide.size - 1)
    for places, whole in ((position[0], wide), (position[0, :0], entries.ravel())):
        tile = np.full(max(min(size, whole.size - start), 0), np.nan)
        take_tile(entries[0, 0], places, start, tile)
        np.testing.assert_array_equal(tile, whole[start : start + len(tile)])
