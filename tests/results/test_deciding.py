"""Verdicts, rows and forecasts by hand; and invented studies, in which at most 5 % may say anything wrong."""

from __future__ import annotations

import math

import numpy as np
import pytest
import xarray as xr
from scipy import stats

from admmbench.results import deciding, statistics
from tests.pages import ROOT
from tests.results.studies import Setting, judge

LOOKS = (10, 20, 40, 80, 160)
MOST = 0.06
"""What the upper 95 % limit of the part of wrong studies may be."""
STUDIES = 2000


def gap(lower, upper):
    ends = xr.Dataset({"lower": ("pair", lower), "upper": ("pair", upper)})
    return ends.assign(mean=(ends["lower"] + ends["upper"]) / 2)


def test_a_pair_is_judged_by_its_interval():
    found = deciding.verdicts(
        gap([-1, 0.1, 0.1, -0.4, -2, -1, 0, np.nan], [1, 0.4, 2, -0.1, -0.1, 2, 0, np.nan]), 1.0
    )
    assert found.values.tolist() == [
        *["equivalent", "equivalent", "worse", "equivalent", "better", "undecided"],
        *["equivalent", ""],
    ]
    alone = deciding.verdicts(gap([-1, 0.1, 0], [1, 0.4, 0]), 0.0)
    assert alone.values.tolist() == ["undecided", "worse", "equivalent"]


def row(means, **words):
    """Standings of methods a, b, c, ... with these verdicts, such as ba="worse"; the others are undecided."""
    labels = list("abcdefg"[: len(means)])
    opposite = {"worse": "better", "better": "worse"}
    verdict = xr.DataArray(
        np.full((len(labels), len(labels)), "undecided", "U10"),
        dims=("algorithm", "rival"),
        coords={"algorithm": labels, "rival": labels},
    )
    for pair, word in words.items():
        a, b = list(pair)
        verdict.loc[{"algorithm": a, "rival": b}] = word
        verdict.loc[{"algorithm": b, "rival": a}] = opposite.get(word, word)
    for label in labels:
        verdict.loc[{"algorithm": label, "rival": label}] = "equivalent"
    means = xr.DataArray(means, dims="algorithm", coords={"algorithm": labels})
    return deciding.standing(means, verdict).values.tolist()


def test_a_row_is_decided_if_all_are_equivalent_to_the_lowest_or_worse_than_some_method():
    assert row([1, 2, 3], ba="worse", ca="worse") == ["winner", "worse", "worse"]
    assert row([1, 2, 3], ba="equivalent", ca="worse") == ["equivalent", "equivalent", "worse"]
    assert row([1, 2, 3], ba="equivalent") == ["undecided"] * 3
    assert row([1, 2, 3], ca="worse") == ["undecided", "undecided", "worse"]
    # Worse than another than the lowest is out as well, and equivalent to the lowest stays in.
    assert row([1, 2, 3], ba="worse", cb="worse") == ["winner", "worse", "worse"]
    assert row([1, 2, 3], ba="equivalent", cb="worse", ca="worse")[1:] == ["equivalent", "worse"]
    assert row([1, np.nan], ba="") == ["alone", ""]
    assert row([np.nan, np.nan]) == ["", ""]
    # Intervals that contradict each other decide nothing.
    assert row([1, 2, 3], ba="worse", cb="worse", ac="worse") == ["undecided"] * 3


def test_looks_are_intersected_and_the_last_one_counts_where_they_contradict():
    values = np.random.default_rng(1).normal(size=40)
    seeds = xr.DataArray(values, dims="seed")

    def t(n):
        return stats.t.interval(0.99, n - 1, values[:n].mean(), stats.sem(values[:n]))

    found = deciding.intervals(seeds, 0.99, [10, 20, 40, 80])
    assert found["n"] == 40
    assert found["mean"] == pytest.approx(values.mean())
    lows, highs = zip(*(t(n) for n in (10, 20, 40)), strict=True)
    assert found["lower"] == pytest.approx(max(lows))
    assert found["upper"] == pytest.approx(min(highs))
    assert deciding.intervals(seeds[:35], 0.99, [10, 20, 40])["n"] == 20
    shifted = seeds + 100 * (seeds["seed"] >= 10)
    last = deciding.intervals(shifted, 0.99, [10, 40])
    alone = deciding.intervals(shifted, 0.99)
    for end in ("lower", "upper"):
        assert last[end] == alone[end]


def test_a_pair_without_further_seeds_keeps_what_its_last_look_showed():
    values = xr.DataArray(np.random.default_rng(2).normal(size=(2, 20)), dims=("pair", "seed"))
    ran = (values["pair"] == 0) | (values["seed"] < 10)
    found = deciding.intervals(values.where(ran), 0.9, [10, 20])
    first = deciding.intervals(values.isel(seed=slice(10)), 0.9, [10])
    assert found["n"].values.tolist() == [20, 10]
    for end in ("mean", "lower", "upper"):
        assert found[end][1] == first[end][1]


def test_levels_share_four_fifths_of_five_percent():
    assert pytest.approx(0.96) == deciding.TOGETHER
    level = deciding.level_of_pairs(105, 15, 5)
    assert 105 * 15 * 5 * (1 - level) == pytest.approx(0.04)


def test_methods_that_are_added_share_the_fifth_that_was_set_aside():
    level = deciding.level_of_added(3, 15, 5, 4)
    assert 15 * 5 * 4 * 3 * (3 + 1) * (1 - level) == pytest.approx(0.01)
    # All that may ever be added, each beside every method of every row at every look.
    spent = sum(15 * 5 * 4 * (1 - deciding.level_of_added(k, 15, 5, 4)) for k in range(1, 2000))
    assert 0.00999 < spent < 0.01
    levels = deciding.levels(["a", "b", "c"], {"d": 1, "f": 3}, 5, 4)
    assert (levels[:3, :3] == deciding.level_of_pairs(3, 5, 4)).all()
    for label, turn in (("d", 1), ("f", 3)):
        own = deciding.level_of_added(turn, 3, 5, 4)
        assert (levels.sel(algorithm=label)[:3] == own).all()
        assert (levels.sel(rival=label)[:3] == own).all()
    assert np.isnan(levels[3:, 3:]).all()


def test_the_forecast_is_the_number_of_seeds_that_decides_four_studies_of_five():
    """By simulation: means and standard deviation are as they seem."""
    level, random = 0.999, np.random.default_rng(3)
    for mean, margin, wanted in (
        (0.5, 0.1, "worse"),
        (0.0, 0.4, "equivalent"),
        (0.2, 0.5, "equivalent"),
    ):
        n = deciding.seeds_needed(mean, 1.0, margin, level)
        drawn = xr.DataArray(random.normal(mean, size=(4000, int(n))), dims=("study", "seed"))
        found = deciding.verdicts(statistics.interval(drawn, level), margin)
        assert float((found == wanted).mean()) == pytest.approx(0.8, abs=0.02)
    assert deciding.seeds_needed(1, 0, 0.1, level) == 2
    assert deciding.seeds_needed(0, 1, 0, level) == math.inf
    assert deciding.seeds_needed(0.1, 1, 0.2, level, redrawn=0.1) == math.inf


def limit(part: float, studies: int = STUDIES) -> float:
    """Upper 95 % limit of a probability (Clopper and Pearson)."""
    wrong = round(part * studies)
    return float(stats.beta.ppf(0.95, wrong + 1, studies - wrong))


EQUAL, BEYOND = (0.0, 0.0, 0.0), (0.0, 0.0, 20.001)
KINDS = {
    "normal": {},
    "unequal spreads": {"spreads": (1.0, 2.0, 4.0)},
    "skewed": {"skewness": 0.5, "spreads": (1.0, 2.0, 3.0)},
}
TRIED = {
    f"{means}, {kind}, correlation {correlation:g}, {seeds} seeds": Setting(
        *{"no difference": (EQUAL, 0.01), "just beyond the margin": (BEYOND, 20.0)}[means],
        LOOKS if seeds == "10 to 160" else (int(seeds),),
        rows=5,
        correlation=correlation,
        **given,
    )
    for means in ("no difference", "just beyond the margin")
    for kind, given in KINDS.items()
    for correlation in (0.0, 0.5, 0.95)
    for seeds in ("10", "40", "160", "10 to 160")
}
TRIED |= {
    f"no difference and two added, {kind}, correlation 0.5, {seeds} seeds": Setting(
        (0.0,) * 5,
        0.01,
        LOOKS if seeds == "10 to 160" else (int(seeds),),
        rows=5,
        correlation=0.5,
        added=2,
        **{**given, "spreads": (*given.get("spreads", (1.0,) * 3), 1.0, 2.0)},
    )
    for kind, given in KINDS.items()
    for seeds in ("10", "10 to 160")
}
HARDEST = "no difference, normal, correlation 0, 10 seeds"


@pytest.mark.parametrize(
    "name",
    [
        HARDEST,
        "no difference, skewed, correlation 0.5, 10 seeds",
        "just beyond the margin, unequal spreads, correlation 0.95, 10 seeds",
        "no difference and two added, normal, correlation 0.5, 10 seeds",
    ],
)
def test_few_studies_say_anything_wrong(name):
    said = judge(TRIED[name], STUDIES)
    assert said.row <= said.pair
    assert limit(said.pair) <= MOST


def test_narrower_intervals_are_found_out():
    assert limit(judge(TRIED[HARDEST], STUDIES, narrow=0.8).pair) > MOST


def wrong_of_counts(records, seeds, least):
    """Part of the studies of ten equal methods in which errors of so many records say anything."""
    errors = np.random.default_rng(1).binomial(records, 0.15, (STUDIES, 10, seeds)) / records
    first, second = np.triu_indices(10, 1)
    pairs = xr.DataArray(errors[:, first] - errors[:, second], dims=("study", "pair", "seed"))
    level = deciding.level_of_pairs(len(first), 1, 1)
    said = deciding.verdicts(deciding.intervals(pairs, level, least=least), 0.0)
    return float((said != "undecided").any("pair").mean())


@pytest.mark.parametrize(("records", "seeds"), [(30, 2), (30, 3), (30, 5), (100, 3), (360, 2)])
def test_a_few_seeds_of_a_few_records_say_little_that_is_wrong(records, seeds):
    assert limit(wrong_of_counts(records, seeds, 1 / (2 * records))) <= MOST


def test_a_few_seeds_that_agree_by_chance_are_found_out():
    assert wrong_of_counts(30, 3, 0.0) > 0.3


def test_studies_that_can_be_decided_are():
    clear = Setting((0.0, 0.1, 3.0), 1.0, LOOKS, correlation=0.5)
    said = judge(clear, 250)
    assert said.decided > 0.99
    assert said.pair < 0.05


@pytest.mark.explore
@pytest.mark.parametrize("name", TRIED)
def test_few_studies_of_any_kind_say_anything_wrong(name):
    said = judge(TRIED[name], STUDIES)
    assert limit(said.pair) <= MOST
    page = (ROOT / "docs/sure.md").read_text()
    means, kind, correlation, seeds = name.split(", ")
    row = f"| {means} | {kind} | {correlation.split()[1]} | {seeds.removesuffix(' seeds')} |"
    assert f"{row} {100 * said.pair:.1f} | {100 * said.row:.1f} |" in page
