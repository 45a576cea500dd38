"""Rows of the report: numbers, units and keys, from which templates write the sentences of page and terminal."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeVar

from admmbench.inference.intervals import ROUNDING

Badge = Literal["tuned", "tuned_at_edge", "stated", "default"]
"""How the settings of a method were found."""
PrivacyKind = Literal["not_private", "equal", "none", "unequal"]
"""Whether methods in a setting have no noise, equal totals, no guarantee, or totals that differ."""
Reason = Literal[
    "said", "not_started", "no_message", "no_data", "not_drawn", "untuned", "no_files", "not_kept"
]
"""Reason for which a part is missing: ``said`` by the message of what failed, or stated by a template."""
K = TypeVar("K")
V = TypeVar("V")


MOST_NAMED = 3
"""Number of methods that the page names; beyond it the page says how many more there are."""


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
    """Number with its interval, whose ends are NaN if there is none."""

    centre: float
    lower: float = math.nan
    upper: float = math.nan
    fraction: bool = False
    """Whether the page shows the number in percent."""

    @property
    def same_for_all_seeds(self) -> bool:
        """Return whether all seeds have the number, up to rounding."""
        return math.isclose(self.lower, self.upper, rel_tol=ROUNDING)


class Cell(NamedTuple):
    """Cell of a table with a verdict and notes beside its text."""

    text: str
    verdict: str = ""
    """Verdict on its method, see `admmbench.inference.contrasts.judge_setting`: winners bold, the best group tinted."""
    note: str = ""
    """Small print."""
    failed: str = ""
    """Number of runs without a value, in words."""


class Table(NamedTuple):
    """Table with rows of texts and cells, of which the first names the row; columns of numbers are aligned right."""

    heads: Sequence[str]
    numbers: Iterable[str]
    """Heads of the columns with numbers."""
    rows: list[list[str | Cell]]


class Added(NamedTuple):
    """Method that was added after the study was stated, against the best of a setting."""

    label: str
    verdict: str
    difference: Value | None
    place: str
    epsilon: float
    """Name of the data, and the budget."""


@dataclass(frozen=True)
class SettingSummary:
    """Best methods in a setting (a data set at one ε). Several labels of one method are joined by " = "."""

    place: str
    """Name of the data."""
    experiment: str
    note: str
    """Name of the experiment, and the part that is left out of its data."""
    measure: str
    unit: str
    """Name of the metric, with its unit: %, the metric's own, or empty."""
    epsilon: float
    """The budget."""
    delta: float
    neighbours: tuple[str, str]
    """Relation and unit of the guarantee."""
    runs: tuple[int, int]
    """The fewest and the most seeds of a method."""
    mirrors: int
    """The most antithetic pairs of a method."""
    margin: Value
    """Largest difference that does not matter."""
    analyses: int
    """Number of interim analyses."""
    badges: dict[str, Badge]
    """Origin of the settings of each best method, by label."""
    group: tuple[str, ...]
    undecided: tuple[str, ...]
    """The winner or the equivalent methods; else the methods among which the setting is undecided; by their means."""
    behind: tuple[str, ...]
    """Methods that are worse than those; by their means."""
    only_method: str
    """The only method; empty if there are several."""
    failed: bool
    """Whether other methods have failed or diverged runs."""
    control: str
    possible_lead: Value | None
    """Method that others are compared with, and the largest lead over it that is still possible; None if not known."""
    seeds: float
    """Forecast of the seeds that make the setting conclusive, 0 where it is."""
    added: list[Added]
    """Methods that were added later."""
    lowest: str
    error: Value | None
    """Method with the lowest mean, and the mean."""
    runner_up: str
    next_error: Value | None
    difference: Value | None
    over_records: Value | None
    """The next method, its mean, the difference of the two, and the difference's interval over other test records."""
    floor_method: str
    floor: Value
    """The method with the lowest mean without privacy, and the mean."""
    constant: Value
    """Error of the best constant prediction, NaN where it is not known."""
    no_better: bool
    """Whether no method is better than the best constant prediction."""

    @property
    def winner(self) -> str:
        """Return the only best method; empty if there are several or none."""
        return self.group[0] if len(self.group) == 1 else ""

    @property
    def is_counted(self) -> bool:
        """Return whether the best methods are too many to be named."""
        return len(self.group) > MOST_NAMED

    @property
    def badge(self) -> str:
        """Return the origin of the settings of the best methods; empty if their origins differ."""
        return next(iter(self.badges.values())) if len({*self.badges.values()}) == 1 else ""


class Answer(NamedTuple):
    """Settings of all experiments, from which the answer in a sentence or two is written."""

    summaries: list[SettingSummary]
    """In the order of the page."""
    unbeaten: list[str]
    """Methods that are significantly worse in no setting."""
    several_names: dict[str, list[tuple[str, float]]]
    """Names of data and budgets at which a method has several labels, by these: tuning may make two methods equal."""


class ControlRow(NamedTuple):
    """Method in a setting against the control; None where the two are not compared."""

    label: str
    error: Value
    ranks: tuple[float, float] | None
    """Bounds of its rank; None for a method that was added later."""
    difference: Value | None = None
    over_records: Value | None = None
    chance: Value | None = None
    """Part of all seeds at which the method has the lower error, in percent."""


class MatrixCell(NamedTuple):
    """Method in a setting of the answer."""

    error: Value
    outdated: bool
    verdict: str
    """Mark, see `admmbench.results.who_wins.marks`."""
    failed: int
    runs: int


class Notes(NamedTuple):
    """Notes on methods, each with the names of its data."""

    excluded: dict[str, list[str]]
    """Methods that ran at a budget and are not compared."""
    conditional: dict[str, list[str]]
    """Methods with a conditional guarantee."""
    failed: bool
    """Whether a method has a failed or diverged run."""


class Lead(NamedTuple):
    """Leading methods at a budget that is no total of whole runs."""

    summary: SettingSummary
    title: str
    only: str
    """Reason for which the lowest value is no lead: ``alone``, ``one_seed``, ``same``; empty if it is a lead."""
    agents: int | None
    """Number of agents, where methods with other numbers are in other rows of the table."""
    features: int | None
    """Number of features, likewise."""
    privacy: LeadPrivacy
    violated: float | None
    """Largest violation of constraints that is allowed, where there are constraints."""
    failed: dict[str, tuple[int, int]]
    """Number of failed runs and of all runs, by label."""


class LeadPrivacy(NamedTuple):
    """Privacy of a whole run of the methods in a setting."""

    kind: PrivacyKind
    least: float = math.nan
    most: float = math.nan
    """Ends of the totals, or of composed values where there is no guarantee."""
    deltas: int = 1
    without: int = 0
    """Number of methods without a guarantee."""
    methods: int = 0


class Protected(NamedTuple):
    """Unit that totals protect, or for which a delta is too large."""

    unit: str
    """Unit of privacy, see `admmbench.privacy.Neighbours`."""
    delta: float | None = None
    """The largest delta, if it is above 1 / n."""
    n: int | None = None
    """Number of training records or agents, if delta is too large for it."""


class Budgets(NamedTuple):
    """Meaning of the budgets of an experiment, with the labels of the methods that share a fact."""

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
    """Conditions of the runs of an experiment."""

    attrs: Mapping[str, Any]
    """Attributes of the results."""
    data: str
    shares: list[dict[str, Any] | str]
    """What agents hold, see `admmbench.partition.Scheme.shares`, or the sentence of an earlier version."""
    problem: Any
    agents: list[int]
    partition: Any
    """None for equal shares."""
    rounds: tuple[int, int]
    """The fewest and the most rounds of a method."""
    seeds: int
    constant: Value
    """Error of the best constant prediction, NaN where it is not known."""
    units: str
    """Units of this error."""
    budgets: list[float]
    """Budgets; empty for a problem with constraints, in which nothing is private."""
    whole_runs: bool
    deltas: list[float]
    protected: list[str]
    """The units of privacy of the methods: ``record``, ``agent``."""
    clients: tuple[int, int] | None
    """Number of clients that are tested apart, and the test records that they have at least; None if none are."""


class AgentCounts(NamedTuple):
    """Numbers of records or columns of the agents of a partition."""

    partition: Any
    """The scheme."""
    counted: Literal["record", "column"]
    seeds: int
    """Number of partitions that were drawn, 1 where all seeds have the same."""
    spread: tuple[int, float, int]
    """The fewest, the median and the most records or columns of an agent, over all seeds."""
    classes: tuple[int, float, int] | None
    """The fewest, the median and the most classes of an agent's records; None where there are no classes."""
    gini: float
    """Gini coefficient of the agents' numbers of records, the mean over seeds."""
    label_distance: tuple[float, float] | None
    """Total variation between the labels of an agent and all, mean and largest; None where there are no classes."""


class Spread(NamedTuple):
    """Seeds of a mean in a table, and the spread beside the mean."""

    seeds: int
    each_seed: bool
    """Whether the value of each seed is shown, and not a band."""
    band: tuple[float, float]
    """Percentiles at the edges of a band."""
    fewest: int | None
    """Fewest seeds of a point, where interim analyses gave some points more; None without interim analyses."""
    fewer: list[tuple[str, float, int]]
    """Methods and budgets with fewer seeds than others; empty with interim analyses."""


class Missing(NamedTuple):
    """Part of an experiment that is missing, and the reason."""

    experiment: str
    """Title of the experiment."""
    what: Literal["everything", "all_runs", "runs", "file", "figure", "audit", "data"]
    why: Reason
    names: list[tuple[str, list[float]]] | str = ""
    """Methods with their budgets, or the name of another missing part."""
    said: str = ""
    """Message of what failed, or the path of a log without a message."""
    files: Mapping[str, str] = {}
    """Address of each file of the data that could not be had, by name."""


class FileDifferences(NamedTuple):
    """Differences between two files of results, besides final values."""

    facts: dict[str, tuple[str, str]]
    only_first: list[str]
    only_second: list[str]
    code: list[str]
    """Methods with other code."""
    params: list[str]
    """Methods with other parameters."""
    ended: list[tuple[str, float]]
    """Methods and budgets with a run that ended in another way."""


class ReferenceComparison(NamedTuple):
    """Comparison of an experiment's results with the reference results, if both are of the same scale."""

    seeds: int
    rounds: int
    """Numbers of seeds and rounds of the reference results."""
    others: list[str]
    """Settings in which the scales differ."""
    refused: str = ""
    """Reason for which the files cannot be compared, empty if they can."""
    states: Mapping[str, int] = {}
    """Number of methods and budgets in each state, see `admmbench.results.file_differences.contrast`."""
    table: Table | None = None
    """Methods and budgets that differ."""
    outdated: Any = None
    """Outdated methods of the reference results."""
