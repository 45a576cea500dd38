"""Canaries: records whose presence is easy to see, and the two worlds that differ in one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from admmbench.audit.settings import Name
from admmbench.audit.worlds import play
from admmbench.datasets import Dataset
from admmbench.engine.spec import RunSpec
from admmbench.frames.base import Array
from admmbench.partition import Split, n_rows
from admmbench.problems.rows import BoundRows


@dataclass(frozen=True)
class Worlds:
    """Two data sets that are neighbours.

    Attributes
    ----------
    canary
        Name of the canary.
    row
        Training row in which they differ.
    first
        Where the canary is.
    second
        Where another record is in its place: one that contributes nothing, or one with the opposite target.
    without
        Where one is that contributes nothing, whatever the relation.
    """

    canary: Name
    row: int
    first: Dataset
    second: Dataset
    without: Dataset


def unshuffled(spec: RunSpec) -> RunSpec:
    """Specification whose seeds all share out the training rows in the same way, so that a row has one owner."""
    scheme = spec.scheme
    drawn = {"shuffle": False, "train": None}
    plain = {name: drawn[name] for name in drawn if name in type(scheme).model_fields}
    return spec.model_copy(update={"agents": scheme.model_copy(update=plain).model_dump()})


def make_worlds(
    spec: RunSpec, data: Dataset, rounds: Sequence[int], names: Sequence[Name]
) -> Iterator[Worlds]:
    """Make the worlds of some canaries.

    Parameters
    ----------
    spec
        What is audited, unshuffled. Its seeds are those of a pilot run, whose models a canary's target is chosen by.
    data
        The data set.
    rounds
        Those of the pilot run.
    names
        The canaries.
    """
    pilot = play(spec, data, rounds)
    problem = pilot.federation.problem
    assert isinstance(problem, BoundRows)
    rows = _rows_of_smallest(spec, data)
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
        first = _with(data, row, x, y)
        second = without = _with(data, row, np.zeros_like(x), y)
        if spec.privacy.relation == "replace":
            second = _with(data, row, x, right_y if y != right_y else wrong_y)
        yield Worlds(name, int(row), first, second, without)


def _with(data: Dataset, row: int, x: Array, y: Any) -> Dataset:
    X_train, y_train = data.X_train.copy(), data.y_train.copy()
    X_train[row], y_train[row] = x, y
    return replace(data, X_train=X_train, y_train=y_train)


def _rows_of_smallest(spec: RunSpec, data: Dataset) -> Array:
    """Rows of the agent that has the fewest rows, but at least one."""
    found = spec.scheme.split(data, [])
    assert isinstance(found, Split)
    shares = [share[0][1] for share in found.shares]
    fewest = min((each for each in shares if n_rows(each)), key=n_rows)
    return np.arange(data.n_train)[fewest]


def _largest_entry(problem: BoundRows) -> float:
    """Of the admissible record with equal entries that is largest; that of the data where nothing bounds records.

    It may be longer than the problem allows, which then scales it down.
    """
    low, high = problem.split.dataset.domain
    if not np.isfinite(problem.bound_linf):
        return float(np.abs(problem.X).max())
    return float(np.clip(max(low, high, key=abs), -problem.bound_linf, problem.bound_linf))


def _contributions(problem: BoundRows, rows: Array) -> Array:
    """Norms of what records contribute to the gradient of the first model, which is zero."""
    slopes = problem.loss.slopes(
        np.zeros((len(rows), problem.model_shape[0]), problem.dtype), problem.y[rows]
    )
    return np.linalg.norm(slopes, axis=1) * np.linalg.norm(problem.X[rows], axis=1)


def _targets(problem: BoundRows, data: Dataset, x: Array, model: Array) -> tuple[Any, Any]:
    """Targets for which a model is least and most wrong about a record: classes, or the ends of numbers."""
    ends = np.array([data.y_train.min(), data.y_train.max()])
    candidates = np.arange(data.n_classes) if data.n_classes else ends
    u = np.broadcast_to(model @ x, (len(candidates), len(model)))
    wrong = problem.loss.losses(u.copy(), problem.loss.targets(candidates, problem.dtype))
    return candidates[wrong.argmin()], candidates[wrong.argmax()]
