"""Solutions on tape: what is released where noise is inside a subproblem.

An agent releases the solution v of a subproblem whose linear term has the noise b. Up to terms that are the same in
both worlds, b is -grad f(v). So in another world, with another f', the same v is due to the noise
b + grad f(v) - grad f'(v). The density of v is that of the noise times the determinant of the Hessian at v.

AMP adds noise to v as well. Who sees the sum z takes -grad f(z) for b. When a tape is played, the other world gets the
b that has the same v, and the two computed solutions differ by what the solver and rounding leave.
"""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import numpy as np

from admmbench.algorithms.amp import AMP
from admmbench.audit.tapes import SPHERICAL, Curved, Taped, TapedNoise
from admmbench.frames.base import Algorithm, Array, factors
from admmbench.frames.consensus import Consensus, Subproblem
from admmbench.privacy import Noise
from admmbench.problems.loss import ScalarLoss
from admmbench.problems.rows import RowParts

# Part of the noise: how much of the subproblem's gradient a solver may leave.
_UNSOLVED = 0.05
# Largest factor of noise inside a problem: what rounding leaves of a larger one is more than the method counts with.
_LOUDEST = 64


def watched(method: Algorithm[Any, Any]) -> Algorithm[Any, Any]:
    """Method whose solutions are put on tape, where their noise is in the subproblem."""
    declared = method.release
    copied = copy.copy(method)
    if isinstance(method, AMP) and type(method).perturbed is AMP.perturbed:
        object.__setattr__(copied, "perturbed", lambda *of: _perturbed(method, *of))
    elif isinstance(method, Consensus) and declared is not None and declared.law == SPHERICAL:
        object.__setattr__(copied, "update", lambda sub: _released(sub, method.update(sub)))
    return copied


def _perturbed(method: AMP, parts: RowParts, noise: Noise) -> Array:
    """Let AMP find its noisy solution, and put the noise in its problem on tape beside that on the solution."""
    assert isinstance(noise, TapedNoise)
    found: list[tuple[Taped, Array, Array, tuple[Array, Array]]] = []

    def gradient(v: Array) -> Array:
        return parts.gradient(v, mean_over=parts.n_samples).value

    def minimize(
        parts: RowParts, b: Array, ridge: Array, convexity: Array, tolerance: Array
    ) -> Array:
        drawn = noise.tape.pop()
        if noise.next is not None and noise.next.inside and noise.next.inside.exact:
            v, linear = noise.next.inside.exact
            b = linear - gradient(v)
        elif noise.louder is not None:
            b = b * (np.minimum(noise.louder, _LOUDEST) / noise.louder)[:, None, None]
        v = method.minimize(parts, b, ridge, convexity, tolerance)
        found.append((drawn, ridge, b, (v, gradient(v) + b)))
        return v

    watching = copy.copy(method)
    object.__setattr__(watching, "minimize", minimize)
    sent = watching.perturbed(parts, noise)
    (drawn, ridge, b, (v, linear)), whole = found[0], parts.whole
    left = linear + _quadratic(parts, v, ridge)
    if noise.again is None and not (_norms(left) <= _UNSOLVED * drawn.scale).all():
        noise.unsolved, noise.missed = True, noise.missed + 1
    inside = Taped(
        drawn.t,
        drawn.law,
        gradient(sent),
        -_quadratic(parts, sent, ridge),
        sent,
        drawn.scale,
        drawn.entered,
        _curved(noise, parts, sent, ridge + whole.penalty_curvature),
        drawn.grid,
        exact=(v, linear),
        drawn=b,
    )
    noise.tape[-1] = replace(noise.tape[-1], entered=drawn.entered, inside=inside)
    return sent


def _quadratic(parts: RowParts, v: Array, ridge: Array) -> Array:
    """Gradient of the penalty and of the method's own quadratic term."""
    found: Array = parts.whole.add_penalty_gradient(factors(ridge, v) * v, v)
    return found


def _norms(models: Array) -> Array:
    return np.asarray(np.linalg.norm(models, axis=(2, 3)))


def _curved(noise: TapedNoise, parts: RowParts, v: Array, convexity: Array) -> Curved | None:
    """How noise becomes the solutions v, for losses of one prediction."""
    whole, loss = parts.whole, parts.whole.loss
    if not isinstance(loss, ScalarLoss):
        return None

    def log_det(b: int, convexity: Array) -> Array:
        ((_, rows),) = whole.split.shares[noise.agents.start + b]
        X, y = whole.X[rows], whole.y[rows]
        curvature = loss.curvature(v[b, :, 0] @ X.T, y)
        hessian = np.einsum("sn,ni,nj->sij", curvature, X, X, optimize=True) / max(len(y), 1)
        hessian += convexity[:, None, None] * np.eye(X.shape[1])
        return np.linalg.slogdet(hessian)[1]

    return Curved(convexity, log_det)


def _released(sub: Subproblem, own: Array) -> Array:
    """Put a solution on tape, if it is one; returns what is released."""
    noise, whole, loss = sub.noise, sub.parts.whole, sub.parts.whole.loss
    assert isinstance(noise, TapedNoise)
    inner, noise.inner = noise.inner, None
    if inner is None or not isinstance(loss, ScalarLoss) or not whole.penalty.smooth:
        return own
    v = noise.played(own)
    gradient = sub.parts.gradient(v, mean_over=sub.parts.n_samples).value
    rest = sub.dual - sub.rho * (v - sub.w) - inner.noise
    rest -= whole.add_penalty_gradient(gradient.copy(), v)
    # A quadratic term of the method's own is a multiple of the solution; the solver leaves little else.
    squares = np.maximum((v**2).sum(axis=(2, 3)), np.finfo(float).tiny)
    ridge = (rest * v).sum(axis=(2, 3)) / squares
    left = _norms(rest - factors(ridge, v) * v)
    if noise.again is None and not (left <= _UNSOLVED * inner.scale).all():
        noise.unsolved = True
        return own
    convexity = whole.penalty_curvature + sub.rho + np.maximum(ridge, 0)
    noise.missed -= 1
    noise.tape.append(
        Taped(
            sub.t,
            SPHERICAL,
            gradient,
            gradient + inner.noise,
            v,
            inner.scale,
            inner.entered,
            _curved(noise, sub.parts, v, convexity),
            inner.grid,
        )
    )
    return v
