"""Tables of users: from a file to arrays, and what a run on them says."""

import json
import lzma
import shutil

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import dump_svmlight_file, load_diabetes, load_iris

from admmbench import load_dataset, simulate
from admmbench.cli import main
from admmbench.contracts.datasets import of_dataset
from admmbench.datasets import DatasetError, describe, key, normalize, open_as, prepare
from admmbench.datasets.table import from_arrays
from admmbench.engine.spec import RunSpec
from admmbench.study.address import Address, dataset_folder
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


STATED: dict[str, dict] = {
    "ranges": {"age": [0, 120], "bmi": [5, 80]},
    "categories": {"ward": ["a", "b", "c"], "smokes": [False, True], "label": ["no", "yes"]},
    "kinds": dict.fromkeys(("patient id", "admitted", "country"), "leave_out"),
}


def test_a_table_keeps_the_contracts_of_data_sets(table):
    for check in of_dataset(table):
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
    text = "\n".join(describe(table).summary)
    for words in (
        "patient id (another number in each row)",
        "admitted (dates)",
        "country (one value)",
        "a column of ones, as models have no intercept",
        "group hospital: 3 values",
        "'no' (",
        "ward (3)",
    ):
        assert words in text


def test_rows_are_those_of_the_file(folder):
    frame = patients()[["age", "ward", "label"]]
    frame["part"] = np.where(np.arange(120) < 80, "train", "test")
    frame.to_csv("t.csv", index=False)
    data = load_dataset(
        {"name": "table", "path": "t.csv", "target": "label", "test": {"part": "test"}}
    )
    train, test = frame[:80], frame[80:]
    low, high = train.age.min(), train.age.max()
    for X, y, part in ((data.X_train, data.y_train, train), (data.X_test, data.y_test, test)):
        np.testing.assert_allclose(X[:, 0], ((part.age - low) / (high - low)).clip(0, 1), rtol=1e-6)
        wards = np.stack([part.ward == each for each in "abc"], axis=1)
        np.testing.assert_array_equal(X[:, 1:4], wards)
        np.testing.assert_array_equal(y, part.label == "yes")
    frame[:80].drop(columns="part").to_csv("one.csv", index=False)
    frame[80:].drop(columns="part").to_csv("two.csv", index=False)
    second = load_dataset(
        {"name": "table", "path": "one.csv", "test": "two.csv", "target": "label"}
    )
    np.testing.assert_array_equal(second.X_test, data.X_test)
    np.testing.assert_array_equal(second.X_train, data.X_train)


def test_the_seed_of_a_table_draws_its_test_part(table):
    first, again, other = (load_dataset({**table, "seed": seed}) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first.X_test, again.X_test)
    assert not np.array_equal(first.X_test, other.X_test)


def test_content_is_the_identity_and_not_the_place(table, folder):
    def address(spec):
        return str(Address.of(RunSpec(dataset=spec, algorithm="objp", epsilon=1.0, seeds=2)))

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
    def guarantee(spec):
        return RunSpec(dataset=spec, algorithm="objp", epsilon=1.0, sensitivity="global").guarantee

    found = guarantee(table)
    assert found.kind == "conditional"
    for words in (
        "ranges of age, bmi",
        "categories of smokes, ward",
        "classes of label",
        "country",
    ):
        assert words in found.conditions
    assert guarantee({**table, **STATED}).kind == "proved"
    assert guarantee(load_dataset({**table, **STATED})).kind == "proved"
    assert guarantee(load_dataset(table)).kind == "conditional"
    for part in STATED:
        assert guarantee({**table, **STATED, part: {}}).kind == "conditional"


def test_a_stated_range_clips_and_a_stated_column_stays(table):
    data = load_dataset({**table, **STATED, "ranges": {"age": [30, 60], "bmi": [5, 80]}})
    assert ((data.X_train[:, 0] == 0).mean(), (data.X_train[:, 0] == 1).mean()) > (0.1, 0.1)
    assert "clipped: age (" in "\n".join(describe(data.settings | {"name": "table"}).summary)
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
    frame = pd.DataFrame({**columns, "label": n // 3 % 2}).astype(str)
    frame.to_csv("x.csv", index=False)
    kinds = dict.fromkeys(columns, "category")
    spec = {"name": "table", "path": "x.csv", "target": "label", "kinds": kinds}
    assert describe(spec).attributes == {"a_b": 2, "c_d": 6}
    assert describe({**spec, "group": "a b"}).attributes == {"a_b": 4, "c_d": 6}
    assert describe({**spec, "group": "ü"}).attributes == {"_": 5, "a_b": 2, "c_d": 6}


def test_groups_may_have_one_class_few_rows_or_none_in_a_part(folder):
    frame = patients()
    frame.loc[frame.hospital == "south", "label"] = "no"
    frame.loc[0, "hospital"] = "tiny"
    frame["part"] = np.where(frame.hospital == "north", "test", "train")
    frame.to_csv("t.csv", index=False)
    spec = {"name": "table", "path": "t.csv", "target": "label", "group": "hospital"}
    text = "\n".join(describe({**spec, "test": {"part": "test"}}).summary)
    assert "no training record: north" in text
    assert "no test record: east, south, tiny" in text
    assert "one class:" in text
    trace = simulate({**spec, "test": {"part": "test"}}, "objp", epsilon=1.0, rounds=3, seeds=1)
    assert trace.attrs["agents"] == 4
    assert np.isfinite(trace.test_error.values).all()


def test_missing_values_are_refused_dropped_or_imputed(table):
    frame = patients()
    frame.loc[[3, 4], "bmi"] = np.nan
    frame.loc[5, "ward"] = "?"
    frame.to_csv("patients.csv", index=False)
    with pytest.raises(ValueError, match=r"missing: bmi \(2\), ward \(1\); set missing: impute or"):
        describe(table)
    dropped, imputed = (load_dataset({**table, "missing": how}) for how in ("drop", "impute"))
    assert dropped.n_train + dropped.n_test == 117
    assert imputed.n_train + imputed.n_test == 120
    both = np.vstack([imputed.X_train, imputed.X_test])
    assert (both[:, 4:7].sum(axis=1) == 0).sum() == 1
    stated = load_dataset({**table, **STATED, "missing": "impute"})
    assert (np.vstack([stated.X_train, stated.X_test])[:, 1] == 0.5).sum() >= 2
    frame.loc[7, "label"] = None
    frame.to_csv("patients.csv", index=False)
    with pytest.raises(ValueError, match=r"label \(1\); set missing: drop"):
        describe({**table, "missing": "impute"})


def test_numbers_are_a_regression(folder):
    bunch = load_diabetes(as_frame=True, scaled=False)
    bunch.frame.to_csv("d.csv", index=False)
    spec = {"name": "table", "path": "d.csv", "target": "target"}
    assert describe(spec).default_problem == "squared"
    assert describe(spec).class_names == ()
    trace = simulate(spec, "admm", agents=3, rounds=80, seeds=1)
    assert 45 < trace.test_rmse.values[0, -1] < 65
    assert describe({**spec, "kinds": {"sex": "category"}}).n_features == 12


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
    "format": ({"format": "leaf", "target": ""}, "patients.csv: cannot be read as leaf"),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_what_is_wrong_is_said_in_a_line_that_names_it(fault, table):
    wrong, message = FAULTS[fault]
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        checked(RunSpec, {"dataset": {**table, **wrong}, "algorithm": "objp"}, "")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


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


def test_the_file_of_a_test_part_without_records_is_named(table):
    patients()[:0].to_csv("test.csv", index=False)
    with pytest.raises(ValueError, match=r"^test\.csv: there are no records"):
        describe({**table, "test": "test.csv"})


def test_records_with_missing_values_cannot_all_be_dropped(table):
    frame = patients()
    frame.loc[::2, "bmi"] = None
    frame.loc[1::2, "age"] = None
    frame.to_csv("patients.csv", index=False)
    with pytest.raises(ValueError, match=r"drop leaves no record, .*: age \(60\), bmi \(60\)$"):
        describe({**table, "missing": "drop"})


@pytest.mark.parametrize(
    ("value", "what"), [([1, 2], "lists or mappings"), ({"a": 1}, "lists or mappings")]
)
@pytest.mark.parametrize("column", ["scan", "hospital", "label"])
def test_a_column_of_lists_is_named_and_can_be_left_out(column, value, what, table):
    frame = patients().assign(**{column: [value] * 120})
    frame.to_parquet("patients.parquet")
    spec = {**table, "path": "patients.parquet"}
    with pytest.raises(ValueError, match=f"^patients.parquet: {what} in {column}: expected") as no:
        describe(spec)
    assert ("leave_out" in str(no.value)) == (column == "scan")
    if column == "scan":
        left = load_dataset({**spec, "kinds": {column: "leave_out"}})
        np.testing.assert_array_equal(left.X_train, load_dataset(table).X_train)


@pytest.mark.parametrize("part", ["first", "second"])
def test_columns_of_one_name_are_refused(part, table):
    frame = patients().rename(columns={"bmi": "age"})
    other = patients()
    (frame if part == "first" else other).to_csv("patients.csv", index=False)
    (other if part == "first" else frame).to_csv("test.csv", index=False)
    with pytest.raises(ValueError, match="several columns have the name age; rename all but one"):
        describe({**table, "test": "test.csv"})


def test_columns_without_a_name_are_not_of_one_name(folder):
    patients().rename(columns={"age": "", "bmi": ""}).to_csv("t.csv", index=False)
    assert describe({"name": "table", "path": "t.csv", "target": "label"}).n_features > 5


def test_a_name_of_a_column_that_no_result_can_have_is_refused(table):
    patients().rename(columns={"bmi": "b\0mi"}).to_csv("patients.csv", index=False)
    with pytest.raises(ValueError, match=r"'b\\x00mi' has the character 0x0000") as caught:
        describe(table)
    assert str(caught.value).startswith("patients.csv: columns.2: ")


# Other formats


def leaf_content(rows=6, targets=6, samples=6, **changes):
    """A LEAF file of three users, each with these counts."""
    rng = np.random.default_rng(0)
    users = ["u", "v", "w"]
    data = {
        user: {"x": rng.random((rows, 4)).tolist(), "y": rng.integers(0, 2, targets).tolist()}
        for user in users
    }
    return {"users": users, "num_samples": [samples] * 3, "user_data": data} | changes


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
    with pytest.raises(ValueError, match=message):
        describe({"name": "table", "path": path})


def test_libsvm_files_have_features_by_number(folder):
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 2, (60, 5)), rng.choice([-1, 1], 60)
    dump_svmlight_file(X[:40], y[:40], "a.svm", zero_based=False)
    dump_svmlight_file(X[40:, :4], y[40:], "b.svm", zero_based=False)
    spec = {"name": "table", "path": "a.svm", "test": "b.svm", "ranges": [0, 1]}
    data = load_dataset(spec)
    np.testing.assert_array_equal(data.X_train[:, :-1], X[:40])
    np.testing.assert_array_equal(data.X_test[:, :4], X[40:, :4])
    assert data.class_names == ("-1", "1")
    np.testing.assert_array_equal(data.y_test, y[40:] > 0)
    assert normalize(normalize(spec)) == normalize(spec)
    with pytest.raises(ValueError, match="libsvm files have a place for it"):
        normalize({**spec, "target": "y"})


def test_a_mark_of_utf_8_belongs_to_no_number(folder):
    rows = "".join(f"{n % 2} 1:{n}\n" for n in range(20))
    for name, encoding in (("a.svm", "utf-8"), ("b.svm", "utf-8-sig")):
        (folder / name).write_text(rows, encoding)
    one, other = (load_dataset({"name": "table", "path": name}) for name in ("a.svm", "b.svm"))
    np.testing.assert_array_equal(one.X_train, other.X_train)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("x.csv.xz", lzma.compress(b"a,b\n1,2\n")[:-9], "Compressed file ended"),
        ("x.csv.xz", b"a,b\n1,2\n", "not supported"),
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
    with pytest.raises(ValueError, match=f"^{name}: cannot be read as .*{said}"):
        describe({"name": "table", "path": name, **target})


def test_leaf_folders_have_users(folder):
    rng = np.random.default_rng(0)
    for number, users in enumerate((["u", "v"], ["w"])):
        content = {
            "users": users,
            "num_samples": [30] * len(users),
            "user_data": {
                user: {
                    "x": rng.random((30, 6)).tolist(),
                    "y": rng.integers(0, 30, 30).tolist(),
                }
                for user in users
            },
        }
        (folder / "leaf").mkdir(exist_ok=True)
        (folder / f"leaf/{number}.json").write_text(json.dumps(content))
    spec = {"name": "table", "path": "leaf", "ranges": [0, 1]}
    info = describe(spec)
    assert (info.n_train + info.n_test, info.n_features) == (90, 7)
    assert info.attributes == {"user": 3}
    assert info.default_problem == "softmax"
    assert simulate(spec, "objp", rounds=1, seeds=1).attrs["agents"] == 3
    for part, file in (("train", "0.json"), ("test", "1.json")):
        (folder / "both" / part).mkdir(parents=True)
        shutil.copy(folder / "leaf" / file, folder / "both" / part)
    both = {**spec, "path": "both"}
    info = describe(both)
    assert (info.n_train, info.n_test) == (60, 30)
    assert normalize(normalize(both)) == normalize(both)
    with pytest.raises(ValueError, match="neither"):
        normalize({**both, "path": "."})


def test_fields_without_a_name_are_refused(folder):
    """Pandas would take the first column for names of rows, and say nothing."""
    given = {"name": "table", "path": "ends.csv", "target": "y"}
    rows = [f"{k % 5},{k % 2},\n" for k in range(40)]  # a separator at the end is no field
    (folder / "ends.csv").write_text("a,y\n" + "".join(rows))
    (folder / "usual.csv").write_text("a,y\n" + "".join(rows).replace(",\n", "\n"))
    usual = load_dataset({**given, "path": "usual.csv"})
    np.testing.assert_array_equal(load_dataset(given).X_train, usual.X_train)
    (folder / "more.csv").write_text("a,y\n" + "".join(rows).replace(",\n", ",1\n"))
    with pytest.raises(ValueError, match=r"more\.csv: .*more fields than the first line has names"):
        load_dataset({"name": "table", "path": "more.csv", "target": "y"})


def test_a_named_index_of_parquet_is_a_column(table):
    """As the file has it, whatever pandas makes of it; here the target, and a column of features."""
    frame = pd.read_csv("patients.csv")
    frame.set_index(["label", "age"]).to_parquet("patients.parquet")
    one, two = (load_dataset({**table, "path": f"patients.{end}"}) for end in ("csv", "parquet"))
    assert one.info.class_names == two.info.class_names
    assert one.X_train.shape == two.X_train.shape


def test_a_separator_in_a_quoted_name_is_none(folder):
    rows = "".join(f"{n};{n % 7};{'ab'[n % 2]}\n" for n in range(20))
    (folder / "x.csv").write_text('"weight, kg";"age, years, at first";label\n' + rows)
    found = load_dataset({"name": "table", "path": "x.csv", "target": "label"})
    assert found.info.class_names == ("a", "b")


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16"])
def test_a_file_that_is_not_in_utf_8_says_so(encoding, table):
    patients().assign(country="Curaçao").to_csv("patients.csv", encoding=encoding, index=False)
    with pytest.raises(ValueError, match=r"^patients\.csv: .* it is not in UTF-8; save it so$"):
        describe(table)


def test_parquet_is_as_csv(table):
    pd.read_csv("patients.csv").to_parquet("patients.parquet")
    one, two = (load_dataset({**table, "path": f"patients.{end}"}) for end in ("csv", "parquet"))
    np.testing.assert_array_equal(one.X_train, two.X_train)


# Arrays


def test_arrays_frames_and_bunches_are_tables_too():
    X, y = load_iris(return_X_y=True)
    frame, series = load_iris(return_X_y=True, as_frame=True)
    made = [from_arrays(each) for each in ((X, y), (frame, series), load_iris())]
    for other in made[1:]:
        np.testing.assert_array_equal(made[0].X_train, other.X_train)
        np.testing.assert_array_equal(made[0].y_test, other.y_test)
    assert made[0].class_names == ("0", "1", "2")
    assert made[2].class_names == ("setosa", "versicolor", "virginica")
    groups = np.repeat(["a", "b"], 75)
    trace = simulate((X, y), "objp", groups=groups, epsilon=1.0, rounds=2, seeds=1)
    assert trace.attrs["agents"] == 2
    spec = RunSpec(dataset=made[0], algorithm="objp", epsilon=1.0, sensitivity="global")
    assert spec.guarantee.kind == "conditional"
    assert "ranges of x0, x1, x2, x3" in spec.guarantee.conditions


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
            for name in ("X_train", "y_train", "X_test", "y_test"):
                np.testing.assert_array_equal(getattr(made, name), getattr(wanted, name))
            found, own = (each.attributes["hospital"] for each in (made, wanted))
            np.testing.assert_array_equal(found.train, own.train)
            np.testing.assert_array_equal(found.test, own.test)


def test_groups_are_matched_with_the_targets_of_an_array():
    X, codes, order = (
        MASKED["numbers"],
        pd.Series(CLASSES),
        np.random.default_rng(1).permutation(60),
    )
    groups = pd.Series(np.arange(60) % 3)
    made = from_arrays((X[order], codes.iloc[order]), groups)
    wanted = from_arrays((X[order], CLASSES[order]), (np.arange(60) % 3)[order])
    np.testing.assert_array_equal(made.attributes["group"].train, wanted.attributes["group"].train)


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
        np.testing.assert_array_equal(made.X_train, wanted.X_train)
        np.testing.assert_array_equal(made.y_test, wanted.y_test)
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
    for name in ("X_train", "y_train", "X_test", "y_test"):
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name))


@pytest.mark.parametrize(
    ("data", "groups", "message"),
    [
        ((np.ones((3, 2)), [0, 1]), None, r"y has shape \(2,\), expected \(3,\)"),
        ((np.ones(3), [0, 1, 1]), None, r"features have shape \(3,\), expected \(n, J\)"),
        ((np.random.default_rng(0).random((3, 2)), [0, 1, 1]), [0], r"groups has shape \(1,\)"),
        (np.ones((3, 2)), None, r"a pair \(X, y\) or a Bunch"),
        ("digits", [0], "groups: are for arrays"),
        (
            (np.array([[0.0, np.nan], [1, 2], [3, 4]]), [0, 1, 1]),
            None,
            r"values are missing: x1 \(1\)",
        ),
        ((MASKED["numbers"] + 1j, CLASSES), None, "^complex numbers in x0, x1: "),
        ((sparse.csr_array(MASKED["numbers"] * 1j), CLASSES), None, "^complex numbers in x0, x1: "),
        ((MASKED["numbers"].astype(object) + 1j, CLASSES), None, "^complex numbers in x0, x1: "),
        ((MASKED["numbers"], CLASSES + 1j), None, "^complex numbers in target: "),
        ((MASKED["numbers"][:0], CLASSES[:0]), None, "^there are no records"),
        (
            (pd.DataFrame(MASKED["numbers"], columns=["a", "a"]), CLASSES),
            None,
            "^several columns have the name a; ",
        ),
        (
            (pd.DataFrame(MASKED["numbers"], columns=[1, "1"]), CLASSES),
            None,
            "^several columns have the name 1; ",
        ),
        (
            (pd.DataFrame(MASKED["numbers"], columns=["a", "b\0"]), CLASSES),
            None,
            "has the character 0x0000",
        ),
    ],
)
def test_arrays_that_do_not_fit_are_refused(data, groups, message):
    with pytest.raises(ValueError, match=message):
        simulate(data, "objp", groups=groups, rounds=1)
