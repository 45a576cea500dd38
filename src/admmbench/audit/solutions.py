"""Arithmetic of methods in an audit: plain arrays, and recorded solutions of subproblems.

An agent releases the solution v of a subproblem whose linear term has the noise b. Up to terms that are the same on
neighbouring data sets, b is -grad f(v). So on another data set, with another f', the same v is due to the noise
b + grad f(v) - grad f'(v). The density of v is that of the noise times the determinant of the Hessian at v.

AMP adds noise to v as well. An adversary who sees the sum z takes -grad f(z) for b. A replay on the neighbouring data
set gets the b that has the same v, and the two computed solutions differ by the errors of solver and rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from admmbench.audit.transcripts import NoisyValue, RecordingNoise, Transformation
from admmbench.base.kernel import in_plain_arrays
from admmbench.base.types import Array, LocalUpdate, Strategy, Subproblem, factors, norms
from admmbench.privacy import Noise
from admmbench.problems.loss import ScalarLoss
from admmbench.problems.rows import Objective

# Largest norm of the subproblem's gradient at a solution, as a part of the noise's scale.
_UNSOLVED = 0.05
# Largest factor of noise inside a problem: with larger noise, rounding errors exceed what the method allows for.
_LARGEST_FACTOR = 64


class RecordingStrategy(Strategy):
    """Arithmetic of a federation whose noise is recorded: plain arrays show the values before noise.

    Solutions are recorded as well, where their noise is in the subproblem.
    """

    def update(self, update: LocalUpdate) -> None:
        """Update the models of a block as `Strategy.update` does, but in plain arrays."""
        in_plain_arrays(update)

    def released(self, sub: Subproblem, solution: Array) -> Array:
        """Record a solution, if its noise was in the subproblem, and return the released array."""
        noise, whole, loss = sub.noise, sub.parts.whole, sub.parts.whole.loss
        assert isinstance(noise, RecordingNoise)
        inner, noise.inner = noise.inner, None
        if inner is None or not isinstance(loss, ScalarLoss) or not whole.penalty.smooth:
            return solution
        v = noise.replay(solution)
        f = sub.parts.objective
        gradient = f.gradient(v).value
        rest = sub.dual - sub.rho * (v - sub.w) - inner.total
        rest -= whole.add_penalty_gradient(gradient.copy(), v, f.strength)
        # A quadratic term of the method's own is a multiple of the solution; the solver leaves little else.
        squares = np.maximum((v**2).sum(axis=(2, 3)), np.finfo(float).tiny)
        ridge = (rest * v).sum(axis=(2, 3)) / squares
        if not _solved(noise, inner, rest - factors(ridge, v) * v):
            return solution
        convexity = f.penalty_curvature + sub.rho + np.maximum(ridge, 0)
        transformation, total = _transformation(noise, f, v, convexity), gradient + inner.total
        noise.transcript.append(
            replace(inner, value=gradient, total=total, released=v, transformation=transformation)
        )
        noise.missed -= 1
        return v

    def minimize(
        self,
        objective: Objective,
        noise: Noise,
        ridge: Array,
        b: Array,
        minimize: Callable[[Array], Array],
    ) -> Array:
        """Record the noise in a problem, besides the noise that is added to the solution next."""
        assert isinstance(noise, RecordingNoise)
        drawn, replayed = noise.transcript.pop(), noise.next and noise.next.inside
        if replayed and replayed.exact:
            v, linear = replayed.exact
            b = linear - objective.gradient(v).value
        elif noise.louder is not None:
            b = b * (np.minimum(noise.louder, _LARGEST_FACTOR) / noise.louder)[:, None, None]
        v = minimize(b)
        linear = objective.gradient(v).value + b
        if not _solved(noise, drawn, linear + _quadratic(objective, v, ridge)):
            noise.missed += 1

        def inside(sent: Array) -> NoisyValue:
            return replace(
                drawn,
                value=objective.gradient(sent).value,
                total=-_quadratic(objective, sent, ridge),
                released=sent,
                transformation=_transformation(
                    noise, objective, sent, ridge + objective.penalty_curvature
                ),
                exact=(v, linear),
                drawn=b,
            )

        noise.make_inside = inside
        return v


def _solved(noise: RecordingNoise, drawn: NoisyValue, residual: Array) -> bool:
    """Return whether the gradient that a solver leaves is so small that the solution shows its noise."""
    return noise.replayed is not None or bool((norms(residual) <= _UNSOLVED * drawn.scale).all())


def _quadratic(objective: Objective, v: Array, ridge: Array) -> Array:
    """Return the gradient of the penalty and of the method's own quadratic term."""
    whole = objective.parts.whole
    return whole.add_penalty_gradient(factors(ridge, v) * v, v, objective.strength)


def _transformation(
    noise: RecordingNoise, objective: Objective, v: Array, convexity: Array
) -> Transformation | None:
    """Return the change of variables from noise to the solutions v, for losses of one prediction; else None."""
    whole, loss = objective.parts.whole, objective.parts.whole.loss
    if not isinstance(loss, ScalarLoss):
        return None

    def log_det(b: int, convexity: Array) -> Array:
        ((_, rows),) = whole.split.shares[noise.agents.start + b]
        X, y = whole.X[rows], whole.y[rows]
        curvature = loss.curvature(v[b, :, 0] @ X.T, y)
        hessian = np.einsum("sn,ni,nj->sij", curvature, X, X, optimize=True)
        hessian /= objective.divisor[b]
        hessian += convexity[:, None, None] * np.eye(X.shape[1])
        return np.linalg.slogdet(hessian)[1]

    return Transformation(convexity, log_det)
