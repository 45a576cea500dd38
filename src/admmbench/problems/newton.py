"""Newton's method for many smooth problems at once."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

# Armijo's condition, and what rounding may add to a value.
_DECREASE, _ROUNDING = 1e-4, 1e-13
_MOST_STEPS, _MOST_HALVINGS = 100, 60
_MOST_L1 = 15_000


class Point(Protocol):
    """Function of many problems at one point of each."""

    @property
    def value(self) -> Array:
        """Return values, shape (...)."""

    @property
    def gradient(self) -> Array:
        """Return gradients, shape (..., d)."""

    def newton_step(self) -> Array:
        """Return a descent direction, (..., d): minus the inverse Hessian times the gradient where that is one."""


def minimize(
    function: Callable[[Array], Point], start: Array, tolerance: Array | float
) -> tuple[Array, Array]:
    """Minimise each problem until no entry of its gradient is larger than a tolerance.

    The method is Newton's with Armijo backtracking; with a generalised Hessian (a projection has kinks) it is the
    semismooth method.

    Parameters
    ----------
    function
        Values and derivatives at points of shape (..., d).
    start
        Shape (..., d).
    tolerance
        Shape (...); infinite for problems that are not to be solved.

    Returns
    -------
    x
        Shape (..., d).
    gradient
        Gradient there. It may be above the tolerance if steps gain nothing more in double precision.
    """
    x, point = start, function(start)
    stuck = np.zeros(x.shape[:-1], bool)
    for _ in range(_MOST_STEPS):
        size = np.abs(point.gradient).max(axis=-1, initial=0)
        todo = (size > tolerance) & ~stuck
        if not todo.any():
            break
        step = np.where(todo[..., None], point.newton_step(), 0)
        directional = (point.gradient * step).sum(axis=-1)
        slack = _ROUNDING * (1 + np.abs(point.value))
        length = np.ones(directional.shape)
        for _ in range(_MOST_HALVINGS):
            trial = x + length[..., None] * step
            end = function(trial)
            halved = np.abs(end.gradient).max(axis=-1, initial=0) <= size / 2
            enough = end.value <= point.value + _DECREASE * length * directional + slack
            short = todo & ~halved & ~enough
            if not short.any():
                break
            length = np.where(short, length / 2, length)
        # Where neither the gradient nor the value falls, rounding has the last word.
        stuck |= todo & ~halved & ~(end.value < point.value - slack)
        x, point = trial, end
    return x, point.gradient


def minimize_with_l1(
    function: Callable[[Array], Point], strength: float, start: Array, tolerance: Array
) -> Array:
    """Minimise each function plus ``strength ||x||_1``, until 0 is near its subdifferential, by `lbfgs`.

    Arguments are those of `minimize`, with a tolerance for the entries of a projected gradient, and a strength above 0.
    The problems do not depend on one another. The minimisers, shape (..., d), have exact zeros.
    """
    x = start.copy()
    limits = {"ftol": 0, "maxiter": _MOST_L1, "maxfun": _MOST_L1}
    for problem in map(tuple, np.argwhere(np.isfinite(tolerance))):
        trial = x.copy()

        def one_problem(
            v: Array, trial: Array = trial, index: Any = problem
        ) -> tuple[float, Array]:
            trial[index] = v
            point = function(trial)
            return float(point.value[index]), point.gradient[index]

        options = {"gtol": tolerance[problem], **limits}
        x[problem] = lbfgs(one_problem, x[problem], strength, options).x
    return x


def lbfgs(
    function: Callable[[Array], tuple[float, Array]],
    start: Array,
    strength: float,
    options: dict[str, Any],
    most: float = math.inf,
) -> Any:
    """Minimise a smooth function plus ``strength ||x||_1`` by L-BFGS-B of scipy.

    With ``x = p - m`` and p, m not negative the sum is smooth.

    Parameters
    ----------
    function
        Value and gradient at a point of shape (d,).
    start
        Shape (d,).
    strength
        Weight of the norm; 0 for none.
    options
        Stopping rules of scipy.
    most
        Largest absolute entry of x.

    Returns
    -------
    Result of scipy: the minimiser ``x``, shape (d,), with exact zeros if there is a norm, and the value ``fun`` there.
    """
    from scipy import optimize  # slow to import, and few methods need an optimum

    search = partial(optimize.minimize, jac=True, method="L-BFGS-B", options=options)
    if not strength:
        bounds = None if math.isinf(most) else optimize.Bounds(-most, most)
        return search(function, start, bounds=bounds)

    def split(parts: Array) -> tuple[float, Array]:
        value, gradient = function(np.subtract(*np.split(parts, 2)))
        gradients = np.concatenate([gradient, -gradient]) + strength
        return value + strength * parts.sum(), gradients

    parts = np.concatenate([np.maximum(start, 0), np.maximum(-start, 0)])
    result = search(split, parts, bounds=optimize.Bounds(0, most))
    result.x = np.subtract(*np.split(result.x, 2))
    return result


def matvec(matrix: Array, vector: Array) -> Array:
    """Multiply stacks of matrices and vectors."""
    return np.asarray((matrix @ vector[..., None])[..., 0])


def descent(hessian: Array, gradient: Array, convex: bool) -> Array:
    """Return Newton's step, from Hessians of shape (..., d, d) and gradients of shape (..., d).

    A Hessian that may not be positive definite is replaced by one with the absolute values of its eigenvalues.
    """
    if convex:
        return np.asarray(-np.linalg.solve(hessian, gradient[..., None])[..., 0])
    values, vectors = np.linalg.eigh(hessian)
    # Along a nearly flat direction a step would have no end.
    size = np.maximum(np.abs(values), 1e-8 * np.abs(values).max(axis=-1, keepdims=True) + 1e-300)
    step = matvec(np.swapaxes(vectors, -1, -2), gradient) / size
    return -matvec(vectors, step)
