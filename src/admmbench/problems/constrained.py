"""Problems with constraints at the agents and at the server.

    min_w  sum_i f_i(w) + h(w)   subject to   c_0(w) in -K_0 (server),  c_i(w) in -K_i (agents),

(1) of he2023. `Constrained` states f_i and c_i as means of a loss over groups of records: Neyman-Pearson
classification (26) and fairness (28) are settings of it. `Quadratic` has random quadratics under linear equations (25),
which a data set without records draws from the seed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from admmbench.datasets import Dataset, DatasetInfo, RowSelection, Split, n_rows, synthetic_qp
from admmbench.problems.base import (
    Array,
    BoundProblem,
    LossProblem,
    Map,
    Problem,
    Setting,
    Sharing,
    State,
)
from admmbench.problems.batches import rows_of_seed
from admmbench.problems.cones import Cone, ConeName
from admmbench.problems.constraints import Functions, Means, Quadratics
from admmbench.problems.loss import Form, ScalarLoss
from admmbench.validation import Number, Strict

Where = dict[str, str | int]
"""Group of records: what they have in common, by the name of an attribute; ``label`` is their class."""

_SPREAD = ("mean", "min", "max")


class MeanLoss(Strict):
    """Mean of the loss over a group of an agent's records."""

    where: Where = {}


class Disparity(Strict):
    """Difference of the mean losses of two groups."""

    between: Annotated[list[Where], Field(min_length=2, max_length=2)]


class LinearMap(Strict):
    """Linear map ``C w + d``."""

    matrix: list[list[Number]]
    offset: list[Number]

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if len({len(row) for row in self.matrix}) != 1 or len(self.matrix) != len(self.offset):
            raise ValueError("matrix needs rows of one length, and offset a number for each")
        return self


class Constraint(Strict):
    """Function with its bound, and the agents or the server that it constrains."""

    mean_loss: MeanLoss | None = None
    disparity: Disparity | None = None
    linear: LinearMap | None = None
    at_most: Number | None = None
    within: Annotated[Number, Field(ge=0)] | None = None
    cone: ConeName | None = None
    at: Literal["agents", "server", "everywhere"] = "agents"

    @model_validator(mode="after")
    def _one_function_with_its_bound(self) -> Self:
        bounds = {"mean_loss": "at_most", "disparity": "within", "linear": "cone"}
        functions = [name for name in bounds if getattr(self, name) is not None]
        if len(functions) != 1:
            raise ValueError(
                f"a constraint is on one of {', '.join(bounds)}, got {functions or 'none'}"
            )
        wanted = bounds[functions[0]]
        for bound in bounds.values():
            if (getattr(self, bound) is None) == (bound == wanted):
                raise ValueError(
                    f"a constraint on {functions[0]} takes {wanted}, and no other bound"
                )
        return self

    @property
    def groups(self) -> list[Where]:
        """Return the groups whose mean losses it bounds."""
        if self.disparity:
            return self.disparity.between
        return [self.mean_loss.where] if self.mean_loss else []


class _ConstrainedProblem(Problem):
    """Problem with constraints, of either kind."""

    sharing: ClassVar[Sharing] = "constrained"

    def variables(self, data: DatasetInfo) -> dict[str, tuple[str, str]]:
        """Return units and long names of the objective and of feasibility."""
        unit = self.loss.unit(data)
        return {
            "train_loss": (unit, "objective"),
            "feasibility": ("1", "largest violation of a constraint"),
            "feasibility_server": ("1", "largest violation of a constraint at the server"),
            "feasibility_agents_mean": ("1", "mean over agents of the largest violation"),
            "feasibility_agents_max": ("1", "largest violation of an agent's constraint"),
        }


@dataclass(frozen=True)
class Constrained(_ConstrainedProblem, LossProblem):
    """Problem whose objective and constraints are means of a loss over groups of records."""

    loss: ScalarLoss
    objective: MeanLoss
    """Group whose mean loss is f_i, times 1/n: the objective is a mean over agents."""
    constraints: tuple[Constraint, ...]
    """The constraints."""
    server: float
    """Part of the test records that the server holds, the first ones; the others test. If it holds all, they test as
    well."""

    def describe(self) -> dict[str, Any]:
        """Return the settings as a user would write them, complete."""
        return {
            **super().describe(),
            "objective": {"mean_loss": self.objective.model_dump()},
            "constraints": [
                constraint.model_dump(exclude_none=True) for constraint in self.constraints
            ],
            "server": self.server,
        }

    def check(self, data: DatasetInfo) -> None:
        """Raise a ValueError if a data set lacks a group, or a linear map does not fit it."""
        super().check(data)
        known = ["label", *data.attributes]
        for where in self.groups_by_name(data.class_names).values():
            for name in where:
                if name not in known:
                    raise ValueError(
                        f"problem: where: {data.name} does not know {name!r} of its records (known: {', '.join(known)})"
                    )
        for constraint in self.constraints:
            linear = constraint.linear
            if linear and len(linear.matrix[0]) != data.n_features:
                raise ValueError(
                    f"problem: linear: the matrix has {len(linear.matrix[0])} columns, "
                    f"{data.name} has {data.n_features} features"
                )
        if not self.server and any(
            constraint.groups for constraint in self.constraints_of("server")
        ):
            raise ValueError(
                "problem: server: it has constraints on records and no records; give it a part of the test records, "
                "such as server: 1"
            )

    def constraints_of(self, holder: Literal["agents", "server"]) -> list[Constraint]:
        """Return the constraints of every agent, or of the server."""
        return [
            constraint for constraint in self.constraints if constraint.at in (holder, "everywhere")
        ]

    def groups(self) -> list[Where]:
        """Return all groups, each once, that of the objective first."""
        groups = [self.objective.where]
        for constraint in self.constraints:
            groups += [where for where in constraint.groups if where not in groups]
        return groups

    def groups_by_name(self, class_names: Sequence[str]) -> dict[str, Where]:
        """Return all groups, by the name that each is measured by; ValueError if two have one."""
        groups: dict[str, Where] = {}
        for where in self.groups():
            name = slug(where, class_names)
            if (other := groups.setdefault(name, where)) != where:
                raise ValueError(
                    f"problem: where: {other} and {where} would both be measured as loss_{name}; write a group in one "
                    "way, and give groups names that differ in a letter or digit"
                )
        return groups

    def bound(self, split: Split, setting: Setting) -> BoundConstrained:
        """Return the problem on records that are partitioned over agents."""
        return _BoundMeans(self, split, setting)

    def variables(self, data: DatasetInfo) -> dict[str, tuple[str, str]]:
        """Return also the variables of the loss, mean losses of groups over agents, and bounded differences."""
        unit = self.loss.unit(data)
        variables = {**self.loss.variables(data), **super().variables(data)}
        for name, where in self.groups_by_name(data.class_names).items():
            for what in _SPREAD:
                long_name = f"{what} over agents of the loss of {describe_group(where)}"
                variables[f"loss_{name}_{what}"] = unit, long_name
        if any(constraint.disparity for constraint in self.constraints):
            for what in _SPREAD:
                long_name = f"{what} difference of bounded losses, agents and server"
                variables[f"disparity_{what}"] = unit, long_name
        if any(constraint.disparity for constraint in self.constraints_of("server")):
            long_name = "largest difference of bounded losses at the server"
            variables["disparity_server"] = (unit, long_name)
        return variables


@dataclass(frozen=True)
class Quadratic(_ConstrainedProblem):
    """Minimisation of ``sum_i (w^T A_i w / 2 + b_i^T w)`` subject to ``C_i w + d_i = 0``, i = 0..n: (25) of he2023.

    The matrices and vectors are drawn from the seed.
    """

    loss: Form = field(default_factory=Form)

    def check(self, data: DatasetInfo) -> None:
        """Raise a ValueError if a data set has records: nothing takes them."""
        if not data.drawn:
            raise ValueError(
                "problem: quadratic is for data sets that draw instances, such as synthetic_qp; "
                f"{data.name} has records"
            )

    def describe(self) -> dict[str, Any]:
        """Return the settings as a user would write them, complete."""
        return {"loss": "quadratic", "penalty": self.penalty_name, "strength": self.strength}

    def bound(self, split: Split, setting: Setting) -> BoundConstrained:
        """Return the instances that the seeds draw."""
        return _BoundQuadratics(self, split, setting)


class BoundConstrained(BoundProblem[Functions]):
    """Constrained problem for a batch of seeds, in double precision."""

    server: Functions
    """c_0; its objective is 0."""
    undefined: Array
    """Seeds for which a mean is over no record, shape (S,)."""

    def __init__(self, problem: Constrained | Quadratic, split: Split, setting: Setting) -> None:
        n_seeds = setting.n_seeds
        self.problem, self.penalty, self.strength = problem, problem.penalty, problem.strength
        self.n_seeds, self.n_agents, self.dtype = n_seeds, len(split.shares), np.dtype(np.float64)
        self.n_samples = sum(n_rows(shares[0][1]) for shares in split.shares)
        self.model_shape = (1, split.dataset.n_features)
        self.undefined = np.zeros(n_seeds, bool)

    def evaluate(self, state: State, blocks: Sequence[Functions], run: Map) -> dict[str, Array]:
        """Measure objective and feasibility of the global model; arrays of shape (S,)."""
        w = state.w[None, :, 0]
        values = run(lambda block: block.at(w), blocks)
        objective = np.concatenate([value.objective for value in values]).sum(axis=0)
        violations = np.concatenate(
            [
                block.cone.violation(value.constraints)
                for block, value in zip(blocks, values, strict=True)
            ]
        )
        server = self.server.cone.violation(self.server.at(w).constraints)[0]
        return {
            "train_loss": objective + self.strength * self.penalty.value(state.w),
            "feasibility": np.maximum(violations.max(axis=0), server),
            "feasibility_server": server,
            "feasibility_agents_mean": violations.mean(axis=0),
            "feasibility_agents_max": violations.max(axis=0),
        }


class _BoundQuadratics(BoundConstrained):
    """Instances of (25), one for each seed.

    Each agent's part comes from its own stream, so that other agents or seeds do not change it.
    """

    problem: Quadratic

    def __init__(self, problem: Quadratic, split: Split, setting: Setting) -> None:
        super().__init__(problem, split, setting)
        self._instances = split.instances
        self._m = int(split.dataset.settings["m"])
        self.server = self._functions([None])

    @property
    def work_per_agent(self) -> float:
        """Count multiplications and additions of two products with a d x d matrix."""
        return float(4 * self.n_seeds * self.model_shape[1] ** 2)

    def block(self, agents: slice) -> Functions:
        """Draw the parts of some agents."""
        return self._functions(range(self.n_agents)[agents])

    def _functions(self, agents: Sequence[int | None]) -> Quadratics:
        """Draw the quadratics of some agents, or of the server (None)."""
        d, m = self.model_shape[1], self._m
        drawn = [
            [
                synthetic_qp.draw(stream(agent), d, m, objective=agent is not None)
                for stream in self._instances
            ]
            for agent in agents
        ]
        A, b, C, offset = (
            np.array([[getattr(part, name) for part in parts] for parts in drawn])
            for name in ("A", "b", "C", "d")
        )
        return Quadratics(Cone([("zero", m)]), C, offset, None if agents[0] is None else A, b)


class _BoundMeans(BoundConstrained):
    """Means over groups of the agents' records, of which each seed may have its own partition."""

    problem: Constrained
    server: Means

    def __init__(self, problem: Constrained, split: Split, setting: Setting) -> None:
        super().__init__(problem, split, setting)
        data = split.dataset
        problem.check(data.info)
        self._split, self._groups = split, problem.groups()
        self._names = list(problem.groups_by_name(data.class_names))
        self._train, self._test = (_Records(problem, data, part) for part in ("train", "test"))
        shared = all(len(shares) == 1 for shares in split.shares)
        self._rows = [
            [rows_of_seed(shares, seed) for seed in range(1 if shared else self.n_seeds)]
            for shares in split.shares
        ]
        for agent_rows in self._rows:
            self.undefined |= [not self._train.has_all(rows, self._groups) for rows in agent_rows]
        held = round(problem.server * data.n_test)
        self.server = self._functions(self._test, [[slice(0, held)]], "server")
        bounded = [where for c in problem.constraints_of("server") for where in c.groups]
        self.undefined |= not self._test.has_all(slice(0, held), bounded)
        self._tested = slice(held if held < data.n_test else 0, data.n_test)

    @property
    def work_per_agent(self) -> float:
        """Count multiplications and additions of a Hessian for each seed."""
        d = self.model_shape[1]
        return float(2 * self.n_samples / self.n_agents * self.n_seeds * d * (d + 2))

    def block(self, agents: slice) -> Functions:
        """Return means over the records of some agents."""
        return self._functions(self._train, self._rows[agents], "agents")

    def _functions(
        self,
        records: _Records,
        rows: Sequence[Sequence[RowSelection]],
        holder: Literal["agents", "server"],
    ) -> Means:
        """Make means over selections of rows, one for each agent and each seed."""
        constraints, d = self.problem.constraints_of(holder), self.model_shape[1]
        unit = np.eye(len(self._groups))
        combinations: list[Array] = []
        thresholds: list[float | None] = []
        for constraint in constraints:
            indicators = [unit[self._groups.index(where)] for where in constraint.groups]
            if constraint.mean_loss:
                combinations += indicators
                thresholds.append(constraint.at_most)
            elif constraint.disparity:
                # A bound on an absolute value is two bounds.
                first, second = indicators
                combinations += [first - second, second - first]
                thresholds += [constraint.within, constraint.within]
        linear = [(c.linear, c.cone) for c in constraints if c.linear and c.cone]
        linear_cones = [(cone, len(mapping.offset)) for mapping, cone in linear]
        return Means(
            Cone([("nonnegative", len(thresholds)), *linear_cones]),
            np.concatenate([np.zeros((0, d)), *(mapping.matrix for mapping, _ in linear)]),
            np.concatenate([[], *(mapping.offset for mapping, _ in linear)]),
            self.problem.loss,
            *records.stacked(rows),
            unit[0] / self.n_agents if holder == "agents" else 0 * unit[0],
            np.reshape(combinations, (len(thresholds), len(unit))),
            np.array(thresholds, np.float64),
        )

    def evaluate(self, state: State, blocks: Sequence[Any], run: Map) -> dict[str, Array]:
        """Measure test error and loss, objective, feasibility, and losses of groups; arrays of shape (S,)."""
        loss, w = self.problem.loss, state.w[None, :, 0]
        u, y = w[0] @ self._test.X[self._tested].T, self._test.y[self._tested]
        score = loss.score(loss.mistakes(u[..., None], y).mean(axis=1))
        values = {
            loss.metric: score * self._split.dataset.target_scale,
            "test_loss": loss.value(u, y).mean(axis=1),
            **super().evaluate(state, blocks, run),
        }
        means = np.concatenate(run(lambda block: block.at(w).means, blocks))
        for number, name in enumerate(self._names):
            values |= _spread(f"loss_{name}", means[..., number])
        server_gaps = self._gaps("server", self.server.at(w).means)
        if gaps := self._gaps("agents", means) + server_gaps:
            values |= _spread("disparity", np.concatenate(gaps))
        if server_gaps:
            values["disparity_server"] = np.concatenate(server_gaps).max(axis=0)
        return values

    def _gaps(self, holder: Literal["agents", "server"], means: Array) -> list[Array]:
        """Return the absolute difference of two groups' means, shape (B, S), for each constraint on a disparity."""
        pairs = [
            [means[..., self._groups.index(where)] for where in constraint.groups]
            for constraint in self.problem.constraints_of(holder)
            if constraint.disparity
        ]
        return [np.abs(first - second) for first, second in pairs]


def _spread(name: str, values: Array) -> dict[str, Array]:
    """Return mean, minimum and maximum of values over agents, by the names of their variables."""
    return {f"{name}_{what}": getattr(np, what)(values, axis=0) for what in _SPREAD}


class _Records:
    """Records of one part of a data set, and masks of shape (g, n), of those in each group."""

    def __init__(self, problem: Constrained, data: Dataset, part: str) -> None:
        X, y = getattr(data, f"X_{part}"), getattr(data, f"y_{part}")
        self.X = np.asarray(X, np.float64)
        self.y = problem.loss.targets(np.asarray(y), np.dtype(np.float64))
        self.groups = problem.groups()
        self.masks = np.ones((len(self.groups), len(y)), bool)
        for mask, where in zip(self.masks, self.groups, strict=True):
            for name, value in where.items():
                if name == "label":
                    mask &= y == _class_index(value, data.class_names)
                    continue
                attribute = data.attributes[name]
                if value not in attribute.values:
                    raise ValueError(
                        f"problem: where: {name} of {data.name} is one of {', '.join(attribute.values)}, not {value!r}"
                    )
                mask &= getattr(attribute, part) == attribute.values.index(str(value))

    def has_all(self, rows: RowSelection, groups: Sequence[Where]) -> bool:
        """Return whether each group has a record among some rows."""
        return all(self.masks[self.groups.index(where)][rows].any() for where in groups)

    def stacked(self, selections: Sequence[Sequence[RowSelection]]) -> tuple[Array, Array, Array]:
        """Return records, targets and weights of groups for selections of rows, filled up with rows in no group."""
        n = max(n_rows(rows) for agent_rows in selections for rows in agent_rows)
        lead = (len(selections), len(selections[0]))
        X, y = np.zeros((*lead, n, self.X.shape[1])), np.ones((*lead, n))
        groups = np.zeros((*lead, len(self.masks), n))
        for b, agent_rows in enumerate(selections):
            for s, rows in enumerate(agent_rows):
                size, mask = n_rows(rows), self.masks[:, rows]
                X[b, s, :size], y[b, s, :size] = self.X[rows], self.y[rows]
                groups[b, s, :, :size] = mask / mask.sum(axis=1, keepdims=True).clip(1)
        return X, y, groups


def _class_index(value: str | int, class_names: Sequence[str]) -> int:
    """Return the number of a class from its number or its name."""
    if isinstance(value, int) and 0 <= value < len(class_names):
        return value
    if value in class_names:
        return list(class_names).index(str(value))
    raise ValueError(
        f"problem: where: label is a number below {len(class_names)} or one of {', '.join(class_names)}, not {value!r}"
    )


def slug(where: Where, class_names: Sequence[str]) -> str:
    """Make part of a variable's name: ``label_0``, also where a class is given by its name; ``all`` for all records."""
    values = {
        name: _class_index(value, class_names) if name == "label" else value
        for name, value in where.items()
    }
    text = "_".join(f"{name}_{value}" for name, value in values.items())
    return re.sub(r"\W+", "_", text).strip("_").lower() or "all"


def describe_group(where: Where) -> str:
    """Put a group in words."""
    return ", ".join(f"{name} {value}" for name, value in where.items()) or "all records"
