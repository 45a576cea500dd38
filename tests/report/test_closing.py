"""End of a ranking: rows of methods and baselines, and the sentence for what is known."""

from __future__ import annotations

import numpy as np
import pytest

from admmbench.report.closing import CONSTANT, closings, table
from admmbench.report.environment import words
from admmbench.results.who_wins import compare
from tests.made import INF, build, totals


def end(errors, constant=0.55, **given):
    """The end of a ranking at a total of 1, with the optimum as a baseline."""
    known = {label: {1.0: error} for label, error in errors.items()} | {"Free": {INF: 0.05}}
    methods = dict.fromkeys([label.split()[0] for label in errors], "objp") | {
        "Free": "centralized"
    }
    results = totals(build(known, sensitivity="global", methods=methods, **given))
    results["test_error"].attrs["best_constant"] = constant
    results.attrs["margin"] = 0.01
    (found,) = closings(compare([results]), results)
    return found


def test_all_methods_and_baselines_are_rows_by_their_errors():
    found = end({"A": 0.2, "B": 0.3, "C": 0.6})
    assert [row.method for row in found.rows] == ["Free", "A", "B", CONSTANT, "C"]
    assert [row.verdict for row in found.rows] == [
        *["baseline", "winner", "worse", "baseline", "worse"]
    ]
    assert [row.no_better for row in found.rows] == [False] * 4 + [True]
    b = found.rows[2]
    assert b.difference.centre == pytest.approx(0.1)
    assert b.difference.lower < 0.1 < b.difference.upper
    shown = table(found).rows
    assert shown[1][:3] == ["A", "20.00 [18.92, 21.08]", ""]
    assert shown[4][3] == "behind, no better than the constant"
    assert words().known(found).strip() == "A wins at ε = 1, 20.00 %; all others are behind."


def test_undecided_never_stands_alone():
    found = end({"A": 0.2, "B": 0.21, "C": 0.9}, spread=0.02)
    said = words().known(found).strip()
    assert said.startswith(
        "A is lowest at ε = 1, 20.00 %; C is behind; B is at most 1.00 points above it, which 10 seeds do "
        "not tell from chance (about "
    )
    assert "constant" not in said
    said = words().known(end({"A": 0.2, "B": 0.21}, constant=0.205, spread=0.02)).strip()
    assert said.endswith("No method is shown to be better than the constant answer, 20.50 %.")


def test_a_group_and_a_constant_that_nobody_beats_are_said():
    found = end({"A": 0.2, "B": 0.2001, "C": 0.6}, spread=0.0001)
    said = words().known(found).strip()
    assert said == (
        "A and B are the best at ε = 1, 20.00 to 20.01 %, and equivalent within 1.00 points; all others are behind."
    )
    said = words().known(end({"A": 0.6, "B": 0.7})).strip()
    assert said == "No method is better at ε = 1 than the constant answer, 55.00 %."


def test_methods_with_the_same_values_are_listed_once():
    known = {"A": {1.0: 0.2}, "B": {1.0: 0.2}, "C": {1.0: 0.4}}
    methods = dict.fromkeys(known, "objp")
    results = totals(build(known, sensitivity="global", methods=methods))
    for name in ("test_error", "train_loss"):
        results[name][1] = results[name][0]
    (found,) = closings(compare([results]), results)
    assert [row.method for row in found.rows] == ["A = B", "C"]


def test_a_method_that_stopped_early_keeps_its_interval_and_is_marked():
    known = {"A": {1.0: 0.2}, "B": {1.0: 0.21}, "C": {1.0: 0.6}}
    results = totals(
        build(known, sensitivity="global", seeds=20, methods=dict.fromkeys(known, "objp"))
    )
    results.attrs["interim_analyses"] = "[10, 20]"
    results["status"][2, :, 10:] = -1
    results["test_error"][2, :, 10:] = np.nan
    (found,) = closings(compare([results]), results)
    stopped = found.rows[-1]
    assert (stopped.method, stopped.seeds, stopped.stopped) == ("C", 10, True)
    assert table(found).rows[-1][3] == "behind, stopped after 10 seeds"
