"""Neighbouring data sets: they differ in one record, a canary whose presence is easy to see."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from admmbench.audit.runs import RunData, record_rounds
from admmbench.audit.settings import Name
from admmbench.base.types import Array
from admmbench.datasets import Dataset, Split
from admmbench.problems.batches import scale_down
from admmbench.problems.rows import BoundRows
from admmbench.spec.run import RunSpec

# Data sets with records of other sizes in each class, and the largest power of two between sizes.
_RESIZED, _POWERS = 4, 24


@dataclass(frozen=True)
class NeighbouringData:
    """Neighbouring data sets. Where totals are about whole agents, all records of one agent are canaries."""

    canary: Name
    """Name of the canary."""
    row: int
    """Training row in which the data sets differ, or the first row of the agent."""
    first: RunData
    """Data with the canary."""
    second: RunData
    """Data with another record in the canary's place: one that contributes nothing, or has the opposite target."""
    without: RunData
    """Data with a record that contributes nothing, or without the agent, whatever the relation."""
    opposed: NeighbouringData | None = None
    """Neighbours with the same canary among records of the agent that pull the other way; of the worst canary alone."""


def unshuffled(spec: RunSpec) -> RunSpec:
    """Return the specification with the same partition of training rows in all seeds, so that a row has one owner."""
    return spec.model_copy(update={"agents": spec.scheme.fixed.model_dump()})


def make_neighbours(
    spec: RunSpec, data: Dataset, rounds: Sequence[int], names: Sequence[Name]
) -> Iterator[NeighbouringData]:
    """Make the neighbouring data sets of each named canary.

    Seeds and rounds are those of a pilot run, whose models choose a canary's target.
    """
    pilot = record_rounds(spec, RunData(data), rounds)
    problem = pilot.federation.problem
    assert isinstance(problem, BoundRows)
    agent, rows = _smallest_agent(spec, data)
    whole = spec.privacy.unit == "agent"
    X, model = data.X_train, np.nan_to_num(pilot.model.mean(axis=0))
    for name in names:
        row, x, wrong = rows[0], np.full_like(X[0], _largest_entry(problem)), True
        if name == "extreme":
            row = rows[np.linalg.norm(X[rows].astype(float), axis=1).argmax()]
            x = X[row]
        elif name == "natural":
            row = rows[_contributions(problem, rows).argmax()]
            x, wrong = X[row], False
        right_y, wrong_y = _targets(problem, data, x, model)
        y = wrong_y if wrong else data.y_train[row]
        changed = rows if whole else row
        first = RunData(
            data if whole and name == "natural" else _replaced_records(data, changed, x, y)
        )
        absent = agent if whole else None
        second = without = RunData(_replaced_records(data, changed, np.zeros_like(x), y), absent)
        if spec.privacy.relation == "replace":
            second = RunData(
                _replaced_records(data, changed, x, right_y if y != right_y else wrong_y)
            )
        neighbours = NeighbouringData(name, int(row), first, second, without)
        if name == "worst" and not whole and len(rows) > 1:
            (longest,) = scale_down(x[None], problem.problem.records, x.dtype)
            others = possible_targets(data)
            neighbours = _oppose(neighbours, rows[rows != row], longest, others[others != y])
        yield neighbours


def _oppose(
    neighbours: NeighbouringData, rows: Array, x: Array, targets: Array
) -> NeighbouringData:
    """Return the neighbours with an `opposed` pair, whose records in the given rows pull against the canary x.

    Without the canary they move a value that is clipped as far one way as it is moved the other way with the canary.
    They have all other targets, which cancel but for the canary's own, and are so short that a model which is wrong
    about the canary is undecided about them: together they pull as hard as half of a canary that is undecided.
    """
    weak, y = x * x.dtype.type(0.5 / len(rows)), np.resize(targets, len(rows))
    first, second, without = (
        member._replace(data=_replaced_records(member.data, rows, weak, y))
        for member in (neighbours.first, neighbours.second, neighbours.without)
    )
    opposed = replace(neighbours, first=first, second=second, without=without)
    return replace(neighbours, opposed=opposed)


def _replaced_records(data: Dataset, rows: Any, x: Array, y: Any) -> Dataset:
    """Return the data with other records in the given rows."""
    X_train, y_train = data.X_train.copy(), data.y_train.copy()
    X_train[rows], y_train[rows] = x, y
    return replace(data, X_train=X_train, y_train=y_train)


def other_records(data: Dataset) -> Iterator[Dataset]:
    """Make data sets of the same sizes with other records.

    A number that depends on records in coarse steps differs in at least one of these data sets: also if it depends on
    one class alone, whose records are some powers of two smaller in some of them, by another power than other classes'
    (or larger, where records have no bound).
    """
    X, y = data.X_train, data.y_train
    lowest, highest = np.full_like(y, y.min()), np.full_like(y, y.max())
    few = X * (np.arange(len(X)) % 8 == 0)[:, None]  # the others are blank
    others = (X / 2, lowest + highest - y), (few / 4, lowest), (X / 4**6, highest)
    for records, targets in (*others, (np.full_like(X, X.max()), y[::-1])):
        yield replace(data, X_train=records.astype(X.dtype), y_train=targets)
    source = np.random.default_rng(0)
    _, classes = np.unique(y if data.n_classes else y > np.median(y), return_inverse=True)
    for _ in range(_RESIZED):
        powers = -source.integers(1, _POWERS, size=classes.max() + 1)[classes]
        if not np.isfinite(data.domain).all():
            powers += _POWERS // 2
        yield replace(data, X_train=np.ldexp(X, powers[:, None]).astype(X.dtype))


def possible_targets(data: Dataset) -> Array:
    """Return the targets that a canary may have: classes, or the ends of numbers."""
    ends = np.array([data.y_train.min(), data.y_train.max()])
    return np.arange(data.n_classes) if data.n_classes else ends


def rows_of_agents(spec: RunSpec, data: Dataset) -> list[Array]:
    """Return the training rows of each agent."""
    split = spec.scheme.split(data, [])
    assert isinstance(split, Split)
    return [np.arange(data.n_train)[share[0][1]] for share in split.shares]


def _smallest_agent(spec: RunSpec, data: Dataset) -> tuple[int, Array]:
    """Return the agent that has the fewest rows, but at least one, and these rows."""
    agent_rows = rows_of_agents(spec, data)
    owners = (agent for agent, rows in enumerate(agent_rows) if len(rows))
    smallest = min(owners, key=lambda agent: len(agent_rows[agent]))
    return smallest, agent_rows[smallest]


def _largest_entry(problem: BoundRows) -> float:
    """Return the entry of the largest admissible record with equal entries, or of the data if records have no bound.

    This record may be longer than the problem allows, which then scales the record down.
    """
    low, high = problem.split.dataset.domain
    if not np.isfinite(problem.bound_linf):
        return float(np.abs(problem.X).max())
    return float(np.clip(max(low, high, key=abs), -problem.bound_linf, problem.bound_linf))


def _contributions(problem: BoundRows, rows: Array) -> Array:
    """Return the norms of the records' contributions to the gradient at the first model, which is zero."""
    derivatives = problem.loss.derivatives(
        np.zeros((len(rows), problem.model_shape[0]), problem.dtype), problem.y[rows]
    )
    return np.linalg.norm(derivatives, axis=1) * np.linalg.norm(problem.X[rows], axis=1)


def _targets(problem: BoundRows, data: Dataset, x: Array, model: Array) -> tuple[Any, Any]:
    """Return the targets for which a model's loss on a record is least and largest."""
    candidates = possible_targets(data)
    u = np.broadcast_to(model @ x, (len(candidates), len(model)))
    losses = problem.loss.losses(u.copy(), problem.loss.targets(candidates, problem.dtype))
    return candidates[losses.argmin()], candidates[losses.argmax()]
