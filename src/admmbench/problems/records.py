"""Records of all agents, with their weights in the objective and bounds over all admissible records.

`admmbench.problems.rows` states the objective, and solves and evaluates it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from admmbench.datasets import DatasetInfo, RowSelection, Split, n_rows
from admmbench.problems import metrics
from admmbench.problems.base import (
    Array,
    BoundLoss,
    LossProblem,
    PartsT,
    RecordBounds,
    Setting,
    Sharing,
)
from admmbench.problems.batches import chunks, predict, scale_down, sparse_width
from admmbench.problems.feasible import Feasible
from admmbench.problems.loss import Loss
from admmbench.problems.needs import require
from admmbench.problems.sparse import MOST, column_type, density

# Records that go forward and backward together: they are still in the cache for the second product.
CHUNK_BYTES = 1_600_000
_FEWEST_ROWS = 64
_UNBOUNDED = "needs bounded records; those of {data.name} are not: set problem.records, such as {{max_l2_norm: 1}}"
# Time of the compiled loop for one prediction, over that of a matrix product.
_LOOP_COST = 8


class Suprema(NamedTuple):
    """Suprema of the norms of a derivative, or of a record's contribution."""

    l1: float
    l2: float
    linf: float


@dataclass(frozen=True)
class RowParameters(LossProblem):
    """Parameters of a problem over rows."""

    sharing: ClassVar[Sharing] = "rows"

    per: Literal["agent", "total"]
    """Whose objective ``strength`` is a weight in: that of each ``agent``, or of all together (``total``)."""
    average: Literal["records", "agents"]
    """Mean over all ``records``, or over those of each of the ``agents``, see `admmbench.problems.rows`."""
    records: RecordBounds
    """Bounds on records; longer ones are scaled down."""
    feasible: Feasible | None = None
    """W, where models are feasible; None: everywhere."""
    local_error: bool = False
    """Whether the agents' own models are tested, too, which takes P times the test of the global one."""
    metric: metrics.Metric | None = None
    """What methods are compared by; None: the metric of the loss."""
    by_client: int | None = None
    """Test records that an agent needs to be tested apart; None: no agent is."""

    @property
    def judged_by(self) -> str:
        """Return the variable of the stated metric, or of the loss."""
        return metrics.FACTS[self.metric].variable if self.metric else self.loss.metric

    @property
    def fractions(self) -> list[str]:
        """Return the variables that are a part of the records, 0 to 1."""
        names = super().fractions
        if self.metric and metrics.FACTS[self.metric].fraction:
            names.append(self.judged_by)
        if self.by_client and self.loss.fraction:
            names.extend(facts.variable for facts in metrics.BY_CLIENT.values())
        return names

    def check(self, data: DatasetInfo) -> None:
        """Local models are tested by their errors, which classes have; a metric suits targets and loss."""
        super().check(data)
        if self.metric:
            metrics.check(self.metric, self.loss, self.loss_name, data)
        if self.local_error and not self.loss.fraction:
            raise ValueError(
                f"problem.local_error: {self.loss_name} is no loss for classes; leave local_error out"
            )

    def check_worst_case(self, data: DatasetInfo, who: str = "sensitivity: global") -> None:
        """Raise a ValueError if admissible records are not bounded, or a record's share of a gradient is not."""
        require(who, ("bounded derivative",), self)
        if not all(map(math.isfinite, data.domain)) and self.records == RecordBounds():
            raise ValueError(f"{who} {_UNBOUNDED.format(data=data)}")

    def describe(self) -> dict[str, Any]:
        """Return the settings as a user would write them, complete."""
        bounds = self.records.model_dump(exclude_none=True)
        settings = {
            **super().describe(),
            "per": self.per,
            "average": self.average,
            "records": bounds,
        }
        if self.feasible:
            settings["feasible"] = self.feasible.model_dump(exclude_none=True)
        if self.local_error:
            settings["local_error"] = True
        if self.metric and self.judged_by != self.loss.metric:
            settings["metric"] = self.metric
        if self.by_client:
            settings["by_client"] = self.by_client
        return settings

    def variables(self, data: DatasetInfo) -> dict[str, tuple[str, str]]:
        """Return the variables of the loss, and what is measured of the local models."""
        variables = self.loss.variables(data)
        if self.average == "agents":
            long_name = "mean training loss of the local models"
            variables["empirical_loss"] = (self.loss.unit(data), long_name)
        if self.local_error:
            variables["local_error"] = ("1", "mean test error of the local models")
        if self.metric and metrics.is_measured(self.metric):
            facts = metrics.FACTS[self.metric]
            variables[facts.variable] = (facts.unit, facts.long_name)
        if self.by_client:
            unit, name = variables[self.loss.metric]
            variables |= {
                facts.variable: (unit, f"{name}, {facts.long_name}")
                for facts in metrics.BY_CLIENT.values()
            }
        return variables


class BoundRecords(BoundLoss[PartsT]):
    """Records of a data set whose rows are partitioned over agents, for a batch of seeds.

    Raises
    ------
    ValueError
        If the data set lacks the targets of the loss, or there is no worst case to bound.
    """

    def __init__(self, problem: RowParameters, split: Split, setting: Setting) -> None:
        data, dtype = split.dataset, setting.dtype
        problem.check(data.info)
        if setting.sensitivity == "global":
            problem.check_worst_case(data.info)
        self.problem, self.loss, self.penalty = problem, problem.loss, problem.penalty
        self.setting = setting
        self.feasible = problem.feasible
        self.n_seeds, self.sensitivity = setting.n_seeds, setting.sensitivity
        self.unit = setting.unit
        self.dtype, self.released = dtype, setting.released
        self.split = split
        self.model_shape = (self.loss.outputs(data.info), data.n_features)
        self.size = math.prod(self.model_shape)
        self.n_agents = len(split.shares)
        sizes = [n_rows(shares[0][1]) for shares in split.shares]
        self.n_samples, self.fewest = sum(sizes), max(1, min(sizes))
        self.holders = self.n_agents if self.unit == "agent" else sum(size > 0 for size in sizes)
        """Number of agents that add noise to a sum: those that have records; or all, where even that is protected."""
        self._box = max(abs(bound) for bound in data.domain)
        self.X = scale_down(data.X_train, problem.records, dtype)
        self.y = np.asarray(
            self.loss.targets(data.y_train, dtype)
        )  # views of files are slow to cut
        whole = self.model_shape[1] * dtype.itemsize
        self.chunk = max(_FEWEST_ROWS, int(CHUNK_BYTES / (self._bytes_left or whole)))
        self.whole_chunk = max(_FEWEST_ROWS, CHUNK_BYTES // whole)

    @cached_property
    def test_data(self) -> tuple[Array, Array]:
        """Records and targets of which `held_out` selects those that test."""
        data = self.split.dataset
        if self.split.held_out is None:
            X = scale_down(data.X_test, self.problem.records, self.dtype)
            return X, self.loss.targets(data.y_test, self.dtype)
        return self.X, self.y

    @cached_property
    def held_out(self) -> list[tuple[slice, RowSelection]]:
        """Pairs of some seeds, and their test rows."""
        everything = slice(0, self.n_seeds), slice(0, len(self.test_data[1]))
        return self.split.held_out or [everything]

    def measure_further(self, w: Array) -> dict[str, Array]:
        """Measure what is asked for besides the metric of the loss: another metric, and errors by client.

        Models have shape (S, K, J), values (S,).
        """
        values, asked = dict[str, Array](), self.problem.metric
        if asked and metrics.is_measured(asked):
            found = values[self.problem.judged_by] = np.empty(self.n_seeds)
            for seeds, rows in self.held_out:
                X, y = (array[rows] for array in self.test_data)
                found[seeds] = metrics.measure(asked, self.loss, predict(X, w[seeds]), y)
        if self.problem.by_client:
            values |= metrics.summarize_clients(self.client_errors(w, self.problem.by_client))
        return values

    def client_errors(self, w: Array, fewest: int) -> Array:
        """Return the metric of the loss on each agent's own test records, of models of shape (S, K, J).

        The shape is (C, S), for the C agents with enough test records; ValueError if test records belong to no agent,
        or no agent has enough.
        """
        if self.split.test_owners is None:
            raise ValueError("problem.by_client: test records belong to no agent")
        X, y = self.test_data
        mistakes = [
            self.loss.mistakes(predict(X[rows], w), y[rows][:, None])
            for rows in chunks(len(y), self.whole_chunk)
        ]
        means = metrics.means_by_client(np.concatenate(mistakes), self.split.test_owners, fewest)
        return self.loss.score(means) * self.split.dataset.target_scale

    @property
    def _bytes_left(self) -> float | None:
        """Bytes that products read of a record if they leave out its zeros; None if they do not."""
        K, J = self.model_shape
        seeds = max(span.stop - span.start for shares in self.split.shares for span, _ in shares)
        width: float | None = None
        if seeds * K == 1:
            width = sparse_width(self.X)
        elif (part := density(self.X)) <= MOST:
            width = max(part * J / 2, 1)  # the two products read copies of their own
        return width and width * (self.dtype.itemsize + column_type(J).itemsize)

    @property
    def work_per_agent(self) -> float:
        """Count multiplications and additions of a gradient, as of a matrix product: an average agent, all seeds."""
        work = 4 * self.n_samples / self.n_agents * self.n_seeds * self.size
        return _LOOP_COST * work if self.model_shape[0] == 1 else work

    # Bounds over all admissible records

    @cached_property
    def bound_l1(self) -> float:
        """Return the largest ``||x||_1`` of an admissible record."""
        J = self.model_shape[1]
        return float(min(self._most_l1, math.sqrt(J) * self.bound_l2))

    @cached_property
    def bound_l2(self) -> float:
        """Bound on ||x||_2 of an admissible record: where ``|x_j| <= b`` and ||x||_1 <= B, ||x||_2^2 <= B min(b, B)."""
        most = self.problem.records.max_l2_norm or math.inf
        return float(min(math.sqrt(self._most_l1 * min(self._box, self._most_l1)), most))

    @property
    def bound_linf(self) -> float:
        """Return the largest absolute value of an entry of an admissible record."""
        return min(self._box, self.bound_l1, self.bound_l2)

    @property
    def _most_l1(self) -> float:
        largest = self._box * self.model_shape[1]
        return min(largest, self.problem.records.max_l1_norm or largest)

    @property
    def gradient_bound(self) -> float:
        """Largest l2 norm of an admissible record's gradient: c1 of huang2019; ValueError if there is none."""
        if math.isinf(self.bound_l2):
            raise ValueError(
                f"the worst case over records {_UNBOUNDED.format(data=self.split.dataset)}"
            )
        return self.steepest(self.loss).l2 * self.bound_l2

    def steepest(self, loss: Loss) -> Suprema:
        """Return suprema of the derivative's norms; clipping raises each of K probabilities by at most the floor."""
        K = self.model_shape[0]
        raised = loss.floor
        return Suprema(
            loss.derivative_l1 + K * raised,
            loss.derivative_l2 + math.sqrt(K) * raised,
            loss.derivative_linf + raised,
        )

    def worst_case(self, loss: Loss) -> Suprema:
        """Return suprema of the norms of an admissible record's undivided contribution, derivative times record."""
        derivative = self.steepest(loss)
        return Suprema(
            derivative.l1 * self.bound_l1,
            derivative.l2 * self.bound_l2,
            derivative.linf * self.bound_linf,
        )

    def spread(self, loss: Loss) -> tuple[float, float]:
        """Return how far the worst contribution reaches in l2 and in its largest entry, over its bound in l1."""
        l1, l2, linf = self.worst_case(loss)
        return (l2 / l1, linf / l1) if math.isfinite(l1) else (1.0, 1.0)

    def zeros(self, *leading: int) -> Array:
        """Return models of zeros, shape (..., K, J), where the run computes."""
        return np.zeros((*leading, *self.model_shape), self.dtype)

    # Penalty

    @property
    def own_strength(self) -> float:
        """Return the weight of the penalty in one agent's objective."""
        agents = self.n_agents if self.problem.per == "total" else 1
        return self.problem.strength / agents

    @property
    def total_strength(self) -> float:
        """Return the weight of the penalty in the objectives of all agents together."""
        agents = self.n_agents if self.problem.per == "agent" else 1
        return self.problem.strength * agents

    @property
    def mean_strength(self) -> float:
        """Return the weight of the penalty beside a mean of losses over an agent's own records, see `Objective`."""
        return self.total_strength / (self.n_agents if self.agents_alike else 1)

    @property
    def penalty_curvature(self) -> float:
        """Bound on the curvature of an agent's penalty: (lambda / n) c4 of huang2019, theorem 4."""
        return self.own_strength * self.penalty.curvature

    @property
    def penalty_gradient_bound(self) -> float:
        """Bound on the l2 norm of an agent's penalty's subgradient: (lambda / n) c2 of huang2019, theorem 3."""
        return self.own_strength * self.penalty.gradient_bound(self.size)

    def add_penalty_gradient(
        self, gradient: Array, models: Array, strength: float | None = None
    ) -> Array:
        """Add the (sub)gradient of the penalty in place.

        Parameters
        ----------
        gradient
            Gradient of the loss.
        models
            Models, of the same shape.
        strength
            Weight of the penalty; `mean_strength` if absent, which belongs to means over an agent's own records.
        """
        weight = self.mean_strength if strength is None else strength
        gradient += gradient.dtype.type(weight) * self.penalty.gradient(models)
        return gradient

    def counts(self, n_samples: Array) -> Array:
        """Return ``n_p``, the divisor of each agent's sum in the objective, from its number of records."""
        return (
            np.maximum(n_samples, 1)
            if self.agents_alike
            else np.full(len(n_samples), self.n_samples)
        )

    @property
    def agents_alike(self) -> bool:
        """Return whether agents have equal weights in the objective, instead of records."""
        return self.problem.average == "agents"
