"""Choice among the trials of searches: the settings that runs take."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from admmbench.tuning.settings import Chosen, Tuned
from admmbench.validation import checked


def choose_settings(
    former: Tuned, searches: Iterable[tuple[str, float, Mapping[str, Any]]]
) -> tuple[Tuned, list[dict[str, Any]]]:
    """Choose the best settings of each search.

    Parameters
    ----------
    former
        Settings that were chosen before.
    searches
        Label of the method, budget and result of each search, as `SearchResult.to_dict` writes it.

    Returns
    -------
    tuple
        Settings, in which a search replaces the former ones; and all trials, as rows of a table.
    """
    chosen = {label: dict(by_budget) for label, by_budget in former.items()}
    trials = []
    for label, budget, result in searches:
        trials += [
            {"method": label, "budget": budget, **trial, "settings": json.dumps(trial["settings"])}
            for trial in result.get("trials", [])
        ]
        best = {key: value for key, value in result.items() if key != "trials"}
        chosen.setdefault(label, {})[budget] = checked(Chosen, best, f"{label} at {budget:g}")
    return chosen, trials
