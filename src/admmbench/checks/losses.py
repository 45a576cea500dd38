"""Contracts of every loss, and of every problem that is made of it.

The checks need the loss alone. They use small data with targets that the loss accepts, made from a fixed seed, and
search for violations for about a second.
"""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from types import SimpleNamespace
from typing import Any, Literal

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import optimize

from admmbench.checks import Check, ensure
from admmbench.datasets import Dataset, DatasetInfo
from admmbench.engine.federation import Workers
from admmbench.partition import ColumnSplit, RowSelection, Split
from admmbench.problems import as_problem
from admmbench.problems.base import Gradient, Map
from admmbench.problems.columns import BoundColumns
from admmbench.problems.losses import as_loss
from admmbench.problems.losses.base import Loss, ScalarLoss
from admmbench.problems.penalties import PENALTIES
from admmbench.problems.rows import BoundRows

__all__ = ["of_loss"]

Array = NDArray[Any]

_STEP = 1e-6
_ROUNDING = 1e-9
# What a search must reach of a supremum, so that a bound that is twice too large is noticed.
_REACHED = 0.99
_HUGE = (1e4, 1e8, 1e15)
# Conventions of the sum over agents, and weights of the penalty.
_SUMS = list(itertools.product(("records", "agents"), ("agent", "total")))
_SHARINGS: tuple[Literal["rows", "columns"], ...] = ("rows", "columns")
_STRENGTH = 0.3
# Bounds on records; corners of the box, scaled to them, are the longest in l1 and in l2.
_RECORDS: tuple[dict[str, float], ...] = (
    {},
    {"max_l1_norm": 2.0},
    {"max_l2_norm": 0.5},
    {"max_l1_norm": 2.0, "max_l2_norm": 1.2},
)


def of_loss(name: str | Mapping[str, Any]) -> Iterator[Check]:
    """All checks of a loss, alone and as a part of a problem.

    Parameters
    ----------
    name
        Name of a loss, path of its file, or a mapping with ``name`` and parameters.
    """
    case = _Case(name)
    checks: list[tuple[str, Callable[[_Case], None]]] = [
        ("some data set suits it", _suits_data),
        ("slopes are differences of the value", _slopes_are_differences),
        ("finite values for huge predictions", _is_finite),
        ("slopes are as steep as it says", _slopes_are_bounded),
        ("curvature is as large as it says", _curvature_is_bounded),
        ("slopes lie in a space as small as it says", _slopes_have_the_rank),
        ("convex or not as it says", _convexity_is_declared),
        ("slopes are scaled in place", _scales_in_place),
        ("probabilities are clipped to the floor", _clips),
        ("gradients over rows are differences of the objective", _row_gradients),
        ("local sensitivity is what a record changes", _local_sensitivity),
        ("curvature of records is bounded", _record_curvature),
        ("seeds with the same rows agree", _seeds_agree),
        ("global sensitivity bounds what a record changes", _global_sensitivity),
        ("other targets and shared columns are refused", _refusals),
    ]
    if case.loss.convex:
        checks += [("the optimum over rows is one", _row_optimum)]
    if case.scalar:
        checks += [
            ("curvature is a difference of slopes", _curvature_is_a_difference),
            ("gradients over columns are differences of the objective", _column_gradients),
            ("the update of z over columns is the root", _column_update),
        ]
        if case.loss.convex:
            checks += [("the optimum over columns is one", _column_optimum)]
    for words, check in checks:
        yield Check(words, partial(_run, check, case))


def _run(check: Callable[[_Case], None], case: _Case) -> None:
    """Run a check; any other exception counts as its failure, in words."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", RuntimeWarning)
        try:
            check(case)
        except AssertionError:
            raise
        except Exception as error:
            raise AssertionError(f"{type(error).__name__}: {error}") from error


# What there is to check


class _Case:
    """A loss, and data that suit it."""

    def __init__(
        self, spec: str | Mapping[str, Any], data: Iterable[Dataset] | None = None
    ) -> None:
        self.spec = spec if isinstance(spec, str) else dict(spec)
        self.loss: Loss = as_loss(spec)
        self.scalar = self.loss if isinstance(self.loss, ScalarLoss) else None
        given = _data_sets() if data is None else data
        self.suited = [each for each in given if _accepts(self.loss, each)]
        """Small data sets that the loss accepts."""

    @cached_property
    def points(self) -> list[tuple[Array, Array]]:
        """Predictions (n, K) and targets (n,) where losses have their extremes: near, far and in between."""
        return [_points(self.loss, data) for data in self.suited]

    def slopes(self, u: Array, y: Array) -> Array:
        """Slopes of predictions (n, K)."""
        return self.loss.slopes(u[:, None].copy(), y[:, None])[:, 0]

    def values(self, u: Array, y: Array) -> Array:
        """Losses of predictions (n, K)."""
        return self.loss.losses(u[:, None].copy(), y[:, None])[:, 0]

    def hessians(self, u: Array, y: Array) -> Array:
        """Second derivatives (n, K, K), by differences of slopes."""
        K = u.shape[1]
        found = np.empty((len(u), K, K))
        for k, way in enumerate(_STEP * np.eye(K)):
            found[:, k] = (self.slopes(u + way, y) - self.slopes(u - way, y)) / (2 * _STEP)
        return found

    def rows(
        self,
        data: Dataset,
        shares: Sequence[Sequence[tuple[slice, RowSelection]]],
        n_seeds: int,
        sensitivity: Literal["local", "global"] = "local",
        **settings: Any,
    ) -> BoundRows:
        """A problem whose rows are shared out by hand; records are as they are unless settings say otherwise."""
        problem = as_problem({"loss": self.spec, "records": {}, **settings}, "rows")
        split = Split(data, [list(own) for own in shares])
        bound = problem.bind(split, n_seeds, sensitivity, np.float64)
        assert isinstance(bound, BoundRows)
        return bound

    def columns(
        self,
        data: Dataset,
        columns: Sequence[slice],
        n_seeds: int,
        dtype: DTypeLike = np.float64,
        **settings: Any,
    ) -> BoundColumns:
        """A problem whose columns are shared out."""
        problem = as_problem({"loss": self.spec, **settings}, "columns")
        bound = problem.bind(ColumnSplit(data, list(columns)), n_seeds, "local", dtype)
        assert isinstance(bound, BoundColumns)
        return bound


def _data_sets() -> Iterator[Dataset]:
    """Two classes, three, and numbers; 14 records of 3 features."""
    rng = np.random.default_rng(1)
    X = rng.random((20, 3)).astype(np.float32)
    for n_classes in (2, 3, 0):
        targets = rng.integers(0, n_classes, 20) if n_classes else 3 * rng.normal(size=20)
        y: Array = np.asarray(targets, np.int64 if n_classes else np.float32)
        yield Dataset(
            name=f"made with {n_classes} classes" if n_classes else "made with numbers",
            settings={},
            X_train=X[:14],
            y_train=y[:14],
            X_test=X[14:],
            y_test=y[14:],
            class_names=tuple(map(str, range(n_classes))),
            target_unit="1" if n_classes else "m",
        )


def _accepts(loss: Loss, data: Dataset) -> bool:
    try:
        loss.check(data.info)
    except ValueError:
        return False
    return True


def _points(loss: Loss, data: Dataset) -> tuple[Array, Array]:
    rng = np.random.default_rng(2)
    K = loss.outputs(data.info)
    scales = 10.0 ** np.arange(-3, 4)
    ways = np.concatenate([scale * rng.normal(size=(60, K)) for scale in scales])
    # Ties, and certainty.
    corners = np.array(list(itertools.product((0.0, 1.0, -1.0), repeat=K)))
    ways = np.concatenate([ways, *(scale * corners for scale in (0.5, 50.0, 1000.0))])
    if K == 1:
        ways = np.concatenate([ways, np.linspace(-20, 20, 2001)[:, None]])
    targets = loss.targets(data.y_train, np.dtype(np.float64))
    kinds = np.unique(targets) if data.n_classes else targets[:3]
    y = np.repeat(kinds, len(ways))
    u = np.tile(ways, (len(kinds), 1))
    # The errors are what counts for numbers.
    return (u if data.n_classes else u + y[:, None]), y


def _close(found: Array, wanted: Array, allowed: Any, what: str) -> None:
    """Raise if an entry is further off than allowed; a NaN always is."""
    off = np.abs(np.asarray(found, np.float64) - np.asarray(wanted, np.float64))
    excess = off - np.broadcast_to(allowed, off.shape)
    bad = ~(excess <= 0)
    if bad.any():
        place = np.unravel_index(np.argmax(bad), bad.shape)
        one, other = np.broadcast_arrays(found, wanted)
        raise AssertionError(
            f"{what}: {int(bad.sum())} of {bad.size} entries differ, the first is {one[place]!r} and should be "
            f"{other[place]!r}"
        )


def _largest(values: Array, bound: float, what: str) -> None:
    """The largest value found is at most the bound, and nearly reaches it where that is finite."""
    found = float(np.max(values))
    ensure(
        found <= bound * (1 + 1e-6), f"{what} reaches {found:.6g}, more than the bound {bound:.6g}"
    )
    if math.isfinite(bound):
        ensure(
            found >= _REACHED * bound,
            f"{what} reaches only {found:.6g}: the bound {bound:.6g} is larger than need be",
        )


# The loss alone


def _suits_data(case: _Case) -> None:
    """Targets, mistakes and variables have the shapes and names that evaluation takes."""
    ensure(case.suited, "it accepts neither classes nor numbers as targets")
    for data in case.suited:
        loss, K = case.loss, case.loss.outputs(data.info)
        for dtype in (np.dtype(np.float32), np.dtype(np.float64)):
            y = loss.targets(data.y_train, dtype)
            ensure(y.shape == data.y_train.shape, f"{data.name}: targets change their shape")
        names = loss.variables(data.info)
        wanted = [loss.metric, "test_loss", "train_loss"]
        ensure(list(names) == wanted, f"{data.name}: variables are {list(names)}, not {wanted}")
        ensure(
            all(unit and words for unit, words in names.values()),
            f"{data.name}: a variable lacks its unit or its long name: {names}",
        )
        u = np.random.default_rng(3).normal(size=(len(y), 2, K))
        mistakes = loss.mistakes(u, y[:, None])
        ensure(mistakes.shape == u.shape[:2], f"{data.name}: mistakes have shape {mistakes.shape}")
        score = loss.score(mistakes.mean(axis=0, dtype=np.float64))
        ensure((score >= 0).all(), f"{data.name}: {loss.metric} is negative")


def _slopes_are_differences(case: _Case) -> None:
    """A central difference is within curvature times step of the slope, also at kinks of the slope."""
    for u, y in case.points:
        slopes, K = case.slopes(u, y), u.shape[1]
        value = case.values(u, y)
        for k, way in enumerate(_STEP * np.eye(K)):
            higher, lower = case.values(u + way, y), case.values(u - way, y)
            allowed = case.loss.curvature_bound * _STEP + _ROUNDING * (1 + np.abs(value))
            allowed = allowed + 1e-9 * np.abs(u).max(axis=1) * (1 + np.abs(slopes[:, k]))
            found = (higher - lower) / (2 * _STEP)
            _close(slopes[:, k], found, allowed, f"slope in prediction {k}")


def _curvature_is_a_difference(case: _Case) -> None:
    """A difference of slopes lies between the curvatures around; they differ at kinks only."""
    assert case.scalar
    for points, y in case.points:
        u = points[:, 0]
        slopes = [case.scalar.slope(u + way, y) for way in (_STEP, -_STEP)]
        found = (slopes[0] - slopes[1]) / (2 * _STEP)
        around = [case.scalar.curvature(u + way, y) for way in (-_STEP, 0.0, _STEP)]
        allowed = 1e-4 * case.loss.curvature_bound + 1e-8 * (1 + np.abs(u))
        between = np.clip(found, np.min(around, axis=0), np.max(around, axis=0))
        _close(between, found, allowed, "curvature")


def _is_finite(case: _Case) -> None:
    """Nothing overflows, slopes keep their precision, and losses are double."""
    for (u, y), dtype in itertools.product(case.points, (np.float32, np.float64)):
        for scale in _HUGE:
            far = (scale * np.sign(u)).astype(dtype)
            targets = y.astype(dtype) if y.dtype.kind == "f" else y
            with np.errstate(over="raise", invalid="raise", divide="raise"):
                try:
                    slopes, values = case.slopes(far, targets), case.values(far, targets)
                    more = _curvatures(case, far, targets)
                except FloatingPointError as error:
                    raise AssertionError(
                        f"predictions of {scale:.0e} in {dtype.__name__}: {error}"
                    ) from None
            for what, found in (("slope", slopes), ("value", values), ("curvature", more)):
                ensure(
                    np.isfinite(found).all(),
                    f"predictions of {scale:.0e} in {dtype.__name__}: the {what} is not finite",
                )
            ensure(slopes.dtype == dtype, f"slopes of {dtype.__name__} are {slopes.dtype}")
            ensure(values.dtype == np.float64, f"losses are {values.dtype}, not float64")


def _curvatures(case: _Case, u: Array, y: Array) -> Array:
    return case.scalar.curvature(u[:, 0], y) if case.scalar else np.zeros(1)


def _slopes_are_bounded(case: _Case) -> None:
    """Suprema of the slope, in each norm."""
    loss = case.loss
    slopes = [case.slopes(u, y) for u, y in case.points]
    for order, bound in ((1, loss.slope_l1), (2, loss.slope_l2), (np.inf, loss.slope_linf)):
        largest = np.array([np.linalg.norm(each, order, axis=1).max() for each in slopes])
        _largest(largest, bound, f"the l{order} norm of the slope")
        if math.isinf(bound):
            steep = max(
                np.linalg.norm(case.slopes(1e9 * np.sign(u), y), order, axis=1).max()
                for u, y in case.points
            )
            ensure(
                steep > 1000 * largest.max(),
                f"it says that its slope is unbounded, but the l{order} norm stays at {steep:.3g}",
            )


def _curvature_is_bounded(case: _Case) -> None:
    """Supremum of the second derivative's spectral norm."""
    norms = [np.linalg.norm(_near(case, u, y), 2, axis=(1, 2)).max() for u, y in case.points]
    # Differences of slopes have an error of their own.
    bound = case.loss.curvature_bound
    _largest(
        np.minimum(norms, bound) if max(norms) <= bound + 1e-7 else np.array(norms),
        bound,
        "the curvature",
    )


def _slopes_have_the_rank(case: _Case) -> None:
    """Dimension of their span."""
    for u, y in case.points:
        rank = int(np.linalg.matrix_rank(case.slopes(u, y), rtol=1e-9))
        declared = case.loss.rank(u.shape[1])
        ensure(rank <= declared, f"its slopes span {rank} dimensions, rank says {declared}")


def _near(case: _Case, u: Array, y: Array) -> Array:
    """Second derivatives where differences of slopes are not lost in rounding."""
    near = np.abs(u).max(axis=1) <= 100
    return case.hessians(u[near], y[near])


def _convexity_is_declared(case: _Case) -> None:
    """Midpoints of a convex loss lie below; some of the others do not."""
    below = True
    for u, y in case.points:
        rng = np.random.default_rng(4)
        for target in np.unique(y):
            own = u[y == target]
            first, second = own[rng.integers(0, len(own), (2, 4000))]
            same = np.full(len(first), target)
            ends = (case.values(first, same) + case.values(second, same)) / 2
            middle = case.values((first + second) / 2, same)
            below &= bool((middle <= ends + 1e-12 * (1 + np.abs(ends))).all())
    ensure(below or not case.loss.convex, "it says that it is convex, but a midpoint lies above")
    ensure(
        not below or case.loss.convex, "it says that it is not convex, but no midpoint lies above"
    )


def _scales_in_place(case: _Case) -> None:
    """What gradients are made of: scaled slopes in place of the predictions, and norms of those before."""
    rng = np.random.default_rng(5)
    for points, y in case.points:
        u = np.stack([points, points[::-1]], axis=1)
        plain = np.stack([case.slopes(u[:, s], y) for s in range(2)], axis=1)
        scale, place = rng.uniform(0.1, 2, len(u)), u.copy()
        norms = case.loss.scaled_slopes(place, y, scale)
        size = 1 + np.abs(plain)
        _close(place, scale[:, None, None] * plain, 1e-12 * size, "scaled slope")
        for order, found in ((1, norms.l1), (2, norms.l2)):
            wanted = np.linalg.norm(plain, order, axis=2)
            _close(found, wanted, 1e-12 * (1 + wanted), f"l{order} norm of the slope")


def _clips(case: _Case) -> None:
    """No floor changes nothing, and a floor moves no slope further than itself."""
    for u, y in case.points:
        plain = case.slopes(u, y)
        for floor in (0.0, 1e-3):
            clipped = case.loss.clipped(floor).slopes(u[:, None].copy(), y[:, None])[:, 0]
            _close(clipped, plain, floor * (1 + 1e-9), f"slope with the floor {floor}")


# Shared rows


_ALL: Map = Workers(1).map


def _halves(n: int, n_seeds: int) -> list[list[tuple[slice, RowSelection]]]:
    """Two agents, of unlike sizes."""
    return [[(slice(0, n_seeds), rows)] for rows in (slice(0, 5), slice(5, n))]


def _row_gradients(case: _Case) -> None:
    """Gradients of the agents' objectives and of their sum, whose literal value evaluation reports."""
    rng = np.random.default_rng(6)
    for data, penalty, (average, per) in itertools.product(case.suited, ("l1", "l2"), _SUMS):
        settings: dict[str, Any] = {"penalty": penalty, "average": average, "per": per}
        whole = case.rows(data, _halves(data.n_train, 2), 2, strength=_STRENGTH, **settings)
        parts, n = whole.block(slice(0, 2)), data.n_train
        sizes = np.array([5, n - 5])
        divisor = np.full(2, n) if average == "records" else sizes
        own_strength = _STRENGTH if per == "agent" else _STRENGTH / 2
        # No entry is zero, where an l1 penalty has a kink.
        w = rng.uniform(0.2, 1, (2, *whole.model_shape)) * rng.choice([-1, 1], whole.model_shape)
        z = np.stack([w, w])

        own = partial(_own_objectives, case, whole, divisor, own_strength)
        gradient = parts.gradient(z, mean_over=divisor).value
        whole.add_penalty_gradient(gradient, z)
        wanted = _differences(own, z, 2)
        what = f"{data.name}, {penalty}, average {average}, per {per}"
        _close(gradient, wanted, 1e-5 * (1 + np.abs(wanted)), f"{what}: gradient")
        found = whole.evaluate(SimpleNamespace(w=w, z=z), [parts], _ALL)
        total = own(z).sum(axis=0)
        _close(found["train_loss"], total, 1e-9 * (1 + total), f"{what}: train_loss")
        whole_gradient = parts.gradient(z, mean_over=divisor).value.sum(axis=0)
        whole_gradient += whole.total_strength * whole.penalty.gradient(w)
        _close(
            whole_gradient,
            wanted.sum(axis=0),
            2e-5 * (1 + np.abs(wanted).sum(axis=0)),
            f"{what}: sum",
        )
        _evaluation(case, whole, found, w, z, what)


def _own_objectives(
    case: _Case, whole: BoundRows, divisor: Array, strength: float, z: Array
) -> Array:
    """Objective of each of two agents and seeds, from the records in double precision."""
    X, y = whole.split.dataset.X_train.astype(np.float64), whole.y
    values = np.empty(z.shape[:2])
    for (p, s), rows in zip(
        np.ndindex(*values.shape), [slice(0, 5)] * 2 + [slice(5, len(y))] * 2, strict=True
    ):
        values[p, s] = case.values(X[rows] @ z[p, s].T, y[rows]).sum() / divisor[p]
        values[p, s] += strength * _literal_penalty(whole.problem.penalty_name, z[p, s])
    return values


def _literal_penalty(name: str, w: Array) -> float:
    return float(np.abs(w).sum() if name == "l1" else np.square(w).sum() / 2)


def _differences(function: Callable[[Array], Array], at: Array, lead: int) -> Array:
    """Central differences in the trailing axes; the function keeps the leading ones."""
    found = np.empty_like(at)
    for place in np.ndindex(at.shape[lead:]):
        way = np.zeros(at.shape[lead:])
        way[place] = _STEP
        found[(..., *place)] = (function(at + way) - function(at - way)) / (2 * _STEP)
    return found


def _evaluation(
    case: _Case, whole: BoundRows, found: dict[str, Array], w: Array, z: Array, what: str
) -> None:
    """Test loss, metric and empirical loss, record by record."""
    data = whole.split.dataset
    y = case.loss.targets(data.y_test, np.dtype(np.float64))
    for s in range(len(w)):
        u = data.X_test.astype(np.float64) @ w[s].T
        loss, mistakes = case.values(u, y).mean(), case.loss.mistakes(u, y).mean(dtype=np.float64)
        _close(found["test_loss"][s], loss, 1e-9 * (1 + loss), f"{what}: test_loss")
        score = case.loss.score(mistakes)
        _close(found[case.loss.metric][s], score, 1e-9 * (1 + score), f"{what}: metric")
    ensure(
        set(found) == set(whole.problem.variables(data.info)),
        f"{what}: evaluation measures {sorted(found)}, not what the problem declares",
    )


def _models(case: _Case, whole: BoundRows, data: Dataset, y: Array) -> Array:
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
        slopes = np.linalg.norm(case.slopes(at, same), 1, axis=1)
        curvatures = np.linalg.norm(case.hessians(at, same), 2, axis=(1, 2))
        best = (at[slopes.argmax()], at[curvatures.argmax()])
        found += [np.outer(u, x) / (x @ x) for u in best]
    return np.array(found)


def _neighbours(n: int, n_seeds: int) -> list[list[tuple[slice, RowSelection]]]:
    """As agents: all records, then all but one."""
    everyone, order = slice(0, n_seeds), np.arange(n)
    return [[(everyone, rows)] for rows in (order, *(np.delete(order, i) for i in range(n)))]


def _changes(
    case: _Case, data: Dataset, sensitivity: Literal["local", "global"], **settings: Any
) -> tuple[BoundRows, Array, Array]:
    """The bound problem, its sensitivities (2, S), and norms (2, n, S) of what leaving out one record changes."""
    n = data.n_train
    single = case.rows(data, _neighbours(n, 1), 1, sensitivity, **settings)
    models = _models(case, single, data, single.y)
    S = len(models)
    whole = case.rows(data, _neighbours(n, S), S, sensitivity, **settings)
    z = np.broadcast_to(models, (n + 1, *models.shape))
    found = whole.block(slice(0, n + 1)).gradient(z, mean_over=n)
    l1, l2 = _both(found)
    change = (found.value[:1] - found.value[1:]).reshape(n, S, -1)
    norms = np.stack([np.linalg.norm(change, order, axis=2) for order in (1, 2)])
    return whole, np.stack([l1[0], l2[0]]), norms


def _local_sensitivity(case: _Case) -> None:
    """The largest change of the gradient by leaving out a record, exactly, in l1 and in l2."""
    for data in case.suited:
        _, bounds, changes = _changes(case, data, "local")
        for k in range(2):
            largest = changes[k].max(axis=0)
            allowed = 1e-9 * (1 + largest)
            _close(bounds[k], largest, allowed, f"{data.name}: local sensitivity in l{k + 1}")


def _both(gradient: Gradient) -> tuple[Array, Array]:
    """Sensitivities in l1 and l2; over rows both are known."""
    l1, l2 = gradient.sensitivity.l1, gradient.sensitivity.l2
    assert l1 is not None
    assert l2 is not None
    return l1, l2


def _corners(data: Dataset) -> Dataset:
    """Records at all corners of the box but the origin, with each of the targets."""
    J = data.n_features
    X = np.array(list(itertools.product((0.0, 1.0), repeat=J))[1:], np.float32)
    n = data.n_classes or 1
    y: Array = np.arange(n) if data.n_classes else data.y_train[:1]
    return replace(data, X_train=np.repeat(X, n, axis=0), y_train=np.tile(y, len(X)))


def _global_sensitivity(case: _Case) -> None:
    """No admissible record changes the gradient by more, and some by as much; the same for gradient bounds."""
    if math.isinf(case.loss.slope_l2):
        for data in case.suited:
            try:
                case.rows(data, _halves(data.n_train, 1), 1, "global")
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
        extreme = _Case(case.spec, [data])
        whole, bounds, changes = _changes(extreme, data, "global", records=records)
        n, what = data.n_train, f"{data.name}, records {records}"
        for k in range(2):
            ensure(
                np.ptp(bounds[k]) == 0,
                f"{what}: the global sensitivity in l{k + 1} tells of models",
            )
            _largest(n * changes[k], n * float(bounds[k, 0]), f"{what}: l{k + 1} norm of a change")
        parts = whole.block(slice(0, 1))
        largest = float(n * changes[1].max())
        for found in (whole.gradient_bound, float(parts.gradient_bound[0, 0])):
            _largest(np.array(largest), found, f"{what}: l2 norm of a record's gradient")
        for order, bound in ((1, whole.bound_l1), (2, whole.bound_l2)):
            norms = np.linalg.norm(whole.X, order, axis=1)
            _largest(norms, bound, f"{what}: l{order} norm of an admissible record")


def _record_curvature(case: _Case) -> None:
    """Hessians of single records, by differences of gradients, against the curvature and gradient bounds."""
    for data in case.suited:
        n = data.n_train
        single = case.rows(data, _neighbours(n, 1), 1)
        models = _models(case, single, data, single.y)
        S, (K, J) = len(models), single.model_shape
        shares: list[list[tuple[slice, RowSelection]]] = [
            [(slice(0, S), slice(i, i + 1))] for i in range(n)
        ]
        parts = case.rows(data, shares, S).block(slice(0, n))

        def gradient(z: Array, parts: Any = parts) -> Array:
            found: Array = parts.gradient(z, mean_over=1).value
            return found

        z = np.broadcast_to(models, (n, S, K, J)).copy()
        hessians = np.empty((n, S, K * J, K * J))
        for entry in range(K * J):
            way = np.zeros((K, J))
            way.flat[entry] = _STEP
            difference = (gradient(z + way) - gradient(z - way)) / (2 * _STEP)
            hessians[:, :, entry] = difference.reshape(n, S, -1)
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
        if math.isfinite(case.loss.slope_l2):
            sizes = np.linalg.norm(gradient(z).reshape(n, S, -1), axis=2).max(axis=1)
            bounds = parts.gradient_bound[:, 0]
            ensure(
                (sizes <= bounds * (1 + 1e-9)).all(),
                f"{data.name}: the gradient of a record is {(sizes / bounds).max():.4g} times its bound",
            )


def _seeds_agree(case: _Case) -> None:
    """Seeds that share rows, and seeds whose own rows are the same ones, give the same numbers."""
    S = 3
    for data in case.suited:
        cuts = (slice(0, 5), slice(5, data.n_train))
        together = case.rows(data, [[(slice(0, S), rows)] for rows in cuts], S)
        apart = case.rows(
            data,
            [
                [(slice(k, k + 1), np.arange(rows.start, rows.stop)) for k in range(S)]
                for rows in cuts
            ],
            S,
        )
        w = np.random.default_rng(8).normal(size=(S, *together.model_shape))
        z = np.stack([w, w[::-1]])
        facts = []
        for whole in (together, apart):
            parts = whole.block(slice(0, 2))
            gradient = parts.gradient(z, mean_over=parts.n_samples)
            l1, l2 = _both(gradient)
            measured = whole.evaluate(SimpleNamespace(w=w, z=z), [parts], _ALL)
            facts.append(
                {
                    "gradient": gradient.value,
                    "sensitivity in l1": l1,
                    "sensitivity in l2": l2,
                    "losses": parts.losses(z),
                    "smoothness": parts.smoothness,
                    "curvature bound": parts.curvature_bound,
                    **measured,
                }
            )
        for name, wanted in facts[0].items():
            _close(facts[1][name], wanted, 1e-11 * (1 + np.abs(wanted)), f"{data.name}: {name}")


def _row_optimum(case: _Case) -> None:
    """Zero is a subgradient of the sum of the agents' objectives."""
    for data, penalty, (average, per) in itertools.product(case.suited, ("l1", "l2"), _SUMS):
        strength = 0.02
        settings: dict[str, Any] = {"penalty": penalty, "average": average, "per": per}
        whole = case.rows(data, _halves(data.n_train, 2), 2, strength=strength, **settings)
        w = whole.optimum()
        sizes = np.array([5, data.n_train - 5])
        divisor = np.full(2, data.n_train) if average == "records" else sizes
        z = np.stack([w, w])
        gradient = whole.block(slice(0, 2)).gradient(z, mean_over=divisor).value.sum(axis=0)
        total = strength * (2 if per == "agent" else 1)
        what = f"{data.name}, {penalty}, average {average}, per {per}"
        _stationary(gradient, w, penalty, total, what)


def _stationary(gradient: Array, w: Array, penalty: str, strength: float, what: str) -> None:
    """Distance of zero from the subgradients; the tolerance is a share of what the gradient may be."""
    if penalty == "l2":
        distance = np.abs(gradient + strength * w)
    else:
        at_zero = np.maximum(np.abs(gradient) - strength, 0)
        distance = np.where(np.abs(w) < 1e-6, at_zero, np.abs(gradient + strength * np.sign(w)))
    _close(distance, np.zeros_like(distance), 1e-5, f"{what}: (sub)gradient at the optimum")


# Shared columns

_PARTIES = (slice(0, 2), slice(2, 3))


def _column_gradients(case: _Case) -> None:
    """Products of slopes with the parties' columns are the gradient of what evaluation reports."""
    assert case.scalar
    rng = np.random.default_rng(9)
    for data, penalty in itertools.product(case.suited, ("l1", "l2")):
        whole = case.columns(data, _PARTIES, 2, penalty=penalty, strength=_STRENGTH)
        parties = [whole.block(slice(m, m + 1)) for m in range(2)]
        w = rng.uniform(0.2, 1, (2, 1, 3)) * rng.choice([-1, 1], (1, 3))

        def objective(w: Array, whole: BoundColumns = whole, parties: Any = parties) -> Array:
            return whole.evaluate(SimpleNamespace(w=w), parties, _ALL)["train_loss"]

        what = f"{data.name}, {penalty}"
        wanted = _differences(objective, w, 1)
        u = w[:, 0] @ whole.X.T
        for s in range(2):
            literal = case.values(u[s][:, None], whole.y).mean()
            literal += _STRENGTH * _literal_penalty(penalty, w[s])
            _close(objective(w)[s], literal, 1e-10 * (1 + abs(literal)), f"{what}: train_loss")
        z = np.sum([party.predict(w[:, 0, party.columns]) for party in parties], axis=0)
        _close(z, u, 1e-12 * (1 + np.abs(u)), f"{what}: sum of the parties' predictions")
        slopes = case.scalar.slope(z, whole.y)
        back = np.concatenate([party.back(slopes) for party in parties], axis=1)
        found = back / whole.n_samples + _STRENGTH * PENALTIES[whole.problem.penalty_name].gradient(
            w[:, 0]
        )
        _close(found, wanted[:, 0], 1e-5 * (1 + np.abs(found)), f"{what}: gradient")
        ensure(
            math.isclose(whole.weight, whole.n_samples * _STRENGTH),
            f"{what}: beside the sum of losses the penalty weighs {whole.weight}",
        )


def _column_optimum(case: _Case) -> None:
    """Zero is a subgradient of the mean objective, also of the first party's alone."""
    assert case.scalar
    for data, penalty, parties in itertools.product(case.suited, ("l1", "l2"), (1, 2)):
        whole = case.columns(data, _PARTIES, 2, penalty=penalty, strength=0.02)
        w = whole.optimum(parties)
        used = _PARTIES[parties - 1].stop
        ensure(not w[:, :, used:].any(), f"{data.name}: parties without a part have a model")
        slopes = case.scalar.slope(w[:, 0] @ whole.X.T, whole.y)
        gradient = (slopes @ whole.X / whole.n_samples)[:, None, :used]
        _stationary(gradient, w[..., :used], penalty, 0.02, f"{data.name}, {penalty}")


def _column_update(case: _Case) -> None:
    """Each sample's root by bisection; with rho above the curvature of a loss that is not convex it is the only one."""
    assert case.scalar
    rng = np.random.default_rng(10)
    bound = case.loss.curvature_bound
    if case.loss.convex:
        rhos = [1e-8, 1e-3, 0.05, 0.7, 1e4, 1e9]
    else:
        rhos = [1.01 * bound, 1.2 * bound, 1.0, 1e4, 1e9]
    for data, rho in itertools.product(case.suited, rhos):
        whole = case.columns(data, _PARTIES, 1)
        n = whole.n_samples
        targets = whole.y
        s = (targets if not data.n_classes else 0) + np.concatenate(
            [rng.normal(scale=3, size=n - 3), [0.0, 60.0, -1e4]]
        )
        dual = np.concatenate([rng.normal(size=n - 2), [0.0, 5.0]])
        roots = np.array(
            [_root(case.scalar, *each, rho) for each in zip(s, dual, targets, strict=True)]
        )
        centre = np.abs(s + dual / rho)
        for start in (s, np.zeros(n), np.full(n, 1e8), np.full(n, -1e8)):
            z = whole.minimize_loss(s[None], dual[None], rho, start[None])
            allowed = 1e-9 * (1 + np.abs(roots)) + 1e-12 * centre
            _close(z[0], roots, allowed, f"{data.name}, rho {rho:g}, start {start[0]:g}: z")
    for data in case.suited:
        whole = case.columns(data, _PARTIES, 3)
        s, dual, start = rng.normal(size=(3, 3, whole.n_samples))
        healthy = whole.minimize_loss(s, dual, 0.7, start)
        s[1, 2] = np.nan
        z = whole.minimize_loss(s, dual, 0.7, start)
        wanted = healthy.copy()
        wanted[1, 2] = np.nan
        ensure(
            np.array_equal(z, wanted, equal_nan=True),
            f"{data.name}: a seed that diverged changes the others, or does not stay so",
        )


def _root(loss: ScalarLoss, s: float, dual: float, y: float, rho: float) -> float:
    """The root of slope(z) - dual + rho (z - s), in a bracket that is searched for around its centre."""
    target, centre = np.array([y]), s + dual / rho

    def derivative(way: float) -> float:
        return float(loss.slope(np.array([centre + way]), target)[0] + rho * way)

    width = 1e-3
    while derivative(-width) > 0 or derivative(width) < 0:
        width *= 2
    return centre + float(optimize.brentq(derivative, -width, width, xtol=1e-14, maxiter=1000))


# Refusals


def _refusals(case: _Case) -> None:
    """Unsuitable data are refused by a message that names the loss, and one that suits."""
    for data in _data_sets():
        if any(own.name == data.name for own in case.suited):
            continue
        for sharing in _SHARINGS:
            problem = as_problem({"loss": case.spec}, sharing)
            words = _refusal(problem.check, data.info)
            ensure(
                words.startswith("problem: loss ") and ("use " in words or "needs" in words),
                f"{data.name} is not refused in words that help: {words!r}",
            )
    problem = as_problem({"loss": case.spec}, "columns")
    for data in case.suited:
        words = _refusal(problem.check, data.info)
        if case.scalar:
            ensure(not words, f"{data.name}: shared columns are refused: {words}")
        else:
            ensure(
                "shared columns need one" in words,
                f"{data.name}: shared columns of several outputs are not refused: {words!r}",
            )


def _refusal(function: Callable[[DatasetInfo], None], info: DatasetInfo) -> str:
    try:
        function(info)
    except ValueError as error:
        return str(error)
    return ""
