"""What `admmbench rank` asks: an experiment on a table, whose methods are tuned alike."""

from pathlib import Path

import numpy as np
import pytest
import yaml

from admmbench import algorithms, scaffold, simulate
from admmbench.cli import main
from admmbench.datasets import describe
from admmbench.spec.guarantees import guarantee
from admmbench.study.config import ConfigError, check_experiment, read
from admmbench.study.ranking import NAME, Question, experiment, half_tuned, metric_of
from admmbench.tuning.settings import apply
from admmbench.watch import study
from tests.datasets.test_table import patients

TABLE = {"name": "table", "path": "patients.csv", "target": "label", "group": "hospital"}


@pytest.fixture(autouse=True)
def table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    patients().to_csv("patients.csv", index=False)


def asked(**changes):
    return experiment(Question.model_validate({"dataset": TABLE, "total": 1, **changes}), ROOT)


ROOT = scaffold.Path("answer")
BASELINES = ("without privacy", "one agent alone")


def test_a_question_is_an_experiment_in_a_folder_of_its_own(monkeypatch):
    content, left_out = asked(methods=["objp", "dp_gd"], total=[1, 8], seeds=3)
    assert not left_out
    scaffold.write_experiments({NAME: yaml.safe_dump(content)}, ROOT)
    monkeypatch.chdir(ROOT)  # where paths of the experiment hold
    found = read().experiments[NAME]
    assert found.partition == {"scheme": "by", "column": "hospital"}
    assert found.interim_analyses == [3, 6, 12, 24]
    assert {(each.label, each.budget) for each in found.searches.values()} == {
        ("objp, Gaussian", 1),
        ("objp, Gaussian", 8),
        ("dp_gd", 1),
        ("dp_gd", 8),
    }
    specs = {each.label: each for each in found.searches.values()}
    assert specs["dp_gd"].spec.method.sampling == 1
    assert "params.sampling" not in specs["dp_gd"].axes
    assert specs["objp, Gaussian"].spec.release.law == "gaussian"
    assert all(guarantee(each.spec).kind != "none" for each in specs.values())


def test_all_methods_that_suit_take_part():
    """A table of three classes: DVP has one output, and says so."""
    data = patients()
    data["label"] = data["ward"]
    data.drop(columns="ward").to_csv("patients.csv", index=False)
    content, left_out = asked()
    names = {method["name"] for method in content["algorithms"]}
    assert {"objp", "dpsgd", "outp", "amp", "centralized"} <= names
    assert "dvp" not in names
    assert left_out[0].startswith("dvp: dvp needs a loss with one output")
    content, _ = asked(noise="published", methods=["objp", "dp_gd"])
    assert content["algorithms"][0]["name"] == "objp"
    assert content["algorithms"][0].get("noise") is None


def test_two_names_of_one_method_are_tuned_and_run_once():
    content, _ = asked()
    labels = {method["name"]: method["label"] for method in content["algorithms"]}
    assert labels["outp"] == "outp = dp_admm"
    assert "dp_admm" not in labels
    content, _ = asked(methods=["dpsgd", "objp", "dp_sgd"])
    named = [method["label"] for method in content["algorithms"]]
    assert named == ["dpsgd = dp_sgd", "objp, Gaussian", *BASELINES]
    content, _ = asked(methods=["dp_admm", "objp"])
    assert content["algorithms"][0]["label"] == "dp_admm"


@pytest.mark.parametrize(
    ("methods", "same_as", "label"),
    [
        ("dvp outp dp_admm dp_gd", {"dvp": "dp_admm"}, "outp = dvp = dp_admm"),
        ("dvp dp_admm dp_gd", {"dvp": "dp_admm"}, "dvp = dp_admm"),
        ("dvp pvp dp_gd", {"dvp": "outp", "pvp": "outp"}, "dvp = pvp"),
        ("pvp dvp dp_gd", {"dvp": "pvp", "pvp": "dvp"}, "dvp = pvp"),
    ],
)
def test_methods_that_coincide_over_others_are_one(methods, same_as, label, monkeypatch):
    for name, other in same_as.items():
        monkeypatch.setattr(
            algorithms.resolve(name), "same_as", lambda self, problem, other=other: other
        )
    content, _ = asked(methods=methods.split(), noise="published")
    assert [method["label"] for method in content["algorithms"]] == [
        label,
        "dp_gd",
        *BASELINES,
    ]


@pytest.mark.parametrize("target", ["label", "ward", "bmi"])
def test_names_of_one_method_give_the_same_numbers_along_the_same_axes(target):
    """In rankings of two classes, of several, and of numbers, wherever a search looks."""
    data = {**TABLE, "target": target}

    def search(name):
        content, _ = asked(methods=[name, "dp_gd"], dataset=data)
        found = check_experiment({**content, "dataset": data}).searches.values()
        return next(each for each in found if each.label.startswith(name))

    def run(search):
        away = {path: 1.5 * axis.at(0) for path, axis in search.axes.items()}
        return simulate(**apply({**away, "rounds": 4}, search.spec.complete()))

    second = search("dp_admm")
    first = search(second.spec.method.same_as(second.spec.as_problem))
    assert first.axes == second.axes
    one, other = run(first), run(second)
    for metric in (one.attrs["metric"], "train_loss", "epsilon_total"):
        assert np.array_equal(one[metric], other[metric]), metric


def test_a_plug_in_takes_part(tmp_path):
    scaffold.write("method", "mine", tmp_path)
    content, _ = asked(methods=["mine.py", "objp"])
    own = content["algorithms"][0]
    assert own["name"] == "../mine.py"
    assert own["label"] == "mine"
    assert set(own["tune"]) == {
        "rounds",
        "params.rho",
        "params.power",
        "problem.records.max_l1_norm",
    }


def test_a_plug_in_that_declares_nothing_is_named_with_what_is_tuned(tmp_path):
    path = scaffold.write("method", "mine", tmp_path)
    lines = path.read_text().splitlines()
    path.write_text("\n".join(line for line in lines if "tune" not in line))
    content, _ = asked(methods=["mine.py", "objp"])
    assert content["algorithms"][0]["label"] == "mine (only rounds are tuned)"
    assert half_tuned(["objp", "mine.py"]) == [
        'mine: only rounds are tuned, not rho, a and power; declare `tune` in its class, such as tune = "auto"'
    ]


def test_a_rare_class_is_balanced_unless_the_user_says_otherwise():
    data = patients()
    data["label"] = np.where(np.arange(len(data)) % 12 == 0, "yes", "no")
    data.to_csv("patients.csv", index=False)
    content, _ = asked(methods=["objp", "dp_gd"])
    assert content["problem"]["metric"] == "balanced_error"
    assert content["figures"][0]["metric"] == "test_balanced_error"
    assert content["margin"] == 1
    question = Question.model_validate({"dataset": TABLE, "total": 1})
    (line,) = metric_of(question, describe(TABLE))
    assert line.startswith(
        "metric: balanced_error, the mean over classes, as the rarest class has 8.3 %"
    )
    content, _ = asked(methods=["objp", "dp_gd"], metric="error")
    assert "metric" not in content["problem"]
    content, _ = asked(methods=["objp", "dp_gd"], metric="auc")
    assert (content["problem"]["metric"], content["margin"]) == ("auc", 0.01)
    content, _ = asked(methods=["objp", "dp_gd"], metric="worst_clients")
    assert (content["problem"]["metric"], content["margin"]) == ("worst_clients", 1.0)
    assert content["figures"][0]["metric"] == "worst_client_error"


def test_numbers_have_a_loss_whose_slope_is_bounded():
    content, _ = asked(dataset={**TABLE, "target": "bmi"}, methods=["objp", "dp_gd"])
    assert content["problem"]["loss"] == "huber"
    assert content["margin"] == 0


def test_a_loss_that_is_not_convex_has_baselines_of_the_usual_one():
    content, _ = asked(loss="sigmoid", methods=["objp", "dp_gd"])
    *_, optimum, alone = content["algorithms"]
    assert [each["label"] for each in (optimum, alone)] == [f"{b} (logistic)" for b in BASELINES]
    computed = check_experiment({**content, "dataset": TABLE}).computed
    convex = [spec.as_problem.loss.convex for _, spec in computed]
    assert convex == [False, False, True, True]


@pytest.mark.parametrize(
    ("seeds", "tuning"), [(125, {}), (126, {"seeds": [1008]}), (1250, {"seeds": [10_000]})]
)
def test_tuning_has_other_seeds_than_the_last_look(seeds, tuning):
    content, _ = asked(methods=["objp", "dp_gd"], seeds=seeds)
    assert content["tuning"] == {"trials": 24, **tuning}
    assert check_experiment({**content, "dataset": TABLE}).interim_analyses[-1] == 8 * seeds


def test_a_point_of_error_does_not_matter_unless_another_margin_is_stated():
    assert asked(methods=["objp", "dp_gd"])[0]["margin"] == 1
    assert asked(methods=["objp", "dp_gd"], margin=0)[0]["margin"] == 0


def test_paths_of_a_second_file_follow(tmp_path):
    (tmp_path / "more").mkdir()
    data = patients()
    data[::5].to_csv("more/test.csv", index=False)
    data.drop(data.index[::5]).to_csv("patients.csv", index=False)
    content, _ = asked(dataset={**TABLE, "test": "more/test.csv"}, methods=["objp", "outp"])
    assert content["dataset"]["path"] == "../patients.csv"
    assert content["dataset"]["test"] == "../more/test.csv"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"methods": ["objp"]}, "fewer than two"),
        ({"methods": ["outp", "dp_admm"]}, r"fewer than two methods \(outp = dp_admm is one\)"),
        ({"methods": ["objp", "dp_gd"], "seeds": 1251}, "seeds\n.*less than or equal to 1250"),
        (
            {"methods": ["objp", "admm"]},
            "^--methods: admm: --total: admm sends everything without noise",
        ),
        (
            {"agents": 1000, "dataset": {**TABLE, "group": ""}},
            r"fewer than two methods; accelerated_dpsgd; amp; .* and \d+ more: --agents: 1000 agents cannot",
        ),
        ({"metric": "client_error", "dataset": {**TABLE, "group": ""}}, "--metric: .* by --group"),
        ({"metric": "worst_clients", "agents": 3}, "--metric: worst_clients .* without --agents"),
        ({"loss": "huber"}, "more: loss huber: it needs numbers as targets"),
        ({"methods": ["objp", "obpj"]}, "did you mean 'objp'"),
        ({"dataset": {**TABLE, "target": "labels"}}, "did you mean 'label'"),
    ],
)
def test_what_cannot_be_ranked_is_named(changes, message):
    with pytest.raises(ValueError, match=message):
        asked(**changes)


WORDS = ["--target", "label", "--total", "1", "--methods", "objp,dp_gd"]


@pytest.fixture
def calls(monkeypatch):
    """What was called in which folder; it fails."""
    called = []

    def fail(words, folder, config):
        called.append((words, folder))
        return 1

    monkeypatch.setattr(study, "turn", fail)
    return called


def test_another_question_has_another_folder(capsys, calls):
    """The same command goes on, and nothing is overwritten."""
    words = ["rank", "patients.csv", *WORDS]
    assert main(words) == 1
    assert main(words) == 1
    assert calls == [(["tune"], scaffold.Path("rank-patients"))] * 2
    assert main([*words, "--seeds", "4"]) == 1
    assert "asks something else, or is of an earlier version; nothing" in capsys.readouterr().err
    assert len(calls) == 2


def test_what_is_wrong_with_a_table_is_said_in_the_words_of_the_command(capsys):
    frame = patients()
    frame["age"] = frame.age.astype(str).where(frame.index != 3, "-")
    frame.to_csv("patients.csv", index=False)
    words = ["rank", "patients.csv", *WORDS]
    assert main(words) == 1
    said = capsys.readouterr().err
    assert "age: 1 of 120 values, such as '-' (row 4): each is no number; set na_values: " in said
    assert "settings follow the table as KEY=VALUE, such as missing=drop" in said
    for wrong in (["--group", "z"], ["--target", "z"], ["test={z: 1}"], ["mising=drop"]):
        assert main([*words, *wrong]) == 1
        said = capsys.readouterr().err
        assert "unknown column 'z'" in said or "no setting 'mising'" in said
        assert "KEY=VALUE" not in said
    Path("patients.csv").write_text("1,2,0\n3,4,1\n")
    assert main(words) == 1
    assert "state names: [...], one for each column (settings follow" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--total", "1,0"], "--total: Input should be greater than 0 (got 0)"),
        (["--total", "1", "--seeds", "0"], "--seeds: Input should be"),
        (["--total", "1", "--noise", "none"], "--noise: Input should be"),
        (["--total", "1", "missing=no"], "missing: Input should be"),
    ],
)
def test_what_is_wrong_is_said_with_the_options_of_the_command(words, message, capsys):
    assert main(["rank", "patients.csv", "--target", "label", *words]) == 1
    assert capsys.readouterr().err.startswith(f"admmbench: {message}")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda test: test.drop(columns="ward"), "test: the second file lacks ward"),
        (lambda test: test.assign(more=1), "test: the second file has besides more"),
        (
            lambda test: test.assign(label="maybe"),
            "test: no training record has the class 'maybe' of test records",
        ),
        (lambda test: patients()[1:3], "test: 2 records of the second file are in the first one"),
    ],
)
def test_a_test_file_that_does_not_suit_is_refused(change, message, capsys):
    data = patients()
    change(data[::5]).to_csv("test.csv", index=False)
    data.drop(data.index[::5]).to_csv("patients.csv", index=False)
    assert main(["rank", "patients.csv", "--test", "test.csv", *WORDS, "-n"]) == 1
    assert message in capsys.readouterr().err


def test_a_column_says_which_records_test(capsys, calls):
    main(["rank", "patients.csv", "--test-column", "ward=a", *WORDS, "-n"])
    content = yaml.safe_load(Path("rank-patients/config/experiments/ranking.yaml").read_text())
    assert content["dataset"]["test"] == {"ward": "a"}
    assert main(["rank", "patients.csv", "--test-column", "ward", *WORDS]) == 1
    assert "--test-column: expected NAME=VALUE, got 'ward'" in capsys.readouterr().err


def test_cores_and_a_dry_run_are_handed_to_the_study(calls):
    """Wherever they stand among the settings of the table."""
    assert main(["rank", "patients.csv", "missing=drop", "--cores", "1", *WORDS, "test=0.25"]) == 1
    content = yaml.safe_load(Path("rank-patients/config/experiments/ranking.yaml").read_text())
    assert (content["dataset"]["missing"], content["dataset"]["test"]) == ("drop", 0.25)
    assert main(["rank", "-n", "patients.csv", "missing=drop", "test=0.25", *WORDS]) == 1
    assert [words for words, _ in calls] == [
        ["tune", "--cores", "1"],
        ["tune", "-n"],
    ]


def test_an_experiment_may_leave_its_agents_to_the_data():
    given = {
        "title": "t",
        "rounds": 2,
        "epsilon": 1,
        "algorithms": [{"name": "objp", "label": "a"}],
    }
    assert check_experiment({**given, "dataset": TABLE}).partition == {
        "scheme": "by",
        "column": "hospital",
    }
    assert check_experiment({**given, "dataset": "digits"}).runs[0].spec.n_agents == 10


def test_another_name_of_a_method_is_the_same_run():
    given = {"title": "t", "rounds": 2, "epsilon": 1, "dataset": "digits"}

    def address(**method):
        (run,) = check_experiment({**given, "algorithms": [{"label": "a", **method}]}).runs
        return run.path

    assert address(name="dp_gd") == address(name="dpsgd", params={"sampling": 1})
    assert address(name="objpm") == address(name="objp", params={"local_updates": 10})
    with pytest.raises(ConfigError, match="write name: dpsgd"):
        address(name="dp_gd", params={"sampling": 0.5})


def test_a_path_may_begin_with_home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    other = tmp_path / "elsewhere"
    other.mkdir()
    monkeypatch.chdir(other)
    for path in ("~/patients.csv", "$HOME/patients.csv"):
        content, _ = asked(dataset={**TABLE, "path": path}, methods=["objp", "dp_gd"])
        assert content["dataset"]["path"] == "../../patients.csv"
    with pytest.raises(ValueError, match="no such user or variable"):
        asked(dataset={**TABLE, "path": "$NOBODY/patients.csv"})
