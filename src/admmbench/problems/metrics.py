"""Metrics of predictions on test records besides the one of the loss; each is low for good predictions.

A study with another metric than ``error`` (or, for numbers, ``rmse``) measures it besides, and compares methods by it.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import numpy as np

from admmbench.datasets import Dataset, DatasetInfo
from admmbench.problems.loss import Array, Loss

Metric = Literal["error", "balanced_error", "auc", "log_loss", "rmse", "r2"]


class Facts(NamedTuple):
    """Variable of a metric in results, with its unit, and whether it is for classes and a part of the records."""

    variable: str
    unit: str
    long_name: str
    classes: bool = True
    fraction: bool = False


FACTS: dict[Metric, Facts] = {
    "error": Facts("test_error", "1", "test error", fraction=True),
    "balanced_error": Facts("test_balanced_error", "1", "balanced test error", fraction=True),
    "auc": Facts("test_auc_deficit", "1", "1 − AUC"),
    "log_loss": Facts("test_loss", "nat", "log loss"),
    "rmse": Facts("test_rmse", "1", "root mean squared test error", classes=False),
    "r2": Facts("test_r2_deficit", "1", "1 − R²", classes=False),
}
_OWN: tuple[Metric, ...] = ("balanced_error", "auc", "r2")
"""Metrics that no loss measures by itself."""


def check(metric: Metric, loss: Loss, name: str, data: DatasetInfo) -> None:
    """Raise a ValueError if targets, or predictions of a loss, do not have a metric."""
    kind = "classes" if FACTS[metric].classes else "numbers"
    if FACTS[metric].classes != bool(data.n_classes):
        known = [key for key, facts in FACTS.items() if facts.classes == bool(data.n_classes)]
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


def best_constant(metric: Metric, data: Dataset) -> float:
    """Return the value of the best constant prediction, which is found in the training records."""
    y = data.y_test
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
