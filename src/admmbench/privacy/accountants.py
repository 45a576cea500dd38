"""Accountants: what releases cost together, each by a rule of its own.

An accountant is one entry of `ACCOUNTANTS`. Traces, results and the report ask for all that they need to know there,
so that a new one is a function below with its entry above it, and nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from admmbench.privacy.remembered import remembered


class Releases(NamedTuple):
    """What an agent released, in the compressed form that composition needs."""

    laplace: tuple[tuple[float, int], ...] = ()
    """(multiplier, count) of releases with Laplace noise."""
    gaussian: float = 0.0
    """Sum of the inverse squared multipliers of Gaussian releases: they compose exactly into one."""
    pure: tuple[tuple[float, int], ...] = ()
    """(epsilon, count) of other releases with pure differential privacy."""

    @property
    def only_gaussian(self) -> bool:
        """Whether there are no others."""
        return not self.laplace and not self.pure


Composition = Callable[[Releases, float], float]
"""Total epsilon of some releases at a delta."""


def _any(releases: Releases) -> bool:
    return True


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
        Where it stands, and what should be known about it.
    composes
        Whether it can compose such `Releases`; any if absent.
    """

    name: str
    variable: str
    long_name: str
    column: str
    compose: Composition
    comment: str
    composes: Callable[[Releases], bool]

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
    composes: Callable[[Releases], bool] = _any,
) -> Callable[[Composition], Composition]:
    """Enter the function below as an accountant; see `Accountant` for the arguments."""

    def enter(compose: Composition) -> Composition:
        ACCOUNTANTS[name] = Accountant(
            name, variable, long_name, column, compose, comment, composes
        )
        return compose

    return enter


# dp-accounting's default grid is 1e-4; relative to the single losses here a coarser one costs nothing visible and
# bounds the time. It is rounded up, so that the result stays an upper bound.
_GRID_PER_LOSS = 20


@accountant("pld", "epsilon_total", "composed privacy loss epsilon", "ε composed")
@remembered
def _pld(releases: Releases, delta: float) -> float:
    """Privacy loss distributions (dp-accounting); of a pure release only the largest loss is known, and assumed."""
    # Slow to import, and most runs only need it at the end.
    if releases.only_gaussian:
        from dp_accounting import get_epsilon_gaussian

        return float(get_epsilon_gaussian(_inverse_root(releases.gaussian), delta))
    basic = _basic(releases)
    if basic <= 1e-4:
        return basic
    from dp_accounting.pld import privacy_loss_distribution as pld
    from dp_accounting.pld.common import DifferentialPrivacyParameters

    grid = _interval(releases)
    total = pld.identity(grid)
    for multiplier, count in releases.laplace:
        single = pld.from_laplace_mechanism(multiplier, value_discretization_interval=grid)
        total = total.compose(single.self_compose(count))
    if releases.gaussian:
        std = _inverse_root(releases.gaussian)
        total = total.compose(pld.from_gaussian_mechanism(std, value_discretization_interval=grid))
    for epsilon, count in releases.pure:
        single = pld.from_privacy_parameters(DifferentialPrivacyParameters(epsilon, 0), grid)
        total = total.compose(single.self_compose(count))
    found = float(total.get_epsilon_for_delta(delta))
    # Losses around 700 underflow in dp-accounting, which then finds infinity.
    return min(found, basic, _concentrated(releases, delta))


def _inverse_root(x: float) -> float:
    return 1 / math.sqrt(x) if x else math.inf


def _concentrated(releases: Releases, delta: float) -> float:
    """Bound by zero-concentrated differential privacy (Bun and Steinke 2016, propositions 1.3, 1.4 and 1.6)."""
    rho = releases.gaussian / 2
    rho += sum(count / multiplier**2 / 2 for multiplier, count in releases.laplace)
    rho += sum(count * epsilon**2 / 2 for epsilon, count in releases.pure)
    return rho + 2 * math.sqrt(rho * math.log(1 / delta))


def _basic(releases: Releases) -> float:
    """Basic composition; infinite with Gaussian releases, which have no pure guarantee."""
    if releases.gaussian:
        return math.inf
    laplace = sum(count / multiplier for multiplier, count in releases.laplace)
    return laplace + sum(count * epsilon for epsilon, count in releases.pure)


def _interval(releases: Releases) -> float:
    losses = [1 / multiplier for multiplier, _ in releases.laplace]
    losses += [epsilon for epsilon, _ in releases.pure]
    if releases.gaussian:
        losses.append(math.sqrt(releases.gaussian))
    return max(1e-5, min(losses) / _GRID_PER_LOSS)


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
    best = math.sqrt(2 * log / releases.gaussian)  # over the reals
    taus = {max(1, math.floor(best)), math.ceil(best)}
    return min((tau + 1) / 2 * releases.gaussian + log / tau for tau in taus)
