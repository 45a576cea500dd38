"""Runs as numbers, and the contrasts of these numbers that claims are about."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from admmbench.inference.contrasts import Region
from admmbench.inference.intervals import Difference, Estimate
from admmbench.results import statistics

if TYPE_CHECKING:
    import xarray as xr

Selected = tuple[str, float]
"""Label and budget of selected runs."""


class Quantity(StrEnum):
    """Quantity that a contrast measures."""

    VALUE = "value"
    DIFFERENCE = "difference"
    RATIO = "ratio"
    NEAR = "near"
    """Difference to a reference that should be close."""
    FAR = "far"
    """Difference to a reference that should not be close."""
    GAP = "gap"
    """Mean that should be higher less mean that should be lower, of an order."""
    FALL = "fall"
    RISE = "rise"
    END = "end"
    """Last value of a curve, in percent of its largest."""
    EXCESS = "excess"
    """Wide less narrow range."""
    SIDES = "sides"
    """Left less right side of an inequality."""
    LOSS = "loss"
    """Privacy loss that an attack shows less the claimed one."""
    SLOPE = "slope"
    GROWTH = "growth"
    """Slope along epsilon."""


class Contrast(NamedTuple):
    """Quantity of runs, and the region in which it should lie."""

    quantity: Quantity
    runs: tuple[Selected, ...]
    region: Region
    limit: float
    """Number that states the region: a tolerance, a relevant difference, a bound."""
    values: xr.DataArray
    """Quantity of each seed."""
    estimate: Estimate | Difference
    worse: tuple[Selected, ...] = ()
    """Runs that should be worse, or far off: divergence of one does not contradict the statement."""
    blamed: tuple[Selected, ...] | None = None
    """Runs whose divergence refutes the statement; if None, all runs that should not be worse."""
    round: int = 0
    """Round after which the quantity is measured; 0 for a quantity of whole runs."""
    is_of_seeds: bool = True
    """Whether the seeds give the quantity, so that their number and failures count; an audit has runs of its own."""


class Row(NamedTuple):
    """Our numbers in one line: tiers of values, of a method, at a budget."""

    tiers: tuple[tuple[float, ...], ...]
    label: str = ""
    epsilon: float | None = None
    n: int = 0
    """Number of runs in a single number; 0 where the line has several numbers."""


class Runs:
    """Runs of an experiment that a claim selects, each as one number in the unit of the claim.

    Parameters
    ----------
    ds
        Results of the experiment, up to the round that the claim is about.
    present
        Labels and budgets of the claim with runs.
    metric, how, factor
        Variable, reduction of its rounds to one number, and factor of this number.
    """

    def __init__(
        self,
        ds: xr.Dataset,
        present: Sequence[Selected],
        metric: str,
        how: statistics.Reduction,
        factor: float,
    ) -> None:
        self.ds = ds
        self.present = present
        self.redrawn = statistics.redrawn(ds)
        self.metric, self.how, self.factor = metric, how, factor

    @cached_property
    def values(self) -> xr.DataArray:
        """Return the number of each run, over ``algorithm``, ``epsilon`` and ``seed``."""
        values = statistics.reduce(self.ds, self.metric, self.how) * self.factor
        # A run without a number after a round of other runs gets none, so that no earlier round takes its place.
        known = statistics.after_start(self.ds[self.metric]).notnull()
        return values.where(~(known.any("seed") & ~known).any("round"))

    def seed_values(self, label: str, epsilon: float) -> xr.DataArray:
        """Return the number of each seed."""
        values: xr.DataArray = self.values.sel(algorithm=label, epsilon=epsilon, drop=True)
        return values

    def mean(self, label: str, epsilon: float) -> float:
        """Return the mean over seeds."""
        return float(self.seed_values(label, epsilon).mean("seed"))

    def curve(self, variable: str, label: str, epsilon: float) -> xr.DataArray:
        """Return a variable after each evaluated round, without the start, over ``round`` and ``seed``."""
        return statistics.after_start(self.of_seeds(variable, label, epsilon))

    def of_seeds(self, variable: str, label: str, epsilon: float) -> xr.DataArray:
        """Return all values of a variable."""
        values: xr.DataArray = self.ds[variable].sel(algorithm=label, epsilon=epsilon, drop=True)
        return values

    def estimate(self, values: xr.DataArray) -> Estimate:
        """Return the estimate of a mean over seeds."""
        return Estimate.of(values, self.redrawn)

    def paired(self, first: Selected, second: Selected) -> xr.DataArray:
        """Return the difference of two methods at budgets, seed by seed."""
        return self.seed_values(*first) - self.seed_values(*second)

    def contrast(
        self,
        quantity: Quantity,
        runs: tuple[Selected, ...],
        region: Region,
        limit: float,
        values: xr.DataArray | None = None,
        **more: Any,
    ) -> Contrast:
        """Return the contrast that is the mean of values over seeds; see `Contrast` for the arguments.

        Without values, it is the difference of the two runs.
        """
        values = self.paired(*runs) if values is None else values
        return Contrast(quantity, runs, region, limit, values, self.estimate(values), **more)
