"""Settings of audits, for experiments and for the command line, and the rounds that fit into memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from admmbench.validation import Count, Epsilons, Strict, distinct

if TYPE_CHECKING:
    from admmbench.datasets import DatasetInfo
    from admmbench.spec.run import RunSpec

# Largest number of bytes of one seed's transcript; and the approximate number of arrays, of the size of all local
# models, that each run records of a local update.
_MOST_OF_A_SEED = 2**32
_ARRAYS_PER_UPDATE = 4.5
# Rounds in which runs on neighbouring data sets are compared.
_COMPARED_ROUNDS = 250

Name = Literal["worst", "extreme", "natural"]
"""Name of a canary."""


class OneRun(Strict):
    """Attack on one run, in which there are many canaries.

    Attributes
    ----------
    canaries
        Largest number of canaries: no more than the agents have records.
    rounds
        Number of attacked rounds, chosen as in other attacks; all if absent.
    """

    canaries: Annotated[Count, Field(ge=8)] = 1000
    rounds: Count | None = None


class AuditSettings(Strict):
    """Settings of an audit.

    Attributes
    ----------
    rounds
        Number of attacked rounds: the first, the last, and others that are drawn at random.
    repeats
        Largest number of independent runs on each of two neighbouring data sets.
    canaries
        Names of canaries: ``worst``, the worst admissible record, with a wrong target; ``extreme``, the agent's most
        extreme record, with a wrong target; ``natural``, the unchanged record that contributes most in round 1. May be
        empty if ``one_run`` is there.
    one_run
        Attack one run with many canaries as well.
    level
        Confidence in all lower bounds together.
    budgets
        Budgets of the experiment at which its methods are attacked; all finite ones if absent.
    """

    rounds: Count = 5
    repeats: Annotated[Count, Field(ge=8)] = 200
    canaries: Annotated[list[Name], AfterValidator(distinct)] = ["worst", "extreme", "natural"]
    one_run: OneRun | None = None
    level: Annotated[float, Field(gt=0, lt=1)] = 0.95
    budgets: Epsilons | None = None

    def confidence(self, attacks: int = 3) -> float:
        """Return the confidence in each bound with which all hold together, for three attacks with a canary at most."""
        bounds = attacks * len(self.canaries) + (self.one_run is not None)
        return 1 - (1 - self.level) / bounds

    @model_validator(mode="after")
    def _check(self) -> Self:
        """Refuse settings without any attack."""
        if not self.canaries and self.one_run is None:
            raise ValueError("canaries: name at least one, or attack one_run with many")
        return self


def all_rounds(spec: RunSpec) -> int:
    """Count the rounds of the whole run."""
    return spec.rounds + spec.method.extra_rounds


def audited_rounds(spec: RunSpec, data: DatasetInfo, settings: AuditSettings) -> int:
    """Count the rounds to attack: as many as asked for, if the run has them and their releases fit into memory."""
    fit = max(1, int(_MOST_OF_A_SEED / transcript_bytes(spec, data)))
    return min(settings.rounds, all_rounds(spec), fit)


def compared_rounds(spec: RunSpec, settings: AuditSettings) -> int:
    """Count the rounds in which runs on both data sets get the same noisy values; a few runs are enough for that."""
    return min(max(settings.rounds, _COMPARED_ROUNDS), all_rounds(spec))


def one_run_rounds(spec: RunSpec, data: DatasetInfo, settings: OneRun) -> int:
    """Count the rounds of the attack with many canaries: as many as asked for, if their arrays fit into memory."""
    fit = max(1, int(_MOST_OF_A_SEED / one_run_bytes(spec, data, settings)))
    return min(settings.rounds or all_rounds(spec), all_rounds(spec), fit)


def one_run_bytes(spec: RunSpec, data: DatasetInfo, settings: OneRun) -> float:
    """Estimate the bytes that the attack with many canaries keeps of a round: shifts by canaries, and transcripts."""
    size = spec.as_problem.loss.outputs(data) * data.n_features * spec.method.updates
    return 4 * size * settings.canaries + transcript_bytes(spec, data)


def transcript_bytes(spec: RunSpec, data: DatasetInfo) -> float:
    """Estimate the bytes that an audit keeps of a round, for each seed."""
    size = spec.as_problem.loss.outputs(data) * data.n_features * spec.n_agents
    sampled = 8 if spec.privacy.relation == "replace" else 5
    runs = 4 if spec.sampling == 1 else sampled
    return 8 * runs * _ARRAYS_PER_UPDATE * size * spec.method.updates
