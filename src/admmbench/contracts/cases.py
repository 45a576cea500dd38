"""Cases of losses with data that suit them, and comparisons of numbers."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from admmbench.contracts import ensure
from admmbench.contracts.made_up_data import make_dataset, make_regression
from admmbench.datasets import Dataset
from admmbench.problems.loss import Loss, ScalarLoss
from admmbench.problems.losses import as_loss

Array = NDArray[Any]

STEP = 1e-6
# Part of a supremum that a search must reach, so that a bound that is twice too large is noticed.
_REACHED = 0.99


class LossCase:
    """Loss with data that suit it."""

    def __init__(
        self, spec: str | Mapping[str, Any], data: Iterable[Dataset] | None = None
    ) -> None:
        self.spec = spec if isinstance(spec, str) else dict(spec)
        self.loss: Loss = as_loss(spec)
        self.scalar = self.loss if isinstance(self.loss, ScalarLoss) else None
        candidates = data_sets() if data is None else data
        self.suited = [candidate for candidate in candidates if _accepts(self.loss, candidate)]
        """Small data sets that the loss accepts."""

    @cached_property
    def points(self) -> list[tuple[Array, Array]]:
        """Return predictions (n, K) and targets (n,) at which losses have their extremes: near, far and in between."""
        return [_points(self.loss, data) for data in self.suited]

    def derivatives(self, u: Array, y: Array) -> Array:
        """Return the derivatives of the loss with respect to the predictions, shape (n, K)."""
        return self.loss.derivatives(u[:, None].copy(), y[:, None])[:, 0]

    def values(self, u: Array, y: Array) -> Array:
        """Return the losses of predictions (n, K), shape (n,)."""
        return self.loss.losses(u[:, None].copy(), y[:, None])[:, 0]

    def hessians(self, u: Array, y: Array) -> Array:
        """Return second derivatives, shape (n, K, K), by differences of first derivatives."""
        K = u.shape[1]
        second = np.empty((len(u), K, K))
        for k, step in enumerate(STEP * np.eye(K)):
            second[:, k] = (self.derivatives(u + step, y) - self.derivatives(u - step, y)) / (
                2 * STEP
            )
        return second


def data_sets() -> Iterator[Dataset]:
    """Make data with two classes, with three, and with numbers; 14 records of 3 features."""
    for n_classes in (2, 3):
        yield replace(make_dataset(14, 6, 3, n_classes), name=f"made with {n_classes} classes")
    yield replace(make_regression(14, 6, 3), name="made with numbers", target_unit="m")


def _accepts(loss: Loss, data: Dataset) -> bool:
    """Return whether a loss accepts a data set."""
    try:
        loss.check(data.info)
    except ValueError:
        return False
    return True


def _points(loss: Loss, data: Dataset) -> tuple[Array, Array]:
    """Return predictions (n, K) and targets (n,): each prediction with each kind of target."""
    rng = np.random.default_rng(2)
    K = loss.outputs(data.info)
    scales = 10.0 ** np.arange(-3, 4)
    predictions = np.concatenate([scale * rng.normal(size=(60, K)) for scale in scales])
    # Ties between predictions, and certain predictions.
    corners = np.array(list(itertools.product((0.0, 1.0, -1.0), repeat=K)))
    predictions = np.concatenate([predictions, *(scale * corners for scale in (0.5, 50.0, 1000.0))])
    if K == 1:
        predictions = np.concatenate([predictions, np.linspace(-20, 20, 2001)[:, None]])
    targets = loss.targets(data.y_train, np.dtype(np.float64))
    kinds = np.unique(targets) if data.n_classes else targets[:3]
    y = np.repeat(kinds, len(predictions))
    u = np.tile(predictions, (len(kinds), 1))
    # For targets that are numbers, a loss depends on the error, so that the points are errors.
    return (u if data.n_classes else u + y[:, None]), y


def close(values: Array, wanted: Array, allowed: Any, quantity: str) -> None:
    """Raise an AssertionError if an entry is further off than allowed, or NaN."""
    off = np.abs(np.asarray(values, np.float64) - np.asarray(wanted, np.float64))
    excess = off - np.broadcast_to(allowed, off.shape)
    bad = ~(excess <= 0)
    if bad.any():
        place = np.unravel_index(np.argmax(bad), bad.shape)
        entries, others = np.broadcast_arrays(values, wanted)
        raise AssertionError(
            f"{quantity}: {int(bad.sum())} of {bad.size} entries differ, the first is {entries[place]!r} and should be "
            f"{others[place]!r}"
        )


def supremum(values: Array, bound: float, quantity: str) -> None:
    """Raise an AssertionError if the largest value is above the bound, or well below a finite bound."""
    largest = float(np.max(values))
    ensure(
        largest <= bound * (1 + 1e-6),
        f"{quantity} reaches {largest:.6g}, more than the bound {bound:.6g}",
    )
    if math.isfinite(bound):
        ensure(
            largest >= _REACHED * bound,
            f"{quantity} reaches only {largest:.6g}: the bound {bound:.6g} is larger than need be",
        )
