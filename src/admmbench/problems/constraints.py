"""Objective and constraint functions of agents, with their derivatives.

Each agent i has an objective f_i and constraints c_i(w) in -K_i, and so has the server, without an objective. Two
kinds of functions cover what he2023 solves: means of a loss over groups of records (`Means`), and quadratics with
linear constraints (`Quadratics`). Arrays carry the B agents of a block and the S seeds in front.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from admmbench.problems.base import Array
from admmbench.problems.cones import Product
from admmbench.problems.loss import ScalarLoss
from admmbench.problems.newton import matvec


class Values(ABC):
    """``f_i`` and ``c_i`` at one w."""

    constraints: Array
    """Shape (B, S, m)."""

    @property
    @abstractmethod
    def objective(self) -> Array:
        """Values of ``f_i``, shape (B, S)."""

    @property
    @abstractmethod
    def jacobian(self) -> Array:
        """Jacobian of the constraints, shape (B, S, m, d)."""

    @abstractmethod
    def gradient(self, mu: Array) -> Array:
        """Return the gradient of ``f_i + <mu_i, c_i>``, shape (B, S, d), for multipliers of shape (B, S, m)."""

    @abstractmethod
    def hessian(self, mu: Array) -> Array:
        """Return the Hessian of the same Lagrangian, shape (B, S, d, d)."""


class Functions(ABC):
    """Objective and constraints of B agents, or of the server (B = 1).

    Attributes
    ----------
    cone
        K_i, the same for all of them.
    convex
        Whether f_i + <mu, c_i> is convex for every mu in K_i*.
    quadratic
        Whether all are quadratics under equations, so that augmented Lagrangians have constant Hessians.
    release_shape
        Nothing noisy is released.
    """

    cone: Product
    convex: bool
    quadratic: bool
    release_shape: tuple[int, ...] = ()

    @abstractmethod
    def at(self, w: Array) -> Values:
        """Return values at points of shape (B, S, d), or (1, S, d) for one that all agents share."""

    def inverse(self, beta: float, shift: float) -> Array:
        """Return the inverse Hessian of an augmented Lagrangian plus ``shift ||w||^2 / 2``, shape (B, S, d, d)."""
        raise TypeError("the Hessian is not constant")


@dataclass(frozen=True, eq=False)
class Linear:
    """A linear map ``C w + d``."""

    matrix: Array
    """C, shape (..., m, d)."""
    offset: Array
    """d, shape (..., m)."""

    def at(self, w: Array) -> Array:
        """Return the values, shape (..., m)."""
        return np.asarray(matvec(self.matrix, w) + self.offset)


class Quadratics(Functions):
    """``f_i(w) = w^T A_i w / 2 + b_i^T w`` subject to ``C_i w + d_i = 0``: (25) of he2023.

    Parameters
    ----------
    A, b
        Shapes (B, S, d, d) and (B, S, d); None where there is no objective, as at the server.
    linear
        The constraints.
    cone
        Theirs.
    """

    convex, quadratic = True, True

    def __init__(self, A: Array | None, b: Array, linear: Linear, cone: Product) -> None:
        self.A, self.b, self.linear, self.cone = A, b, linear, cone
        self._inverse = lru_cache(maxsize=1)(self._invert)

    def inverse(self, beta: float, shift: float) -> Array:
        """Return the inverse of ``A + beta C^T C + shift I``, which is kept, as it is the same in every round."""
        return self._inverse(beta, shift)

    def _invert(self, beta: float, shift: float) -> Array:
        C = self.linear.matrix
        gram = beta * np.swapaxes(C, -1, -2) @ C + shift * np.eye(C.shape[-1])
        return np.linalg.inv(gram if self.A is None else gram + self.A)

    def at(self, w: Array) -> Values:
        """Return values and derivatives."""
        return _OfQuadratics(self, w)


class _OfQuadratics(Values):
    def __init__(self, functions: Quadratics, w: Array) -> None:
        self._of, self._w = functions, w
        self._slope = functions.b if functions.A is None else matvec(functions.A, w) + functions.b
        self.constraints = functions.linear.at(w)

    @property
    def objective(self) -> Array:
        # w^T A w / 2 + b^T w
        return np.asarray(((self._slope + self._of.b) * self._w).sum(axis=-1) / 2)

    @property
    def jacobian(self) -> Array:
        return self._of.linear.matrix

    def gradient(self, mu: Array) -> Array:
        return np.asarray(self._slope + matvec(np.swapaxes(self.jacobian, -1, -2), mu))

    def hessian(self, mu: Array) -> Array:
        if self._of.A is not None:
            return self._of.A
        d = self._slope.shape[-1]
        return np.zeros((*self._slope.shape, d))


class Means(Functions):
    """Combinations of a loss's means over groups of records, and linear maps.

    With l_ij the loss of agent i's record j and G the groups' weights (1/m_g for the m_g records of group g, else 0),
    the means are M_i(w) = G_i l_i(w), and f_i = <a, M_i>, c_i = (T M_i - t, C w + d).

    Parameters
    ----------
    loss
        One output for each record.
    X, y
        Records and targets of agents, shapes (B, S', n, J) and (B, S', n); S' is 1 if all seeds share them. Agents with
        fewer records have rows of zeros in no group.
    groups
        G, shape (B, S', g, n).
    objective
        a, shape (g,).
    combinations, thresholds
        T and t, shapes (m, g) and (m,).
    linear
        Further constraints.
    cone
        Of all constraints, in their order.
    """

    quadratic = False

    def __init__(
        self,
        loss: ScalarLoss,
        X: Array,
        y: Array,
        groups: Array,
        objective: Array,
        combinations: Array,
        thresholds: Array,
        linear: Linear,
        cone: Product,
    ) -> None:
        self.loss, self.X, self.y, self.groups = loss, X, y, groups
        self.weights, self.combinations, self.thresholds = objective, combinations, thresholds
        self.linear, self.cone = linear, cone
        # A multiplier of an inequality is not negative; differences of means are not convex.
        self.convex = bool(loss.convex and (combinations >= 0).all() and (objective >= 0).all())

    def means(self, w: Array) -> Array:
        """Return the means M of all groups, shape (B, S, g)."""
        return _OfMeans(self, w).means

    def at(self, w: Array) -> Values:
        """Return values and derivatives."""
        return _OfMeans(self, w)


class _OfMeans(Values):
    def __init__(self, functions: Means, w: Array) -> None:
        of = self._of = functions
        self._u = matvec(of.X, w)
        self.means = means = matvec(of.groups, of.loss.value(self._u, of.y))
        self.constraints = np.concatenate(
            [
                means @ of.combinations.T - of.thresholds,
                np.broadcast_to(of.linear.at(w), (*means.shape[:-1], of.linear.offset.shape[-1])),
            ],
            axis=-1,
        )

    @property
    def objective(self) -> Array:
        return np.asarray(self.means @ self._of.weights)

    @cached_property
    def _slopes(self) -> Array:
        return self._of.loss.slope(self._u, self._of.y)

    @property
    def _n_means(self) -> int:
        """Number of constraints on means."""
        return len(self._of.thresholds)

    @cached_property
    def jacobian(self) -> Array:
        of = self._of
        weighted = (of.combinations @ of.groups) * self._slopes[..., None, :]
        own = weighted @ of.X
        linear = np.broadcast_to(of.linear.matrix, (*own.shape[:-2], *of.linear.matrix.shape[-2:]))
        return np.concatenate([own, linear], axis=-2)

    def _weights(self, mu: Array) -> Array:
        """Weight of each record's loss in the Lagrangian, shape (B, S, n)."""
        of = self._of
        of_groups = of.weights + mu[..., : self._n_means] @ of.combinations
        return matvec(np.swapaxes(of.groups, -1, -2), of_groups)

    def gradient(self, mu: Array) -> Array:
        of = self._of
        own = matvec(np.swapaxes(of.X, -1, -2), self._weights(mu) * self._slopes)
        return np.asarray(own + mu[..., self._n_means :] @ of.linear.matrix)

    def hessian(self, mu: Array) -> Array:
        of = self._of
        bend = self._weights(mu) * of.loss.curvature(self._u, of.y)
        return np.asarray(np.swapaxes(of.X, -1, -2) @ (bend[..., None] * of.X))
