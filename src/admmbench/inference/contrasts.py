"""Verdicts on contrasts, which are differences and other quantities, from intervals alone: see docs/sure.md.

A *setting* is a data set and a budget, at which methods compete. Its pairs are judged on labelled arrays.

A contrast of a claim is one estimate that should lie in a *region*: one-sided tests show that it does, and other
one-sided tests refute it. Several contrasts together are shown if each of them is shown. That needs no correction of
levels (intersection-union): if the whole is false, one contrast is false, and this one is shown with a probability of
at most its own level. Several contrasts together are refuted if one of them is refuted, so each of k is refuted at a
k-th of the level (Bonferroni). Where only some contrasts are to hold, one that is shown at a k-th of its level is
enough, and all must be refuted.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Literal, NamedTuple

import numpy as np
import xarray as xr

from admmbench.inference.intervals import LEVEL, Difference, Estimate

TEST = 0.05
"""Level of each of the two one-sided tests of equivalence, that is of an interval of 90 %."""

TAIL = (1 - LEVEL) / 2
"""Level of other one-sided tests, that is of one end of an interval of level `LEVEL`."""

Contrast = Estimate | Difference


class PairVerdict(StrEnum):
    """Verdict of an interval on the difference of two methods, of a metric that should be low."""

    EQUIVALENT = "equivalent"
    BETTER = "better"
    WORSE = "worse"
    UNDECIDED = "undecided"


class SettingVerdict(StrEnum):
    """Verdict on a method in a setting."""

    WINNER = "winner"
    EQUIVALENT = "equivalent"
    UNDECIDED = "undecided"
    WORSE = "worse"
    ALONE = "alone"


class Decision(StrEnum):
    """Verdict on a contrast, or on several together."""

    SUPPORTED = "supported"
    NOT_FALSIFIED = "not falsified"
    """Supported by bounds alone that are far from tight."""
    CONTRADICTED = "contradicted"
    UNDECIDED = "undecided"
    NOT_RUN = "not run"


def judge_pairs(gap: xr.Dataset, margin: float) -> xr.DataArray:
    """Judge pairs by their intervals.

    Parameters
    ----------
    gap
        ``lower`` and ``upper`` of the difference of a method and its rival, of a metric that should be low.
    margin
        Largest difference that does not matter, in the same unit.

    Returns
    -------
    xarray.DataArray
        Values of `PairVerdict` over the dims of ``gap``: equivalent if the interval lies within the margin, even if it
        excludes 0, else better or worse if it excludes 0, else undecided; empty where the mean difference is NaN.
    """
    lower, upper = gap["lower"], gap["upper"]
    # Equivalence is written last and replaces the others, as a difference within the margin does not matter.
    words = xr.full_like(lower, PairVerdict.UNDECIDED, "U10")
    words = words.where(~(lower > 0), PairVerdict.WORSE)
    words = words.where(~(upper < 0), PairVerdict.BETTER)
    words = words.where(~((lower >= -margin) & (upper <= margin)), PairVerdict.EQUIVALENT)
    return words.where(gap["mean"].notnull(), "")


def judge_setting(means: xr.DataArray, verdict: xr.DataArray) -> xr.DataArray:
    """Judge the methods of a setting by the verdicts of all pairs.

    A method that is worse than another is excluded. The best group is the method with the lowest mean among the rest,
    and all methods that are equivalent to it; the setting is conclusive if every other method is excluded. The
    intervals hold for all pairs together, so that the data may choose the lowest mean.

    Parameters
    ----------
    means
        Means over ``algorithm``, perhaps of several settings; NaN for methods that do not compete.
    verdict
        Verdicts of :func:`judge_pairs` over ``algorithm`` and ``rival``, of the same settings.

    Returns
    -------
    xarray.DataArray
        Values of `SettingVerdict` over ``algorithm``: ``winner`` for a method that is better than all others,
        ``equivalent`` for several methods in the best group, ``undecided`` for methods among which the setting is
        inconclusive, ``worse`` for the others, ``alone`` for the only method that competes, as it beat nobody, and
        empty for methods that do not compete.
    """
    competes = means.notnull()
    excluded = (verdict == PairVerdict.WORSE).any("rival") & competes
    # Intervals that contradict each other, so that all methods are excluded, exclude none.
    excluded &= (competes & ~excluded).any("algorithm")
    # Equivalence is not transitive, so the group is what is equivalent to one method, that with the lowest mean.
    lowest_place = means.where(competes & ~excluded, np.inf).argmin("algorithm")
    lowest = xr.DataArray(np.arange(means.sizes["algorithm"]), dims="algorithm") == lowest_place
    group = competes & (lowest | (verdict.isel(rival=lowest_place) == PairVerdict.EQUIVALENT))
    conclusive = (group | excluded | ~competes).all("algorithm")
    words = xr.full_like(means, SettingVerdict.UNDECIDED, "U10").where(competes, "")
    words = words.where(~excluded, SettingVerdict.WORSE)
    words = words.where(~(group & conclusive), SettingVerdict.EQUIVALENT)
    unique = group.sum("algorithm") == 1
    words = words.where(~(group & conclusive & unique), SettingVerdict.WINNER)
    return words.where(~(competes & (competes.sum("algorithm") == 1)), SettingVerdict.ALONE)


def ranks(gap: xr.Dataset) -> xr.Dataset:
    """Bound the rank of each method of a setting, 1 for the lowest, from the intervals of all pairs.

    At least as many methods are ahead of a method as are shown to be below it, and at least as many behind it as are
    shown to be above it: Klein, Wright and Wieczorek (2020), Journal of the Royal Statistical Society A 183. The ranks
    of all methods lie within their bounds together, with the probability of the intervals.

    Parameters
    ----------
    gap
        ``mean``, ``lower`` and ``upper`` of the differences, over ``algorithm`` and ``rival``; NaN for pairs that do
        not compete. The bounds are NaN as well for a pair with one seed, which shows nothing.

    Returns
    -------
    xarray.Dataset
        ``lower`` and ``upper`` over ``algorithm``, NaN for methods that do not compete.
    """
    competes = gap["mean"].notnull().any("rival")
    # Comparisons with NaN are false, so a pair that shows nothing moves neither bound.
    first = 1 + (gap["lower"] > 0).sum("rival")
    last = competes.sum("algorithm") - (gap["upper"] < 0).sum("rival")
    return xr.Dataset({"lower": first.where(competes), "upper": last.where(competes)})


def jackknife(values: xr.DataArray, statistic: Callable[[xr.DataArray], float]) -> xr.DataArray:
    """Compute pseudo-values of a statistic of means, one for each seed; their t interval is about the statistic.

    The pseudo-values are ``n T - (n - 1) T_k``, where ``T_k`` leaves out seed ``k`` (Tukey 1958). For a statistic that
    is linear in the values of seeds they are its values seed by seed; for other statistics, their mean has less bias
    than ``T``.

    Parameters
    ----------
    values
        Any array with a dimension ``seed``. Seeds that lack a value do not count.
    statistic
        Function of such an array.

    Returns
    -------
    xarray.DataArray
        Pseudo-values over ``seed``; for one seed, the statistic itself.
    """
    # All means in a statistic must be over the same seeds, or a missing run would look like an effect.
    whole = values.dropna("seed", how="any")
    n = whole.sizes["seed"]
    if n < 2:
        return xr.DataArray([statistic(whole)] * n, dims="seed")
    total = statistic(whole)
    others = [statistic(whole.drop_isel(seed=k)) for k in range(n)]
    return xr.DataArray([n * total - (n - 1) * other for other in others], dims="seed")


_COMPARE = {">": operator.gt, ">=": operator.ge, "<": operator.lt, "<=": operator.le}


class Bound(NamedTuple):
    """One-sided test, of a level, that a quantity lies on one side of a limit."""

    side: Literal[">", ">=", "<", "<="]
    limit: float
    level: float

    def shown(self, contrast: Contrast) -> bool:
        """Return whether the interval, with the level of the test beyond each end, lies on the side of the limit."""
        lower, upper = contrast.interval(1 - 2 * self.level)
        return bool(_COMPARE[self.side](lower if ">" in self.side else upper, self.limit))


class Criterion(NamedTuple):
    """Criterion of several bounds, all of them together, or any of them."""

    how: Literal["all", "any"]
    bounds: tuple[Bound, ...]

    def shown(self, contrast: Contrast) -> bool:
        """Return whether the bounds that a contrast shows are enough."""
        enough = all if self.how == "all" else any
        return enough(bound.shown(contrast) for bound in self.bounds)

    def among(self, contrasts: int) -> Criterion:
        """Return the criterion at levels that are corrected for so many contrasts, any of which is enough."""
        bounds = tuple(bound._replace(level=bound.level / contrasts) for bound in self.bounds)
        return self._replace(bounds=bounds)


@dataclass(frozen=True)
class Region:
    """Region in which a contrast should lie, with the criteria that show it and that refute it."""

    shown: Criterion
    """Criterion that shows that a contrast lies in the region."""
    refuted: Criterion
    """Criterion that refutes it."""
    relevant: float = 0.0
    """Smallest difference that matters; a difference that is shown to be smaller is inconclusive."""

    def among(self, *, shown: int = 1, refuted: int = 1) -> Region:
        """Return the region at levels that are corrected for the tests that each show, or refute, the statement."""
        shows, refutes = self.shown.among(shown), self.refuted.among(refuted)
        return replace(self, shown=shows, refuted=refutes)

    def is_negligible(self, contrast: Contrast) -> bool:
        """Return whether a difference is too small to matter: shown to be above 0 all the same, or without variance."""
        # Without variance the interval is a point, which shows any difference, however small: so its size alone counts.
        if contrast.deviation == 0:
            return abs(contrast.value) < self.relevant
        inconclusive = self.shown.shown(contrast) and self.refuted.shown(contrast)
        return bool(self.relevant and inconclusive)

    def judge(self, contrast: Contrast) -> Decision:
        """Judge whether a contrast lies in the region, whose levels :meth:`among` has corrected."""
        # A negligible difference can meet both criteria at once, so it must be ruled out before either is read.
        if self.is_negligible(contrast):
            return Decision.UNDECIDED
        if self.refuted.shown(contrast):
            return Decision.CONTRADICTED
        return Decision.SUPPORTED if self.shown.shown(contrast) else Decision.UNDECIDED


def within(centre: float, margin: float) -> Region:
    """Make the region no farther from the centre than the margin, by two one-sided tests (Schuirmann 1987)."""
    # Both tests must succeed to show the region, so each has 5 %; either refutes it, so these two have 5 % together.
    low, high = centre - margin, centre + margin
    return Region(
        Criterion("all", (Bound(">=", low, TEST), Bound("<=", high, TEST))),
        Criterion("any", (Bound(">", high, TAIL), Bound("<", low, TAIL))),
    )


def equivalent(margin: float, level: float) -> Region:
    """Make the region in which two methods are equivalent; as in `judge_pairs`, any difference from 0 refutes it.

    Parameters
    ----------
    margin
        Largest difference that does not matter.
    level
        Level of the interval that judges the pair.
    """
    tail = (1 - level) / 2
    return Region(
        Criterion("all", (Bound(">=", -margin, tail), Bound("<=", margin, tail))),
        Criterion("any", (Bound(">", 0.0, tail), Bound("<", 0.0, tail))),
    )


def apart(centre: float, margin: float) -> Region:
    """Make the region farther from the centre than the margin, the contrary of `within`."""
    inside = within(centre, margin)
    return Region(shown=inside.refuted, refuted=inside.shown)


def above_zero(relevant: float) -> Region:
    """Make the region above 0, which is refuted by less than the smallest relevant difference."""
    return Region(
        Criterion("all", (Bound(">", 0.0, TAIL),)),
        Criterion("all", (Bound("<", relevant, TAIL),)),
        relevant,
    )


def at_most(limit: float, refuted_above: float | None = None) -> Region:
    """Make the region of at most the limit, which is refuted above the limit, or above another one.

    No contrast refutes a region that is refuted above infinity.
    """
    above = limit if refuted_above is None else refuted_above
    return Region(
        Criterion("all", (Bound("<=", limit, TEST),)),
        Criterion("all", (Bound(">", above, TAIL),)),
    )


def at_least(limit: float) -> Region:
    """Make the region of at least the limit."""
    return Region(
        Criterion("all", (Bound(">=", limit, TEST),)), Criterion("all", (Bound("<", limit, TAIL),))
    )


def joint_decision(decisions: Iterable[Decision], *, some: bool = False) -> Decision:
    """Return the verdict on several contrasts together, of which all must hold, or with ``some``, one."""
    # If all contrasts must hold, one refuted contrast settles it; if one is enough, one shown contrast does.
    present = set(decisions)
    order = [Decision.CONTRADICTED, Decision.NOT_RUN, Decision.UNDECIDED, Decision.SUPPORTED]
    return next(
        (decision for decision in (order[::-1] if some else order) if decision in present), order[1]
    )
