"""Who wins at equal privacy: against scipy, Demsar (2006), cases worked by hand, and many invented studies."""

from __future__ import annotations

import re

import numpy as np
import pytest
import xarray as xr
from scipy import stats

from admmbench.base.outcomes import Outcome
from admmbench.figures.wording import listed
from admmbench.inference.contrasts import equivalent
from admmbench.inference.intervals import Estimate
from admmbench.inference.power import seeds_needed
from admmbench.report import answer
from admmbench.report.environment import words
from admmbench.results import statistics
from admmbench.results.who_wins import (
    compare,
    compared_settings,
    lead,
    marks,
    mean_ranks,
    names,
    verdicts,
)
from tests.made import INF, build, totals

# Demsar (2006), table 6: AUC of four variants of C4.5 on 14 data sets. Two numbers of the fourth last row are printed
# alike and ranked apart.
AUC = np.array(
    [
        [0.763, 0.768, 0.771, 0.798],
        [0.599, 0.591, 0.590, 0.569],
        [0.954, 0.971, 0.968, 0.967],
        [0.628, 0.661, 0.654, 0.657],
        [0.882, 0.888, 0.886, 0.898],
        [0.936, 0.931, 0.916, 0.931],
        [0.661, 0.668, 0.609, 0.685],
        [0.583, 0.583, 0.563, 0.625],
        [0.775, 0.838, 0.866, 0.875],
        [1.000, 1.000, 1.000, 1.000],
        [0.940, 0.962, 0.965, 0.962],
        [0.619, 0.666, 0.614, 0.669],
        [0.972, 0.981, 0.9751, 0.975],
        [0.957, 0.978, 0.946, 0.970],
    ]
)


def short(content):
    """The answer in a sentence or two."""
    return words().short(content["answer"])


VARIANTS = ["C4.5", "C4.5+m", "C4.5+cf", "C4.5+m+cf"]


def table(means, labels):
    """A comparison, as far as ranks need it; NaN for a method that lost runs."""
    means = xr.DataArray(
        np.asarray(means, float), dims=("setting", "algorithm"), coords={"algorithm": labels}
    )
    stated = means.copy(data=np.full(means.shape, ""))
    compared = means.copy(data=np.ones(means.shape, bool))
    same = means["algorithm"].broadcast_like(means)
    return xr.Dataset({"mean": means, "compared": compared, "added": stated, "same_as": same})


def study(values, epsilon=1.0, **given):
    """Results with one total, and these errors by label and seed; what is beside them ran without privacy."""
    seeds = len(next(iter(values.values())))
    free = {label: np.asarray(own) for label, own in given.pop("free", {}).items()}
    errors = {label: {epsilon: 0.5} for label in values} | {label: {INF: 0.5} for label in free}
    ds = totals(build(errors, seeds=seeds, sensitivity="global", **given))
    for label, own in {**values, **free}.items():
        at = {"algorithm": label, "epsilon": INF if label in free else epsilon, "round": 300}
        ds["test_error"].loc[at] = own
    return ds


CLEAR = {
    "ObjP": [0.10, 0.11, 0.12, 0.13],
    "ObjT": [0.20, 0.21, 0.22, 0.2301],
    "OutP": [0.31, 0.31, 0.32, 0.33],
}


def test_a_difference_is_that_of_the_paired_t_test_at_the_level_of_all_pairs():
    first, second = study(CLEAR), study({label: CLEAR[label] for label in ("ObjP", "ObjT")}, 2.0)
    found = compare([first, second])
    assert found.comparisons == 3 + 1
    # Four fifths of 5 %, half for each row, and equal parts for the pairs of a row.
    assert found["level"].values.tolist() == [pytest.approx(1 - 0.02 / n) for n in (3, 1)]
    for a, b in (("OutP", "ObjT"), ("ObjP", "OutP"), ("ObjT", "ObjP")):
        expected = stats.ttest_rel(CLEAR[a], CLEAR[b]).confidence_interval(1 - 0.02 / 3)
        own = found.isel(setting=0).sel(algorithm=a, rival=b)
        assert own["difference"] == pytest.approx(np.mean(CLEAR[a]) - np.mean(CLEAR[b]))
        assert own["difference_lower"] == pytest.approx(expected.low)
        assert own["difference_upper"] == pytest.approx(expected.high)
    own = found.isel(setting=0).sel(algorithm="ObjT")
    low, high = stats.t.interval(0.95, 3, np.mean(CLEAR["ObjT"]), stats.sem(CLEAR["ObjT"]))
    assert (own["lower"], own["upper"]) == (pytest.approx(low), pytest.approx(high))
    assert not found["compared"].sel(algorithm="OutP").values[1]
    assert np.isnan(found["difference"].sel(algorithm="OutP", rival="ObjP").values[1])
    assert list(found["epsilon"].values) == [1, 2]


def verdicts_of(found):
    return dict(zip(found["algorithm"].values, found["verdict"].values, strict=True))


def test_the_lowest_mean_wins_if_all_others_are_worse():
    found = compare([study(CLEAR)]).isel(setting=0)
    assert (found["lowest"], found["runner_up"]) == ("ObjP", "ObjT")
    assert verdicts_of(found) == {"ObjP": "winner", "ObjT": "worse", "OutP": "worse"}
    assert found["seeds"] == 0
    close = {**CLEAR, "ObjT": [0.11, 0.09, 0.14, 0.14]}
    found = compare([study(close)]).isel(setting=0)
    assert (found["lowest"], found["runner_up"]) == ("ObjP", "ObjT")
    assert verdicts_of(found) == {"ObjP": "undecided", "ObjT": "undecided", "OutP": "worse"}
    assert found["pair_verdict"].sel(algorithm="OutP", rival="ObjP") == "worse"
    assert found["pair_verdict"].sel(algorithm="ObjP", rival="OutP") == "better"
    assert 4 < found["seeds"] < 10_000


def test_methods_within_the_margin_are_equivalent_even_if_one_is_shown_to_be_lower():
    near = {**CLEAR, "ObjT": [0.101, 0.111, 0.121, 0.1310001]}
    found = compare([study(near, margin=0.002)]).isel(setting=0)
    assert found["difference_lower"].sel(algorithm="ObjT", rival="ObjP") > 0
    assert verdicts_of(found) == {"ObjP": "equivalent", "ObjT": "equivalent", "OutP": "worse"}
    assert verdicts_of(compare([study(near)]).isel(setting=0))["ObjP"] == "winner"


def test_looks_that_are_to_come_have_their_share():
    found = compare([study(CLEAR, interim_analyses="[4, 8]")])
    assert found["level"].item() == pytest.approx(1 - 0.04 / 3 / 2)
    assert found["analyses"] == 2


NAMES = '["OutP first", "OutP second", "OutP third"]'
LATER = {
    "OutP first": [0.20, 0.20, 0.21, 0.2102],
    "OutP second": [0.0201, 0.0302, 0.0401, 0.0501],
    "OutP third": [0.11, 0.09, 0.14, 0.14],
}


def test_methods_that_were_added_leave_the_verdicts_of_the_others_as_they_were():
    alone, found = (
        compare([study(values, added=NAMES)]).isel(setting=0)
        for values in (CLEAR, {**LATER, **CLEAR})
    )
    same = found.sel(algorithm=list(CLEAR), rival=list(CLEAR))
    # An added method may lead as well.
    leads = [each["possible_lead"].item() for each in (alone, found)]
    xr.testing.assert_identical(*(each.drop_vars("possible_lead") for each in (same, alone)))
    ends = found["difference_lower"].sel(rival="ObjP").dropna("algorithm")
    assert leads[0] == 0
    assert leads[1] == pytest.approx(-float(ends.min()))
    assert found.comparisons == 3
    for turn, label in enumerate(LATER, 1):
        own = found.sel(algorithm=label, rival="ObjT")
        level = 1 - 0.01 / 3 / turn / (turn + 1)
        expected = stats.ttest_rel(LATER[label], CLEAR["ObjT"]).confidence_interval(level)
        assert own["difference_lower"] == pytest.approx(expected.low)
        assert own["difference_upper"] == pytest.approx(expected.high)
    assert np.isnan(found["difference"].sel(algorithm=list(LATER), rival=list(LATER))).all()
    assert dict(zip(found["algorithm"].values, found["added"].values, strict=True)) == {
        **{"OutP first": "worse", "OutP second": "better", "OutP third": "undecided"},
        **dict.fromkeys(CLEAR, ""),
    }
    assert (found["verdict"].sel(algorithm=list(LATER)) == "").all()
    one = compare([study({**LATER, **CLEAR}, added=NAMES, diverged={("OutP first", 1.0): 1})])
    assert one["added"].sel(algorithm="OutP first") == "not compared"
    assert set(mean_ranks(one)["algorithm"].values) == set(CLEAR)


def test_the_answer_says_how_methods_that_were_added_are_beside_the_best():
    studies = [study({**LATER, **CLEAR}, float(epsilon), added=NAMES) for epsilon in (1, 2)]
    content = answer.content(compare(studies), {})
    assert short(content) == (
        "ObjP wins on MNIST at ε = 1, 2. OutP second, added later, is better than the best and leads on MNIST at "
        "ε = 1, 2. Nowhere significantly worse: ObjP."
    )
    assert words().others_added(content["answer"]) == (
        "OutP first, added later, is behind on MNIST at ε = 1, 2. OutP third, added later, is undecided on MNIST at "
        "ε = 1, 2."
    )
    row = content["groups"][0]["summaries"][0]
    assert (row.winner, row.runner_up) == ("ObjP", "ObjT")
    assert [own.verdict for own in row.added] == ["worse", "better", "undecided"]
    assert row.added[1].difference.centre == pytest.approx(-0.0799, abs=1e-4)
    ranks = {each.label: each.ranks for each in content["groups"][0]["control_tables"][0]["rows"]}
    assert (ranks["ObjP"], ranks["OutP second"]) == ((1, 1), None)
    cells = {each["label"]: each["cells"][0].verdict for each in content["board"]["rows"]}
    assert (cells["ObjP"], cells["OutP second"], cells["OutP first"]) == (
        "winner",
        "better",
        "worse",
    )
    assert content["added"] == list(LATER)


def with_constant(ds, error):
    ds["test_error"].attrs["best_constant"] = error
    return ds


def test_methods_that_are_no_better_than_a_constant_are_said_to_be_so_first():
    first = with_constant(study(CLEAR), 0.05)
    found = compare([first, with_constant(study(CLEAR, 2.0), 0.05)])
    content = answer.content(found, {})
    assert short(content).startswith(
        "No method is better than a constant prediction on MNIST at ε = 1, 2 (the commonest class: 5.00 %). ObjP wins"
    )
    assert content["board"]["constants"]
    # One method is as good as it, in which nothing is won; then one is better.
    same = compare([with_constant(study(CLEAR), 0.115)])
    assert short(answer.content(same, {})).startswith("No method is better")
    better = answer.content(compare([with_constant(study(CLEAR), 0.116)]), {})
    assert short(better) == "ObjP wins on MNIST at ε = 1."
    unknown = answer.content(compare([study(CLEAR)]), {})
    assert short(unknown) == short(better)
    assert not unknown["board"]["constants"]


def test_a_constant_is_no_yardstick_of_another_metric():
    timed = with_constant(build({"A": {INF: 0.5}, "B": {INF: 0.4}}), 0.1)
    assert lead(timed)["constant"] == 0.1
    seconds = timed["test_error"].copy().drop_attrs().assign_attrs(long_name="time", units="s")
    assert np.isnan(lead(timed.assign(seconds=seconds))["constant"])


def test_a_method_that_was_added_and_leads_comes_after_the_best_of_the_others():
    studies = [study({**LATER, **ALIKE}, k, added=NAMES, margin=0.002) for k in (1.0, 2.0)]
    assert short(answer.content(compare(studies), {})).startswith(
        "ObjP and ObjT are equivalent on MNIST at ε = 1, 2 (margin 0.20 points). OutP second, added later, is better"
    )


@pytest.mark.parametrize(
    ("count", "said"), [(3, "A; B; C"), (4, "A; B; C; D"), (5, "A; B; C and 2 more")]
)
def test_a_single_further_label_is_named_as_well(count, said):
    assert listed("ABCDE"[:count], 3) == said


def test_a_row_is_stated_with_two_methods_at_least():
    assert compare([study(CLEAR, added='["ObjT", "OutP"]')]) is None
    everyone = {(label, 1.0): 4 for label in CLEAR}
    lost = compare([study({**LATER, **CLEAR}, added=NAMES, diverged=everyone)])
    assert (lost["added"].sel(algorithm=list(LATER)) == "not compared").all()
    assert (lost["verdict"] == "").all()


def test_the_answer_where_all_methods_lost_runs():
    everyone = {(label, 1.0): 4 for label in CLEAR}
    lost = study({**LATER, **CLEAR}, added=NAMES, diverged=everyone)
    content = answer.content(compare([lost, study(CLEAR, 2.0)]), {})
    assert short(content) == (
        "ObjP wins on MNIST at ε = 2. All methods that it was stated with have failed or diverged runs on "
        "MNIST at ε = 1."
    )
    assert (
        words()
        .others_added(content["answer"])
        .startswith("OutP first, added later, is not compared on MNIST at ε = 1.")
    )
    row = content["groups"][0]["summaries"][0]
    assert [own.difference for own in row.added] == [None] * 3


TIED = {**CLEAR, "ObjT": [0.11, 0.09, 0.14, 0.14]}
OUTP_WINS = {**CLEAR, "OutP": [0.01, 0.02, 0.03, 0.04]}


ALIKE = {**CLEAR, "ObjT": [0.101, 0.111, 0.121, 0.1310001]}
FOUR = {
    label: [x + 1e-5 * k * x for x in CLEAR["ObjP"]] for k, label in enumerate([*CLEAR, "ObjPM"])
}


def test_marks_of_one_experiment_are_the_verdicts_of_all_that_are_judged_together():
    """Alone it would have wider shares of the error, and might say more of the same row."""
    close = {**CLEAR, "ObjT": [0.128, 0.15, 0.16, 0.182]}
    first, *others = [study(close, float(k), name=f"study_{k}") for k in range(1, 13)]
    alone, together = compare([first]), compare([first, *others])
    (own,) = [cell for cell in compared_settings(together) if cell["epsilon"] == 1]
    assert verdicts_of(alone.isel(setting=0))["ObjT"] == "worse"
    assert verdicts_of(own)["ObjT"] == "undecided"
    marked = verdicts(first, together).sel(epsilon=1)
    assert dict(zip(marked["algorithm"].values, marked.values, strict=True)) == verdicts_of(own)
    assert (verdicts(first, None) == "").all()


@pytest.mark.parametrize(
    ("rows", "wanted"),
    [
        ([CLEAR], "ObjP wins on MNIST at ε = 1."),
        (
            [TIED],
            "Undecided between ObjP and ObjT at ε = 1: 4,600 seeds would be conclusive with 80 % power. "
            "ObjP is lowest at ε = 1, 11.50 %; OutP is behind. No method is "
            "better than ObjP by more than 4.06 points at ε = 1 on MNIST.",
        ),
        ([ALIKE], "ObjP and ObjT are equivalent on MNIST at ε = 1 (margin 0.20 points)."),
        (
            [CLEAR, CLEAR],
            "ObjP wins on MNIST at ε = 1, 2. Nowhere significantly worse: ObjP.",
        ),
        (
            [CLEAR, TIED],
            "ObjP wins on MNIST at ε = 1. 1 of 2 settings is undecided: 4,600 seeds would be conclusive with "
            "80 % power. ObjP is lowest at ε = 2, 11.50 %; OutP is behind. "
            "No method is better than ObjP by more than 5.34 points at ε = 2 on MNIST. "
            "Nowhere significantly worse: ObjP.",
        ),
        (
            [TIED, TIED],
            "Both settings are undecided: 4,600 seeds each would be conclusive with 80 % power. "
            "ObjP is lowest at ε = 1, 11.50 %; OutP is behind. ObjP is lowest at ε = 2, 11.50 %; OutP is behind. "
            "No method is better than ObjP by more than 5.34 points at ε = 1 and 5.34 points at ε = 2 on MNIST. "
            "Nowhere significantly worse: ObjP and ObjT.",
        ),
        (
            [ALIKE, ALIKE],
            "ObjP and ObjT are equivalent on MNIST at ε = 1, 2 (margin 0.20 points). Nowhere "
            "significantly worse: ObjP and ObjT.",
        ),
        ([CLEAR, OUTP_WINS], "ObjP wins on MNIST at ε = 1. OutP wins on MNIST at ε = 2."),
        (
            [FOUR, FOUR],
            "ObjP; ObjT; OutP; ObjPM are in the best group on MNIST at ε = 1, 2 (margin 0.20 points). "
            "Nowhere significantly worse: ObjP, ObjT, OutP and ObjPM.",
        ),
    ],
)
def test_the_answer_in_a_sentence(rows, wanted):
    studies = [study(values, 2.0**k, margin=0.002) for k, values in enumerate(rows)]
    assert (
        re.sub(r"[\d,]+ seeds", "4,600 seeds", short(answer.content(compare(studies), {})))
        == wanted
    )


def test_data_on_which_nothing_is_decided_are_named():
    """One row alone says so itself."""
    studies = [
        *(study(TIED, k, name="two", dataset="adult") for k in (1.0, 2.0)),
        study(TIED, name="one", dataset="femnist"),
        study(CLEAR, name="three"),
    ]
    text = short(answer.content(compare(studies), {}))
    assert "3 of 4 settings, among them all on Adult, are undecided: " in text


def test_a_method_behind_the_runner_up_may_be_the_one_that_is_undecided():
    values = {
        "ObjP": [0.10, 0.11, 0.12, 0.13],
        "ObjT": [0.15, 0.16, 0.17, 0.1801],
        "OutP": [0.05, 0.06, 0.32, 0.33],
    }
    found = compare([study(values)]).isel(setting=0)
    assert found["runner_up"] == "ObjT"
    assert verdicts_of(found) == {"ObjP": "undecided", "ObjT": "worse", "OutP": "undecided"}


def test_equal_differences_have_an_interval_without_width_where_seeds_draw_nothing():
    values = {"ObjP": [0.25, 0.25, 0.25], "ObjT": [0.5, 0.5, 0.5], "OutP": [0.25, 0.25, 0.25]}
    ds = study(values)
    for place, label in enumerate(values):
        ds["train_loss"].loc[{"algorithm": label}] = 1.0 + place
    found = compare([ds]).isel(setting=0)
    own = found.sel(algorithm="ObjT", rival="ObjP")
    assert own["difference"] == own["difference_lower"] == own["difference_upper"] == 0.25
    assert list(found["verdict"].values) == ["equivalent", "worse", "equivalent"]


def test_a_few_seeds_that_agree_by_chance_decide_nothing():
    """Errors are counts of records: two seeds may differ by as many, whatever the next ones do."""
    ds = study({"ObjP": [0.10, 0.12], "ObjT": [0.1001, 0.1201]})
    ds["train_loss"].loc[{"algorithm": "ObjT", "seed": 1}] += 0.01
    found = compare([ds]).isel(setting=0)
    own = found.sel(algorithm="ObjT", rival="ObjP")
    half = stats.t.ppf((1 + float(found["level"])) / 2, 1) * 0.5e-4 / np.sqrt(2)
    assert own["difference_upper"] - own["difference"] == pytest.approx(half)
    assert (found["verdict"] == "undecided").all()
    # Nor is it forecast that they do.
    pair = Estimate(1e-4, 0.5e-4, 2), equivalent(0.0, float(found["level"]))
    assert found["seeds"] == seeds_needed([pair]) > 2
    same = study({"ObjP": [0.25] * 3, "ObjT": [0.25] * 3})
    assert compare([same]).isel(setting=0)["seeds"] == np.inf


def named_twice(label, of, **given):
    """The studied methods, and one of them under another name too."""
    ds = study({**CLEAR, label: CLEAR[of]}, **given)
    for name in ("test_error", "train_loss"):
        ds[name].loc[{"algorithm": label}] = ds[name].sel(algorithm=of)
    return ds


def test_two_names_of_one_run_are_one_rival():
    """The comparison is that without the second name, which has what the first one has."""
    ds = named_twice("ObjPM", "ObjP")
    ds["status"].loc[{"algorithm": "ObjPM", "seed": 3}] = Outcome.NOT_RUN  # it may have fewer seeds
    found, once = compare([ds]), compare([study(CLEAR)])
    assert found.comparisons == once.comparisons == 3
    for name in ("level", "difference_lower", "verdict", "rank_upper", "seeds", "lowest"):
        assert found[name].reindex_like(once[name]).equals(once[name]), name
    assert found["same_as"].values.tolist() == [["ObjP", "ObjT", "OutP", "ObjP"]]
    assert marks(found).sel(algorithm="ObjPM") == marks(found).sel(algorithm="ObjP") == "winner"
    assert names(found)["ObjPM"] == names(found)["ObjP"] == ["ObjP", "ObjPM"]
    ranks = mean_ranks(found).to_series().to_dict()
    assert ranks == {"ObjP": 1, "ObjPM": 1, "ObjT": 2, "OutP": 3}
    content = answer.content(found, {})
    assert short(content) == "ObjP = ObjPM wins on MNIST at ε = 1."
    assert [row["label"] for row in content["board"]["rows"]] == ["ObjP = ObjPM", "ObjT", "OutP"]
    (beside,) = content["groups"][0]["control_tables"]
    assert [row.label for row in beside["rows"]] == ["ObjP = ObjPM", "ObjT", "OutP"]
    assert beside["control"] == "ObjP = ObjPM"
    (row,) = content["groups"][0]["summaries"]
    assert (row.lowest, row.runner_up) == ("ObjP = ObjPM", "ObjT")
    notes = words().notes(content["notes"], content["answer"])
    assert "ObjP = ObjPM: one method on MNIST at ε = 1, with the same" in notes


def test_values_that_differ_once_are_those_of_two_methods():
    """Errors are counts, which may agree; so may rounds before the last."""
    for name, place in (("train_loss", {"round": 300}), ("train_loss", {"round": 100})):
        ds = named_twice("ObjPM", "ObjP")
        ds[name].loc[{"algorithm": "ObjPM", "seed": 2, **place}] *= 1 + 1e-15
        assert compare([ds])["same_as"].values.tolist() == [["ObjP", "ObjT", "OutP", "ObjPM"]]


def test_the_name_with_more_seeds_stands_for_a_rival():
    """And one that the study was stated with stands for one that was added."""
    ds = named_twice("ObjPM", "ObjP")
    ds["status"].loc[{"algorithm": "ObjP", "seed": 3}] = Outcome.NOT_RUN
    assert compare([ds])["same_as"].values.tolist() == [["ObjPM", "ObjT", "OutP", "ObjPM"]]
    added = ds.assign_attrs(added='["ObjPM"]')
    found = compare([added])
    assert found["same_as"].values.tolist() == [["ObjP", "ObjT", "OutP", "ObjP"]]
    assert (found["added"] == "").all()
    assert found.comparisons == 3


def test_a_method_that_is_another_one_at_one_budget_alone_is_itself_elsewhere():
    first = named_twice("ObjPM", "ObjP")
    values = {"ObjP": [0.30, 0.31, 0.32, 0.33], "ObjPM": CLEAR["ObjP"], "ObjT": CLEAR["ObjT"]}
    second = study({**values, "OutP": CLEAR["OutP"]}, name="other", dataset="adult")
    found = compare([first, second])
    assert names(found)["ObjPM"] == ["ObjPM"]
    assert found.comparisons == 3 + 6
    assert mean_ranks(found).to_series().to_dict() == {
        "ObjPM": 1,
        "ObjP": 2,
        "ObjT": 2,
        "OutP": 3.5,
    }
    content = answer.content(found, {})
    assert short(content).endswith("Nowhere significantly worse: ObjPM.")


@pytest.mark.parametrize(
    ("dataset", "path", "name"),
    [
        ("table", '"../visits/patients.csv"', "patients.csv"),
        *(("rings", path, "rings") for path in ('"mine.h5"', "7", "[1, 2]", "null")),
    ],
)
def test_a_table_is_called_by_its_file_and_no_other_data_set(dataset, path, name):
    facts = {"dataset": dataset, "dataset_settings": f'{{"path": {path}}}'}
    found = compare([study(CLEAR).assign_attrs(facts)])
    assert short(answer.content(found, {})) == f"ObjP wins on {name} at ε = 1."


def test_two_names_alone_are_one_method_that_beat_nobody():
    ds = named_twice("ObjPM", "ObjP").sel(algorithm=["ObjP", "ObjPM"])
    found = compare([ds, study(CLEAR, name="other", dataset="adult")])
    # The level is that of the other row alone.
    assert found["level"][1] == compare([study(CLEAR)])["level"][0]
    text = short(answer.content(found, {}))
    assert "ObjP = ObjPM is the only method on MNIST at ε = 1." in text


def test_one_seed_decides_nothing():
    found = compare([study({"ObjP": [0.1], "ObjT": [0.9]})]).isel(setting=0)
    assert found["lowest"] == "ObjP"
    assert (found["verdict"] == "undecided").all()
    assert found["seeds"] == np.inf
    assert np.isnan(found["difference_lower"].values).all()
    assert found["rank_lower"].values.tolist() == [1, 1]
    assert found["rank_upper"].values.tolist() == [2, 2]


def test_methods_without_a_seed_in_common_decide_nothing():
    ds = study({label: CLEAR[label] for label in ("ObjP", "ObjT")})
    for label, seeds in (("ObjP", [0, 1]), ("ObjT", [2, 3])):
        ds["status"].loc[{"algorithm": label, "seed": seeds}] = Outcome.NOT_RUN
    found = compare([ds])
    assert found["seeds"].item() == np.inf
    content = answer.content(found, {})
    assert short(content) == (
        "Undecided between ObjP and ObjT at ε = 1. ObjP is lowest at ε = 1, 12.50 %."
    )
    assert [each.chance for each in content["groups"][0]["control_tables"][0]["rows"]] == [
        None,
        None,
    ]


def test_a_method_with_one_seed_may_have_any_rank():
    ds = study(CLEAR)
    ds["status"].loc[{"algorithm": "ObjT", "seed": [1, 2, 3]}] = Outcome.NOT_RUN
    found = compare([ds]).isel(setting=0)
    assert found["rank_lower"].values.tolist() == [1, 1, 2]
    assert found["rank_upper"].values.tolist() == [2, 3, 3]


def test_a_method_that_lost_a_run_neither_wins_nor_ties_nor_is_counted():
    lost = {("ObjP", 1.0): 1}
    found = compare([study(CLEAR, diverged=lost)])
    own = found.isel(setting=0)
    assert (own["lowest"], own["runner_up"]) == ("ObjT", "OutP")
    assert own["verdict"].sel(algorithm="ObjP") == ""
    assert np.isnan(own["mean"].sel(algorithm="ObjP"))
    assert list(own["failed"].values) == [1, 0, 0]
    assert list(own["runs"].values) == [4, 4, 4]
    assert found.comparisons == 3
    everyone = {(label, 1.0): 4 for label in CLEAR}
    own = compare([study(CLEAR, diverged=everyone)]).isel(setting=0)
    assert (own["lowest"], own["runner_up"]) == ("", "")
    assert (own["verdict"] == "").all()


def test_one_method_that_is_left_beat_nobody():
    lost = {(label, 1.0): 1 for label in ("ObjT", "OutP")}
    ds = study(CLEAR, timed_out=lost)
    dims = ("algorithm", "epsilon", "record")
    ds["mistakes"] = (dims, np.ones((3, ds.sizes["epsilon"], 50)))
    found = compare([ds])
    assert found["verdict"].isel(setting=0).values.tolist() == ["alone", "", ""]
    assert (found["lowest"].item(), found["runner_up"].item()) == ("ObjP", "")
    content = answer.content(found, {})
    assert (
        short(content)
        == "ObjP is the only one left on MNIST at ε = 1: all others have failed or diverged runs."
    )
    ((row,),) = (group["summaries"] for group in content["groups"])
    assert (row.winner, row.group, row.only_method) == ("", (), "ObjP")


def test_the_floor_is_the_lowest_mean_without_privacy():
    free = {"Non-private": [0.05, 0.06, 0.07, 0.08], "Worse": [0.05, 0.06, 0.07, 0.09]}
    found = compare([study(CLEAR, free=free)]).isel(setting=0)
    assert found["floor_method"] == "Non-private"
    assert found["floor"] == pytest.approx(0.065)
    low, high = stats.t.interval(0.95, 3, 0.065, stats.sem(free["Non-private"]))
    assert (found["floor_lower"], found["floor_upper"]) == (pytest.approx(low), pytest.approx(high))
    assert not found["compared"].sel(algorithm="Non-private")
    lost = compare([study(CLEAR, free=free, diverged={("Non-private", INF): 1})])
    assert lost["floor_method"] == "Worse"
    alone = compare([study(CLEAR)])
    assert alone["floor_method"] == ""
    assert np.isnan(alone["floor"])
    # A method that adds noise though it has no budget is no floor.
    noisy = study(CLEAR, free=free)
    noisy["noise_magnitude"].loc[{"algorithm": "Non-private", "epsilon": INF}] = 0.1
    assert compare([noisy])["floor_method"] == "Worse"


def with_fact(ds, label, **facts):
    for name, value in facts.items():
        values = ds[name].values.astype(object)
        values[list(ds["algorithm"].values).index(label)] = value
        ds = ds.assign_coords({name: ("algorithm", values.astype(ds[name].dtype.type))})
    return ds


@pytest.mark.parametrize(
    "facts", [{"guarantee": "none"}, {"delta": 1e-3}, {"unit": "agent"}, {"relation": "replace"}]
)
def test_rivals_have_the_same_guarantee(facts):
    found = compare([with_fact(study(CLEAR), "ObjP", **facts)])
    assert found.sizes["setting"] == 1
    own = found.isel(setting=0)
    assert list(own["compared"].values) == [False, True, True]
    assert list(own["excluded"].values) == [True, False, False]
    assert own["lowest"] == "ObjT"


def test_methods_of_two_guarantees_are_two_cells():
    ds = study({**CLEAR, "ObjPM": CLEAR["OutP"]})
    for label in ("ObjP", "ObjPM"):
        ds = with_fact(ds, label, delta=1e-3)
    found = compare([ds])
    assert dict(zip(found["delta"].values, found["lowest"].values, strict=True)) == {
        1e-3: "ObjP",
        1e-6: "ObjT",
    }


@pytest.mark.parametrize(
    ("factor", "compared"), [(1.01, True), (0.99, True), (1.03, False), (0.5, True)]
)
def test_rivals_spend_no_more_than_the_total(factor, compared):
    """They may spend less, where the total covers a search."""
    ds = study(CLEAR)
    ds["epsilon_total"].loc[{"algorithm": "ObjP"}] *= factor
    assert compare([ds])["compared"].sel(algorithm="ObjP").item() is compared


def test_budgets_of_iterations_and_single_methods_are_no_cells():
    iteration = study(CLEAR)
    iteration["epsilon"].attrs["budget_of"] = "iteration"
    single = study({"ObjP": CLEAR["ObjP"]}, free={"A": CLEAR["ObjT"], "B": CLEAR["OutP"]})
    assert compare([iteration, single]) is None
    assert compare([]) is None


def test_a_comparison_can_be_stored(tmp_path):
    second = study({"ObjP": [0.1, 0.2], "DVP": [0.2, 0.1]}, name="other", methods={"DVP": "objt"})
    found = compare([study(CLEAR, dataset_note="a part"), second])
    assert list(found["experiment"].values) == ["study", "other"]
    assert list(found["dataset_note"].values) == ["a part", ""]
    assert list(found["algorithm"].values) == ["ObjP", "ObjT", "OutP", "DVP"]
    assert found["compared"].dtype == bool
    assert found["failed"].dtype.kind == "i"
    for name in ("delta", "relation", "unit", "metric", "units", "long_name", "fraction"):
        assert found[name].dims == ("setting",)
    found.to_netcdf(tmp_path / "a.nc", engine="h5netcdf")
    with xr.open_dataset(tmp_path / "a.nc", engine="h5netcdf") as stored:
        xr.testing.assert_equal(stored.load(), found)


def test_ranks_of_demsars_example():
    expected = {"C4.5": 3.143, "C4.5+m": 2.000, "C4.5+cf": 2.893, "C4.5+m+cf": 1.964}
    got = mean_ranks(table(1 - AUC, VARIANTS)).to_series().to_dict()
    assert got == {label: pytest.approx(value, abs=5e-4) for label, value in expected.items()}
    assert list(got) == sorted(expected, key=expected.__getitem__)


def test_methods_that_lost_runs_share_the_last_rank():
    found = mean_ranks(table([[1, np.nan, 2, np.nan]], list("abcd")))
    assert found.sel(algorithm=list("abcd")).values.tolist() == [1, 3.5, 2, 3.5]


def test_methods_that_are_missing_in_a_cell_are_not_ranked():
    means = table([[1, 2, 3, 4], [1, 2, 3, 4], [4, 3, 2, 1]], list("abcd"))
    means["compared"][2, 3] = False
    assert sorted(mean_ranks(means)["algorithm"].values) == ["a", "b", "c"]


def test_ranks_are_bounded_by_who_is_shown_to_be_ahead_and_behind():
    found = compare([study(CLEAR)]).isel(setting=0)
    assert found["rank_lower"].values.tolist() == found["rank_upper"].values.tolist() == [1, 2, 3]
    near = study({**CLEAR, "ObjT": [0.10, 0.13, 0.11, 0.12]})
    found = compare([near]).isel(setting=0)
    assert found["rank_lower"].values.tolist() == [1, 1, 3]
    assert found["rank_upper"].values.tolist() == [2, 2, 3]


def test_the_chance_of_a_lower_error_has_the_exact_interval():
    first = np.array([0.1, 0.1, 0.3, 0.2, 0.2, 0.1])
    second = np.array([0.2, 0.3, 0.2, 0.2, 0.3, 0.2])  # one tie
    found = compare([study({"ObjP": first, "ObjT": second})]).isel(setting=0)
    own, level = found.sel(algorithm="ObjP", rival="ObjT"), float(found["level"])
    assert own["chance"] == pytest.approx(4.5 / 6)
    for end, below in (("low", 4), ("high", 5)):
        exact = stats.binomtest(below, 6).proportion_ci(level, method="exact")
        assert own[f"chance_{'lower' if end == 'low' else 'upper'}"] == pytest.approx(
            getattr(exact, end)
        )
    other = found.sel(algorithm="ObjT", rival="ObjP")
    assert other["chance_lower"] == pytest.approx(1 - own["chance_upper"])


def test_other_test_records_give_the_interval_of_the_paired_t_test():
    random = np.random.default_rng(0)
    wrong = random.binomial(4, [[0.1], [0.2], [0.3]], size=(3, 200))
    ds = study(CLEAR)
    assert np.isnan(compare([ds])["reach_over_records"]).all()
    dims = ("algorithm", "epsilon", "record")
    ds["mistakes"] = (dims, wrong[:, None].repeat(ds.sizes["epsilon"], axis=1).astype(float))
    found = compare([ds]).isel(setting=0)
    exact = stats.ttest_rel(wrong[0] / 4, wrong[2] / 4).confidence_interval(float(found["level"]))
    reach = found["reach_over_records"].sel(algorithm="ObjP", rival="OutP")
    assert reach == pytest.approx((exact.high - exact.low) / 2)
    # Counted mistakes are those of the error: they say nothing of the worst clients, whose own records bound chance.
    ds["worst_client_error"] = ds["test_error"].assign_attrs(n_records=20)
    other = ds.assign_attrs(metric="worst_client_error")
    assert np.isnan(compare([other])["reach_over_records"]).all()
    assert statistics.tested_records(other) == 20
    assert statistics.tested_records(ds) == ds.attrs["n_test"]


def test_the_control_is_the_one_that_is_stated_or_the_best():
    stated = study(CLEAR)
    stated.attrs["control"] = "OutP"
    for ds, control in ((study(CLEAR), "ObjP"), (stated, "OutP")):
        ((beside,),) = (
            group["control_tables"] for group in answer.content(compare([ds]), {})["groups"]
        )
        assert beside["control"] == control
        rows = {row.label: row for row in beside["rows"]}
        assert list(rows) == list(CLEAR)
        assert rows[control].difference is None
        if ds is stated:
            assert rows["ObjP"].difference.centre == pytest.approx(-0.2025)
            assert words().chance(rows["ObjP"].chance).startswith("100 % [")
    # Nothing is compared with one that does not compete.
    lost = study(CLEAR, diverged={("OutP", 1.0): 1}, control="OutP")
    ((beside,),) = (
        group["control_tables"] for group in answer.content(compare([lost]), {})["groups"]
    )
    assert {(words().interval(row.difference), row.chance) for row in beside["rows"]} == {
        ("–", None)
    }
