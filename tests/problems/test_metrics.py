"""Metrics of predictions against scikit-learn, and who refuses them."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import softmax
from sklearn import metrics as reference

from admmbench import simulate
from admmbench.datasets.table import from_arrays
from admmbench.problems.losses import as_loss
from admmbench.problems.metrics import measure
from admmbench.spec.run import RunSpec

N, SEEDS = 57, 4


def made(classes):
    """Predictions with ties, targets with a rare class, and the loss."""
    rng = np.random.default_rng(classes)
    u = rng.normal(size=(N, SEEDS, 1 if classes == 2 else classes)).round(1)
    parts = {2: [0.1, 0.9], 3: [0.1, 0.3, 0.6]}[classes]
    return u, rng.choice(classes, N, p=parts), as_loss("logistic" if classes == 2 else "softmax")


@pytest.mark.parametrize("classes", [2, 3])
def test_metrics_of_classes_are_those_of_scikit_learn(classes):
    u, y, loss = made(classes)
    targets = loss.targets(y, np.dtype("float64"))
    auc, balanced = (measure(name, loss, u, targets) for name in ("auc", "balanced_error"))
    for seed in range(SEEDS):
        scores = u[:, seed, 0] if classes == 2 else softmax(u[:, seed], axis=-1).round(12)
        predicted = scores > 0 if classes == 2 else scores.argmax(axis=-1)
        expected = reference.roc_auc_score(y, scores, multi_class="ovr")
        assert auc[seed] == pytest.approx(1 - expected, abs=1e-12)
        expected = reference.balanced_accuracy_score(y, predicted)
        assert balanced[seed] == pytest.approx(1 - expected, abs=1e-12)


def test_a_class_without_test_records_does_not_count():
    u, y, loss = made(3)
    there = y != 0
    scores = softmax(u[there], axis=-1)
    pairs = [reference.roc_auc_score(y[there] == label, scores[:, 0, label]) for label in (1, 2)]
    assert measure("auc", loss, u[there], y[there])[0] == pytest.approx(1 - np.mean(pairs))


def table(target, classes=3):
    rng = np.random.default_rng(0)
    data = pd.DataFrame(rng.random((200, 3)), columns=list("abc"))
    number = data["a"] + 0.3 * data["b"] + 0.1 * rng.normal(size=200)
    if target == "classes":
        number = pd.qcut(number, classes, labels=list("xyz")[:classes]).astype(str)
    return from_arrays((data, number.rename("t")))


def run(data, metric, loss, **changes):
    problem = {"loss": loss, "metric": metric}
    return simulate(
        dataset=data, algorithm="centralized", agents=2, problem=problem, rounds=1, **changes
    )


def test_a_run_measures_what_it_is_asked_for_and_knows_the_best_constant():
    data = table("classes")
    for metric, constant in (("balanced_error", 2 / 3), ("auc", 0.5)):
        trace = run(data, metric, "softmax", epsilon=np.inf)
        name = trace.attrs["metric"]
        assert 0 <= trace[name].values[0, -1] < constant
        assert trace[name].attrs["best_constant"] == pytest.approx(constant)
    trace = run(data, "log_loss", "softmax", epsilon=np.inf)
    parts = np.bincount(data.y_train) / data.n_train
    probabilities = np.tile(parts, (data.n_test, 1))
    assert trace["test_loss"].attrs["best_constant"] == pytest.approx(
        reference.log_loss(data.y_test, probabilities)
    )
    assert trace.attrs["metric"] == "test_loss"


def test_r2_is_one_less_the_part_of_the_variance():
    data = table("numbers")
    trace = run(data, "r2", "squared", epsilon=np.inf)
    variance = np.var(data.in_unit(data.y_test.astype(float)))
    expected = trace["test_rmse"].values[:, -1] ** 2 / variance
    assert trace["test_r2_deficit"].values[:, -1] == pytest.approx(expected)
    mean = np.full(data.n_test, data.y_train.mean())
    assert trace["test_r2_deficit"].attrs["best_constant"] == pytest.approx(
        1 - reference.r2_score(data.y_test, mean)
    )


def test_existing_studies_keep_their_error_and_their_address():
    known = {"dataset": "digits", "algorithm": "objp", "agents": 2, "epsilon": 1.0, "rounds": 2}
    usual = RunSpec(**known, problem={"loss": "softmax"})
    stated = RunSpec(**known, problem={"loss": "softmax", "metric": "error"})
    assert usual.complete() == stated.complete()
    assert "metric" not in usual.complete()["problem"]
    other = RunSpec(**known, problem={"loss": "softmax", "metric": "auc"})
    assert other.complete()["problem"]["metric"] == "auc"


@pytest.mark.parametrize(
    ("target", "metric", "loss", "message"),
    [
        ("classes", "rmse", "softmax", "rmse needs numbers as targets; take error, balanced_error"),
        ("numbers", "auc", "squared", "auc needs classes as targets; take rmse, r2"),
        (
            "two",
            "log_loss",
            "squared_hinge",
            "log_loss needs probabilities, and loss squared_hinge",
        ),
    ],
)
def test_a_metric_that_does_not_suit_is_refused(target, metric, loss, message):
    data = (
        table("numbers") if target == "numbers" else table("classes", 2 if target == "two" else 3)
    )
    with pytest.raises(ValueError, match=message):
        run(data, metric, loss)
