"""Private selection: what the best of many runs costs if nobody sees the others."""

from __future__ import annotations

import math

import numpy as np

from admmbench.privacy.costs import ORDERS, Spending

SHAPES = {"geometric": 1.0, "logarithmic": 0.0}
"""Distributions of the number of trials by name, with the shape eta of the paper's definition 1."""


def selected(spending: Spending, delta: float, trials: float, shape: str) -> float:
    """Return the total epsilon of releasing the best of a random number of runs (Papernot and Steinke 2022, theorem 2).

    The runs are independent and alike, each with settings drawn from a fixed distribution; a curator draws how many
    there are and hides all but the best by a score that is private or uses public records only.

    Parameters
    ----------
    spending
        Releases of one run.
    delta
        Failure probability of the total.
    trials
        Mean of the number of runs, above 1.
    shape
        Name in `SHAPES` of its distribution.

    Returns
    -------
    float
        Infinite where the releases have no Renyi divergences.
    """
    from dp_accounting.rdp.rdp_privacy_accountant import compute_epsilon  # slow to import

    one = spending.renyi() if spending.sound else None
    if one is None:
        return math.inf
    eta = SHAPES[shape]
    others = (1 + eta) * np.nanmin((1 - 1 / ORDERS) * one - _log_gamma(trials, eta) / ORDERS)
    epsilon, _ = compute_epsilon(ORDERS, one + others + math.log(trials) / (ORDERS - 1), delta)
    return float(epsilon)


def _log_gamma(trials: float, eta: float) -> float:
    """Logarithm of the parameter gamma with which the number of runs has this mean."""
    from scipy.optimize import brentq

    if eta:  # geometric
        return -math.log(trials)

    def above(log: float) -> float:
        """Logarithm of the mean at an inverse gamma, over what is asked for."""
        return math.log(math.expm1(log) / log / trials)

    return -float(brentq(above, 1e-9, 700))
