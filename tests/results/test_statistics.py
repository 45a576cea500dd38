"""Statistics against numpy and scipy."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from admmbench.inference.intervals import Estimate, student
from admmbench.report import tables
from admmbench.results import statistics
from admmbench.results.who_wins import compare
from tests.made import ERRORS, INF, build, seeds, totals

FINITE = st.floats(-1e3, 1e3, allow_nan=False)


def test_final_is_the_last_round_and_best_the_lowest():
    ds = build(ERRORS)
    ds["test_error"][..., 1] = 0.01
    run = ds["test_error"].sel(algorithm="ObjP", epsilon=0.1, seed=3)
    at = {"algorithm": "ObjP", "epsilon": 0.1, "seed": 3}
    assert statistics.final(ds, "test_error").sel(at) == run.values[-1]
    assert statistics.reduce(ds, "test_error", "best").sel(at) == 0.01
    assert statistics.reduce(ds, "test_error", "average").sel(at) == pytest.approx(
        run.values.mean()
    )
    assert "round" not in statistics.final(ds, "test_error").coords


def test_final_of_a_coarser_grid_of_rounds_is_its_own_last_round():
    ds = build(ERRORS)
    ds["test_error"].loc[{"algorithm": "ObjP", "round": 300}] = np.nan
    expected = ds["test_error"].sel(algorithm="ObjP", epsilon=0.1, round=200)
    got = statistics.final(ds, "test_error").sel(algorithm="ObjP", epsilon=0.1)
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("how", ["final", "best", "average"])
def test_the_start_is_no_result(how):
    ds = build(ERRORS)
    first = int(ds["round"][0])
    ds["test_error"][{"round": 0}] = 0.001
    ds["test_error"].loc[{"algorithm": "ObjP", "round": slice(first + 1, None)}] = np.nan
    ds = ds.assign_coords(round=[0, *ds["round"].values[1:]])
    values = statistics.reduce(ds, "test_error", how)
    assert values.sel(algorithm="ObjP").isnull().all()
    assert (values.sel(algorithm="OutP", epsilon=1.0) > 0.001).all()


@pytest.mark.parametrize("how", ["final", "best", "average"])
def test_runs_that_did_not_complete_have_no_value_and_are_counted(how):
    ds = build(ERRORS, diverged={("ObjP", 0.1): 2}, timed_out={("OutP", 1.0): 3})
    values = statistics.reduce(ds, "test_error", how)
    assert values.attrs["units"] == "1"
    assert values.sel(algorithm="ObjP", epsilon=0.1).isnull().sum() == 2
    assert values.sel(algorithm="OutP", epsilon=1.0).isnull().sum() == 3
    counts = statistics.counts(ds)
    assert counts["diverged"].sel(algorithm="ObjP", epsilon=0.1) == 2
    assert counts["timed_out"].sel(algorithm="OutP", epsilon=1.0) == 3
    assert counts["completed"].sel(algorithm="ObjP", epsilon=0.1) == 8
    assert counts["not_run"].sel(algorithm="ObjP", epsilon=INF) == 10


def test_metrics_without_seeds_pass_through():
    ds = build(ERRORS)
    assert statistics.final(ds, "epsilon_total").dims == ("algorithm", "epsilon")


@given(st.lists(FINITE, min_size=1, max_size=12), st.integers(0, 3))
def test_band_is_mean_and_percentiles_of_the_runs_that_have_a_value(values, missing):
    got = statistics.band(seeds(*values, *[np.nan] * missing))
    assert got["n"] == len(values)
    assert got["mean"].item() == pytest.approx(np.mean(values), abs=1e-9)
    lower, upper = np.percentile(values, [20, 80])
    assert got["lower"].item() == pytest.approx(lower)
    assert got["upper"].item() == pytest.approx(upper)


def test_band_without_any_run_is_nan_without_a_warning(recwarn):
    got = statistics.band(seeds(np.nan, np.nan))
    assert got["n"] == 0
    assert all(np.isnan(got[name]) for name in ("mean", "lower", "upper"))
    assert not recwarn


def test_seeds_that_redraw_train_and_test_vary_together():
    """Nadeau and Bengio's variance: s^2 (1 / n + n_test / n_train)."""
    drawn = json.dumps({"scheme": "iid", "agents": 10, "shuffle": True, "train": 40000})
    ds = build(ERRORS, partition=drawn, n_train=40000, n_test=5222)
    ratio = statistics.redrawn(ds)
    assert ratio == 5222 / 40000
    for partition in (10, {"scheme": "iid", "agents": 10, "shuffle": True}, {"train": "all"}):
        assert statistics.redrawn(ds.assign_attrs(partition=json.dumps(partition))) == 0
    values = [0.1, 0.4, 0.2, 0.7]
    half = stats.t.ppf(0.95, 3) * np.std(values, ddof=1) * np.sqrt(1 / 4 + ratio)
    found = student(seeds(*values), 0.9, ratio)
    ends = found["lower"].item(), found["upper"].item()
    assert ends == pytest.approx((0.35 - half, 0.35 + half))
    assert Estimate.of(seeds(*values), ratio).interval(0.9) == pytest.approx(ends)


def test_rivals_have_equal_totals_with_a_guarantee_or_no_budget_at_all():
    errors = {
        "ObjP": {0.1: 0.2, INF: 0.1},
        "OutP": {0.1: 0.3, INF: 0.1},
        "ObjT": {0.1: 0.3},
        "Non-private": {0.1: 0.3, INF: 0.1},
    }
    ds = build(errors, sensitivity="global")
    ds["epsilon_total"].loc[{"algorithm": "ObjT"}] *= 1.03
    found = statistics.equally_private(ds)
    private = found.sel(epsilon=0.1)
    assert private.sel(algorithm="ObjP").values.tolist() == [True, True, False, False]
    assert private.sel(algorithm="ObjT").values.tolist() == [False, False, True, False]
    assert not private.sel(algorithm="Non-private").any()
    free = found.sel(epsilon=INF)
    assert free.sel(algorithm="OutP").values.tolist() == [True, True, False, True]
    assert not free.sel(algorithm="ObjT").any()
    np.testing.assert_array_equal(found, found.transpose("rival", "algorithm", "epsilon"))


def test_a_method_that_spends_less_stays_a_rival_at_the_total_that_was_asked_for():
    """Its runs ended before they had spent it, or a search for its settings has the rest."""
    errors = {"ObjP": {1.0: 0.2}, "OutP": {1.0: 0.3}}
    for lost in (0, 1, 10):
        ds = totals(build(errors, sensitivity="global", timed_out={("OutP", 1.0): lost}))
        ds["epsilon_total"].loc[{"algorithm": "OutP"}] *= 0.4
        assert statistics.equally_private(ds).all()


def test_noise_without_a_budget_is_no_rival_of_none():
    """Some methods set their noise by a parameter: at no budget they stand beside methods without any."""
    ds = build({"ObjP": {INF: 0.3}, "OutP": {INF: 0.2}, "Other": {INF: 0.1}}, name="x")
    ds["noise_magnitude"][:] = 0.0
    ds["noise_magnitude"].loc[{"algorithm": "Other"}] = 0.5
    assert statistics.noisy(ds).sel(epsilon=INF).values.tolist() == [False, False, True]
    rivals = statistics.equally_private(ds).sel(epsilon=INF)
    assert rivals.values.tolist() == [[True, True, False], [True, True, False], [False] * 3]


@pytest.mark.parametrize("whole", [False, True])
def test_lowest_errors_are_not_marked(whole):
    """Rounds are selected on the test set, whether or not budgets are totals."""
    ds = build({"ObjP": {INF: 0.1}, "OutP": {INF: 0.3}}, noise={"ObjP": 0.0, "OutP": 0.0})
    if whole:
        ds = totals(build({"ObjP": {1.0: 0.1}, "OutP": {1.0: 0.3}}, sensitivity="global"))
    final, lowest = (
        {row[0]: row[1].verdict for row in tables.errors(ds, how, compare([ds])).rows}
        for how in ("final", "best")
    )
    assert final == {"ObjP": "winner", "OutP": "worse"}
    assert lowest == {"ObjP": "", "OutP": ""}
