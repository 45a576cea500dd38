"""Calibration: the budget of one release with which a whole run has a stated total."""

from __future__ import annotations

import math
from collections.abc import Callable

from scipy.optimize import brentq

from admmbench.privacy.ledger import Ledger

# Relative accuracy of the total: it is below its target, and far closer to it than 1 %.
_AIM, _TOLERANCE = 0.998, 1e-5
_LEAST = 0.99


def calibrate(spend: Callable[[float], Ledger], total: float, delta: float) -> float:
    """Solve for the budget of one release.

    Parameters
    ----------
    spend
        Releases of a run, as a function of the budget of one release; more is spent if the budget is larger.
    total
        Composed privacy loss of the run, at most.
    delta
        Failure probability of the total.

    Returns
    -------
    float
        Budget with which the composed loss is 0.99 to 1 of the total; infinite if the total is.

    Raises
    ------
    ValueError
        If there is no such budget.
    """
    if math.isinf(total):
        return math.inf

    def above(log: float) -> float:
        """Logarithm of the composed loss over what is aimed at, for the logarithm of a budget."""
        found = spend(math.exp(log)).epsilon(delta)
        return math.log(max(found, 1e-300) / (_AIM * total))

    low = high = math.log(total)
    while above(low) > 0 and low > -100:
        low -= 2
    while above(high) < 0 and high < 100:
        high += 2
    if above(low) > 0 or above(high) < 0:
        raise ValueError(f"privacy.total: no noise gives a total of {total:g} at delta {delta:g}")
    epsilon = math.exp(brentq(above, low, high, xtol=_TOLERANCE)) if low < high else total
    found = spend(epsilon).epsilon(delta)
    if not _LEAST * total <= found <= total:
        raise ValueError(
            f"privacy.total: asked for {total:g}, found noise for {found:g} only; a total near it may be found"
        )
    return float(epsilon)
