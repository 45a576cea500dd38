"""What the papers state: claims, machine-readable.

A claim is an entry of a file in ``config/claims/``: a selection of the results, the published value
or statement, a tolerance where there is one, and where in the paper it stands. What the results say about
it is in :mod:`admmbench.claims.verdicts`.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, ValidationError, model_validator

from admmbench.files.core_yaml import ReadError, read_yaml
from admmbench.files.installed import find_all
from admmbench.privacy import Relation
from admmbench.results import statistics
from admmbench.study.config import Study, labels
from admmbench.validation import Strict, messages, unknown


class ClaimError(ValueError):
    """A file of claims is wrong; the message names the file, the claim and the nearest name."""


def _tier(value: object) -> object:
    return [value] if isinstance(value, str) else value


Epsilon = Annotated[float, Field(gt=0, description="budget of one iteration; .inf: no noise")]
Labels = Annotated[list[str], Field(min_length=1)]
Tier = Annotated[list[str], BeforeValidator(_tier), Field(min_length=1)]


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


class Statement(Strict):
    """All kinds of claims have these fields."""

    id: Annotated[str, Field(pattern=r"^[a-z0-9.\-]+$")]
    statement: Annotated[str, Field(description="what the paper says, in one sentence")]
    source: Annotated[str, Field(description="section, figure or table of the paper")]
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
    # Filled in by `load` from the head of the file.
    paper: str = ""
    file: str = ""

    def selections(self) -> Iterator[tuple[str, float]]:
        """Yield every pair of a label and an epsilon that the claim looks at."""
        raise NotImplementedError

    @property
    def metrics(self) -> list[str]:
        """Return the variables of the results that the claim looks at."""
        return [self.metric]


class Comparison(Statement):
    """A claim of this kind states differences, of which tiny ones do not count."""

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


class Value(Statement):
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

    def selections(self) -> Iterator[tuple[str, float]]:
        """See :meth:`Statement.selections`."""
        labels = (self.algorithm, self.minus, self.over)
        return ((label, self.epsilon) for label in labels if label)


class Order(Comparison):
    """Means strictly increase from tier to tier, at each epsilon or somewhere; within a tier nothing is compared."""

    kind: Literal["order"]
    labels: Annotated[list[Tier], Field(min_length=2)]
    epsilon: Annotated[list[Epsilon], Field(min_length=1)]
    somewhere: Annotated[
        bool, Field(description="the paper says it of some cases: one difference is enough")
    ] = False

    def selections(self) -> Iterator[tuple[str, float]]:
        """See :meth:`Statement.selections`."""
        return itertools.product(itertools.chain(*self.labels), self.epsilon)

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Yield the lower and the higher label of each comparison, between neighbouring tiers."""
        for low, high in itertools.pairwise(self.labels):
            yield from itertools.product(low, high)


class Reference(Strict):
    """A label and a budget name the run that others are compared with."""

    algorithm: str
    epsilon: Epsilon


class Close(Statement):
    """One method is within ``tolerance`` of a reference, and the ``others`` are not."""

    kind: Literal["close"]
    algorithm: str
    others: list[str] = []
    epsilon: Epsilon
    reference: Reference
    tolerance: Annotated[float, Field(ge=0)]

    def selections(self) -> Iterator[tuple[str, float]]:
        """See :meth:`Statement.selections`."""
        yield self.reference.algorithm, self.reference.epsilon
        yield from ((label, self.epsilon) for label in (self.algorithm, *self.others))


class Trend(Comparison):
    """A metric falls: along the rounds to a fraction of its maximum, or as epsilon grows.

    As epsilon grows, it falls from the first budget to the last, and rises by no relevant difference at any step.
    """

    kind: Literal["trend"]
    along: Literal["round", "epsilon"]
    algorithms: Labels
    epsilon: Annotated[list[Epsilon], Field(min_length=1)]
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

    def selections(self) -> Iterator[tuple[str, float]]:
        """See :meth:`Statement.selections`."""
        return itertools.product(self.algorithms, self.epsilon)


class Group(Strict):
    """The means of methods at budgets spread over one of the two."""

    algorithms: Labels
    epsilon: Annotated[list[Epsilon], Field(min_length=1)]
    over: Literal["algorithm", "epsilon"]

    def selections(self) -> Iterator[tuple[str, float]]:
        """Yield every pair of a label and an epsilon."""
        return itertools.product(self.algorithms, self.epsilon)


class Spread(Comparison):
    """One thing matters less than another: a range, highest minus lowest mean, is smaller."""

    kind: Literal["spread"]
    narrow: Group
    wide: Group

    def selections(self) -> Iterator[tuple[str, float]]:
        """See :meth:`Statement.selections`."""
        yield from self.narrow.selections()
        yield from self.wide.selections()


class Inequality(Statement):
    """A theorem's left side, the metric, is at most its right side after every evaluated round.

    Right sides have constants that are maxima, which are only enclosed: the smallest ones must do for the theorem to
    hold, and not even the largest ones for it to be violated.
    """

    kind: Literal["bound"]
    algorithms: Labels
    epsilon: Annotated[list[Epsilon], Field(min_length=1)]
    right: Annotated[str, Field(description="variable with the right side, constants at most")]
    least: Annotated[str, Field(description="the same with constants at least, if they differ")] = (
        ""
    )
    each_run: Annotated[
        bool, Field(description="it is of every run as drawn, instead of the mean over runs")
    ] = False

    def selections(self) -> Iterator[tuple[str, float]]:
        """See :meth:`Statement.selections`."""
        return itertools.product(self.algorithms, self.epsilon)

    @property
    def metrics(self) -> list[str]:
        """See :attr:`Statement.metrics`."""
        return [self.metric, self.right, *([self.least] if self.least else [])]


class Rate(Statement):
    """The metric falls at least as fast as a power of the round, over the last decade of rounds.

    A slope can support that, and nothing contradicts it: the rounds to come may be steeper.
    """

    kind: Literal["rate"]
    algorithms: Labels
    epsilon: Annotated[list[Epsilon], Field(min_length=1)]
    exponent: Annotated[float, Field(lt=0, description="of the round, as the paper prints it")]

    def selections(self) -> Iterator[tuple[str, float]]:
        """See :meth:`Statement.selections`."""
        return itertools.product(self.algorithms, self.epsilon)


Claim = Annotated[
    Value | Order | Close | Trend | Spread | Inequality | Rate, Field(discriminator="kind")
]


class _File(Strict):
    paper: str
    scale: dict[str, Requirements]
    claims: list[Claim]


def load(files: Iterable[Path]) -> list[Claim]:
    """Read files of claims.

    Parameters
    ----------
    files
        YAML files.

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
    except OSError as error:
        raise ClaimError(f"{file}: cannot be read: {error.strerror}") from error
    except ReadError as error:
        raise ClaimError(str(error)) from error
    except ValidationError as error:
        raise ClaimError(f"{file}: " + "; ".join(messages(error, written))) from error
    claims: list[Claim] = []
    for claim in content.claims:
        if claim.experiment not in content.scale:
            refuse(str(file), claim.id, "experiment", claim.experiment, content.scale)
        scale = claim.requires or content.scale[claim.experiment]
        update = {"paper": content.paper, "file": str(file), "requires": scale}
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
    for claim in claims:
        if complete and claim.experiment not in known:
            refuse(claim.file, claim.id, "experiment", claim.experiment, known)
        for what, names, valid in (
            ("label", [label for label, _ in claim.selections()], known),
            ("metric", claim.metrics, metrics or {}),
        ):
            for name in names:
                if claim.experiment in valid and name not in valid[claim.experiment]:
                    refuse(claim.file, claim.id, what, name, valid[claim.experiment])


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
