"""Settings that an earlier search chose, and that a search of today might not: they are used, and it is said."""

from __future__ import annotations

from typing import TYPE_CHECKING

from admmbench.jobs import fingerprint

if TYPE_CHECKING:
    from admmbench.study.experiment import Experiment


def outdated(name: str, experiment: Experiment) -> list[str]:
    """Name the settings in use that were found by other code, or by another search than the experiment states.

    Parameters
    ----------
    name
        Name of the experiment.
    experiment
        Its definition.

    Returns
    -------
    list of str
        A sentence for each reason, which says how to search again. Settings that do not say how they were found give
        none.
    """
    found: dict[str, dict[str, list[str]]] = {}
    for search in experiment.searches.values():
        chosen = experiment.chosen[search.label].get(search.budget)
        if chosen is None or experiment.tuning is None:
            continue
        if chosen.space and chosen.space != search.space(experiment.tuning):
            why = "by another search than the experiment states now"
        elif chosen.code and chosen.code != fingerprint.of_run(search.spec):
            why = "by other code or other versions of packages"
        else:
            continue
        found.setdefault(why, {}).setdefault(search.label, []).append(f"{search.budget:g}")
    return [
        f"Settings of {'; '.join(own)} were found {why}: to search again, remove them from config/tuned/{name}.yaml, "
        "and call `admmbench study tune`."
        for why, at in found.items()
        for own in [[f"{label} at {', '.join(budgets)}" for label, budgets in at.items()]]
    ]
