"""Softmax loss: multiclass logistic regression, as ryu2021 (appendix A.8) and ryu2022 (appendix G) state it.

With K classes and the probabilities h = softmax(u), the loss of class y is -ln h_y and its derivative is h - y, with y
one-hot. One record contributes (h - y) x^T to a gradient, whose l1 norm is exactly ||x||_1 ||h - y||_1, and
||h - y||_1 = 2 (1 - h_y).
"""

from __future__ import annotations

import math
from typing import Any, Self

import numba
import numpy as np
from pydantic import Field
from scipy.special import logsumexp

from admmbench.compiled import njit
from admmbench.datasets import DatasetInfo
from admmbench.problems.loss import Array, Loss, Norms
from admmbench.validation import parameters


# Inlined early: a call for each record takes as long as the sums over its classes, where these are few.
@numba.njit(error_model="numpy", fastmath={"reassoc", "contract"}, inline="always")
def row_to_derivatives(
    row: Array, exponential: float, y: int, factor: float, lowest: float
) -> tuple[float, float]:
    """Turn the exponentials of a record's predictions into ``factor * (h - y)``; return both norms of ``h - y``.

    The row has 0 in place of the ``exponential`` of the record's class y. The other classes are summed alone, so that
    ``1 - h_y`` has no cancellation.
    """
    others = absolute = squared = row.dtype.type(0)
    for k in range(len(row)):
        others += row[k]
    inverse = row.dtype.type(1) / (others + exponential)
    # No max(): that of a GPU has a number for NaN.
    derivative, steepest = -others * inverse, lowest - row.dtype.type(1)
    if steepest > derivative:
        derivative = steepest
    for k in range(len(row)):
        h = row[k] * inverse
        if lowest > h:
            h = lowest
        absolute += h
        squared += h * h
        row[k] = h * factor
    row[y] = derivative * factor
    return absolute - lowest - derivative, math.sqrt(
        squared - lowest * lowest + derivative * derivative
    )


@parameters
class Softmax(Loss):
    """Loss ``-ln softmax(u)_y``.

    The term ``beta ||W||_F^2`` of the papers is the l2 penalty of all agents with weight ``2 beta``.
    """

    metric = "test_error"
    likelihood = True
    scored = True
    derivative_l1 = 2.0
    derivative_l2 = 2**0.5
    derivative_linf = 1.0
    # Boehning 1992.
    curvature_bound = 0.5
    row_to_derivatives = staticmethod(row_to_derivatives)

    floor: float = Field(default=0.0, ge=0, lt=0.5, repr=False)

    def check(self, data: DatasetInfo) -> None:
        """Raise a ValueError if targets are no classes."""
        if not data.n_classes:
            raise ValueError(
                f"it needs classes, {data.name} has numbers as targets; use squared or huber"
            )

    def outputs(self, data: DatasetInfo) -> int:
        """Return K, one prediction for each class."""
        return data.n_classes

    def rank(self, outputs: int) -> int:
        """Return K - 1: derivatives add up to 0 (``h`` and ``y`` have the same sum); K with clipped probabilities."""
        return outputs if self.floor else outputs - 1

    def targets(self, y: Array, dtype: np.dtype[Any]) -> Array:
        """Return the indices of classes."""
        return y

    def losses(self, u: Array, y: Array) -> Array:
        """Return ``-ln h_y`` of each record."""
        shape = u.shape[:-1]
        u = _rows(u)
        _subtract_largest(u)
        labels = np.broadcast_to(y, shape).reshape(-1)
        label_predictions = u[np.arange(len(u)), 0, labels].astype(np.float64)
        total = np.exp(u[:, 0]).sum(axis=1, dtype=np.float64)
        losses: Array = np.log(total) - label_predictions
        return losses.reshape(shape)

    def derivatives(self, u: Array, y: Array) -> Array:
        """Return ``h - y``."""
        derivatives = u.copy()
        labels = np.ascontiguousarray(np.broadcast_to(y, u.shape[:-1])).reshape(-1)
        self.scaled_derivatives(_rows(derivatives), labels, np.ones(len(labels)))
        return derivatives

    def mistakes(self, u: Array, y: Array) -> Array:
        """Return 1 for the wrong class; a tie goes to the first."""
        return u.argmax(axis=-1) != y

    def scores(self, u: Array) -> Array:
        """Return the logarithms of the odds of each class; probabilities of large predictions would tie at 0 and 1."""
        u = u.astype(np.float64)
        others = [logsumexp(np.delete(u, k, axis=-1), axis=-1) for k in range(u.shape[-1])]
        return np.round(u - np.stack(others, axis=-1), 9)  # rounding must not break ties

    def unit(self, data: DatasetInfo) -> str:
        """Return nat, the unit of natural logarithms."""
        return "nat"

    def clipped(self, floor: float) -> Self:
        """Return the loss whose probabilities are at least ``floor``."""
        return type(self)(floor=floor)

    def scaled_derivatives(self, u: Array, y: Array, scale: Array) -> Norms:
        """Turn predictions into scaled derivatives, in place, see `Loss.scaled_derivatives`."""
        # Two passes: numpy's vectorised exponential is several times as fast as that of compiled loops.
        _subtract_largest(u)
        np.exp(u, out=u)
        return Norms(*_to_derivatives(u, y, scale, self.floor))


def _rows(u: Array) -> Array:
    """Return predictions as rows of one seed, without a copy."""
    return u.reshape(-1, 1, u.shape[-1])


# Sums may be reordered, which lets the compiler use vector instructions.
_compiled = njit(nogil=True, error_model="numpy", fastmath={"reassoc", "contract"})


@_compiled
def _subtract_largest(u: Array) -> None:
    n, S, K = u.shape
    for i in range(n):
        for s in range(S):
            largest = u[i, s, 0]
            for k in range(1, K):
                largest = max(largest, u[i, s, k])
            for k in range(K):
                u[i, s, k] -= largest


@_compiled
def _to_derivatives(
    exponentials: Array, labels: Array, scale: Array, floor: float
) -> tuple[Array, Array]:
    """Turn exponentials into ``scale * (h - y)``; return ``||h - y||_1`` and ``||h - y||_2`` of every record."""
    n, S, _ = exponentials.shape
    l1, l2 = np.empty((n, S)), np.empty((n, S))
    number = exponentials.dtype.type
    lowest, of_labels = number(floor), np.empty((n, S), exponentials.dtype)
    # In a loop of its own, long before rows are read, so that no vector waits for a number in it.
    for i in range(n):
        for s in range(S):
            of_labels[i, s] = exponentials[i, s, labels[i]]
            exponentials[i, s, labels[i]] = 0
    for i in range(n):
        y, factor = labels[i], number(scale[i])
        for s in range(S):
            l1[i, s], l2[i, s] = row_to_derivatives(
                exponentials[i, s], of_labels[i, s], y, factor, lowest
            )
    return l1, l2
