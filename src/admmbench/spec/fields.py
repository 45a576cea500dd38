"""Settings of a run, each stated once: its type, its default, and its meaning.

An experiment has the same settings, see `admmbench.study.experiment`; its methods have those in which they differ.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    TypeAdapter,
    model_validator,
)

from admmbench.privacy import ACCOUNTANTS, Relation, Unit
from admmbench.privacy.selection import CompositionScope
from admmbench.validation import (
    Count,
    Number,
    PerhapsInfinite,
    Strict,
    unknown,
)

SEEDS = 10
"""Number of seeds by default, as in the papers."""
MOST_SEEDS = 10_000
"""Largest number of seeds."""


def _seeds(value: Any) -> tuple[Any, ...]:
    """Read seeds from their number, a list or a range, or text such as ``0-9``."""
    if isinstance(value, str):
        match = re.fullmatch(r"([0-9]{1,19})-([0-9]{1,19})", value)
        if not match:
            raise ValueError(f"expected text such as 0-9, got {value!r}")
        first, last = map(int, match.groups())
        if first > last:
            raise ValueError(f"expected first <= last, got {value!r}")
        value = range(first, last + 1)
    elif isinstance(value, int | np.integer) and not isinstance(value, bool):
        if value < 1:
            raise ValueError(
                f"the number of seeds should be greater than or equal to 1, got {value}"
            )
        value = range(int(value))
    elif not isinstance(value, Iterable) or isinstance(value, Mapping | bytes):
        raise ValueError(
            f"expected a number of seeds, a list of them, or text such as 0-9, got {value!r}"
        )
    # An iterable may be endless, so no more seeds are taken than are allowed.
    seeds = tuple(itertools.islice(value, MOST_SEEDS + 1))
    if len(seeds) > MOST_SEEDS:
        raise ValueError(f"expected at most {MOST_SEEDS:,} seeds")
    return tuple(int(seed) if isinstance(seed, np.integer) else seed for seed in seeds)


def _distinct(seeds: tuple[int, ...]) -> tuple[int, ...]:
    if not seeds:
        raise ValueError("expected at least one seed")
    if len(set(seeds)) < len(seeds):
        raise ValueError(f"each seed may appear once, got {list(seeds)}")
    return seeds


def _accountants(names: tuple[str, ...] | None) -> tuple[str, ...] | None:
    """Return distinct names in one order, so that equal selections are equal runs; rdp is always among them."""
    if names is None:
        return None
    for name in names:
        if name not in ACCOUNTANTS:
            raise ValueError(unknown("accountant", name, ACCOUNTANTS))
    return tuple(name for name in ACCOUNTANTS if name in ("rdp", *names))


def default_evaluate_every(settings: Mapping[str, Any]) -> int:
    """Return the default number of rounds between two evaluations."""
    return min(10, int(settings["rounds"])) if "rounds" in settings else 10


def delta_of_privacy(values: Any) -> Any:
    """Return settings with ``privacy.delta`` moved to ``delta``: users may write it beside the total.

    Raises
    ------
    ValueError
        If both are stated.
    """
    privacy = values.get("privacy") if isinstance(values, Mapping) else None
    if not isinstance(privacy, Mapping) or "delta" not in privacy:
        return values
    if values.get("delta") is not None:
        raise ValueError("privacy.delta: delta is given too; give one of them")
    rest = {key: value for key, value in privacy.items() if key != "delta"}
    return {**values, "privacy": rest, "delta": privacy["delta"]}


# Files of results keep seeds in 64 bits.
Seed = Annotated[int, Field(ge=0, lt=2**63)]
Seeds = Annotated[
    tuple[Seed, ...],
    BeforeValidator(
        _seeds, json_schema_input_type=Count | Annotated[list[Seed], Field(min_length=1)] | str
    ),
    AfterValidator(_distinct),
]
"""A number n of seeds stands for 0 to n - 1."""
Delta = Annotated[Number, Field(gt=0, lt=1)]
Law = Literal["published", "laplace", "gaussian"]


def _delta_in_schema(schema: dict[str, Any]) -> None:
    """Allow ``delta`` among the settings of privacy in a JSON schema, see `delta_of_privacy`."""
    schema["properties"]["delta"] = TypeAdapter(Delta | list[Delta]).json_schema()


class PrivacySettings(Strict):
    """Settings of privacy: neighbours, threat model and composition scope of totals, and the law of the noise."""

    model_config = ConfigDict(json_schema_extra=_delta_in_schema)

    relation: Relation = "zero_out"
    """Neighbouring relation of the total: one record is blank, or is another one."""
    unit: Unit = "record"
    """Unit of privacy: one record, or all records of an agent."""
    participation: Annotated[Number, Field(gt=0, le=1)] = 1.0
    """Probability that an agent takes part in a round, by a coin of its own."""
    cohort: Count | None = None
    """Agents that take part in a round, drawn without replacement; all, or by coins, if absent."""
    noise: Law = "published"
    """That of the paper, or a law in its place."""
    trust: Literal["agents", "secure_sum"] = "agents"
    """Threat model: the server sees each message (agents), or only the sum (secure_sum, secure aggregation)."""
    covers: CompositionScope = "run"
    """Composition scope of the total: the run alone; or a search of trials and the run, whether every trial is seen or
    the best alone."""
    trials: Annotated[Number, Field(gt=1)] | None = None
    """Runs of the search within the composition scope; all that tuning may make if absent."""


class Settings(Strict):
    """Settings that runs, experiments and the methods of an experiment have in common."""

    params: dict[str, Any] = {}
    """Parameters of the method."""
    variant: Literal["paper", "reference"] = "paper"
    """The equations of the paper, or what the authors' code computes."""
    problem: str | dict[str, Any] | None = None
    """Name or path of a loss, or a mapping with loss, penalty, strength; the data set's default if absent."""
    agents: int | dict[str, Any] | None = None
    """Agents with equal shares, or a partition; 10 if absent, or an agent for each group of data that have groups."""
    delta: Delta = 1e-6
    """Failure probability of one Gaussian release, at which totals are stated too."""
    sensitivity: Literal["local", "global"] = "local"
    """From the agent's records, as in the papers, or the worst case."""
    noise_ratio: Annotated[Number, Field(ge=0.01, le=100)] = 1.0
    """Factor by which Gaussian noise changes from the first round to the last, at one total; 1 if absent."""
    rounds: Count = 100
    """Number of rounds."""
    evaluate_every: Count = Field(default_factory=default_evaluate_every)
    """Rounds between two evaluations; 10 if absent, or all if these are fewer."""
    dtype: Literal["float32", "float64"] = "float32"
    """Precision of the arithmetic."""
    time_limit: Annotated[PerhapsInfinite, Field(gt=0)] = math.inf
    """Minutes after which a run is recorded as timed out; none if absent."""
    accountants: Annotated[tuple[str, ...] | None, AfterValidator(_accountants)] = None
    """Accountants whose totals are computed, besides rdp, which always is; the usual ones if absent."""

    @model_validator(mode="before")
    @classmethod
    def _with_delta(cls, values: Any) -> Any:
        return delta_of_privacy(values)
