"""Only runs that meet what a statement presupposes decide a claim, whatever its kind; and verdicts follow the claim."""

from __future__ import annotations

import functools
import json
from pathlib import Path

import pytest

from admmbench.base.outcomes import Outcome
from admmbench.claims import claims, kinds
from admmbench.claims.judge import Missing, evaluate
from admmbench.claims.requirements import Shortfall
from admmbench.datasets import MissingData
from admmbench.results import reference
from admmbench.study.configurations import labels
from tests.claims.statements import (
    BUDGETS,
    CLOSE,
    FALLS,
    NARROW,
    ORDER,
    SCALE,
    SPREAD,
    TRADE,
    VALUE,
    WIDE,
    find,
)
from tests.made import ERRORS, INF, build

CLAIMS = Path(__file__).parents[2] / "config" / "claims"
DECIDED = ("supported", "contradicted")

# Claims of every kind that hold in the made-up study, and their contraries.
HOLDING = {
    "value": {**VALUE, "published": 13.0},
    "best": {**VALUE, "over_seeds": "best", "published": 12.8},
    "difference": {**VALUE, "minus": "ObjPM", "published": 2.0},
    "ratio": {
        **VALUE,
        "algorithm": "OutP",
        "over": "ObjP",
        "unit": "1",
        "published": 1.54,
        "tolerance": 0.1,
    },
    "order": ORDER,
    "somewhere": {**ORDER, "labels": [["ObjPM", "OutP"], "ObjP"], "somewhere": True},
    "close": {**CLOSE, "others": [], "tolerance": 1.5},
    "round": FALLS,
    "epsilon": {**TRADE, "algorithms": ["OutP"]},
    "spread": SPREAD,
}
CONTRARY = {
    "value": {"published": 14.1},
    "best": {"published": 13.9},
    "difference": {"published": 3.1},
    "ratio": {"published": 1.78},
    "order": {"labels": ["OutP", "ObjP", "ObjPM"]},
    "somewhere": {"labels": ["OutP", ["ObjPM", "ObjP"]]},
    "close": {"tolerance": 0.4},
    "round": {},
    "epsilon": {},
    "spread": {"narrow": WIDE, "wide": NARROW},
}


def study(name="", **given):
    """Make results in which every claim holds, or those that refute the trend of this name."""
    errors = dict(ERRORS)
    if name == "epsilon":
        errors["OutP"] = dict(zip(BUDGETS, (0.1, 0.2, 0.3), strict=True))
    ds = build(errors, **{"spread": 0.0005, **given})
    if name == "round":
        ds["consensus_violation"] += 1
    return ds


@pytest.mark.parametrize("name", HOLDING)
def test_a_mutated_claim_of_any_kind_changes_its_verdict(name):
    assert find(study(), **HOLDING[name]).outcome == "supported"
    mutated = find(study(name), **{**HOLDING[name], **CONTRARY[name]})
    assert mutated.outcome == "contradicted"


SHORT = {
    "rounds": ({"rounds": (1, 100, 299)}, {}, 299, 300),
    "seeds": ({"seeds": 9}, {}, 9, 10),
    "agents": ({"agents": 9}, {}, 9, 10),
    "n_train": ({"n_train": 59999}, {}, 59999, 60000),
    "converged": ({}, {"converged": True}, 10, 10),
    "relation": ({"relation": "zero_out"}, {"relation": "replace"}, "zero_out", "replace"),
    "params": ({}, {"params": {label: {"rho": 0.01} for label in ERRORS}}, None, 0.01),
}


@pytest.mark.parametrize("name", HOLDING)
@pytest.mark.parametrize("short", SHORT)
def test_runs_short_of_what_a_statement_presupposes_decide_nothing(name, short):
    change, needs, here, paper = SHORT[short]
    for given, ds, apparent in (
        (HOLDING[name], study(**change), "supported"),
        ({**HOLDING[name], **CONTRARY[name]}, study(name, **change), "contradicted"),
    ):
        verdict = find(ds, **given, requires={**SCALE, **needs})
        assert (verdict.outcome, verdict.apparent) == ("undecided", apparent)
        assert {each[:3] for each in verdict.shortfalls} == {(short, here, paper)}
        assert verdict.seeds_needed is None


@pytest.mark.parametrize("needs", [SCALE, None])
@pytest.mark.parametrize("name", HOLDING)
def test_runs_on_a_part_of_the_data_judge_no_claim(name, needs):
    found = MissingData(unit="writer", present=114, stated=195, files={"a": ""})
    ds = study().assign_attrs(missing_data=found.model_dump_json())
    verdict = find(ds, **HOLDING[name], requires=needs)
    assert (verdict.outcome, verdict.apparent) == ("not run", "supported")
    assert verdict.shortfalls == [Shortfall("data", 114, 195, note="writer")]


def test_a_curve_that_is_seen_late_decides_nothing_along_rounds():
    """It may have been highest before: fewer evaluations are a limit of the study."""
    given = HOLDING["round"]
    verdict = find(study("round", rounds=(31, 100, 200, 300)), **given)
    assert verdict.outcome == "undecided"
    assert verdict.shortfalls == [Shortfall("start", 31, 300)]
    assert find(study("round", rounds=(30, 100, 200, 300)), **given).outcome == "contradicted"
    assert find(study(rounds=(31, 100, 200, 300)), **HOLDING["order"]).outcome == "supported"


def test_a_curve_up_to_a_round_is_seen_late_by_that_round():
    given = {**HOLDING["round"], "fraction": 0.5, "at_round": 200}
    assert find(study("round", rounds=(20, 100, 200, 300)), **given).outcome == "supported"
    verdict = find(study("round", rounds=(25, 100, 200, 300)), **given)
    assert verdict.outcome == "undecided"
    assert verdict.shortfalls == [Shortfall("start", 25, 200)]


def test_the_rounds_that_count_are_those_of_the_methods_of_a_claim():
    ds = study()
    ds["rounds"].loc[{"algorithm": "ObjP"}] = 5
    verdict = find(ds, **{**HOLDING["value"], **CONTRARY["value"]})
    assert verdict.outcome == "undecided"
    assert verdict.shortfalls == [Shortfall("rounds", 5, 300)]
    ds["rounds"][:] = 300
    ds["rounds"].loc[{"algorithm": "OutP"}] = 5
    assert find(ds, **HOLDING["value"]).outcome == "supported"


def test_an_optimum_needs_no_rounds_of_the_paper():
    for method, verdict in (("iadmm", "undecided"), ("centralized", "supported")):
        ds = study(methods={"Non-private": method})
        ds["rounds"].loc[{"algorithm": "Non-private"}] = 1
        assert find(ds, **HOLDING["close"]).outcome == verdict


def test_the_neighbours_that_count_are_those_of_the_methods_of_a_claim():
    ds = study()
    ds["relation"].loc[{"algorithm": "OutP"}] = "replace"
    needs = {**SCALE, "relation": "zero_out"}
    assert find(ds, **HOLDING["value"], requires=needs).outcome == "supported"
    ds["relation"].loc[{"algorithm": "ObjP"}] = "replace"
    assert find(ds, **HOLDING["value"], requires=needs).shortfalls == [
        Shortfall("relation", "replace", "zero_out")
    ]


def test_runs_that_meet_every_requirement_decide():
    """Parameters as printed, solutions by the methods' own tests, the paper's neighbours."""
    ds = build(ERRORS, spread=0.0005, relation="replace", params={"ObjP": {"rho": 0.01}})
    ds["status"][...] = ds["status"].where(ds["status"] < 0, Outcome.CONVERGED)
    needs = {
        **SCALE,
        "converged": True,
        "relation": "replace",
        "params": {"ObjP": {"rho": 0.01}, "another": {"rho": 7}},
    }
    assert find(ds, **HOLDING["value"], requires=needs).outcome == "supported"
    needs["params"]["ObjP"]["rho"] = 0.02
    other = find(ds, **HOLDING["value"], requires=needs)
    assert other.outcome == "undecided"
    assert other.shortfalls == [Shortfall("params", 0.01, 0.02, "ObjP", param="rho")]


def test_methods_that_must_be_equally_private():
    needs = {**SCALE, "equally_private": True}
    order = {**HOLDING["order"], "labels": ["ObjP", "OutP"]}
    verdict = find(study(), **order, requires=needs)
    assert verdict.outcome == "undecided"
    assert verdict.shortfalls == [Shortfall("equally_private")]
    assert verdict.is_equally_private  # it is said once
    worst = study(sensitivity="global")
    worst["epsilon_total"][...] = worst["epsilon_total"].sel(algorithm="ObjP")
    worst["guarantee"][...] = "proved"
    assert find(worst, **order, requires=needs).outcome == "supported"


@pytest.mark.parametrize("name", ["value", "order"])
def test_what_a_paper_does_not_print_is_held_against_nobody(name):
    unknown = "The paper does not print the solver."
    held = find(study(), **HOLDING[name], unprinted=unknown)
    assert (held.outcome, held.is_unprinted) == ("supported", False)
    refuted = find(study(), **{**HOLDING[name], **CONTRARY[name]}, unprinted=unknown)
    assert (refuted.outcome, refuted.apparent) == ("undecided", "contradicted")
    assert refuted.is_unprinted


@pytest.mark.parametrize("outcome", [Outcome.TIMED_OUT, Outcome.STALLED, Outcome.UNDEFINED])
@pytest.mark.parametrize("label", ["ObjPM", "OutP"])
def test_a_limit_of_the_study_on_either_side_of_an_order_decides_nothing(label, outcome):
    for order_of in (["ObjPM", "OutP"], ["OutP", "ObjPM"]):
        ds = study()
        ds["status"].loc[{"algorithm": label, "epsilon": 0.1, "seed": 0}] = outcome
        ds["test_error"].loc[{"algorithm": label, "epsilon": 0.1, "seed": 0}] = float("nan")
        order = {**HOLDING["order"], "labels": order_of, "epsilon": [0.1]}
        assert find(ds, **order).outcome == "undecided"


def test_a_claim_about_an_early_round_is_judged_there():
    """The error falls linearly from 90 % to 13 % at round 300."""
    early = {**HOLDING["value"], "published": 90 - 77 * 99 / 299, "at_round": 100}
    ds = study(rounds=(1, 100, 300))
    ds["test_error"].loc[{"round": 100}] = 0.9 - 0.77 * 99 / 299
    assert find(ds, **early).outcome == "supported"
    assert find(ds, **{**early, "published": 13.0}).outcome == "contradicted"
    assert find(ds.sel(round=[1, 100]).assign_attrs(rounds=100), **early).outcome == "supported"
    other = find(ds, **{**early, "at_round": 50})
    assert (other.outcome, other.missing) == ("not run", Missing.ROUND)


@pytest.mark.parametrize("outcome", [Outcome.DIVERGED, Outcome.TIMED_OUT, Outcome.STALLED])
@pytest.mark.parametrize("name", ["value", "order"])
def test_a_run_that_is_lost_after_the_round_of_a_claim_has_its_value_there(name, outcome):
    """One that stalls holds its values: nobody knows whether it had by then."""
    ds, label = study(rounds=(1, 100, 200, 300)), "ObjP"
    early = {**HOLDING[name], "labels": ["ObjP", "OutP"], "epsilon": [0.1]}
    if name == "value":
        value = float(ds["test_error"].sel(algorithm=label, epsilon=0.1, round=200).mean())
        early = {**HOLDING[name], "published": 100 * value}
    place = {"algorithm": label, "epsilon": 0.1, "seed": 0}
    ds["status"].loc[place] = outcome
    lost = "contradicted" if outcome == Outcome.DIVERGED else "undecided"
    if outcome != Outcome.STALLED:
        ds["test_error"].loc[{**place, "round": [300]}] = float("nan")
    there = find(ds, **early, at_round=200).outcome
    assert there == ("undecided" if outcome == Outcome.STALLED else "supported")
    assert find(ds, **{**HOLDING["order"], "labels": ["ObjP", "OutP"]}).outcome == lost
    ds["test_error"].loc[{**place, "round": [200, 300]}] = float("nan")
    assert find(ds, **early, at_round=200).outcome == lost


# the kept studies


known = functools.cache(labels)  # it reads the file of each experiment


@pytest.fixture(scope="module")
def kept():
    loaded = claims.load(sorted(CLAIMS.glob("*.yaml")))
    results = reference.load(sorted({name for claim in loaded for name in claim.experiments}))
    return results, {v.claim.id: v for v in evaluate(loaded, results, known())}


def rejudged(results, claim, **change):
    evidence = [piece.model_copy(update=change) for piece in claim.evidence]
    (verdict,) = evaluate([claim.model_copy(update={"evidence": evidence})], results, known())
    return verdict.verdict


def pieces(verdicts, *outcomes):
    """Claims with these verdicts, and their pieces of evidence with the same outcome."""
    for verdict in verdicts.values():
        if verdict.verdict in outcomes:
            for finding in verdict.findings:
                if finding.outcome in (verdict.verdict, "supported"):
                    yield verdict, finding.evidence


@pytest.mark.slow
def test_no_verdict_on_a_kept_study_is_one_that_its_requirements_forbid(kept):
    """By what the files of results say themselves, not by the code that judges."""
    results, verdicts = kept
    judged = list(pieces(verdicts, *DECIDED, "not falsified"))
    assert len(judged) > 100
    for verdict, piece in judged:
        needed = piece.requires
        ds = results[piece.experiment]
        assert ds.attrs["rounds"] >= needed.rounds
        assert ds.attrs["n_train"] >= needed.n_train
        for label, epsilon in piece.selections():
            there = label in ds.algorithm and epsilon in ds.epsilon
            assert there or verdict.verdict == "contradicted"
            run = ds.sel(algorithm=label, epsilon=epsilon)
            status = [state for state in run.status.values.tolist() if state >= 0]
            assert int(run.agents) >= needed.agents
            assert epsilon == INF or len(status) >= needed.seeds
            assert not needed.converged or set(status) == {Outcome.CONVERGED}
            for name, value in needed.params.get(label, {}).items():
                assert json.loads(str(run.params.item()))[name] == value


@pytest.mark.slow
def test_verdicts_on_the_kept_studies_change_with_the_claim_and_with_the_runs(kept):
    results, verdicts = kept
    for verdict, piece in pieces(verdicts, *DECIDED):
        claim = verdict.claim.model_copy(update={"evidence": [piece]})
        cut = {piece.experiment: results[piece.experiment].assign_attrs(rounds=0)}
        assert rejudged(cut, claim) == "undecided", claim.id
        if verdict.verdict == "contradicted":
            continue
        if isinstance(piece, kinds.Order) and not piece.somewhere:
            refuted = "undecided" if piece.unprinted else "contradicted"
            assert rejudged(results, claim, labels=piece.labels[::-1]) == refuted, claim.id
        if isinstance(piece, kinds.Value):
            # The estimate lies within the margin, and the margin may hold the sampling error of the paper's mean.
            ours = results[piece.experiment]
            spread = 0.0
            if piece.instances:
                runs = ours[piece.metric].sel(algorithm=piece.algorithm, epsilon=piece.epsilon)
                spread = float(runs.isel(round=-1).std("seed", ddof=1)) * 2.3
            for off in (-1, 1):
                moved = piece.published + off * 2.1 * (piece.tolerance + spread)
                assert rejudged(results, claim, published=moved) != "supported", claim.id


PLANTED = {
    "constant": ("ryu2022-theorem-2-drawn", {"right": "tenth"}, "supported", "contradicted"),
    "slope": ("ryu2022-theorem-3-rate", {"exponent": -1.0}, "supported", "undecided"),
    "model": (
        "huang2019-l2-optimum",
        {"algorithm": "ADMM", "metric": "train_loss"},
        "supported",
        "contradicted",
    ),
    "parameter": ("huang2019-l2-epsilon-loss", "c_w", "supported", "undecided"),
    "rounds": ("hu2019-theorem-1", "rounds", "contradicted", "undecided"),
}


@pytest.mark.slow
@pytest.mark.parametrize("error", PLANTED)
def test_a_planted_error_changes_a_verdict_on_the_kept_studies(kept, error):
    """A constant ten times too small, a wrong slope, model or parameter, and too few rounds."""
    results, verdicts = kept
    name, change, before, after = PLANTED[error]
    assert verdicts[name].verdict == before
    claim = verdicts[name].claim
    own = {each: results[each] for each in claim.experiments}
    if error == "constant":
        own = {k: ds.assign(tenth=ds["theorem_drawn_right"] / 10) for k, ds in own.items()}
    elif error == "parameter":
        own = {
            k: ds.assign_coords(params=ds["params"].str.replace("89", "88"))
            for k, ds in own.items()
        }
    elif error == "rounds":
        own = {k: ds.assign_attrs(rounds=1) for k, ds in own.items()}
    assert rejudged(own, claim, **change if isinstance(change, dict) else {}) == after


@pytest.mark.slow
def test_limits_of_the_kept_studies_blame_no_paper(kept):
    """Verdicts that were once wrong: by fewer rounds, or by runs that ended before the method's own test."""
    _, verdicts = kept
    for name in (
        "ryu2022-femnist-noise-order",
        "ryu2021-mnist-outp-plus-consensus",
        "he2023-np-same",
        "he2023-fair-same",
        "he2023-fair-threshold",
    ):
        assert verdicts[name].verdict == "undecided"
        assert any(finding.shortfalls for finding in verdicts[name].findings)


@pytest.mark.slow
def test_each_theorem_has_one_verdict_and_what_is_ours_is_in_no_count(kept):
    _, verdicts = kept
    theorems = {
        name: verdict.verdict
        for name, verdict in verdicts.items()
        if isinstance(verdict.claim.evidence[0], kinds.Inequality | kinds.PrivacyLoss)
        and not verdict.claim.ours
    }
    assert theorems == {
        "he2023-lemma-3.2": "supported",
        "he2023-theorem-3.2": "not falsified",
        "he2023-lemma-4.1": "not falsified",
        "he2023-theorem-4.2": "not falsified",
        "hu2019-lemma-4": "contradicted",
        "hu2019-theorem-3": "contradicted",
        "huang2019-theorem-1": "supported",
        "huang2019-theorem-3": "supported",
        "huang2019-theorem-4": "supported",
        "ryu2021-theorem-1": "contradicted",
        "ryu2021-theorem-2": "contradicted",
        "ryu2021-theorem-3": "contradicted",
        "ryu2021-proposition-3": "supported",
        "ryu2022-theorem-1": "contradicted",
        "ryu2022-theorem-2": "contradicted",
        "ryu2022-theorem-3": "contradicted",
        "ryu2022-theorem-4": "not falsified",
    }
    ours = [name for name, verdict in verdicts.items() if verdict.claim.ours]
    parts = ("like", "features-convergence", "repaired", "squared", "diameter", "drawn")
    assert len(ours) == 22 == sum(any(part in name for part in parts) for name in verdicts)
