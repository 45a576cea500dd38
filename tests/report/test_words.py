"""Sentences of the report: each key that results store has one."""

from typing import get_args

import numpy as np
import pytest
import xarray as xr

from admmbench.base.algorithm import Caveat
from admmbench.privacy import Relation, Unit
from admmbench.report import tables
from admmbench.report.data import Value
from admmbench.report.environment import words


@pytest.mark.parametrize("key", get_args(Caveat))
def test_each_caveat_of_the_suite_has_a_sentence(key):
    assert words().caveat(key, {}).endswith(".")
    assert words().caveat("It is mine.", {}) == "It is mine."


@pytest.mark.parametrize(("covers", "more"), [("every_trial", False), ("best_trial", True)])
def test_a_search_that_totals_cover_is_a_caveat_with_values(covers, more):
    said = words().caveat("covered_search", {"covers": covers, "trials": 30.0})
    assert said.startswith(f"With {covers}, the composition scope is a search of 30 trials")
    assert ("a curator draws their number" in said) == more


def test_neighbours_of_each_relation_and_unit_are_told_apart():
    known = {words().neighbours(r, u) for r in get_args(Relation) for u in get_args(Unit)}
    assert len(known) == 4
    assert words().neighbours("replace", "column") == "one feature column of one party is another"
    assert words().neighbours("replace", "pixel_of_a_scan") == "one pixel of a scan is another"


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (None, "–"),
        (Value(0.1, fraction=True), "10.00"),
        (Value(0.1, 0.05, 0.2, fraction=True), "10.00 [5.00 to 20.00]"),
        (Value(2.0, 2.0, 2.0), "2, the same for all seeds"),
    ],
)
def test_a_number_is_shown_with_its_interval(value, said):
    assert words().interval(value) == said


def test_records_of_agents_are_counted_over_the_files_of_a_partition():
    """Two files of two seeds each; the second agent has no record of the second class at one seed."""
    counts = np.array([[[3, 1], [2, 0]], [[2, 2], [1, 1]], [[4, 0], [1, 1]], [[1, 1], [2, 2]]])
    files = [
        xr.Dataset(
            {
                "counts": (("seed", "agent", "class"), own),
                "owner": (("seed", "row"), np.zeros((2, 6))),
            },
            {"seed": [2 * k, 2 * k + 1], "class": ["a", "b"]},
            {"scheme": '{"scheme": "dirichlet"}'},
        )
        for k, own in enumerate((counts[:2], counts[2:]))
    ]
    found = tables.agent_counts(files)
    assert (found.counted, found.seeds) == ("record", 4)
    assert (found.spread, found.classes) == ((2, 3.0, 4), (1, 2.0, 2))
    said = words().agent_counts(found, False)
    # Sizes are 4 and 2 at all seeds; of the distances, four are not 0: 1/12, 1/6, 1/6 and 1/3.
    assert found.gini == pytest.approx(1 / 6)
    assert found.label_distance == pytest.approx((0.75 / 8, 1 / 3))
    counted, *skew = said.strip().split("; ", 2)
    assert counted == "2 to 4, median 3"
    assert skew[0] == "of 1 to 2 classes, median 2, over 4 seeds"
    assert skew[1] == "Gini of sizes 0.17; label distance 0.09, at most 0.33"
    table = tables.agent_classes(files)
    assert table.rows == [["0", "3", "1", "4"], ["1", "2", "0", "2"]]
