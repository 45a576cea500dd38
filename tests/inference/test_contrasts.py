"""Verdicts on pairs and settings by hand; and invented studies, in which at most 5 % may say anything wrong."""

from __future__ import annotations

import re

import numpy as np
import pytest
import xarray as xr
from scipy import stats

from admmbench.inference.contrasts import equivalent, judge_pairs, judge_setting
from admmbench.inference.intervals import Estimate
from admmbench.inference.levels import error_of_turn, intersected, level_of_pairs
from admmbench.inference.power import POWER, seeds_needed
from tests.inference.studies import Setting, judge
from tests.pages import ROOT

LOOKS = (10, 20, 40, 80, 160)
MOST = 0.06
"""What the upper 95 % limit of the part of wrong studies may be."""
STUDIES = 2000


def gap(lower, upper):
    ends = xr.Dataset({"lower": ("pair", lower), "upper": ("pair", upper)})
    return ends.assign(mean=(ends["lower"] + ends["upper"]) / 2)


def test_a_pair_is_judged_by_its_interval():
    found = judge_pairs(
        gap([-1, 0.1, 0.1, -0.4, -2, -1, 0, np.nan], [1, 0.4, 2, -0.1, -0.1, 2, 0, np.nan]), 1.0
    )
    assert found.values.tolist() == [
        *["equivalent", "equivalent", "worse", "equivalent", "better", "undecided"],
        *["equivalent", ""],
    ]
    alone = judge_pairs(gap([-1, 0.1, 0], [1, 0.4, 0]), 0.0)
    assert alone.values.tolist() == ["undecided", "worse", "equivalent"]


def setting(means, **words):
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
    return judge_setting(means, verdict).values.tolist()


def test_a_setting_is_decided_if_all_are_equivalent_to_the_lowest_or_worse_than_some_method():
    assert setting([1, 2, 3], ba="worse", ca="worse") == ["winner", "worse", "worse"]
    assert setting([1, 2, 3], ba="equivalent", ca="worse") == ["equivalent", "equivalent", "worse"]
    assert setting([1, 2, 3], ba="equivalent") == ["undecided"] * 3
    assert setting([1, 2, 3], ca="worse") == ["undecided", "undecided", "worse"]
    # Worse than another than the lowest is out as well, and equivalent to the lowest stays in.
    assert setting([1, 2, 3], ba="worse", cb="worse") == ["winner", "worse", "worse"]
    assert setting([1, 2, 3], ba="equivalent", cb="worse", ca="worse")[1:] == [
        "equivalent",
        "worse",
    ]
    assert setting([1, np.nan], ba="") == ["alone", ""]
    assert setting([np.nan, np.nan]) == ["", ""]
    # Intervals that contradict each other decide nothing.
    assert setting([1, 2, 3], ba="worse", cb="worse", ac="worse") == ["undecided"] * 3


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
# Errors of a run and of its mirror are correlated by 1 - 2 odd: -0.46 to -0.76 in a pilot on MNIST.
TRIED |= {
    f"{means}, {kind}, correlation {correlation:g}, 10 to 160 seeds": Setting(
        values,
        margin,
        LOOKS,
        rows=5,
        correlation=correlation,
        odd=0.8,
        signs=(1.0, -1.0, *[1.0] * (len(values) - 2)),
        added=added,
        **{**given, "spreads": (*given.get("spreads", (1.0,) * 3), 1.0, 2.0)[: len(values)]},
    )
    for means, values, margin, added in (
        ("no difference in pairs", EQUAL, 0.01, 0),
        ("just beyond the margin in pairs", BEYOND, 20.0, 0),
        ("no difference in pairs and two added", (0.0,) * 5, 0.01, 2),
    )
    for kind, given in KINDS.items()
    for correlation in ((0.0, 0.5, 0.95) if means == "no difference in pairs" else (0.5,))
}
HARDEST = "no difference, normal, correlation 0, 10 seeds"


@pytest.mark.parametrize(
    "name",
    [
        HARDEST,
        "no difference, skewed, correlation 0.5, 10 seeds",
        "just beyond the margin, unequal spreads, correlation 0.95, 10 seeds",
        "no difference and two added, normal, correlation 0.5, 10 seeds",
        "no difference in pairs and two added, normal, correlation 0.5, 10 to 160 seeds",
    ],
)
def test_few_studies_say_anything_wrong(name):
    said = judge(TRIED[name], STUDIES)
    assert said.row <= said.pair
    assert limit(said.pair) <= MOST


RACES = {
    "all equal": Setting((0.0,) * 12, 0.5, (10, 20, 40, 80), rows=2, correlation=0.5),
    "one winner": Setting((0.0, *(2.5,) * 11), 0.5, (10, 20, 40, 80), rows=2, correlation=0.5),
}


@pytest.mark.parametrize("name", RACES)
def test_a_race_of_12_methods_stops_nobody_wrongly(name):
    """As `admmbench rank --until-decided` at two totals: what is behind stops, and verdicts share one level."""
    said = judge(RACES[name], STUDIES)
    assert limit(said.pair) <= MOST
    assert said.row <= said.pair
    if name == "one winner":
        assert said.decided > 0.99


def test_a_race_with_narrower_intervals_is_found_out():
    assert limit(judge(RACES["all equal"], STUDIES, narrow=0.7).pair) > MOST


def test_narrower_intervals_are_found_out():
    assert limit(judge(TRIED[HARDEST], STUDIES, narrow=0.8).pair) > MOST


def wrong_of_counts(records, seeds, least):
    """Part of the studies of ten equal methods in which errors of so many records say anything."""
    errors = np.random.default_rng(1).binomial(records, 0.15, (STUDIES, 10, seeds)) / records
    first, second = np.triu_indices(10, 1)
    pairs = xr.DataArray(errors[:, first] - errors[:, second], dims=("study", "pair", "seed"))
    level = level_of_pairs(len(first), 1, 1)
    said = judge_pairs(intersected(pairs, level, least=least), 0.0)
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


def test_a_winner_of_one_margin_is_found_as_often_as_a_forecast_by_pairs_says():
    odd, margin, sign = 0.8, 1.0, -1.0
    # The difference of two errors of variance 1 whose noise has opposite signs, and of the means of their pairs.
    correlation = 0.5
    single = 2 - 2 * correlation * (odd * sign + 1 - odd)
    paired = 2 * (1 - correlation) * (1 - odd)
    rows, looks = 15, 5
    level = level_of_pairs(1, rows, looks, error_of_turn(1))
    pair = Estimate(-margin, np.sqrt(paired), 10)
    needed = int(seeds_needed([(pair, equivalent(margin, level))]))
    of_seeds = level_of_pairs(1, rows, looks)
    alone = seeds_needed([(Estimate(-margin, np.sqrt(single), 10), equivalent(margin, of_seeds))])
    assert 2 * needed < alone
    random = np.random.default_rng(4)
    drawn = random.normal(-margin, np.sqrt(paired), (STUDIES, needed))
    found = intersected(xr.DataArray(drawn, dims=("study", "seed")), level)
    assert (judge_pairs(found, margin) == "better").mean() == pytest.approx(POWER, abs=0.03)
    # In whole studies with as many seeds and mirrors it is found as well.
    study = Setting((0.0, margin), margin, (needed,), 1, correlation, odd=odd, signs=(1.0, sign))
    assert judge(study, 1000).decided > POWER


@pytest.mark.explore
@pytest.mark.parametrize("cell", dict.fromkeys(re.sub(r", .*,", ",", name) for name in TRIED))
def test_few_studies_of_any_kind_say_anything_wrong(cell):
    """The page has the largest over kinds of errors and correlations."""
    means, seeds = cell.split(", ")
    names = [n for n in TRIED if n.startswith(f"{means}, ") and n.endswith(f", {seeds}")]
    said = [judge(TRIED[name], STUDIES) for name in names]
    assert all(limit(each.pair) <= MOST for each in said)
    page = (ROOT / "docs/sure.md").read_text()
    head, *table = re.findall(r"^\| (.*) \|$", page.partition("## Does it hold?")[2], re.MULTILINE)
    (row,) = (line.split(" | ") for line in table if line.startswith(f"{means} |"))
    largest = max(each.pair for each in said), max(each.row for each in said)
    shown = "{:.1f} ({:.1f})".format(*(100 * part for part in largest))
    assert row[head.split(" | ").index(seeds)] == shown
