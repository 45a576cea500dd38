"""The choice among the trials of searches: the settings that runs take."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from admmbench.tuning.settings import Chosen, Tuned
from admmbench.validation import checked


def choose_settings(
    kept: Tuned, searches: Iterable[tuple[str, float, Mapping[str, Any]]]
) -> tuple[Tuned, list[dict[str, Any]]]:
    """Choose the best settings of each search, given its label, its budget and what it found.

    Returns
    -------
    tuple
        Settings, where those of a search win over those that were kept; and all trials, as rows of a table.
    """
    chosen = {label: dict(each) for label, each in kept.items()}
    trials = []
    for label, budget, found in searches:
        trials += [
            {"method": label, "budget": budget, **each, "settings": json.dumps(each["settings"])}
            for each in found.get("trials", [])
        ]
        best = {key: found[key] for key in Chosen.model_fields if key in found}
        chosen.setdefault(label, {})[budget] = checked(Chosen, best, f"{label} at {budget:g}")
    return chosen, trials
