"""Evidence of claims: the fields that all kinds have, and what a paper's statement presupposes of runs."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal

from pydantic import BeforeValidator, Field

from admmbench.claims.runs import Contrast, Row, Runs, Selected
from admmbench.privacy import Relation
from admmbench.results import statistics
from admmbench.validation import Strict

Epsilon = Annotated[float, Field(gt=0, description="budget of one iteration; .inf: no noise")]
Labels = Annotated[list[str], Field(min_length=1)]
Tier = Annotated[
    Labels, BeforeValidator(lambda value: [value] if isinstance(value, str) else value)
]


class Requirements(Strict):
    """Requirements of a paper's statements about an experiment: only runs that meet them can support or contradict.

    A run as large as the paper's, or larger, meets the scale.
    """

    rounds: Annotated[int, Field(ge=1)]
    seeds: Annotated[int, Field(ge=1)]
    """Number of seeds; 1 if a run does not depend on the seed."""
    agents: Annotated[int, Field(ge=1)]
    n_train: Annotated[int, Field(ge=0)]
    """Training samples of all agents; 0 if problems are drawn."""
    converged: bool = False
    """Whether the paper speaks of solutions: runs end by the method's own test."""
    params: dict[str, dict[str, float | int | str | bool]] = {}
    """Parameters as printed, by label, of the labels that a claim looks at."""
    relation: Relation | None = None
    """Neighbouring relation of the paper's privacy."""
    equally_private: bool = False
    """Whether the paper compares methods whose totals are equal."""


class Evidence(Strict):
    """Runs of one experiment that show or refute a statement; all kinds have these fields."""

    partial: ClassVar[bool] = False
    """Whether contrasts of some of the selections are enough to judge."""

    experiment: str
    metric: str = "test_error"
    run: statistics.Reduction = "final"
    """Reduction of a run to a number: last round, lowest of all, mean of all."""
    at_round: Annotated[int | None, Field(ge=1)] = None
    """Round after which the run is judged as it is then; it must be evaluated."""
    unit: Literal["%", "1"] = "%"
    """Unit of values, tolerances and texts."""
    note: str = ""
    """Known reason for a deviation."""
    other_data: str = ""
    """Difference of our data from the paper's; numbers are then shown, not judged."""
    unprinted: str = ""
    """A sentence on what the paper does not print and the outcome depends on: nothing contradicts it."""
    requires: Requirements | None = None
    """Requirements of this claim; those of the head of the file if absent."""

    def selections(self) -> Iterator[Selected]:
        """Yield every pair of a label and an epsilon that the evidence is about."""
        raise NotImplementedError

    def contrasts(self, runs: Runs) -> Iterator[Contrast]:
        """Yield the contrasts that the statement is about, with the region in which each should lie."""
        raise NotImplementedError

    def rows(self, runs: Runs) -> list[Row]:
        """Return our numbers to show; none where the contrasts themselves are shown."""
        return []

    @property
    def metrics(self) -> list[str]:
        """Return the variables of the results that the evidence is about."""
        return [self.metric]

    @property
    def some(self) -> bool:
        """Return whether one contrast is enough for the statement, instead of all."""
        return False


class Comparison(Evidence):
    """Evidence of differences; differences that are too small do not count."""

    relevant: Annotated[float | None, Field(gt=0)] = None
    """Smallest difference that counts; one in a thousand if absent: of all records for a fraction, of the larger mean
    otherwise, as papers print three or four digits and draw the rest."""

    def smallest(self, *means: float) -> float:
        """Return the smallest relevant difference of the given means, in the unit of the claim."""
        if self.relevant is not None:
            return self.relevant
        return 0.1 if self.unit == "%" else 0.001 * max(map(abs, means))


class Grid(Strict):
    """Methods, each at some budgets."""

    algorithms: Labels
    epsilon: Annotated[list[Epsilon], Field(min_length=1)]

    def selections(self) -> Iterator[Selected]:
        """Yield every pair of a label and an epsilon."""
        return itertools.product(self.algorithms, self.epsilon)
