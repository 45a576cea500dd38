"""Who leads where methods are not equally private: numbers against scipy, and words that a reader needs."""

import numpy as np
import pytest
from scipy import stats

from admmbench.report import leaders
from admmbench.report.environment import words
from admmbench.results.who_wins import lead
from tests.made import INF, build, totals

ERRORS = {
    "OutP": {0.1: 0.40, 1.0: 0.20, INF: 0.10},
    "ObjP": {0.1: 0.30, 1.0: 0.20},
    "ObjT": {0.1: 0.20, 1.0: 0.20},
}


def rows(*results):
    return list(leaders.content(leaders.compare(results), {}))


def privacy(lead):
    return words().lead_privacy(lead.privacy)


def test_differences_are_paired_and_corrected_for_all_pairs_of_the_study():
    results = build(ERRORS)
    found = lead(results)
    assert found is not None
    assert found.attrs["comparisons"] == 6  # three methods at two budgets
    at = found.isel(setting=0)
    values = [results.test_error.sel(algorithm=a, epsilon=0.1)[:, -1] for a in ("ObjP", "ObjT")]
    expected = stats.ttest_rel(*values).confidence_interval(1 - 0.04 / 6)
    own = at.sel(algorithm="ObjP", rival="ObjT")
    assert own["difference_lower"] == pytest.approx(expected.low)
    assert own["difference_upper"] == pytest.approx(expected.high)


def test_a_row_says_who_leads_by_how_much_and_what_it_is_worth():
    first, second = rows(build(ERRORS))
    assert first.summary.winner == "ObjT"
    assert first.summary.epsilon == 0.1
    assert (
        words().measure(first.summary.measure, first.summary.unit) == "final test error in percent"
    )
    assert first.summary.runner_up == "ObjP"
    assert words().interval(first.summary.difference).startswith("10.00 [")
    assert privacy(first) == "no guarantee: 1.73"
    assert second.summary.winner == ""
    assert set(second.summary.undecided) == set(ERRORS)


TWO = {"ObjP": ERRORS["ObjP"], "ObjT": ERRORS["ObjT"]}


@pytest.mark.parametrize(
    ("errors", "label", "facts", "said"),
    [
        (TWO, "ObjT", {}, "equal: 1.73"),
        (TWO, "ObjT", {"delta": 1e-3}, "unequal: 1.73 at several δ"),
        (ERRORS, "ObjP", {"guarantee": "none"}, "unequal: 1.73; 1 of 3 without a guarantee"),
        (
            ERRORS,
            "OutP",
            {"epsilon_composed": 1732, "epsilon_total": 1732},
            "unequal: 1.73 to 1,732",
        ),
    ],
)
def test_what_methods_of_a_row_promise_is_said(errors, label, facts, said):
    results = build(errors, sensitivity="global")
    for name, value in facts.items():
        results[name].loc[{"algorithm": label}] = value
    assert privacy(rows(results)[0]) == said


def test_studies_with_totals_have_their_answer_elsewhere():
    assert not rows(totals(build(ERRORS, sensitivity="global")))
    assert not rows(build({"ObjP": {1.0: 0.2}}))


def test_noise_is_not_compared_with_none():
    """Without a budget methods may add noise of their own."""
    exact = {"ADMM": {INF: 0.1}, "IADMM": {INF: 0.2}, "Noisy": {INF: 0.05}}
    results = build(exact)
    results["noise_magnitude"].loc[{"algorithm": "Noisy"}] = 1.0
    (row,) = rows(results)
    assert (row.summary.winner, row.summary.epsilon) == ("ADMM", INF)
    assert privacy(row) == "none, and no noise"
    results = build(ERRORS)
    results["noise_magnitude"].loc[{"algorithm": "ObjT"}] = (
        0.0  # it ran at a budget and did not use it
    )
    assert [row.summary.winner for row in rows(results)] == ["ObjP", ""]


def test_methods_that_lost_runs_do_not_lead():
    results = build(ERRORS, diverged={("ObjT", 0.1): 3})
    first, _ = rows(results)
    assert first.summary.winner == "ObjP"
    assert first.failed == {"ObjT": (3, 10)}


def test_a_study_of_computing_time_is_compared_by_it():
    """The margin is one of errors."""
    results = build(ERRORS, margin=1000.0)
    results["seconds"] = 1 / results["test_error"]
    results["seconds"].attrs = {"long_name": "computing time", "units": "s"}
    first, _ = rows(results)
    assert (first.summary.winner, first.summary.runner_up) == ("OutP", "ObjP")
    assert words().measure(first.summary.measure, first.summary.unit) == "final computing time in s"


def constrained(errors, violations, methods=None, agents=None):
    """Objectives are twice the errors."""
    results = build(errors, methods=methods or {label: label.lower() for label in errors})
    results["feasibility"] = results["train_loss"] * 0
    for label, violation in violations.items():
        results["feasibility"].loc[{"algorithm": label}] = violation
    return results.assign_coords(agents=("algorithm", agents or [1] * len(errors)))


SOLVED = {"A": {INF: 0.2}, "B": {INF: 0.3}, "C": {INF: 0.1}}


def test_with_constraints_the_objective_of_points_that_meet_them_counts():
    (row,) = rows(constrained(SOLVED, {"C": 0.011}))
    assert (row.summary.winner, row.summary.runner_up) == ("A", "B")
    assert words().measure(row.summary.measure, row.summary.unit) == "final training loss in nat"
    assert words().which(row) == "1 agent"
    assert words().failed_runs(row) == "violation above 0.01: C (10 of 10)"
    (row,) = rows(constrained(SOLVED, {"C": 0.009}))
    assert (row.summary.winner, words().failed_runs(row)) == ("C", "")


def test_a_margin_of_errors_says_nothing_of_objectives():
    results = constrained(SOLVED, {}).assign_attrs(margin=1000.0)
    (row,) = rows(results)
    assert row.summary.winner == "C"
    (row,) = rows(results.assign_attrs(metric="train_loss"))
    assert row.summary.group == ("C", "A", "B")


def test_objectives_of_other_numbers_of_agents_or_of_one_method_are_not_compared():
    assert not rows(constrained(SOLVED, {}, agents=[1, 2, 5]))
    (row,) = rows(constrained(SOLVED, {}, agents=[2, 5, 5]))
    assert (row.summary.winner, row.summary.runner_up, words().which(row)) == ("C", "B", "5 agents")
    assert not rows(constrained(SOLVED, {}, methods=dict.fromkeys("ABC", "prox_al")))


def test_numbers_of_features_and_optima_do_not_compete():
    results = build({"A": {INF: 0.2}, "B": {INF: 0.3}, "C": {INF: 0.1}, "D": {INF: 0.05}})
    results = results.assign_coords(features=("algorithm", [250, 250, 500, 500]))
    found = rows(results)
    assert [(row.summary.winner, words().which(row)) for row in found] == [
        ("A", "250 features"),
        ("D", "500 features"),
    ]
    results = build(
        {"A": {INF: 0.2}, "B": {INF: 0.3}, "F*": {INF: 0.1}}, methods={"F*": "centralized"}
    )
    assert [row.summary.winner for row in rows(results)] == ["A"]


def test_a_method_may_be_undecided_while_others_with_lower_means_are_behind():
    results = build({"A": {1.0: 0.2}, "B": {1.0: 0.21}, "C": {1.0: 0.22}}, spread=1e-4)
    final = results["test_error"].sel(algorithm="C")
    final += np.linspace(-0.2, 0.2, final.sizes["seed"])[None, :, None]
    (row,) = rows(results)
    assert row.summary.undecided == ("A", "C")
    assert row.summary.runner_up == "B"
    assert words().interval(row.summary.difference).startswith("1.00 [0.9")


PAIR = {"A": {1.0: 0.2}, "B": {1.0: 0.3}}


@pytest.mark.parametrize(
    ("errors", "given", "only", "lowest"),
    [
        (ERRORS, {"seeds": 1}, "lowest of one seed", "ObjT"),
        (PAIR, {"diverged": {("B", 1.0): 10}}, "the only one left", "A"),
        (PAIR, {"spread": 0.0}, "lowest, the same for all seeds", "A"),
        ({"A": {1.0: 0.2}, "B": {1.0: 0.2}}, {"spread": 0.0}, "the only method", "A = B"),
    ],
)
def test_the_lowest_value_may_be_no_lead(errors, given, only, lowest):
    first, *_ = rows(build(errors, **given))
    assert (words().only(first), first.summary.lowest) == (only, lowest)


def test_values_that_do_not_depend_on_the_seed_have_no_interval():
    (row,) = rows(build(PAIR, spread=0.0))
    assert words().interval(row.summary.error) == "20.00, the same for all seeds"
    assert words().interval(row.summary.difference) == "10.00, the same for all seeds"


def test_many_ties_are_counted():
    means = {f"m{number}": {1.0: 0.2} for number in range(6)}
    (row,) = rows(build(means, spread=0.01))
    assert len(row.summary.undecided) == 6
    assert "undecided between m0; m1; m2 and 3 more" in words().lead(row)
    assert np.isfinite(row.summary.error.lower)
