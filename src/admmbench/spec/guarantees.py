"""Guarantee of a run's total ε, and the caveats for readers of its results."""

from __future__ import annotations

import math
from typing import Any

from admmbench import datasets
from admmbench.base.consensus import Consensus
from admmbench.base.types import Guarantee
from admmbench.spec.facts import RunFacts


def guarantee(run: RunFacts) -> Guarantee:
    """Return the guarantee of a run's total; none at an infinite budget."""
    worth = guarantee_with_noise(run)
    if worth.kind != "none" and not run.private:
        return Guarantee("none", "an infinite budget adds no noise", ("no_noise",))
    return worth


def guarantee_with_noise(run: RunFacts) -> Guarantee:
    """Return the guarantee of totals at a finite budget; what plug-ins claim becomes a condition."""
    worth = run.method.guarantee(run.sensitivity)
    is_plugin = not type(run.method).__module__.startswith("admmbench.")
    if worth.kind != "none" and is_plugin and (unproved_noise := _unproved_noise(run)):
        return Guarantee(
            "none",
            f"the method is a plug-in that {unproved_noise}, and no attack can follow it; "
            "the total is what the plug-in states",
            ("noise_of_plugin",),
        )
    conditions_by_key = {}
    if is_plugin or not run.as_problem.module.startswith("admmbench."):
        conditions_by_key["sensitivities_of_plugin"] = (
            "what a plug-in states of its sensitivities is true"
        )
    if all(map(math.isfinite, run.info.domain)) and not datasets.is_built_in(run.dataset):
        conditions_by_key["stated_domain"] = (
            "every admissible record is in the domain that the author of the data set states"
        )
    if run.info.presumed:
        conditions_by_key["public_preparation"] = run.info.presumed
    if run.participation < 1 and run.release is not None:
        unknown_count = "" if run.privacy.cohort else ", nor how many do"
        conditions_by_key["secret_participation"] = (
            f"nobody but an agent learns in which rounds it takes part{unknown_count}"
        )
    if worth.kind == "proved" and conditions_by_key:
        conditions = f"if {' and '.join(conditions_by_key.values())}; {worth.conditions}"
        return Guarantee("conditional", conditions, tuple(conditions_by_key))
    return worth


def _unproved_noise(run: RunFacts) -> str:
    """Return how the method adds noise that the ledger cannot check; empty if the ledger knows the noise."""
    release = run.method.release
    if release is None:
        return ""
    if release.value == "objective":
        return "enters the cost of its noise itself"
    if release.law == "spherical" and not isinstance(run.method, Consensus):
        return "sets the scale of its spherical noise itself"
    return ""


def caveats(run: RunFacts) -> dict[str, dict[str, Any]]:
    """Return the caveats for readers of results: the method's keys, and a search in composition scope, with values."""
    keys: dict[str, dict[str, Any]] = {key: {} for key in run.method.caveats}
    if run.privacy.covers != "run":
        keys["covered_search"] = {"covers": run.privacy.covers, "trials": run.privacy.trials}
    return keys
