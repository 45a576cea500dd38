"""Accountants: what releases cost together, each by a rule of its own.

An accountant is one entry of `ACCOUNTANTS`. Traces, results and the report read there everything that they need. So a
new accountant is a function below with its entry above it, and nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from admmbench.privacy.remembered import remembered

Array = NDArray[np.floating[Any]]


class Shift(NamedTuple):
    """How far a neighbour moves a value at most, in units of the scale of its noise."""

    l1: float
    """Sum of the shifts of all entries."""
    l2: float
    """Root of the sum of their squares."""
    linf: float
    """Largest shift of one entry."""

    @property
    def entries(self) -> float:
        """Number of entries that give the sum if each shifts by the largest shift; need not be whole."""
        return self.l1 / self.linf if self.linf else 0.0


class Sampled(NamedTuple):
    """A Gaussian release of a Poisson sample: each record takes part with a probability, alone and in secret."""

    multiplier: float
    """Standard deviation over the l2 sensitivity."""
    sampling: float
    """The probability, below 1."""


class Approximate(NamedTuple):
    """A release that is (epsilon, delta)-differentially private; nothing more is known about it."""

    epsilon: float
    delta: float


class Releases(NamedTuple):
    """What an agent released, in the compressed form that composition needs."""

    laplace: tuple[tuple[Shift, int], ...] = ()
    """(shift, count) of releases with Laplace noise."""
    gaussian: float = 0.0
    """Sum of the inverse squared multipliers of Gaussian releases: they compose exactly into one."""
    pure: tuple[tuple[float, int], ...] = ()
    """(epsilon, count) of other releases with pure differential privacy."""
    sampled: tuple[tuple[Sampled, int], ...] = ()
    """(multiplier and probability, count) of Gaussian releases of samples."""
    approximate: tuple[tuple[Approximate, int], ...] = ()
    """(epsilon and delta, count) of releases that are differentially private as stated."""

    @property
    def only_gaussian(self) -> bool:
        """Whether there are no others, and no samples."""
        return not (self.laplace or self.pure or self.sampled or self.approximate)


Composition = Callable[[Releases, float], float]
"""Total epsilon of some releases at a delta."""


def _any(releases: Releases) -> bool:
    return True


def _plain(releases: Releases) -> bool:
    return not releases.sampled and not releases.approximate


@dataclass(frozen=True)
class Accountant:
    """One way to compose releases.

    Attributes
    ----------
    name
        What configurations call it.
    variable
        Its total in traces and in ``results.nc``.
    long_name
        That variable in words.
    column
        Head of its column in the report.
    compose
        Total epsilon of `Releases` at a delta.
    comment
        Where it is published, and what readers should know about it.
    composes
        Whether it can compose given `Releases`; if absent, it composes all but releases of samples and approximate
        releases, which need their own rules.
    usual
        Whether its total is computed for runs that choose no accountants; False if that takes long.
    """

    name: str
    variable: str
    long_name: str
    column: str
    compose: Composition
    comment: str
    composes: Callable[[Releases], bool]
    usual: bool

    def epsilon(self, releases: Releases, delta: float) -> float:
        """Total epsilon at ``delta``; NaN if there are releases that it cannot compose."""
        return self.compose(releases, delta) if self.composes(releases) else math.nan


ACCOUNTANTS: dict[str, Accountant] = {}
"""By name, in the order of variables and columns."""


def accountant(
    name: str,
    variable: str,
    long_name: str,
    column: str,
    comment: str = "",
    composes: Callable[[Releases], bool] = _plain,
    usual: bool = True,
) -> Callable[[Composition], Composition]:
    """Enter the function below as an accountant; see `Accountant` for the arguments."""

    def enter(compose: Composition) -> Composition:
        ACCOUNTANTS[name] = Accountant(
            name, variable, long_name, column, compose, comment, composes, usual
        )
        return compose

    return enter


COMPOSED = "epsilon_composed"
"""Variable of the accountant whose total counts where there is a guarantee."""

ORDERS = 1 + np.geomspace(0.0101, 1e6, 400)
"""Orders of the Renyi divergences: dp-accounting converts those above 1.01."""

# Of sums of deltas, over the delta of the total.
_ROUNDING = 1e-9
# Below this product of order and shift, a bound replaces a divergence that would be lost in rounding.
_SMALL = 1e-3


@accountant(
    "rdp",
    COMPOSED,
    "composed privacy loss epsilon, if stated sensitivities are worst cases",
    "ε composed",
    composes=_any,
)
@remembered
def _rdp(releases: Releases, delta: float) -> float:
    """Renyi differential privacy; with releases of samples it or privacy loss distributions, whichever is smaller."""
    found = _renyi(releases, delta)
    return min(found, _distributions(releases, delta)) if releases.sampled and found else found


def _renyi(releases: Releases, delta: float) -> float:
    """Renyi differential privacy (Mironov 2017), and at most basic composition; exact if all releases are Gaussian.

    Releases of samples cost at most as much as without sampling. Epsilons and deltas of approximate releases add up,
    with the total of all others at the delta that is left (Dwork and Roth 2014, theorem 3.16).
    """
    if releases.approximate:
        return _beside_approximate(releases, delta)
    # Slow to import, and most runs only need it at the end.
    from dp_accounting import get_epsilon_gaussian
    from dp_accounting.rdp.rdp_privacy_accountant import compute_epsilon

    if releases.only_gaussian:
        with np.errstate(divide="ignore"):  # its search meets deltas of 0
            return float(get_epsilon_gaussian(_inverse_root(releases.gaussian), delta))
    total = releases.gaussian * ORDERS / 2
    for shift, count in releases.laplace:
        total += count * laplace_divergence(shift)
    for epsilon, count in releases.pure:
        total += count * pure_divergence(epsilon)
    for each, count in releases.sampled:
        total += count * sampled_divergence(each)
    epsilon, _ = compute_epsilon(ORDERS, total, delta)
    found = min(float(epsilon), _basic(releases))
    return min(found, _renyi(_of_all_records(releases), delta)) if releases.sampled else found


def _distributions(releases: Releases, delta: float) -> float:
    """Privacy loss distributions; infinite where they find no total."""
    from admmbench.privacy.distributions import total_epsilon

    return total_epsilon(releases, delta)


def _beside_approximate(releases: Releases, delta: float) -> float:
    """Basic composition of approximate releases with the total of the others; infinite where they use up delta."""
    epsilon = sum(count * each.epsilon for each, count in releases.approximate)
    left = delta - sum(count * each.delta for each, count in releases.approximate)
    others = releases._replace(approximate=())
    if left < -_ROUNDING * delta:
        return math.inf
    return epsilon + (_rdp(others, left) if left > _ROUNDING * delta else _basic(others))


def _of_all_records(releases: Releases) -> Releases:
    """Releases as if every record took part in each: then they cost more."""
    gaussian = releases.gaussian
    gaussian += sum(over_square(count, each.multiplier) for each, count in releases.sampled)
    return releases._replace(gaussian=gaussian, sampled=())


# A sum over outputs of a release reaches as far as orders of so many multipliers need, and no higher.
_REACH = 250


@lru_cache
def sampled_divergence(release: Sampled) -> Array:
    """Renyi divergences of a Gaussian release of a Poisson sample (Mironov, Talwar and Zhang 2019, section 3).

    Neighbours are those of zero_out: a record that takes part contributes nothing in the other data set. With the
    ratio r of both densities, the moment of order a is the mean of r^a without the record. It is summed here, because
    dp-accounting has a bound only where an order is not an integer, often a loose one below 2. At large orders a bound
    is enough here as well: the divergence without sampling.

    Returns
    -------
    Shape of `ORDERS`.
    """
    found = ORDERS * over_square(0.5, release.multiplier)
    orders = ORDERS[: np.searchsorted(ORDERS, _REACH * release.multiplier)]
    if not orders.size:
        return found
    log_weight, log_ratio = _ratios(release, orders[-1])
    once = _change(1.0, log_weight, log_ratio)
    for k, a in enumerate(orders):
        powers = log_weight + a * log_ratio
        largest = powers.max()
        log_moment = float(largest + np.log(np.exp(powers - largest).sum()))
        if log_moment < 1:  # few digits of it may be left
            # r has the mean 1, so that r^a - 1 - a (r - 1) has the mean of r^a - 1, but less cancels.
            change = _change(a, log_weight, log_ratio) - a * once
            log_moment = math.log1p(change.sum() + 2.0**-50 * a * np.abs(once).sum())
        found[k] = min(found[k], log_moment / (a - 1))
    return found


def _change(a: float, log_weight: Array, log_ratio: Array) -> Array:
    """r^a - 1, times the weight."""
    power, weight = a * log_ratio, np.exp(log_weight)
    small = weight * np.expm1(np.minimum(power, 1))
    found: Array = np.where(power < 1, small, np.exp(log_weight + power) - weight)
    return found


def _ratios(release: Sampled, shift: float) -> tuple[Array, Array]:
    """Logarithms of the weights of outputs without a record, as far as this shift moves them, and of the ratios there.

    A sum over equal steps converges fast if a step is small beside the standard deviation and beside the distance to
    the singularity of the logarithm of the ratio, pi times the variance.
    """
    from admmbench.privacy.distributions import log_ratio

    std = release.multiplier
    step = std / 8 * min(1, 4 * std)
    x = np.arange(-10 * std, shift + 10 * std, step)
    log_weight = math.log(step / std / math.sqrt(2 * math.pi)) - (x / std) ** 2 / 2
    return log_weight, log_ratio(*release, x)


def laplace_divergence(shift: Shift, orders: Array = ORDERS) -> Array:
    """Bound on the Renyi divergences of values with Laplace noise on every entry.

    One entry that shifts by r has the divergence D(r) of Mironov (2017), proposition 6, which is convex and 0 at 0; so
    D(r_k) <= r_k / linf D(linf), and the sum over entries is at most l1 / linf D(linf). It is also at most a l2^2 / 2,
    as an r-DP release is (r^2 / 2)-zCDP (Bun and Steinke 2016, proposition 1.4).

    Returns
    -------
    Shape of the orders.
    """
    a, r = orders, shift.linf
    up = np.log(a / (2 * a - 1)) + (a - 1) * r
    down = np.log((a - 1) / (2 * a - 1)) - a * r
    entry = _at_most_concentrated(np.logaddexp(up, down), r, orders)
    return np.minimum(shift.entries * entry, a * square(shift.l2) / 2)


def pure_divergence(epsilon: float, orders: Array = ORDERS) -> Array:
    """Renyi divergences of the worst (epsilon, 0)-private release.

    That is randomised response (Kairouz, Oh and Viswanath 2015).

    Returns
    -------
    Shape of the orders.
    """
    both = np.logaddexp(orders * epsilon, (1 - orders) * epsilon)
    return _at_most_concentrated(both - np.logaddexp(0, epsilon), epsilon, orders)


def _at_most_concentrated(logarithm: Array, epsilon: float, orders: Array) -> Array:
    """Divergence of an epsilon-DP release, from the logarithm of its moment: at most that of epsilon^2 / 2 of zCDP."""
    concentrated = orders * square(epsilon) / 2
    exact = logarithm / (orders - 1)
    found: Array = np.where(
        orders * epsilon < _SMALL, concentrated, np.minimum(exact, concentrated)
    )
    return found


def square(x: float) -> float:
    """Square of a number; infinite where it is out of reach."""
    return x**2 if x < 1e150 else x * x


def over_square(x: float, multiplier: float) -> float:
    """A number over the square of a multiplier; infinite where it is out of reach."""
    if multiplier > 1e-150:
        return x / square(multiplier)
    return x / multiplier / multiplier if multiplier else math.inf


def _inverse_root(x: float) -> float:
    return 1 / math.sqrt(x) if x else math.inf


def _basic(releases: Releases) -> float:
    """Basic composition; infinite with Gaussian releases, which have no pure guarantee."""
    if releases.gaussian or releases.sampled:
        return math.inf
    laplace = sum(count * shift.l1 for shift, count in releases.laplace)
    return laplace + sum(count * epsilon for epsilon, count in releases.pure)


@accountant(
    "pld",
    "epsilon_pld",
    "composed privacy loss epsilon, privacy loss distributions",
    "ε by privacy loss distributions",
    comment="tighter where releases are not Gaussian",
    composes=_any,
    usual=False,
)
@remembered
def _pld(releases: Releases, delta: float) -> float:
    """Privacy loss distributions, or Renyi differential privacy where that is smaller."""
    found = _rdp(releases, delta)
    exact = releases.only_gaussian or releases.sampled  # or has distributions already
    return found if exact else min(found, _distributions(releases, delta))


@accountant(
    "huang2019",
    "epsilon_moments",
    "composed privacy loss epsilon, moments accountant",
    "ε by the moments accountant of huang2019",
    comment="appendix B of huang2019; NaN where not all releases are Gaussian",
    composes=lambda releases: releases.only_gaussian,
)
def _moments(releases: Releases, delta: float) -> float:
    """Moments accountant of huang2019 (appendix B): integer moments tau of Gaussian releases.

    With G the sum of the inverse squared multipliers, alpha(tau) = tau (tau + 1) G / 2, and
    epsilon = min_tau (alpha(tau) + ln(1 / delta)) / tau.
    """
    if not releases.gaussian:
        return 0.0
    log = math.log(1 / delta)
    best = min(max(1, math.sqrt(2 * log / releases.gaussian)), 1e300)  # over the reals
    taus = {math.floor(best), math.ceil(best)}
    return min((tau + 1) / 2 * releases.gaussian + log / tau for tau in taus)
