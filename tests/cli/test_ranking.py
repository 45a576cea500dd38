"""`rank` on a frame: the study of the command, and its answer as a table."""

from pathlib import Path

import numpy as np
import pytest
import yaml

from admmbench import load_dataset, rank
from admmbench.cli import main
from admmbench.files import netcdf
from admmbench.jobs import interrupts
from admmbench.results.who_wins import compare
from admmbench.watch import study
from tests.datasets.test_table import patients
from tests.made import INF, build, totals

ASKED = {"target": "label", "groups": "hospital", "methods": ["objp", "dp_gd"]}
ERRORS = {
    "ObjP": {1: 0.20, 8: 0.10},
    "OutP": {1: 0.16, 8: 0.11},
    "Non-private": {INF: 0.05},
}
EXPERIMENT = "config/experiments/ranking.yaml"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def turns(monkeypatch):
    """Turns of a study that are asked for; the status that they end with; and results that they leave."""
    asked, status, results = [], [0], totals(build(ERRORS, name="ranking", sensitivity="global"))

    def turn(words, folder, config):
        asked.append(words)
        netcdf.write(results, folder / "results/ranking/results.nc")
        return status[0]

    monkeypatch.setattr(study, "turn", turn)
    return asked, status, results


def test_a_frame_has_the_study_of_the_command(turns):
    patients().to_csv("patients.csv", index=False)
    words = ["--target", "label", "--group", "hospital", "--methods", "objp,dp_gd", "--total", "1"]
    main(["rank", "patients.csv", *words, "--seeds", "3", "missing=drop", "--dry-run"])
    ranking = rank(patients(), **ASKED, seeds=3, settings={"missing": "drop"}, cores=2)
    assert turns[0][1:] == [["tune", "--cores", "2"], ["all", "--cores", "2"]]
    assert ranking.study == Path("rank-label")
    first, second = (
        yaml.safe_load(Path(place, EXPERIMENT).read_text())
        for place in ("rank-patients", ranking.study)
    )
    data, own = first.pop("dataset"), second.pop("dataset")
    del first["title"], second["title"]
    assert first == second
    assert own["missing"] == "drop"
    own["path"] = str(ranking.study / own["path"])
    data["path"] = "patients.csv"
    ours, theirs = load_dataset(own), load_dataset(data)
    assert ours.n_features == theirs.n_features
    assert sorted(ours.class_names) == sorted(theirs.class_names)
    assert ours.attributes["hospital"].values == theirs.attributes["hospital"].values
    np.testing.assert_array_equal(ours.X_test, theirs.X_test)


def test_seeds_are_ordered_before_the_report_if_asked_for(turns):
    rank(patients(), **ASKED, until_decided=True)
    results = "results/ranking/results.nc"
    assert turns[0] == [["tune"], [results, "--until-decided"], ["all"]]


def test_the_table_has_the_numbers_of_the_comparison(turns):
    ranking = rank(patients(), **ASKED, total_epsilon=[1, 8], folder="answer")
    comparison = compare([turns[2]])
    assert ranking.index.names == ["epsilon", "method"]
    assert ranking.loc[1].index.tolist() == [
        "Non-private",
        "OutP",
        "ObjP",
        *([] if "constant answer" not in ranking.loc[1].index else ["constant answer"]),
    ]
    for number, total in enumerate((1, 8)):
        setting = comparison.isel(setting=number)
        for label in ("OutP", "ObjP"):
            row, method = ranking.loc[(total, label)], setting.sel(algorithm=label)
            lowest = setting["lowest"].item()
            pair = method.sel(rival=lowest)
            assert row["value"] == pytest.approx(ERRORS[label][total])
            assert row["lower"] == method["lower"] < row["value"] < row["upper"]
            if label == lowest:
                assert np.isnan(row["difference"])
            else:
                assert row["difference"] == pair["difference"]
                assert row["difference_upper"] == pair["difference_upper"]
            assert (row["verdict"], row["seeds"]) == (method["verdict"], 10)
    assert ranking.loc[(1, "Non-private"), "value"] == pytest.approx(0.05)
    assert ranking.loc[(1, "Non-private"), "verdict"] == "baseline"


def test_an_interruption_is_one_of_python_and_the_same_call_goes_on(turns):
    asked, status, _ = turns
    status[0] = interrupts.STATUS
    with pytest.raises(KeyboardInterrupt, match="the same call goes on"):
        rank(patients(), **ASKED)
    status[0] = 1
    with pytest.raises(RuntimeError, match="rank-label failed"):
        rank(patients(), **ASKED)
    status[0] = 0
    assert len(rank(patients(), **ASKED))
    assert len(asked) == 4  # the first two did not come to the runs
    with pytest.raises(FileExistsError, match="asks something else"):
        rank(patients(), **ASKED, seeds=4)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"target": "labels"}, "^target: there is no column 'labels'; there are patient id, "),
        ({"groups": "site"}, "^groups: there is no column 'site'"),
        ({"methods": ["objp", "admm"]}, "^methods: admm: total_epsilon: admm sends everything"),
        ({"methods": ["objp"]}, "fewer than two methods"),
        ({"total_epsilon": 0}, "^total_epsilon: Input should be greater than 0"),
        ({"sedes": 3}, "sedes"),
    ],
)
def test_wrong_arguments_are_named(changes, message):
    with pytest.raises(ValueError, match=message):
        rank(patients(), **{**ASKED, **changes})
