"""Metrics of predictions against scikit-learn, and who refuses them."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.special import softmax
from sklearn import metrics as reference

from admmbench import simulate
from admmbench.contracts.made_up_data import make_dataset, make_regression
from admmbench.datasets import Attribute
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


def with_clients(sizes, test_sizes, numbers=False):
    """Made-up data of clients with so many training and test records, in their order."""
    make = make_regression if numbers else make_dataset
    data = make(sum(sizes), sum(test_sizes))
    owners = [np.repeat(np.arange(len(own)), own).astype(np.int32) for own in (sizes, test_sizes)]
    names = tuple(f"client {k}" for k in range(len(sizes)))
    return replace(data, attributes={"client": Attribute(names, *owners)}, group="client")


def run_by_client(data, **changes):
    problem = {"loss": "huber" if not data.n_classes else "softmax", **changes}
    return simulate(
        data, "objp", agents={"scheme": "by", "column": "client"}, problem=problem, rounds=4,
        epsilon=0.5, seeds=3, params={"rho": 1}, keep_model=True,
    )  # fmt: skip


@pytest.mark.parametrize("numbers", [False, True])
def test_clients_are_tested_apart_and_count_alike(numbers):
    """Eleven clients, one of which has too few test records: means, the worst tenth and the spread by plain loops."""
    test_sizes = [20, 7, 33, 25, 40, 21, 22, 60, 24, 28, 30, 26]
    data = with_clients([12] * 12, test_sizes, numbers)
    trace = run_by_client(data, metric="worst_clients")
    assert trace.attrs["metric"] == "worst_client_error"
    for seed in range(3):
        w = trace["model"].values[seed].astype(np.float32).reshape(-1, data.n_features)
        errors = []
        for client, size in enumerate(test_sizes):
            own = data.attributes["client"].test == client
            u = data.X_test[own] @ w.T
            wrong = u[:, 0] - data.y_test[own] if numbers else u.argmax(1) != data.y_test[own]
            if size >= 20:
                errors.append(np.sqrt(np.mean(wrong**2)) if numbers else np.mean(wrong))
        last = trace.isel(seed=seed, round=-1)
        worst = np.mean(sorted(errors)[-2:])
        for name, value in [
            ("client_error", np.mean(errors)),
            ("worst_client_error", worst),
            ("client_error_spread", np.std(errors)),
        ]:
            assert float(last[name]) == pytest.approx(value, rel=1e-5)
            assert ("valid_range" in trace[name].attrs) is not numbers
    facts = trace["worst_client_error"].attrs
    assert (facts["clients"], facts["fewest_records"], facts["n_records"]) == (11, 20, 40)
    assert trace["client_error"].attrs["n_records"] == 220


def test_the_best_constant_of_the_worst_clients_is_the_commonest_class():
    data = with_clients([20, 20], [30, 30])
    trace = run_by_client(data, metric="worst_clients", by_client=5)
    common = np.bincount(data.y_train).argmax()
    worst = max(np.mean(part != common) for part in (data.y_test[:30], data.y_test[30:]))
    assert trace["worst_client_error"].attrs["best_constant"] == pytest.approx(worst)
    # A spread has no best constant.
    trace = run_by_client(data, metric="client_spread")
    assert np.isnan(trace["client_error_spread"].attrs["best_constant"])


def test_a_run_that_asks_for_clients_has_the_bits_of_one_that_does_not():
    data = with_clients([20, 20], [30, 30])
    plain, asked = run_by_client(data), run_by_client(data, by_client=1)
    np.testing.assert_array_equal(plain["model"], asked["model"])
    assert "client_error" not in plain
    usual = RunSpec(dataset=data, algorithm="objp", problem={"loss": "softmax"})
    assert "by_client" not in usual.complete()["problem"]


def test_clients_of_all_sizes_run():
    """One client without test records, one without training records, one with nearly all."""
    data = with_clients([1, 0, 50_000, 3], [0, 25, 30, 1])
    trace = run_by_client(data, by_client=20)
    assert trace["client_error"].attrs["clients"] == 2
    assert np.isfinite(trace["client_error"]).all()


def test_one_client_is_its_own_worst_tenth():
    trace = run_by_client(with_clients([40], [30]), by_client=20).isel(round=-1)
    np.testing.assert_allclose(trace["worst_client_error"], trace["test_error"])
    np.testing.assert_array_equal(trace["client_error_spread"], 0)


def test_a_class_that_one_client_alone_has_counts_there_alone():
    data = with_clients([30, 30], [25, 25])
    y_train, y_test = (np.repeat([0, 2], n) for n in (30, 25))
    trace = run_by_client(replace(data, y_train=y_train, y_test=y_test), by_client=20)
    last = trace.isel(round=-1)
    np.testing.assert_allclose(last["client_error"], last["test_error"])


def test_without_clients_who_have_enough_test_records_a_run_is_refused():
    with pytest.raises(ValueError, match="no agent has 20 test records, the largest has 12"):
        run_by_client(with_clients([40, 40], [12, 3]), metric="client_error")
