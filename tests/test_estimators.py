"""Estimators: what scikit-learn demands, the numbers of `simulate`, and a guarantee that is true."""

import math
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import check_estimator

from admmbench import PrivacyLeakWarning, PrivateClassifier, PrivateRegressor, simulate
from admmbench.datasets import find_module
from admmbench.engine import account

SITES = np.array(["east", "north", "south"])


@pytest.fixture
def cancer():
    """Features, labels, groups and a range of each feature that are not found in the records alone."""
    data = load_breast_cancer(as_frame=True)
    labels = np.where(data.target == 0, "malignant", "benign")
    ranges = {name: (0.0, 1.2 * float(values.max())) for name, values in data.data.items()}
    return data.data, labels, SITES[np.arange(len(labels)) % 3], ranges


def public(ranges):
    return tuple(np.array([*ranges.values()]).T)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", [PrivateClassifier, PrivateRegressor])
def test_scikit_learn_has_no_objection(kind):
    results = check_estimator(kind(rounds=3), on_skip=None)
    assert len(results) > 50


def test_a_fit_has_the_numbers_of_simulate(cancer):
    X, labels, sites, ranges = cancer
    tests = np.arange(len(X)) % 5 == 0
    data = find_module("table").from_arrays(
        (X.assign(part=np.where(tests, "test", "training")), labels),
        sites,
        ranges=ranges,
        categories={"target": ["benign", "malignant"]},
        test={"part": "test"},
    )
    problem = {"loss": "logistic", "strength": 1e-6, "per": "total", "average": "records"}
    trace = simulate(
        data,
        "dp_gd",
        {"learning_rate": 2},
        problem={**problem, "records": {"max_l2_norm": math.sqrt(31 / 2)}},
        privacy={"total": 1, "delta": 1e-5},
        sensitivity="global",
        rounds=20,
        seeds=[7],
        keep_model=True,
    )
    model = PrivateClassifier(
        bounds=public(ranges), classes=["malignant", "benign"], random_state=7
    ).fit(X[~tests], labels[~tests], sites[~tests])
    assert model.model_.equals(trace["model"].sel(seed=7, drop=True))
    assert model.model_["feature"][[0, -1]].values.tolist() == ["mean radius", "intercept"]
    errors = np.mean(model.predict(X[tests]) != labels[tests])
    assert errors == pytest.approx(trace["test_error"][0, -1].item())


def test_a_regression_has_the_numbers_of_simulate():
    data = load_diabetes(as_frame=True)
    tests = np.arange(len(data.data)) % 5 == 0
    ends = (25.0, 346.0)
    table = find_module("table").from_arrays(
        (data.data.assign(part=np.where(tests, "test", "training")), data.target),
        ranges=(-0.2, 0.2),
        target_range=ends,
        test={"part": "test"},
    )
    problem = {"loss": "huber", "strength": 1e-6, "per": "total", "average": "records"}
    trace = simulate(
        table,
        "objp",
        problem={**problem, "records": {"max_l2_norm": 2.0}},
        agents=1,
        privacy={"total": 3, "delta": 1e-5},
        sensitivity="global",
        rounds=5,
        seeds=[3],
        keep_model=True,
    )
    model = PrivateRegressor(
        method="objp",
        total_epsilon=3,
        rounds=5,
        max_norm=2.0,
        bounds=(-0.2, 0.2),
        target_bounds=ends,
        random_state=3,
    ).fit(data.data[~tests], data.target[~tests])
    assert model.model_.equals(trace["model"].sel(seed=3, drop=True))
    rmse = np.sqrt(np.mean((model.predict(data.data[tests]) - data.target[tests]) ** 2))
    assert rmse == pytest.approx(trace["test_rmse"][0, -1].item(), rel=1e-5)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_without_noise_predictions_are_those_of_the_optimum(n_classes):
    X, y = load_iris(return_X_y=True)
    X, y = X[y < n_classes], y[y < n_classes]
    model = PrivateClassifier(
        method="centralized",
        total_epsilon=math.inf,
        strength=1e-2,
        max_norm=100.0,
        bounds=(0, 10),
        classes=range(n_classes),
    ).fit(X, y)
    records = np.hstack([X / 10, np.ones((len(X), 1))])
    reference = LogisticRegression(C=100 / len(X), fit_intercept=False, tol=1e-10, max_iter=10_000)
    expected = reference.fit(records, y).predict_proba(records)
    np.testing.assert_allclose(model.predict_proba(X), expected, atol=2e-4)
    np.testing.assert_array_equal(model.predict(X), expected.argmax(axis=1))
    assert model.privacy_["guarantee"] == "none"
    assert model.privacy_["total"] == math.inf


@pytest.mark.parametrize("method", ["dp_gd", "objp"])
def test_the_privacy_loss_is_that_of_the_account(cancer, method):
    X, labels, sites, ranges = cancer
    with warnings.catch_warnings():
        warnings.simplefilter("error", PrivacyLeakWarning)
        model = PrivateClassifier(
            method=method, total_epsilon=2, bounds=public(ranges), classes=["benign", "malignant"]
        ).fit(X, labels, sites)
    _, counted = account.of(
        method,
        {
            "dataset": "digits",
            "agents": 3,
            "rounds": 20,
            "privacy": {"total": 2},
            "delta": 1e-5,
        },
    )
    assert model.privacy_["total"] == pytest.approx(counted.total, rel=1e-6)
    assert model.privacy_["total"] <= 2 * (1 + 1e-6)
    assert model.privacy_["guarantee"] == "proved"
    assert (model.privacy_["delta"], model.privacy_["unit"]) == (1e-5, "record")


@pytest.mark.parametrize("lack", ["bounds", "classes"])
def test_what_is_taken_from_records_voids_the_guarantee(cancer, lack):
    X, labels, _, ranges = cancer
    stated = {"bounds": public(ranges), "classes": ["benign", "malignant"]}
    del stated[lack]
    with pytest.warns(PrivacyLeakWarning, match=f"^{lack}: taken from the records"):
        model = PrivateClassifier(rounds=2, **stated).fit(X, labels)
    assert model.privacy_["guarantee"] == "none"
    assert model.privacy_["total"] == math.inf


def test_targets_from_records_void_the_guarantee():
    X, y = load_diabetes(return_X_y=True)
    with pytest.warns(PrivacyLeakWarning, match=r"^target_bounds: taken"):
        model = PrivateRegressor(rounds=2, bounds=(-0.2, 0.2)).fit(X, y)
    assert model.privacy_["guarantee"] == "none"


def test_records_beyond_the_bounds_count_as_records_at_them():
    """So that the domain, of which the guarantee is, holds whatever records there are."""
    X, y = load_iris(return_X_y=True)
    stated = {"bounds": (1, 5), "classes": range(3), "random_state": 0, "rounds": 2}
    first = PrivateClassifier(**stated).fit(X, y)
    second = PrivateClassifier(**stated).fit(X.clip(1, 5), y)
    assert first.model_.equals(second.model_)
    np.testing.assert_array_equal(first.predict(X), first.predict(X.clip(1, 5)))


def test_noise_is_new_at_each_fit_unless_its_seed_is_stated():
    X, y = load_iris(return_X_y=True)
    stated = {"bounds": (0, 10), "classes": range(3), "rounds": 2}
    models = [PrivateClassifier(**stated).fit(X, y).model_ for _ in range(2)]
    assert not models[0].equals(models[1])
    states = [np.random.RandomState(5) for _ in range(2)]
    models = [PrivateClassifier(**stated, random_state=state).fit(X, y).model_ for state in states]
    assert models[0].equals(models[1])


def test_probabilities_are_those_of_losses_that_have_them():
    assert hasattr(PrivateClassifier(), "predict_proba")
    assert not hasattr(PrivateClassifier(loss="squared_hinge"), "predict_proba")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"bounds": (10, 0)}, r"^bounds: expected finite"),
        ({"bounds": (0, math.inf)}, r"^bounds: expected finite"),
        ({"bounds": (0, 10), "classes": [0, 1]}, r"^classes: records have 2"),
        ({"bounds": (0, 10), "method": "objpp"}, "did you mean 'objp'"),
        ({"bounds": (0, 10), "total_epsilon": -1}, "^total_epsilon"),
    ],
)
def test_wrong_arguments_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        PrivateClassifier(**{"classes": range(3), **arguments}).fit(*load_iris(return_X_y=True))


def test_a_frame_names_its_columns_and_groups_have_one_value_for_each_record():
    frame = pd.DataFrame({"a": [0.0, 1, 2, 3], "b": [3.0, 1, 2, 0]})
    model = PrivateClassifier(rounds=1, bounds=(0, 3), classes=[0, 1]).fit(frame, [0, 1, 0, 1])
    assert model.model_["feature"].values.tolist() == ["a", "b", "intercept"]
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        PrivateClassifier(bounds=(0, 3), classes=[0, 1]).fit(frame, [0, 1, 0, 1], [0, 1])
