"""Verdicts on claims in words: each kind of claim, and each reason."""

from __future__ import annotations

import numpy as np
import pytest
import yaml

from admmbench.base.outcomes import Outcome
from admmbench.claims import claims
from admmbench.claims.judge import evaluate
from admmbench.report.claims import texts
from tests.claims.statements import CLOSE, FALLS, HEAD, SCALE, TRADE, VALUE
from tests.claims.statements import ORDER as ORDER_AT_ALL
from tests.made import ERRORS, INF, build

ORDER = {**ORDER_AT_ALL, "epsilon": [0.1, 1.0]}

ROUND = {**FALLS, "algorithms": ["ObjP"]}
SPREAD = {
    "kind": "spread",
    "narrow": {"algorithms": ["ObjP"], "epsilon": [0.05, 1.0], "over": "epsilon"},
    "wide": {"algorithms": ["ObjP", "ObjPM", "OutP"], "epsilon": [0.1], "over": "algorithm"},
}
SIDES = {"metric": "left", "unit": "1", "algorithms": ["ObjP"], "epsilon": [0.1]}
BOUND = {"kind": "bound", "right": "right", **SIDES}
RATE = {"kind": "rate", "exponent": -0.5, "tolerance": 0.0, **SIDES}


def write(tmp_path, ds, *pieces, **given):
    """Texts of the verdict on a claim with these pieces of evidence, or one of these keys."""
    evidence = [{"experiment": "study", **piece} for piece in pieces or [given]]
    scale = dict.fromkeys(("study", "other"), SCALE)
    content = {"paper": "p", "scale": scale, "claims": [{**HEAD, "evidence": evidence}]}
    file = tmp_path / "paper.yaml"
    file.write_text(yaml.safe_dump(content))
    known = {name: [*ERRORS, "ObjT"] for name in scale}
    (verdict,) = evaluate(claims.load([file]), {} if ds is None else {"study": ds}, known)
    return texts(verdict)


@pytest.fixture
def precise():
    """Seeds that differ by 0.15 percentage points, and both sides of an inequality."""
    ds = build(ERRORS, spread=0.0005)
    left = np.ones(ds["test_error"].shape) * ds["round"].values ** -0.6
    dims = ds["test_error"].dims
    return ds.assign(left=(dims, left), right=(dims, 2 * left))


@pytest.mark.parametrize(
    ("given", "published", "ours", "interval", "why"),
    [
        (
            VALUE,
            "13.40 %",
            "13.00 % (mean of 10)",
            "95 %: 12.89 to 13.11 %\n90 %: 12.91 to 13.09 %",
            "0.40 pp below the published value; its 90 % interval lies within 0.50 pp of it.",
        ),
        (
            {**VALUE, "minus": "ObjPM", "over_seeds": "best", "published": 2.0},
            "2.00 pp",
            "2.00 pp (best of 10)",
            "95 %: 1.74 to 2.26 pp\n90 %: 1.80 to 2.20 pp",
            "At the published value; its 90 % interval lies within 0.50 pp of it.",
        ),
        (
            {**VALUE, "over": "OutP", "unit": "1", "published": -0.5, "tolerance": 9},
            "−0.5",
            "0.65 (mean of 10)",
            "95 %: 0.643 to 0.657\n90 %: 0.644 to 0.656",
            "1.15 above the published value; its 90 % interval lies within 9 of it.",
        ),
        (
            {**VALUE, "published": 13.0, "instances": 40},
            "13.00 %",
            "13.00 % (mean of 10)",
            "95 %: 12.89 to 13.11 %\n90 %: 12.91 to 13.09 %",
            "within 0.55 pp of it, of which 0.05 pp are the sampling error of the paper's mean.",
        ),
        (
            ORDER,
            "ObjPM < ObjP < OutP",
            "ε = 0.1: 11.00 % < 13.00 % < 20.00 %\nε = 1: 10.00 % < 12.00 % < 15.00 %",
            "ObjP − ObjPM at ε = 0.1: ",
            "Every difference is above 0. These methods are not equally private.",
        ),
        (
            {**ORDER, "labels": ["OutP", ["ObjP", "ObjPM"]], "epsilon": [1.0]},
            "OutP < ObjP, ObjPM",
            "ε = 1: 15.00 % ≮ 12.00, 10.00 %",
            "ObjP − OutP at ε = 1: ",
            "ObjP − OutP at ε = 1 is −3.00 pp (97.5 % interval −3.21 to −2.79 pp), not above 0 by a relevant "
            "0.10 pp. Likewise ObjPM − OutP at ε = 1 (−5.00 pp). These",
        ),
        (
            {**ORDER, "labels": ["ObjP", "OutP"], "somewhere": True},
            "ObjP < OutP somewhere",
            "ε = 0.1: 13.00 % < 20.00 %\nε = 1: 12.00 % < 15.00 %",
            "OutP − ObjP at ε = 0.1: ",
            "Some difference is above 0.",
        ),
        (
            CLOSE,
            "ObjPM close to Non-private, ObjP and OutP not",
            "ObjPM − Non-private +0.90 pp\nObjP − Non-private +2.90 pp\nOutP − Non-private +5.90 pp",
            "ObjPM − Non-private: 95 %: ",
            "ObjPM − Non-private is 0.90 pp, which may or may not be within 1.00 pp of 0. About ",
        ),
        (
            {**CLOSE, "tolerance": 2.0, "others": []},
            "ObjPM close to Non-private",
            "ObjPM − Non-private +0.90 pp",
            "ObjPM − Non-private: 95 %: ",
            "ObjPM − Non-private is +0.90 pp; its 90 % interval lies within 2.00 pp of 0.",
        ),
        (
            TRADE,
            "falls as ε grows",
            "ObjP: 14.00 → 13.00 → 12.00 %",
            "fall of ObjP from ε = 0.05 to 1: all seeds agree\nrise of ObjP from ε = 0.05 to 0.1: all seeds",
            "Falls from the first to the last budget, and rises by no relevant difference at any step.",
        ),
        (
            ROUND,
            "falls to 0",
            "last value / maximum:\nObjP at ε = 0.1: 0 %",
            "ObjP at ε = 0.1: all seeds agree",
            "Every last value is at most 1 % of the maximum.",
        ),
        (
            SPREAD,
            "the budgets of ObjP matter less than the settings of ObjP … OutP",
            "2.00 pp over the budgets of ObjP\nagainst 9.00 pp over the settings of ObjP … OutP",
            "second − first: 6.85 to 7.15 pp",
            "The second range is larger than the first.",
        ),
        (
            BOUND,
            "left side ≤ right side",
            "right / left:\nObjP at ε = 0.1: 2",
            "",
            "The tightest right side is 2 times the left side. The left side is at most the right side after every "
            "evaluated round, at 90 %.",
        ),
        (
            {**BOUND, "right": "left", "metric": "right", "each_run": True},
            "left side ≤ right side",
            "right / left:\nObjP at ε = 0.1: 0.5",
            "",
            "Left less right side, ObjP at ε = 0.1, after 1 round is 1, not at most 0. Likewise",
        ),
        (
            RATE,
            "slope ≤ -0.5",
            "ObjP at ε = 0.1: −0.6",
            "ObjP at ε = 0.1: all seeds agree",
            "Every slope is at most -0.5.",
        ),
        (
            {**RATE, "exponent": -0.9},
            "slope ≤ -0.9",
            "ObjP at ε = 0.1: −0.6",
            "ObjP at ε = 0.1: all seeds agree",
            "The slope of ObjP at ε = 0.1 is −0.6, flatter than -0.9; rounds to come may be steeper.",
        ),
    ],
)
def test_each_kind_of_claim_in_words(tmp_path, precise, given, published, ours, interval, why):
    text = write(tmp_path, precise, given)
    assert (text.published, text.ours) == (published, ours)
    assert text.interval.startswith(interval)
    assert bool(text.interval) == bool(interval)
    assert why in text.why


REASONS = {
    "experiment": (None, VALUE, "The experiment study is not part of this configuration."),
    "metric": ({}, {**VALUE, "metric": "lost"}, "No run measures lost."),
    "round": ({}, {**VALUE, "at_round": 50}, "Round 50 was not evaluated."),
    "runs": ({}, {**VALUE, "algorithm": "ObjT"}, "Not run: ObjT at ε = 0.1."),
    "budgets": (
        {},
        {**ORDER, "epsilon": [0.1, 5, INF], "labels": ["ObjP", "OutP"]},
        "Not run: ObjP, OutP at ε = 5 and without a budget. What ran would support it: Every",
    ),
    "seeds": ({"seeds": 2}, VALUE, "Needs at least 3 seeds; The value has 2."),
    "scale": (
        {"n_train": 15440, "dataset_note": "a part", "rounds": (1, 200)},
        VALUE,
        "Short of what the statement presupposes: 200 of 300 rounds; 15,440 of 60,000 training samples (a part). "
        "What ran would support it: 0.40 pp below",
    ),
    "solutions": (
        {},
        {**VALUE, "requires": {**SCALE, "converged": True}},
        "presupposes: ObjP at ε = 0.1: 10 of 10 runs ended before the method's own test.",
    ),
    "parameters": (
        {"params": {"ObjP": {"rho": 1}}},
        {**VALUE, "requires": {**SCALE, "params": {"ObjP": {"c": 1, "rho": 2}}}},
        "ObjP: c is not stated, as printed 1; ObjP: rho is 1, as printed 2. What ran",
    ),
    "relation": (
        {"relation": "zero_out"},
        {**VALUE, "requires": {**SCALE, "relation": "replace"}},
        "neighbours by zero_out, the paper's by replace.",
    ),
    "privacy": (
        {},
        {**ORDER, "requires": {**SCALE, "equally_private": True}},
        "presupposes: methods that are not equally private. What ran would support it: Every difference is above 0.",
    ),
    "start": (
        {"rounds": (31, 100, 300)},
        FALLS,
        "first evaluated after 31 of 300 rounds. What ran",
    ),
    "decade": (
        {"rounds": (1, 100, 300)},
        {**RATE, "metric": "test_error"},
        "2 of 3 evaluated rounds in the last decade.",
    ),
    "unprinted": (
        {},
        {**VALUE, "published": 19.0, "unprinted": "The solver is unknown."},
        "The solver is unknown. What ran would contradict it: The value is 13.00 %, not within 0.50 pp of the "
        "published value.",
    ),
    "other data": (
        {},
        {**VALUE, "other_data": "Ours differ."},
        "Not judged: Ours differ. 0.40 pp below the published value",
    ),
    "note": (
        {},
        {**VALUE, "published": 19.0, "note": "As known."},
        "not within 0.50 pp of the published value. As known.",
    ),
    "lost": (
        {"diverged": {("ObjP", 0.1): 2}},
        VALUE,
        "ObjP at ε = 0.1: 2 diverged of 10 runs.",
    ),
    "forecast": (
        {},
        {**VALUE, "published": 13.5},
        "which may or may not be within 0.50 pp of the published value. Even 100,000 seeds would not decide it with "
        "80 % power if means and spreads stay as they are.",
    ),
    "negligible": (
        {},
        {**ORDER, "labels": ["ObjP", "OutP"], "epsilon": [1.0], "relevant": 4.0},
        "OutP − ObjP at ε = 1 is 3.00 pp, too small to be above 0 by a relevant 4.00 pp. These",
    ),
}


@pytest.mark.parametrize("name", REASONS)
def test_each_reason_in_words(tmp_path, name):
    change, given, why = REASONS[name]
    ds = None if change is None else build(ERRORS, **{"spread": 0.0005, **change})
    assert why in write(tmp_path, ds, given).why


def test_runs_without_a_number_are_counted(tmp_path, precise):
    precise["test_error"].loc[{"algorithm": "ObjP", "epsilon": 0.1, "seed": [0, 1]}] = np.inf
    assert (
        write(tmp_path, precise, VALUE).why
        == "ObjP at ε = 0.1: 2 of 10 runs have no finite number."
    )
    precise["status"].loc[{"algorithm": "ObjP", "epsilon": 0.1, "seed": [0]}] = Outcome.TIMED_OUT
    precise["status"].loc[{"algorithm": "ObjP", "epsilon": 0.1, "seed": [1]}] = Outcome.DIVERGED
    assert "1 diverged and 1 timed out of 10 runs." in write(tmp_path, precise, VALUE).why


def test_several_pieces_of_evidence_are_named_by_their_experiments(tmp_path, precise):
    other = {**VALUE, "experiment": "other"}
    text = write(tmp_path, precise, VALUE, other)
    assert text.published == "13.40 %"
    assert text.ours == "study:\n13.00 % (mean of 10)"
    assert text.why.startswith("study: 0.40 pp below the published value")
    assert text.why.endswith("other: The experiment other is not part of this configuration.")
    against = write(tmp_path, precise, VALUE, {**VALUE, "published": 19.0}, other)
    assert against.why == (
        "The value is 13.00 % (97.5 % interval 12.87 to 13.13 %), not within 0.50 pp of the published value."
    )
    assert against.published == "13.40 %\n19.00 %"
    assert write(tmp_path, precise, VALUE, VALUE) == write(tmp_path, precise, VALUE)
