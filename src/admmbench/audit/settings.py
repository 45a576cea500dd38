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
# Rounds in which worlds are compared.
_COMPARED = 100

Name = Literal["worst", "extreme", "natural"]
"""Of a canary."""


class AuditSettings(Strict):
    """These settings say how much is audited.

    Attributes
    ----------
    rounds
        Attacked rounds: the first, the last, and others that are drawn at random.
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


def all_rounds(spec: RunSpec) -> int:
    """Count the rounds of the whole run."""
    return spec.rounds + spec.method.extra_rounds


def audited_rounds(spec: RunSpec, data: DatasetInfo, settings: AuditSettings) -> int:
    """Count the rounds to attack: as many as asked for, if the run has them and their releases fit into memory."""
    fit = max(1, int(_MOST_OF_A_SEED / tape_bytes(spec, data)))
    return min(settings.rounds, all_rounds(spec), fit)


def compared_rounds(spec: RunSpec, settings: AuditSettings) -> int:
    """Count the rounds in which both worlds get the same noisy values; a few runs are enough for that."""
    return min(max(settings.rounds, _COMPARED), all_rounds(spec))


def tape_bytes(spec: RunSpec, data: DatasetInfo) -> float:
    """Estimate the bytes that an audit keeps of a round, for each seed."""
    size = spec.as_problem.loss.outputs(data) * data.n_features * spec.n_agents
    runs = 4 if spec.method.sampling == 1 else 5
    return 8 * runs * _KEPT * size * spec.method.updates
