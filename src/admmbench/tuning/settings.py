"""What is tuned, and with how many trials: the settings of experiments and of the command line."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from admmbench.files.core_yaml import dump_yaml
from admmbench.validation import ByBudget, Count, Number, PerhapsInfinite, Strict, meant

Value = int | float
Settings = Mapping[str, Value]
"""Values by the path of their key, such as ``params.rho`` and ``problem.records.max_l2_norm``."""
WHOLE = "rounds"
"""The only path whose values are whole numbers by default."""
_BELOW = ("params.", "problem.")
# Beyond these, nothing can be computed.
_MOST, _MOST_WHOLE = 1e100, 1e9


class Axis(Strict):
    """A setting is tuned: ``start * factor^k`` for whole and, later, for half and quarter ``k``.

    Attributes
    ----------
    start
        Value of the first trial.
    factor
        Factor between neighbours of the first, coarsest grid.
    least, most
        Natural ends, such as 1 for a probability: a best value there does not count as one at an edge.
    whole
        Whether values are rounded to whole numbers.
    """

    start: Annotated[Number, Field(gt=0)]
    factor: Annotated[Number, Field(gt=1)] = 2
    least: Annotated[Number, Field(ge=0)] = 0
    most: Annotated[PerhapsInfinite, Field(gt=0)] = math.inf
    whole: bool = False

    @model_validator(mode="after")
    def _start_is_between_the_ends(self) -> Self:
        if max(self.start, self.factor) > _MOST:
            raise ValueError(f"start and factor: expected at most {_MOST:g}")
        if not self.least <= self.start <= self.most:
            raise ValueError(f"start: expected {self.least:g} to {self.most:g}, got {self.start:g}")
        return self

    @model_validator(mode="after")
    def _steps_change_whole_numbers(self) -> Self:
        start = self.at(0)
        if start in (self.at(1), self.at(-1)) and self.least < start < self.most and start > 1:
            raise ValueError(
                f"factor: {self.factor:g} leads from {start} to {start}, as values are whole; give a larger factor"
            )
        return self

    def at(self, k: float) -> Value:
        """Return the value at a place of the grid; one beyond an end is the end."""
        try:
            grown = self.start * self.factor**k
        except OverflowError:
            grown = _MOST
        value = min(max(grown, self.least), self.most, _MOST_WHOLE if self.whole else _MOST)
        return max(1, round(value)) if self.whole else float(f"{value:.6g}")


def _axis(value: Any) -> Any:
    """A number stands for where an axis starts."""
    return value if isinstance(value, Mapping | Axis) else {"start": value}


def _whole_rounds(axes: Any) -> Any:
    """Rounds are whole."""
    if not isinstance(axes, Mapping) or WHOLE not in axes:
        return axes
    rounds = _axis(axes[WHOLE])
    return {**axes, WHOLE: {**rounds, "whole": True} if isinstance(rounds, Mapping) else rounds}


def _tunable(path: str) -> str:
    """Budgets, data and agents are the same for all methods, so nobody tunes them."""
    if path == WHOLE or path.startswith(_BELOW):
        return path
    fault = f"unknown setting {path!r}{meant(path, (WHOLE, *_BELOW))}"
    raise ValueError(f"{fault} (rounds can be tuned, and what is below params and problem)")


Axes = Annotated[
    dict[
        Annotated[str, AfterValidator(_tunable)],
        Annotated[Axis, BeforeValidator(_axis, json_schema_input_type=Axis | Number)],
    ],
    BeforeValidator(_whole_rounds),
]


FURTHER = 4
"""If the best is at an edge of what was tried, up to trials / FURTHER trials may be added, which extend the range."""


class TuningSettings(Strict):
    """Settings are compared in this way.

    Attributes
    ----------
    trials
        Settings that are tried for every method and budget.
    held_out
        One of every ``held_out`` training rows is held out: trials are compared by their errors on these rows, and
        trials with equal errors by their losses.
    seeds
        Seeds of the trials, other than those of the runs.
    beside
        Whether half and twice each of the best values are tried as well, which says how much the values matter.
    """

    trials: Count = 24
    held_out: Annotated[Count, Field(ge=2)] = 5
    seeds: Annotated[list[Count], Field(min_length=1)] = [1000]
    beside: bool = False

    @property
    def most(self) -> int:
        """Return how many runs a search makes at most: a trial has one with each seed; those beside it do not count."""
        return (self.trials + self.trials // FURTHER) * len(self.seeds)


class Chosen(Strict):
    """A search chose this for a method at a budget.

    Attributes
    ----------
    settings
        Best values, by the paths of their keys.
    error
        On held-out rows, mean over seeds.
    edges
        Paths of settings whose best value has no worse value beside it that was tried, in one of the two directions.
    beside
        Errors at half and at twice each value, by the paths of the keys; None where an end forbids it.
    of
        Method, data set and loss that were tuned, by their content; whatever the experiment states, if absent.
    space
        Hash of the run that was tuned, of the axes, and of how trials were compared; unknown if absent.
    code
        Fingerprint of the code that made the trials; unknown if absent.
    """

    settings: dict[str, Value]
    error: float
    edges: list[str] = []
    beside: dict[str, list[PerhapsInfinite | None]] = {}
    of: str = ""
    space: str = ""
    code: str = ""

    @property
    def lost_beside(self) -> float:
        """Return how much the error grows at half or twice a value, at most; NaN if this was not tried."""
        errors = [each for own in self.beside.values() for each in own if each is not None]
        return max(errors) - self.error if errors else math.nan


Tuned = dict[str, ByBudget[Chosen]]
"""By the label of a method, and its budget."""


def dump(chosen: Tuned) -> str:
    """Return the text of a file of chosen settings, a line for each budget."""
    text = dump_yaml(
        {
            label: {
                budget: each.model_dump(exclude_unset=True)
                for budget, each in sorted(found.items())
            }
            for label, found in chosen.items()
        },
        default_flow_style=None,
        sort_keys=False,
        width=10_000,
    )
    return f"# Best settings on held-out rows, by `snakemake tune`.\n{text}"


def apply(settings: Settings, to: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a run with other settings."""
    changed = dict(to)
    for path, value in settings.items():
        key, dot, rest = path.partition(".")
        changed[key] = apply({rest: value}, changed.get(key) or {}) if dot else value
    return changed
