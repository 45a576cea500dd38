"""Feasible sets W of a model: a box or a ball around 0, compact and convex as ryu2021 and ryu2022 suppose."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from admmbench.validation import Number, Strict

Array = NDArray[Any]
Function = Callable[[Array], tuple[float, Array]]
"""Value and gradient of a function of a vector."""


class Feasible(Strict):
    """Set W of the models whose entries, or whose norm, are at most a radius."""

    box: Annotated[Number, Field(gt=0, description="largest absolute entry")] | None = None
    ball: Annotated[Number, Field(gt=0, description="largest l2 norm")] | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        if (self.box is None) == (self.ball is None):
            raise ValueError("feasible: give either box or ball, a radius")
        return self

    @property
    def radius(self) -> float:
        """Return the radius of the ball, or half the width of the box."""
        return self.ball or self.box or 0.0

    def project(self, models: Array) -> Array:
        """Return the nearest models of W, for models of shape (..., K, J)."""
        if self.box is not None:
            return models.clip(-self.radius, self.radius)
        sizes = np.linalg.norm(models, axis=(-2, -1), keepdims=True)
        shrunk: Array = models * np.minimum(1, self.radius / np.maximum(sizes, self.radius))
        return shrunk.astype(models.dtype, copy=False)

    def diameter(self, size: int) -> float:
        """Return the largest distance of two models with so many entries: U_2 of (14) in ryu2022."""
        return 2 * self.radius * (math.sqrt(size) if self.box is not None else 1.0)

    def farthest(self, directions: Array) -> Array:
        """Return the models of W that go farthest in directions of shape (..., K, J)."""
        if self.box is not None:
            return np.asarray(self.radius * np.sign(directions))
        sizes = np.linalg.norm(directions, axis=(-2, -1), keepdims=True)
        return np.asarray(self.radius * directions / np.where(sizes > 0, sizes, 1))

    def support(self, gradients: Array) -> Array:
        """Return the largest scalar product of a model of W with gradients of shape (..., K, J)."""
        return np.asarray((self.farthest(gradients) * gradients).sum(axis=(-2, -1)))


def minimize_in_ball(
    function: Function, search: Callable[[Function, Array], Array], start: Array, radius: float
) -> Array:
    """Minimise over a ball around 0: if the minimiser is outside, with the multiplier of ``||v||^2 / 2``.

    The function is smooth and convex, and a search finds the minimiser of such a function from a start, shape (d,).
    """
    from scipy import optimize  # slow to import, and few methods need an optimum

    minimizer = search(function, start)
    if np.linalg.norm(minimizer) <= radius:
        return minimizer

    @cache  # a search starts where the last one ended, so that a second one would end elsewhere
    def excess(log: float) -> float:
        nonlocal minimizer

        def penalized(v: Array) -> tuple[float, Array]:
            value, gradient = function(v)
            return value + math.exp(log) * float(v @ v) / 2, gradient + math.exp(log) * v

        minimizer = search(penalized, minimizer)
        return float(np.linalg.norm(minimizer)) - radius

    high = 0.0
    while excess(high) > 0:
        high += 2
    low = high
    while excess(low) < 0:
        low -= 2
    optimize.brentq(excess, low, high, xtol=1e-13)
    # The minimiser lies on the sphere, and searches end at either side of it.
    return minimizer * (radius / float(np.linalg.norm(minimizer)))
