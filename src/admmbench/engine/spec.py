"""What one run is: the arguments of `simulate`, checked and complete."""

from __future__ import annotations

import json
import math
from functools import cached_property
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    field_serializer,
    model_validator,
)

from admmbench import algorithms, datasets, partition, problems
from admmbench.algorithms.base import Algorithm
from admmbench.privacy import Privacy
from admmbench.problems.columns import Columns
from admmbench.problems.needs import require
from admmbench.problems.rows import Rows
from admmbench.validation import Number, Strict, configured, messages


def _seeds(value: Any) -> Any:
    """Seeds as a list, a range, or text such as ``0-9``."""
    if isinstance(value, str):
        first, _, last = value.partition("-")
        if first.isdigit() and (last or first).isdigit():
            return tuple(range(int(first), int(last or first) + 1))
    if isinstance(value, int):
        raise ValueError(f"give the seeds themselves, for example range({value}) or [{value}]")
    return tuple(value) if not isinstance(value, str) else value


Epsilon = Annotated[Number, Field(gt=0)]
Seed = Annotated[int, Field(ge=0)]


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

    @model_validator(mode="after")
    def _check(self) -> Self:
        """Resolve every name and refuse what cannot run, without touching data."""
        if len(set(self.seeds)) < len(self.seeds):
            raise ValueError(f"seeds: each seed may appear once, got {list(self.seeds)}")
        _ = self.n_agents
        problem = self.as_problem
        problem.check(self.info)
        self._check_sharing()
        try:
            require(self.algorithm, self.method.needs, problem)
            if self.sensitivity == "global" and problem.sharing == "rows":
                require("sensitivity: global", ("bounded slope",), problem)
            self.method.check(problem, self.n_agents)
        except ValueError as error:
            raise ValueError(f"algorithm: {error}") from None
        return self

    def _check_sharing(self) -> None:
        """Rows or columns: partition and method must agree."""
        given = partition.as_partition(self.agents).sharing
        if given not in self.method.sharing:
            raise ValueError(
                f"algorithm: {self.algorithm} works on shared {' or '.join(self.method.sharing)}, the partition "
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
    def method(self) -> Algorithm[Any, Any]:
        """Algorithm with its parameters."""
        cls = algorithms.resolve(self.algorithm)
        if self.variant not in cls.variants:
            raise ValueError(
                f"variant: {self.algorithm} has no authors' code to follow, only {' or '.join(cls.variants)}"
            )
        own = f"algorithm {self.algorithm}"
        return configured(cls, {**self.params, "variant": self.variant}, "params", own)

    @cached_property
    def n_agents(self) -> int:
        """Number of agents; ValueError if the data set cannot serve them."""
        try:
            scheme = partition.as_partition(self.agents)
        except ValidationError as error:
            raise ValueError("; ".join(messages(error, "agents"))) from None
        return scheme.n_agents(self.info)

    @property
    def n_features(self) -> int:
        """Number of features that the partition uses."""
        return partition.as_partition(self.agents).n_features(self.info)

    @cached_property
    def as_problem(self) -> Rows | Columns:
        """Problem with its parameters; the partition says what is shared out."""
        sharing = partition.as_partition(self.agents).sharing
        return problems.as_problem(self.problem or self.info.default_problem, sharing)

    @property
    def privacy(self) -> Privacy:
        """Budget of one release."""
        return Privacy(self.epsilon, self.delta, self.sensitivity)

    def arguments(self) -> list[str]:
        """``KEY=VALUE`` words that make this run again: ``admmbench run KEY=VALUE ...``."""
        values = self.model_dump(mode="json", exclude_defaults=True)
        return [
            f"{key}={value if isinstance(value, str) else json.dumps(value)}"
            for key, value in values.items()
        ]
