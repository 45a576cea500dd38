"""Closed convex cones K, for constraints c(w) in -K: the projection on the dual cone K*, and what follows from it.

By Moreau's decomposition ``v = P_{-K}(v) + P_{K*}(v)``, so that ``dist(v, -K) = ||P_{K*}(v)||``: the projection on the
dual cone is all that an augmented Lagrangian needs. Vectors carry any axes in front.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
ConeName = Literal["zero", "nonnegative", "second_order"]
"""Names of the cones ``{0}``, for equations; numbers of at least 0, for inequalities; ``{(s, x): ||x||_2 <= s}``."""

# Multipliers so near to the border of a second-order cone, relative to their size, are on it: rounding.
_BORDER = 1e-9


class Cone:
    """Product of cones ``K_1 x K_2 x ...``, each for some consecutive entries: their names and numbers of entries."""

    def __init__(self, parts: Sequence[tuple[ConeName, int]]) -> None:
        names = [name for name, size in parts for _ in range(size)]
        self.size = len(names)
        self._equations = np.array(names) == "zero"
        ends = np.cumsum([0, *(size for _, size in parts)]).tolist()
        self._second_order = [
            slice(*ends[k : k + 2]) for k, (name, _) in enumerate(parts) if name == "second_order"
        ]

    def project_dual(self, v: Array) -> Array:
        """Project on K*, shape (..., m): the dual of ``{0}`` is the whole space, the others are their own duals."""
        projection = np.where(self._equations, v, np.maximum(v, 0))
        for part in self._second_order:
            projection[..., part] = _project(v[..., part])
        return projection

    def derivative(self, v: Array) -> Array:
        """Return an element of the generalised Jacobian of `project_dual`, symmetric, shape (..., m, m)."""
        jacobian = (self._equations | (v > 0))[..., None] * np.eye(self.size)
        for part in self._second_order:
            jacobian[..., part, part] = _derivative(v[..., part])
        return jacobian

    def normal_distance(self, c: Array, mu: Array) -> Array:
        """Return the largest entry of c minus its projection on ``{v in -K: <v, mu> = 0}``, shape (...).

        The set is the normal cone of K* at mu. In it, equations hold, and inequalities with a multiplier hold with
        equality.
        """
        gap = np.where(self._equations | (mu > 0), c, np.maximum(c, 0))
        for part in self._second_order:
            gap[..., part] = _from_normal_cone(c[..., part], mu[..., part])
        return _largest(gap)

    def violation(self, c: Array) -> Array:
        """Return the largest entry of ``P_{K*}(c)``, 0 where c is in -K; shape (...)."""
        return _largest(self.project_dual(c))


def _project(v: Array) -> Array:
    """Project on a second-order cone."""
    s, _, norm, direction = _polar(v)
    on_border = (s + norm) / 2 * np.concatenate([np.ones_like(s), direction], axis=-1)
    return np.where(norm <= s, v, np.where(norm <= -s, 0, on_border))


def _derivative(v: Array) -> Array:
    """Return the Jacobian of `_project`: the identity in the cone, 0 in the polar cone, else that of the border."""
    s, x, norm, direction = _polar(v)
    ratio = (s / np.where(norm > 0, norm, 1))[..., None]
    outer = direction[..., :, None] * direction[..., None, :]
    n = x.shape[-1]
    border = np.empty((*v.shape, n + 1))
    border[..., 0, 0] = 0.5
    border[..., 0, 1:] = border[..., 1:, 0] = direction / 2
    border[..., 1:, 1:] = ((1 + ratio) * np.eye(n) - ratio * outer) / 2
    inside, outside = (norm <= s)[..., None], (norm <= -s)[..., None]
    return np.where(inside, np.eye(n + 1), np.where(outside, 0, border))


def _from_normal_cone(c: Array, mu: Array) -> Array:
    """Return c minus its projection on the normal cone at mu: {0} inside K*, -K at 0, a ray on the border."""
    s, x, norm, _ = _polar(mu)
    ray = np.concatenate([-norm, x], axis=-1)
    length = np.square(ray).sum(axis=-1, keepdims=True)
    product = np.maximum((c * ray).sum(axis=-1, keepdims=True), 0)
    at_border = c - product / np.where(length > 0, length, 1) * ray
    return np.where(s <= 0, _project(c), np.where(norm < (1 - _BORDER) * s, c, at_border))


def _polar(v: Array) -> tuple[Array, Array, Array, Array]:
    """Split v into s and x, with the norm of x and its direction."""
    s, x = v[..., :1], v[..., 1:]
    norm = np.linalg.norm(x, axis=-1, keepdims=True)
    return s, x, norm, x / np.where(norm > 0, norm, 1)


def _largest(v: Array) -> Array:
    """Return the largest absolute entry, 0 without entries; shape (...)."""
    return np.asarray(np.abs(v).max(axis=-1, initial=0))
