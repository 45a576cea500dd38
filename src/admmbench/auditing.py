"""How much is audited: the settings of experiments and of the command line."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from admmbench.validation import Count, Epsilons, Strict, distinct

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
