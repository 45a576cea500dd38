"""Composition: the total epsilon of mechanisms, by each accountant, and `total`, the least that they prove.

An accountant is one entry of `ACCOUNTANTS`. Traces, results and the report read there everything that they need. So a
new accountant is a function below with its entry above it, and nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from admmbench.privacy.distributions import total_epsilon
from admmbench.privacy.events import Composition, Cost, Laplace, Pure
from admmbench.privacy.gaussian import Gaussian

if TYPE_CHECKING:
    from dp_accounting import DpEvent

    from admmbench.privacy.renyi import RenyiAccountant

Compose = Callable[[Composition, float], float]
"""Total epsilon of some releases at a delta."""


@dataclass(frozen=True)
class Accountant:
    """Rule that composes mechanisms.

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
        Total epsilon of a `Composition` at a delta.
    comment
        Where it is published, and what readers should know about it.
    kinds
        Kinds of releases that it counts, so that none is left out. One that asks each cost what it says of itself
        counts every `Cost`.
    usual
        Whether its total is computed for runs that choose no accountants; False if that takes long.
    """

    name: str
    variable: str
    long_name: str
    column: str
    compose: Compose
    comment: str = ""
    kinds: tuple[type[Cost], ...] = (Laplace, Gaussian, Pure)
    usual: bool = True

    def epsilon(self, composition: Composition, delta: float) -> float:
        """Return the total epsilon at ``delta``; NaN if there are releases that it does not count."""
        known = all(isinstance(cost, self.kinds) for cost, _ in composition)
        return self.compose(composition, delta) if known else math.nan


ACCOUNTANTS: dict[str, Accountant] = {}
"""By name, in the order of variables and columns."""


def accountant(
    name: str, variable: str, long_name: str, column: str, **more: Any
) -> Callable[[Compose], Compose]:
    """Enter the function below as an accountant; see `Accountant` for the arguments."""

    def enter(compose: Compose) -> Compose:
        ACCOUNTANTS[name] = Accountant(name, variable, long_name, column, compose, **more)
        return compose

    return enter


COMPOSED = "epsilon_composed"
"""Variable of the accountant that every trace has."""

# Of sums of deltas, over the delta of the total.
_ROUNDING = 1e-9


@lru_cache(maxsize=4096)
def total(composition: Composition, delta: float) -> float:
    """Return the total epsilon: the least of all that is proved, by which noise is solved for, checked and shown.

    It is exact if all releases are Gaussian. Otherwise it is the smaller of the totals by Renyi divergences and by
    privacy loss distributions, of which neither is always the smaller: distributions are finer, but know the largest
    shift of an entry alone. Each falls as noise grows, and so does the least. Of many different samples it is that by
    distributions, as Renyi divergences would take seconds.
    """
    if composition.varied and math.isfinite(found := total_epsilon(composition, delta)):
        return found
    found = _renyi(composition, delta)
    exact = not (composition.sampled or math.isnan(composition.gaussian))
    return min(found, total_epsilon(composition, delta)) if found and not exact else found


@accountant(
    "rdp",
    COMPOSED,
    "composed epsilon, if the sensitivities held for every data set",
    "ε composed",
    kinds=(Cost,),
)
def _rdp(composition: Composition, delta: float) -> float:
    """Renyi differential privacy; the least total of samples, which are never composed by one rule alone."""
    return (total if composition.sampled else _renyi)(composition, delta)


@lru_cache(maxsize=4096)
def _renyi(composition: Composition, delta: float) -> float:
    """Renyi differential privacy (Mironov 2017), and at most basic composition; exact if all releases are Gaussian.

    Those of samples cost at most what they would if every record took part.

    Epsilons and deltas of releases without divergences add up, with the total of all others at the delta that is left
    (Dwork and Roth 2014, theorem 3.16).
    """
    most = sum(count * cost.stated[0] for cost, count in composition)
    if not math.isnan(gaussian := composition.gaussian):
        from dp_accounting.gaussian_mechanism import get_epsilon_gaussian  # slow to import

        with np.errstate(divide="ignore"):  # its search meets deltas of 0
            multiplier = 1 / math.sqrt(gaussian) if gaussian else math.inf
            most = float(get_epsilon_gaussian(multiplier, delta))
        if not composition.sampled:
            return most
    accountant = renyi_accountant(composition.event)
    if accountant is None:
        return _with_stated(composition, delta)
    return min(float(accountant.get_epsilon(delta)), most)


def renyi_accountant(event: DpEvent) -> RenyiAccountant | None:
    """Return the accountant that has composed an event by Renyi divergences; None if a mechanism has none."""
    from admmbench.privacy.renyi import RenyiAccountant

    accountant = RenyiAccountant()
    return accountant.compose(event) if accountant.supports(event) else None


def _with_stated(composition: Composition, delta: float) -> float:
    """Basic composition of releases without divergences with the total of the others; infinite if they use up delta."""
    stated = [(cost.stated, count) for cost, count in composition if cost.renyi() is None]
    others = Composition(pair for pair in composition if pair[0].renyi() is not None)
    epsilon = sum(count * each for (each, _), count in stated)
    left = delta - sum(count * each for (_, each), count in stated)
    if left < -_ROUNDING * delta:
        return math.inf
    if left > _ROUNDING * delta:
        return epsilon + _renyi(others, left)
    return epsilon + sum(count * cost.stated[0] for cost, count in others)


accountant(
    "pld",
    "epsilon_pld",
    "composed privacy loss epsilon, privacy loss distributions",
    "ε by privacy loss distributions",
    comment="infinite where a loss is too large, or delta too small",
    kinds=(Cost,),
    usual=False,
)(lru_cache(maxsize=4096)(total_epsilon))


@accountant(
    "huang2019",
    "epsilon_moments",
    "composed privacy loss epsilon, moments accountant",
    "ε by the moments accountant of huang2019",
    comment="appendix B of huang2019; NaN where not all releases are Gaussian",
    kinds=(Cost,),
)
def _moments(composition: Composition, delta: float) -> float:
    """Moments accountant of huang2019 (appendix B): integer moments tau of Gaussian releases.

    With G the sum of the inverse squared multipliers, alpha(tau) = tau (tau + 1) G / 2, and
    epsilon = min_tau (alpha(tau) + ln(1 / delta)) / tau.
    """
    gaussian = math.nan if composition.sampled else composition.gaussian
    if not gaussian or math.isnan(gaussian):
        return gaussian
    log = math.log(1 / delta)
    best = min(max(1, math.sqrt(2 * log / gaussian)), 1e300)  # over the reals
    taus = {math.floor(best), math.ceil(best)}
    return min((tau + 1) / 2 * gaussian + log / tau for tau in taus)
