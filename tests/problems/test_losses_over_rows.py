"""Problems over rows, made of each loss: record by record, by differences, and by searches for what exceeds a bound."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import Any, Literal

import numpy as np

from admmbench.contracts import ensure
from admmbench.contracts.losses import STEP, Array, LossCase, close, supremum
from admmbench.datasets import Dataset, RowSelection
from admmbench.problems.rows import BoundRows, RowParts
from tests.problems.losses import (
    ALL,
    STRENGTH,
    bind_shares,
    differences,
    each_loss,
    literal_penalty,
)

# Conventions of the sum over agents, and weights of the penalty.
_SUMS = list(itertools.product(("records", "agents"), ("agent", "total")))
# Bounds on records; corners of the box, scaled to them, are the longest in l1 and in l2.
_RECORDS: tuple[dict[str, float], ...] = (
    {},
    {"max_l1_norm": 2.0},
    {"max_l2_norm": 0.5},
    {"max_l1_norm": 2.0, "max_l2_norm": 1.2},
)


def _halves(n: int, n_seeds: int) -> list[list[tuple[slice, RowSelection]]]:
    """Two agents, of unlike sizes."""
    return [[(slice(0, n_seeds), rows)] for rows in (slice(0, 5), slice(5, n))]


@each_loss
def test_gradients_are_differences_of_the_objective(case: LossCase) -> None:
    """Gradients of the agents' objectives and of their sum, whose literal value evaluation reports."""
    rng = np.random.default_rng(6)
    for data, penalty, (average, per) in itertools.product(case.suited, ("l1", "l2"), _SUMS):
        settings: dict[str, Any] = {"penalty": penalty, "average": average, "per": per}
        whole = bind_shares(case, data, _halves(data.n_train, 2), 2, strength=STRENGTH, **settings)
        parts, n = whole.block(slice(0, 2)), data.n_train
        sizes = np.array([5, n - 5])
        divisor = np.full(2, n) if average == "records" else sizes
        own_strength = STRENGTH if per == "agent" else STRENGTH / 2
        # No entry is zero, where an l1 penalty has a kink.
        w = rng.uniform(0.2, 1, (2, *whole.model_shape)) * rng.choice([-1, 1], whole.model_shape)
        z = np.stack([w, w])

        own = partial(_own_objectives, case, whole, divisor, own_strength)
        gradient = parts.objective.full_gradient(z)
        wanted = differences(own, z, 2)
        what = f"{data.name}, {penalty}, average {average}, per {per}"
        close(gradient, wanted, 1e-5 * (1 + np.abs(wanted)), f"{what}: gradient")
        found = whole.evaluate(SimpleNamespace(w=w, z=z), [parts], ALL)
        total = own(z).sum(axis=0)
        close(found["train_loss"], total, 1e-9 * (1 + total), f"{what}: train_loss")
        whole_gradient = parts.gradient(z, mean_over=divisor).value.sum(axis=0)
        whole_gradient += whole.total_strength * whole.penalty.gradient(w)
        close(
            whole_gradient,
            wanted.sum(axis=0),
            2e-5 * (1 + np.abs(wanted).sum(axis=0)),
            f"{what}: sum",
        )
        assert set(found) == set(whole.problem.variables(data.info))


def _own_objectives(
    case: LossCase, whole: BoundRows, divisor: Array, strength: float, z: Array
) -> Array:
    """Objective of each of two agents and seeds, from the records in double precision."""
    X, y = whole.split.dataset.X_train.astype(np.float64), whole.y
    values = np.empty(z.shape[:2])
    for (p, s), rows in zip(
        np.ndindex(*values.shape), [slice(0, 5)] * 2 + [slice(5, len(y))] * 2, strict=True
    ):
        values[p, s] = case.values(X[rows] @ z[p, s].T, y[rows]).sum() / divisor[p]
        values[p, s] += strength * literal_penalty(whole.problem.penalty_name, z[p, s])
    return values


def _models(case: LossCase, whole: BoundRows, data: Dataset, y: Array) -> Array:
    """Models (S, K, J) whose predictions of some record are extreme, and some others."""
    (points,) = [each for own, each in zip(case.suited, case.points, strict=True) if own is data]
    found = [np.random.default_rng(7).normal(size=whole.model_shape)]
    for x, target in zip(whole.X, y, strict=True):
        predictions, targets = points
        error = predictions if data.n_classes else predictions - targets[:, None]
        own = error[targets == (target if data.n_classes else targets[0])]
        own = own[np.abs(own).max(axis=1) <= 100]
        at = own if data.n_classes else own + target
        same = np.full(len(at), target)
        slopes = np.linalg.norm(case.derivatives(at, same), 1, axis=1)
        curvatures = np.linalg.norm(case.hessians(at, same), 2, axis=(1, 2))
        best = (at[slopes.argmax()], at[curvatures.argmax()])
        found += [np.outer(u, x) / (x @ x) for u in best]
    return np.array(found)


def _neighbours(n: int, n_seeds: int) -> list[list[tuple[slice, RowSelection]]]:
    """As agents: all records, then all but one."""
    everyone, order = slice(0, n_seeds), np.arange(n)
    return [[(everyone, rows)] for rows in (order, *(np.delete(order, i) for i in range(n)))]


def _changes(
    case: LossCase, data: Dataset, sensitivity: Literal["local", "global"], **settings: Any
) -> tuple[BoundRows, Array, Array]:
    """The bound problem, its sensitivities (3, S), and norms (3, n, S) of what leaving out one record changes."""
    n = data.n_train
    single = bind_shares(case, data, _neighbours(n, 1), 1, sensitivity, **settings)
    models = _models(case, single, data, single.y)
    S = len(models)
    whole = bind_shares(case, data, _neighbours(n, S), S, sensitivity, **settings)
    z = np.broadcast_to(models, (n + 1, *models.shape))
    found = whole.block(slice(0, n + 1)).gradient(z, mean_over=n)
    l1, l2 = map(np.asarray, (found.sensitivity.l1, found.sensitivity.l2))
    change = (found.value[:1] - found.value[1:]).reshape(n, S, -1)
    norms = np.stack([np.linalg.norm(change, order, axis=2) for order in (1, 2, np.inf)])
    if sensitivity == "global":
        close(l2, l1 * found.sensitivity.l2_over_l1, 1e-12 * l2, f"{data.name}: l2 over l1")
    return whole, np.stack([l1[0], l2[0], l1[0] * found.sensitivity.linf_over_l1]), norms


@each_loss
def test_local_sensitivity_is_what_a_record_changes(case: LossCase) -> None:
    """The largest change of the gradient by leaving out a record, exactly, in l1 and in l2."""
    for data in case.suited:
        _, bounds, changes = _changes(case, data, "local")
        for k in range(2):
            largest = changes[k].max(axis=0)
            allowed = 1e-9 * (1 + largest)
            close(bounds[k], largest, allowed, f"{data.name}: local sensitivity in l{k + 1}")


def _corners(data: Dataset) -> Dataset:
    """Records at all corners of the box but the origin, with each of the targets."""
    J = data.n_features
    X = np.array(list(itertools.product((0.0, 1.0), repeat=J))[1:], np.float32)
    n = data.n_classes or 1
    y: Array = np.arange(n) if data.n_classes else data.y_train[:1]
    return replace(data, X_train=np.repeat(X, n, axis=0), y_train=np.tile(y, len(X)))


@each_loss
def test_global_sensitivity_bounds_what_a_record_changes(case: LossCase) -> None:
    """No admissible record changes the gradient by more, and some by as much; the same for gradient bounds."""
    if math.isinf(case.loss.derivative_l2):
        for data in case.suited:
            try:
                bind_shares(case, data, _halves(data.n_train, 1), 1, "global")
            except ValueError as error:
                ensure(
                    "global" in str(error) and "bounded" in str(error),
                    f"the refusal of a slope without a bound does not say so: {error}",
                )
            else:
                raise AssertionError("a slope without a bound does not refuse sensitivity: global")
        return
    # Which of two classes is confused changes nothing, so that the extremes are there for each.
    for data, records in itertools.product(map(_corners, case.suited), _RECORDS):
        extreme = LossCase(case.spec, [data])
        whole, bounds, changes = _changes(extreme, data, "global", records=records)
        n, what = data.n_train, f"{data.name}, records {records}"
        for k, order in enumerate(("1", "2", "inf")):
            ensure(
                np.ptp(bounds[k]) == 0,
                f"{what}: the global sensitivity in l{order} tells of models",
            )
            supremum(n * changes[k], n * float(bounds[k, 0]), f"{what}: l{order} norm of a change")
        parts = whole.block(slice(0, 1))
        largest = float(n * changes[1].max())
        for found in (whole.gradient_bound, float(parts.gradient_bound[0, 0])):
            supremum(np.array(largest), found, f"{what}: l2 norm of a record's gradient")
        for power, bound in ((1, whole.bound_l1), (2, whole.bound_l2)):
            norms = np.linalg.norm(whole.X, power, axis=1)
            supremum(norms, bound, f"{what}: l{power} norm of an admissible record")


def _hessians(gradient: Callable[[Array], Array], z: Array) -> Array:
    """Derivatives (n, S, K J, K J) of gradients at models (n, S, K, J), by differences."""
    size = z.shape[2] * z.shape[3]
    found = np.empty((*z.shape[:2], size, size))
    for entry, way in enumerate(STEP * np.eye(size)):
        step = way.reshape(z.shape[2:])
        difference = (gradient(z + step) - gradient(z - step)) / (2 * STEP)
        found[:, :, entry] = difference.reshape(*z.shape[:2], size)
    return found


@each_loss
def test_curvature_of_records_is_bounded(case: LossCase) -> None:
    """Hessians of single records, by differences of gradients, against the curvature and gradient bounds."""
    for data in case.suited:
        n = data.n_train
        single = bind_shares(case, data, _neighbours(n, 1), 1)
        models = _models(case, single, data, single.y)
        S, (K, J) = len(models), single.model_shape
        shares: list[list[tuple[slice, RowSelection]]] = [
            [(slice(0, S), slice(i, i + 1))] for i in range(n)
        ]
        parts = bind_shares(case, data, shares, S).block(slice(0, n))

        def gradient(z: Array, parts: RowParts = parts) -> Array:
            return parts.gradient(z, mean_over=1).value

        z = np.broadcast_to(models, (n, S, K, J)).copy()
        hessians = _hessians(gradient, z)
        norms = np.linalg.norm(hessians, 2, axis=(2, 3)).max(axis=1)
        bounds = parts.curvature_bound[:, 0]
        what = f"{data.name}: curvature of a record"
        ensure(
            (norms <= bounds * (1 + 1e-5)).all(),
            f"{what} is more than its bound, {(norms / bounds).max():.4g} times",
        )
        ensure(
            (norms >= 0.98 * bounds).all(),
            f"{what} stays at {(norms / bounds).min():.4g} of its bound",
        )
        if math.isfinite(case.loss.derivative_l2):
            sizes = np.linalg.norm(gradient(z).reshape(n, S, -1), axis=2).max(axis=1)
            bounds = parts.gradient_bound[:, 0]
            what = f"{data.name}: the gradient of a record is {sizes / bounds} times its bound"
            ensure((sizes <= bounds * (1 + 1e-9)).all(), what)
            ensure((sizes >= 0.98 * bounds).all(), what)
