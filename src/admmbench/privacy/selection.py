"""Private selection: what the best of many runs costs if nobody sees the others."""

from __future__ import annotations

import math
from typing import Literal

from admmbench.privacy.composition import renyi_accountant
from admmbench.privacy.events import Composition
from admmbench.privacy.ledger import Ledger

SHAPES = {"geometric": 1.0, "logarithmic": 0.0}
"""Distributions of the number of trials by name, with the shape eta of the paper's definition 1."""


CompositionScope = Literal["run", "every_trial", "best_trial"]
"""Composition scope of a total: one run; or a search for its settings and the run, by the trials that are seen."""


def epsilon_in_scope(ledger: Ledger, delta: float, scope: CompositionScope, trials: float) -> float:
    """Return the total epsilon of a run, or of a search of so many trials and a run with what it found.

    It is the least that is proved, but for ``best_trial`` that by Renyi divergences, as in `selected`.

    Parameters
    ----------
    ledger
        Releases of the run, which each trial has too.
    delta
        Failure probability of the total.
    scope
        Composition scope.
    trials
        How many trials there are, or their mean number where it is drawn. Where every trial is seen, a part of one
        counts as one.
    """
    if scope == "run":
        return ledger.epsilon(delta)
    if scope == "best_trial":
        return selected(ledger.composition(), delta, trials, "logarithmic", runs_after=1)
    return ledger.repeated(trials + 1).epsilon(delta)


def selected(
    composition: Composition, delta: float, trials: float, shape: str, runs_after: int = 0
) -> float:
    """Return the total epsilon of releasing the best of a random number of runs (Papernot and Steinke 2022, theorem 2).

    The theorem is about Renyi divergences, so no other accountant has a say.

    The runs are independent, each with settings drawn from one fixed distribution; a curator draws how many there are
    and hides all but the best by a score that is private or uses public records only.

    Parameters
    ----------
    composition
        Releases of one run.
    delta
        Failure probability of the total.
    trials
        Mean of the number of runs, above 1.
    shape
        Name in `SHAPES` of its distribution.
    runs_after
        Further runs with the settings of the best.

    Returns
    -------
    float
        Infinite where the releases have no Renyi divergences.
    """
    from dp_accounting.dp_event import ComposedDpEvent, RepeatAndSelectDpEvent

    if not composition.sound:
        return math.inf
    run = composition.event
    search = RepeatAndSelectDpEvent(run, trials, SHAPES[shape])
    accountant = renyi_accountant(ComposedDpEvent([search, *[run] * runs_after]))
    return float(accountant.get_epsilon(delta)) if accountant else math.inf
