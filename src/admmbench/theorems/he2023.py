"""Lemmas 3.2 and 4.1 and theorems 3.2 and 4.2 of he2023 for quadratic programs: both sides of them.

Solutions of these programs and of their subproblems are those of linear systems, so that all constants are known.
docs/methods/theorems.md says what holds.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from admmbench.base.constrained import Ending
from admmbench.base.observers import Observer
from admmbench.base.types import Array, ConstrainedFederation
from admmbench.problems.constraints import Quadratics
from admmbench.problems.newton import matvec


@dataclass
class Course:
    """Quantities of both sides of the inequalities, for S seeds, n agents and d variables."""

    w: Array
    """w*, shape (S, d)."""
    r0: Array
    """Distance of (w^0, mu^0) from (w*, mu*), shape (S,)."""
    hessians: Array
    """Of P_{i,k} of the agents, shape (n, S, d, d)."""
    inverse: Array
    """Inverse of the Hessian of a subproblem (6), shape (S, d, d)."""
    L: Array
    """Largest eigenvalue of a Hessian of P_{i,k}, for (52); L_{grad P,2} of (68), for (70); shape (2, S)."""
    farthest: Array
    """Largest distance of w^k from w* so far, shape (S,)."""
    star: Array
    """w_*^k of (59), the solution of the subproblem, shape (S, d)."""
    first: Array
    """S_0 of (51), shape (S,)."""
    near: Array
    """Squared distance from w_*^k and (24), where they are nearest to each other so far, shape (2, S)."""
    count: Array
    """Inner iterations of a subproblem, (52) and (70), likewise, shape (3, S)."""
    outer: Array
    """Outer iterations that were done when the round began, shape (S,)."""
    live: Array
    """Seeds that had not ended then, shape (S,)."""


class OuterLoop(Observer):
    """Both sides of lemma 3.2 and theorem 3.2, of either loop's subproblems."""

    variables = {
        "lemma32_left": ("1", "largest distance of an outer iterate from w* so far"),
        "lemma32_right": ("1", "radius of (12)"),
        "theorem32_right": ("1", "bound on outer iterations in the proof of theorem 3.2"),
    }
    memory: Course

    def begin(self, state: Ending, federation: ConstrainedFederation) -> None:
        """Solve the program, and find the constants, before the first round.

        Raises
        ------
        ValueError
            If it is not a quadratic program.
        """
        beta, sigma = self.method.beta, modulus(self.method, federation)
        (S, d), parts = state.model.shape, list(_parts(federation))
        A = [np.zeros((1, S, d, d)) if part.A is None else part.A for part in parts]
        C = np.concatenate(
            [np.moveaxis(part.matrix, 0, 1).reshape(S, -1, d) for part in parts], axis=1
        )
        offset = np.concatenate(
            [np.moveaxis(part.offset, 0, 1).reshape(S, -1) for part in parts], axis=1
        )
        total, linear = (
            sum(part.sum(axis=0) for part in matrices)
            for matrices in (A, [part.b for part in parts])
        )
        rows = C.shape[1]
        kkt = np.zeros((S, d + rows, d + rows))
        kkt[:, :d, :d], kkt[:, :d, d:], kkt[:, d:, :d] = total, np.swapaxes(C, 1, 2), C
        right = -np.concatenate([np.broadcast_to(linear, (S, d)), offset], axis=1)
        solution = np.linalg.solve(kkt, right[..., None])[..., 0]
        w = solution[:, :d]
        away = np.concatenate([state.model - w, solution[:, d:]], axis=1)  # mu^0 = 0
        curvatures = np.concatenate(A[:-1])
        grams = np.concatenate([_gram(part.matrix) for part in parts])
        hessians = np.concatenate(A) + beta * grams + sigma * np.eye(d)
        bends, pulls = (
            np.linalg.eigvalsh(matrices)[..., -1].max(axis=0) for matrices in (curvatures, grams)
        )
        self.memory = Course(
            w=w,
            r0=np.linalg.norm(away, axis=1),
            hessians=hessians[:-1],
            inverse=np.linalg.inv(hessians.sum(axis=0)),
            L=np.array(
                [np.linalg.eigvalsh(hessians)[..., -1].max(axis=0), bends + beta * pulls + sigma]
            ),
            farthest=np.linalg.norm(state.model - w, axis=1),
            star=state.model.copy(),
            first=np.zeros(S),
            near=np.array([np.zeros(S), np.ones(S)]),
            count=np.array([np.zeros(S), np.ones(S), np.ones(S)]),
            outer=state.outer.copy(),
            live=state.ended == 0,
        )

    def before_round(self, t: int, state: Ending, federation: ConstrainedFederation) -> None:
        """Take note of the seeds that go on."""
        self.memory.outer, self.memory.live = state.outer.copy(), state.ended == 0

    def after_round(self, t: int, state: Ending, federation: ConstrainedFederation) -> None:
        """Look where an outer iteration has led."""
        course = self.memory
        away = np.linalg.norm(state.model - course.w, axis=1)
        done = state.outer > course.outer
        course.farthest = np.where(done, np.maximum(course.farthest, away), course.farthest)

    def measure(self, t: int, state: Ending, federation: ConstrainedFederation) -> dict[str, Array]:
        """Return the sides, in K_{eps1, eps2} of the proof of theorem 3.2."""
        course, method = self.memory, self.method
        reach = math.sqrt(2) * (course.r0 + 4 * method.s * method.beta) / method.beta
        return {
            "lemma32_left": course.farthest,
            "lemma32_right": course.r0 + 2 * method.s * method.beta,
            "theorem32_right": 2 * (method.s + reach) ** 2 / min(method.eps1, method.eps2) ** 2,
        }


class InnerLoop(OuterLoop):
    """Besides, both sides of lemma 4.1 and theorem 4.2, of Algorithm 2."""

    variables = {
        **OuterLoop.variables,
        "theorem32_inner_right": ("1", "bound on all inner iterations in the proof of theorem 3.2"),
        "lemma41_left": ("1", "squared distance from w~*, where it is nearest to its bound so far"),
        "lemma41_right": ("1", "bound on it there, (24)"),
        "theorem42_left": (
            "1",
            "inner iterations, of the subproblem that is nearest to (52) so far",
        ),
        "theorem42_right": ("1", "(52) for it"),
        "theorem42_right_70": ("1", "(70) for it"),
    }

    def begin(self, state: Any, federation: ConstrainedFederation) -> None:
        """Solve the first subproblem besides."""
        super().begin(state, federation)
        self.begin_subproblem(state, federation, state.ended == 0)

    def begin_subproblem(self, state: Any, federation: ConstrainedFederation, which: Array) -> None:
        """Solve the subproblems that some seeds begin at ``w^k``, (59), and find S_0."""
        course, method = self.memory, self.method
        right = state.model / method.beta

        def pull(functions: Any, mu: Array) -> Array:
            estimate = mu + method.beta * functions.offset
            linear = functions.b + matvec(np.swapaxes(functions.matrix, -1, -2), estimate)
            return np.asarray(linear.sum(axis=0))

        for linear in state.each(pull, federation):
            right = right - linear
        star = matvec(course.inverse, right)
        gap = star - state.model
        turned = np.square(matvec(course.hessians, gap[None])).sum(axis=(0, 2))
        n = federation.problem.n_agents
        first = n * method.rho / 2 * np.square(gap).sum(axis=1) + turned / (2 * method.rho)
        course.star[which], course.first[which] = star[which], first[which]

    def after_iteration(self, state: Any, federation: ConstrainedFederation) -> None:
        """Look at lemma 4.1, and at theorem 4.2 for the iterations of this subproblem so far."""
        course, method, n = self.memory, self.method, federation.problem.n_agents
        sigma = modulus(method, federation)
        apart = np.square(np.concatenate([state.u, state.model[None]]) - course.star).sum(axis=2)
        radius = (n + 1) / (sigma**2 * (1 - method.q**2)) + 2 * course.first / sigma
        _nearest(course.near, np.array([apart.max(axis=0), radius]), course.live)
        bounds = [steps(method, n, sigma, method.tau(state), course.first, L) for L in course.L]
        _nearest(course.count, np.array([state.inner, *bounds]), course.live)

    def after_round(self, t: int, state: Any, federation: ConstrainedFederation) -> None:
        """Look at what the next subproblem begins with."""
        done = state.outer > self.memory.outer
        super().after_round(t, state, federation)
        if done.any():
            self.begin_subproblem(state, federation, done & (state.ended == 0))

    def measure(self, t: int, state: Any, federation: ConstrainedFederation) -> dict[str, Array]:
        """Return the sides; all inner iterations are bounded by the last line of appendix B."""
        course, method, n = self.memory, self.method, federation.problem.n_agents
        outer, L = super().measure(t, state, federation), course.L[1]
        most, K = outer["lemma32_right"], outer["theorem32_right"]
        first = n * (method.rho**2 + L**2) / (2 * method.rho) * most**2
        tau = method.s / (K + 1) ** 2
        total = (K + 1) * steps(method, n, modulus(method, federation), tau, first, L)
        inner = [name for name in self.variables if name not in outer]
        return {**outer, **dict(zip(inner, [total, *course.near, *course.count], strict=True))}


def _parts(federation: ConstrainedFederation) -> Iterator[Quadratics]:
    """Functions of the agents, and of the server."""
    for each in (*(block.parts for block in federation.blocks), federation.problem.server):
        if not isinstance(each, Quadratics) or federation.problem.strength:
            raise ValueError(
                "theorems: both sides are known for quadratic programs without penalty"
            )
        yield each


def _gram(C: Array) -> Array:
    return np.swapaxes(C, -1, -2) @ C


def modulus(method: Any, federation: ConstrainedFederation) -> float:
    """Return sigma, the strong convexity of P_{i,k}."""
    return 1 / ((federation.problem.n_agents + 1) * method.beta)


def _nearest(kept: Array, sides: Array, where: Array) -> None:
    """Keep the left and the right sides for which the first two are nearest to each other so far."""
    nearer = where & (sides[0] * kept[1] > kept[0] * sides[1])
    kept[:, nearer] = sides[:, nearer]


def steps(method: Any, n: int, sigma: float, tau: Array | float, first: Array, L: Array) -> Array:
    """Return (52), and with L of (68) (70), from S_0 of (51); shape (S,)."""
    rho, q = method.rho, method.q
    spread = rho**2 + 2 * L**2
    rest = ((n + 1) / (2 * sigma) + n * sigma / spread) / (1 - q)
    b = 2 / math.sqrt(sigma) * n * (L + rho) + math.sqrt(2 * n * rho)
    b = b * np.sqrt(first + rest)
    falls = np.log(np.maximum(q, 1 / (1 + sigma * rho / spread)))
    return np.asarray(np.ceil(2 * np.log(tau / (n + 1 + b)) / falls) + 1)
