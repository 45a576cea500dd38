"""Privacy accounting of a run before it: the budget of a release, and the ledger of all releases."""

from __future__ import annotations

from functools import partial
from typing import Any

from admmbench.privacy import Cost, Ledger, Privacy, Schedule, calibrate
from admmbench.privacy.curves import calibrate_mu
from admmbench.privacy.selection import epsilon_in_scope
from admmbench.problems.base import BoundProblem
from admmbench.problems.rows import BoundRows
from admmbench.spec.facts import RunFacts


def budget(run: RunFacts, problem: BoundProblem[Any], solved: float | None = None) -> Privacy:
    """Return the budget of one release, solved for where a total or a mu is given, unless it was solved before.

    The bound problem has the numbers of records, and the bounds on records.
    """
    summed = 0
    if run.privacy.trust == "secure_sum":
        assert isinstance(problem, BoundRows)
        summed = problem.holders
    neighbours = run.privacy.relation, run.privacy.unit, run.participation
    schedule = Schedule(run.noise_ratio, run.rounds + run.method.extra_rounds)
    settings = run.delta, run.sensitivity, *neighbours, summed, run.privacy.cohort or 0, schedule
    total = run.privacy.total

    def ledger_at(epsilon: float) -> Ledger:
        return ledger(run, problem, Privacy(epsilon, *settings))

    if solved is not None:
        return Privacy(solved, *settings)
    if run.privacy.mu is not None:
        return Privacy(calibrate_mu(ledger_at, run.privacy.mu), *settings)
    if total is None:
        return Privacy(run.epsilon, *settings)
    return Privacy(calibrate(ledger_at, total, run.delta, partial(total_in_scope, run)), *settings)


def total_in_scope(run: RunFacts, ledger: Ledger, delta: float) -> float:
    """Return the total ε of the stated composition scope: of the ledger, perhaps with a search of equal runs."""
    return epsilon_in_scope(ledger, delta, run.privacy.covers, run.privacy.trials or 0)


def ledger(run: RunFacts, problem: BoundProblem[Any], budget: Privacy) -> Ledger:
    """Return the ledger of the agent with the largest privacy loss, without a look at any record."""
    ledger, method = Ledger(), run.method
    rounds = range(1, run.rounds + method.extra_rounds + 1)
    # Solving for a total composes many ledgers, so that equal rounds are one entry with a count.
    steady = method.steady and budget.schedule.constant
    for t in rounds[:1] if steady else rounds:
        times = len(rounds) if steady else 1
        if cost := cost_of_release(run, t, problem, budget):
            ledger.add(cost, times * method.updates)
    return ledger


def cost_of_release(
    run: RunFacts, t: int, problem: BoundProblem[Any], budget: Privacy
) -> Cost | None:
    """Return what a release of round t costs the agent who pays most, as the method states it; None without one."""
    if run.release is None:
        return None
    cost = run.method.cost(t, problem, budget, run.release)
    return cost and cost.louder(budget.schedule.factor(t))
