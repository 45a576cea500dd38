"""Solutions on tape: what is released where noise is inside a subproblem.

An agent releases the solution v of a subproblem whose linear term has the noise b. Up to terms that are the same in
both worlds, b is -grad f(v). So in another world, with another f', the same v is due to the noise
b + grad f(v) - grad f'(v). The density of v is that of the noise times the determinant of the Hessian at v.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from admmbench.algorithms.base import Algorithm, Array, factors
from admmbench.algorithms.consensus import Consensus, Subproblem
from admmbench.audit.tapes import SPHERICAL, Curved, Taped, TapedNoise
from admmbench.problems.losses.base import ScalarLoss

# Part of the noise: how much of the subproblem's gradient a solver may leave.
_UNSOLVED = 0.05


def watched(method: Algorithm[Any, Any]) -> Algorithm[Any, Any]:
    """Method whose solutions are put on tape, where their noise is in the subproblem."""
    declared = method.release
    if declared is None or declared.law != SPHERICAL or not isinstance(method, Consensus):
        return method
    copied = copy.copy(method)
    object.__setattr__(copied, "update", lambda sub: _released(sub, method.update(sub)))
    return copied


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
    left = np.linalg.norm(rest - factors(ridge, v) * v, axis=(2, 3))
    if noise.again is None and not (left <= _UNSOLVED * inner.scale).all():
        noise.unsolved = True
        return own
    convexity = whole.penalty_curvature + sub.rho + np.maximum(ridge, 0)

    def log_det(b: int, convexity: Array) -> Array:
        ((_, rows),) = whole.split.shares[noise.agents.start + b]
        X, y = whole.X[rows], whole.y[rows]
        curvature = loss.curvature(v[b, :, 0] @ X.T, y)
        hessian = np.einsum("sn,ni,nj->sij", curvature, X, X, optimize=True) / len(y)
        hessian += convexity[:, None, None] * np.eye(X.shape[1])
        return np.linalg.slogdet(hessian)[1]

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
            Curved(convexity, log_det),
        )
    )
    return v
