"""Search for the minimiser of an objective over known records, in double precision."""

from __future__ import annotations

import numpy as np

from admmbench.problems.loss import Array, Loss
from admmbench.problems.penalties import Penalty

# A search ends when a line search gains nothing more than rounding.
_OPTIONS = {"maxiter": 50_000, "maxfun": 100_000, "maxcor": 50, "ftol": 1e-16, "gtol": 1e-9}
_MOST_SEARCHES = 100


def minimize(
    loss: Loss,
    penalty: Penalty,
    strength: float,
    X: Array,
    y: Array,
    weights: Array,
    outputs: int,
) -> Array:
    """Minimise ``sum_i weights_i loss(W x_i, y_i) + strength R(W)`` by L-BFGS-B of scipy.

    Without a gradient of the penalty (l1), W is the difference of two nonnegative parts, whose sum the penalty is.

    Parameters
    ----------
    loss, penalty, strength
        What the objective is made of; the loss is convex.
    X, y
        Records, shape (n, J), float64, and their targets, shape (n,).
    weights
        Shape (n,).
    outputs
        K, rows of W.

    Returns
    -------
    W, shape (K, J), float64.
    """
    from scipy import optimize  # slow to import, and few methods need an optimum

    shape = (outputs, X.shape[1])
    size = outputs * X.shape[1]
    total = weights.sum()

    def objective(W: Array) -> tuple[float, Array]:
        u = (X @ W.T)[:, None]
        value = weights @ loss.losses(u.copy(), y[:, None])[:, 0]
        loss.scaled_slopes(u, y, weights)
        return float(value / total), (u[:, 0].T @ X) / total

    def smooth(v: Array) -> tuple[float, Array]:
        W = v.reshape(shape)
        value, gradient = objective(W)
        gradient += strength / total * penalty.gradient(W)
        return value + strength / total * float(penalty.value(W)), gradient.ravel()

    def split(v: Array) -> tuple[float, Array]:
        plus, minus = v.reshape(2, *shape)
        value, gradient = objective(plus - minus)
        both = np.stack([gradient, -gradient]) + strength / total
        return value + strength / total * v.sum(), both.ravel()

    if penalty.smooth:
        found = optimize.minimize(
            smooth, np.zeros(size), jac=True, method="L-BFGS-B", options=_OPTIONS
        )
        return np.asarray(found.x.reshape(shape))
    # Steps along both parts of an entry, or against a bound, can end the search early: without what it remembers of
    # them it goes on, until that gains nothing.
    bounds = optimize.Bounds(np.zeros(2 * size), np.full(2 * size, np.inf))
    start, least = np.zeros((2, *shape)), np.inf
    for _ in range(_MOST_SEARCHES):
        found = optimize.minimize(
            split, start.ravel(), jac=True, method="L-BFGS-B", bounds=bounds, options=_OPTIONS
        )
        plus, minus = found.x.reshape(2, *shape)
        W: Array = plus - minus
        if not found.fun < least:
            break
        start, least = np.stack([W.clip(0), (-W).clip(0)]), found.fun
    return W
