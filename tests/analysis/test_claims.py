"""Verdicts of each kind of claim, and the claims of the papers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from admmbench.analysis import claims
from admmbench.analysis.verdicts import Verdict, evaluate

from .conftest import ERRORS, INF, build

CLAIMS = Path(__file__).parents[2] / "config" / "claims"
SCALE = {"rounds": 300, "seeds": 10, "agents": 10, "n_train": 60000}


def make(tmp_path: Path, **given: object) -> list[claims.Claim]:
    """Write one claim on the synthetic study and load it."""
    entry = {
        "id": "one",
        "statement": "The paper says so.",
        "source": "fig. 1",
        "experiment": "study",
        **given,
    }
    file = tmp_path / "paper.yaml"
    file.write_text(yaml.safe_dump({"paper": "p", "scale": {"study": SCALE}, "claims": [entry]}))
    return claims.load(file)


def judge(tmp_path: Path, ds, **given: object) -> Verdict:
    (verdict,) = evaluate(make(tmp_path, **given), {"study": ds})
    return verdict


VALUE = {
    "kind": "value",
    "algorithm": "ObjP",
    "epsilon": 0.1,
    "published": 13.4,
    "tolerance": 0.5,
    "note": "Known reason.",
}
ORDER = {"kind": "order", "labels": ["ObjPM", "ObjP", "OutP"], "epsilon": [0.05, 0.1, 1.0]}
CLOSE = {
    "kind": "close",
    "algorithm": "ObjPM",
    "others": ["ObjP", "OutP"],
    "epsilon": 1.0,
    "reference": {"algorithm": "Non-private", "epsilon": INF},
    "tolerance": 1.0,
}


# value


def bounds(ds, first, second=None):
    """Student's interval of a mean, or of a mean difference, of final errors at epsilon = 0.1, in percent."""
    final = 100 * ds["test_error"].sel(epsilon=0.1, round=300)
    values = final.sel(algorithm=first).values
    if second:
        values = values - final.sel(algorithm=second).values
    return stats.ttest_1samp(values, 0).confidence_interval(0.95)


def test_value_within_tolerance(tmp_path, results):
    verdict = judge(tmp_path, results, **VALUE)
    assert verdict.verdict == "reproduced"
    assert verdict.published == "13.40 %"
    assert verdict.ours == "13.00 % (mean of 10)"
    assert verdict.why == "0.40 pp below the published value; the tolerance is 0.50 pp."
    low, high = bounds(results, "ObjP")
    assert verdict.interval == f"mean: {low:.2f} to {high:.2f} %"


def test_value_beyond_tolerance_gives_the_known_reason(tmp_path, results):
    verdict = judge(tmp_path, results, **{**VALUE, "tolerance": 0.39})
    assert verdict.verdict == "not reproduced"
    assert verdict.why.endswith("Known reason.")


def test_value_as_far_off_as_the_tolerance_is_within_it(tmp_path):
    ds = build({"ObjP": {0.1: 0.25}}, spread=0.0)
    verdict = judge(tmp_path, ds, **{**VALUE, "published": 24.5})
    assert verdict.verdict == "reproduced"


def test_value_of_the_best_run(tmp_path, results):
    lowest = 100 * float(results["test_error"].sel(algorithm="ObjP", epsilon=0.1, round=300).min())
    verdict = judge(tmp_path, results, **{**VALUE, "over_seeds": "best", "published": lowest})
    assert verdict.verdict == "reproduced"
    assert verdict.ours == f"{lowest:.2f} % (best of 10)"


def test_value_of_random_instances_has_the_sampling_error_of_both_means(tmp_path, results):
    values = 100 * results.test_error.sel(algorithm="ObjP", epsilon=0.1).isel(round=-1).values
    s = np.std(values, ddof=1)
    error = float(stats.t.ppf(0.975, 9) * s * np.sqrt(1 / 10 + 1 / 4))
    for off, outcome in ((0.99, "reproduced"), (1.01, "not reproduced")):
        claim = {**VALUE, "published": 13 + off * error, "tolerance": 0, "instances": 4}
        verdict = judge(tmp_path, results, **claim)
        assert verdict.verdict == outcome
        assert f"of which the sampling error of both means is {error:.2f} pp" in verdict.why
    one = judge(
        tmp_path,
        build(ERRORS, seeds=1),
        **{**VALUE, "instances": 4, "requires": {**SCALE, "seeds": 1}},
    )
    assert one.verdict == "not reproduced"


def test_numbers_on_other_data_are_shown_and_not_judged(tmp_path, results):
    verdict = judge(tmp_path, results, **VALUE, other_data="Ours have a column of ones.")
    assert verdict.verdict == "other data"
    assert verdict.ours == "13.00 % (mean of 10)"
    assert verdict.why.startswith("Not judged: Ours have a column of ones. 0.40 pp below")


def test_value_of_a_difference(tmp_path, results):
    verdict = judge(tmp_path, results, **{**VALUE, "minus": "ObjPM", "published": 2.1})
    assert verdict.verdict == "reproduced"
    assert verdict.ours == "2.00 pp (mean of 10)"
    low, high = bounds(results, "ObjP", "ObjPM")
    assert verdict.interval == f"difference of means: {low:.2f} to {high:.2f} pp"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"rounds": (1, 200)}, "200 of 300 rounds"),
        ({"seeds": 3}, "3 of 10 seeds"),
        ({"agents": 4}, "4 of 10 agents"),
        (
            {"n_train": 15440, "dataset_note": "114 of 195 writers"},
            "15,440 of 60,000 training samples (114 of 195 writers)",
        ),
    ],
)
def test_value_below_the_papers_scale_is_not_judged(tmp_path, change, reason):
    verdict = judge(tmp_path, build(ERRORS, **change), **VALUE)
    assert verdict.verdict == "not run at this scale"
    assert reason in verdict.why
    assert verdict.ours == ""


def test_value_of_a_diverged_method_is_not_reproduced(tmp_path):
    ds = build(ERRORS, diverged={("ObjP", 0.1): 2})
    verdict = judge(tmp_path, ds, **{**VALUE, "tolerance": 50})
    assert verdict.verdict == "not reproduced"
    assert "2 diverged of 10 runs" in verdict.why


def test_value_without_noise_needs_one_seed_only(tmp_path):
    ds = build(ERRORS)
    ds["status"].loc[{"algorithm": "Non-private", "seed": slice(1, None)}] = -1
    given = {**VALUE, "algorithm": "Non-private", "epsilon": INF, "published": 9.0, "tolerance": 3}
    verdict = judge(tmp_path, ds, **given)
    assert verdict.verdict == "reproduced"
    assert verdict.interval == "none from one seed"


def test_a_ratio_is_taken_seed_by_seed(tmp_path, results):
    first, second = (
        results["test_error"].sel(algorithm=a, epsilon=0.1).isel(round=-1) for a in ("OutP", "ObjP")
    )
    ratio = float((first / second).mean())
    claim = {**VALUE, "algorithm": "OutP", "over": "ObjP", "unit": "1", "published": ratio}
    verdict = judge(tmp_path, results, **{**claim, "tolerance": 1e-6})
    assert verdict.verdict == "reproduced"
    assert verdict.ours.startswith(f"{ratio:.3g}")
    far = judge(tmp_path, results, **{**claim, "published": ratio + 1, "tolerance": 0.5})
    assert far.verdict == "not reproduced"
    with pytest.raises(claims.ClaimError, match="a ratio has the unit"):
        make(tmp_path, **{**claim, "unit": "%"})


# order


def test_order_holds_at_every_epsilon(tmp_path, results):
    verdict = judge(tmp_path, results, **ORDER)
    assert verdict.verdict == "reproduced"
    assert verdict.published == "ObjPM < ObjP < OutP"
    assert verdict.ours.splitlines()[0] == "ε = 0.05: 12.00 % < 14.00 % < 24.00 %"
    assert len(verdict.interval.splitlines()) == 3


def test_order_is_judged_below_the_papers_scale_and_says_so(tmp_path):
    ds = build(ERRORS, rounds=(1, 100), seeds=4, spread=0.001)
    verdict = judge(tmp_path, ds, **ORDER)
    assert verdict.verdict == "reproduced"
    assert "100 of 300 rounds; 4 of 10 seeds" in verdict.why


def test_order_fails_if_it_fails_at_one_epsilon(tmp_path):
    errors = {**ERRORS, "ObjP": {**ERRORS["ObjP"], 1.0: 0.16}}
    verdict = judge(tmp_path, build(errors), **ORDER)
    assert verdict.verdict == "not reproduced"
    assert "OutP − ObjP at ε = 1 is −1.00 pp" in verdict.why
    assert "≮" in verdict.ours.splitlines()[2]


def test_order_fails_if_an_interval_contains_0(tmp_path):
    verdict = judge(tmp_path, build(ERRORS, spread=0.05), **ORDER)
    assert verdict.verdict == "not reproduced"
    assert "an interval with 0 in it" in verdict.why


def test_order_uses_pairs_of_seeds(tmp_path):
    """A difficulty that all methods share, such as the partition, does not blur the order."""
    ds = build(ERRORS, spread=0.0005, shared_noise=0.05)
    assert judge(tmp_path, ds, **ORDER).verdict == "reproduced"


def test_order_of_one_seed_cannot_be_judged(tmp_path):
    verdict = judge(tmp_path, build(ERRORS, seeds=1), **ORDER)
    assert verdict.verdict == "not run at this scale"
    assert "one seed" in verdict.why


def test_order_of_few_seeds_is_left_open_rather_than_refused(tmp_path):
    """With the paper's number of seeds the same interval would refuse it."""
    verdict = judge(tmp_path, build(ERRORS, seeds=3, spread=0.05), **ORDER)
    assert verdict.verdict == "not run at this scale"
    assert "Too few seeds to decide" in verdict.why
    errors = {**ERRORS, "ObjP": {**ERRORS["ObjP"], 1.0: 0.9}}
    contrary = judge(tmp_path, build(errors, seeds=3, spread=0.001), **ORDER)
    assert contrary.verdict == "not reproduced"


def test_order_tiers_are_not_compared_within(tmp_path, results):
    given = {**ORDER, "labels": [["ObjP", "ObjPM"], "OutP"]}
    assert judge(tmp_path, results, **given).verdict == "reproduced"
    assert judge(tmp_path, results, **given).published == "ObjP, ObjPM < OutP"


def test_order_of_noise(tmp_path, results):
    noise = {**ORDER, "metric": "noise_magnitude", "run": "average", "unit": "1"}
    verdict = judge(tmp_path, results, **{**noise, "labels": ["OutP", ["ObjP", "ObjPM"]]})
    assert verdict.verdict == "reproduced"
    assert verdict.ours.splitlines()[0] == "ε = 0.05: 2 < 20, 20"
    verdict = judge(tmp_path, results, **{**noise, "labels": ["ObjP", "OutP"]})
    assert verdict.verdict == "not reproduced"


def test_order_where_the_better_method_diverged(tmp_path):
    ds = build(ERRORS, diverged={("ObjPM", 0.1): 1})
    verdict = judge(tmp_path, ds, **ORDER)
    assert verdict.verdict == "not reproduced"
    assert "ObjPM at ε = 0.1: 1 diverged of 10 runs" in verdict.why


def test_order_where_every_run_of_the_worse_method_diverged(tmp_path):
    ds = build(ERRORS, diverged={("OutP", 0.1): 10})
    verdict = judge(tmp_path, ds, **ORDER)
    assert verdict.verdict == "not reproduced"
    assert "10 diverged of 10" in verdict.why


def test_order_names_the_budgets_that_were_not_run(tmp_path, results):
    verdict = judge(tmp_path, results, **{**ORDER, "epsilon": [0.05, 5.0]})
    assert verdict.verdict == "reproduced"
    assert "Not run: ObjPM at ε = 5" in verdict.why


def test_order_goes_on_after_a_pair_that_was_not_run(tmp_path):
    """At ε = 1 the first method is missing, and the others are in the wrong order."""
    errors = {"a": {0.1: 0.1}, "b": {0.1: 0.2, 1.0: 0.3}, "c": {0.1: 0.3, 1.0: 0.2}}
    given = {"kind": "order", "labels": ["a", "b", "c"], "epsilon": [0.1, 1.0]}
    verdict = judge(tmp_path, build(errors), **given)
    assert verdict.verdict == "not reproduced"
    assert "C − b at ε = 1" in verdict.why


def test_two_seeds_have_an_interval(tmp_path):
    verdict = judge(tmp_path, build(ERRORS, seeds=2, spread=0.001), **ORDER)
    assert verdict.interval.count(" to ") == 6
    assert "none" not in verdict.interval


@given(st.lists(st.floats(0.05, 0.5), min_size=2, max_size=4, unique=True))
def test_order_agrees_with_sorting(tmp_path_factory, means):
    labels = [f"M{i}" for i in range(len(means))]
    ds = build({label: {1.0: mean} for label, mean in zip(labels, means, strict=True)}, spread=0.0)
    given = {"kind": "order", "labels": labels, "epsilon": [1.0]}
    verdict = judge(tmp_path_factory.mktemp("claims"), ds, **given)
    gaps = np.diff(means)
    if (np.abs(gaps) > 1e-9).all():
        assert (verdict.verdict == "reproduced") == bool((gaps > 0).all())


# close


def test_close_and_the_others_not(tmp_path, results):
    verdict = judge(tmp_path, results, **CLOSE)
    assert verdict.verdict == "reproduced"
    assert "ObjPM +0.90 pp" in verdict.ours


def test_close_fails_if_the_method_is_far_or_another_is_near(tmp_path, results):
    far = judge(tmp_path, results, **{**CLOSE, "tolerance": 0.5})
    assert far.verdict == "not reproduced"
    assert "ObjPM is 0.90 pp away" in far.why
    near = judge(tmp_path, results, **{**CLOSE, "tolerance": 3.0})
    assert near.verdict == "not reproduced"
    assert "ObjP is 2.90 pp away" in near.why


def test_close_needs_the_papers_scale(tmp_path):
    verdict = judge(tmp_path, build(ERRORS, rounds=(1, 10)), **CLOSE)
    assert verdict.verdict == "not run at this scale"


def test_close_needs_every_method(tmp_path):
    others = {epsilon: mean for epsilon, mean in ERRORS["OutP"].items() if epsilon != 1.0}
    verdict = judge(tmp_path, build({**ERRORS, "OutP": others}), **CLOSE)
    assert verdict.verdict == "not run at this scale"
    assert "OutP at ε = 1 was not run" in verdict.why
    fewer = judge(tmp_path, build({**ERRORS, "OutP": others}, rounds=(1, 10)), **CLOSE)
    assert fewer.why.startswith("Needs the paper's scale: OutP at ε = 1 was not run; ")


def test_close_with_a_diverged_run(tmp_path):
    verdict = judge(tmp_path, build(ERRORS, diverged={("ObjPM", 1.0): 1}), **CLOSE)
    assert verdict.verdict == "not reproduced"


# trend

FALLS = {
    "kind": "trend",
    "along": "round",
    "metric": "consensus_violation",
    "unit": "1",
    "algorithms": ["ObjP", "OutP"],
    "epsilon": [0.1],
}
TRADE = {"kind": "trend", "along": "epsilon", "algorithms": ["ObjP"], "epsilon": [0.05, 0.1, 1.0]}


def test_trend_along_rounds(tmp_path, results):
    verdict = judge(tmp_path, results, **FALLS)
    assert (verdict.verdict, verdict.published) == ("reproduced", "falls to 0")
    results["consensus_violation"] += 1
    verdict = judge(tmp_path, results, **FALLS)
    assert verdict.verdict == "not reproduced"
    assert "2.44 % of its maximum" in verdict.why


def test_a_curve_that_falls_with_a_seed_lost_is_no_reproduction(tmp_path):
    ds = build(ERRORS, diverged={("ObjP", 0.1): 1})
    verdict = judge(tmp_path, ds, **FALLS)
    assert verdict.verdict == "not reproduced"
    assert "1 diverged of 10 runs" in verdict.why


def test_the_method_with_fewest_seeds_decides_the_scale(tmp_path):
    ds = build(ERRORS, shared_noise=0.0)
    ds["status"].loc[{"algorithm": "OutP", "epsilon": 0.1, "seed": slice(4, None)}] = -1
    verdict = judge(tmp_path, ds, **{**FALLS, "requires": SCALE})
    assert "4 of 10 seeds" in verdict.why


def test_trend_along_rounds_may_end_at_the_fraction(tmp_path, results):
    results["consensus_violation"][...] = 4.0
    results["consensus_violation"][..., -1] = 1.0
    assert judge(tmp_path, results, **FALLS, fraction=0.25).verdict == "reproduced"
    assert judge(tmp_path, results, **FALLS, fraction=0.24).verdict == "not reproduced"


def test_trend_along_rounds_needs_the_rounds_of_the_paper(tmp_path):
    short = build(ERRORS, rounds=(1, 10))
    assert judge(tmp_path, short, **FALLS).verdict == "not run at this scale"
    few = build(ERRORS, seeds=2)
    assert judge(tmp_path, few, **FALLS).verdict == "reproduced"


def test_trend_along_epsilon(tmp_path, results):
    verdict = judge(tmp_path, results, **TRADE)
    assert (verdict.verdict, verdict.published) == ("reproduced", "falls as ε grows")
    rising = build({**ERRORS, "ObjP": {0.05: 0.14, 0.1: 0.15, 1.0: 0.12}})
    verdict = judge(tmp_path, rising, **TRADE)
    assert verdict.verdict == "not reproduced"
    assert "ObjP rises from ε = 0.05 to 0.1" in verdict.why
    # It ends above where it began: that its interval contains 0 is no news.
    back = build({**ERRORS, "ObjP": {0.05: 0.14, 0.1: 0.12, 1.0: 0.15}})
    verdict = judge(tmp_path, back, **TRADE)
    assert verdict.verdict == "not reproduced"
    assert "contains 0" not in verdict.why


@pytest.mark.parametrize(
    ("seeds", "outcome"), [(10, "not reproduced"), (4, "not run at this scale")]
)
def test_trend_along_epsilon_is_not_settled_by_an_interval_with_0_in_it(tmp_path, seeds, outcome):
    """The means fall, but seeds differ by more; fewer seeds than the paper's leave it open."""
    ds = build(ERRORS, seeds=seeds)
    first = ds["test_error"].loc[{"algorithm": "ObjP", "epsilon": 0.05}]
    first += np.linspace(-0.3, 0.3, seeds)[:, None]
    verdict = judge(tmp_path, ds, **TRADE)
    assert verdict.verdict == outcome
    assert "The interval of ObjP from first to last contains 0" in verdict.why


def test_trend_along_epsilon_with_one_seed_or_budget(tmp_path):
    one = build(ERRORS, seeds=1)
    assert judge(tmp_path, one, **TRADE).verdict == "not run at this scale"
    budget = build({"ObjP": {0.1: 0.2}})
    assert judge(tmp_path, budget, **TRADE).verdict == "not run at this scale"


def test_trend_along_epsilon_of_a_method_is_judged_though_another_has_one_budget(tmp_path):
    ds = build({"OutP": {0.1: 0.2}, "ObjP": {0.05: 0.14, 0.1: 0.15, 1.0: 0.12}})
    verdict = judge(tmp_path, ds, **{**TRADE, "algorithms": ["OutP", "ObjP"]})
    assert verdict.verdict == "not reproduced"
    assert "ObjP rises from ε = 0.05 to 0.1" in verdict.why


# spread


def test_spread_with_a_diverged_run(tmp_path):
    narrow = {"algorithms": ["ObjP"], "epsilon": [0.05, 0.1, 1.0], "over": "epsilon"}
    wide = {"algorithms": ["OutP"], "epsilon": [0.05, 0.1, 1.0], "over": "epsilon"}
    ds = build(ERRORS, diverged={("OutP", 0.1): 1})
    verdict = judge(tmp_path, ds, kind="spread", narrow=narrow, wide=wide)
    assert verdict.verdict == "not reproduced"
    assert "OutP at ε = 0.1: 1 diverged of 10 runs" in verdict.why


def test_spread(tmp_path, results):
    narrow = {"algorithms": ["ObjP"], "epsilon": [0.05, 0.1, 1.0], "over": "epsilon"}
    wide = {"algorithms": ["OutP"], "epsilon": [0.05, 0.1, 1.0], "over": "epsilon"}
    verdict = judge(tmp_path, results, kind="spread", narrow=narrow, wide=wide)
    assert verdict.verdict == "reproduced"
    assert verdict.ours.startswith("2.00 pp over the budgets of ObjP")
    for other in (wide, narrow):
        verdict = judge(tmp_path, results, kind="spread", narrow=other, wide=narrow)
        assert verdict.verdict == "not reproduced"
        assert verdict.why == "The first range is not smaller than the second."


# names


def test_experiment_outside_the_configuration(tmp_path):
    (verdict,) = evaluate(make(tmp_path, **VALUE), {})
    assert verdict.verdict == "not run at this scale"
    assert "study is not part of this configuration" in verdict.why


def test_budget_that_was_not_run(tmp_path, results):
    verdict = judge(tmp_path, results, **{**VALUE, "epsilon": 5.0})
    assert verdict.verdict == "not run at this scale"
    assert verdict.why == "Not run: ObjP at ε = 5."


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"algorithm": "ObjQ"}, r"paper\.yaml: claim one: unknown label 'ObjQ'; did you mean 'Obj"),
        ({"experiment": "studdy"}, r"claim one: unknown experiment 'studdy'; did you mean 'study'"),
        ({"metric": "test_eror"}, r"claim one: unknown metric 'test_eror'; did you mean 'test_err"),
        ({"tolerence": 3}, r"paper\.yaml: claims\.0\.value\.tolerence: Extra inputs"),
        ({"kind": "valeu"}, r"paper\.yaml: claims\.0"),
    ],
)
def test_a_wrong_name_is_one_clear_message(tmp_path, results, change, message):
    with pytest.raises(claims.ClaimError, match=message):
        judge(tmp_path, results, **{**VALUE, **change})


def test_known_names_tell_left_out_from_misspelt(tmp_path, results):
    loaded = make(tmp_path, **{**VALUE, "algorithm": "ObjT"})
    with pytest.raises(claims.ClaimError, match="unknown label 'ObjT'"):
        evaluate(loaded, {"study": results})
    (verdict,) = evaluate(loaded, {"study": results}, {"study": ["ObjT"]})
    assert verdict.verdict == "not run at this scale"
    with pytest.raises(claims.ClaimError, match="did you mean 'studies'"):
        evaluate(loaded, {}, {"studies": ["ObjT"]})


def test_ids_are_unique(tmp_path):
    make(tmp_path, **VALUE)
    (tmp_path / "again.yaml").write_text((tmp_path / "paper.yaml").read_text())
    with pytest.raises(claims.ClaimError, match="id already used"):
        claims.load(tmp_path)


def test_unreadable_file(tmp_path):
    (tmp_path / "broken.yaml").write_text("claims: [")
    with pytest.raises(claims.ClaimError, match=r"broken\.yaml: cannot be read"):
        claims.load(tmp_path)


def test_verdicts_survive_json(tmp_path, results):
    verdict = judge(tmp_path, results, **CLOSE)
    assert Verdict.model_validate_json(verdict.model_dump_json()) == verdict


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
}


# he2023, as printed. Table 1: d, n, m, then objectives, violations in 1e-4 and outer iterations of both methods.
# Table 2: n, then the loss of class 0 of both, and the mean and largest loss of class 1 of both.
# Table 3: n, then the loss of both, and the mean and largest disparity of both.
QUADRATIC = """
100 1 1 -6.1982 -6.1982 1.1986 3.0593 5.6 5.0
100 5 1 -5.4337 -5.4348 5.5226 7.6943 6.0 6.8
100 10 1 -0.8998 -0.9021 7.7720 6.9185 8.5 9.0
300 1 3 -20.0387 -20.0387 0.0920 0.9312 5.9 5.0
300 5 3 -16.7407 -16.7408 1.4489 1.9619 5.0 5.0
300 10 3 -12.9434 -12.9449 4.4227 5.3871 5.9 6.8
500 1 5 -33.0971 -33.0971 7.5226 0.9430 5.9 5.0
500 5 5 -30.8218 -30.8220 4.4055 4.5350 4.0 4.0
500 10 5 -24.7565 -24.7583 4.4589 6.8591 5.0 5.1
"""
OF_RECORDS = {
    "he2023_np_breast": """
1 0.2735 0.2737 0.2000 0.2000 0.2000 0.2000
5 0.3365 0.3380 0.1867 0.2001 0.1869 0.2000
10 0.3751 0.3754 0.1739 0.2000 0.1739 0.2000
20 0.4500 0.4498 0.1628 0.2000 0.1628 0.2000
""",
    "he2023_np_adult_a": """
1 0.7331 0.9186 0.2000 0.2000 0.2008 0.2008
5 0.7465 0.8610 0.1966 0.1995 0.1957 0.2000
10 0.7739 0.8291 0.1873 0.2002 0.1920 0.2009
20 0.7881 0.8173 0.1830 0.2003 0.1853 0.2007
""",
    "he2023_np_monks": """
1 1.5758 1.7783 0.2000 0.2000 0.1995 0.1995
5 1.6467 1.7488 0.1905 0.2001 0.1928 0.2008
10 1.7071 1.8438 0.1821 0.2000 0.1816 0.2001
20 1.7852 1.9750 0.1678 0.2000 0.1637 0.2001
""",
    "he2023_fairness": """
1 0.6790 0.6808 0.0090 0.0110 0.0078 0.0104
5 0.6813 0.6814 0.0092 0.0106 0.0091 0.0105
10 0.6817 0.6816 0.0093 0.0108 0.0093 0.0108
20 0.6818 0.6818 0.0094 0.0109 0.0094 0.0109
""",
}


def of_he2023():
    """(experiment, agents, whether of cProx-AL, metric): published."""
    for row in filter(None, QUADRATIC.splitlines()):
        d, n, _, *numbers = row.split()
        for metric, (own, other), unit in zip(
            ("train_loss", "feasibility", "outer_iterations"),
            zip(numbers[::2], numbers[1::2], strict=True),
            (1, 1e-4, 1),
            strict=True,
        ):
            yield (f"he2023_qp_{d}", n, False, metric), float(own) * unit
            yield (f"he2023_qp_{d}", n, True, metric), float(other) * unit
    metrics = ("loss_label_0_mean", "loss_label_1_mean", "loss_label_1_max")
    for experiment, table in OF_RECORDS.items():
        names = metrics
        if experiment == "he2023_fairness":
            names = ("train_loss", "disparity_mean", "disparity_max")
        for row in filter(None, table.splitlines()):
            n, *numbers = row.split()
            printed = list(map(float, numbers))
            of_both = (printed[0], *printed[2:4]), (printed[1], *printed[4:])
            for central, values in zip((False, True), of_both, strict=True):
                apart = experiment.endswith("fairness") and not central
                own = f"{experiment}_printed" if apart else experiment
                for metric, value in zip(names, values, strict=True):
                    yield (own, n, central, metric), value


def test_every_cell_of_he2023_is_a_claim():
    expected, found = dict(of_he2023()), {}
    for claim in claims.load(CLAIMS / "he2023.yaml"):
        if isinstance(claim, claims.Value) and not claim.id.endswith("threshold"):
            n = claim.algorithm.partition("n = ")[2].partition(",")[0]
            central = claim.algorithm.startswith("cProx-AL")
            found[claim.experiment, n, central, claim.metric] = claim.published
    assert found == {key: pytest.approx(value) for key, value in expected.items()}


def test_every_printed_number_is_a_claim():
    found: dict[str, set[float]] = {}
    for claim in claims.load(CLAIMS.glob("[!h]*.yaml")) + claims.load(CLAIMS.glob("hu*.yaml")):
        if isinstance(claim, claims.Value):
            found.setdefault(claim.experiment, set()).add(claim.published)
    assert found == PUBLISHED


def test_the_statements_of_the_papers_are_claims():
    loaded = {claim.id: claim for claim in claims.load(CLAIMS.glob("*.yaml"))}
    for data in ("mnist", "femnist"):
        order = loaded[f"ryu2022-{data}-order"]
        assert isinstance(order, claims.Order)
        assert order.labels == [["ObjPM"], ["ObjP"], ["OutP"]]
        noise = loaded[f"ryu2022-{data}-noise-order"]
        assert isinstance(noise, claims.Order)
        assert noise.labels == [["OutP"], ["ObjP", "ObjPM"]]
        close = loaded[f"ryu2022-{data}-close-to-non-private"]
        assert isinstance(close, claims.Close)
        assert (close.algorithm, close.epsilon, close.others) == ("ObjPM", 1, ["ObjP", "OutP"])
    assert loaded["ryu2021-remark3-consensus"].metric == "consensus_violation"
    assert all(claim.source and claim.statement and claim.requires for claim in loaded.values())


def test_the_papers_claims_run_on_results_of_any_scale():
    loaded = claims.load(CLAIMS.glob("ryu*.yaml"))
    known: dict[str, dict[str, dict[float, float]]] = {}
    for claim in loaded:
        for label, epsilon in claim.selections():
            known.setdefault(claim.experiment, {}).setdefault(label, {})[epsilon] = 0.2
    results = {name: build(errors, name=name, seeds=2) for name, errors in known.items()}
    verdicts = evaluate(loaded, results)
    assert len(verdicts) == len(loaded)
    assert all(v.why for v in verdicts)
    values = [v for v in verdicts if isinstance(v.claim, claims.Value | claims.Close)]
    assert all(v.verdict == "not run at this scale" for v in values)


def test_the_papers_claims_name_experiments_and_labels_that_exist():
    loaded = claims.load(CLAIMS.glob("*.yaml"))
    files = {path.stem: path for path in (CLAIMS.parent / "experiments").glob("*.yaml")}
    known = {
        name: [method["label"] for method in yaml.safe_load(path.read_text("utf-8"))["algorithms"]]
        for name, path in files.items()
    }
    verdicts = evaluate(loaded, {}, known)
    assert {verdict.verdict for verdict in verdicts} == {"not run at this scale"}
