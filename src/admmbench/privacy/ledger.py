"""Ledger: every noisy release of an agent, and what they cost together.

Agents hold disjoint records, so a record pays for the releases of its own agent only (parallel composition): each agent
keeps a ledger, and the federation's total is the largest.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, NamedTuple


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


class Ledger:
    """Releases of one agent; memory is constant in the number of rounds."""

    def __init__(self) -> None:
        self._laplace: Counter[float] = Counter()
        self._gaussian = 0.0
        self._pure: Counter[float] = Counter()

    def __bool__(self) -> bool:
        """Whether there was any release."""
        return any(self.releases())

    def laplace(self, multiplier: float, count: int = 1) -> None:
        """Record releases with Laplace noise of scale ``multiplier`` times the l1 sensitivity."""
        self._laplace[multiplier] += count

    def gaussian(self, multiplier: float, count: int = 1) -> None:
        """Record releases with Gaussian noise of standard deviation ``multiplier`` times the l2 sensitivity."""
        self._gaussian += count / multiplier**2

    def pure(self, epsilon: float, count: int = 1) -> None:
        """Record releases that are (epsilon, 0)-differentially private, whatever their noise."""
        self._pure[epsilon] += count

    def variables(self) -> dict[str, Any]:
        """All releases so far, as lists of (multiplier or epsilon, count) and a number."""
        laplace, pure = (
            [list(each) for each in kept.items()] for kept in (self._laplace, self._pure)
        )
        return {"laplace": laplace, "gaussian": self._gaussian, "pure": pure}

    def restore(self, variables: dict[str, Any]) -> None:
        """Take up what `variables` returned."""
        self._laplace, self._pure = (Counter(dict(variables[law])) for law in ("laplace", "pure"))
        self._gaussian = variables["gaussian"]

    def releases(self) -> Releases:
        """All releases so far."""
        laplace, pure = (tuple(sorted(each.items())) for each in (self._laplace, self._pure))
        return Releases(laplace, self._gaussian, pure)

    def epsilon(self, delta: float, accountant: str = "pld") -> float:
        """Total epsilon at ``delta``.

        Parameters
        ----------
        delta
            Failure probability of the total guarantee.
        accountant
            Name in `ACCOUNTANTS`.
        """
        return ACCOUNTANTS[accountant](self.releases(), delta)


# dp-accounting's default grid is 1e-4; relative to the single losses here a coarser one costs nothing visible and
# bounds the time. It is rounded up, so that the result stays an upper bound.
_GRID_PER_LOSS = 20


@lru_cache(maxsize=4096)
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


def _moments(releases: Releases, delta: float) -> float:
    """Moments accountant of huang2019 (appendix B): integer moments tau of Gaussian releases.

    With G the sum of the inverse squared multipliers, alpha(tau) = tau (tau + 1) G / 2, and
    epsilon = min_tau (alpha(tau) + ln(1 / delta)) / tau.
    """
    if not releases.only_gaussian:
        raise ValueError("accountant huang2019: it knows Gaussian releases only")
    if not releases.gaussian:
        return 0.0
    log = math.log(1 / delta)
    best = math.sqrt(2 * log / releases.gaussian)  # over the reals
    taus = {max(1, math.floor(best)), math.ceil(best)}
    return min((tau + 1) / 2 * releases.gaussian + log / tau for tau in taus)


ACCOUNTANTS: dict[str, Callable[[Releases, float], float]] = {"pld": _pld, "huang2019": _moments}


def epsilon_total(ledgers: Iterable[Ledger], delta: float, accountant: str = "pld") -> float:
    """Total epsilon of a federation: that of the agent who pays most."""
    totals = {ledger.releases(): ledger for ledger in ledgers}
    return max((ledger.epsilon(delta, accountant) for ledger in totals.values()), default=0.0)
