"""Tables of users: from a file to arrays, and what a run on them says."""

import bz2
import gzip
import io
import json
import lzma
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pyarrow import Table
from pyarrow.parquet import write_table
from scipy import sparse
from sklearn.datasets import dump_svmlight_file, load_diabetes, load_iris
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import LinearRegression

from admmbench import load_dataset, simulate
from admmbench.cli import main
from admmbench.cli.results import run_summary
from admmbench.contracts.datasets import dataset_checks
from admmbench.datasets import (
    DatasetError,
    _table_columns,
    _table_files,
    describe,
    key,
    normalize,
    open_as,
    prepare,
)
from admmbench.datasets.table import from_arrays, write_arrays
from admmbench.spec.guarantees import guarantee
from admmbench.spec.run import RunSpec
from admmbench.study.address import dataset_folder
from admmbench.study.runs import Run
from admmbench.validation import checked


def patients(n=120):
    """A table with a column of every kind."""
    rng = np.random.default_rng(0)
    age, ward = rng.integers(20, 90, n), rng.choice(["a", "b", "c"], n)
    return pd.DataFrame(
        {
            "patient id": rng.permutation(n) + 1000,
            "age": age,
            "bmi": rng.normal(25, 4, n).round(1),
            "smokes": rng.random(n) < 0.3,
            "ward": ward,
            "admitted": pd.date_range("2020-01-01", periods=n).strftime("%Y-%m-%d"),
            "country": "NL",
            "hospital": rng.choice(["north", "south", "east"], n, p=[0.6, 0.38, 0.02]),
            "label": np.where(age + 20 * (ward == "a") > 60, "yes", "no"),
        }
    )


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Where paths are relative to, with a cache of its own."""
    monkeypatch.setenv("ADMMBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def table(folder):
    patients().to_csv("patients.csv", index=False)
    return {"name": "table", "path": "patients.csv", "target": "label", "group": "hospital"}


def written(frame, path="t.csv", **settings):
    """Write a table, a DataFrame or text, and return the specification of the data set."""
    Path(path).write_text(frame if isinstance(frame, str) else frame.to_csv(index=False))
    return {"name": "table", "path": path, "target": "label", **settings}


def refused(spec, message):
    """See that a table is refused with this message, and return all of it."""
    with pytest.raises(ValueError, match=message) as caught:
        describe(spec)
    return str(caught.value)


def summary(spec):
    """What `admmbench prepare` says of a table."""
    return "\n".join(describe(spec).summary)


def same(one, other):
    """See that two data sets have the same arrays."""
    for name in ("X_train", "y_train", "X_test", "y_test"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


STATED: dict[str, dict] = {
    "ranges": {"age": [0, 120], "bmi": [5, 80]},
    "categories": {"ward": ["a", "b", "c"], "smokes": [False, True], "label": ["no", "yes"]},
    "kinds": dict.fromkeys(("patient id", "admitted", "country"), "leave_out"),
}


def test_a_table_keeps_the_contracts_of_data_sets(table):
    for check in dataset_checks(table):
        check.run()


def test_columns_become_features(table):
    data, frame = load_dataset(table), patients()
    assert (data.n_train, data.n_test, data.class_names) == (96, 24, ("no", "yes"))
    # Age, bmi; smokes and ward by their values; ones.
    assert data.n_features == 2 + 2 + 3 + 1
    assert data.X_train.min() == 0
    assert data.X_train.max() == 1
    assert (data.X_train[:, -1] == 1).all()
    assert data.X_train[:, :2].min(axis=0).tolist() == [0, 0]
    assert (data.X_train[:, 4:7].sum(axis=1) == 1).all()
    # Both parts have the classes of the file in its shares.
    share = (frame.label == "yes").mean()
    for y in (data.y_train, data.y_test):
        assert y.mean() == pytest.approx(share, abs=0.03)
    assert set(data.attributes) == {"hospital", "ward", "smokes"}


def test_what_is_left_out_is_named(table):
    for words in (
        "patient id (another number in each row)",
        "admitted (dates)",
        "country (one value)",
        "a column of ones, as models have no intercept",
        "group hospital: 3 values",
        "'no' (",
        "ward (3)",
    ):
        assert words in summary(table)


def test_rows_are_those_of_the_file(folder):
    frame = patients()[["age", "ward", "label"]]
    frame["part"] = np.where(np.arange(120) < 80, "train", "test")
    data = load_dataset(written(frame, test={"part": "test"}))
    train, test = frame[:80], frame[80:]
    low, high = train.age.min(), train.age.max()
    for X, y, part in ((data.X_train, data.y_train, train), (data.X_test, data.y_test, test)):
        np.testing.assert_allclose(X[:, 0], ((part.age - low) / (high - low)).clip(0, 1), rtol=1e-6)
        wards = np.stack([part.ward == each for each in "abc"], axis=1)
        np.testing.assert_array_equal(X[:, 1:4], wards)
        np.testing.assert_array_equal(y, part.label == "yes")
    written(test.drop(columns="part"), "two.csv")
    same(load_dataset(written(train.drop(columns="part"), test="two.csv")), data)


def test_two_files_share_as_many_records_as_chance_explains(folder):
    """Two of 100 records are equal, so that up to 4 % of the others may be among them."""
    frame = pd.DataFrame({"x": np.arange(150.0), "label": np.arange(150) % 2})
    frame.loc[1] = frame.loc[3]
    frame.loc[101:102] = frame.loc[51:52].to_numpy()
    spec = written(frame[:100], test="two.csv")
    written(frame[100:], "two.csv")
    assert load_dataset(spec).y_test.size == 50
    written(frame[100:140], "two.csv")
    refused(spec, "2 records of the second file are in the first one, too, such as that of row 3")


def test_columns_that_are_left_out_do_not_tell_records_of_two_files_apart(folder):
    frame = pd.DataFrame({"x": np.arange(40.0), "label": np.arange(40) % 2})
    frame["of"] = [[number] for number in range(40)]
    frame[:30].to_parquet("t.parquet")
    frame.iloc[[3, 30, 31]].assign(of=[[0], [1], [2]]).to_parquet("two.parquet")
    spec = {"name": "table", "path": "t.parquet", "test": "two.parquet", "target": "label"}
    refused({**spec, "kinds": {"of": "leave_out"}}, "1 records of the second file")


def test_the_seed_of_a_table_draws_its_test_part(table):
    first, again, other = (load_dataset({**table, "seed": seed}) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first.X_test, again.X_test)
    assert not np.array_equal(first.X_test, other.X_test)


def test_content_is_the_identity_and_not_the_place(table, folder):
    def address(spec):
        return Run("", RunSpec(dataset=spec, algorithm="objp", epsilon=1.0, seeds=2)).path

    (folder / "deep").mkdir()
    shutil.copy("patients.csv", "deep/copy.csv")
    copy = {**table, "path": "deep/copy.csv"}
    assert key(copy) == key(table)
    assert address(copy) == address(table)
    assert dataset_folder(copy) == dataset_folder(table)
    prepare(table, folder / "prepared")
    open_as(copy, folder / "prepared")
    with open("deep/copy.csv", "a") as file:
        file.write("9,50,20.0,False,a,2020-01-01,NL,north,yes\n")
    assert address(copy) != address(table)
    assert dataset_folder(copy) != dataset_folder(table)
    with pytest.raises(DatasetError, match="holds"):
        open_as(copy, folder / "prepared")
    definitions = [RunSpec(dataset=each, algorithm="objp").definitions for each in (copy, table)]
    assert definitions[0] != definitions[1]


def test_what_is_found_in_records_is_not_covered_by_a_total(table):
    def worth(spec):
        return guarantee(RunSpec(dataset=spec, algorithm="objp", epsilon=1.0, sensitivity="global"))

    found = worth(table)
    assert found.kind == "conditional"
    for words in (
        "ranges of age, bmi",
        "categories of smokes, ward",
        "classes of label",
        "country",
    ):
        assert words in found.conditions
    assert worth({**table, **STATED}).kind == "proved"
    assert worth(load_dataset({**table, **STATED})).kind == "proved"
    assert worth(load_dataset(table)).kind == "conditional"
    for part in STATED:
        assert worth({**table, **STATED, part: {}}).kind == "conditional"


def test_a_range_of_all_numbers_states_numbers_alone(folder):
    n = np.arange(60)
    frame = pd.DataFrame({"x": n % 7 / 7, "ward": np.array(list("ab"))[n % 2], "const": "NL"})
    spec: dict = written(frame.assign(y=n // 3 % 2), target="y", ranges=[0, 1])
    spec["categories"] = {"y": [0, 1]}
    found = describe(spec).presumed
    assert found.endswith("public: the categories of ward; that const can be left out")
    left = {**spec, "kinds": {"const": "leave_out"}}
    assert describe({**left, "kinds": {"const": "category"}}).presumed.endswith("of ward, const")
    assert describe({**left, "categories": {"y": [0, 1], "ward": ["a", "b"]}}).presumed == ""
    both = {"const": "leave_out", "ward": "leave_out"}
    assert describe({**spec, "kinds": both}).presumed == ""


def test_a_stated_range_clips_and_a_stated_column_stays(table):
    data = load_dataset({**table, **STATED, "ranges": {"age": [30, 60], "bmi": [5, 80]}})
    assert ((data.X_train[:, 0] == 0).mean(), (data.X_train[:, 0] == 1).mean()) > (0.1, 0.1)
    assert "clipped: age (" in summary(data.settings | {"name": "table"})
    # A value that no record happens to have may be stated.
    kept = {**STATED, "kinds": {}, "categories": STATED["categories"] | {"country": ["NL", "DE"]}}
    assert load_dataset({**table, **kept}).n_features == data.n_features + 2


def test_an_agent_is_a_group_if_nobody_says_otherwise(table):
    trace = simulate(table, "objp", epsilon=1.0, rounds=3, seeds=1)
    assert trace.attrs["agents"] == 3
    assert json.loads(trace.attrs["partition"]) == {"scheme": "by", "column": "hospital"}
    assert simulate(table, "objp", agents=4, rounds=1, seeds=1).attrs["agents"] == 4
    by_ward = simulate(table, "objp", agents={"scheme": "by", "column": "ward"}, rounds=1, seeds=1)
    assert by_ward.attrs["agents"] == 3
    assert RunSpec(dataset="digits", algorithm="objp").n_agents == 10


def test_columns_whose_attributes_would_have_one_name_do_not_stand_for_another(folder):
    n = np.arange(60)
    columns = {"a b": n % 4, "a_b": n % 2, "é": n % 3, "ü": n % 5, "c d": n % 6}
    frame = pd.DataFrame({**columns, "label": n // 3 % 2})
    spec = written(frame, kinds=dict.fromkeys(columns, "category"))
    assert describe(spec).attributes == {"a_b": 2, "c_d": 6}
    assert describe({**spec, "group": "a b"}).attributes == {"a_b": 4, "c_d": 6}
    assert describe({**spec, "group": "ü"}).attributes == {"_": 5, "a_b": 2, "c_d": 6}


def test_groups_may_have_one_class_few_rows_or_none_in_a_part(folder):
    frame = patients()
    frame.loc[frame.hospital == "south", "label"] = "no"
    frame.loc[0, "hospital"] = "tiny"
    frame["part"] = np.where(frame.hospital == "north", "test", "train")
    spec: dict = written(frame, group="hospital", test={"part": "test"})
    assert "no training record: north" in summary(spec)
    assert "no test record: east, south, tiny" in summary(spec)
    assert "one class:" in summary(spec)
    trace = simulate(spec, "objp", epsilon=1.0, rounds=3, seeds=1)
    assert trace.attrs["agents"] == 4
    assert np.isfinite(trace.test_error.values).all()


def test_each_class_with_two_records_is_in_both_parts(folder, caplog):
    frame = patients()[["age", "bmi", "label"]]
    frame.loc[[50, 90], "label"] = "seldom"
    spec: dict = written(frame)
    data = load_dataset(spec)
    code = data.class_names.index("seldom")
    assert [list(y).count(code) for y in (data.y_train, data.y_test)] == [1, 1]
    assert not data.note
    # One record alone trains.
    frame.loc[90, "label"] = "no"
    written(frame)
    data, said = load_dataset(spec), "the test part has no record of 'seldom': "
    assert list(data.y_train).count(code) == 1
    assert data.note.startswith(said)
    assert said in summary(spec)
    trace = simulate(spec, "admm", agents=2, rounds=1, seeds=1)
    assert trace.attrs["dataset_note"].startswith(said)
    assert said in caplog.text
    caplog.clear()
    simulate((frame.drop(columns="label"), frame.label), "admm", agents=2, rounds=1, seeds=1)
    assert said in caplog.text


def test_a_group_without_a_class_is_named(folder):
    frame = patients()
    frame["label"] = frame.ward
    frame.loc[(frame.hospital == "south") & (frame.label == "a"), "label"] = "b"
    text = summary(written(frame.drop(columns="ward"), group="hospital"))
    _, _, named = text.partition("; not all classes: ")
    assert "south" in named.partition("\n")[0]
    assert "north" not in named.partition("\n")[0]


def test_missing_values_are_refused_dropped_or_imputed(table):
    frame = patients()
    frame.loc[[3, 4], "bmi"] = np.nan
    frame.loc[5, "ward"] = "?"
    written(frame, "patients.csv")
    refused(table, r"missing: bmi \(2\), ward \(1\); set missing: impute or")
    dropped, imputed = (load_dataset({**table, "missing": how}) for how in ("drop", "impute"))
    assert dropped.n_train + dropped.n_test == 117
    assert imputed.n_train + imputed.n_test == 120
    both = np.vstack([imputed.X_train, imputed.X_test])
    assert (both[:, 4:7].sum(axis=1) == 0).sum() == 1
    stated = load_dataset({**table, **STATED, "missing": "impute"})
    assert (np.vstack([stated.X_train, stated.X_test])[:, 1] == 0.5).sum() >= 2
    frame.loc[7, "label"] = None
    written(frame, "patients.csv")
    refused({**table, "missing": "impute"}, r"label \(1\); set missing: drop")


@pytest.mark.parametrize("split", ["drawn", "by a column"])
@pytest.mark.parametrize("kind", ["number", "category"])
def test_a_column_without_a_value_in_the_training_part_is_left_out(split, kind, folder):
    frame = patients()[["age", "label"]]
    frame["part"] = np.where(np.arange(120) % 5, "train", "test")
    test: Any = {"part": "test"} if split == "by a column" else 0.2
    spec = written(frame.assign(row=np.arange(120)), missing="impute", test=test)
    of_tests = frame.part == "test"
    if split == "drawn":
        rows = load_dataset({**spec, "ranges": {"row": [0, 119]}}).X_test[:, 1] * 119
        of_tests = np.isin(np.arange(120), rows.round())
    values = np.arange(120) % 7 if kind == "number" else np.array(list("abc") * 40, object)
    written(frame.assign(late=pd.Series(values).where(of_tests)))
    left = "late (no value in the training part)"
    assert left in summary(spec)
    assert "late" in describe(spec).presumed
    message = f"kinds: 'late' is a {kind} with no value in the training part; state "
    for missing in ("impute", "drop") if split == "by a column" else ("impute",):
        refused({**spec, "kinds": {"late": kind}, "missing": missing}, message)
    stated: Any = {"ranges": {"late": [0, 6]}}
    if kind == "category":
        stated = {"categories": {"late": ["a", "b", "c"]}, "ranges": {"age": [0, 99]}}
        assert left in summary({**spec, "ranges": [0, 99]})
    assert "late" not in describe({**spec, **stated}).presumed


def test_numbers_are_a_regression(folder):
    bunch = load_diabetes(as_frame=True, scaled=False)
    spec = written(bunch.frame, "d.csv", target="target")
    assert describe(spec).default_problem == "huber"
    assert describe(spec).class_names == ()
    trace = simulate(spec, "admm", agents=3, rounds=80, seeds=1)
    assert 45 < trace.test_rmse.values[0, -1] < 65
    assert describe({**spec, "kinds": {"sex": "category"}}).n_features == 12


def prices(n=200):
    """Features and prices that follow from them up to some noise, and how large this is."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.random((n, 3)), columns=list("abc"))
    return X, 3 * X.a - 2 * X.b + rng.normal(0, 0.3, n)


UNITS = {"of a price": (1e5, 3e5), "tiny": (1e-6, -2e-6), "negative": (1e9, -7e9), "far": (1, 1e9)}


BOUND = [{"at": "agents", "mean_loss": {}, "at_most": 50}]
RUNS: dict[str, dict] = {
    "admm": {"problem": "squared", "rounds": 20},
    "dp_gd": {"epsilon": 1.0, "sensitivity": "global", "rounds": 20},
    "prox_al": {"problem": {"loss": "squared", "constraints": BOUND}, "rounds": 2},
}


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("method", RUNS)
def test_the_unit_of_targets_does_not_matter(unit, method):
    scale, offset = UNITS[unit]
    X, y = prices()
    found, wanted = (
        simulate((X, each), method, **RUNS[method], agents=2, seeds=1)
        for each in (scale * y + offset, y)
    )
    np.testing.assert_allclose(found.test_rmse / scale, wanted.test_rmse, rtol=1e-3)
    np.testing.assert_allclose(found.test_loss, wanted.test_loss, rtol=1e-3)
    if method != "prox_al":
        assert found.test_rmse[0, -1] < (0.7 if method == "admm" else 1) * found.test_rmse[0, 0]


@pytest.mark.parametrize("agents", [3, {"scheme": "columns", "blocks": 2}])
def test_errors_are_in_the_unit_of_the_file(agents, folder):
    """Beside scikit-learn's least squares on the table itself."""
    X, y = prices(400)
    part = np.where(np.arange(400) < 300, "train", "test")
    given: dict = {"target": "y", "test": {"part": "test"}, "target_range": [-3e5, 4e5]}
    spec = written(X.assign(y=1e5 * y, part=part), **given)
    fit = LinearRegression().fit(X[:300], 1e5 * y[:300])
    rmse = np.sqrt(np.mean((fit.predict(X[300:]) - 1e5 * y[300:]) ** 2))
    name = "admm" if agents == 3 else "admm_sharing"
    problem = {"loss": "squared", "strength": 1e-9}
    trace = simulate(spec, name, problem=problem, agents=agents, seeds=1)
    assert trace.test_rmse[0, -1] == pytest.approx(rmse, rel=1e-2)


def test_a_threshold_is_in_the_unit_of_the_file():
    """Errors beyond it count by their size alone, so that outliers do not pull."""
    X, y = prices(400)
    y = 1e5 * (y + 30 * (np.arange(400) % 10 == 0))
    data = from_arrays((X, y))

    losses: list[Any] = [{"name": "huber", "threshold": size} for size in (1e4, 1e8)]
    small, large, squared = (
        float(simulate(data, "centralized", problem=problem, rounds=1, seeds=1).test_rmse[0, -1])
        for problem in ({"loss": loss, "strength": 0} for loss in [*losses, "squared"])
    )
    assert large == pytest.approx(squared, rel=1e-6)
    assert small > 1.03 * large  # those that are no outliers have errors far below


def test_a_threshold_that_is_absent_is_one_that_could_be_stated():
    X, y = prices()
    data = from_arrays((X, y), target_range=[-10, 30])

    def problem(dataset, loss):
        return RunSpec(dataset=dataset, algorithm="dp_gd", problem=loss).complete()["problem"]

    for dataset, threshold in ((data, 2), ("diabetes", 1)):
        stated = {"loss": {"name": "huber", "threshold": threshold}}
        assert problem(dataset, "huber") == problem(dataset, stated)
        assert problem(dataset, "huber")["loss"]["threshold"] == threshold


def test_targets_beyond_a_stated_range_are_clipped_in_training(folder):
    X, y = prices()
    spec: dict = written(X.assign(y=y), target="y", target_range=[-1, 1])
    data, text = load_dataset(spec), summary(spec)
    plain = load_dataset({**spec, "target_range": [-10, 10]})
    assert (plain.target_scale, data.target_scale) == (1, 0.1)
    np.testing.assert_allclose(data.y_train, (10 * plain.y_train).clip(-10, 10), atol=1e-5)
    np.testing.assert_allclose(data.y_test, 10 * plain.y_test, atol=1e-5)
    assert abs(data.y_test).max() > 10
    beyond = np.count_nonzero(np.abs(plain.y_train) > 1)
    assert f"scaled from the range [-1, 1], to which {beyond} of the training part are" in text
    assert "clipped" not in summary({**spec, "target_range": [-10, 10]})


def test_the_range_of_targets_is_presumed_unless_it_is_stated(folder):
    X, y = prices()
    spec = written(X.assign(price=y), target="price", ranges=[0, 1])

    def worth(spec):
        given = {"privacy": {"total": 1.0}, "sensitivity": "global"}
        return guarantee(RunSpec(dataset=spec, algorithm="dp_gd", **given))

    assert worth(spec).kind == "conditional"
    assert "is public: the range of price;" in worth(spec).conditions
    assert worth({**spec, "target_range": [-9, 9]}).kind == "proved"
    own = load_dataset(spec)
    assert (own.y_train.min(), own.y_train.max()) == (-10, 10)
    assert set(own.target_range) <= set(y)


def test_the_best_constant_is_that_of_scikit_learn():
    X, y = prices()
    for made, dummy in (
        (from_arrays((X, 1e5 * y), target_range=[-1e6, 1e6]), DummyRegressor()),
        (from_arrays((X, np.digitize(y, [0.5, 2]))), DummyClassifier()),
    ):
        fit = dummy.fit(made.X_train, made.y_train)
        wrong = fit.predict(made.X_test) - made.y_test
        rmse = 1e5 * np.sqrt(np.mean(wrong**2))
        expected = np.mean(wrong != 0) if made.n_classes else rmse
        assert made.constant_error == pytest.approx(expected, rel=1e-6)
        trace = simulate(made, "objp", epsilon=1.0, sensitivity="global", rounds=1, seeds=1)
        metric = trace[trace.attrs["metric"]]
        assert metric.attrs["best_constant"] == made.constant_error
        assert "best_constant" not in trace["test_loss"].attrs
        text = run_summary(trace)
        what = "the commonest class" if made.n_classes else "the mean of the training targets"
        assert f"; best constant prediction, {what}: " in text
    drawn = {"scheme": "iid", "agents": 2, "shuffle": True, "train": 150}
    trace = simulate(made, "objp", epsilon=1.0, agents=drawn, rounds=1, seeds=1)
    assert "best_constant" not in trace["test_error"].attrs  # as each seed tests on others


FAULTS = {
    "no path": ({"path": ""}, "dataset.path: name the file"),
    "no file": ({"path": "x.csv"}, "dataset.path: there is no file 'x.csv'"),
    "no second file": ({"test": "x.csv"}, "dataset.test: there is no file 'x.csv'"),
    "no target": ({"target": ""}, "patients.csv: target: name the column of the targets: patient"),
    "other target": ({"target": "labell"}, "unknown column 'labell'; did you mean 'label'"),
    "other group": ({"group": "clinic"}, "group: unknown column 'clinic'"),
    "other kind": ({"kinds": {"age": "nummer"}}, "dataset.kinds.age: Input should be 'number'"),
    "reversed": ({"ranges": {"age": [3, 1]}}, "dataset.ranges.age: expected two numbers"),
    "share": ({"test": 1.5}, "dataset.test: "),
    "no test": ({"test": {"ward": "z"}}, "test: no record is in the test part"),
    "text": ({"kinds": {"ward": "number"}}, "is no number; set kinds: {ward: category}"),
    "class": ({"categories": {"label": ["no", "maybe"]}}, "categories.label: yes is none of no, may"),
    "one class": ({"target": "country"}, "target: 'country' has one value, 'NL'"),
    "two": ({"ranges": {"ward": [0, 1]}, "categories": {"ward": ["a"]}}, "'ward' has categories too"),
    "range of classes": ({"target_range": [0, 1]}, "'yes' (row 1, 2, 10), 'no' (row 3, 4, 5): each is no number"),
    "range and classes": (
        {"target_range": [0, 1], "categories": {"label": ["no", "yes"]}},
        "target_range: it is of targets that are numbers, and 'label' is said to have classes",
    ),
    "twice": ({"categories": {"ward": ["a", "b", "a"]}}, "categories.ward: a is stated more than once"),
    "class twice": ({"categories": {"label": ["no", "yes", "no"]}}, "categories.label: no is stated more than once"),
    "one name": ({"names": list("aab")}, "dataset.names: several columns have the name a; rename"),
    "no width": ({"target": "bmi", "target_range": [5, 5]}, "dataset.target_range: expected two"),
    "two ranges": (
        {"target": "bmi", "ranges": {"bmi": [5, 80]}},
        "ranges: 'bmi' is the target; state its range in target_range",
    ),
    "format": ({"format": "leaf", "target": ""}, "patients.csv: cannot be read as leaf"),
    "other class": (
        {"categories": {"label": ["no", "yes", "maybe"]}}, "categories.label: no record is of maybe"
    ),
    "other value": (
        {"categories": {"ward": ["a", "b", "C"]}}, "categories.ward: no record has C, and c are none of them"
    ),
    "dropna": ({"dropna": ["lable"]}, "dropna: unknown column 'lable'; did you mean 'label'"),
    "na_values": ({"na_values": {"bmo": [-9]}}, "unknown column 'bmo'; did you mean 'bmi'"),
    "signs": ({"decimal": ",", "thousands": ","}, "thousands: ',' is the decimal point"),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_what_is_wrong_is_said_in_a_line_that_names_it(fault, table):
    wrong, message = FAULTS[fault]
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        checked(RunSpec, {"dataset": {**table, **wrong}, "algorithm": "objp"}, "")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("values", ["ids", "dates", "a few numbers"])
def test_a_target_of_another_value_in_each_record_is_no_class(values, folder):
    n = 8 if values == "a few numbers" else 60
    frame = pd.DataFrame({"x": np.arange(n) % 5})
    columns: dict[str, Any] = {
        "ids": [f"p{k}" for k in range(n)],
        "dates": pd.date_range("2020-01-01", periods=n).strftime("%Y-%m-%d"),
        "a few numbers": np.arange(n) * 2,
    }
    frame["y"] = columns[values]
    spec = written(frame, target="y")
    said = refused(spec, r"^t\.csv: target: 'y' has another value in each record, such as '")
    assert ("kinds: {y: number}" in said) == (values == "a few numbers")
    if values == "a few numbers":
        assert describe({**spec, "kinds": {"y": "number"}}).class_names == ()


def test_a_suffix_that_says_nothing_is_refused(table):
    shutil.copy("patients.csv", "patients.dat")
    with pytest.raises(ValueError, match=r"'\.dat' says no format; state format: csv, parquet"):
        normalize({**table, "path": "patients.dat"})
    assert key({**table, "path": "patients.dat", "format": "csv"}) == key(table)


# What no table has

LEAF = {"users": ["u"], "num_samples": [0], "user_data": {"u": {"x": [], "y": []}}}
EMPTY = {
    "head.csv": "age,label\n",
    "none.svm": "",
    "none.json": json.dumps(LEAF),
    "none.parquet": pd.DataFrame({"age": [1.5], "label": ["a"]})[:0],
}


@pytest.mark.parametrize("name", EMPTY)
def test_a_table_without_records_is_refused(name, folder, capsys):
    content = EMPTY[name]
    if isinstance(content, str):
        (folder / name).write_text(content)
    else:
        content.to_parquet(name)
    target = ", target: label" if name in ("head.csv", "none.parquet") else ""
    assert main(["describe", f"{{name: table, path: {name}{target}}}"]) == 1
    error = capsys.readouterr().err
    assert f" {name}: there are no records\n" in error
    assert error.count("\n") == 1


@pytest.mark.parametrize("value", [[1, 2], {"a": 1}])
@pytest.mark.parametrize("column", ["scan", "hospital", "label"])
def test_a_column_of_lists_is_named_and_can_be_left_out(column, value, table):
    frame = patients().assign(**{column: [value] * 120})
    frame.to_parquet("patients.parquet")
    spec = {**table, "path": "patients.parquet"}
    said = refused(spec, f"^patients.parquet: lists or mappings in {column}: expected")
    assert ("leave_out" in said) == (column == "scan")
    if column == "scan":
        left = load_dataset({**spec, "kinds": {column: "leave_out"}})
        np.testing.assert_array_equal(left.X_train, load_dataset(table).X_train)


ODD = np.arange(120) % 2 == 1
CHANGES: dict[str, Any] = {
    "no test record": (None, lambda frame: frame[:0], r"^test\.csv: there are no records"),
    "same names": (lambda frame: frame.rename(columns={"bmi": "age"}), None, "have the name age; rename all but"),
    "same names in the test part": (None, lambda frame: frame.rename(columns={"bmi": "age"}), "the name age; rename"),
    "other names": (None, lambda frame: frame.drop(columns="bmi"), "test: the second file lacks bmi"),
    "a gap in all rows": (
        lambda frame: frame.assign(bmi=frame.bmi.where(ODD), age=frame.age.mask(ODD)),
        lambda frame: frame.assign(bmi=None),
        r"drop leaves no record, .*: age \(60\), bmi \(180\)$",
    ),
    "no printed name": (
        lambda frame: frame.rename(columns={"bmi": "b\0mi"}),
        None,
        r"^patients\.csv: columns\.2: 'b\\x00mi' has the character 0x0000",
    ),
}  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_the_part_that_is_wrong_is_named(change, table):
    *changed, message = CHANGES[change]
    for path, make in zip(("patients.csv", "test.csv"), changed, strict=True):
        written(make(patients()) if make else patients(), path)
    refused({**table, "test": "test.csv", "missing": "drop"}, message)


def test_columns_without_a_name_are_features_of_their_own(folder):
    spec = written(patients().rename(columns={"age": "", "bmi": ""}))
    assert describe(spec).n_features > 5
    frame = pd.DataFrame({"": np.arange(60) % 7})
    assert from_arrays((frame, CLASSES)).n_features == 2


# Identifiers are text

LONG = [1582218195625938945 + number for number in range(5)]


def sites(values):
    """A table whose group has these values, over and over."""
    frame = patients()[["age", "label"]]
    return frame.assign(site=pd.Series([*values] * 120, dtype=object)[:120])


BY_SITE = {"name": "table", "target": "label", "group": "site"}


@pytest.mark.parametrize("end", ["csv", "parquet"])
@pytest.mark.parametrize("gap", [True, False])
def test_long_identifiers_stay_different_beside_a_gap(end, gap, folder):
    frame = sites(LONG)
    if gap:
        frame.loc[7, "site"] = None
    if end == "csv":
        frame.to_csv("t.csv", index=False)
    else:
        write_table(
            Table.from_pandas(frame, preserve_index=False).replace_schema_metadata(), "t.parquet"
        )
    data = load_dataset({**BY_SITE, "path": f"t.{end}", "missing": "drop"})
    assert data.attributes["site"].values == tuple(map(str, LONG))
    assert data.n_train + data.n_test == 120 - gap
    as_target = {**BY_SITE, "path": f"t.{end}", "target": "site", "group": "", "missing": "drop"}
    assert describe(as_target).class_names == tuple(map(str, LONG))
    as_feature = {**BY_SITE, "path": f"t.{end}", "group": "", "kinds": {"site": "category"}}
    assert describe({**as_feature, "missing": "impute"}).n_features == 1 + 5 + 1


@pytest.mark.parametrize(
    "given",
    [
        np.ma.masked_array(LONG * 24, np.arange(120) == 7),
        pd.array([*LONG, None] * 20, dtype="Int64"),
        pd.Series([*LONG, None] * 20, dtype=object),
        [str(number) for number in LONG] * 24,
    ],
    ids=["masked", "nullable", "objects", "text"],
)
def test_long_groups_of_arrays_stay_different(given):
    frame = patients()
    made = from_arrays((frame[["age"]], frame.label), groups=given, missing="drop")
    assert made.attributes["group"].values == tuple(map(str, LONG))


@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_identifiers_that_floats_have_merged_are_refused(kind, folder):
    frame = sites(LONG)
    frame["site"] = frame.site.astype(kind)
    frame.to_parquet("t.parquet")
    message = r"site: 15822\d{14} is a float, .*; store them as text"
    refused({**BY_SITE, "path": "t.parquet"}, message)
    with pytest.raises(ValueError, match=message):
        from_arrays((frame[["age"]], frame.label), groups=frame.site)
    frame["site"] = (np.arange(120) % 3).astype(kind)
    made = from_arrays((frame[["age"]], frame.label), groups=frame.site)
    assert made.attributes["site"].values == ("0", "1", "2")


def test_other_spellings_are_other_identifiers(folder):
    spellings = ["7", "007", " 7", "7 ", "7.0", "7e0"]
    as_group = load_dataset(written(sites(spellings), "two.csv", group="site"))
    assert sorted(as_group.attributes["site"].values) == sorted(spellings)
    as_target = written(sites(spellings), "two.csv", target="site")
    assert sorted(describe(as_target).class_names) == sorted(spellings)
    # Of a second file, where pandas alone would read numbers.
    both = load_dataset(written(sites(["7"]), group="site", test="two.csv"))
    assert sorted(both.attributes["site"].values) == sorted(spellings)


def test_a_column_is_text_in_both_files_or_in_none(folder):
    codes = written(sites(["007", "7", "8"]), test="two.csv")
    written(sites(["x", "y", "007"]), "two.csv")
    data = load_dataset({**codes, "group": "site"})
    assert data.attributes["site"].values == ("007", "7", "8", "x", "y")
    refused(codes, r"'x' \(row 121")
    for path, values in (("t.csv", ["07", "x"]), ("two.csv", ["07", "7"])):
        sites(values).to_csv(path, index=False)
    found = load_dataset({**codes, "ranges": {"age": [0, 99]}}).X_test[:, 1:3]
    np.testing.assert_array_equal(found, [[1, 0], [0, 0]] * 60)  # 7 is not 07


@pytest.mark.parametrize("words", [("false", "true"), ("FALSE", "TRUE"), ("False", "True")])
def test_stated_true_and_false_are_spelled_as_in_the_file(words, folder):
    n, word = np.arange(60), np.array(words, object)
    frame = pd.DataFrame({"x": n % 7, "s": word[n % 2], "y": word[n // 2 % 2]})
    spec = written(frame, target="y")
    assert describe({**spec, "test": {"s": True}}).n_test == 30
    data = load_dataset({**spec, "categories": {"s": [True, False], "y": [True, False]}})
    assert data.class_names == words[::-1]
    assert data.attributes["s"].values == words
    assert (data.X_train[:, 1:3].sum(axis=1) == 1).all()
    # Text that is stated is as it stands there.
    refused({**spec, "categories": {"y": ["tRuE"]}}, r"categories\.y: .* is none of tRuE")


# Text among numbers


def doses(values, separator=","):
    """A table with a column of text, 300 rows."""
    rng = np.random.default_rng(0)
    ages, labels = rng.integers(20, 80, 300), rng.choice(["no", "yes"], 300)
    cells = zip(ages, values, labels, strict=True)
    lines = [separator.join((str(age), f'"{value}"', label)) for age, value, label in cells]
    return separator.join(("age", "dose", "label")) + "\n" + "\n".join(lines) + "\n"


VALUES = np.random.default_rng(1).uniform(0.1, 9, 300).round(2)
PLAIN = [f"{value:.2f}" for value in VALUES]
AMONG: dict[str, Any] = {
    "a dash": (lambda k, v: "-" if k in (3, 50) else v, {"na_values": ["-"]}),
    "words": (lambda k, v: "n.a." if k % 30 == 3 else v, {"na_values": {"dose": ["n.a."]}}),
    "a limit": (lambda k, v: "<0.1" if k == 3 else v, {"na_values": ["<0.1"]}),
    "infinity": (lambda k, v: "inf" if k == 3 else v, {"na_values": ["inf"]}),
    "a decimal comma": (lambda k, v: v.replace(".", ","), {"decimal": ","}),
    "thousands": (lambda k, v: f"{float(v) * 1234:,.2f}", {"thousands": ","}),
    "both, as in Europe": (
        lambda k, v: f"{float(v) * 1234:_.2f}".replace(".", ",").replace("_", "."),
        {"decimal": ",", "thousands": "."},
    ),
    "percent": (lambda k, v: f"{v}%", None),
    "a currency and thousands": (lambda k, v: f"{float(v) * 1234:,.2f} €", None),
    "a currency": (lambda k, v: f"€ {v}", None),
}  # fmt: skip


@pytest.mark.parametrize("among", AMONG)
@pytest.mark.parametrize("place", ["feature", "target"])
def test_text_among_numbers_is_named_with_what_helps(among, place, folder):
    write, settings = AMONG[among]
    values = [write(k, value) for k, value in enumerate(PLAIN)]
    spec = written(doses(values), target="label" if place == "feature" else "dose")
    with pytest.raises(ValueError, match=r"^t\.csv: dose: .*is no number; set ") as caught:
        simulate(spec, "objp", rounds=1, seeds=1)
    said = str(caught.value)
    odd = next(value for k, value in enumerate(values) if value != PLAIN[k])
    assert f"{odd!r} (row {values.index(odd) + 1}" in said
    assert "kinds: {dose: category}" in said
    assert all(f"{setting}: " in said for setting in settings or ())
    assert ("leave_out" in said) == (place == "feature")
    if settings is None:
        assert "without a sign" in said
        assert ("thousands: ','" in said) == ("thousands" in among)
        return
    missing = [k for k, value in enumerate(values) if value != PLAIN[k]]
    if "na_values" in settings:
        refused({**spec, **settings}, rf"values are missing: dose \({len(missing)}\)")
    data = load_dataset({**spec, **settings, "missing": "drop", "ranges": {"age": [0, 99]}})
    assert data.n_train + data.n_test == 300 - len(missing) * ("na_values" in settings)
    if place == "feature" and "na_values" not in settings:
        (folder / "plain.csv").write_text(doses(PLAIN))
        plain = load_dataset({**spec, "path": "plain.csv", "ranges": {"age": [0, 99]}})
        np.testing.assert_allclose(data.X_train, plain.X_train, atol=1e-4)


def test_signs_that_can_be_read_in_two_ways_are_shown_in_both(folder):
    spec = written(doses([f"{value * 12345:,.0f}" for value in VALUES]))
    refused(spec, r"thousands: ',' if '.*' is .*, or decimal: ',' if '")
    # A group of thousands has three digits, whatever pandas makes of it.
    (folder / "t.csv").write_text(doses(PLAIN))
    refused(
        {**spec, "decimal": ",", "thousands": "."},
        r"dose: 300 of 300 values, .* is no number; set decimal",
    )


def test_text_in_arrays_and_parquet_is_read_as_in_csv(folder):
    frame = pd.DataFrame({"age": np.arange(300) % 50, "dose": PLAIN, "label": ["a", "b"] * 150})
    frame.to_parquet("t.parquet")
    frame.to_csv("t.csv", index=False)
    spec = {"name": "table", "target": "label"}
    made = [load_dataset({**spec, "path": f"t.{end}"}) for end in ("csv", "parquet")]
    made.append(from_arrays((frame[["age", "dose"]], frame.label)))
    for other in made[1:]:
        np.testing.assert_array_equal(other.X_train, made[0].X_train)
    frame.loc[3, "dose"] = "-"
    with pytest.raises(ValueError, match=r"dose: 1 of 300 values, such as '-' \(row 4\)"):
        from_arrays((frame[["age", "dose"]], frame.label))
    kept = from_arrays((frame[["age", "dose"]], frame.label), na_values=["-"], missing="impute")
    assert kept.n_features == 3


def test_a_categorical_has_categories_whatever_they_look_like():
    frame = pd.DataFrame({"age": np.arange(60) % 9, "grade": pd.Categorical(["1", "2", "3"] * 20)})
    assert from_arrays((frame, CLASSES)).n_features == 1 + 3 + 1
    assert from_arrays((frame[["age"]], frame.grade)).class_names == ("1", "2", "3")


def test_categories_that_look_like_numbers_stay_such_in_a_file(folder):
    frame = pd.DataFrame({"age": np.arange(60) % 9, "grade": pd.Categorical([1.0, 2, 3] * 20)})
    wanted = from_arrays((frame, CLASSES))
    found = load_dataset(write_arrays((frame, CLASSES), None, folder))
    np.testing.assert_array_equal(found.X_train, wanted.X_train)
    assert found.attributes["grade"].values == wanted.attributes["grade"].values
    # What is left out there is no category here.
    frame["code"] = pd.Categorical(range(60))
    assert write_arrays((frame, CLASSES), None, folder)["kinds"] == {"grade": "category"}


def test_false_is_no_number_that_stands_for_a_missing_value(folder):
    spec = written(sites([0, 1]), group="site", na_values=[False])
    assert describe(spec).attributes == {"site": 2}
    frame = pd.DataFrame({"zero": np.arange(60) % 4, "y": CLASSES})
    assert from_arrays((frame[["zero"]], frame.y), na_values=[False]).n_train == 48


def test_numbers_may_stand_for_missing_values(folder):
    frame = sites(["a", "b"]).assign(
        bmi=np.where(np.arange(120) % 40 == 3, -9, np.arange(120) % 30)
    )
    spec = written(frame, group="site")
    for values in ([-9], [-9.0], ["-9"], {"bmi": [-9], "age": [1000]}):
        refused({**spec, "na_values": values}, r"values are missing: bmi \(3\)")
    sites([*LONG, -9]).astype({"site": int}).to_parquet("t.parquet")
    info = describe({**spec, "path": "t.parquet", "na_values": [-9], "missing": "drop"})
    assert info.attributes == {"site": 5}


def test_few_words_beside_few_numbers_are_categories(folder):
    spec = written(doses(["1", "2", "3", "none"] * 75))
    assert describe(spec).n_features == 1 + 4 + 1
    (folder / "t.csv").write_text(doses([v if k % 3 else "-" for k, v in enumerate(PLAIN)]))
    refused(spec, r"dose: 100 of 300 values, such as '-' \(row 1, 4, 7\)")


def test_dates_with_a_gap_are_dates(folder):
    days = pd.date_range("2020-01-01", periods=300).strftime("%d.%m.%Y").tolist()
    days[3] = "-"
    assert "left out: dose (dates)" in describe(written(doses(days))).summary


# Words that may be missing values


def test_words_are_classes_of_the_target(folder):
    words = ["None", "NA", "nan", "null", "?"]
    spec = written(doses(words * 60), target="dose")
    assert sorted(describe(spec).class_names) == sorted(words)
    refused({**spec, "na_values": ["?"]}, r"values are missing: dose \(60\); .*dropna: \[dose\]")
    stated = {"categories": {"dose": words[::-1]}}
    assert describe({**spec, **stated}).class_names == tuple(words[::-1])


def test_words_are_missing_elsewhere_unless_they_are_stated(folder):
    spec = written(doses(["NA", "DE", "FR"] * 100))
    refused(spec, r"missing: dose \(100\); .*; NA in text is missing unless keep_default_na: false")
    for settings in ({"categories": {"dose": ["DE", "NA", "FR"]}}, {"keep_default_na": False}):
        assert describe({**spec, **settings}).n_features == 1 + 3 + 1
    (folder / "two.csv").write_text(doses(["NA", "DE"] * 150))  # no column of one value
    refused({**spec, "path": "two.csv"}, r"missing: dose \(150\); .*; NA in text is missing unless")
    left = describe({**spec, "path": "two.csv", "missing": "drop"})
    assert left.n_train + left.n_test == 300
    dropped = describe({**spec, "missing": "drop"})
    assert "records dropped, as values are missing: 100" in dropped.summary


@pytest.mark.parametrize(
    ("others", "columns"),
    [(["stone", "Gar2", "1 brick"], 4), (["yes", "yes", "yes"], 2), (["stone", "stone", ""], 2)],
)
def test_none_is_a_category_beside_other_ones(folder, others, columns):
    spec = written(doses(["None", *others] * 75))
    info = describe({**spec, "missing": "impute"})
    assert info.n_features == 1 + columns + 1
    gaps = [line for line in info.summary if "missing" in line]
    assert gaps == ["missing values, imputed: dose (75)"] * ("" in others)


@pytest.mark.parametrize(
    ("others", "more"),
    [
        (["1.5", "2.5", "3.5"], {}),
        (["2020-01-01", "2020-01-02", "2020-02-01"], {}),
        (["stone", "wood", "brick"], {"na_values": ["None"]}),
        (["stone", "wood", "brick"], {"categories": {"dose": ["stone", "wood", "brick"]}}),
    ],
)
def test_none_is_missing_among_numbers_and_dates_or_if_stated(folder, others, more):
    spec = written(doses(["None", *others] * 75))
    info = describe({**spec, **more, "missing": "impute"})
    dates = "left out: dose (dates)" in info.summary
    assert dates or "missing values, imputed: dose (75)" in info.summary


def test_pandas_takes_the_same_words_for_missing_values():
    words = [*_table_columns._EMPTY - {"?"}, "a", "-"]
    read = pd.read_csv(io.StringIO("word,n\n" + "".join(f"{word},1\n" for word in words)))
    assert read.word.isna().tolist() == [word not in ("a", "-") for word in words]


def test_records_without_a_target_can_be_dropped_while_features_are_imputed(table):
    frame = patients()
    frame.loc[[3, 4], "bmi"] = np.nan
    frame.loc[[4, 7], "label"] = None
    written(frame, "patients.csv")
    refused(table, r"dropna: \[label\] .* and missing: impute for the others")
    info = describe({**table, "dropna": ["label"], "missing": "impute"})
    assert info.n_train + info.n_test == 118
    assert {"records dropped, as values are missing: 2", "missing values, imputed: bmi (1)"} < {
        *info.summary
    }
    refused({**table, "dropna": ["label"]}, r"values are missing: bmi \(1\)")


def test_records_are_dropped_by_a_column_that_is_left_out(table):
    frame = patients()
    frame.loc[[3, 4], "admitted"] = None
    written(frame, "patients.csv")
    spec = {**table, "dropna": ["admitted"], "kinds": {"admitted": "leave_out"}}
    info = describe(spec)
    assert info.n_train + info.n_test == 118
    assert "left out: patient id (another number in each row); admitted (as asked)" in summary(spec)
    frame["scan"] = [None if k in (5, 6, 7) else [k, 1] for k in range(120)]
    frame.to_parquet("patients.parquet")
    kinds = {"admitted": "leave_out", "scan": "leave_out"}
    lists = {**spec, "path": "patients.parquet", "kinds": kinds, "dropna": ["admitted", "scan"]}
    info = describe(lists)
    assert info.n_train + info.n_test == 115
    frame["admitted"] = None
    written(frame, "patients.csv")
    refused(spec, r"dropna: \[admitted\] leaves .*: admitted \(120\)$")


def test_classes_of_a_bunch_without_a_record_are_left_out():
    names = ["none", "no", "yes"]
    bunch = {"data": MASKED["numbers"], "target": CLASSES + 1, "target_names": names}
    assert from_arrays(bunch).class_names == ("no", "yes")


# Other formats

ROWS = "".join(f"{n % 20},{'ab'[n % 2]},{n % 3}\n" for n in range(60))
USUAL = f"age,label,dose\n{ROWS}"
SAME = {
    **{f"by {sign!r}": USUAL.replace(",", sign) for sign in ";\t| "},
    "behind an empty line": f"\n{USUAL}",
    # Blanks behind all separators belong to these.
    "with blanks": USUAL.replace(",", ", "),
    # A separator at the end of a record is no field.
    "with ends": "age,label,dose\n" + ROWS.replace("\n", ",\n"),
    "with a quoted name": '"age, in years";label;dose\n' + ROWS.replace(",", ";"),
}


@pytest.mark.parametrize("spelling", SAME)
def test_a_table_is_the_same_however_its_fields_are_separated(spelling, folder):
    usual = load_dataset(written(USUAL))
    found = load_dataset(written(SAME[spelling], "other.csv"))
    same(found, usual)
    assert found.class_names == usual.class_names == ("a", "b")


def test_fields_without_a_name_are_refused(folder):
    """Pandas would take the first column for names of rows, and say nothing."""
    text = "age,label,dose\n" + ROWS.replace("\n", ",1\n")
    refused(written(text), r"t\.csv: .*more fields than the first line has names")


def test_compressed_tables_are_read_and_archives_are_refused(table, folder):
    content = (folder / "patients.csv").read_bytes()
    for end, compress in (("gz", gzip.compress), ("xz", lzma.compress), ("bz2", bz2.compress)):
        (folder / f"t.csv.{end}").write_bytes(compress(content))
        same(load_dataset({**table, "path": f"t.csv.{end}"}), load_dataset(table))
    (folder / "t.csv.zip").write_bytes(b"PK")
    refused({**table, "path": "t.csv.zip"}, r"\.zip files are not unpacked; unpack it, or compress")


def test_a_folder_has_the_parts_of_a_table_and_perhaps_other_files(table, folder):
    (folder / "parts").mkdir()
    for name in ("README.txt", "LICENSE.txt", "notes.md", "old.txt.gz", "_SUCCESS"):
        (folder / "parts" / name).write_text("what this is\n")
    parts = {**table, "path": "parts"}
    refused(parts, r"^dataset\.path: the folder 'parts' has neither")
    frame, wanted = patients(), load_dataset(table)
    frame[:60].to_csv("parts/a.csv", index=False)
    frame[60:].to_csv("parts/b.tsv.gz", index=False, sep="\t")
    same(load_dataset(parts), wanted)
    assert [*load_dataset(parts).checksums] == ["table a.csv", "table b.tsv.gz"]
    for number in range(2):
        part = frame[60 * number : 60 * number + 60]
        part.to_parquet(f"parts/x{number}.parquet", index=False)
    refused(parts, r"several formats, parquet, csv; .* or state its format")
    other = frame.rename(columns={"bmi": "BMI"})
    for kind in ("csv", "parquet"):
        same(load_dataset({**parts, "format": kind}), wanted)
        getattr(other, f"to_{kind}")(f"parts/y.{kind}", index=False)
        refused({**parts, "format": kind}, "not all files of the folder have the column BMI")
    for spec in ({"path": "parts", "format": "leaf", "target": ""}, {"test": "parts/../empty"}):
        (folder / "empty").mkdir(exist_ok=True)
        key = "test" if "test" in spec else "path"
        refused({**table, **spec}, rf"^dataset\.{key}: the folder .* of format")


def test_files_without_names_are_given_some(table, folder):
    frame = patients()[["age", "bmi", "label"]]
    frame.to_csv("t.csv", index=False)
    frame.to_csv("u.csv", index=False, header=False)
    spec = {"name": "table", "path": "u.csv", "target": "label"}
    refused(spec, r"unknown column 'label' .* is a record, state names: ")
    refused({**spec, "target": ""}, r"target: .*; if the first line is a record, state names")
    (folder / "same.csv").write_text("5,1,1\n3,1,2\n")
    refused({**spec, "path": "same.csv"}, r"have the name 1; .* is a record, state names: ")
    named = {**spec, "names": ["age", "bmi", "label"]}
    wanted = load_dataset({**spec, "path": "t.csv"})
    np.testing.assert_array_equal(load_dataset(named).X_train, wanted.X_train)
    refused({**named, "names": ["age", "label"]}, "names: 2 names for 3 columns; name every column")
    frame.to_parquet("u.parquet")
    refused({**named, "path": "u.parquet"}, r"dataset\.names: parquet files have their own")


def test_features_that_do_not_fit_in_memory_are_refused(folder):
    n = 2**15 + 1
    rows = "".join(f"{k % 2} {k % 9 + 1}:1 {n - 1}:1\n" for k in range(n))
    (folder / "t.svm").write_text(rows)
    spec = {"name": "table", "path": "t.svm"}
    refused(spec, r"32,769 records of 32,769 features .*; 10 features")
    X = sparse.csr_array(([1.0], ([0], [n - 1])), shape=(n, n))
    with pytest.raises(ValueError, match=r"32,769 records of 32,769 features .*; 1 features"):
        from_arrays((X, np.arange(n) % 2))


def leaf_content(rows=6, targets=6, samples=6, names="uvw", classes=2, **changes):
    """A LEAF file of some users, each with these counts."""
    rng = np.random.default_rng(0)
    data = {
        name: {"x": rng.random((rows, 4)).tolist(), "y": rng.integers(0, classes, targets).tolist()}
        for name in names
    }
    counts = {"users": [*names], "num_samples": [samples] * len(names)}
    return {**counts, "user_data": data} | changes


LEAF_FAULTS = {
    "few rows": (leaf_content(targets=8, samples=8), "'u' differ in number: 6 in x, 8 in y, 8 in"),
    "many rows": (leaf_content(rows=12), "user 'u' differ in number: 12 in x, 6 in y, 6 in num"),
    "other number": (leaf_content(samples=7), "differ in number: 6 in x, 6 in y, 7 in num_samples"),
    "few numbers": (leaf_content(num_samples=[6]), "num_samples has 1 numbers for 3 users"),
    "unlisted": (
        leaf_content(users=["u", "v"], num_samples=[6, 6]),
        "users lacks 'w' of user_data",
    ),
    "no data": (leaf_content(users=["u", "v", "x"]), "users lacks 'w' of user_data"),
    "only listed": (leaf_content(users=[*"uvwx"], num_samples=[6] * 4), "it has no 'x'"),
}


@pytest.mark.parametrize("fault", LEAF_FAULTS)
@pytest.mark.parametrize("part", ["", "train", "test"])
def test_leaf_files_whose_counts_or_users_differ_are_refused(fault, part, folder):
    content, message = LEAF_FAULTS[fault]
    path = "x.json"
    if part:
        path = "leaf"
        for each in ("train", "test"):
            (folder / path / each).mkdir(parents=True)
            (folder / path / each / "x.json").write_text(json.dumps(leaf_content()))
        (folder / path / part / "x.json").write_text(json.dumps(content))
    else:
        (folder / path).write_text(json.dumps(content))
    refused({"name": "table", "path": path}, message)


def test_libsvm_files_have_features_by_number(folder):
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 2, (60, 5)), rng.choice([-1, 1], 60)
    dump_svmlight_file(X[:40], y[:40], "a.svm", zero_based=False)
    dump_svmlight_file(X[40:, :4], y[40:], "b.svm", zero_based=False)
    marked = Path("a.svm").read_text()
    Path("a.svm").write_text(marked, "utf-8-sig")  # the mark belongs to no number
    spec = {"name": "table", "path": "a.svm", "test": "b.svm", "ranges": [0, 1]}
    data = load_dataset(spec)
    np.testing.assert_array_equal(data.X_train[:, :-1], X[:40])
    np.testing.assert_array_equal(data.X_test[:, :4], X[40:, :4])
    assert data.class_names == ("-1", "1")
    np.testing.assert_array_equal(data.y_test, y[40:] > 0)
    assert normalize(normalize(spec)) == normalize(spec)
    refused({**spec, "target": "y"}, "libsvm files have a place for it")


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("x.csv.xz", lzma.compress(b"a,b\n1,2\n")[:-9], "Compressed file ended"),
        ("x.csv.xz", b"a,b\n1,2\n", "not supported"),
        ("x.csv.gz", b"a,b\n1,2\n", "Not a gzipped file"),
        ("x.csv.bz2", b"a,b\n1,2\n", "Invalid data stream"),
        ("x.svm", b"1 99999999999:1\n", "too large"),
        ("x.json", b"[" * 100_000, "recursion"),
        ("x.json", b'{"users": ["u"], "user_data": {}}', "it has no 'u'"),
        ("x.json", b'{"users": ["u", "u"]}', "several users have the name u"),
        (
            "x.json",
            b'{"users": ["u"], "user_data": {"u": {"x": [[1]], "y": [1]}, "u": {"x": [[0]], "y": [0]}}}',
            "several keys have the name u",
        ),
    ],
)
def test_a_damaged_file_is_named(name, content, said, folder):
    (folder / name).write_bytes(content)
    target = {"target": "b"} if name.startswith("x.csv") else {}
    refused({"name": "table", "path": name, **target}, f"^{name}: cannot be read as .*{said}")


def test_leaf_folders_have_users(folder):
    (folder / "leaf").mkdir()
    for number, names in enumerate(("uv", "w")):
        content = leaf_content(30, 30, 30, names, classes=30)
        (folder / f"leaf/{number}.json").write_text(json.dumps(content))
    spec = {"name": "table", "path": "leaf", "ranges": [0, 1]}
    info = describe(spec)
    assert (info.n_train + info.n_test, info.n_features) == (90, 5)
    assert info.attributes == {"user": 3}
    assert info.default_problem == "softmax"
    assert simulate(spec, "objp", rounds=1, seeds=1).attrs["agents"] == 3
    numbers = normalize({**spec, "target_range": [0, 30]})
    assert describe(numbers).class_names == ()
    assert normalize(numbers) == numbers
    for part, file in (("train", "0.json"), ("test", "1.json")):
        (folder / "both" / part).mkdir(parents=True)
        shutil.copy(folder / "leaf" / file, folder / "both" / part)
    both = {**spec, "path": "both"}
    info = describe(both)
    assert (info.n_train, info.n_test) == (60, 30)
    assert normalize(normalize(both)) == normalize(both)
    refused({**both, "path": "."}, "neither")


class _Counted(str):
    """A name that counts how often it is compared or hashed."""

    __slots__ = ()
    asked = 0

    def __hash__(self):
        _Counted.asked += 1
        return super().__hash__()

    def __eq__(self, other):
        _Counted.asked += 1
        return super().__eq__(other)


def test_many_users_and_classes_take_no_longer_each(monkeypatch):
    """Comparisons are counted, and no time is measured."""
    n = 400
    names = [_Counted(f"u{k}") for k in range(n)]
    rows = {"x": [[1]], "y": [1]}
    content = {"users": names, "user_data": {_Counted(name): rows for name in names}}
    _Counted.asked = 0
    _table_files._check_users(content)
    assert _Counted.asked < 20 * n
    monkeypatch.setattr(_table_columns, "identifiers", lambda values: values)  # kept as they are
    values = pd.Series([*names, *names], dtype=object)
    _Counted.asked = 0
    given = _table_columns.Columns(target="y", kinds={"y": "category"})
    _, classes = _table_columns._targets(values, given)
    assert len(classes) == n
    assert _Counted.asked < 40 * n


def test_a_named_index_of_parquet_is_a_column(table):
    """As the file has it, whatever pandas makes of it; here the target, and a column of features."""
    frame = pd.read_csv("patients.csv")
    frame.set_index(["label", "age"]).to_parquet("patients.parquet")
    one, two = (load_dataset({**table, "path": f"patients.{end}"}) for end in ("csv", "parquet"))
    assert one.info.class_names == two.info.class_names
    assert one.X_train.shape == two.X_train.shape


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16"])
def test_a_file_that_is_not_in_utf_8_says_so(encoding, table):
    patients().assign(country="Curaçao").to_csv("patients.csv", encoding=encoding, index=False)
    refused(table, r"^patients\.csv: .* it is not in UTF-8; save it so$")


# Arrays


def test_arrays_frames_and_bunches_are_tables_too():
    X, y = load_iris(return_X_y=True)
    frame, series = load_iris(return_X_y=True, as_frame=True)
    made = [from_arrays(each) for each in ((X, y), (frame, series), load_iris())]
    for other in made[1:]:
        same(made[0], other)
    assert made[0].class_names == ("0", "1", "2")
    assert made[2].class_names == ("setosa", "versicolor", "virginica")
    groups = np.repeat(["a", "b"], 75)
    trace = simulate((X, y), "objp", groups=groups, epsilon=1.0, rounds=2, seeds=1)
    assert trace.attrs["agents"] == 2
    spec = RunSpec(dataset=made[0], algorithm="objp", epsilon=1.0, sensitivity="global")
    assert guarantee(spec).kind == "conditional"
    assert "ranges of x0, x1, x2, x3" in guarantee(spec).conditions


def test_series_are_matched_by_their_labels():
    """As scikit-learn's users expect of pandas, in whatever order a merge left the records."""
    frame, order = patients(), np.random.default_rng(1).permutation(120)
    X, y, groups = frame.drop(columns=["label", "hospital"]), frame.label, frame.hospital
    by_name = X.set_axis([f"p{n}" for n in range(120)])
    for usual, other in ((X, X), (by_name, by_name)):
        y, groups = y.set_axis(usual.index), groups.set_axis(usual.index)
        wanted = from_arrays((usual.iloc[order], y.iloc[order]), groups.iloc[order])
        for target, whose in ((y, groups), (y.iloc[::-1], groups), (y.iloc[order], groups)):
            made = from_arrays((other.iloc[order], target), whose)
            same(made, wanted)
            found, own = (each.attributes["hospital"] for each in (made, wanted))
            np.testing.assert_array_equal(found.train, own.train)
            np.testing.assert_array_equal(found.test, own.test)


def test_what_has_no_labels_is_matched_by_place():
    frame, labels = patients(), np.arange(120)[::-1]
    X, y = frame.drop(columns="label"), frame.label
    for pair in (
        (X, y.to_numpy()),
        (X.set_axis(labels), y.set_axis(labels)),
        (X.set_axis(["p"] * 120), y.set_axis(["p"] * 120)),  # the same labels in the same order
    ):
        np.testing.assert_array_equal(from_arrays(pair).y_train, from_arrays((X, y)).y_train)
    array = X[["age", "bmi"]].to_numpy()
    made, wanted = (from_arrays((array, each)) for each in (y.set_axis(labels), y.to_numpy()))
    np.testing.assert_array_equal(made.y_train, wanted.y_train)
    # Beside an array, groups are matched with the targets.
    made = from_arrays((array[::-1], y[::-1]), X.hospital)
    wanted = from_arrays((array[::-1], y[::-1]), X.hospital[::-1])
    own, found = (each.attributes["hospital"].train for each in (wanted, made))
    np.testing.assert_array_equal(found, own)


LABELS = np.arange(60)


@pytest.mark.parametrize(
    ("labels", "why"),
    [
        (LABELS + 1, "it has no label 0,"),
        (LABELS.astype(str), "it has no label 0,"),
        ([*LABELS[:-1], 0], "several have the label 0,"),
    ],
)
@pytest.mark.parametrize("which", ["dataset: y", "groups"])
def test_series_with_other_labels_are_refused(which, labels, why):
    X, y = pd.DataFrame(MASKED["numbers"]), pd.Series(CLASSES)
    other = y.set_axis(labels)
    pair, groups = ((X, y), other) if which == "groups" else ((X, other), None)
    with pytest.raises(ValueError, match=f"^{which}: its index differs from .* and {why} so that"):
        simulate(pair, "admm", groups=groups, rounds=1)
    with pytest.raises(ValueError, match="several have the label"):
        from_arrays((X.set_axis([*LABELS[:-1], 0]), y))


MASK = np.zeros((60, 2), bool)
MASK[3, 1] = True
MASKED = {
    "numbers": np.random.default_rng(0).random((60, 2)),
    "whole numbers": np.random.default_rng(0).integers(0, 9, (60, 2)),
    "text": np.random.default_rng(0).choice(["a", "b"], (60, 2)),
    "true and false": np.random.default_rng(0).random((60, 2)) < 0.5,
    "objects": np.random.default_rng(0).integers(0, 9, (60, 2)).astype(object),
}
CLASSES = np.arange(60) % 2


@pytest.mark.parametrize("kind", MASKED)
def test_what_is_masked_is_missing(kind):
    X = np.ma.masked_array(MASKED[kind], MASK)
    as_none = pd.DataFrame(MASKED[kind], columns=["x0", "x1"]).astype(object).mask(MASK, None)
    as_none = as_none.infer_objects() if kind == "text" else as_none
    for data in (X, list(X)):
        with pytest.raises(ValueError, match=r"values are missing: x1 \(1\); set missing: impute"):
            simulate((data, CLASSES), "objp", rounds=1)
    for how in ("drop", "impute"):
        made, wanted = (from_arrays((each, CLASSES), missing=how) for each in (X, as_none))
        same(made, wanted)
    # Nothing is masked
    made, wanted = (from_arrays((each, CLASSES)) for each in (np.ma.array(MASKED[kind]), X.data))
    np.testing.assert_array_equal(made.X_train, wanted.X_train)


@pytest.mark.parametrize("values", [CLASSES, CLASSES / 3, CLASSES.astype(str)])
def test_masked_targets_and_groups_are_missing(values):
    X, masked = MASKED["numbers"], np.ma.masked_array(values, MASK[:, 1])
    bunch = {"data": X, "target": masked, "target_names": ["no", "yes"]}
    for data, groups, name in (
        ((X, masked), None, "target"),
        (bunch, None, "target"),
        ((X, CLASSES), masked, "group"),
    ):
        with pytest.raises(ValueError, match=rf"values are missing: {name} \(1\)"):
            simulate(data, "objp", groups=groups, rounds=1)


def test_the_values_of_a_frame_are_what_the_frame_is():
    frame = patients().drop(columns="label")
    frame["nights"] = pd.array([1, 2, None] * 40, dtype="Int64")
    frame["visit"] = pd.date_range("2020-01-01", periods=120)
    y = patients().age / 7
    first, second = (
        from_arrays((X, target), missing="impute")
        for X, target in ((frame, y), (frame.to_numpy(), y.to_numpy(object)))
    )
    assert first.class_names == ()
    same(first, second)


@pytest.mark.parametrize(
    ("data", "groups", "message"),
    [
        ((np.ones((3, 2)), [0, 1]), None, r"y has shape \(2,\), expected \(3,\)"),
        ((np.ones(3), [0, 1, 1]), None, r"features have shape \(3,\), expected \(n, J\)"),
        ((np.random.default_rng(0).random((3, 2)), [0, 1, 1]), [0], r"groups has shape \(1,\)"),
        (np.ones((3, 2)), None, r"a pair \(X, y\) or a Bunch"),
        ("digits", [0], "groups: are for arrays"),
        ((MASKED["numbers"] + 1j, CLASSES), None, "^complex numbers in x0, x1: "),
        ((MASKED["numbers"].astype(object) + 1j, CLASSES), None, "^complex numbers in x0, x1: "),
        ((MASKED["numbers"], CLASSES + 1j), None, "^complex numbers in target: "),
        (
            (pd.DataFrame(MASKED["numbers"], columns=[1, "1"]), CLASSES),
            None,
            "^several columns have the name 1; ",
        ),
    ],
)
def test_arrays_that_do_not_fit_are_refused(data, groups, message):
    with pytest.raises(ValueError, match=message):
        simulate(data, "objp", groups=groups, rounds=1)


def test_one_of_something_is_no_plural(folder):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.integers(20, 90, 60), "site": "north"})
    frame["label"] = np.where(frame.age > 50, "yes", "no")
    text = summary(written(frame, group="site"))
    assert "\n1 number, scaled from its range: age [" in text
    assert "group site: 1 value with 48 training records" in text
