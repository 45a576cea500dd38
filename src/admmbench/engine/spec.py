"""What one run is: the arguments of `simulate`, checked and complete."""

from __future__ import annotations

import difflib
import json
import math
from collections.abc import Mapping
from dataclasses import fields
from functools import cached_property
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    field_serializer,
    model_validator,
)

from admmbench import algorithms, datasets, partition, problems
from admmbench.algorithms.base import Algorithm
from admmbench.privacy import ACCOUNTANTS, Accountant, Privacy

# YAML's infinity, and how people write it.
_INFINITE = (".inf", "inf", "infty", "infinity")


def _number(value: Any) -> Any:
    """Read numbers that YAML 1.1 leaves as text: ``1e-6`` and the spellings of infinity."""
    if not isinstance(value, str):
        return value
    if value.strip().lower() in _INFINITE:
        return math.inf
    try:
        return float(value)
    except ValueError:
        return value


def _seeds(value: Any) -> Any:
    """Seeds as a list, a range, or text such as ``0-9``."""
    if isinstance(value, str):
        first, _, last = value.partition("-")
        if first.isdigit() and (last or first).isdigit():
            return tuple(range(int(first), int(last or first) + 1))
    if isinstance(value, int):
        raise ValueError(f"give the seeds themselves, for example range({value}) or [{value}]")
    return tuple(value) if not isinstance(value, str) else value


def _accountants(names: tuple[str, ...] | None) -> tuple[str, ...] | None:
    """Each once and in one order, so that equal selections are equal runs; pld is always among them."""
    if names is None:
        return None
    for name in names:
        if name not in ACCOUNTANTS:
            raise ValueError(unknown("accountant", name, ACCOUNTANTS))
    return tuple(name for name in ACCOUNTANTS if name in ("pld", *names))


def _as_list(value: Any) -> Any:
    return value if isinstance(value, list | tuple) else [value]


def distinct(values: list[Any]) -> list[Any]:
    """Refuse a list in which a value appears twice."""
    if len(set(values)) < len(values):
        raise ValueError(f"each value may appear once, got {values}")
    return values


Number = Annotated[float, BeforeValidator(_number)]
Epsilon = Annotated[Number, Field(gt=0)]
Epsilons = Annotated[
    list[Epsilon], BeforeValidator(_as_list), AfterValidator(distinct), Field(min_length=1)
]
Seed = Annotated[int, Field(ge=0)]
Accountants = Annotated[tuple[str, ...] | None, AfterValidator(_accountants)]


class Strict(BaseModel):
    """Immutable, and no key that is not declared."""

    model_config = ConfigDict(extra="forbid", frozen=True, ser_json_inf_nan="strings")

    @model_validator(mode="before")
    @classmethod
    def _known_keys(cls, values: Any) -> Any:
        """Name the nearest key where pydantic would only refuse the wrong one."""
        for key in values if isinstance(values, Mapping) else ():
            if key not in cls.model_fields:
                raise ValueError(unknown("key", key, cls.model_fields))
        return values


class RunSpec(Strict):
    """Arguments of `admmbench.simulate` that decide the numbers; see there."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    dataset: str | dict[str, Any] | datasets.Dataset
    algorithm: str
    params: dict[str, Any] = {}
    variant: Literal["paper", "reference"] = "paper"
    problem: str | dict[str, Any] | None = None
    agents: int | dict[str, Any] = 10
    epsilon: Epsilon = math.inf
    delta: Annotated[Number, Field(gt=0, lt=1)] = 1e-6
    sensitivity: Literal["local", "global"] = "local"
    rounds: Annotated[int, Field(ge=1)] = 100
    evaluate_every: Annotated[int, Field(ge=1)] = 10
    seeds: Annotated[tuple[Seed, ...], BeforeValidator(_seeds), Field(min_length=1)] = (0,)
    dtype: Literal["float32", "float64"] = "float32"
    time_limit: Annotated[Number, Field(gt=0)] = math.inf
    accountants: Accountants = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        """Resolve every name and refuse what cannot run, without touching data."""
        if len(set(self.seeds)) < len(self.seeds):
            raise ValueError(f"seeds: each seed may appear once, got {list(self.seeds)}")
        _ = self.n_agents
        self._check_shares()
        try:
            self.method.check(self.as_problem)
        except ValueError as error:
            raise ValueError(f"algorithm: {error}") from None
        return self

    def _check_shares(self) -> None:
        """Rows or columns: partition, problem and method must agree."""
        given = partition.as_partition(self.agents).shares
        if given != self.as_problem.shares:
            raise ValueError(
                f"problem: {self.problem_name} is about shares of {self.as_problem.shares}, the partition gives agents "
                f"{given}; choose another problem or partition"
            )
        if given not in self.method.shares:
            raise ValueError(
                f"algorithm: {self.algorithm} works on shares of {' or '.join(self.method.shares)}, the partition "
                f"gives agents {given}"
            )

    @field_serializer("seeds")
    def _seeds_as_text(self, seeds: tuple[int, ...]) -> str | list[int]:
        if seeds == tuple(range(seeds[0], seeds[-1] + 1)):
            return f"{seeds[0]}-{seeds[-1]}"
        return list(seeds)

    @cached_property
    def info(self) -> datasets.DatasetInfo:
        """Static facts of the data set."""
        return datasets.describe(self.dataset)

    @cached_property
    def method(self) -> Algorithm:
        """Algorithm with its parameters."""
        cls = algorithms.resolve(self.algorithm)
        names = [field.name for field in fields(cls)]  # type: ignore[arg-type]
        for key in self.params:
            if key not in names:
                raise ValueError(
                    f"params.{key}: "
                    + unknown("parameter", key, [n for n in names if n != "variant"])
                    + f" (algorithm {self.algorithm})"
                )
        if self.variant not in cls.variants:
            raise ValueError(
                f"variant: {self.algorithm} has no authors' code to follow, only {' or '.join(cls.variants)}"
            )
        try:
            return cls(**{**self.params, "variant": self.variant})
        except ValidationError as error:
            raise ValueError("; ".join(messages(error, "params"))) from None

    @cached_property
    def n_agents(self) -> int:
        """Number of agents; ValueError if the data set cannot serve them."""
        try:
            scheme = partition.as_partition(self.agents)
        except ValidationError as error:
            raise ValueError("; ".join(messages(error, "agents"))) from None
        return scheme.check(self.info)

    @property
    def n_features(self) -> int:
        """Number of features that the partition uses."""
        return partition.as_partition(self.agents).n_features(self.info)

    @cached_property
    def as_problem(self) -> Any:
        """Problem with its parameters."""
        try:
            return problems.as_problem(self.problem or self.info.default_problem)
        except ValidationError as error:
            raise ValueError("; ".join(messages(error, "problem"))) from None

    @property
    def problem_name(self) -> str:
        """Name of the problem."""
        if isinstance(self.problem, dict):
            return str(self.problem["name"])
        return self.problem or self.info.default_problem

    @property
    def privacy(self) -> Privacy:
        """Budget of one release."""
        return Privacy(self.epsilon, self.delta, self.sensitivity)

    @property
    def composed_by(self) -> list[Accountant]:
        """Accountants whose totals the trace holds."""
        return [ACCOUNTANTS[name] for name in self.accountants or ACCOUNTANTS]

    def arguments(self) -> list[str]:
        """``KEY=VALUE`` words that make this run again: ``admmbench run KEY=VALUE ...``."""
        values = self.model_dump(mode="json", exclude_defaults=True)
        return [
            f"{key}={value if isinstance(value, str) else json.dumps(value)}"
            for key, value in values.items()
        ]


def unknown(kind: str, name: str, valid: Any) -> str:
    """Message for a name that does not exist, with the nearest one that does."""
    near = difflib.get_close_matches(str(name), list(valid), 1, 0.0)
    return (
        f"unknown {kind} {name!r}; did you mean {near[0]!r}?"
        if near
        else f"unknown {kind} {name!r}"
    )


def messages(error: ValidationError, path: str = "") -> list[str]:
    """One line per fault of a pydantic error: path of the key, and what is wrong."""
    lines = []
    for fault in error.errors():
        where = ".".join([path] * bool(path) + [str(part) for part in fault["loc"]])
        text = fault["msg"].removeprefix("Value error, ")
        given = "" if fault["type"] in ("value_error", "missing") else f" (got {fault['input']!r})"
        lines.append(f"{where}: {text}{given}" if where else f"{text}{given}")
    return lines
