"""Differences of two files of results, in words: see `admmbench.results.file_differences`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import xarray as xr

from admmbench.frames.outcomes import Outcome
from admmbench.results import reference, wording
from admmbench.results.file_differences import contrast

_WORDS = {
    "identical": "identical bit for bit",
    "rounding": "equal within rounding",
    "consistent": "consistent: their intervals hold 0",
    "different": "different",
    "unknown": "not to be judged from so few seeds",
}

HEADS = (
    *("method", "budget", "first", "second", "second - first, interval"),
    *("largest of a seed", "seeds", "state"),
)
"""What :func:`rows` gives, in words."""
# Two studies must agree in these for their final values to be comparable.
_SCALE = "dataset", "dataset_settings", "n_train", "problem", "partition", "sensitivity", "rounds"


def rows(found: xr.Dataset) -> Iterator[list[str]]:
    """Write the cells of a contrast that ran in both files, see `HEADS`; values of fractions are in percent."""
    for place in np.argwhere((found["state"] != "").values):
        cell = found.isel(algorithm=place[0], epsilon=place[1])
        number = {
            name: wording.measured(float(cell[name]), found.attrs["fraction"])
            for name in ("first", "second", "difference", "lower", "upper", "largest")
        }
        state = str(cell["state"].item())
        interval = f" {number['lower']} to {number['upper']}" if cell["lower"].notnull() else ""
        yield [
            str(cell["algorithm"].item()),
            wording.budget(float(cell["epsilon"])),
            number["first"],
            number["second"],
            number["difference"] + (interval if state in ("consistent", "different") else ""),
            number["largest"],
            str(int(cell["seeds"])),
            state,
        ]


def summary(found: xr.Dataset) -> str:
    """Return a sentence on how many settings are in which state."""
    states = found["state"].values
    parts = [f"{n} {words}" for name, words in _WORDS.items() if (n := int((states == name).sum()))]
    return f"{int((states != '').sum())} methods and budgets: {'; '.join(parts)}."


def settings(first: xr.Dataset, second: xr.Dataset) -> Iterator[str]:
    """Name other differences between the two files, a sentence for each."""
    facts = [{**each.attrs, **json.loads(each.attrs["versions"])} for each in (first, second)]
    for name in sorted({*facts[0], *facts[1]} - {"versions", "Conventions", "outdated"}):
        values = [str(each.get(name, "none")) for each in facts]
        if values[0] != values[1]:
            yield f"{name.replace('_', ' ')}: {values[0]} and {values[1]}."
    labels = [list(map(str, ds["algorithm"].values)) for ds in (first, second)]
    for here, there, which in ((*labels, "first"), (*labels[::-1], "second")):
        if alone := [label for label in here if label not in there]:
            yield f"Only in the {which}: {', '.join(alone)}."
    common = [label for label in labels[0] if label in labels[1]]
    for name, words in {"fingerprint": "Other code", "params": "Other parameters"}.items():
        a, b = (ds[name].sel(algorithm=common).values for ds in (first, second))
        if changed := [label for label, x, y in zip(common, a, b, strict=True) if x != y]:
            yield f"{words}: {', '.join(changed)}."
    ends = xr.align(
        *(each["status"].stack(run=["algorithm", "epsilon"]) for each in (first, second))
    )
    ran = (ends[0] != Outcome.NOT_RUN) & (ends[1] != Outcome.NOT_RUN)
    otherwise = ((ends[0] != ends[1]) & ran).any("seed")
    if runs := otherwise["run"].values[otherwise.values].tolist():
        yield f"Ended in another way: {'; '.join(wording.at(*run) for run in runs)}."


def against(results: xr.Dataset, kept: xr.Dataset) -> dict[str, Any]:
    """Compare the results of an experiment with kept ones, for the report.

    Parameters
    ----------
    results
        Of the study.
    kept
        Of the same experiment.

    Returns
    -------
    dict
        ``scale`` says what is kept, ``summary`` how well final values agree; ``rows`` has those that do not agree, see
        `rows`, and ``outdated`` what is outdated of the kept ones. Two of different scales are not compared.
    """
    scale = f"seeds: {kept.sizes['seed']}, rounds: {int(kept.attrs['rounds']):,}"
    names = [name for name in _SCALE if str(kept.attrs.get(name)) != str(results.attrs.get(name))]
    try:
        if names:
            raise ValueError(f"this study has another {', another '.join(names)}")
        compared = contrast(kept, results)
    except ValueError as error:
        return {"scale": scale, "summary": f"Not compared: {error}.", "rows": [], "outdated": None}
    different = [row for row in rows(compared) if row[-1] == "different"]
    return {
        "scale": scale,
        "summary": summary(compared),
        "rows": different,
        "outdated": reference.outdated(kept),
    }
