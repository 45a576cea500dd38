"""Metrics of predictions on test records besides the one of the loss; each is low for good predictions.

A study with another metric than ``error`` (or, for numbers, ``rmse``) measures it besides, and compares methods by it.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from admmbench.datasets import Dataset, DatasetInfo
from admmbench.problems.loss import Array, Loss

Metric = Literal[
    "error",
    "balanced_error",
    "auc",
    "log_loss",
    "rmse",
    "r2",
    "client_error",
    "worst_clients",
    "client_spread",
]


class Facts(NamedTuple):
    """Variable of a metric in results, with its unit, and whether it is for classes and a part of the records.

    Metrics by client are for both kinds of targets; they have the unit of the loss's own metric, whose long name stands
    before theirs.
    """

    variable: str
    unit: str
    long_name: str
    classes: bool = True
    fraction: bool = False
    by_client: bool = False


FACTS: dict[Metric, Facts] = {
    "error": Facts("test_error", "1", "test error", fraction=True),
    "balanced_error": Facts("test_balanced_error", "1", "balanced test error", fraction=True),
    "auc": Facts("test_auc_deficit", "1", "1 − AUC"),
    "log_loss": Facts("test_loss", "nat", "log loss"),
    "rmse": Facts("test_rmse", "1", "root mean squared test error", classes=False),
    "r2": Facts("test_r2_deficit", "1", "1 − R²", classes=False),
    "client_error": Facts("client_error", "", "mean over clients", by_client=True),
    "worst_clients": Facts(
        "worst_client_error", "", "mean over the worst tenth of clients", by_client=True
    ),
    "client_spread": Facts(
        "client_error_spread", "", "standard deviation over clients", by_client=True
    ),
}
BY_CLIENT = {metric: facts for metric, facts in FACTS.items() if facts.by_client}
FEWEST_RECORDS = 20
"""Test records that a client needs to be tested apart, unless another number is stated."""
_OWN: tuple[Metric, ...] = ("balanced_error", "auc", "r2")
"""Metrics that no loss measures by itself."""


def check(metric: Metric, loss: Loss, name: str, data: DatasetInfo) -> None:
    """Raise a ValueError if targets, or predictions of a loss, do not have a metric."""
    if metric in BY_CLIENT:
        return
    kind = "classes" if FACTS[metric].classes else "numbers"
    if FACTS[metric].classes != bool(data.n_classes):
        known = [
            key
            for key, facts in FACTS.items()
            if facts.classes == bool(data.n_classes) and not facts.by_client
        ]
        raise ValueError(
            f"problem.metric: {metric} needs {kind} as targets; take {', '.join(known)}"
        )
    fault = {"log_loss": not loss.likelihood, "auc": not loss.scored}.get(metric)
    if fault:
        what = "probabilities" if metric == "log_loss" else "scores"
        raise ValueError(
            f"problem.metric: {metric} needs {what}, and loss {name} gives none; take loss logistic or softmax"
        )


def is_measured(metric: Metric | None) -> bool:
    """Return whether a metric is measured besides the variables of the loss."""
    return metric in _OWN


def measure(metric: Metric, loss: Loss, u: Array, y: Array) -> Array:
    """Measure predictions of some seeds.

    Parameters
    ----------
    metric
        ``balanced_error`` is the mean over classes of the error on their records; ``auc`` is 1 - AUC, the mean over
        classes of one against the rest; ``r2`` is 1 - R². Classes without a test record do not count.
    loss
        Loss of the predictions.
    u
        Predictions, shape (n, S, K).
    y
        Targets as the loss takes them, shape (n,).

    Returns
    -------
    Array of shape (S,).
    """
    if metric == "r2":
        return np.asarray(loss.mistakes(u, y[:, None]).mean(axis=0) / np.var(y.astype(np.float64)))
    members = [y == label for label in np.unique(y)]
    if metric == "balanced_error":
        mistakes = loss.mistakes(u, y[:, None])
        return np.mean([mistakes[own].mean(axis=0) for own in members], axis=0)
    scores = loss.scores(u)
    if scores.shape[-1] == 1:
        scores, members = scores[..., 0][None], [y > 0]
    else:
        labels = [int(y[own][0]) for own in members]
        scores = np.moveaxis(scores, -1, 0)[labels]
    pairs = [
        (of_class, own)
        for of_class, own in zip(scores, members, strict=True)
        if 0 < own.sum() < len(y)
    ]
    if not pairs:
        return np.full(u.shape[1], math.nan)
    values = 1 - np.mean([_auc(of_class, own) for of_class, own in pairs], axis=0)
    # A seed whose model diverged has no value; the others have theirs.
    return np.where(np.isfinite(u).all(axis=(0, 2)), values, math.nan)


def _auc(scores: Array, own: Array) -> Array:
    """Return the probability that a record of a class has a higher score than another one; ties count half."""
    from scipy.stats import rankdata  # slow to import

    n = int(own.sum())
    ranks = rankdata(scores, axis=0)[own].sum(axis=0)
    return np.asarray((ranks - n * (n + 1) / 2) / (n * (len(own) - n)))


def means_by_client(mistakes: Array, owners: NDArray[np.int32], fewest: int) -> Array:
    """Return the mean of the mistakes of each client that has enough test records.

    Parameters
    ----------
    mistakes
        Mistakes of S models on the test records, shape (n, S).
    owners
        Number of the client that has each test record, shape (n,).
    fewest
        Test records that a client needs to count.

    Returns
    -------
    Array of shape (C, S).

    Raises
    ------
    ValueError
        If no client has enough.
    """
    counts = np.bincount(owners, minlength=1)
    tested = counts >= fewest
    if not tested.any():
        raise ValueError(
            f"problem.by_client: no agent has {fewest} test records, the largest has {counts.max()}; state a smaller "
            "number"
        )
    sums = np.zeros((len(counts), mistakes.shape[1]))
    np.add.at(sums, owners, mistakes)
    return np.asarray(sums[tested] / counts[tested, None])


def describe_clients(owners: NDArray[np.int32], fewest: int, metric: str) -> dict[str, int]:
    """Return the attributes of a variable by client, see `means_by_client`.

    They are the number of ``clients`` that are tested apart, ``fewest_records``, and ``n_records``, the fewest test
    records that a value is a mean of.
    """
    counts = np.bincount(owners, minlength=1)
    tested = counts[counts >= fewest]
    worst = metric == FACTS["worst_clients"].variable
    clients = _worst(len(tested)) if worst else len(tested)
    records = clients * int(tested.min())
    return {"clients": len(tested), "fewest_records": fewest, "n_records": records}


def _worst(clients: int) -> int:
    """Return the number of clients in the worst tenth."""
    return math.ceil(clients / 10)


def summarize_clients(errors: Array) -> dict[str, Array]:
    """Summarise errors of clients, shape (C, S), by variable: clients count alike, whatever their numbers of records.

    The worst tenth of C clients are C / 10, rounded up, of each model by itself, as in q-FFL (Li et al. 2020, table 1).
    """
    worst = np.sort(errors, axis=0)[-_worst(len(errors)) :]
    values = (errors.mean(axis=0), worst.mean(axis=0), errors.std(axis=0))
    return {facts.variable: value for facts, value in zip(BY_CLIENT.values(), values, strict=True)}


def best_constant(
    metric: Metric, data: Dataset, owners: NDArray[np.int32] | None = None, fewest: int = 1
) -> float:
    """Return the value of the best constant prediction, which is found in the training records.

    It is the same prediction for all clients, whose test records `owners` has, see `means_by_client`. Their spread has
    no best value, which is NaN.
    """
    y = data.y_test
    if owners is not None and metric in BY_CLIENT:
        if metric == "client_spread":
            return math.nan
        if data.class_names:
            errors = means_by_client(
                y[:, None] != np.bincount(data.y_train).argmax(), owners, fewest
            )
        else:
            squares = np.square(y[:, None] - data.y_train.mean(dtype=np.float64))
            errors = np.sqrt(means_by_client(squares, owners, fewest)) * data.target_scale
        return float(summarize_clients(errors)[FACTS[metric].variable][0])
    match metric:
        case "balanced_error":
            return 1 - 1 / len(np.unique(y))
        case "auc":
            return 0.5
        case "log_loss":
            parts = np.bincount(data.y_train, minlength=data.n_classes) / data.n_train
            with np.errstate(divide="ignore"):
                return float(-np.log(parts[y]).mean())
        case "r2":
            return float(
                (data.constant_error / data.target_scale) ** 2 / np.var(y.astype(np.float64))
            )
    return data.constant_error
