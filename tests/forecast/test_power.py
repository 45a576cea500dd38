"""What numbers of seeds show and what deciding costs, of results that are kept, against numpy and scipy."""

import io
from itertools import combinations

import numpy as np
import pytest
from rich.console import Console
from scipy import stats

from admmbench.forecast import power
from admmbench.forecast.cost import LIMITS
from admmbench.forecast.plan import core_seconds
from admmbench.jobs import job
from admmbench.results import reference
from admmbench.results.who_wins import compare
from admmbench.results.wording import about
from admmbench.study import config
from tests.made import build, totals
from tests.pages import ROOT
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
    results = reference.load([NAME])[NAME]
    row = results["test_error"].sel(epsilon=8).dropna("seed", how="all")  # other rows have more
    errors = 100 * row.transpose("round", "algorithm", "seed")
    values = {}
    for label in map(str, errors["algorithm"].values):
        own = errors.sel(algorithm=label).values  # rounds differ: what came last
        if (ended := own[np.isfinite(own).all(axis=1)]).size:
            values[label] = ended[-1]
    pairs = len(list(combinations(values, 2)))
    level = 1 - 0.04 / (pairs * 5 * 5)
    reach = stats.t.ppf((1 + level) / 2, 9) / np.sqrt(10)
    lowest = min(values, key=lambda label: values[label].mean())

    def worse(a, b):
        gap = values[a] - values[b]
        low, high = gap.mean() - reach * gap.std(ddof=1), gap.mean() + reach * gap.std(ddof=1)
        return low > 0 and not (low >= -0.25 and high <= 0.25)

    running = [a for a in values if not any(worse(a, b) for b in values if b != a)]
    spread = np.median([(values[a] - values[lowest]).std(ddof=1) for a in running if a != lowest])
    cells = lines["MNIST, ε = 8"]
    assert cells[:2] == ["0.25", "10"]
    for cell, n in zip(cells[2:7], (10, 20, 40, 80, 160), strict=True):
        size = float(cell) / spread * np.sqrt(n)
        power = stats.nct.sf(stats.t.ppf((1 + level) / 2, n - 1), n - 1, size)
        assert power == pytest.approx(0.8, abs=0.03)
    assert cells[7] == str(len(running))

    needed = float(cells[8])
    assert 80 < needed <= 160  # so that the next look is that of 160 seeds
    runs = [run for run in study.experiments[NAME].runs if run.spec.stated_budget == 8]
    seconds = sum(core_seconds(run.spec, 1, LIMITS) for run in runs if run.label in running)
    assert cells[9] == f"{seconds / 10 * 150 / 3600:.2f}"
    decided = [cells[8] == "now" for name, cells in lines.items() if name != "all"]
    assert decided == [not cells[9] for name, cells in lines.items() if name != "all"]
    hours = [float(cells[9] or 0) for name, cells in lines.items() if name != "all"]
    assert float(lines["all"][-1]) == pytest.approx(sum(hours), abs=0.03)


def test_without_results_a_pilot_is_asked_for(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_study(tmp_path, small=SMALL)
    study = config.read()
    with pytest.raises(ValueError, match=r"nothing is kept of small: run it first"):
        power.power(study, Stated(study, LIMITS))


def test_a_row_in_which_all_methods_lost_runs_shows_no_difference():
    errors = {"ObjP": {1.0: 0.1}, "ObjT": {1.0: 0.2}}
    lost = build(errors, sensitivity="global", diverged={(label, 1.0): 10 for label in errors})
    cell = compare([totals(lost)]).isel(cell=0)
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
    job.write(found, tmp_path / NAME / "results.nc")
    elsewhere = study.config.model_copy(update={"results": str(tmp_path)})
    own = study.model_copy(update={"config": elsewhere})
    column = next(
        each
        for each in power.power(own, Stated(own, LIMITS)).columns
        if each.header == "decided by"
    )
    assert next(iter(column.cells)) == said


@pytest.mark.slow
def test_the_page_says_what_seeds_of_mnist_show():
    """With all that is kept of equal_privacy.yaml, as the command on the page reads it."""
    names = [NAME, "equal_privacy_femnist", "equal_privacy_adult"]
    found = compare(reference.load(names).values())
    row = (found["dataset"] == "mnist") & (found["epsilon"] == 8)
    cell = found.isel(cell=int(row.argmax("cell")))
    shown = [f"{100 * power.difference_shown(cell, n):.1f}" for n in (10, 40)]
    said = (
        f"Ten seeds of MNIST at $\\varepsilon = 8$ show a difference of {shown[0]} points, 40 show {shown[1]}, and "
        f"some {about(float(cell['seeds']))} seeds would decide the row."
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
        cell = compare([ds]).isel(cell=0)
        found.append(
            (power.difference_shown(cell, 20), int((cell["standing"] == "undecided").sum()))
        )
    assert found[0] == found[1]
    assert found[0][0] > 0
