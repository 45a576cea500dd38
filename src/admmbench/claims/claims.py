"""What the papers state: claims, machine-readable.

A claim is an entry of a file in ``config/claims/``: a statement, where in the paper it stands, and pieces of evidence,
of one of several kinds. Each piece selects runs of an experiment and yields contrasts of them, with the regions in
which they should lie. :mod:`admmbench.claims.judge` decides all kinds alike.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self, get_args

import numpy as np
import xarray as xr
from pydantic import (
    BeforeValidator,
    Field,
    ModelWrapValidatorHandler,
    ValidationError,
    model_validator,
)

from admmbench.claims.runs import Contrast, Quantity, Row, Runs, Selected
from admmbench.files.core_yaml import ReadError, read_yaml
from admmbench.files.installed import find_all
from admmbench.inference.contrasts import above_zero, apart, at_most, jackknife, within
from admmbench.inference.intervals import (
    ROUNDING,
    Difference,
    Estimate,
    lowest,
    normal_minimum,
    sampling_error,
)
from admmbench.privacy import Relation
from admmbench.results import statistics
from admmbench.study.config import Study, labels
from admmbench.validation import Strict, adapter, messages, unknown


class ClaimError(ValueError):
    """A file of claims is wrong; the message names the file, the claim and the nearest name."""


Epsilon = Annotated[float, Field(gt=0, description="budget of one iteration; .inf: no noise")]
Labels = Annotated[list[str], Field(min_length=1)]
Tier = Annotated[
    Labels, BeforeValidator(lambda value: [value] if isinstance(value, str) else value)
]


class Requirements(Strict):
    """What a paper's statements about an experiment presuppose: only runs that meet it support or contradict them.

    A run as large as the paper's, or larger, meets the scale.
    """

    rounds: Annotated[int, Field(ge=1)]
    seeds: Annotated[int, Field(ge=1, description="1: a run does not depend on the seed")]
    agents: Annotated[int, Field(ge=1)]
    n_train: Annotated[
        int, Field(ge=0, description="training samples of all agents; 0 if problems are drawn")
    ]
    converged: Annotated[
        bool,
        Field(description="the paper speaks of solutions: runs end by the method's own test"),
    ] = False
    params: Annotated[
        dict[str, dict[str, float | int | str | bool]],
        Field(description="label -> parameters as printed, of the labels that a claim looks at"),
    ] = {}
    relation: Annotated[
        Relation | None, Field(description="which neighbours the paper's privacy is about")
    ] = None
    equally_private: Annotated[
        bool, Field(description="the paper compares methods whose totals are equal")
    ] = False


class Evidence(Strict):
    """Runs of one experiment that show or refute a statement; all kinds have these fields."""

    partial: ClassVar[bool] = False
    """Whether contrasts of some of the selections say something."""

    experiment: str
    metric: str = "test_error"
    run: Annotated[
        statistics.Reduction,
        Field(description="how a run becomes a number: last round, lowest of all, mean of all"),
    ] = "final"
    at_round: Annotated[
        int | None,
        Field(ge=1, description="the run as it is after this round, which must be evaluated"),
    ] = None
    unit: Annotated[
        Literal["%", "1"], Field(description="unit of values, tolerances and texts")
    ] = "%"
    note: Annotated[str, Field(description="known reason for a deviation")] = ""
    other_data: Annotated[
        str,
        Field(
            description="how our data differ from the paper's; numbers are then shown, not judged"
        ),
    ] = ""
    unprinted: Annotated[
        str,
        Field(
            description="a sentence on what the paper does not print and the outcome depends on: nothing contradicts it"
        ),
    ] = ""
    requires: Annotated[
        Requirements | None,
        Field(description="what this claim presupposes; as the head of the file has it if absent"),
    ] = None

    def selections(self) -> Iterator[Selected]:
        """Yield every pair of a label and an epsilon that the evidence looks at."""
        raise NotImplementedError

    def contrasts(self, runs: Runs) -> Iterator[Contrast]:
        """Yield the quantities that the statement is about, with the region in which each should lie."""
        raise NotImplementedError

    def rows(self, runs: Runs) -> list[Row]:
        """Return the numbers of ours that are shown; nothing where they are the contrasts themselves."""
        return []

    @property
    def metrics(self) -> list[str]:
        """Return the variables of the results that the evidence looks at."""
        return [self.metric]

    @property
    def some(self) -> bool:
        """Return whether one contrast is enough for the statement, instead of all."""
        return False


class Comparison(Evidence):
    """Evidence of differences, of which tiny ones do not count."""

    relevant: Annotated[
        float | None,
        Field(
            gt=0,
            description="smallest difference that counts; one in a thousand if absent: of all records for a fraction, "
            "of the larger mean otherwise, as papers print three or four digits and draw the rest",
        ),
    ] = None

    def smallest(self, *means: float) -> float:
        """Return the smallest difference of these means that counts, in the unit of the claim."""
        if self.relevant is not None:
            return self.relevant
        return 0.1 if self.unit == "%" else 0.001 * max(map(abs, means))


class Value(Evidence):
    """A paper prints a number, for one method, or for one minus or over another; ours lies within a tolerance."""

    kind: Literal["value"]
    algorithm: str
    minus: Annotated[str | None, Field(description="subtract the value of this label")] = None
    over: Annotated[
        str | None, Field(description="divide by the value of this label, seed by seed")
    ] = None
    epsilon: Epsilon
    over_seeds: Literal["mean", "best"] = "mean"
    published: float
    tolerance: Annotated[
        float, Field(ge=0, description="with half a unit of the last digit that is printed")
    ] = 0.0
    instances: Annotated[
        int | None,
        Field(
            ge=1,
            description="random instances in the published mean; its sampling error, as if they had the variance of "
            "ours, then adds to the tolerance",
        ),
    ] = None

    @model_validator(mode="after")
    def _check(self) -> Self:
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
        """Ask for the published number, within the tolerance."""
        own, other = self._sides(runs)
        values = own if other is None else own - other
        quantity = Quantity.RATIO if self.over else Quantity.VALUE
        if self.minus:
            quantity = Quantity.DIFFERENCE
        estimate: Estimate | Difference = runs.estimate(values)
        if self.over_seeds == "best":
            depth = normal_minimum(self._of(values))
            estimate = Estimate.of(own, runs.redrawn, depth)
            if other is not None:
                estimate = Difference(estimate, Estimate.of(other, runs.redrawn, depth))
        margin = self.tolerance
        if self.instances and not math.isnan(error := sampling_error(values, self.instances)):
            margin += error
        region = within(self.published, margin)
        yield Contrast(quantity, tuple(self.selections()), region, margin, values, estimate)

    def rows(self, runs: Runs) -> list[Row]:
        """Return the number that stands beside the published one, and of how many runs it is."""
        values, other = self._sides(runs)
        if self.over_seeds == "best":
            of = self._of(values)
            number = lowest(values, of) - (0.0 if other is None else lowest(other, of))
            return [Row(((number,),), n=of)]
        values = values if other is None else values - other
        return [Row(((float(values.mean("seed")),),), n=int(values.notnull().sum()))]

    def _sides(self, runs: Runs) -> tuple[xr.DataArray, xr.DataArray | None]:
        """Values of the method, or their ratios, and those to subtract."""
        values = runs.at(self.algorithm, self.epsilon)
        if self.over:
            values = values / runs.at(self.over, self.epsilon)
        return values, runs.at(self.minus, self.epsilon) if self.minus else None

    def _of(self, values: xr.DataArray) -> int:
        """Number of runs of which the best one is taken."""
        return self.requires.seeds if self.requires else values.sizes["seed"]


class Order(Comparison):
    """Means strictly increase from tier to tier, at each epsilon or somewhere; within a tier nothing is compared."""

    partial: ClassVar[bool] = True
    kind: Literal["order"]
    labels: Annotated[list[Tier], Field(min_length=2)]
    epsilon: Annotated[list[Epsilon], Field(min_length=1)]
    somewhere: Annotated[
        bool, Field(description="the paper says it of some cases: one difference is enough")
    ] = False

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
        """Ask each difference between neighbouring tiers to be above 0."""
        for epsilon in self.epsilon:
            for low, high in self.pairs():
                both = (high, epsilon), (low, epsilon)
                if {*both} <= {*runs.present}:
                    smallest = self.smallest(*(runs.mean(*one) for one in both))
                    region, gap = above_zero(smallest), runs.paired(*both)
                    yield runs.contrast(Quantity.GAP, both, region, smallest, gap, worse=both[:1])

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
    """Label and budget of the run that others are compared with."""

    algorithm: str
    epsilon: Epsilon


class Close(Evidence):
    """One method is within ``tolerance`` of a reference, and the ``others`` are not."""

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
        """Ask the method to lie within the tolerance of the reference, and the others outside."""
        reference = self.reference.algorithm, self.reference.epsilon
        for label in (self.algorithm, *self.others):
            both = (label, self.epsilon), reference
            near = label == self.algorithm
            region = (within if near else apart)(0.0, self.tolerance)
            yield runs.contrast(
                Quantity.NEAR if near else Quantity.FAR,
                both,
                region,
                self.tolerance,
                runs.paired(*both),
                worse=() if near else both[:1],
            )


class Grid(Strict):
    """Methods, each at some budgets."""

    algorithms: Labels
    epsilon: Annotated[list[Epsilon], Field(min_length=1)]

    def selections(self) -> Iterator[Selected]:
        """Yield every pair of a label and an epsilon."""
        return itertools.product(self.algorithms, self.epsilon)


class Trend(Grid, Comparison):
    """A metric falls: along the rounds to a fraction of its maximum, or as epsilon grows.

    As epsilon grows, it falls from the first budget to the last, and rises by no relevant difference at any step.
    """

    partial: ClassVar[bool] = True
    kind: Literal["trend"]
    along: Literal["round", "epsilon"]
    fraction: Annotated[
        float,
        Field(gt=0, lt=1, description="along round: last value at most this part of the maximum"),
    ] = 0.01

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.along == "epsilon" and len(self.epsilon) < 2:
            raise ValueError("epsilon: a trend along epsilon needs at least two values")
        if self.epsilon != sorted(self.epsilon):
            raise ValueError("epsilon: values must ascend")
        return self

    def contrasts(self, runs: Runs) -> Iterator[Contrast]:
        """Ask for a small last value, or for a fall over all budgets and no relevant rise at any step."""
        if self.along == "round":
            yield from self._ends(runs)
            return
        for label in self.algorithms:
            points = self._present(runs, label)
            if len(points) > 1:
                yield from self._steps(runs, points)

    def _ends(self, runs: Runs) -> Iterator[Contrast]:
        limit = 100 * self.fraction
        last = 100 * statistics.final(runs.ds, self.metric)
        for label, epsilon in runs.present:
            largest = runs.curve(self.metric, label, epsilon).max("round")
            ratio = last.sel(algorithm=label, epsilon=epsilon, drop=True) / largest
            yield runs.contrast(Quantity.END, ((label, epsilon),), at_most(limit), limit, ratio)

    def _present(self, runs: Runs, label: str) -> list[Selected]:
        """Budgets of a method that were run, in ascending order."""
        return [(label, e) for e in self.epsilon if (label, e) in runs.present]

    def _steps(self, runs: Runs, points: Sequence[Selected]) -> Iterator[Contrast]:
        """Contrasts of one method; for two budgets, the fall alone is enough."""
        smallest = self.smallest(*(runs.mean(*point) for point in points))
        ends, region = (points[0], points[-1]), above_zero(smallest)
        fall = runs.paired(*ends)
        yield runs.contrast(Quantity.FALL, ends, region, smallest, fall, worse=ends[:1])
        for step in itertools.pairwise(points) if len(points) > 2 else ():
            region, rise = at_most(smallest), -runs.paired(*step)
            yield runs.contrast(Quantity.RISE, step, region, smallest, rise, worse=step[:1])

    def rows(self, runs: Runs) -> list[Row]:
        """Return the means of each method over the budgets."""
        if self.along == "round":
            return []
        each = {label: self._present(runs, label) for label in self.algorithms}
        return [
            Row(tuple((runs.mean(*point),) for point in points), label=label)
            for label, points in each.items()
            if len(points) > 1
        ]


class Group(Grid):
    """The means of methods at budgets spread over one of the two."""

    over: Literal["algorithm", "epsilon"]

    def range(self, values: xr.DataArray) -> float:
        """Return highest minus lowest mean over seeds along one dimension, averaged over the other."""
        means = values.sel(algorithm=self.algorithms, epsilon=self.epsilon).mean("seed")
        return float((means.max(self.over) - means.min(self.over)).mean())


class Spread(Comparison):
    """One thing matters less than another: a range, highest minus lowest mean, is smaller."""

    kind: Literal["spread"]
    narrow: Group
    wide: Group

    def selections(self) -> Iterator[Selected]:
        """See :meth:`Evidence.selections`."""
        yield from self.narrow.selections()
        yield from self.wide.selections()

    def contrasts(self, runs: Runs) -> Iterator[Contrast]:
        """Ask the wide range less the narrow one to be above 0.

        That a run of the wide group diverged is not contrary to that, but nobody knows its range.
        """
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
    """A theorem's left side, the metric, is at most its right side after every evaluated round.

    Right sides have constants that are maxima, which are only enclosed: the smallest ones must do for the theorem to
    hold, and not even the largest ones for it to be violated.
    """

    partial: ClassVar[bool] = True
    kind: Literal["bound"]
    right: Annotated[str, Field(description="variable with the right side, constants at most")]
    least: Annotated[str, Field(description="the same with constants at least, if they differ")] = (
        ""
    )
    each_run: Annotated[
        bool, Field(description="it is of every run as drawn, instead of the mean over runs")
    ] = False

    def contrasts(self, runs: Runs) -> Iterator[Contrast]:
        """Ask the left side to be at most the right one, after every evaluated round."""
        for run in runs.present:
            left, right, least = (
                runs.curve(name, *run)
                for name in (self.metric, self.right, self.least or self.right)
            )
            excess = (left - right).transpose("round", "seed")
            # The smallest constants must do, which leave some room below the right side with the largest.
            room = (right - least).max("seed").values
            worst = (excess - ROUNDING * np.abs(right)).max("seed").values
            for place, values in enumerate(excess):
                estimate = runs.estimate(values)
                if self.each_run:
                    estimate = Estimate(float(worst[place]), 0.0, int(values.notnull().sum()))
                region = at_most(-float(room[place]), refuted_above=0.0)
                t = int(values["round"])
                yield Contrast(Quantity.SIDES, (run,), region, 0.0, values, estimate, round=t)

    def rows(self, runs: Runs) -> list[Row]:
        """Return the least and the largest factor by which the bound of each run is loose, over the rounds."""
        rows = []
        for label, epsilon in runs.present:
            left, right = (runs.curve(name, label, epsilon) for name in (self.metric, self.right))
            loose = right.mean("seed") / left.mean("seed")
            if self.each_run:
                loose = (right / left.where(left > 0)).min("seed")
            finite = loose.values[np.isfinite(loose.values)]
            tiers = ((float(finite.min()),), (float(finite.max()),)) if finite.size else ()
            rows.append(Row(tiers, label, epsilon))
        return rows

    @property
    def metrics(self) -> list[str]:
        """See :attr:`Evidence.metrics`."""
        return [self.metric, self.right, *([self.least] if self.least else [])]


class Rate(Grid, Evidence):
    """The metric falls at least as fast as a power of the round, over the last decade of rounds."""

    partial: ClassVar[bool] = True
    kind: Literal["rate"]
    exponent: Annotated[float, Field(lt=0, description="of the round, as the paper prints it")]
    tolerance: Annotated[
        float | None,
        Field(
            ge=0,
            description="by how much a slope may be flatter, and a still flatter one contradicts; if absent, none may "
            "be, and none contradicts, as rounds to come may be steeper",
        ),
    ] = None

    def contrasts(self, runs: Runs) -> Iterator[Contrast]:
        """Ask the slope of the mean over the last decade of rounds, on logarithmic axes, to be steep enough."""
        limit = self.exponent + (self.tolerance or 0.0)
        region = at_most(limit, refuted_above=math.inf if self.tolerance is None else None)
        for run in runs.present:
            slopes = jackknife(runs.curve(self.metric, *run), statistics.last_slope)
            yield runs.contrast(Quantity.SLOPE, (run,), region, limit, slopes)


Piece = Annotated[
    Value | Order | Close | Trend | Spread | Inequality | Rate, Field(discriminator="kind")
]
_KINDS: dict[str, type[Evidence]] = {
    get_args(kind.model_fields["kind"].annotation)[0]: kind for kind in get_args(get_args(Piece)[0])
}


class Claim(Strict):
    """Statement of a paper, and the evidence that is to show it: all pieces of it.

    One piece of evidence may be written beside the statement, without ``evidence``.
    """

    id: Annotated[str, Field(pattern=r"^[a-z0-9.\-]+$")]
    statement: Annotated[str, Field(description="what the paper says, in one sentence")]
    source: Annotated[str, Field(description="section, figure or table of the paper")]
    evidence: Annotated[list[Piece], Field(min_length=1)]
    # Filled in by `load` from the head of the file.
    paper: str = ""
    file: str = ""

    @model_validator(mode="wrap")
    @classmethod
    def _gather(cls, values: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        """Make a piece of evidence of the keys that stand beside the statement."""
        if not isinstance(values, Mapping) or "evidence" in values:
            return handler(values)
        kind = _KINDS.get(str(values.get("kind")))
        known = [*cls.model_fields, *(kind.model_fields if kind else ())]
        for key in values if kind else ():
            if key not in known:
                raise ValueError(unknown("key", key, known))
        head = {key: value for key, value in values.items() if key in cls.model_fields}
        rest = {key: value for key, value in values.items() if key not in head}
        return handler({**head, "evidence": [adapter(Piece).validate_python(rest)]})

    @property
    def experiments(self) -> list[str]:
        """Return the names of the experiments that the evidence is from."""
        return list(dict.fromkeys(piece.experiment for piece in self.evidence))


class _File(Strict):
    paper: str
    scale: dict[str, Requirements]
    claims: list[Claim]


def load(files: Iterable[Path]) -> list[Claim]:
    """Read YAML files of claims.

    Raises
    ------
    ClaimError
        If a file is not valid, names an experiment without a scale, or repeats an id.
    """
    claims = [claim for file in files for claim in _read(file)]
    seen: dict[str, str] = {}
    for claim in claims:
        if claim.id in seen:
            raise ClaimError(f"{claim.file}: claim {claim.id}: id already used in {seen[claim.id]}")
        seen[claim.id] = claim.file
    return claims


def _read(file: Path) -> list[Claim]:
    try:
        written = read_yaml(file)
        content = _File.model_validate(written)
    except ReadError as error:
        raise ClaimError(str(error)) from error
    except ValidationError as error:
        raise ClaimError(f"{file}: " + "; ".join(messages(error, written))) from error
    claims: list[Claim] = []
    for claim in content.claims:
        evidence = []
        for piece in claim.evidence:
            if piece.experiment not in content.scale:
                refuse(str(file), claim.id, "experiment", piece.experiment, content.scale)
            scale = piece.requires or content.scale[piece.experiment]
            evidence.append(piece.model_copy(update={"requires": scale}))
        update = {"paper": content.paper, "file": str(file), "evidence": evidence}
        claims.append(claim.model_copy(update=update))
    return claims


def check(
    claims: Iterable[Claim],
    known: Mapping[str, Collection[str]],
    metrics: Mapping[str, Collection[str]] | None = None,
    *,
    complete: bool = True,
) -> None:
    """Check the names in claims.

    Parameters
    ----------
    claims
        As `load` gives them.
    known
        Labels of each experiment.
    metrics
        What is measured in each experiment of which that is known.
    complete
        Whether there are no experiments but these.

    Raises
    ------
    ClaimError
        If a claim names an unknown experiment, label or metric.
    """
    for claim, piece in ((each, piece) for each in claims for piece in each.evidence):
        if complete and piece.experiment not in known:
            refuse(claim.file, claim.id, "experiment", piece.experiment, known)
        for what, names, valid in (
            ("label", [label for label, _ in piece.selections()], known),
            ("metric", piece.metrics, metrics or {}),
        ):
            for name in names:
                if piece.experiment in valid and name not in valid[piece.experiment]:
                    refuse(claim.file, claim.id, what, name, valid[piece.experiment])


def check_of(study: Study) -> None:
    """Check all files of claims by the names of the user's and the papers' experiments, before a study runs.

    Raises
    ------
    ClaimError
        If a file is not valid, or names something that does not exist.
    """
    metrics = {name: experiment.metrics for name, experiment in study.experiments.items()}
    check(load(find_all("claims").values()), labels(), metrics)


def refuse(file: str, claim: str, what: str, name: str, valid: Collection[str]) -> None:
    """Raise a `ClaimError` about an unknown name, with the nearest valid one."""
    raise ClaimError(f"{file}: claim {claim}: {unknown(what, name, valid)}")
