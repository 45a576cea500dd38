"""Objective and constraint functions of agents, with their derivatives.

Each agent i has an objective f_i and constraints c_i(w) in -K_i, and so has the server, without an objective. Two
kinds of functions cover what he2023 solves: means of a loss over groups of records (`Means`), and quadratics with
linear constraints (`Quadratics`). Arrays carry the B agents of a block and the S seeds in front.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import ClassVar

import numpy as np

from admmbench.problems.base import Array
from admmbench.problems.cones import Cone
from admmbench.problems.loss import ScalarLoss
from admmbench.problems.newton import matvec


@dataclass(frozen=True, eq=False)
class Functions(ABC):
    """Objective and constraints of B agents, or of the server (B = 1)."""

    cone: Cone
    """K_i, the same for all of them."""
    matrix: Array
    """C of the linear constraints ``C w + d``, which come last; shape (..., m, d)."""
    offset: Array
    """d, shape (..., m)."""

    release_shape: ClassVar[tuple[int, ...]] = ()
    """Shape of a release: nothing noisy is released."""

    @property
    @abstractmethod
    def convex(self) -> bool:
        """Return whether f_i + <mu, c_i> is convex for every mu in K_i*."""

    @abstractmethod
    def at(self, w: Array) -> Values:
        """Return values at points of shape (B, S, d), or (1, S, d) for one that all agents share.

        The values are the ``objective``, shape (B, S), the ``constraints``, (B, S, m), and their ``jacobian``,
        (B, S, m, d). For multipliers mu of shape (B, S, m), ``gradient(mu)`` and ``hessian(mu)`` are the derivatives of
        ``f_i + <mu_i, c_i>``, (B, S, d) and (B, S, d, d).
        """


@dataclass(frozen=True, eq=False)
class Quadratics(Functions):
    """Objectives ``f_i(w) = w^T A_i w / 2 + b_i^T w`` subject to ``C_i w + d_i = 0``: (25) of he2023."""

    A: Array | None
    """Shape (B, S, d, d); None where there is no objective, as at the server."""
    b: Array
    """Shape (B, S, d)."""

    convex: ClassVar[bool] = True

    @cached_property
    def inverse(self) -> Callable[[float, float], Array]:
        """Return a function of beta and shift: the inverse of ``A + beta C^T C + shift I``, shape (B, S, d, d).

        The matrix is the Hessian of an augmented Lagrangian with a proximal term. The last inverse is kept, as every
        round has the same.
        """
        return lru_cache(maxsize=1)(self._invert)

    def _invert(self, beta: float, shift: float) -> Array:
        C = self.matrix
        gram = beta * np.swapaxes(C, -1, -2) @ C + shift * np.eye(C.shape[-1])
        return np.linalg.inv(gram if self.A is None else gram + self.A)

    def at(self, w: Array) -> Values:
        """Return values and derivatives."""
        return _QuadraticValues(self, w)


class _QuadraticValues:
    """Values of quadratics and their derivatives at points w, see `Functions.at`."""

    def __init__(self, functions: Quadratics, w: Array) -> None:
        A, b = functions.A, functions.b
        self._functions, self._w = functions, w
        self._objective_gradient = b if A is None else matvec(A, w) + b
        self.jacobian = functions.matrix
        self.constraints = matvec(self.jacobian, w) + functions.offset

    @property
    def objective(self) -> Array:
        # The gradient is A w + b, so that this is w^T A w / 2 + b^T w without another product.
        doubled = (self._objective_gradient + self._functions.b) * self._w
        return np.asarray(doubled.sum(axis=-1) / 2)

    def gradient(self, mu: Array) -> Array:
        transposed = np.swapaxes(self.jacobian, -1, -2)
        return np.asarray(self._objective_gradient + matvec(transposed, mu))

    def hessian(self, mu: Array) -> Array:
        shape = self._objective_gradient.shape
        A = self._functions.A
        return np.zeros((*shape, shape[-1])) if A is None else A


@dataclass(frozen=True, eq=False)
class Means(Functions):
    """Combinations of a loss's means over groups of records, and linear maps.

    With l_ij the loss of agent i's record j and G the groups' weights (1/m_g for the m_g records of group g, else 0),
    the means are M_i(w) = G_i l_i(w), and f_i = <a, M_i>, c_i = (T M_i - t, C w + d).
    """

    loss: ScalarLoss
    X: Array
    """Records of agents, shape (B, S', n, J); S' is 1 if all seeds share them. Agents with fewer records have rows of
    zeros in no group."""
    y: Array
    """Targets, shape (B, S', n)."""
    groups: Array
    """G, shape (B, S', g, n)."""
    weights: Array
    """a, shape (g,)."""
    combinations: Array
    """T, shape (m, g)."""
    thresholds: Array
    """t, shape (m,)."""

    @property
    def convex(self) -> bool:
        """Return whether no loss has a negative weight: a multiplier of an inequality is not negative."""
        weights = self.weights, self.combinations
        return bool(self.loss.convex and all((array >= 0).all() for array in weights))

    def at(self, w: Array) -> _MeanValues:
        """Return values and derivatives."""
        return _MeanValues(self, w)


class _MeanValues:
    """Values of means and their derivatives at points w, see `Functions.at`."""

    def __init__(self, functions: Means, w: Array) -> None:
        self._functions = functions
        self._u = matvec(functions.X, w)
        self.means = matvec(functions.groups, functions.loss.value(self._u, functions.y))
        linear = matvec(functions.matrix, w) + functions.offset
        self.constraints = np.concatenate(
            [
                self.means @ functions.combinations.T - functions.thresholds,
                np.broadcast_to(linear, (*self.means.shape[:-1], linear.shape[-1])),
            ],
            axis=-1,
        )

    @property
    def objective(self) -> Array:
        return np.asarray(self.means @ self._functions.weights)

    @cached_property
    def _derivatives(self) -> Array:
        return self._functions.loss.derivative(self._u, self._functions.y)

    @cached_property
    def jacobian(self) -> Array:
        functions = self._functions
        weighted = (functions.combinations @ functions.groups) * self._derivatives[..., None, :]
        mean_part = weighted @ functions.X
        shape = (*mean_part.shape[:-2], *functions.matrix.shape[-2:])
        return np.concatenate([mean_part, np.broadcast_to(functions.matrix, shape)], axis=-2)

    def _weights(self, mu: Array) -> Array:
        """Return the weight of each record's loss in the Lagrangian, shape (B, S, n)."""
        functions = self._functions
        multipliers = mu[..., : len(functions.thresholds)]
        group_weights = functions.weights + multipliers @ functions.combinations
        return matvec(np.swapaxes(functions.groups, -1, -2), group_weights)

    def gradient(self, mu: Array) -> Array:
        functions = self._functions
        derivatives = self._weights(mu) * self._derivatives
        mean_part = matvec(np.swapaxes(functions.X, -1, -2), derivatives)
        multipliers = mu[..., len(functions.thresholds) :]
        return np.asarray(mean_part + multipliers @ functions.matrix)

    def hessian(self, mu: Array) -> Array:
        X, loss = self._functions.X, self._functions.loss
        curvatures = self._weights(mu) * loss.curvature(self._u, self._functions.y)
        return np.asarray(np.swapaxes(X, -1, -2) @ (curvatures[..., None] * X))


Values = _QuadraticValues | _MeanValues
