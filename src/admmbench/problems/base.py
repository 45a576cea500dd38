"""A problem before it has data: a loss, a penalty with its weight, and bounds on records."""

from __future__ import annotations

import dataclasses
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Generic, Literal, Protocol, Self, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import DTypeLike, NDArray

from admmbench.datasets import ColumnSplit, DatasetInfo, Split
from admmbench.problems.feasible import Feasible, minimize_in_ball
from admmbench.problems.loss import Form, Loss
from admmbench.problems.newton import lbfgs
from admmbench.problems.penalties import PENALTIES, Penalty, PenaltyName
from admmbench.problems.used_columns import gather
from admmbench.sensitivity import Sensitivity
from admmbench.validation import Length, Strict

Array = NDArray[Any]
# A search ends when a line search gains nothing more than rounding.
_SEARCH = {"maxiter": 50_000, "maxfun": 100_000, "maxcor": 50, "ftol": 1e-16, "gtol": 1e-9}
_MOST_SEARCHES = 100
Sharing = Literal["rows", "columns", "constrained"]
"""Parts of a problem that agents hold: rows or columns of the data, or constraints on a shared model."""


class RecordBounds(Strict):
    """Norms that records are scaled down to; None: bounded by the data set's domain alone."""

    max_l1_norm: Length | None = None
    max_l2_norm: Length | None = None


@dataclass(frozen=True)
class Setting:
    """Seeds, precisions and sensitivity with which a problem is joined with data."""

    n_seeds: int
    """S, the number of seeds in the batch."""
    sensitivity: Literal["local", "global"]
    """Which bounds gradients come with: ``local``, those of the agent's own records, or ``global``, of all admissible
    ones. Problems without rows have sensitivities of their own."""
    dtype: np.dtype[Any]
    """Precision of models and records."""
    released: np.dtype[Any]
    """Precision of all that noise is added to."""
    unit: Literal["record", "agent"] = "record"
    """What neighbouring data sets differ in: a record, or all records of an agent."""


@dataclass(frozen=True)
class Problem(ABC):
    """Parameters of an objective; `bind` joins them with data."""

    sharing: ClassVar[Sharing]

    penalty_name: PenaltyName
    """``l1`` or ``l2``."""
    strength: float
    """Weight of the penalty."""
    loss: Loss | Form
    """The formulas of the objective without its penalty."""

    @property
    def penalty(self) -> Penalty:
        """Return the penalty R itself."""
        return PENALTIES[self.penalty_name]

    @property
    def module(self) -> str:
        """Name the module that has its formulas."""
        return type(self.loss).__module__

    @property
    def judged_by(self) -> str:
        """Return the name of the variable by which methods are compared."""
        return self.loss.metric

    @property
    def fractions(self) -> list[str]:
        """Return the variables that are a part of the records, 0 to 1."""
        return [self.loss.metric] if self.loss.fraction else []

    @abstractmethod
    def check(self, data: DatasetInfo) -> None:
        """Raise a ValueError if a data set lacks something that the problem needs."""

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """Return the settings as a user would write them, complete."""

    def completed(self, data: DatasetInfo) -> Self:
        """Return the problem with all parameters of its loss stated, as it has them on a data set."""
        return dataclasses.replace(self, loss=self.loss.completed(data.target_scale))

    def bind(
        self,
        split: Split | ColumnSplit,
        n_seeds: int,
        sensitivity: Literal["local", "global"] = "local",
        dtype: DTypeLike = np.float32,
        released: DTypeLike | None = None,
        unit: Literal["record", "agent"] = "record",
    ) -> BoundProblem[Any]:
        """Join parameters and data; see `Setting`. The default of ``released`` is the precision of models."""
        loss = self.loss.for_targets(split.dataset.target_scale)
        precision = np.dtype(dtype)
        released = np.dtype(released or precision)
        setting = Setting(n_seeds, sensitivity, precision, released, unit)
        return dataclasses.replace(self, loss=loss).bound(split, setting)

    @abstractmethod
    def bound(self, split: Any, setting: Setting) -> BoundProblem[Any]:
        """Return the problem on data whose rows or columns are partitioned, as `sharing` states."""

    @abstractmethod
    def variables(self, data: DatasetInfo) -> dict[str, tuple[str, str]]:
        """Return units and long name of what evaluation measures, by name; the metric comes first."""


@dataclass(frozen=True)
class LossProblem(Problem):
    """Problem over records."""

    loss: Loss
    loss_name: str
    """Name of the loss, as the user wrote it."""

    def check(self, data: DatasetInfo) -> None:
        """Raise a ValueError if a data set has no targets as the loss takes them."""
        if data.drawn:
            raise ValueError(
                f"problem: {data.name} has no records for the loss {self.loss_name}; leave the problem out"
            )
        try:
            self.loss.check(data)
            if not self.module.startswith("admmbench."):
                self.loss.check_shapes(data)
        except ValueError as error:
            raise ValueError(f"problem: loss {self.loss_name}: {error}") from None

    def describe(self) -> dict[str, Any]:
        """Return the settings as a user would write them, complete."""
        # Parameters without a repr serve the authors' code alone: they are stated where they are set.
        parameters = {
            field.name: value
            for field in dataclasses.fields(self.loss)
            if (value := getattr(self.loss, field.name)) or field.repr
        }
        loss = {"name": self.loss_name, **parameters} if parameters else self.loss_name
        return {"loss": loss, "penalty": self.penalty_name, "strength": self.strength}

    def variables(self, data: DatasetInfo) -> dict[str, tuple[str, str]]:
        """Return units and long name of the variables of the loss."""
        return self.loss.variables(data)


def on_host(array: Any) -> Any:
    """Return an array that NumPy can use: an array of a GPU is copied, any other is returned as it is."""
    return array.get() if hasattr(array, "__cuda_array_interface__") else array


class State(Protocol):
    """Variables of a method, as far as its problem evaluates them."""

    @property
    def w(self) -> Array:
        """Return the global model, shape (S, K, J), or (S, K, J + 1) with an intercept, which no penalty counts."""


@runtime_checkable
class LocalModels(State, Protocol):
    """State of a method over rows: each agent has a model."""

    @property
    def z(self) -> Array:
        """Return the local models, shape (P, S, K, J)."""


def weights_and_intercepts(w: Array, n_features: int) -> tuple[Array, Array]:
    """Split models into weights of features (..., K, J) and intercepts (..., K), which are 0 for a model without."""
    return w[..., :n_features], w[..., n_features:].sum(axis=-1)


Fit = Callable[[Array, Array, Array, float], Array]
"""Function that finds a model W for sum_i weights_i loss(W x_i, y_i) + strength R(W).

Its arguments are records (n, J), in float64, targets (n,), weights (n,) and the strength.
"""


PartsT = TypeVar("PartsT")
"""Part of a problem that a block of agents holds; ``release_shape`` is the shape of one agent's release for a seed."""
Map = Callable[[Callable[[Any], Any], Sequence[Any]], list[Any]]
"""Function that maps a function over a list, in parallel."""


class BoundProblem(ABC, Generic[PartsT]):
    """Problem on a data set that is partitioned over agents, for a batch of seeds."""

    n_seeds: int
    n_agents: int
    n_samples: int
    """S, P and the number of training records."""
    dtype: np.dtype[Any]
    """Precision of the arithmetic."""
    model_shape: tuple[int, int]
    """(K, J), shape of the model of one seed."""

    @property
    @abstractmethod
    def work_per_agent(self) -> float:
        """Count multiplications and additions of one gradient, for an average agent and all seeds."""

    @abstractmethod
    def block(self, agents: slice) -> PartsT:
        """Return the parts of some agents."""

    @abstractmethod
    def evaluate(self, state: State, blocks: Sequence[PartsT], run: Map) -> dict[str, Array]:
        """Measure a state; arrays of shape (S,), named as by `Problem.variables`."""

    def mistakes(self, state: State, run: Map) -> Array | None:
        """Tell which test records each seed's model gets wrong, shape (S, R); None where nothing is classified."""
        return None


class BoundLoss(BoundProblem[PartsT]):
    """Bound problem over records."""

    loss: Loss
    penalty: Penalty
    """The two parts of the objective."""

    feasible: Feasible | None = None
    """W, where models are feasible; None: everywhere."""

    def minimize(self, X: Array, y: Array, weights: Array, strength: float) -> Array:
        """Find the best feasible model for some records, shape (K, J), for a convex loss, in double precision.

        With an l1 penalty, steps along both parts of an entry, or against a bound, can end a search of `lbfgs` early.
        A new search forgets these steps and goes on, until that gains nothing.
        """
        loss, penalty, total = self.loss, self.penalty, weights.sum()
        shape = (self.model_shape[0], X.shape[1])
        weight = strength / total

        def objective(v: Array) -> tuple[float, Array]:
            W = v.reshape(shape)
            u = (X @ W.T)[:, None]
            value = float(weights @ loss.losses(u.copy(), y[:, None])[:, 0] / total)
            loss.scaled_derivatives(u, y, weights)
            gradient = (u[:, 0].T @ X) / total
            if penalty.smooth:
                value += weight * float(penalty.value(W))
                gradient += weight * penalty.gradient(W)
            return value, gradient.ravel()

        largest = (self.feasible and self.feasible.box) or math.inf

        def search(function: Callable[[Array], tuple[float, Array]], start: Array) -> Array:
            if penalty.smooth:
                return lbfgs(function, start, 0.0, _SEARCH, largest).x
            lowest = np.inf
            for _ in range(_MOST_SEARCHES):
                result = lbfgs(function, start, weight, _SEARCH, largest)
                start = result.x
                if not result.fun < lowest:
                    break
                lowest = result.fun
            return start

        start = np.zeros(math.prod(shape))
        if self.feasible and self.feasible.ball:
            return minimize_in_ball(objective, search, start, self.feasible.ball).reshape(shape)
        return search(objective, start).reshape(shape)


@dataclass(frozen=True)
class Gradient:
    """Gradient of the loss: a sum over each agent's records, divided by a number."""

    entries: Array
    """Entries of `value` that can differ from zero, shape (B, S, K, W): see `admmbench.problems.used_columns`."""
    bound: Callable[[], Sensitivity]
    """Function that computes the sensitivity; methods without noise on the gradient do not call it."""
    position: Array | None = None
    """Place in ``entries`` of each of the J columns, shape (B, J); None if all are there, in their order."""

    @cached_property
    def value(self) -> Array:
        """Return the gradient of the loss, shape (B, S, K, J), without the penalty."""
        if self.position is None:
            return self.entries
        return gather(self.entries, self.position)

    @cached_property
    def sensitivity(self) -> Sensitivity:
        """Return the largest contribution of one record to the value."""
        return self.bound()
