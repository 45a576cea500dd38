"""Kinds of evidence, each with its contrasts of runs and the regions in which the contrasts should lie."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Annotated, ClassVar, Literal, Self, get_args

import numpy as np
import xarray as xr
from pydantic import Field, model_validator

from admmbench.claims.evidence import Comparison, Epsilon, Evidence, Grid, Tier
from admmbench.claims.runs import Contrast, Quantity, Row, Runs, Selected
from admmbench.inference.contrasts import above_zero, apart, at_least, at_most, jackknife, within
from admmbench.inference.intervals import (
    ROUNDING,
    Difference,
    Estimate,
    lowest,
    normal_minimum,
    sampling_error,
)
from admmbench.results import statistics
from admmbench.validation import Strict

AUDITED = "audit_lower", "audit_upper", "audit_claimed"
"""Variables with the privacy losses of an iteration: the shown one, the composed one and the claimed one."""


class Value(Evidence):
    """Printed number, of one method, or of one minus or over another; ours should lie within a tolerance."""

    kind: Literal["value"]
    algorithm: str
    minus: str | None = None
    """Label whose value is subtracted."""
    over: str | None = None
    """Label by whose value is divided, seed by seed."""
    epsilon: Epsilon
    over_seeds: Literal["mean", "best"] = "mean"
    published: float
    tolerance: Annotated[float, Field(ge=0)] = 0.0
    """Largest distance that is close enough, with half a unit of the last digit that is printed."""
    instances: Annotated[int | None, Field(ge=1)] = None
    """Random instances in the published mean; its sampling error, as if they had the variance of ours, then adds to the
    tolerance."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        """Refuse fields that contradict each other."""
        if self.over and (self.minus or self.unit != "1"):
            raise ValueError("over: a ratio has the unit '1', and no minus")
        if self.instances and self.over_seeds == "best":
            raise ValueError("instances: a lowest value has no sampling error of a mean")
        return self

    def selections(self) -> Iterator[Selected]:
        """See :meth:`Evidence.selections`."""
        labels = (self.algorithm, self.minus, self.over)
        return ((label, self.epsilon) for label in labels if label)

    def contrasts(self, runs: Runs) -> Iterator[Contrast]:
        """Yield one contrast, which should equal the published number within the tolerance."""
        minuend, other = self._sides(runs)
        values = minuend if other is None else minuend - other
        quantity = Quantity.RATIO if self.over else Quantity.VALUE
        if self.minus:
            quantity = Quantity.DIFFERENCE
        estimate: Estimate | Difference = runs.estimate(values)
        # A minimum falls with every further run, so the paper's number of runs sets the depth, whatever ours is.
        # Minima of two methods are from different seeds, so that no paired difference has their interval.
        if self.over_seeds == "best":
            depth = normal_minimum(self._sample_size(values))
            estimate = Estimate.of(minuend, runs.redrawn, depth)
            if other is not None:
                estimate = Difference(estimate, Estimate.of(other, runs.redrawn, depth))
        margin = self.tolerance
        if self.instances and not math.isnan(error := sampling_error(values, self.instances)):
            margin += error
        region = within(self.published, margin)
        yield Contrast(quantity, tuple(self.selections()), region, margin, values, estimate)

    def rows(self, runs: Runs) -> list[Row]:
        """Return our number to show beside the published one, with its number of runs."""
        values, other = self._sides(runs)
        if self.over_seeds == "best":
            n = self._sample_size(values)
            number = lowest(values, n) - (0.0 if other is None else lowest(other, n))
            return [Row(((number,),), n=min(n, int(values.count())))]
        values = values if other is None else values - other
        return [Row(((float(values.mean("seed")),),), n=int(values.notnull().sum()))]

    def _sides(self, runs: Runs) -> tuple[xr.DataArray, xr.DataArray | None]:
        """Return the values of the method, or their ratios, and the values to subtract."""
        values = runs.seed_values(self.algorithm, self.epsilon)
        if self.over:
            values = values / runs.seed_values(self.over, self.epsilon)
        return values, runs.seed_values(self.minus, self.epsilon) if self.minus else None

    def _sample_size(self, values: xr.DataArray) -> int:
        """Return the number of runs whose best one is compared."""
        return self.requires.seeds if self.requires else values.sizes["seed"]


class Order(Comparison):
    """Order of means, strictly increasing from tier to tier, at each epsilon or at some epsilon.

    Means within a tier are not compared.
    """

    partial: ClassVar[bool] = True
    kind: Literal["order"]
    labels: Annotated[list[Tier], Field(min_length=2)]
    epsilon: Annotated[list[Epsilon], Field(min_length=1)]
    somewhere: bool = False
    """Whether the paper says it of some cases: one difference is enough."""

    def selections(self) -> Iterator[Selected]:
        """See :meth:`Evidence.selections`."""
        return itertools.product(itertools.chain(*self.labels), self.epsilon)

    @property
    def some(self) -> bool:
        """See :attr:`Evidence.some`."""
        return self.somewhere

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Yield the lower and the higher label of each comparison, between neighbouring tiers."""
        for low, high in itertools.pairwise(self.labels):
            yield from itertools.product(low, high)

    def contrasts(self, runs: Runs) -> Iterator[Contrast]:
        """Yield each difference between neighbouring tiers, which should be above 0."""
        for epsilon in self.epsilon:
            for low, high in self.pairs():
                pair = (high, epsilon), (low, epsilon)
                if {*pair} <= {*runs.present}:
                    smallest = self.smallest(*(runs.mean(*selected) for selected in pair))
                    region = above_zero(smallest)
                    yield runs.contrast(Quantity.GAP, pair, region, smallest, worse=pair[:1])

    def rows(self, runs: Runs) -> list[Row]:
        """Return the means at each epsilon, in the order of the statement."""
        rows = []
        for epsilon in self.epsilon:
            tiers = [
                tuple(runs.mean(a, epsilon) for a in tier if (a, epsilon) in runs.present)
                for tier in self.labels
            ]
            if any(tiers):
                rows.append(Row(tuple(filter(None, tiers)), epsilon=epsilon))
        return rows


class Reference(Strict):
    """Label and budget of the run with which others are compared."""

    algorithm: str
    epsilon: Epsilon


class Close(Evidence):
    """Closeness of one method to a reference, within ``tolerance``, which the ``others`` do not reach."""

    kind: Literal["close"]
    algorithm: str
    others: list[str] = []
    epsilon: Epsilon
    reference: Reference
    tolerance: Annotated[float, Field(ge=0)]

    def selections(self) -> Iterator[Selected]:
        """See :meth:`Evidence.selections`."""
        yield self.reference.algorithm, self.reference.epsilon
        yield from ((label, self.epsilon) for label in (self.algorithm, *self.others))

    def contrasts(self, runs: Runs) -> Iterator[Contrast]:
        """Yield each method's difference from the reference: one should be within the tolerance, the others outside."""
        reference = self.reference.algorithm, self.reference.epsilon
        inside, outside = within(0.0, self.tolerance), apart(0.0, self.tolerance)
        pair = (self.algorithm, self.epsilon), reference
        yield runs.contrast(Quantity.NEAR, pair, inside, self.tolerance)
        for label in self.others:
            pair = (label, self.epsilon), reference
            yield runs.contrast(Quantity.FAR, pair, outside, self.tolerance, worse=pair[:1])


class Trend(Grid, Comparison):
    """Fall of a metric, along the rounds to a fraction of its maximum, or as epsilon grows.

    As epsilon grows, the metric falls from the first budget to the last, and rises by no relevant difference at any
    step.
    """

    partial: ClassVar[bool] = True
    kind: Literal["trend"]
    along: Literal["round", "epsilon"]
    fraction: Annotated[float, Field(gt=0, lt=1)] = 0.01
    """Along round: last value at most this part of the maximum."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        """Refuse too few budgets, or budgets in another order."""
        if self.along == "epsilon" and len(self.epsilon) < 2:
            raise ValueError("epsilon: a trend along epsilon needs at least two values")
        if self.epsilon != sorted(self.epsilon):
            raise ValueError("epsilon: values must ascend")
        return self

    def contrasts(self, runs: Runs) -> Iterator[Contrast]:
        """Yield last values, or a fall over all budgets and a rise at each step."""
        if self.along == "round":
            yield from self._ends(runs)
            return
        for label in self.algorithms:
            points = self._present(runs, label)
            if len(points) > 1:
                yield from self._steps(runs, points)

    def _ends(self, runs: Runs) -> Iterator[Contrast]:
        """Yield the last value of each curve over its maximum, which should be small."""
        limit = 100 * self.fraction
        last = 100 * statistics.final(runs.ds, self.metric)
        for label, epsilon in runs.present:
            # Each run is divided by its own maximum, so that a seed with a high start does not outweigh the others.
            largest = runs.curve(self.metric, label, epsilon).max("round")
            ratio = last.sel(algorithm=label, epsilon=epsilon, drop=True) / largest
            yield runs.contrast(Quantity.END, ((label, epsilon),), at_most(limit), limit, ratio)

    def _present(self, runs: Runs, label: str) -> list[Selected]:
        """Return the budgets at which a method ran, in ascending order."""
        return [(label, e) for e in self.epsilon if (label, e) in runs.present]

    def _steps(self, runs: Runs, points: Sequence[Selected]) -> Iterator[Contrast]:
        """Yield the contrasts of one method; for two budgets, the fall alone is enough."""
        smallest = self.smallest(*(runs.mean(*point) for point in points))
        ends, region = (points[0], points[-1]), above_zero(smallest)
        yield runs.contrast(Quantity.FALL, ends, region, smallest, worse=ends[:1])
        # With two budgets the fall is the only step, and a second test of it would lower the level of every refutation.
        for step in itertools.pairwise(points) if len(points) > 2 else ():
            region, rise = at_most(smallest), -runs.paired(*step)
            yield runs.contrast(Quantity.RISE, step, region, smallest, rise, worse=step[:1])

    def rows(self, runs: Runs) -> list[Row]:
        """Return the means of each method over the budgets."""
        if self.along == "round":
            return []
        points_by_label = {label: self._present(runs, label) for label in self.algorithms}
        return [
            Row(tuple((runs.mean(*point),) for point in points), label=label)
            for label, points in points_by_label.items()
            if len(points) > 1
        ]


class Group(Grid):
    """Range of means over methods or over budgets."""

    over: Literal["algorithm", "epsilon"]

    def range(self, values: xr.DataArray) -> float:
        """Return highest minus lowest mean over seeds along one dimension, averaged over the other."""
        means = values.sel(algorithm=self.algorithms, epsilon=self.epsilon).mean("seed")
        return float((means.max(self.over) - means.min(self.over)).mean())


class Spread(Comparison):
    """Comparison of two ranges, each the highest minus the lowest mean; the narrow one should be smaller."""

    kind: Literal["spread"]
    narrow: Group
    wide: Group

    def selections(self) -> Iterator[Selected]:
        """See :meth:`Evidence.selections`."""
        yield from self.narrow.selections()
        yield from self.wide.selections()

    def contrasts(self, runs: Runs) -> Iterator[Contrast]:
        """Yield the wide range less the narrow one, which should be above 0.

        A diverged run of the wide group does not contradict that, but leaves the range unknown.
        """
        # The jackknife drops a seed that lacks any value, so values of methods outside of the claim must not be here.
        values = runs.values.sel(
            algorithm=sorted({label for label, _ in runs.present}),
            epsilon=sorted({epsilon for _, epsilon in runs.present}),
        )

        def excess(values: xr.DataArray) -> float:
            return self.wide.range(values) - self.narrow.range(values)

        smallest = self.smallest(self.narrow.range(values), self.wide.range(values))
        yield runs.contrast(
            Quantity.EXCESS,
            tuple(runs.present),
            above_zero(smallest),
            smallest,
            jackknife(values, excess),
            blamed=tuple(self.narrow.selections()),
        )

    def rows(self, runs: Runs) -> list[Row]:
        """Return the two ranges."""
        return [Row(((group.range(runs.values),),)) for group in (self.narrow, self.wide)]


class Inequality(Grid, Evidence):
    """Inequality of a theorem: the left side, a metric, is at most the right side after every evaluated round.

    Right sides have constants that are maxima, which are only enclosed. The theorem holds if the inequality holds with
    the smallest constants, and is violated if it does not hold with the largest ones.
    """

    partial: ClassVar[bool] = True
    kind: Literal["bound"]
    right: str
    """Variable with the right side, constants at most."""
    least: str = ""
    """The same with constants at least, if they differ."""
    each_run: bool = False
    """Whether the inequality is of every run as drawn, instead of the mean over runs."""

    def contrasts(self, runs: Runs) -> Iterator[Contrast]:
        """Yield left less right side after every evaluated round, which should be at most 0."""
        for run in runs.present:
            # In the order: left side, right side with the largest constants, and with the smallest ones.
            left, right, least_right = (
                runs.curve(name, *run)
                for name in (self.metric, self.right, self.least or self.right)
            )
            excess = (left - right).transpose("round", "seed")
            # With the smallest constants, the right side is lower by this room.
            room = (right - least_right).max("seed").values
            worst = (excess - ROUNDING * np.abs(right)).max("seed").values
            for place, values in enumerate(excess):
                estimate = runs.estimate(values)
                # What should hold in every run is no matter of chance: the worst run counts, as an exact number.
                if self.each_run:
                    estimate = Estimate(float(worst[place]), 0.0, int(values.notnull().sum()))
                region = at_most(-float(room[place]), refuted_above=0.0)
                t = int(values["round"])
                yield Contrast(Quantity.SIDES, (run,), region, 0.0, values, estimate, round=t)

    def rows(self, runs: Runs) -> list[Row]:
        """Return the least and the largest factor by which the bound of each run is loose, over the rounds."""
        rows = []
        for label, epsilon in runs.present:
            names = (self.metric, self.least or self.right)
            left, right = (runs.curve(name, label, epsilon) for name in names)
            if not self.each_run:
                left, right = left.mean("seed"), right.mean("seed")
            loose = right / left.where(left > 0)
            loose = loose.min("seed") if self.each_run else loose
            finite = loose.values[np.isfinite(loose.values)]
            tiers = ((float(finite.min()),), (float(finite.max()),)) if finite.size else ()
            rows.append(Row(tiers, label, epsilon))
        return rows

    @property
    def metrics(self) -> list[str]:
        """See :attr:`Evidence.metrics`."""
        return [self.metric, self.right, *([self.least] if self.least else [])]


class PrivacyLoss(Grid, Evidence):
    """Privacy theorem about an iteration: its privacy loss is at most the claimed one.

    An attack on an iteration shows a lower bound, which may refute the theorem; the composed loss, if it is proved, may
    show it.
    """

    partial: ClassVar[bool] = True
    kind: Literal["privacy"]
    unit: Literal["%", "1"] = "1"

    def contrasts(self, runs: Runs) -> Iterator[Contrast]:
        """Yield the shown less the claimed loss; with the composed loss in its place, it should be at most 0."""
        for run in runs.present:
            lower, upper, claimed = (runs.of_seeds(name, *run) for name in self.metrics)
            excess = lower - claimed
            estimate = Estimate(float(excess.max()), 0.0, int(excess.notnull().sum()))
            region = at_most(-float((upper - lower).max()), refuted_above=0.0)
            yield Contrast(Quantity.LOSS, (run,), region, 0.0, excess, estimate, is_of_seeds=False)

    def rows(self, runs: Runs) -> list[Row]:
        """Return the shown, the composed and the claimed loss of each run."""
        losses = {
            run: [float(runs.of_seeds(name, *run).max()) for name in self.metrics]
            for run in runs.present
        }
        return [Row(tuple((loss,) for loss in losses[run]), *run) for run in runs.present]

    @property
    def metrics(self) -> list[str]:
        """See :attr:`Evidence.metrics`."""
        return [*AUDITED]


class Rate(Grid, Evidence):
    """Rate at which the metric falls along the last decade of rounds, or grows as epsilon falls: at most a power."""

    partial: ClassVar[bool] = True
    kind: Literal["rate"]
    along: Literal["round", "epsilon"] = "round"
    exponent: float
    """Exponent of the round, or of epsilon, as the paper prints it."""
    tolerance: Annotated[float, Field(ge=0)] = 0.05
    """Amount by which a slope may miss the exponent."""

    def selections(self) -> Iterator[Selected]:
        """See :meth:`Evidence.selections`; along epsilon, runs without noise tell what part of the metric is noise."""
        budgets = [*self.epsilon, *([math.inf] if self.along == "epsilon" else [])]
        return itertools.product(self.algorithms, budgets)

    def contrasts(self, runs: Runs) -> Iterator[Contrast]:
        """Yield slopes of means on logarithmic axes, which should not miss the exponent by more than the tolerance.

        The rate is that of the mean over seeds. The mean of the seeds' own slopes is another number.
        """
        if self.along == "epsilon":
            limit = self.exponent - self.tolerance
            for label in self.algorithms:
                points = tuple((label, e) for e in self.epsilon if (label, e) in runs.present)
                values = runs.values.sel(algorithm=label, epsilon=[e for _, e in points])
                slopes = jackknife(values, lambda drawn: statistics.slope(drawn, "epsilon"))
                yield runs.contrast(Quantity.GROWTH, points, at_least(limit), limit, slopes)
            return
        # A slope that is not steep enough refutes no fall, as rounds to come may be steeper; one that rises does.
        limit = self.exponent + self.tolerance
        region = at_most(limit, refuted_above=max(limit, 0.0))
        for run in runs.present:
            slopes = jackknife(runs.curve(self.metric, *run), statistics.last_slope)
            yield runs.contrast(Quantity.SLOPE, (run,), region, limit, slopes)


Piece = Annotated[
    Value | Order | Close | Trend | Spread | Inequality | PrivacyLoss | Rate,
    Field(discriminator="kind"),
]
KINDS: dict[str, type[Evidence]] = {
    get_args(kind.model_fields["kind"].annotation)[0]: kind for kind in get_args(get_args(Piece)[0])
}
