"""Tables in a terminal: what the report has, and no markup from labels."""

import json
import math

import numpy as np
import pytest
from rich.console import Console

from admmbench.cli import main
from admmbench.report import picture, tables, terminal
from tests.made import INF, build, totals

ERRORS = {"OutP": {0.1: 0.4, 1.0: 0.2}, "Obj[P]": {0.1: 0.3, 1.0: 0.25}, "Exact": {INF: 0.1}}


@pytest.fixture
def shown(tmp_path, capsys):
    def show(results):
        path = tmp_path / "results.nc"
        results.to_netcdf(path, engine="h5netcdf")
        assert main(["show", str(path)]) == 0
        return " ".join(capsys.readouterr().out.split())

    return show


def test_errors_leaders_and_privacy_are_there(shown):
    text = shown(build(ERRORS, methods={"Obj[P]": "objp"}))
    assert "Rounds: 300" in text
    assert "Final test error in percent: mean [20–80 percentile] over 10 seeds" in text
    assert "Obj[P] │ 30.00" in text
    assert "ε = 0.1: Obj[P] leads with 30.00" in text
    assert "OutP is 10.00 [" in text
    assert "Privacy, composed ε: no guarantee: 1.73." in text
    assert "Privacy after the last round" in text


def test_what_totals_protect_and_a_large_delta_are_said(shown):
    results = build(ERRORS, methods={"Obj[P]": "objp"})
    text = shown(results)
    assert "Totals are about one record of one agent, not an agent or a user." in text
    assert "Warning" not in text
    text = shown(results.assign_coords(delta=("algorithm", [1e-6, 1e-4, 1e-3])))
    assert "Warning: delta = 0.0001 is above 1/n = 1.7e-05 of the n = 60,000 training" in text


HELD = {"label": "Z", "lowest": 0, "highest": 0.67, "all": 0.01, "agents": 114}
SAID = "of an agent's rows 0 to 67 % have the label 'Z', of all rows 1 % (114 agents)"
TOUCHES = (
    "labels decide who holds a row, so that neighbours are of the rows as they are partitioned"
)
MEANS = {"lowest": 1e9, "highest": 1.5, "all": 2, "agents": 2}


@pytest.mark.parametrize(
    ("shares", "text"),
    [
        ([HELD], SAID),
        ([{"order": "file", **HELD}], f"rows in file order; {SAID}"),
        ([{"order": "file", **HELD}, HELD], f"rows in file order; {SAID}"),
        ([{"order": "random"}], "rows in random order, another for each seed"),
        (
            [{"order": "file", **MEANS}],
            "rows in file order; the mean of an agent's targets is 1e+09 to 1.5, of all 2 (2 agents)",
        ),
        ([{"drawn": "sizes"}], "unequal numbers of rows, drawn for each seed"),
        (
            [{"drawn": "labels"}],
            f"of each label other shares for each agent, drawn for each seed; {TOUCHES}",
        ),
        (
            [{"drawn": "labels", "labels": 2}],
            f"labels of an agent: 2, drawn for each seed; {TOUCHES}",
        ),
        # Of a run of an earlier version, and of a results file.
        ([SAID, {"order": "random"}], f"{SAID}; rows in random order, another for each seed"),
        (f"rows in file order; {SAID}", f"rows in file order; {SAID}"),
    ],
)
def test_what_agents_hold_is_said_by_keys_or_the_sentence_of_an_earlier_version(
    shown, shares, text
):
    stored = shares if isinstance(shares, str) else json.dumps(shares)
    assert f"Shares: {text} Problem" in shown(build(ERRORS).assign_attrs(shares=stored))


def test_the_number_of_clients_that_are_tested_apart_is_said(shown):
    results = build(ERRORS)
    assert "Clients" not in shown(results)
    attrs = {"clients": 47, "fewest_records": 20}
    results["client_error"] = results["test_error"].assign_attrs(attrs)
    text = "Clients tested apart: 47, with at least 20 test records; clients count alike"
    assert text in shown(results)


def test_the_best_constant_is_beside_what_was_run(shown):
    results = build(ERRORS, methods={"Obj[P]": "objp"})
    assert "constant" not in shown(results)
    results["test_error"].attrs["best_constant"] = 0.4
    text = shown(results)
    assert "Best constant prediction: the commonest class: 40.00 %" in text
    assert "no method is better" not in text
    results["test_error"].attrs["best_constant"] = 0.25
    text = shown(results)
    assert text.count("no method is better than a constant prediction") == 1
    assert "; no method is better" in text.partition("ε = 0.1: ")[2].partition("ε = 1: ")[0]


def test_totals_refer_to_the_report(shown):
    text = shown(totals(build(ERRORS, sensitivity="global")))
    assert "the report says who wins at equal privacy" in text


def test_solutions_of_problems_with_constraints(shown):
    results = build({"A": {INF: 0.2}, "B": {INF: 0.3}}, methods={"A": "prox_al", "B": "cprox_al"})
    results = results.drop_vars("floats_sent").assign(feasibility=results["train_loss"] * 0)
    text = shown(results)
    assert "Solutions: means over seeds" in text
    assert "Without a budget, 10 agents: A leads with 0.4" in text
    assert "test error" not in text.lower().split("solutions")[0]


def test_a_narrow_terminal_drops_no_digits(capsys):
    for line in terminal.lines(build(ERRORS, methods={"Obj[P]": "objp"})):
        Console(width=40).print(line)
    assert "…" not in capsys.readouterr().out


def test_what_is_no_file_of_results_is_refused(tmp_path, capsys):
    path = tmp_path / "other.nc"
    build(ERRORS)[["test_error"]].drop_vars("epsilon").to_netcdf(path, engine="h5netcdf")
    assert main(["show", str(path)]) == 1
    assert "not the results of an experiment" in capsys.readouterr().err


def test_mu_stands_beside_totals_and_a_curve_that_it_does_not_describe_is_drawn():
    results = build({"OutP": {0.1: 0.4, 1.0: 0.2}, "ObjP": {0.1: 0.3, 1.0: 0.25}})
    assert "μ" not in tables.privacy(results).heads  # of an earlier version
    assert not picture.draw_curves(results, "t0")
    dims = ("algorithm", "epsilon")
    results = results.assign(
        mu=(dims, [[0.10001, math.inf], [1.0, 2.0]]),
        regret=(dims, [[0.001, math.nan], [0.0, 0.02]]),
        hits=((*dims, "false_alarms"), np.broadcast_to([0, 0.9, 1], (2, 2, 3))),
        false_alarms=[0, 0.5, 1],
    )
    table = tables.privacy(results)
    place = table.heads.index("μ")
    assert [row[place] for row in table.rows] == ["0.1001", "not available", "1.000", "2.000"]
    (drawn,) = picture.draw_curves(results, "t0")
    assert "ObjP, ε = 1" in drawn
