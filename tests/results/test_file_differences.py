"""Two result files: what is called identical, rounding, consistent or different, against scipy."""

import numpy as np
import pytest
from scipy import stats

from admmbench.base.outcomes import Outcome
from admmbench.cli import main
from admmbench.report.differences import compare_files, states, table
from admmbench.report.environment import texts
from admmbench.report.terminal import as_rich
from admmbench.results.file_differences import contrast
from tests.made import INF, build

ERRORS = {"OutP": {0.1: 0.4, 1.0: 0.2}, "ObjP": {0.1: 0.3, 1.0: 0.25}, "Exact": {INF: 0.1}}


def state(found, label="ObjP", epsilon=1.0):
    return str(found["state"].sel(algorithm=label, epsilon=epsilon).item())


def changed(by, label="ObjP", epsilon=1.0):
    """The same results but for one method and budget."""
    results = build(ERRORS)
    results["test_error"].loc[{"algorithm": label, "epsilon": epsilon, "round": 300}] += by
    return results


def others(*files):
    return texts("differences").between(compare_files(*files)).splitlines()


def test_the_same_file_is_identical():
    found = contrast(build(ERRORS), build(ERRORS))
    assert set(found["state"].values.ravel()) == {"identical", ""}  # what did not run has no state
    assert (
        texts("differences").summary(states(found))
        == "5 methods and budgets: 5 identical bit for bit."
    )
    assert (found["difference"].where(found["state"] != "", 0) == 0).all()
    assert not others(build(ERRORS), build(ERRORS))


def test_an_earlier_round_counts_as_well():
    other = build(ERRORS)
    other["test_error"].loc[{"algorithm": "ObjP", "epsilon": 1.0, "round": 100}] += 0.1
    assert state(contrast(build(ERRORS), other)) == "rounding"  # the last round is the same


def test_some_records_are_rounding_and_more_are_not():
    n_test = build(ERRORS).attrs["n_test"]
    assert state(contrast(build(ERRORS), changed(2 / n_test))) == "rounding"
    assert state(contrast(build(ERRORS), changed(2.5 / n_test))) == "different"
    assert state(contrast(build(ERRORS), changed(2.5 / n_test)), "OutP") == "identical"


def test_runs_that_only_one_file_lost_are_a_difference():
    """Though what is left of them agrees."""
    lost = {("ObjP", 1.0): 9}
    assert state(contrast(build(ERRORS), build(ERRORS, diverged=lost))) == "different"
    assert (
        state(contrast(build(ERRORS, diverged=lost), build(ERRORS, diverged=lost))) == "identical"
    )


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (Outcome.COMPLETED, Outcome.STALLED, "different"),
        (Outcome.DIVERGED, Outcome.STALLED, "different"),
        (Outcome.STALLED, Outcome.STALLED, "identical"),
        (Outcome.COMPLETED, Outcome.CONVERGED, "rounding"),
    ],
)
@pytest.mark.parametrize("seeds", [slice(None), [3]], ids=["all", "one"])
def test_runs_with_equal_values_that_ended_in_another_way_are_not_identical(
    first, second, expected, seeds
):
    files = build(ERRORS), build(ERRORS)
    for each, outcome in zip(files, (first, second), strict=True):
        each["status"].loc[{"algorithm": "ObjP", "epsilon": 1.0, "seed": seeds}] = outcome
    found = contrast(*files)
    assert state(found) == expected
    assert state(found, "OutP") == "identical"
    said = ["Ended in another way: ObjP at ε = 1."] if first != second else []
    assert others(*files) == said
    cells = {row[0]: row[4] for row in table(found).rows if row[1] == "ε = 1"}
    assert cells["ObjP"].count("–") <= 1  # and no interval


def test_seeds_that_one_file_did_not_run_are_no_difference():
    part = build(ERRORS)
    missing = {"algorithm": "ObjP", "epsilon": 1.0, "seed": slice(3, None)}
    part["test_error"].loc[missing], part["status"].loc[missing] = np.nan, -1
    found = contrast(build(ERRORS), part)
    assert state(found) == "identical"
    assert found["seeds"].sel(algorithm="ObjP", epsilon=1.0) == 3


def test_differences_are_paired_by_seed_and_corrected_for_what_is_open():
    noise = np.linspace(-0.02, 0.04, 10)
    other = changed(noise)
    other["test_error"].loc[{"algorithm": "OutP", "epsilon": 1.0, "round": 300}] += (
        0.5 * noise[::-1]
    )
    found = contrast(build(ERRORS), other)
    cell = found.sel(algorithm="ObjP", epsilon=1.0)
    own = other.test_error.sel(algorithm="ObjP", epsilon=1.0)[:, -1]
    base = build(ERRORS).test_error.sel(algorithm="ObjP", epsilon=1.0)[:, -1]
    expected = stats.ttest_rel(own, base).confidence_interval(1 - 0.05 / 2)  # two are open
    assert (cell["lower"], cell["upper"]) == pytest.approx((expected.low, expected.high))
    assert cell["largest"] == pytest.approx(0.04)
    assert state(found) == "consistent"


def test_one_seed_each_is_not_judged():
    second = build(ERRORS, seeds=1)
    second["test_error"][:] += 0.1
    assert state(contrast(build(ERRORS), second)) == "unknown"
    with pytest.raises(ValueError, match="no run in common"):
        contrast(build(ERRORS), build(ERRORS).assign_coords(seed=range(100, 110)))


def test_what_the_files_do_not_share_is_told():
    other = build({**ERRORS, "ObjT": {1.0: 0.2}}, n_train=100, name="another")
    other["fingerprint"] = other["fingerprint"].copy(data=["new", *other["fingerprint"].values[1:]])
    text = " ".join(others(build(ERRORS), other))
    for part in (
        "experiment: study and another.",
        "n train: ",
        "Only in the second: ObjT.",
    ):
        assert part in text
    assert "Other code: OutP." in text


def test_files_without_anything_in_common_are_refused():
    with pytest.raises(ValueError, match="no run in common"):
        contrast(build(ERRORS), build({"ObjT": {1.0: 0.2}}))
    other = build(ERRORS)
    with pytest.raises(ValueError, match="only files of one problem"):
        contrast(other, other.assign_attrs(metric="test_loss"))


def test_the_command_prints_a_table_and_says_whether_anything_differs(tmp_path, capsys):
    paths = [tmp_path / name for name in ("a.nc", "b.nc", "c.nc")]
    for path, results in zip(paths, (build(ERRORS), build(ERRORS), changed(0.1)), strict=True):
        results.to_netcdf(path, engine="h5netcdf")
    a, b, c = map(str, paths)
    assert main(["compare", a, b]) == 0
    assert "5 identical bit for bit" in capsys.readouterr().out
    assert main(["compare", a, c]) == 1
    shown = capsys.readouterr().out
    assert "4 identical bit for bit; 1 different" in shown
    assert "10.00 10.00 to 10.00" in shown
    assert main(["compare", a, str(tmp_path / "none.nc")]) == 1
    assert "none.nc: no such file" in capsys.readouterr().err
    for name, fix in (
        ("text.nc", "the command that made it, such as `admmbench study`, makes it again"),
        ("page.html", "results are in files such as results/"),
    ):
        (tmp_path / name).write_text("words")
        assert main(["compare", a, str(tmp_path / name)]) == 1
        said = capsys.readouterr().err
        assert f"{name}: cannot be read as results" in said
        assert fix in said


def test_labels_are_no_markup():
    found = contrast(build({"a [b]": {1.0: 0.2}}), build({"a [b]": {1.0: 0.2}}))
    shown = as_rich("", table(found))
    assert shown.columns[0]._cells[0] == "a \\[b]"
