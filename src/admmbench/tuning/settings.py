"""Settings of tuning, in experiments and on the command line: axes, trials, and the best values that were chosen."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, ClassVar, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from admmbench.files.core_yaml import dump_yaml
from admmbench.validation import ByBudget, Count, Number, PerhapsInfinite, Strict, checked, meant

Value = int | float
Settings = Mapping[str, Value]
"""Values by the path of their key, such as ``params.rho`` and ``problem.records.max_l2_norm``."""
WHOLE = "rounds"
"""The only path whose values are whole numbers by default."""
_BELOW = ("params.", "problem.")
# Beyond these, nothing can be computed.
_MOST, _MOST_WHOLE = 1e100, 1e9


class Axis(Strict):
    """Axis of a setting that is tuned: ``start * factor^k`` for whole and, later, for half and quarter ``k``."""

    start: Annotated[Number, Field(gt=0)]
    """Value of the first trial."""
    factor: Annotated[Number, Field(gt=1)] = 2
    """Factor between neighbours of the first, coarsest grid."""
    least: Annotated[Number, Field(ge=0)] = 0
    """Smallest value: a natural end, at which a best value does not count as one at an edge."""
    most: Annotated[PerhapsInfinite, Field(gt=0)] = math.inf
    """Largest value, likewise, such as 1 for a probability."""
    whole: bool = False
    """Whether values are rounded to whole numbers."""

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
    """Return an axis with a start where the user writes a number."""
    return value if isinstance(value, Mapping | Axis) else {"start": value}


def _whole_rounds(axes: Any) -> Any:
    """Return axes in which the values of rounds are whole numbers."""
    if not isinstance(axes, Mapping) or WHOLE not in axes:
        return axes
    rounds = _axis(axes[WHOLE])
    return {**axes, WHOLE: {**rounds, "whole": True} if isinstance(rounds, Mapping) else rounds}


def _tunable(path: str) -> str:
    """Return a path that can be tuned; budgets, data and agents cannot, as they are the same for all methods."""
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
    """Settings of a search: the number of its trials, and how they are compared."""

    former_keys: ClassVar[Mapping[str, str]] = {"beside": "sensitivity"}

    trials: Count = 24
    """Settings that are tried for every method and budget."""
    held_out: Annotated[Count, Field(ge=2)] = 5
    """One of every ``held_out`` training rows is held out: trials are compared by their errors on these rows, and
    trials with equal errors by their losses."""
    seeds: Annotated[list[Count], Field(min_length=1)] = [1000]
    """Seeds of the trials, other than those of the runs."""
    sensitivity: bool = False
    """Whether half and twice each of the best values are tried as well, which shows the sensitivity to tuning."""

    @property
    def most(self) -> int:
        """Return the largest number of runs of a search: one for each trial and seed, without ``sensitivity``."""
        return (self.trials + self.trials // FURTHER) * len(self.seeds)

    @property
    def identity(self) -> dict[str, Any]:
        """Return the settings by the keys of the first version, as stored trials and hashes of searches have them."""
        first_keys = {present: former for former, present in self.former_keys.items()}
        return {first_keys.get(key, key): value for key, value in self.model_dump().items()}


class Chosen(Strict):
    """Settings that a search chose for a method at a budget."""

    former_keys: ClassVar[Mapping[str, str]] = {"beside": "sensitivity"}

    settings: dict[str, Value]
    """Best values, by the paths of their keys."""
    error: float
    """Error on held-out rows, mean over seeds."""
    edges: list[str] = []
    """Paths of settings with a direction in which no trial went beyond the best value."""
    sensitivity: dict[str, list[PerhapsInfinite | None]] = {}
    """Errors at half and at twice each value, by the paths of the keys; None where an end forbids it."""
    of: str = ""
    """Method, data set and loss that were tuned, by their content; as the experiment states, if absent."""
    space: str = ""
    """Hash of the run that was tuned, of the axes, and of how trials were compared; unknown if absent."""
    code: str = ""
    """Fingerprint of the code that made the trials; unknown if absent."""

    @property
    def error_growth(self) -> float:
        """Return the largest growth of the error at half or twice a value; NaN if this was not tried."""
        errors = [
            error for pair in self.sensitivity.values() for error in pair if error is not None
        ]
        return max(errors) - self.error if errors else math.nan


Tuned = dict[str, ByBudget[Chosen]]
"""Chosen settings by the label of a method, and its budget."""


def choose_settings(
    former: Tuned, searches: Iterable[tuple[str, float, Mapping[str, Any]]]
) -> tuple[Tuned, list[dict[str, Any]]]:
    """Choose the best settings of each search.

    Parameters
    ----------
    former
        Settings that were chosen before.
    searches
        Label of the method, budget and result of each search, as `SearchResult.to_dict` writes it.

    Returns
    -------
    tuple
        Settings, in which a search replaces the former ones; and all trials, as rows of a table.
    """
    chosen = {label: dict(by_budget) for label, by_budget in former.items()}
    trials = []
    for label, budget, result in searches:
        trials += [
            {"method": label, "budget": budget, **trial, "settings": json.dumps(trial["settings"])}
            for trial in result.get("trials", [])
        ]
        best = {key: value for key, value in result.items() if key != "trials"}
        chosen.setdefault(label, {})[budget] = checked(Chosen, best, f"{label} at {budget:g}")
    return chosen, trials


def dump(chosen: Tuned) -> str:
    """Return the text of a file of chosen settings, a line for each budget."""
    settings = {
        label: {budget: own.model_dump(exclude_unset=True) for budget, own in by_budget.items()}
        for label, by_budget in chosen.items()
    }
    return dump_by_budget("Best settings on held-out rows, by `snakemake tune`.", settings)


def dump_by_budget(title: str, entries: Mapping[str, Mapping[float, Any]]) -> str:
    """Return the text of a file of entries by label and budget, a line for each budget, below a title."""
    ordered = {label: dict(sorted(by_budget.items())) for label, by_budget in entries.items()}
    text = dump_yaml(ordered, default_flow_style=None, sort_keys=False, width=10_000)
    return f"# {title}\n{text}"


def apply(settings: Settings, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a run with other settings."""
    changed = dict(arguments)
    for path, value in settings.items():
        key, dot, rest = path.partition(".")
        changed[key] = apply({rest: value}, changed.get(key) or {}) if dot else value
    return changed
