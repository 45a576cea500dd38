"""Closed convex cones K, for constraints c(w) in -K: the projection on the dual cone K*, and what follows from it.

By Moreau's decomposition v = P_{-K}(v) + P_{K*}(v), so that dist(v, -K) = ||P_{K*}(v)||: the projection on the dual
cone is all that an augmented Lagrangian needs. Vectors carry any axes in front.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

# Multipliers so near to the border of a second-order cone, relative to their size, are on it: rounding.
_BORDER = 1e-9


class Cone(ABC):
    """A closed convex cone K."""

    @abstractmethod
    def project_dual(self, v: Array) -> Array:
        """Project on K*; shape (..., m)."""

    @abstractmethod
    def derivative(self, v: Array) -> Array:
        """Return an element of the generalised Jacobian of `project_dual`, symmetric, shape (..., m, m)."""

    @abstractmethod
    def normal_distance(self, c: Array, mu: Array) -> Array:
        """Return the largest entry of c minus its projection on the normal cone of K* at mu, {v in -K: <v, mu> = 0}."""


class Zero(Cone):
    """K = {0}: equations c(w) = 0, with multipliers of either sign."""

    def project_dual(self, v: Array) -> Array:
        """Return v: K* is the whole space."""
        return v

    def derivative(self, v: Array) -> Array:
        """Return the identity."""
        return np.broadcast_to(np.eye(v.shape[-1]), (*v.shape, v.shape[-1]))

    def normal_distance(self, c: Array, mu: Array) -> Array:
        """Return the largest entry of c: the normal cone is {0}."""
        return _largest(c)


class Nonnegative(Cone):
    """The nonnegative orthant: inequalities c(w) <= 0."""

    def project_dual(self, v: Array) -> Array:
        """Project on K itself: it is its own dual cone."""
        return np.maximum(v, 0)

    def derivative(self, v: Array) -> Array:
        """Return a diagonal of 1 where a constraint is active, else 0."""
        return (v > 0)[..., None] * np.eye(v.shape[-1])

    def normal_distance(self, c: Array, mu: Array) -> Array:
        """A constraint with a multiplier holds with equality."""
        return _largest(np.where(mu > 0, c, np.maximum(c, 0)))


class SecondOrder(Cone):
    """``{(s, x): ||x||_2 <= s}``, the first entry bounding the others."""

    def project_dual(self, v: Array) -> Array:
        """Project on K itself: it is its own dual cone."""
        s, x = v[..., :1], v[..., 1:]
        norm = np.linalg.norm(x, axis=-1, keepdims=True)
        factor = (s + norm) / 2
        direction = x / np.where(norm > 0, norm, 1)
        on_border = np.concatenate([factor, factor * direction], axis=-1)
        return np.where(norm <= s, v, np.where(norm <= -s, 0, on_border))

    def derivative(self, v: Array) -> Array:
        """Return that of the projection on the border between where it is the identity and where it is 0."""
        s, x = v[..., :1], v[..., 1:]
        norm = np.linalg.norm(x, axis=-1, keepdims=True)
        scale = np.where(norm > 0, norm, 1)
        direction, ratio = x / scale, (s / scale)[..., None]
        outer = direction[..., :, None] * direction[..., None, :]
        n = x.shape[-1]
        border = np.empty((*v.shape, v.shape[-1]))
        border[..., 0, 0] = 0.5
        border[..., 0, 1:] = border[..., 1:, 0] = direction / 2
        border[..., 1:, 1:] = ((1 + ratio) * np.eye(n) - ratio * outer) / 2
        inside, outside = (norm <= s)[..., None], (norm <= -s)[..., None]
        return np.where(inside, np.eye(n + 1), np.where(outside, 0, border))

    def normal_distance(self, c: Array, mu: Array) -> Array:
        """Inside K* it is {0}, at 0 it is -K, on the border a ray."""
        s, x = mu[..., :1], mu[..., 1:]
        norm = np.linalg.norm(x, axis=-1, keepdims=True)
        ray = np.concatenate([-norm, x], axis=-1)
        length = np.square(ray).sum(axis=-1, keepdims=True)
        share = np.maximum((c * ray).sum(axis=-1, keepdims=True), 0) / np.where(
            length > 0, length, 1
        )
        at_border = c - share * ray
        at_origin = self.project_dual(c)
        gap = np.where(s <= 0, at_origin, np.where(norm < (1 - _BORDER) * s, c, at_border))
        return _largest(gap)


class Product(Cone):
    """K_1 x K_2 x ..., each for some consecutive entries.

    Parameters
    ----------
    parts
        Cones, and how many entries each has.
    """

    def __init__(self, parts: Sequence[tuple[Cone, int]]) -> None:
        ends = np.cumsum([0, *(size for _, size in parts)]).tolist()
        self.size: int = ends[-1]
        self._parts = [
            (cone, slice(start, stop))
            for (cone, _), start, stop in zip(parts, ends, ends[1:], strict=False)
        ]

    def project_dual(self, v: Array) -> Array:
        """Project part by part."""
        projected = np.empty(v.shape)
        for cone, part in self._parts:
            projected[..., part] = cone.project_dual(v[..., part])
        return projected

    def derivative(self, v: Array) -> Array:
        """Return the blocks of the parts on the diagonal."""
        blocks = np.zeros((*v.shape, self.size))
        for cone, part in self._parts:
            blocks[..., part, part] = cone.derivative(v[..., part])
        return blocks

    def normal_distance(self, c: Array, mu: Array) -> Array:
        """Return the largest of all parts."""
        gaps = [cone.normal_distance(c[..., part], mu[..., part]) for cone, part in self._parts]
        return np.max(gaps, axis=0) if gaps else np.zeros(c.shape[:-1])

    def violation(self, c: Array) -> Array:
        """Return the largest entry of ``P_{K*}(c)``, 0 where c is in -K; shape (...)."""
        return _largest(self.project_dual(c))


def _largest(v: Array) -> Array:
    return np.asarray(np.abs(v).max(axis=-1, initial=0))
