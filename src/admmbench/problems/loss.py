"""Losses: value, derivative and curvature in the predictions u = W x of a record, and bounds on them.

The derivative is with respect to the predictions. All else follows from these for every loss:
gradients, sensitivities, bounds, evaluation, optimum.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from admmbench.datasets import DatasetInfo
from admmbench.plugins import FormerNames
from admmbench.validation import parameters

Array = NDArray[Any]


@dataclass(frozen=True)
class Convention:
    """Defaults of a problem over rows: the objective of a loss as the literature writes it."""

    average: Literal["records", "agents"] = "records"
    """``records``: an agent's objective is its part of the mean over all records; ``agents``: the mean over its own
    records, so that the sum over agents counts each agent alike."""
    per: Literal["agent", "total"] = "total"
    """Objective in which the penalty has the weight ``strength``: that of one ``agent``, or of all (``total``)."""
    strength: float = 2e-6
    """Weight of the penalty."""
    max_l2_norm: float | None = None
    """Bound on the records; None leaves them as they are."""
    smoothness: Literal["spectrum", "norms"] = "spectrum"
    """Bound on the Lipschitz constant of an agent's gradient: from the ``spectrum`` of its records, or from their
    ``norms``."""


class Norms(NamedTuple):
    """Norms of the derivative of each record and seed, shape (n, S)."""

    l1: Array
    l2: Array


@dataclass(frozen=True)
class Form:
    """Quadratic form of one vector of variables, in place of a loss; its value tells how good a model is."""

    metric: ClassVar[str] = "train_loss"
    fraction: ClassVar[bool] = False

    def outputs(self, data: DatasetInfo) -> int:
        """Return 1: a model has one row."""
        return 1

    def unit(self, data: DatasetInfo) -> str:
        """Return 1: a form has no unit."""
        return "1"

    def for_targets(self, scale: float) -> Self:
        """Return the form: it has no targets."""
        return self

    completed = for_targets


@parameters
class Loss(FormerNames, ABC):
    """Loss of a record's K predictions and its target.

    Predictions have shape (..., K), targets (...). With an infinite bound on the derivative there is no worst case over
    records, and ``sensitivity: global`` is refused.
    """

    convex: ClassVar[bool] = True
    convention: ClassVar[Convention] = Convention()
    metric: ClassVar[str]
    """Name of the variable that tells how good predictions are."""
    fraction: ClassVar[bool] = True
    """Whether the metric is a part of the records, 0 to 1."""
    likelihood: ClassVar[bool] = False
    """Whether the loss is that of probabilities: minus the logarithm of the one of a record's class."""
    scored: ClassVar[bool] = False
    """Whether predictions have `scores`."""
    row_to_derivatives: ClassVar[Any] = None
    """Equation of a record's derivatives by the exponentials of its predictions: for a softmax on a GPU."""
    former_names = {
        "slope": "derivative",
        "slopes": "derivatives",
        "slope_bound": "derivative_bound",
        "slope_l1": "derivative_l1",
        "slope_l2": "derivative_l2",
        "slope_linf": "derivative_linf",
        "scaled_slopes": "scaled_derivatives",
    }

    @property
    @abstractmethod
    def derivative_l1(self) -> float:
        """Return the supremum of the l1 norm of the derivative."""

    @property
    @abstractmethod
    def derivative_l2(self) -> float:
        """Return the supremum of the l2 norm of the derivative."""

    @property
    def derivative_linf(self) -> float:
        """Return the supremum of the largest entry of the derivative; at most its l2 norm."""
        return self.derivative_l2

    @property
    @abstractmethod
    def curvature_bound(self) -> float:
        """Return the supremum of the spectral norm of the second derivative."""

    @property
    def floor(self) -> float:
        """Return the floor that probabilities are clipped to, 0 without clipping. The suprema ignore the clipping."""
        return 0.0

    @abstractmethod
    def check(self, data: DatasetInfo) -> None:
        """Raise a ValueError if the targets of a data set are not those of the loss."""

    def check_shapes(self, data: DatasetInfo) -> None:
        """Raise a ValueError if a function does not return values for each record: sums would hide it."""
        K, y = self.outputs(data), self.targets(np.zeros(2, np.int64), np.dtype(np.float64))
        for name, expected in (("losses", (2,)), ("derivatives", (2, K)), ("mistakes", (2,))):
            shape = np.shape(getattr(self, name)(np.zeros((2, K)), y))
            if shape != expected:
                raise ValueError(f"{name} of 2 records have shape {shape}, expected {expected}")

    @abstractmethod
    def outputs(self, data: DatasetInfo) -> int:
        """Return K, the number of predictions for each record."""

    def rank(self, outputs: int) -> int:
        """Return the dimension of a space with all derivatives of K ``outputs`` and the ranges of second ones."""
        return outputs

    @abstractmethod
    def targets(self, y: Array, dtype: np.dtype[Any]) -> Array:
        """Return targets as the formulas take them, from those of the data set."""

    @abstractmethod
    def losses(self, u: Array, y: Array) -> Array:
        """Return the value for each record, float64; may overwrite ``u``."""

    @abstractmethod
    def derivatives(self, u: Array, y: Array) -> Array:
        """Return derivatives in the predictions, shape of ``u``, in its precision."""

    @abstractmethod
    def mistakes(self, u: Array, y: Array) -> Array:
        """Return a value for each record; the metric follows from the mean of these values."""

    def scores(self, u: Array) -> Array:
        """Return what ranks records by a class: one number for the second of two classes, or one for each class."""
        return u

    def score(self, mean: Array) -> Array:
        """Return the metric, from the mean of the mistakes; of targets that are scaled, it is scaled back."""
        return mean

    def variables(self, data: DatasetInfo) -> dict[str, tuple[str, str]]:
        """Return units and long name of the metric and of the loss itself."""
        unit = self.unit(data)
        return {
            self.metric: ("1", "test error"),
            "test_loss": (unit, "mean test loss"),
            "train_loss": (unit, "training objective"),
        }

    def unit(self, data: DatasetInfo) -> str:
        """Return the unit of the loss."""
        return "1"

    def completed(self, scale: float) -> Self:
        """Return the loss with all its parameters stated, in the unit of targets that will be divided by ``scale``."""
        return self

    def for_targets(self, scale: float) -> Self:
        """Return the loss for targets that were divided by ``scale``: parameters in their unit are divided as well."""
        return self

    def clipped(self, floor: float) -> Self:
        """Return the loss with probabilities clipped to [floor, 1]; a loss without probabilities returns itself."""
        return self

    def scaled_derivatives(self, u: Array, y: Array, scale: Array) -> Norms:
        """Turn predictions of shape (n, S, K) into ``scale`` (n,) times their derivatives, in place.

        Returns
        -------
        Norms of the derivatives themselves.
        """
        derivatives = self.derivatives(u, y[:, None])
        size = np.abs(derivatives)
        np.multiply(derivatives, scale.astype(u.dtype)[:, None, None], out=u)
        if u.shape[-1] == 1:
            return Norms(size[..., 0], size[..., 0])
        squares = np.square(size, dtype=np.float64).sum(axis=-1)
        return Norms(size.sum(axis=-1, dtype=np.float64), np.sqrt(squares))


@parameters
class ScalarLoss(Loss):
    """Loss of one prediction: the formulas are elementwise, numbers or arrays of one shape."""

    @property
    @abstractmethod
    def derivative_bound(self) -> float:
        """Return the supremum of the derivative's absolute value."""

    @property
    def derivative_l1(self) -> float:
        """Return the bound: with one output both norms are the absolute value."""
        return self.derivative_bound

    @property
    def derivative_l2(self) -> float:
        """Return the bound, see `derivative_l1`."""
        return self.derivative_bound

    @abstractmethod
    def value(self, u: Array, y: Array) -> Array:
        """Return the loss of predictions u, in their precision."""

    @abstractmethod
    def derivative(self, u: Array, y: Array) -> Array:
        """Return the first derivative in u."""

    @abstractmethod
    def curvature(self, u: Array, y: Array) -> Array:
        """Return the second derivative in u; where the derivative has a kink, any one of them."""

    def outputs(self, data: DatasetInfo) -> int:
        """Return 1."""
        return 1

    def losses(self, u: Array, y: Array) -> Array:
        """Return the value for each record."""
        return self.value(u[..., 0].astype(np.float64), y)

    def derivatives(self, u: Array, y: Array) -> Array:
        """Return the derivative for each record."""
        return self.derivative(u[..., 0], y)[..., None]


@parameters
class BinaryLoss(ScalarLoss):
    """Loss for two classes, with targets -1 and +1."""

    metric = "test_error"
    scored = True

    def check(self, data: DatasetInfo) -> None:
        """Raise a ValueError if there are not two classes."""
        if data.n_classes != 2:
            has = f"{data.n_classes} classes" if data.n_classes else "numbers as targets"
            other = "softmax" if data.n_classes else "squared or huber"
            raise ValueError(f"it needs two classes, {data.name} has {has}; use {other}")

    def targets(self, y: Array, dtype: np.dtype[Any]) -> Array:
        """Return -1 for the first class, +1 for the second."""
        return (2 * y - 1).astype(dtype)

    def mistakes(self, u: Array, y: Array) -> Array:
        """Return 1 for the wrong class; a tie goes to the first."""
        return np.where(y > 0, u[..., 0] <= 0, u[..., 0] > 0)


@parameters
class RegressionLoss(ScalarLoss):
    """Loss for targets that are numbers."""

    metric = "test_rmse"
    fraction = False

    def check(self, data: DatasetInfo) -> None:
        """Raise a ValueError if targets are no numbers."""
        if data.n_classes:
            raise ValueError(
                f"it needs numbers as targets, {data.name} has {data.n_classes} classes; use softmax or logistic"
            )

    def targets(self, y: Array, dtype: np.dtype[Any]) -> Array:
        """Return targets as they are."""
        return y.astype(dtype)

    def mistakes(self, u: Array, y: Array) -> Array:
        """Return squared errors."""
        return np.square(u[..., 0].astype(np.float64) - y)

    def score(self, mean: Array) -> Array:
        """Return the root of the mean squared error."""
        return np.sqrt(mean)

    def variables(self, data: DatasetInfo) -> dict[str, tuple[str, str]]:
        """Return units and long names; the metric has the unit of the targets."""
        metric = (data.target_unit, "root mean squared test error")
        return {**super().variables(data), self.metric: metric}

    def unit(self, data: DatasetInfo) -> str:
        """Return the square of the targets' unit; 1 if they are scaled."""
        scaled = data.target_range is not None
        return "1" if scaled or data.target_unit == "1" else f"({data.target_unit})2"
