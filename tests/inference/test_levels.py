"""Simultaneous levels, and what interim analyses show together."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from scipy import stats

from admmbench.inference.levels import (
    ERROR,
    SET_ASIDE,
    TOGETHER,
    error_of_turn,
    intersected,
    level_of_added,
    level_of_pairs,
    levels,
    narrowed,
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


def test_pairs_take_the_turn_of_an_added_method_and_share_it_as_a_study_does():
    turn, error = 4, error_of_turn(4)
    # With a method in each other turn, all that is reserved is taken.
    turns = [k for k in range(1, 2000) if k != turn]
    of_methods = sum(15 * 5 * 4 * (1 - level_of_added(k, 15, 5, 4)) for k in turns)
    assert of_methods + error == pytest.approx(SET_ASIDE * ERROR, rel=1e-3)
    stated = 105 * 5 * 4 * (1 - level_of_pairs(105, 5, 4, error))
    added = sum(15 * 5 * 4 * (1 - level_of_added(k, 15, 5, 4, error)) for k in turns)
    assert stated + added + SET_ASIDE * error / 20 == pytest.approx(error, rel=1e-3)
    found = levels(["a", "b"], {"c": 2}, 5, 4, error)
    assert found[0, 1] == level_of_pairs(1, 5, 4, error)
    assert found[0, 2] == level_of_added(2, 2, 5, 4, error)


def test_a_later_series_narrows_an_interval_and_counts_alone_where_it_contradicts():
    def ends(lower, upper):
        return xr.Dataset({"lower": ("pair", lower), "upper": ("pair", upper)})

    found = narrowed(
        ends([0.0, 0.0, np.nan], [2.0, 1.0, np.nan]), ends([1.0, 3.0, 0], [3.0, 4.0, 1])
    )
    assert found["lower"].values.tolist() == [1.0, 3.0, 0.0]
    assert found["upper"].values.tolist() == [2.0, 4.0, 1.0]
