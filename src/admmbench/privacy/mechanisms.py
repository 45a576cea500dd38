"""Mechanisms: what an agent releases with noise, within which budget, and for which neighbouring data sets."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from admmbench.privacy.events import KINDS, Approximate, Cost, Laplace, Terms
from admmbench.privacy.gaussian import Gaussian
from admmbench.privacy.schedule import STEADY, Schedule
from admmbench.validation import one_of

Value = Literal["gradient", "solution", "dual variable", "predictions", "objective"]
Relation = Literal["zero_out", "replace"]
Unit = Literal["record", "agent"]

# Contributions of a record by which values of neighbours differ.
_CONTRIBUTIONS: dict[Relation, int] = {"zero_out": 1, "replace": 2}


class Neighbours(NamedTuple):
    """Difference between two neighbouring data sets, in keys that results store.

    Attributes
    ----------
    relation
        As of `Privacy`; ``none`` where nothing noisy is released.
    unit
        ``record``, ``agent``, or a method's own, see `Release`; ``none`` where nothing noisy is released.
    """

    relation: str = "none"
    unit: str = "none"


@dataclass(frozen=True)
class Privacy:
    """Budget of one release, its neighbouring data sets, and the bound on its sensitivity.

    Parameters
    ----------
    epsilon
        Budget of one release; infinity means no noise.
    delta
        Failure probability of one Gaussian release, at which totals are stated too.
    sensitivity
        ``local``: from the agent's own records, as the papers compute it; the noise scale then depends on the data, so
        that no guarantee follows. ``global``: the worst case over admissible records.
    relation
        Neighbouring data sets that the ledger accounts for: one record contributes nothing (``zero_out``), or is
        another record (``replace``).
    unit
        What neighbouring data sets differ in: one record, or all records of one agent.
    participation
        Probability that an agent takes part in a round, by a coin that nobody else sees; only sums are seen then. Of a
        cohort, the share of all agents.
    summed
        Agents that add noise to messages of which nobody sees more than the sum, see `Noise.part`. 0: the server sees
        every message.
    cohort
        Agents of the cohort that takes part in a round, drawn without replacement; 0 where agents have coins.
    schedule
        Factors of Gaussian noise over rounds; the budget is that of a release with the factor 1.
    """

    epsilon: float = math.inf
    delta: float = 1e-6
    sensitivity: Literal["local", "global"] = "local"
    relation: Relation = "zero_out"
    unit: Unit = "record"
    participation: float = 1.0
    summed: int = 0
    cohort: int = 0
    schedule: Schedule = STEADY

    @property
    def private(self) -> bool:
        """Return whether noise is added at all."""
        return math.isfinite(self.epsilon)

    @property
    def radius(self) -> float | None:
        """Return how far samples of both neighbours are from those without what they differ in, see `Replaced`."""
        if self.relation != "replace":
            return None
        return 1.0 if self.cohort else 0.5


@dataclass(frozen=True)
class Release:
    """Noisy value that leaves an agent, as a method declares it.

    Attributes
    ----------
    law
        Distribution of the noise.
    value
        What the noise is added to.
    scaled_for
        Relation of neighbours for which one release has the stated budget: the one of the method's paper.
    own_neighbours
        A word for what is another one in neighbouring data sets if that is no record, such as ``column``; then a run
        chooses no relation.
    or_law
        Another law that may take the place of the first.
    """

    law: str
    value: Value
    scaled_for: Relation = "zero_out"
    own_neighbours: str = ""
    or_law: str | None = None

    def __post_init__(self) -> None:
        """Refuse words that nothing would act on."""
        laws = [law for kind in KINDS.values() for law in kind.laws]
        one_of("Release.law", self.law, laws)
        one_of("Release.value", self.value, Value)
        one_of("Release.scaled_for", self.scaled_for, Relation)
        if self.own_neighbours and not self.own_neighbours.isidentifier():
            raise ValueError(
                f"Release.own_neighbours: results store one word, got {self.own_neighbours!r}; write what is another "
                "one in neighbouring data sets, such as column"
            )
        if self.or_law is not None:
            one_of("Release.or_law", self.or_law, laws)

    @property
    def kind(self) -> type[Cost]:
        """Return the class of what the ledger is told: noise inside a problem whose solution leaves has no shift."""
        kind = self._by_budget
        shifts = issubclass(kind, Laplace | Gaussian)
        return Approximate if self.value == "objective" and shifts else kind

    @property
    def _by_budget(self) -> type[Cost]:
        """Class of what a release with the stated budget costs."""
        return next(kind for kind in KINDS.values() if self.law in kind.laws)

    def under(self, noise: str) -> Release:
        """Return the release with the noise that a run asks for: that of the paper (``published``), or a law.

        Raises
        ------
        ValueError
            If the method does not have that law.
        """
        if noise in ("published", self.law):
            return self
        if noise != self.or_law:
            laws = " or ".join(law for law in (self.law, self.or_law) if law)
            raise ValueError(
                f"has {laws} noise, not {noise}: what it releases has no bound for that"
            )
        return replace(self, law=self.or_law, or_law=self.law)

    def cost(
        self,
        privacy: Privacy,
        l2_over_l1: float = 1.0,
        linf_over_l1: float = 1.0,
        sampling: float = 1.0,
    ) -> Cost:
        """Return what one release with the stated budget costs under the relation of the run.

        Parameters
        ----------
        privacy
            Budget and relation.
        l2_over_l1, linf_over_l1
            As in `Sensitivity`.
        sampling
            Probability that a record takes part, independently and in secret; only Gaussian noise takes credit for it.
        """
        times = self.contributions(privacy.relation) / self.contributions(self.scaled_for)
        sample = sampling * privacy.participation, privacy.radius
        terms = privacy.epsilon, privacy.delta, times, l2_over_l1, linf_over_l1, *sample
        return self._by_budget.of_budget(Terms(*terms))

    def neighbours(self, relation: Relation, unit: Unit = "record") -> Neighbours:
        """Return how neighbouring data sets differ."""
        own = self.own_neighbours
        return Neighbours("replace", own) if own else Neighbours(relation, unit)

    def contributions(self, relation: Relation) -> int:
        """Count the contributions of a record by which values of neighbours differ."""
        return 1 if self.own_neighbours else _CONTRIBUTIONS[relation]


def delta_warning(delta: float, n: int, unit: Unit = "record") -> str:
    """Warn of a failure probability above 1 / n, for n training records or agents; empty if there is nothing to say."""
    if not delta * n > 1:
        return ""
    those = "training records" if unit == "record" else "agents"
    what = "a record" if unit == "record" else "all records of an agent"
    return (
        f"delta = {delta:g} is above 1/n = {1 / n:.2g} of the n = {n:,} {those}: totals at this "
        f"delta hold even for a method that publishes {what} chosen at random"
    )
