"""Rows of the report: numbers, units and keys, from which templates write the sentences of page and terminal."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeVar

from admmbench.inference.intervals import ROUNDING

Badge = Literal["tuned", "tuned_at_edge", "stated", "default"]
"""How the settings of a method were found."""
PrivacyKind = Literal["not_private", "equal", "none", "unequal"]
"""Whether methods of a row have no noise, equal totals, no guarantee, or totals that differ."""
Reason = Literal["said", "not_started", "no_message", "no_data", "not_drawn", "untuned", "no_files"]
"""Why something is missing: what failed said so, or the reason that a template states."""
K = TypeVar("K")
V = TypeVar("V")


MOST_NAMED = 3
"""Number of methods that are named before the page says how many more there are."""


def collected(pairs: Iterable[tuple[K, V]]) -> dict[K, list[V]]:
    """Return the distinct values of each key, in their order."""
    values: dict[K, dict[V, None]] = {}
    for key, value in pairs:
        values.setdefault(key, {})[value] = None
    return {key: [*distinct] for key, distinct in values.items()}


def grouped(values: Iterable[V], key: Callable[[V], K]) -> dict[K, list[V]]:
    """Return all values by their keys, in their order."""
    groups: dict[K, list[V]] = {}
    for value in values:
        groups.setdefault(key(value), []).append(value)
    return groups


class Value(NamedTuple):
    """A number with its interval, NaN where it has none."""

    centre: float
    lower: float = math.nan
    upper: float = math.nan
    fraction: bool = False
    """Whether it is shown in percent."""

    @property
    def same(self) -> bool:
        """Whether all seeds have it, up to rounding."""
        return math.isclose(self.lower, self.upper, rel_tol=ROUNDING)


class Added(NamedTuple):
    """A method that was added after the study was stated, beside the best of a row."""

    label: str
    verdict: str
    difference: Value | None


@dataclass(frozen=True)
class Row:
    """Who is best among the methods of an experiment at a budget. Several labels of one method are joined by " = "."""

    place: str
    """Name of the data."""
    experiment: str
    note: str
    """Name of the experiment, and what is left out of its data."""
    measure: str
    unit: str
    """What is compared, with its unit: %, that of the metric, or empty."""
    epsilon: float
    """The budget."""
    names: dict[str, list[str]]
    """All labels of each method."""
    badges: dict[str, Badge]
    """How the settings of the best were found, by label."""
    group: list[str]
    undecided: list[str]
    """The winner or the equivalent methods; else the methods that nothing is decided between; by their means."""
    alone: str
    """The only method; empty if there are several."""
    lost: bool
    """Whether others lost runs."""
    seeds: float
    """Forecast of the seeds that decide the row, 0 where it is decided."""
    added: list[Added]
    """Methods that were added later."""
    lowest: str
    error: Value | None
    """Method with the lowest mean, and this."""
    runner_up: str
    next_error: Value | None
    difference: Value | None
    over_records: Value | None
    """The next method, its mean, the difference of the two, and its interval over other test records."""
    floor_method: str
    floor: Value
    """The method with the lowest mean without privacy, and this."""
    constant: Value
    """Error of the best constant prediction, NaN where it is not known."""
    no_better: bool
    """Whether no method is better than that."""

    @property
    def winner(self) -> str:
        """The method that alone is best."""
        return self.group[0] if len(self.group) == 1 else ""

    @property
    def badge(self) -> str:
        """How the settings of all of the best were found, if in one way."""
        return next(iter(self.badges.values())) if len({*self.badges.values()}) == 1 else ""


def by_place(rows: Iterable[Row]) -> dict[str, list[Row]]:
    """Return rows by the name of their data."""
    return grouped(rows, lambda row: row.place)


@dataclass(frozen=True)
class Answer:
    """The rows of all experiments, from which the answer in a sentence or two is written."""

    rows: list[Row]
    """In the order of the page."""
    unbeaten: list[str]
    """Methods that are nowhere shown to be behind."""

    @property
    def groups(self) -> dict[tuple[str, ...], dict[str, list[Row]]]:
        """Rows with the same few best methods, by the data."""
        few = [row for row in self.rows if 0 < len(row.group) <= MOST_NAMED]
        groups = dict.fromkeys(tuple(row.group) for row in few)
        return {own: by_place(row for row in few if tuple(row.group) == own) for own in groups}

    @property
    def large_groups(self) -> dict[str, list[Row]]:
        """Rows with many best methods, by the data."""
        return by_place(row for row in self.rows if len(row.group) > MOST_NAMED)

    @property
    def no_better(self) -> dict[str, list[Row]]:
        """Rows in which no method is better than a constant prediction, by the data."""
        return by_place(row for row in self.rows if row.no_better)

    @property
    def added(self) -> dict[str, dict[str, dict[str, list[Row]]]]:
        """Rows with a verdict on a method that was added later, by label, verdict and data."""
        pairs = [(own, row) for row in self.rows for own in row.added]
        return {
            label: {
                verdict: by_place(row for _, row in same)
                for verdict, same in grouped(of_label, lambda pair: pair[0].verdict).items()
            }
            for label, of_label in grouped(pairs, lambda pair: pair[0].label).items()
        }

    @property
    def open_places(self) -> list[str]:
        """Data with several rows, none of which is decided."""
        places = by_place(self.rows).items()
        return [
            place for place, rows in places if len(rows) > 1 and all(row.undecided for row in rows)
        ]

    @property
    def several_names(self) -> dict[str, list[Row]]:
        """Rows in which one method has several labels, as after a search that made one of them the other."""
        found: dict[str, list[Row]] = {}
        for row in self.rows:
            for labels in dict.fromkeys(tuple(each) for each in row.names.values()):
                if len(labels) > 1:
                    found.setdefault(" = ".join(labels), []).append(row)
        return found


class Facts(NamedTuple):
    """What holds for the rows of the answer, each value with the data of which it is, if there are several values."""

    deltas: dict[float, list[str]]
    neighbours: dict[tuple[str, str], list[str]]
    measures: dict[tuple[str, str], list[str]]
    """By what is compared and its unit."""
    seeds: dict[tuple[int, int], list[str]]
    """By the fewest and the most of a method."""
    margins: dict[tuple[Value, str], list[str]]
    """By value and unit."""
    analyses: dict[int, list[str]]
    """By the number of interim analyses."""
    comparisons: int
    """Number of pairs of methods of all rows."""
    added: list[str]
    """Methods that were added after the study was stated."""


class Beside(NamedTuple):
    """A method of a row, beside the control; None where it is not compared."""

    label: str
    error: Value
    ranks: tuple[float, float] | None
    """Bounds of its rank; None if it was added later."""
    difference: Value | None = None
    over_records: Value | None = None
    chance: Value | None = None
    """At how many of all seeds it has the lower error, in percent."""


class MatrixCell(NamedTuple):
    """A method in a row of the answer."""

    error: Value
    outdated: bool
    verdict: str
    """As of `admmbench.results.who_wins.marks`."""
    lost: int
    runs: int


class Notes(NamedTuple):
    """Methods that a reader of the answer should know about, with the data of which it is."""

    excluded: dict[str, list[str]]
    """Those that ran at a budget and are not compared."""
    conditional: dict[str, list[str]]
    """Those with a conditional guarantee."""
    lost: bool
    """Whether one lost a run."""


class Lead(NamedTuple):
    """Who leads at a budget that is no total of whole runs."""

    row: Row
    title: str
    only: str
    """Why the lowest value is no lead: ``alone``, ``one_seed``, ``same``; empty if it is one."""
    agents: int | None
    """Where those with other numbers are in other rows."""
    features: int | None
    privacy: LeadPrivacy
    violated: float | None
    """Largest violation of constraints that is allowed, where there are constraints."""
    lost: dict[str, tuple[int, int]]
    """Runs that were lost, and all of them, by label."""


class LeadPrivacy(NamedTuple):
    """What the methods of a row promise of a whole run."""

    kind: PrivacyKind
    least: float = math.nan
    most: float = math.nan
    """Ends of the totals, or of composed values where there is no guarantee."""
    deltas: int = 1
    without: int = 0
    """Number of methods without a guarantee."""
    methods: int = 0


class Protected(NamedTuple):
    """What totals protect; or that a delta is too large to protect it."""

    unit: str
    """As of `admmbench.privacy.Neighbours`."""
    delta: float | None = None
    """The largest one, if it is above 1 / n."""
    n: int | None = None
    """Number of training records or agents, if delta is too large for it."""


class Budgets(NamedTuple):
    """What the budgets of an experiment promise, with the labels of the methods that a fact is of."""

    whole_runs: bool
    """Whether budgets are totals of whole runs, and not of one iteration."""
    sensitivity: str
    guarantees: dict[str, list[str]]
    neighbours: dict[tuple[str, str], list[str]]
    """By relation and unit."""
    notions: dict[str, list[str]]
    beyond_proof: bool
    """Whether Gaussian noise was calibrated for one iteration beyond the budgets that a proof covers."""


class Conditions(NamedTuple):
    """What was run in an experiment."""

    attrs: Mapping[str, Any]
    """Of the results."""
    data: str
    problem: Any
    agents: list[int]
    partition: Any
    """None for equal shares."""
    rounds: tuple[int, int]
    """The fewest and the most of a method."""
    seeds: int
    constant: Value
    """Error of the best constant prediction, NaN where it is not known."""
    units: str
    """Of this error."""
    budgets: list[float]
    """None of a problem with constraints, in which nothing is private."""
    whole_runs: bool
    deltas: list[float]
    protected: list[str]
    """The units of privacy of the methods: ``record``, ``agent``."""


class AgentCounts(NamedTuple):
    """Numbers of records, or of columns, of the agents of a partition."""

    partition: Any
    """The scheme."""
    counted: Literal["record", "column"]
    seeds: int
    """How many partitions were drawn, 1 where all seeds have the same."""
    spread: tuple[int, float, int]
    """The fewest, the median and the most of an agent, over all seeds."""
    classes: tuple[int, float, int] | None
    """Likewise how many classes the records of an agent are of; None where there are no classes."""


class Spread(NamedTuple):
    """Seeds of a mean in a table, and what is shown beside it."""

    seeds: int
    each: bool
    """Whether each seed is shown, and not a band."""
    band: tuple[float, float]
    """Percentiles at its edges."""
    fewest: int | None
    """Number of seeds of the point with the fewest, where interim analyses gave some points more."""
    fewer: list[tuple[str, float, int]]
    """Methods and budgets with fewer seeds, where there were none."""


class Missing(NamedTuple):
    """Something that could not be had, and why."""

    experiment: str
    """Its title."""
    what: Literal["everything", "all_runs", "runs", "file", "figure", "audit", "data"]
    why: Reason
    names: list[tuple[str, list[float]]] | str = ""
    """Methods with their budgets, or what else is missing."""
    said: str = ""
    """What failed said, or the log that has no message."""
    files: Mapping[str, str] = {}
    """Address of each file of the data that could not be had, by name."""


class FileDifferences(NamedTuple):
    """What differs between two files of results, besides final values."""

    facts: dict[str, tuple[str, str]]
    only_first: list[str]
    only_second: list[str]
    code: list[str]
    """Methods with other code."""
    params: list[str]
    """Methods with other parameters."""
    ended: list[tuple[str, float]]
    """Methods and budgets of which a run ended in another way."""


class Kept(NamedTuple):
    """Results of an experiment beside those that are kept; two of different scales are not compared."""

    seeds: int
    rounds: int
    others: list[str]
    """Settings in which the scales differ."""
    refused: str = ""
    """Why the files cannot be compared, empty if they can."""
    states: Mapping[str, int] = {}
    """Number of methods and budgets in each state, see `admmbench.results.file_differences.contrast`."""
    rows: list[list[str]] = []
    """Those that do not agree."""
    outdated: Any = None
    """What is outdated of the kept results."""
