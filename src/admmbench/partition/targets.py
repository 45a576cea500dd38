"""Targets of agents that hold rows in file order: how they differ, and whether that is more than chance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import rel_entr

from admmbench.datasets import Dataset, RowSelection, n_rows

# Probability below which targets of agents are said not to differ by chance.
_CHANCE = 1e-4
# Kinds of numbers, by their ranks.
_KINDS = 10


def targets_differ(dataset: Dataset, agents: int) -> bool:
    """Return whether targets in equal parts differ by more than chance.

    Agents may have too few rows to tell. Larger parts then show whether the file is sorted, so the number of parts is
    halved again and again.
    """
    n, bounds = dataset.n_train, []
    if not 1 < agents < n:
        return False
    kinds = _target_kinds(dataset)
    while agents > 1:
        bounds.append(_chance_bound(kinds, np.arange(n) * agents // n))
        agents //= 2
    # Bonferroni: one of several divisions was chosen as the most uneven.
    return min(bounds) * len(bounds) < _CHANCE


def _target_kinds(dataset: Dataset) -> NDArray[np.int64]:
    """Return the kind of each target: its class, or of a number the tenth of its rank; equal numbers have one rank."""
    if dataset.n_classes:
        return dataset.y_train.astype(np.int64)
    _, places, counts = np.unique(dataset.y_train, return_inverse=True, return_counts=True)
    ranks = counts.cumsum() - counts / 2
    return (ranks * _KINDS / dataset.n_train).astype(np.int64)[places]


def _chance_bound(kinds: NDArray[np.int64], parts: NDArray[np.int64]) -> float:
    """Bound the probability that any part has as much more of a kind than its share in a random order.

    The bound of each part and kind is Chernoff's, which holds without replacement (Hoeffding, 1963, section 6): a part
    draws rows, or a kind draws places.
    """
    in_part, in_all = np.bincount(parts), np.bincount(kinds)
    cells, counts = np.unique(parts * len(in_all) + kinds, return_counts=True)
    part, kind = np.divmod(cells, len(in_all))
    rows, total = in_part[part], in_all[kind]
    usual = rows * total / len(kinds)
    exponents = [
        rel_entr(counts, usual) + rel_entr(drawn - counts, drawn - usual) for drawn in (rows, total)
    ]
    largest = np.max(exponents, axis=0)[counts > usual].max(initial=0)
    return float(len(in_part) * np.count_nonzero(in_all) * np.exp(-largest))


def gini(sizes: NDArray[np.integer[Any]]) -> NDArray[np.float64]:
    """Return the Gini coefficient of agents' numbers of records: 0 if all are equal, 1 - 1/P if one agent has all.

    Parameters
    ----------
    sizes
        Numbers of records, shape (..., P).

    Returns
    -------
    Array of shape (...); 0 where nobody has a record.
    """
    n = sizes.shape[-1]
    ranks = 2 * np.arange(1, n + 1) - n - 1
    total = np.maximum(sizes.sum(axis=-1), 1)
    return np.asarray((np.sort(sizes, axis=-1) * ranks).sum(axis=-1) / (n * total))


def label_distances(counts: NDArray[np.integer[Any]]) -> NDArray[np.float64]:
    """Return the total variation distance between the labels of each agent and those of all records, 0 to 1.

    Parameters
    ----------
    counts
        Records of each agent by class, shape (..., P, K).

    Returns
    -------
    Array of shape (..., P); NaN for agents without records.
    """
    sizes, whole = counts.sum(axis=-1, keepdims=True), counts.sum(axis=-2, keepdims=True)
    shares = counts / np.where(sizes, sizes, np.nan)
    return np.asarray(np.abs(shares - whole / whole.sum(axis=-1, keepdims=True)).sum(axis=-1) / 2)


def describe_targets(dataset: Dataset, parts: Sequence[RowSelection]) -> dict[str, Any]:
    """Return how targets differ between agents: by their means, or by shares of the class that differs most.

    Keys are the ``label`` of this class, where there are classes, the ``lowest`` and the ``highest`` of the agents'
    values, the value of ``all`` rows, and the number of ``agents``.
    """
    if not dataset.n_classes:
        means = [dataset.y_train[rows].mean(dtype=np.float64) for rows in parts if n_rows(rows)]
        low, high, whole = dataset.in_unit(
            np.array([min(means), max(means), dataset.y_train.mean(dtype=np.float64)])
        )
        values = {"lowest": float(low), "highest": float(high), "all": float(whole)}
        return {**values, "agents": len(parts)}
    labels = dataset.y_train.astype(np.int64)
    counts = np.array([np.bincount(labels[rows], minlength=dataset.n_classes) for rows in parts])
    whole = counts.sum(axis=0) / counts.sum()
    nonempty = counts[counts.any(axis=1)]
    shares = nonempty / nonempty.sum(axis=1, keepdims=True)
    label = int(np.abs(shares - whole).max(axis=0).argmax())
    return {
        "label": dataset.class_names[label],
        "lowest": float(shares[:, label].min()),
        "highest": float(shares[:, label].max()),
        "all": float(whole[label]),
        "agents": len(parts),
    }
