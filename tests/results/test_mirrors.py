"""Verdicts by antithetic pairs: the mean of a run and its mirror is one value."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy import stats

from admmbench.base.outcomes import Outcome
from admmbench.inference.levels import error_of_turn, level_of_added, level_of_pairs
from admmbench.results.joining import join
from admmbench.results.who_wins import compare
from tests.made import build, totals

LABELS = ("OutP", "ObjP", "ObjT")


def made(seeds=20, odd=0.05, even=0.002, apart=0.01, pairs=None, mirrors=None, **attrs):
    """Results whose noise pushes OutP and the others in opposite directions, with mirrors of some seeds."""
    random = np.random.default_rng(3)
    errors = {label: {1.0: 0.3 + apart * number} for number, label in enumerate(LABELS)}
    stated = {"interim_analyses": "[10, 20]", "margin": 0.001, **attrs}
    if pairs is not None:
        stated["pairs"] = json.dumps(pairs)
    found = totals(build(errors, seeds=seeds, spread=0.0, sensitivity="global", **stated))
    noise = odd * random.normal(size=seeds)
    own = even * random.normal(size=(2, 3, seeds))
    sign = np.array([1.0, -1.0, -1.0])[:, None]
    final = found["test_error"].values[:, 0, :, -1]
    halves = [final + sign * noise + own[0], final - sign * noise + own[1]]
    found["test_error"].values[:, 0, :, -1] = halves[0]
    if mirrors:
        second = found["status"].astype(float).copy(data=halves[1][:, None])
        ended = found["status"].copy()
        beyond = {"seed": slice(mirrors, None)}
        second[beyond], ended[beyond] = np.nan, Outcome.NOT_RUN
        found = found.assign(mirror=second, mirror_status=ended)
    return found, halves


def test_pairs_are_judged_by_the_means_of_both_halves_at_levels_of_their_own():
    found, (first, second) = made(pairs={"after": 0}, mirrors=10)
    setting = compare([found]).isel(setting=0)
    middle = (first + second)[:, :10] / 2
    gap = middle[1] - middle[0]
    # The first of two analyses, in one setting of three pairs of methods, by a tenth of the error.
    level = 1 - 0.8 * 0.05 / 10 / (1 * 2 * 3)
    assert level == pytest.approx(level_of_pairs(3, 1, 2, error_of_turn(1)))
    low, high = stats.t.interval(level, 9, gap.mean(), stats.sem(gap))
    pair = setting.sel(algorithm="ObjP", rival="OutP")
    assert pair["difference"] == pytest.approx(gap.mean())
    assert pair["difference_lower"] == pytest.approx(low)
    assert pair["difference_upper"] == pytest.approx(high)
    assert pair["pair_verdict"] == "worse"
    single = first[1] - first[0]
    assert pair["deviation"] == pytest.approx(single.std(ddof=1))
    # By single runs the pair is open, and so is the part of the seeds at which a method is lower.
    alone = compare([made()[0]]).isel(setting=0).sel(algorithm="ObjP", rival="OutP")
    assert alone["pair_verdict"] == "undecided"
    assert pair["chance"] == alone["chance"] == pytest.approx((single < 0).mean())
    both = np.where(np.arange(20) < 10, (first + second) / 2, first)
    assert setting["mean"].values == pytest.approx(both.mean(axis=1))
    assert setting["mirrors"].values.tolist() == [10, 10, 10]


def test_intervals_by_seeds_stay_where_pairs_say_less():
    found, _ = made(odd=0.0, even=0.02, apart=0.0, pairs={"after": 0}, mirrors=10)
    plain = compare([made(odd=0.0, even=0.02, apart=0.0)[0]]).isel(setting=0)
    setting = compare([found]).isel(setting=0)
    for one, other in ((0, 1), (1, 2), (0, 2)):
        place = {"algorithm": one, "rival": other}
        assert setting["difference_lower"].isel(place) >= plain["difference_lower"].isel(place)
        assert setting["difference_upper"].isel(place) <= plain["difference_upper"].isel(place)
    assert setting["gain"] == pytest.approx(1, abs=0.6)


def test_the_gain_is_pooled_over_open_pairs_of_methods_in_the_pilot():
    found, (first, second) = made(apart=0.0, pairs={"after": 0}, mirrors=20, margin=0.0)
    setting = compare([found]).isel(setting=0)
    ratios = []
    for one, other in ((0, 1), (0, 2), (1, 2)):
        if setting["pair_verdict"].isel(algorithm=one, rival=other) == "undecided":
            halves = [(half[one] - half[other])[:10] for half in (first, second)]
            single = np.mean([half.var(ddof=1) for half in halves])
            ratios.append(single / 2 / np.mean(halves, axis=0).var(ddof=1))
    assert len(ratios) > 1
    assert setting["gain"] == pytest.approx(np.exp(np.mean(np.log(ratios))))
    assert setting["gain"] > 10
    assert setting["pairs"] < setting["seeds"]
    fewer = compare([made(apart=0.0, pairs={"after": 0}, mirrors=5)[0]]).isel(setting=0)
    assert np.isnan(fewer["gain"])


def test_methods_that_are_added_after_pairs_take_the_turns_behind_theirs():
    for after, turn in ((0, 2), (1, 1)):
        found, _ = made(pairs={"after": after}, added='["ObjT"]')
        pair = compare([found]).isel(setting=0).sel(algorithm="ObjT", rival="OutP")
        values = found["test_error"].isel(round=-1, epsilon=0)
        gap = (values[2] - values[0]).values
        level = level_of_added(turn, 2, 1, 2)
        ends = [
            stats.t.interval(level, n - 1, gap[:n].mean(), stats.sem(gap[:n])) for n in (10, 20)
        ]
        assert pair["difference_lower"] == pytest.approx(max(low for low, _ in ends))


def test_mirrors_do_not_count_where_no_pairs_are_stated():
    found, _ = made(mirrors=10)
    plain, _ = made()
    one, other = (compare([each]).isel(setting=0) for each in (found, plain))
    for name in ("difference_lower", "mean", "gain"):
        np.testing.assert_array_equal(one[name], other[name])


def test_a_method_whose_mirror_failed_does_not_compete():
    found, _ = made(pairs={"after": 0}, mirrors=10)
    found["mirror_status"][2, 0, 4] = Outcome.DIVERGED
    setting = compare([found]).isel(setting=0)
    assert setting["failed"].values.tolist() == [0, 0, 1]
    assert setting["mean"].isnull().values.tolist() == [False, False, True]


def test_results_with_mirrors_are_joined():
    found, _ = made(pairs={"after": 0}, mirrors=10)
    parts = [found.sel(algorithm=[*labels]) for labels in (LABELS[:2], LABELS[2:])]
    joined = join(parts[0], parts[1].drop_vars(["mirror", "mirror_status"]))
    assert (joined["mirror_status"].sel(algorithm="ObjT") == Outcome.NOT_RUN).all()
    np.testing.assert_array_equal(
        joined["mirror"].sel(algorithm="OutP"), found["mirror"].sel(algorithm="OutP")
    )
    assert joined["mirror_status"].dtype == found["mirror_status"].dtype
