"""Outdated settings: chosen by an earlier search, perhaps not by a search of today. Runs use them, with a warning."""

from __future__ import annotations

from typing import TYPE_CHECKING

from admmbench.jobs import fingerprint

if TYPE_CHECKING:
    from admmbench.study.experiment import Experiment


def outdated(name: str, experiment: Experiment) -> list[str]:
    """Describe the settings in use that were found by other code, or by another search than the experiment states.

    Returns
    -------
    list of str
        A sentence for each reason, which says how to search again; no sentence for settings that do not state how they
        were found.
    """
    reasons: dict[str, dict[str, list[str]]] = {}
    for search in experiment.searches.values():
        chosen = experiment.chosen[search.label].get(search.budget)
        if chosen is None or experiment.tuning is None:
            continue
        if chosen.space and chosen.space != search.space(experiment.tuning):
            reason = "by another search than the experiment states now"
        elif chosen.code and chosen.code != fingerprint.of_run(search.spec):
            reason = "by other code or other versions of packages"
        else:
            continue
        reasons.setdefault(reason, {}).setdefault(search.label, []).append(f"{search.budget:g}")
    return [
        f"Settings of {'; '.join(groups)} were found {reason}: to search again, remove them from "
        f"config/tuned/{name}.yaml, and call `admmbench study tune`."
        for reason, budgets_of_label in reasons.items()
        for groups in [
            [f"{label} at {', '.join(budgets)}" for label, budgets in budgets_of_label.items()]
        ]
    ]
