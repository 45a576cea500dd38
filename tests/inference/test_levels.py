"""Simultaneous levels, and what interim analyses show together."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from scipy import stats

from admmbench.inference.levels import (
    TOGETHER,
    intersected,
    level_of_added,
    level_of_pairs,
    levels,
)


def test_interim_analyses_are_intersected_and_the_last_one_counts_where_they_contradict():
    values = np.random.default_rng(1).normal(size=40)
    seeds = xr.DataArray(values, dims="seed")

    def t(n):
        return stats.t.interval(0.99, n - 1, values[:n].mean(), stats.sem(values[:n]))

    found = intersected(seeds, 0.99, [10, 20, 40, 80])
    assert found["n"] == 40
    assert found["mean"] == pytest.approx(values.mean())
    lows, highs = zip(*(t(n) for n in (10, 20, 40)), strict=True)
    assert found["lower"] == pytest.approx(max(lows))
    assert found["upper"] == pytest.approx(min(highs))
    assert intersected(seeds[:35], 0.99, [10, 20, 40])["n"] == 20
    shifted = seeds + 100 * (seeds["seed"] >= 10)
    last = intersected(shifted, 0.99, [10, 40])
    alone = intersected(shifted, 0.99)
    for end in ("lower", "upper"):
        assert last[end] == alone[end]


def test_a_pair_without_further_seeds_keeps_what_its_last_analysis_showed():
    values = xr.DataArray(np.random.default_rng(2).normal(size=(2, 20)), dims=("pair", "seed"))
    ran = (values["pair"] == 0) | (values["seed"] < 10)
    found = intersected(values.where(ran), 0.9, [10, 20])
    first = intersected(values.isel(seed=slice(10)), 0.9, [10])
    assert found["n"].values.tolist() == [20, 10]
    for end in ("mean", "lower", "upper"):
        assert found[end][1] == first[end][1]


def test_levels_share_four_fifths_of_five_percent():
    assert pytest.approx(0.96) == TOGETHER
    level = level_of_pairs(105, 15, 5)
    assert 105 * 15 * 5 * (1 - level) == pytest.approx(0.04)


def test_methods_that_are_added_share_the_fifth_that_was_set_aside():
    level = level_of_added(3, 15, 5, 4)
    assert 15 * 5 * 4 * 3 * (3 + 1) * (1 - level) == pytest.approx(0.01)
    # All that may ever be added, each beside every method of every setting at every analysis.
    spent = sum(15 * 5 * 4 * (1 - level_of_added(k, 15, 5, 4)) for k in range(1, 2000))
    assert 0.00999 < spent < 0.01
    found = levels(["a", "b", "c"], {"d": 1, "f": 3}, 5, 4)
    assert (found[:3, :3] == level_of_pairs(3, 5, 4)).all()
    for label, turn in (("d", 1), ("f", 3)):
        own = level_of_added(turn, 3, 5, 4)
        assert (found.sel(algorithm=label)[:3] == own).all()
        assert (found.sel(rival=label)[:3] == own).all()
    assert np.isnan(found[3:, 3:]).all()
