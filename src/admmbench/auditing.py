"""How much is audited: the settings of experiments and of the command line, and what fits into memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import AfterValidator, Field

from admmbench.validation import Count, Epsilons, Strict, distinct

if TYPE_CHECKING:
    from admmbench.datasets import DatasetInfo
    from admmbench.engine.spec import RunSpec

# Bytes of releases that are kept of one seed; and the approximate number of arrays, of the size of all local models,
# that each run of a pair of worlds keeps of a local update.
_MOST_OF_A_SEED = 2**32
_KEPT = 4.5

Name = Literal["worst", "extreme", "natural"]
"""Of a canary."""


class AuditSettings(Strict):
    """How much is audited.

    Attributes
    ----------
    rounds
        Audited rounds, the first ones of a run.
    repeats
        Independent runs in each world.
    canaries
        Which ones: ``worst``, the worst admissible record, with a wrong target; ``extreme``, the agent's most extreme
        record, with a wrong target; ``natural``, the unchanged record that contributes most in round 1.
    level
        Confidence in all lower bounds together.
    budgets
        Budgets of the experiment at which its methods are attacked; all finite ones if absent.
    """

    rounds: Count = 5
    repeats: Annotated[Count, Field(ge=8)] = 200
    canaries: Annotated[list[Name], AfterValidator(distinct), Field(min_length=1)] = [
        "worst",
        "extreme",
        "natural",
    ]
    level: Annotated[float, Field(gt=0, lt=1)] = 0.95
    budgets: Epsilons | None = None


def audited_rounds(spec: RunSpec, data: DatasetInfo, settings: AuditSettings) -> int:
    """As many as asked for, if a run has so many, and their releases are not too much for memory."""
    fit = max(1, int(_MOST_OF_A_SEED / tape_bytes(spec, data)))
    return min(settings.rounds, spec.rounds + spec.method.extra_rounds, fit)


def tape_bytes(spec: RunSpec, data: DatasetInfo) -> float:
    """What an audit keeps of a round, for each seed."""
    size = spec.as_problem.outputs(data) * data.n_features * spec.n_agents
    runs = 4 if spec.method.sampling == 1 else 5
    return 8 * runs * _KEPT * size * spec.method.updates
