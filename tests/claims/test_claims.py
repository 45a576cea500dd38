"""Verdicts of each kind of claim, and the claims of the papers."""

from __future__ import annotations

import math
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from admmbench.base.outcomes import Outcome
from admmbench.claims import claims, kinds
from admmbench.claims.judge import Loss, Missing, evaluate
from admmbench.claims.requirements import Shortfall
from admmbench.claims.runs import Quantity, Runs
from admmbench.inference.power import POWER, chance
from tests.claims.statements import (
    CLOSE,
    FALLS,
    HEAD,
    NARROW,
    ORDER,
    SCALE,
    SPREAD,
    TRADE,
    VALUE,
    WIDE,
    find,
    judge,
    stated,
)
from tests.made import ERRORS, INF, build

CLAIMS = Path(__file__).parents[2] / "config" / "claims"


def make(tmp_path: Path, **given: object) -> list[claims.Claim]:
    """Write one claim on the synthetic study and load it."""
    file = tmp_path / "paper.yaml"
    content = {
        "paper": "p",
        "scale": {"study": SCALE},
        "claims": [{**HEAD, "experiment": "study", **given}],
    }
    file.write_text(yaml.safe_dump(content))
    return claims.load([file])


# value


@pytest.fixture
def precise():
    """Seeds that differ by 0.15 percentage points (standard deviation)."""
    return build(ERRORS, spread=0.0005, noise={"OutP": 0.1})


def bounds(ds, first, second=None, level=0.95):
    """Student's interval of a mean, or of a mean difference, of final errors at epsilon = 0.1, in percent."""
    final = 100 * ds["test_error"].sel(epsilon=0.1, round=300)
    values = final.sel(algorithm=first).values
    if second:
        values = values - final.sel(algorithm=second).values
    low, high = stats.ttest_1samp(values, 0).confidence_interval(level)
    return float(low), float(high)


def test_value_within_tolerance(precise):
    verdict = judge(precise, **VALUE)
    assert (verdict.verdict, verdict.seeds, verdict.size) == ("supported", 10, 0.05)
    assert not verdict.is_exploratory
    (finding,) = verdict.findings
    (part,), (row,) = finding.parts, finding.rows
    assert (part.quantity, part.runs, part.limit) == (Quantity.VALUE, (("ObjP", 0.1),), 0.5)
    assert part.estimate == pytest.approx(13)
    assert row.tiers == ((pytest.approx(13),),)
    assert row.n == 10
    for interval, level in ((part.interval, 0.95), (part.equivalence, 0.9)):
        assert interval == pytest.approx((level, *bounds(precise, "ObjP", level=level)))


def test_value_is_decided_by_equivalence(precise):
    """The verdict changes where an interval of scipy's touches the margin."""
    (low, _), (lower, upper) = (bounds(precise, "ObjP", level=level) for level in (0.9, 0.95))
    for published, tolerance, outcome in (
        (13.0, 13.0 - low + 1e-6, "supported"),
        (13.0, 13.0 - low - 1e-6, "undecided"),
        (14.0, 14.0 - upper - 1e-6, "contradicted"),
        (14.0, 14.0 - upper + 1e-6, "undecided"),
        (12.0, lower - 12.0 - 1e-6, "contradicted"),
        (12.0, lower - 12.0 + 1e-6, "undecided"),
    ):
        claim = {**VALUE, "published": published, "tolerance": tolerance}
        assert judge(precise, **claim).verdict == outcome


def test_an_undecided_claim_has_the_fewest_seeds_that_decide_its_hardest_part(results):
    claim = {**CLOSE, "others": [], "tolerance": 1.2}
    finding = find(results, **claim)
    assert finding.outcome == "undecided"
    (loaded,) = stated(**claim).evidence
    runs = Runs(results, list(loaded.selections()), "test_error", "final", 100)
    (contrast,) = loaded.contrasts(runs)
    at = [
        chance(contrast.estimate, contrast.region.shown, finding.seeds_needed - k) for k in (0, 1)
    ]
    assert at[0] >= POWER > at[1]
    edge = find(results, **{**VALUE, "published": 13.5, "tolerance": 0.5})
    assert edge.seeds_needed == math.inf
    assert find(build(ERRORS, seeds=4), **VALUE).seeds_needed is None


def test_value_as_far_off_as_the_tolerance_is_within_it():
    ds = build({"ObjP": {0.1: 0.25}}, spread=0.0)
    verdict = judge(ds, **{**VALUE, "published": 24.5})
    assert (verdict.verdict, verdict.seeds, verdict.size) == ("supported", 0, 0)
    (part,) = verdict.findings[0].parts
    assert (part.interval, part.equivalence, part.n) == (None, None, 10)


def test_value_of_the_best_run(precise):
    values = 100 * precise["test_error"].sel(algorithm="ObjP", epsilon=0.1, round=300).values
    claim = {**VALUE, "over_seeds": "best", "published": float(values.min())}
    finding = find(precise, **claim)
    assert finding.outcome == "supported"
    assert finding.rows[0].tiers == ((pytest.approx(values.min()),),)
    # 1.53875 is the mean of the largest of ten standard normal numbers, as tables of order statistics have it.
    half = stats.nct.ppf([0.975, 0.025], 9, 1.5387527 * np.sqrt(10)) * values.std(ddof=1)
    ends = values.mean() - half / np.sqrt(10)
    assert finding.parts[0].interval == pytest.approx((0.95, *ends), rel=1e-6)


def test_the_best_of_more_runs_is_that_of_as_many_as_the_paper_has():
    many = build({"ObjP": {0.1: 0.13}}, seeds=20, spread=0.0005)
    (row,) = find(many, **{**VALUE, "over_seeds": "best"}).rows
    values = 13 + 100 * 0.0005 * (np.arange(20) - 9.5)
    chosen = np.random.default_rng(0).permuted(np.tile(values, (20000, 1)), axis=1)[:, :10]
    assert row.tiers[0][0] == pytest.approx(chosen.min(axis=1).mean(), abs=0.01)
    assert row.n == 10


def test_a_difference_of_best_runs_has_an_interval(precise):
    claim = {**VALUE, "minus": "ObjPM", "over_seeds": "best", "published": 2.0, "tolerance": 1}
    finding = find(precise, **claim)
    assert (finding.outcome, finding.rows[0].tiers) == ("supported", ((pytest.approx(2),),))
    assert judge(precise, **{**claim, "published": 5.0}).verdict == "contradicted"


def test_value_of_random_instances_has_the_sampling_error_of_the_papers_mean(results):
    values = 100 * results.test_error.sel(algorithm="ObjP", epsilon=0.1).isel(round=-1).values
    s = np.std(values, ddof=1)
    error = float(stats.t.ppf(0.975, 9) * s / np.sqrt(4))
    inner, outer = (float(stats.t.ppf(q, 9)) * s / np.sqrt(10) for q in (0.95, 0.975))
    for off, outcome in (
        (error - inner - 1e-6, "supported"),
        (error - inner + 1e-6, "undecided"),
        (error + outer - 1e-6, "undecided"),
        (error + outer + 1e-6, "contradicted"),
    ):
        claim = {**VALUE, "published": float(13 + off), "tolerance": 0, "instances": 4}
        finding = find(results, **claim)
        assert (finding.outcome, finding.parts[0].limit) == (outcome, pytest.approx(error))
    needs = {**SCALE, "seeds": 2}
    one = judge(build(ERRORS, seeds=1), **VALUE, instances=4, requires=needs)
    assert one.verdict == "not run"


def test_sampling_error_of_a_difference_is_that_of_the_differences(results):
    # Both methods meet the same instances, so what these have in common cancels.
    values = results.test_error.sel(epsilon=0.1).isel(round=-1)
    gap = 100 * (values.sel(algorithm="ObjP") - values.sel(algorithm="ObjPM")).values
    error = float(stats.t.ppf(0.975, 9) * np.std(gap, ddof=1) / np.sqrt(4))
    mean = float(gap.mean())
    claim = {**VALUE, "minus": "ObjPM", "published": mean, "tolerance": 0, "instances": 4}
    (part,) = find(results, **claim).parts
    assert part.limit == pytest.approx(error)
    with pytest.raises(ValueError, match="a lowest value has no sampling error"):
        judge(results, **claim, over_seeds="best")


def test_numbers_on_other_data_are_shown_and_not_judged(results):
    verdict = judge(results, **VALUE, other_data="Ours have a column of ones.")
    (finding,) = verdict.findings
    assert (verdict.verdict, finding.apparent) == ("not run", "undecided")
    assert finding.rows[0].tiers == ((pytest.approx(13),),)
    assert (verdict.seeds, verdict.size) == (0, 0)


def test_value_of_a_difference(precise):
    finding = find(precise, **{**VALUE, "minus": "ObjPM", "published": 2.1})
    (part,) = finding.parts
    assert (finding.outcome, part.quantity) == ("supported", Quantity.DIFFERENCE)
    assert part.interval == pytest.approx((0.95, *bounds(precise, "ObjP", "ObjPM")))


def test_a_value_of_fewer_samples_is_shown_with_what_the_data_lack():
    given = {"n_train": 15440, "dataset_note": "a part"}
    finding = find(build(ERRORS, spread=0.0005, **given), **VALUE)
    assert finding.shortfalls == [Shortfall("n_train", 15440, 60000, note="a part")]
    assert finding.rows[0].tiers == ((pytest.approx(13),),)


def test_value_of_a_diverged_method_is_contradicted():
    """The other runs would flatter it; a run that a limit of the study ended says nothing."""
    ds = build(ERRORS, diverged={("ObjP", 0.1): 2})
    finding = find(ds, **{**VALUE, "tolerance": 50})
    assert finding.outcome == "contradicted"
    assert finding.parts[0].losses == (Loss(("ObjP", 0.1), {Outcome.DIVERGED: 2}, 10),)
    cut = find(build(ERRORS, timed_out={("ObjP", 0.1): 2}), **VALUE)
    assert cut.outcome == "undecided"
    assert cut.parts[0].losses == (Loss(("ObjP", 0.1), {Outcome.TIMED_OUT: 2}, 10),)
    assert cut.seeds_needed is None
    both = build(ERRORS, diverged={("ObjP", 0.1): 2}, timed_out={("ObjP", 0.1): 1})
    assert judge(both, **VALUE).verdict == "contradicted"


@pytest.mark.parametrize("seeds", [1, 2, 3])
def test_a_verdict_needs_three_seeds_or_a_run_without_any(seeds):
    ds = build(ERRORS, spread=0.0005)
    ds["status"].loc[{"algorithm": "Non-private", "seed": slice(seeds, None)}] = -1
    given = {**VALUE, "algorithm": "Non-private", "epsilon": INF, "published": 9.0, "tolerance": 3}
    verdict = judge(ds, **given)
    assert (verdict.verdict == "not run") == (seeds < 3)
    assert verdict.findings[0].parts[0].n == seeds
    assert verdict.is_exploratory == (seeds == 3)
    alone = judge(ds, **given, requires={**SCALE, "seeds": 1})
    assert (alone.verdict == "not run") == (seeds == 2)
    two = judge(ds, **given, requires={**SCALE, "seeds": 2})
    assert (two.verdict == "not run") == (seeds < 3)


def test_intervals_are_wider_where_seeds_redraw_train_and_test(precise):
    drawn = '{"scheme": "iid", "agents": 10, "shuffle": true, "train": 60000}'
    (part,) = find(precise.assign_attrs(partition=drawn), **VALUE).parts
    values = 100 * precise["test_error"].sel(algorithm="ObjP", epsilon=0.1, round=300).values
    half = stats.t.ppf(0.975, 9) * values.std(ddof=1) * np.sqrt(1 / 10 + 10000 / 60000)
    assert part.interval == pytest.approx((0.95, 13 - half, 13 + half))


def test_a_ratio_is_taken_seed_by_seed(precise):
    results = precise
    first, second = (
        results["test_error"].sel(algorithm=a, epsilon=0.1).isel(round=-1) for a in ("OutP", "ObjP")
    )
    ratio = float((first / second).mean())
    claim = {**VALUE, "algorithm": "OutP", "over": "ObjP", "unit": "1", "published": ratio}
    finding = find(results, **{**claim, "tolerance": 0.05})
    assert (finding.outcome, finding.parts[0].quantity) == ("supported", Quantity.RATIO)
    assert finding.rows[0].tiers == ((pytest.approx(ratio),),)
    assert judge(results, **{**claim, "tolerance": 1e-6}).verdict == "undecided"
    far = judge(results, **{**claim, "published": ratio + 1, "tolerance": 0.5})
    assert far.verdict == "contradicted"
    with pytest.raises(ValueError, match="a ratio has the unit"):
        stated(**{**claim, "unit": "%"})


# order


def pair(part):
    """The two labels of a contrast and the budget."""
    (first, epsilon), (second, _) = part.runs
    return first, second, epsilon


def test_order_holds_at_every_epsilon(results):
    finding = find(results, **ORDER)
    assert finding.outcome == "supported"
    assert finding.rows[0].tiers == tuple((pytest.approx(mean),) for mean in (12, 14, 24))
    assert [row.epsilon for row in finding.rows] == ORDER["epsilon"]
    assert len(finding.parts) == 6


def test_order_fails_if_it_fails_at_one_epsilon():
    errors = {**ERRORS, "ObjP": {**ERRORS["ObjP"], 1.0: 0.16}}
    finding = find(build(errors, spread=0.001), **ORDER)
    assert finding.outcome == "contradicted"
    (part,) = finding.decisive
    assert pair(part) == ("OutP", "ObjP", 1.0)
    assert part.estimate == pytest.approx(-1)
    assert part.limit == pytest.approx(0.1)
    assert part.refutation.level == pytest.approx(1 - 0.05 / 6)


@pytest.mark.parametrize("seeds", [3, 10])
def test_order_is_undecided_if_an_interval_contains_0(seeds):
    needs = {**SCALE, "seeds": seeds}
    verdict = judge(build(ERRORS, seeds=seeds, spread=0.05), **ORDER, requires=needs)
    assert verdict.verdict == "undecided"
    assert len(verdict.findings[0].decisive) == 6
    assert verdict.findings[0].seeds_needed > seeds
    assert verdict.is_exploratory == (seeds == 3)
    errors = {**ERRORS, "ObjP": {**ERRORS["ObjP"], 1.0: 0.9}}
    three = {**ORDER, "requires": {**SCALE, "seeds": 3}}
    contrary = judge(build(errors, seeds=3, spread=0.001), **three)
    assert contrary.verdict == "contradicted"


def test_a_difference_that_is_no_relevant_one_is_no_order():
    """Without variance any difference would be significant."""
    ds = build({"a": {1.0: 0.1}, "b": {1.0: 0.1008}}, spread=0.0)
    given = {"kind": "order", "labels": ["a", "b"], "epsilon": [1.0]}
    for turned in (given, {**given, "labels": ["b", "a"]}):
        finding = find(ds, **turned)
        assert (finding.outcome, finding.seeds_needed) == ("undecided", None)
        assert finding.parts[0].is_negligible
    assert judge(ds, **given, relevant=0.07).verdict == "supported"
    assert judge(ds, **given, unit="1").verdict == "supported"  # more than 0.1 % of it
    assert judge(ds, **given, unit="1", relevant=0.01).verdict == "undecided"
    same = build({"a": {1.0: 0.0}, "b": {1.0: 0.0}}, spread=0.0)
    assert judge(same, **given, unit="1").verdict == "undecided"
    ds = build({"a": {1.0: 0.1}, "b": {1.0: 0.098}}, spread=0.0)
    assert judge(ds, **given).verdict == "contradicted"


def test_a_difference_above_0_contradicts_nothing_however_small():
    """With variance a small difference may be shown to be above 0 and below what is relevant."""
    given = {"kind": "order", "labels": ["a", "b"], "epsilon": [1.0]}
    ds = build({"a": {1.0: 0.1}, "b": {1.0: 0.1005}}, shared_noise=0.001, spread=1e-5)
    finding = find(ds, **given)
    assert (finding.outcome, finding.parts[0].is_negligible) == ("undecided", True)
    # Shown to be less than is relevant, and not to be above 0.
    ds = build({"a": {1.0: 0.1}, "b": {1.0: 0.1}}, shared_noise=0.001, spread=1e-5)
    assert judge(ds, **given).verdict == "contradicted"


def test_methods_without_a_common_seed_are_not_compared():
    ds = build({"a": {1.0: 0.1}, "b": {1.0: 0.2}})
    ds["status"].loc[{"algorithm": "a", "seed": slice(5, None)}] = -1
    ds["status"].loc[{"algorithm": "b", "seed": slice(None, 4)}] = -1
    finding = find(ds, kind="order", labels=["a", "b"], epsilon=[1.0])
    assert (finding.outcome, finding.parts[0].n) == ("not run", 0)


def test_order_uses_pairs_of_seeds():
    """A difficulty that all methods share, such as the partition, does not blur the order."""
    ds = build(ERRORS, spread=0.0005, shared_noise=0.05)
    assert judge(ds, **ORDER).verdict == "supported"


def test_order_tiers_are_not_compared_within(results):
    finding = find(results, **{**ORDER, "labels": [["ObjP", "ObjPM"], "OutP"]})
    assert finding.outcome == "supported"
    assert {pair(part)[:2] for part in finding.parts} == {("OutP", "ObjP"), ("OutP", "ObjPM")}
    assert list(map(len, finding.rows[0].tiers)) == [2, 1]


@pytest.mark.parametrize(
    ("label", "count", "error", "outcome"),
    [
        ("ObjPM", 1, 0.11, "contradicted"),  # the better one
        ("OutP", 10, 0.21, "undecided"),
        ("OutP", 7, 0.05, "undecided"),  # what is left of a worse one contradicts nothing
        ("OutP", 7, 0.21, "supported"),
    ],
)
def test_an_order_is_open_to_what_a_worse_method_lost(label, count, error, outcome):
    errors = {**ERRORS, label: {**ERRORS[label], 0.1: error}}
    ds = build(errors, spread=0.0005, diverged={(label, 0.1): count})
    finding = find(ds, **ORDER)
    assert finding.outcome == outcome
    losses = {loss for part in finding.parts for loss in (part.losses and part.losses[0][::2],)}
    assert (((label, 0.1), 10) in losses) == (outcome != "supported")


def test_a_pair_that_was_not_run_leaves_an_order_open(results):
    """Unless another pair contradicts it."""
    finding = find(results, **{**ORDER, "epsilon": [0.05, 5.0]})
    assert (finding.outcome, finding.apparent) == ("undecided", "supported")
    assert finding.absent == [(label, 5.0) for label in ORDER["labels"]]
    turned = {**ORDER, "labels": ["OutP", "ObjP"], "epsilon": [0.05, 5.0]}
    assert judge(results, **turned).verdict == "contradicted"
    # At ε = 1 the first method is missing, and the others are in the wrong order.
    errors = {"a": {0.1: 0.1}, "b": {0.1: 0.2, 1.0: 0.3}, "c": {0.1: 0.3, 1.0: 0.2}}
    given = {"kind": "order", "labels": ["a", "b", "c"], "epsilon": [0.1, 1.0]}
    finding = find(build(errors), **given)
    assert finding.outcome == "contradicted"
    assert [pair(part) for part in finding.decisive] == [("c", "b", 1.0)]


def test_one_case_is_enough_where_the_paper_speaks_of_some():
    """ObjP is ahead of ObjPM at one of three budgets."""
    errors = {**ERRORS, "ObjP": {**ERRORS["ObjP"], 1.0: 0.05}}
    some = {**ORDER, "labels": ["ObjP", "ObjPM"], "somewhere": True}
    ds = build(errors, spread=0.001)
    assert judge(ds, **some).verdict == "supported"
    assert judge(ds, **{**some, "somewhere": False}).verdict == "contradicted"
    # An example is one though another budget was not run; where nothing is one, that budget may have it.
    more = {**some, "epsilon": [0.05, 1.0, 5.0]}
    assert judge(ds, **more).verdict == "supported"
    none = find(build(ERRORS, spread=0.001), **more)
    assert (none.outcome, none.apparent) == ("undecided", "contradicted")
    assert none.absent == [("ObjP", 5.0), ("ObjPM", 5.0)]
    assert judge(build(ERRORS, spread=0.001), **some).verdict == "contradicted"
    lost = judge(build(errors, diverged={("ObjP", 1.0): 1}), **some)
    assert lost.verdict == "contradicted"


@settings(max_examples=30)
@given(st.lists(st.floats(0.05, 0.5), min_size=2, max_size=4, unique=True))
def test_order_agrees_with_sorting(means):
    labels = [f"M{i}" for i in range(len(means))]
    ds = build({label: {1.0: mean} for label, mean in zip(labels, means, strict=True)}, spread=0.0)
    given = {"kind": "order", "labels": labels, "epsilon": [1.0]}
    verdict = judge(ds, **given)
    gaps = 100 * np.diff(means)
    if (np.abs(np.abs(gaps) - 0.1) > 1e-9).all():
        small = (np.abs(gaps) < 0.1).any()
        wanted = "contradicted" if (gaps < -0.1).any() else "undecided" if small else "supported"
        assert verdict.verdict == wanted


# close


def test_close_and_the_others_not():
    finding = find(build(ERRORS, spread=0.0001), **CLOSE)
    assert finding.outcome == "supported"
    quantities = [part.quantity for part in finding.parts]
    assert quantities == [Quantity.NEAR, Quantity.FAR, Quantity.FAR]
    assert finding.parts[0].runs == (("ObjPM", 1.0), ("Non-private", INF))
    assert finding.parts[0].estimate == pytest.approx(0.9)


def test_close_fails_if_the_method_is_far_or_another_is_near(precise):
    far = find(precise, **{**CLOSE, "tolerance": 0.5})
    assert far.outcome == "contradicted"
    assert [part.quantity for part in far.decisive] == [Quantity.NEAR]
    near = find(precise, **{**CLOSE, "tolerance": 3.3})
    assert near.outcome == "contradicted"
    assert [part.runs[0][0] for part in near.decisive] == ["ObjP"]
    assert judge(precise, **{**CLOSE, "tolerance": 0.95}).verdict == "undecided"


def test_close_needs_every_method():
    others = {epsilon: mean for epsilon, mean in ERRORS["OutP"].items() if epsilon != 1.0}
    finding = find(build({**ERRORS, "OutP": others}), **CLOSE)
    assert (finding.outcome, finding.missing) == ("not run", Missing.RUNS)
    assert finding.absent == [("OutP", 1.0)]


def test_close_with_a_diverged_run():
    """Another method that diverged is not close, if the rest of it is not."""
    verdict = judge(build(ERRORS, diverged={("ObjPM", 1.0): 1}), **CLOSE)
    assert verdict.verdict == "contradicted"
    ds = build(ERRORS, spread=0.0001, diverged={("OutP", 1.0): 3})
    assert judge(ds, **CLOSE).verdict == "supported"
    for count, others in ((3, {1.0: 0.092}), (10, {1.0: 0.15})):
        diverged = {("OutP", 1.0): count}
        ds = build({**ERRORS, "OutP": others}, spread=0.0001, diverged=diverged)
        finding = find(ds, **CLOSE)
        assert finding.outcome == "undecided"
        (part,) = finding.decisive
        assert part.losses == (Loss(("OutP", 1.0), {Outcome.DIVERGED: count}, 10),)


# trend


def test_trend_along_rounds(results):
    assert judge(results, **FALLS).verdict == "supported"
    results["consensus_violation"] += 1
    finding = find(results, **FALLS)
    assert finding.outcome == "contradicted"
    part = finding.decisive[0]
    assert (part.quantity, part.runs, part.limit) == (Quantity.END, (("ObjP", 0.1),), 1)
    assert part.estimate == pytest.approx(100 / 41)


def test_a_curve_that_falls_with_a_seed_lost_is_no_reproduction():
    ds = build(ERRORS, diverged={("ObjP", 0.1): 1})
    assert judge(ds, **FALLS).verdict == "contradicted"


def test_the_method_with_fewest_seeds_decides_the_scale():
    ds = build(ERRORS, shared_noise=0.0)
    ds["status"].loc[{"algorithm": "OutP", "epsilon": 0.1, "seed": slice(4, None)}] = -1
    finding = find(ds, **{**FALLS, "requires": SCALE})
    assert finding.shortfalls == [Shortfall("seeds", 4, 10)]


def test_trend_along_rounds_may_end_at_the_fraction(results):
    results["consensus_violation"][...] = 4.0
    results["consensus_violation"][..., -1] = 1.0
    assert judge(results, **FALLS, fraction=0.25).verdict == "supported"
    assert judge(results, **FALLS, fraction=0.24).verdict == "contradicted"


def test_trend_along_epsilon(precise):
    finding = find(precise, **TRADE)
    assert finding.outcome == "supported"
    quantities = [part.quantity for part in finding.parts]
    assert quantities == [Quantity.FALL, Quantity.RISE, Quantity.RISE]
    assert finding.parts[0].runs == (("ObjP", 0.05), ("ObjP", 1.0))
    rising = build({**ERRORS, "ObjP": {0.05: 0.14, 0.1: 0.15, 1.0: 0.12}}, spread=0.0005)
    finding = find(rising, **TRADE)
    assert finding.outcome == "contradicted"
    (part,) = finding.decisive
    assert (part.quantity, part.estimate) == (Quantity.RISE, pytest.approx(1))
    assert judge(rising, **TRADE, relevant=1.9).verdict == "supported"
    back = build({**ERRORS, "ObjP": {0.05: 0.14, 0.1: 0.12, 1.0: 0.15}}, spread=0.0005)
    finding = find(back, **TRADE)
    assert finding.outcome == "contradicted"
    assert finding.decisive[0].quantity == Quantity.FALL
    # Between two budgets the fall says it all.
    two = find(precise, **{**TRADE, "epsilon": [0.05, 1.0]})
    assert (two.outcome, len(two.parts)) == ("supported", 1)


@pytest.mark.parametrize("seeds", [10, 4])
def test_trend_along_epsilon_is_undecided_where_seeds_differ_by_more(seeds):
    ds = build(ERRORS, seeds=seeds)
    first = ds["test_error"].loc[{"algorithm": "ObjP", "epsilon": 0.05}]
    first += np.linspace(-0.3, 0.3, seeds)[:, None]
    finding = find(ds, **TRADE)
    assert finding.outcome == "undecided"
    assert finding.decisive[0].quantity == Quantity.FALL


@pytest.mark.parametrize(
    ("epsilon", "verdict"), [(0.05, "supported"), (0.1, "contradicted"), (1.0, "contradicted")]
)
def test_a_trend_may_begin_where_runs_diverge(epsilon, verdict):
    ds = build(ERRORS, spread=0.0005, diverged={("ObjP", epsilon): 3})
    assert judge(ds, **TRADE).verdict == verdict


def test_trend_along_epsilon_with_one_seed_or_budget():
    assert judge(build(ERRORS, seeds=1), **TRADE).verdict == "not run"
    assert judge(build({"ObjP": {0.1: 0.2}}), **TRADE).verdict == "not run"
    # A method is judged though another has one budget.
    ds = build({"OutP": {0.1: 0.2}, "ObjP": {0.05: 0.14, 0.1: 0.15, 1.0: 0.12}}, spread=0.0005)
    finding = find(ds, **{**TRADE, "algorithms": ["OutP", "ObjP"]})
    assert finding.outcome == "contradicted"
    assert {label for part in finding.parts for label, _ in part.runs} == {"ObjP"}


# spread


def test_spread_with_a_diverged_run():
    for label, outcome in (("OutP", "undecided"), ("ObjP", "contradicted")):
        ds = build(ERRORS, diverged={(label, 0.1): 1})
        finding = find(ds, **SPREAD)
        assert finding.outcome == outcome
        assert finding.parts[0].losses == (Loss((label, 0.1), {Outcome.DIVERGED: 1}, 10),)


def test_spread(precise):
    finding = find(precise, **SPREAD)
    assert finding.outcome == "supported"
    assert finding.rows[0].tiers == ((pytest.approx(2),),)
    # Budgets of a method have the same seeds here, so that ranges vary over no seed.
    assert finding.parts[0].interval is None
    for other, outcome in ((WIDE, "contradicted"), (NARROW, "undecided")):
        verdict = judge(precise, kind="spread", narrow=other, wide=NARROW)
        assert verdict.verdict == outcome


def test_a_spread_that_varies_over_seeds_is_tested_by_its_pseudo_values(precise):
    """Where the same budgets are the extremes without any seed, pseudo-values are the ranges of seeds."""
    rng = np.random.default_rng(1)
    final = precise["test_error"].loc[{"round": 300}]
    final += rng.normal(0, 0.002, final.shape)
    (part,) = find(precise, **SPREAD).parts
    ends = 100 * precise["test_error"].sel(round=300)
    own, other = (
        (ends.sel(algorithm=a, epsilon=0.05) - ends.sel(algorithm=a, epsilon=1.0)).values
        for a in ("ObjP", "OutP")
    )
    assert part.interval == pytest.approx(
        (0.95, *stats.ttest_rel(other, own).confidence_interval())
    )


# several pieces of evidence


def both(*pieces, study):
    """The verdict on a claim with these pieces of evidence."""
    claim = claims.Claim.model_validate({**HEAD, "evidence": pieces})
    known = {"study": list(ERRORS), "other": list(ERRORS)}
    (verdict,) = evaluate([claim], {"study": study}, known)
    return verdict


HOLDS = {**VALUE, "experiment": "study", "requires": SCALE}
FAILS = {**HOLDS, "published": 19.0}


@pytest.mark.parametrize(
    ("second", "outcome"),
    [
        (HOLDS, "supported"),
        (FAILS, "contradicted"),
        ({**HOLDS, "published": 13.5}, "undecided"),
        ({**HOLDS, "experiment": "other"}, "undecided"),
        ({**FAILS, "unprinted": "The solver."}, "undecided"),
        ({**FAILS, "other_data": "Ours differ."}, "undecided"),
    ],
)
def test_all_pieces_of_evidence_are_to_support_a_claim_and_one_contradicts_it(
    precise, second, outcome
):
    verdict = both(HOLDS, second, study=precise)
    assert verdict.verdict == outcome
    assert [finding.evidence.kind for finding in verdict.findings] == ["value", "value"]
    assert both(second, HOLDS, study=precise).verdict == outcome


def test_evidence_that_was_not_run_leaves_a_claim_without_a_verdict(precise):
    absent = {**HOLDS, "experiment": "other"}
    assert both(absent, absent, study=precise).verdict == "not run"
    assert both(absent, FAILS, study=precise).verdict == "contradicted"


def test_any_of_all_contrasts_of_a_claim_refutes_it(precise):
    """Levels are those of all pieces together; one where some contrasts are to hold has one test."""

    def levels(verdict):
        return [part.refutation.level for each in verdict.findings for part in each.parts]

    order = {**ORDER, "experiment": "study", "requires": SCALE}
    verdict = both(HOLDS, order, study=precise)
    assert levels(verdict) == pytest.approx([1 - 0.05 / 7] * 7)
    verdict = both(HOLDS, {**order, "somewhere": True}, study=precise)
    assert levels(verdict) == pytest.approx([1 - 0.05 / 2] * 7)
    assert verdict.seeds == 10


def test_one_piece_of_evidence_may_stand_beside_the_statement(precise):
    assert stated(**VALUE) == both(HOLDS, study=precise).claim


def test_keys_beside_the_statement_are_those_of_all_pieces(precise):
    alone = {key: HOLDS[key] for key in ("published", "tolerance")}
    shared = {key: value for key, value in VALUE.items() if key not in alone}
    assert stated(**shared, evidence=[alone, FAILS]) == both(HOLDS, FAILS, study=precise).claim


def test_an_entry_with_rows_is_a_claim_for_each_row(tmp_path):
    table = [{"e": 0.1, "printed": 13.4, "labels": ["b"]}, {"e": 1, "printed": 12, "labels": []}]
    own = {"id": "at-{e}", "statement": "It is {printed:.2f}.", "rows": table}
    first, second = make(tmp_path, **{**VALUE, **own, "epsilon": "{e}", "published": "{printed}"})
    assert (first.id, first.statement) == ("at-0.1", "It is 13.40.")
    assert (first.evidence[0].epsilon, first.evidence[0].published) == (0.1, 13.4)
    assert (second.id, second.evidence[0].published) == ("at-1", 12)


def test_a_key_beside_the_statement_that_is_wrong_has_the_nearest_name(tmp_path):
    for change, message in (
        ({"statment": "So."}, r"claims\.0: unknown key 'statment'; did you mean 'statement'"),
        (
            {"tolerence": 3},
            r"paper\.yaml: claims\.0: unknown key 'tolerence'; did you mean 'tolerance'",
        ),
        ({"epsilon": -1}, r"claims\.0\.value\.epsilon: Input should be greater than 0"),
        ({"evidence": []}, r"claims\.0\.evidence: List should have at least 1 item"),
        ({"rows": [{"n": 1}], "statement": "{m}"}, r"paper\.yaml: rows: each needs .* 'm'"),
        ({"rows": {"n": 1}, "statement": "{n}"}, r"paper\.yaml: rows: each needs"),
    ):
        with pytest.raises(claims.ClaimError, match=message):
            make(tmp_path, **{**VALUE, **change})


# names


LOSS = {"metric": "test_loss", "unit": "1"}


@pytest.mark.parametrize("number", [np.inf, np.nan])
@pytest.mark.parametrize(
    "given",
    [
        {**VALUE, **LOSS, "published": 0.39},
        {**VALUE, **LOSS, "published": 0.39, "over_seeds": "best"},
        {**VALUE, **LOSS, "algorithm": "OutP", "minus": "ObjP", "published": 0.21},
        {
            **VALUE,
            **LOSS,
            "algorithm": "OutP",
            "minus": "ObjP",
            "over_seeds": "best",
            "published": 0.21,
        },
        {**ORDER, **LOSS},
        {**ORDER, **LOSS, "labels": ["ObjP", "OutP"]},
        {"kind": "bound", **LOSS, "right": "right", "algorithms": ["ObjP"], "epsilon": [0.1]},
        {
            "kind": "bound",
            **LOSS,
            "right": "right",
            "each_run": True,
            "algorithms": ["ObjP"],
            "epsilon": [0.1],
        },
    ],
    ids=str,
)
def test_runs_that_have_no_number_though_they_completed_leave_a_claim_open(precise, given, number):
    ds = precise.assign(right=10 * precise["test_loss"])
    assert judge(ds, **given).verdict == "supported"
    ds["test_loss"].loc[{"algorithm": "ObjP", "epsilon": 0.1, "seed": [0, 1]}] = number
    finding = find(ds, **given)
    assert finding.outcome == "undecided"
    assert {part.gap[1:] for part in finding.decisive if part.gap} == {(2, 10)}


@pytest.mark.parametrize("run", ["final", "best", "average"])
def test_no_other_round_stands_for_one_without_a_number(precise, run):
    given = {**VALUE, **LOSS, "published": 0.39, "tolerance": 9.0, "run": run}
    assert judge(precise, **given).verdict == "supported"
    precise["test_loss"].loc[{"algorithm": "ObjP", "epsilon": 0.1, "seed": 0, "round": 300}] = (
        np.nan
    )
    finding = find(precise, **given)
    assert finding.outcome == "undecided"
    assert finding.parts[0].gap == ((("ObjP", 0.1),), 1, 10)


def test_a_ratio_to_nothing_is_no_number(precise):
    precise["test_loss"].loc[{"algorithm": "OutP", "epsilon": 0.1, "seed": [0, 1]}] = 0.0
    ratio = {**VALUE, **LOSS, "over": "OutP", "published": 0.65}
    finding = find(precise, **ratio)
    assert finding.outcome == "undecided"
    assert finding.parts[0].gap == ((("ObjP", 0.1), ("OutP", 0.1)), 2, 10)


def test_what_was_not_run(results):
    (verdict,) = evaluate([stated(**VALUE)], {})
    assert verdict.verdict == "not run"
    assert verdict.findings[0].missing == Missing.EXPERIMENT
    finding = find(results, **{**VALUE, "epsilon": 5.0})
    assert (finding.outcome, finding.missing) == ("not run", Missing.RUNS)
    assert finding.absent == [("ObjP", 5.0)]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"algorithm": "ObjQ"}, r"paper\.yaml: claim one: unknown label 'ObjQ'; did you mean 'Obj"),
        ({"experiment": "studdy"}, r"claim one: unknown experiment 'studdy'; did you mean 'study'"),
        ({"kind": "valeu"}, r"paper\.yaml: claims\.0"),
    ],
)
def test_a_wrong_name_is_one_clear_message(tmp_path, results, change, message):
    with pytest.raises(claims.ClaimError, match=message):
        evaluate(make(tmp_path, **{**VALUE, **change}), {"study": results})


def test_metrics_are_checked_before_a_study_runs(results):
    """Afterwards a metric may be missing because the runs that measure it failed."""
    loaded = [stated(**{**VALUE, "metric": "test_eror"})]
    with pytest.raises(
        claims.ClaimError, match="unknown metric 'test_eror'; did you mean 'test_err"
    ):
        claims.check(loaded, {"study": ["ObjP"]}, {"study": ["test_error"]})
    (verdict,) = evaluate(loaded, {"study": results})
    (finding,) = verdict.findings
    assert (finding.missing, finding.unmeasured) == (Missing.METRIC, "test_eror")


def test_known_names_tell_left_out_from_misspelt(results):
    loaded = [stated(**{**VALUE, "algorithm": "ObjT"})]
    with pytest.raises(claims.ClaimError, match="unknown label 'ObjT'"):
        evaluate(loaded, {"study": results})
    (verdict,) = evaluate(loaded, {"study": results}, {"study": ["ObjT"]})
    assert verdict.verdict == "not run"
    with pytest.raises(claims.ClaimError, match="did you mean 'studies'"):
        evaluate(loaded, {}, {"studies": ["ObjT"]})


def test_ids_are_unique(tmp_path):
    make(tmp_path, **VALUE)
    (tmp_path / "again.yaml").write_text((tmp_path / "paper.yaml").read_text())
    with pytest.raises(claims.ClaimError, match="id already used"):
        claims.load(sorted(tmp_path.glob("*.yaml")))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("claims: [", "cannot be read"),
        ("paper: mine\nscale: {}\nclaims: []\nclaim: 1", "unknown key 'claim'"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(content, message, tmp_path):
    (tmp_path / "broken.yaml").write_text(content)
    with pytest.raises(claims.ClaimError, match=rf"broken\.yaml: {message}"):
        claims.load(sorted(tmp_path.glob("*.yaml")))


# the papers

PUBLISHED = {
    "ryu2022_mnist": {11.74, 21.79, 9.1, 10.05},
    "ryu2022_femnist": {59.42, 91.05, 37.27, 31.63},
    "ryu2021_mnist": {7.84, 7.42, 12.80, 21.79, 8.99},
    "ryu2021_remark3": {15.64, 37.98, 22.34},
    "ryu2021_femnist": {36.29, 35.25, 72.40, 91.05, 18.65},
    # Norms of optima; table II as ratios, as seconds are those of the authors' machine.
    "huang2019_l1": {23},
    "huang2019_l2": {89},
    "huang2019_times": {
        round(other / own, 1)
        for own, *others in (
            (6.937, 67.242, 102.282, 59.743),
            (5.322, 67.242, 78.798, 65.935),
            (5.218, 67.242, 79.013, 69.855),
        )
        for other in others
    },
    "hu2019_gisette": {0.08, 0.1},
    "hu2019_gisette_like": {0.08},
}


def pieces(*files):
    """Claims and their pieces of evidence."""
    return [(claim, piece) for claim in claims.load(files) for piece in claim.evidence]


def test_every_printed_number_is_a_claim():
    found: dict[str, set[float]] = {}
    for _, piece in pieces(*CLAIMS.glob("[!h]*.yaml"), *CLAIMS.glob("hu*.yaml")):
        if isinstance(piece, kinds.Value):
            found.setdefault(piece.experiment, set()).add(piece.published)
    assert found == PUBLISHED


def test_tolerances_have_room_for_the_rounding_of_what_is_printed():
    """Zeros at the end of a number are lost, so the digits of a column are the most that one of its numbers has."""
    columns: dict[tuple[str, str], list[kinds.Value]] = {}
    for claim, piece in pieces(*CLAIMS.glob("*.yaml")):
        if isinstance(piece, kinds.Value) and piece.published:
            columns.setdefault((claim.paper, piece.metric), []).append(piece)
    for column in columns.values():
        digits = min(Decimal(str(claim.published)).as_tuple().exponent for claim in column)
        assert all(claim.tolerance >= 0.4999 * 10.0 ** int(digits) for claim in column)


def test_the_statements_of_the_papers_are_claims():
    loaded = {claim.id: piece for claim, piece in pieces(*CLAIMS.glob("*.yaml"))}
    for data in ("mnist", "femnist"):
        order = loaded[f"ryu2022-{data}-order"]
        assert isinstance(order, kinds.Order)
        assert order.labels == [["ObjPM"], ["ObjP"], ["OutP"]]
        noise = loaded[f"ryu2022-{data}-noise-order"]
        assert isinstance(noise, kinds.Order)
        assert noise.labels == [["OutP"], ["ObjP", "ObjPM"]]
        close = loaded[f"ryu2022-{data}-close-to-non-private"]
        assert isinstance(close, kinds.Close)
        assert (close.algorithm, close.epsilon, close.others) == ("ObjPM", 1, ["ObjP", "OutP"])
    assert loaded["ryu2021-remark3-consensus"].metric == "consensus_violation"
    assert all(piece.requires for piece in loaded.values())


def test_the_papers_claims_run_on_results_of_any_scale():
    loaded = claims.load(CLAIMS.glob("ryu*.yaml"))
    known: dict[str, dict[str, dict[float, float]]] = {}
    for _, piece in pieces(*CLAIMS.glob("ryu*.yaml")):
        for label, epsilon in piece.selections():
            known.setdefault(piece.experiment, {}).setdefault(label, {})[epsilon] = 0.2
    results = {name: build(errors, name=name, seeds=2) for name, errors in known.items()}
    verdicts = evaluate(loaded, results)
    assert len(verdicts) == len(loaded)
    values = [v for v in verdicts if v.claim.evidence[0].kind in ("value", "close")]
    assert all(v.verdict == "not run" for v in values)


def test_the_papers_claims_name_experiments_and_labels_that_exist():
    loaded = claims.load(CLAIMS.glob("*.yaml"))
    files = {path.stem: path for path in (CLAIMS.parent / "experiments").glob("*.yaml")}
    known = {
        name: [method["label"] for method in yaml.safe_load(path.read_text("utf-8"))["algorithms"]]
        for name, path in files.items()
    }
    verdicts = evaluate(loaded, {}, known)
    assert {verdict.verdict for verdict in verdicts} == {"not run"}
