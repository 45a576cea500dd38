"""Contracts of every loss: bounds, derivatives, and values where predictions are extreme.

The checks need the loss alone. They use small data with targets that the loss accepts, made from a fixed seed, and
search for violations for about a second.
"""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from functools import cached_property
from typing import Any

import numpy as np
from pydantic import ValidationError

from admmbench.base.types import Array
from admmbench.contracts import Check, ensure
from admmbench.contracts.made_up_data import make_dataset, make_regression
from admmbench.datasets import Dataset
from admmbench.problems.loss import Loss, ScalarLoss
from admmbench.problems.losses import as_loss

STEP = 1e-6
_ROUNDING = 1e-9
_HUGE = (1e4, 1e8, 1e15)
# Number that targets are divided by; a power of two, so that nothing is rounded.
_SCALE = 4.0
# Part of a supremum that a search must reach, so that a bound that is twice too large is noticed.
_REACHED = 0.99


class LossCase:
    """Loss with data that suit it."""

    def __init__(
        self, spec: str | Mapping[str, Any], data: Iterable[Dataset] | None = None
    ) -> None:
        self.spec = spec if isinstance(spec, str) else dict(spec)
        self.loss: Loss = as_loss(spec)
        self.scalar = self.loss if isinstance(self.loss, ScalarLoss) else None
        candidates = data_sets() if data is None else data
        self.suited = [candidate for candidate in candidates if _accepts(self.loss, candidate)]
        """Small data sets that the loss accepts."""

    @cached_property
    def points(self) -> list[tuple[Array, Array]]:
        """Return predictions (n, K) and targets (n,) at which losses have their extremes: near, far and in between."""
        return [_points(self.loss, data) for data in self.suited]

    def derivatives(self, u: Array, y: Array) -> Array:
        """Return the derivatives of the loss with respect to the predictions, shape (n, K)."""
        return self.loss.derivatives(u[:, None].copy(), y[:, None])[:, 0]

    def values(self, u: Array, y: Array) -> Array:
        """Return the losses of predictions (n, K), shape (n,)."""
        return self.loss.losses(u[:, None].copy(), y[:, None])[:, 0]

    def hessians(self, u: Array, y: Array) -> Array:
        """Return second derivatives, shape (n, K, K), by differences of first derivatives."""
        K = u.shape[1]
        second = np.empty((len(u), K, K))
        for k, step in enumerate(STEP * np.eye(K)):
            second[:, k] = (self.derivatives(u + step, y) - self.derivatives(u - step, y)) / (
                2 * STEP
            )
        return second


def data_sets() -> Iterator[Dataset]:
    """Make data with two classes, with three, and with numbers; 14 records of 3 features."""
    for n_classes in (2, 3):
        yield replace(make_dataset(14, 6, 3, n_classes), name=f"made with {n_classes} classes")
    yield replace(make_regression(14, 6, 3), name="made with numbers", target_unit="m")


def _accepts(loss: Loss, data: Dataset) -> bool:
    """Return whether a loss accepts a data set."""
    try:
        loss.check(data.info)
    except ValueError:
        return False
    return True


def _points(loss: Loss, data: Dataset) -> tuple[Array, Array]:
    """Return predictions (n, K) and targets (n,): each prediction with each kind of target."""
    rng = np.random.default_rng(2)
    K = loss.outputs(data.info)
    scales = 10.0 ** np.arange(-3, 4)
    predictions = np.concatenate([scale * rng.normal(size=(60, K)) for scale in scales])
    # Ties between predictions, and certain predictions.
    corners = np.array(list(itertools.product((0.0, 1.0, -1.0), repeat=K)))
    predictions = np.concatenate([predictions, *(scale * corners for scale in (0.5, 50.0, 1000.0))])
    if K == 1:
        predictions = np.concatenate([predictions, np.linspace(-20, 20, 2001)[:, None]])
    targets = loss.targets(data.y_train, np.dtype(np.float64))
    kinds = np.unique(targets) if data.n_classes else targets[:3]
    y = np.repeat(kinds, len(predictions))
    u = np.tile(predictions, (len(kinds), 1))
    # For targets that are numbers, a loss depends on the error, so that the points are errors.
    return (u if data.n_classes else u + y[:, None]), y


def close(values: Array, wanted: Array, allowed: Any, quantity: str) -> None:
    """Raise an AssertionError if an entry is further off than allowed, or NaN."""
    off = np.abs(np.asarray(values, np.float64) - np.asarray(wanted, np.float64))
    excess = off - np.broadcast_to(allowed, off.shape)
    bad = ~(excess <= 0)
    if bad.any():
        place = np.unravel_index(np.argmax(bad), bad.shape)
        entries, others = np.broadcast_arrays(values, wanted)
        raise AssertionError(
            f"{quantity}: {int(bad.sum())} of {bad.size} entries differ, the first is {entries[place]!r} and should be "
            f"{others[place]!r}"
        )


def supremum(values: Array, bound: float, quantity: str) -> None:
    """Raise an AssertionError if the largest value is above the bound, or well below a finite bound."""
    largest = float(np.max(values))
    ensure(
        largest <= bound * (1 + 1e-6),
        f"{quantity} reaches {largest:.6g}, more than the bound {bound:.6g}",
    )
    if math.isfinite(bound):
        ensure(
            largest >= _REACHED * bound,
            f"{quantity} reaches only {largest:.6g}: the bound {bound:.6g} is larger than need be",
        )


def loss_checks(name: str | Mapping[str, Any]) -> Iterator[Check]:
    """Yield all checks of a loss: its name, the path of its file, or a mapping with ``name`` and parameters."""
    case = LossCase(name)
    for check in (*_ALWAYS, *(_SCALAR if case.scalar else ())):
        yield Check.from_function(np.errstate(all="ignore")(check), case)


def some_data_set_suits_it(case: LossCase) -> None:
    """Ensure that a data set suits the loss, and that evaluation gets shapes and names as expected."""
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


def derivatives_are_differences_of_the_value(case: LossCase) -> None:
    """Ensure that derivatives agree with central differences, within curvature times step, also at kinks."""
    for u, y in case.points:
        derivatives, K = case.derivatives(u, y), u.shape[1]
        value = case.values(u, y)
        for k, step in enumerate(STEP * np.eye(K)):
            higher, lower = case.values(u + step, y), case.values(u - step, y)
            allowed = case.loss.curvature_bound * STEP + _ROUNDING * (1 + np.abs(value))
            allowed = allowed + 1e-9 * np.abs(u).max(axis=1) * (1 + np.abs(derivatives[:, k]))
            difference = (higher - lower) / (2 * STEP)
            close(derivatives[:, k], difference, allowed, f"derivative in prediction {k}")


def curvature_is_a_difference_of_derivatives(case: LossCase) -> None:
    """Ensure that differences of derivatives lie between the curvatures around, which differ at kinks only."""
    assert case.scalar
    for points, y in case.points:
        u = points[:, 0]
        derivatives = [case.scalar.derivative(u + step, y) for step in (STEP, -STEP)]
        difference = (derivatives[0] - derivatives[1]) / (2 * STEP)
        around = [case.scalar.curvature(u + step, y) for step in (-STEP, 0.0, STEP)]
        allowed = 1e-4 * case.loss.curvature_bound + 1e-8 * (1 + np.abs(u))
        between = np.clip(difference, np.min(around, axis=0), np.max(around, axis=0))
        close(between, difference, allowed, "curvature")


def values_are_finite_for_huge_predictions(case: LossCase) -> None:
    """Ensure that nothing overflows, that derivatives keep their precision, and that losses are double."""
    for (u, y), dtype in itertools.product(case.points, (np.float32, np.float64)):
        for scale in _HUGE:
            far = (scale * np.sign(u)).astype(dtype)
            targets = y.astype(dtype) if y.dtype.kind == "f" else y
            where = f"predictions of {scale:.0e} in {dtype.__name__}"
            with np.errstate(over="raise", invalid="raise", divide="raise"):
                try:
                    derivatives, values = case.derivatives(far, targets), case.values(far, targets)
                    more = case.scalar.curvature(far[:, 0], targets) if case.scalar else values
                except FloatingPointError as error:
                    raise AssertionError(f"{where}: {error}") from None
            for quantity, numbers in (
                ("derivative", derivatives),
                ("value", values),
                ("curvature", more),
            ):
                ensure(np.isfinite(numbers).all(), f"{where}: the {quantity} is not finite")
            ensure(
                derivatives.dtype == dtype,
                f"derivatives of {dtype.__name__} are {derivatives.dtype}",
            )
            ensure(values.dtype == np.float64, f"losses are {values.dtype}, not float64")


def derivatives_are_as_steep_as_it_says(case: LossCase) -> None:
    """Ensure that bounds are suprema of the derivative, in each norm."""
    loss = case.loss
    derivatives = [case.derivatives(u, y) for u, y in case.points]
    for order, bound in (
        (1, loss.derivative_l1),
        (2, loss.derivative_l2),
        (np.inf, loss.derivative_linf),
    ):
        largest = np.array(
            [np.linalg.norm(vectors, order, axis=1).max() for vectors in derivatives]
        )
        supremum(largest, bound, f"the l{order} norm of the derivative")
        if math.isinf(bound):
            far = [case.derivatives(1e9 * np.sign(u), y) for u, y in case.points]
            steep = max(np.linalg.norm(vectors, order, axis=1).max() for vectors in far)
            ensure(
                steep > 1000 * largest.max(),
                f"it says that its derivative is unbounded, but the l{order} norm stays at {steep:.3g}",
            )


def curvature_is_as_large_as_it_says(case: LossCase) -> None:
    """Ensure that the bound is the supremum of the second derivative's spectral norm."""
    bound, largest = case.loss.curvature_bound, 0.0
    for u, y in case.points:
        # Farther out, differences of derivatives are lost in rounding.
        near = np.abs(u).max(axis=1) <= 100
        norms = np.linalg.norm(case.hessians(u[near], y[near]), 2, axis=(1, 2))
        largest = np.maximum(largest, norms.max())  # which is NaN where a norm is
    # Differences of derivatives have an error of their own.
    rounded = bound if bound < largest <= bound + 1e-7 else largest
    supremum(np.array(rounded), bound, "the curvature")


def parameters_follow_the_unit_of_targets(case: LossCase) -> None:
    """Ensure that `for_targets` divides the parameters whose division makes the problem of scaled targets the same."""
    loss = case.loss.completed(1.0)
    cases = zip(case.points, case.suited, strict=True)
    points = [(u, y) for (u, y), data in cases if not data.n_classes]

    def is_same_problem(scaled: Loss) -> bool:
        """Return whether derivatives at scaled predictions and targets are one multiple of the original ones."""
        for u, y in points:
            original = case.derivatives(u, y)
            derivatives = scaled.derivatives(u[:, None] / _SCALE, y[:, None] / _SCALE)[:, 0]
            factor = np.vdot(derivatives, original) / np.vdot(original, original)
            if not np.allclose(derivatives, factor * original, rtol=1e-6, atol=_ROUNDING):
                return False
        return True

    if is_same_problem(loss.for_targets(_SCALE)):
        return
    values = {field.name: getattr(loss, field.name) for field in fields(loss)}
    numbers = [name for name, value in values.items() if isinstance(value, float)]
    for count in range(1, len(numbers) + 1):
        for names in itertools.combinations(numbers, count):
            with contextlib.suppress(ValidationError):  # a parameter may have no such value
                divided = replace(loss, **{name: values[name] / _SCALE for name in names})
                ensure(
                    not is_same_problem(divided),
                    f"{' and '.join(names)}: in the unit of the targets, which a table divides by a scale, and "
                    "for_targets(scale) does not divide it; return replace(self, "
                    f"{', '.join(f'{name}=self.{name} / scale' for name in names)})",
                )


def derivatives_lie_in_a_space_as_small_as_it_says(case: LossCase) -> None:
    """Ensure that derivatives span no more dimensions than `rank` says."""
    for u, y in case.points:
        rank = int(np.linalg.matrix_rank(case.derivatives(u, y), rtol=1e-9))
        declared = case.loss.rank(u.shape[1])
        ensure(rank <= declared, f"its derivatives span {rank} dimensions, rank says {declared}")


def it_is_convex_or_not_as_it_says(case: LossCase) -> None:
    """Ensure that all midpoints of a convex loss lie below, and that some of another loss lie above."""
    below = True
    for u, y in case.points:
        rng = np.random.default_rng(4)
        for target in np.unique(y):
            predictions = u[y == target]
            first, second = predictions[rng.integers(0, len(predictions), (2, 4000))]
            targets = np.full(len(first), target)
            ends = (case.values(first, targets) + case.values(second, targets)) / 2
            middle = case.values((first + second) / 2, targets)
            below &= bool((middle <= ends + 1e-12 * (1 + np.abs(ends))).all())
    ensure(below or not case.loss.convex, "it says that it is convex, but a midpoint lies above")
    ensure(
        not below or case.loss.convex, "it says that it is not convex, but no midpoint lies above"
    )


def derivatives_are_scaled_in_place(case: LossCase) -> None:
    """Ensure that scaled derivatives take the place of predictions, with norms of the unscaled ones."""
    rng = np.random.default_rng(5)
    for points, y in case.points:
        u = np.stack([points, points[::-1]], axis=1)
        plain = np.stack([case.derivatives(u[:, s], y) for s in range(2)], axis=1)
        scale, place = rng.uniform(0.1, 2, len(u)), u.copy()
        norms = case.loss.scaled_derivatives(place, y, scale)
        size = 1 + np.abs(plain)
        close(place, scale[:, None, None] * plain, 1e-12 * size, "scaled derivative")
        for order, measured in ((1, norms.l1), (2, norms.l2)):
            wanted = np.linalg.norm(plain, order, axis=2)
            close(measured, wanted, 1e-12 * (1 + wanted), f"l{order} norm of the derivative")


def probabilities_are_clipped_to_the_floor(case: LossCase) -> None:
    """Ensure that a floor of 0 changes nothing, and that a floor moves no derivative further than itself."""
    for u, y in case.points:
        plain = case.derivatives(u, y)
        for floor in (0.0, 1e-3):
            clipped = case.loss.clipped(floor).derivatives(u[:, None].copy(), y[:, None])[:, 0]
            close(clipped, plain, floor * (1 + 1e-9), f"derivative with the floor {floor}")


_ALWAYS: Sequence[Callable[[LossCase], None]] = (
    some_data_set_suits_it,
    derivatives_are_differences_of_the_value,
    values_are_finite_for_huge_predictions,
    derivatives_are_as_steep_as_it_says,
    curvature_is_as_large_as_it_says,
    parameters_follow_the_unit_of_targets,
    derivatives_lie_in_a_space_as_small_as_it_says,
    it_is_convex_or_not_as_it_says,
    derivatives_are_scaled_in_place,
    probabilities_are_clipped_to_the_floor,
)
_SCALAR: Sequence[Callable[[LossCase], None]] = (curvature_is_a_difference_of_derivatives,)
