"""What a run spends, and what its total is worth: the budget of a release, the ledger, the guarantee."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

from admmbench import datasets
from admmbench.base.consensus import Consensus
from admmbench.base.types import Guarantee
from admmbench.privacy import Ledger, Privacy, calibrate
from admmbench.privacy.selection import covering
from admmbench.problems.base import BoundProblem
from admmbench.problems.rows import BoundRows
from admmbench.spec.facts import Facts


def budget(run: Facts, problem: BoundProblem[Any]) -> Privacy:
    """Return the budget of one release, solved for where a total is given.

    Parameters
    ----------
    run
        What is run.
    problem
        The bound problem, for numbers of records and bounds on them.
    """
    summed = 0
    if run.privacy.trust == "secure_sum":
        assert isinstance(problem, BoundRows)
        summed = problem.holders
    neighbours = run.privacy.relation, run.privacy.unit, run.participation
    known = run.delta, run.sensitivity, *neighbours, summed, run.privacy.cohort or 0
    total = run.privacy.total
    if total is None:
        return Privacy(run.epsilon, *known)

    def spend(epsilon: float) -> Ledger:
        return ledger(run, problem, Privacy(epsilon, *known))

    return Privacy(calibrate(spend, total, run.delta, partial(covered, run)), *known)


def covered(run: Facts, ledger: Ledger, delta: float) -> float:
    """Return what ``privacy.total`` is of: the total of these releases, perhaps with a search of runs like it."""
    return covering(ledger, delta, run.privacy.covers, run.privacy.trials or 0)


def ledger(run: Facts, problem: BoundProblem[Any], budget: Privacy) -> Ledger:
    """List all that the agent who pays most is going to release, without a look at any record."""
    ledger, method, release = Ledger(), run.method, run.release
    if release is None:
        return ledger
    rounds = range(1, run.rounds + method.extra_rounds + 1)
    for t in rounds[:1] if method.steady else rounds:
        times = len(rounds) if method.steady else 1
        if cost := method.cost(t, problem, budget, release):
            ledger.add(cost, times * method.updates)
    return ledger


def guarantee(run: Facts) -> Guarantee:
    """Return what the total of a run is worth."""
    found = guarantee_with_noise(run)
    if found.kind != "none" and not run.private:
        return Guarantee("none", "an infinite budget adds no noise", ("no_noise",))
    return found


def guarantee_with_noise(run: Facts) -> Guarantee:
    """Return what totals are worth at a finite budget; what comes from outside has no proof here."""
    found = run.method.guarantee(run.sensitivity)
    foreign = not type(run.method).__module__.startswith("admmbench.")
    if found.kind != "none" and foreign and (beside := _beside_ledger(run)):
        return Guarantee(
            "none",
            f"the method is a plug-in that {beside}, and no attack can follow it; the total is what the plug-in states",
            ("noise_of_plugin",),
        )
    stated = {}
    if foreign or not run.as_problem.module.startswith("admmbench."):
        stated["sensitivities_of_plugin"] = "what a plug-in states of its sensitivities is true"
    if all(map(math.isfinite, run.info.domain)) and not datasets.is_built_in(run.dataset):
        stated["stated_domain"] = (
            "every admissible record is in the domain that the author of the data set states"
        )
    if run.info.presumed:
        stated["public_preparation"] = run.info.presumed
    if run.participation < 1 and run.release is not None:
        many = "" if run.privacy.cohort else ", nor how many do"
        stated["secret_participation"] = (
            f"nobody but an agent learns in which rounds it takes part{many}"
        )
    if found.kind == "proved" and stated:
        conditions = f"if {' and '.join(stated.values())}; {found.conditions}"
        return Guarantee("conditional", conditions, tuple(stated))
    return found


def _beside_ledger(run: Facts) -> str:
    """How the method adds noise that the ledger knows only as the method states it; empty if it does not."""
    release = run.method.release
    if release is None:
        return ""
    if release.value == "objective":
        return "enters the cost of its noise itself"
    if release.law == "spherical" and not isinstance(run.method, Consensus):
        return "sets the scale of its spherical noise itself"
    return ""


def caveats(run: Facts) -> dict[str, dict[str, Any]]:
    """Return what readers of results should know: what the method says, and what a total covers, with values."""
    keys: dict[str, dict[str, Any]] = {each: {} for each in run.method.caveats}
    if run.privacy.covers != "run":
        keys["covered_search"] = {"covers": run.privacy.covers, "trials": run.privacy.trials}
    return keys
