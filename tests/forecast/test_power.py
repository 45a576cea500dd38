"""What numbers of seeds show and what deciding costs, of results that are kept."""

import io

import numpy as np
import pytest
from rich.console import Console

from admmbench.figures.wording import about
from admmbench.files import netcdf
from admmbench.forecast import power
from admmbench.forecast.cost import LIMITS
from admmbench.forecast.plan import core_seconds
from admmbench.results import reference
from admmbench.results.who_wins import compare
from admmbench.study import config
from tests.made import build, totals
from tests.pages import ROOT
from tests.results.test_mirrors import made
from tests.studies import SMALL, Stated, write_study

NAME = "equal_privacy_mnist"


@pytest.fixture(scope="module")
def study():
    return config.load({"experiments": [NAME], "threads": 1})


@pytest.fixture(scope="module")
def lines(study):
    """Cells of the table, line by line."""
    stream = io.StringIO()
    Console(file=stream, width=160).print(power.power(study, Stated(study, LIMITS)))
    rows = [line.split("│")[1:-1] for line in stream.getvalue().splitlines() if "│" in line]
    return {cells[0].strip(): [cell.strip() for cell in cells[1:]] for cells in rows}


def test_a_line_has_what_the_seeds_of_the_row_say(study, lines):
    comparison = compare(reference.load([NAME]).values())
    row = comparison.isel(setting=int((comparison["epsilon"] == 8).argmax("setting")))
    undecided = row["algorithm"].values[row["verdict"] == "undecided"].tolist()
    cells = lines["MNIST, ε = 8"]
    assert cells[:2] == ["0.25", "10"]
    shown = [100 * power.difference_shown(row, n) for n in power.NUMBERS_OF_SEEDS]
    assert [float(cell) for cell in cells[2:7]] == pytest.approx(shown, rel=0.1)
    assert cells[7:9] == [str(len(undecided)), about(float(row["seeds"]))]

    assert 80 < float(row["seeds"]) <= 160  # so that the next look is that of 160 seeds
    runs = [run for run in study.experiments[NAME].runs if run.spec.stated_budget == 8]
    seconds = sum(core_seconds(run.spec, 1, LIMITS) for run in runs if run.label in undecided)
    assert cells[9] == f"{seconds / 10 * 150 / 3600:.2f}"
    rows = {name: cells for name, cells in lines.items() if name != "all"}
    assert all((cells[8] == "now") == (not cells[9]) for cells in rows.values())
    hours = sum(float(cells[9] or 0) for cells in rows.values())
    assert float(lines["all"][-1]) == pytest.approx(hours, abs=0.03)


def test_without_results_a_pilot_is_asked_for(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_study(tmp_path, small=SMALL)
    study = config.read()
    with pytest.raises(ValueError, match=r"there are no reference results of small: run it first"):
        power.power(study, Stated(study, LIMITS))


def test_a_row_in_which_all_methods_lost_runs_shows_no_difference():
    errors = {"ObjP": {1.0: 0.1}, "ObjT": {1.0: 0.2}}
    lost = build(errors, sensitivity="global", diverged={(label, 1.0): 10 for label in errors})
    cell = compare([totals(lost)]).isel(setting=0)
    assert np.isnan(power.difference_shown(cell, 10))


@pytest.mark.parametrize(("lost", "said"), [([], "now"), (["ObjP"], "–"), (["ObjP", "ObjT"], "–")])
def test_a_row_without_two_methods_that_are_left_is_not_decided(lost, said, tmp_path, study):
    errors = {"ObjP": {1.0: 0.1}, "ObjT": {1.0: 0.2}}
    found = totals(
        build(
            errors,
            name=NAME,
            sensitivity="global",
            diverged={(label, 1.0): 10 for label in lost},
        )
    )
    (tmp_path / NAME).mkdir()
    netcdf.write(found, tmp_path / NAME / "results.nc")
    elsewhere = study.config.model_copy(update={"results": str(tmp_path)})
    own = study.model_copy(update={"config": elsewhere})
    column = next(
        each
        for each in power.power(own, Stated(own, LIMITS)).columns
        if each.header == "conclusive by"
    )
    assert next(iter(column.cells)) == said


@pytest.mark.slow
def test_the_page_says_what_seeds_of_mnist_show():
    """With all that is kept of equal_privacy.yaml, as the command on the page reads it."""
    names = [NAME, "equal_privacy_femnist", "equal_privacy_adult"]
    found = compare(reference.load(names).values())
    row = (found["dataset"] == "mnist") & (found["epsilon"] == 8)
    cell = found.isel(setting=int(row.argmax("setting")))
    shown = [f"{100 * power.difference_shown(cell, n):.1f}" for n in (10, 40)]
    said = (
        f"Ten seeds of MNIST at $\\varepsilon = 8$ show a difference of {shown[0]} points, 40 show {shown[1]}, and "
        f"about {about(float(cell['seeds']))} seeds would be conclusive."
    )
    assert said in " ".join((ROOT / "docs/sure.md").read_text("utf-8").split())


def test_two_names_of_one_run_count_once():
    """The smallest difference is that of the median pair, at the level of all pairs."""
    errors = {"ObjP": {1.0: 0.2}, "ObjT": {1.0: 0.21}, "OutP": {1.0: 0.22}}
    found = []
    for names in ((), ("ObjP 2", "ObjP 3")):
        ds = totals(build({**errors, **dict.fromkeys(names, errors["ObjP"])}, sensitivity="global"))
        for name in names:
            for metric in ("test_error", "train_loss"):
                ds[metric].loc[{"algorithm": name}] = ds[metric].sel(algorithm="ObjP")
        cell = compare([ds]).isel(setting=0)
        found.append(
            (power.difference_shown(cell, 20), int((cell["verdict"] == "undecided").sum()))
        )
    assert found[0] == found[1]
    assert found[0][0] > 0


def test_a_forecast_by_pairs_is_in_runs():
    found, _ = made(apart=0.0, pairs={"after": 0}, mirrors=20, margin=0.0)
    row = compare([found]).isel(setting=0)
    gain, runs = power._by_pairs(row)
    assert float(gain) == pytest.approx(float(row["gain"]), rel=0.01)
    assert runs == about(2 * float(row["pairs"]))
    assert power._by_pairs(compare([made()[0]]).isel(setting=0)) == ("", "")
