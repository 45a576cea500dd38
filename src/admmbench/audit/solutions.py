"""How an audit lets methods compute: in plain arrays, and with the solutions of subproblems on tape.

An agent releases the solution v of a subproblem whose linear term has the noise b. Up to terms that are the same in
both worlds, b is -grad f(v). So in another world, with another f', the same v is due to the noise
b + grad f(v) - grad f'(v). The density of v is that of the noise times the determinant of the Hessian at v.

AMP adds noise to v as well. Who sees the sum z takes -grad f(z) for b. When a tape is played, the other world gets the
b that has the same v, and the two computed solutions differ by what the solver and rounding leave.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from admmbench.audit.tapes import Curved, Taped, TapedNoise
from admmbench.base.kernel import in_plain_arrays
from admmbench.base.types import Array, LocalUpdate, Strategy, Subproblem, factors, norms
from admmbench.privacy import Noise
from admmbench.problems.loss import ScalarLoss
from admmbench.problems.rows import Objective

# Part of the noise: how much of the subproblem's gradient a solver may leave.
_UNSOLVED = 0.05
# Largest factor of noise inside a problem: what rounding leaves of a larger one is more than the method counts with.
_LOUDEST = 64


class OnTape(Strategy):
    """Arithmetic of a federation whose noise is on tape: plain arrays show what noise is added to.

    Solutions are put on tape as well, where their noise is in the subproblem.
    """

    def update(self, update: LocalUpdate) -> None:
        """Update the models of a block as `Strategy.update` does, but in plain arrays."""
        gradient = update.gradient
        assert gradient is not None
        in_plain_arrays(update, lambda: gradient.value)

    def released(self, sub: Subproblem, solution: Array) -> Array:
        """Put a solution on tape, if it is one; returns what is released."""
        noise, whole, loss = sub.noise, sub.parts.whole, sub.parts.whole.loss
        assert isinstance(noise, TapedNoise)
        inner, noise.inner = noise.inner, None
        if inner is None or not isinstance(loss, ScalarLoss) or not whole.penalty.smooth:
            return solution
        v = noise.played(solution)
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
        curved, total = _curved(noise, f, v, convexity), gradient + inner.total
        noise.tape.append(replace(inner, value=gradient, total=total, released=v, curved=curved))
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
        """Put the noise in a problem on tape, beside that which is added to the solution next."""
        assert isinstance(noise, TapedNoise)
        drawn, again = noise.tape.pop(), noise.next and noise.next.inside
        if again and again.exact:
            v, linear = again.exact
            b = linear - objective.gradient(v).value
        elif noise.louder is not None:
            b = b * (np.minimum(noise.louder, _LOUDEST) / noise.louder)[:, None, None]
        v = minimize(b)
        linear = objective.gradient(v).value + b
        if not _solved(noise, drawn, linear + _quadratic(objective, v, ridge)):
            noise.missed += 1

        def inside(sent: Array) -> Taped:
            return replace(
                drawn,
                value=objective.gradient(sent).value,
                total=-_quadratic(objective, sent, ridge),
                released=sent,
                curved=_curved(noise, objective, sent, ridge + objective.penalty_curvature),
                exact=(v, linear),
                drawn=b,
            )

        noise.inside = inside
        return v


def _solved(noise: TapedNoise, drawn: Taped, left: Array) -> bool:
    """Whether a solver leaves so little of a subproblem's gradient that the solution shows its noise."""
    return noise.again is not None or bool((norms(left) <= _UNSOLVED * drawn.scale).all())


def _quadratic(objective: Objective, v: Array, ridge: Array) -> Array:
    """Gradient of the penalty and of the method's own quadratic term."""
    whole = objective.parts.whole
    return whole.add_penalty_gradient(factors(ridge, v) * v, v, objective.strength)


def _curved(noise: TapedNoise, objective: Objective, v: Array, convexity: Array) -> Curved | None:
    """How noise becomes the solutions v, for losses of one prediction."""
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

    return Curved(convexity, log_det)
