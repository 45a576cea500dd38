"""Differences of two files of results: see `admmbench.results.file_differences`."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator

import numpy as np
import xarray as xr

from admmbench.base.outcomes import Outcome
from admmbench.figures import wording
from admmbench.report.data import FileDifferences, Kept
from admmbench.results import reference
from admmbench.results.file_differences import contrast

HEADS = (
    *("method", "budget", "first", "second", "second - first, interval"),
    *("largest of a seed", "seeds", "state"),
)
"""What :func:`rows` gives, in words."""
# Two studies must agree in these for their final values to be comparable.
_SCALE = "dataset", "dataset_settings", "n_train", "problem", "partition", "sensitivity", "rounds"


def rows(found: xr.Dataset) -> Iterator[list[str]]:
    """Write the settings of a contrast that ran in both files, see `HEADS`; values of fractions are in percent."""
    for place in np.argwhere((found["state"] != "").values):
        setting = found.isel(algorithm=place[0], epsilon=place[1])
        number = {
            name: wording.measured(float(setting[name]), found.attrs["fraction"])
            for name in ("first", "second", "difference", "lower", "upper", "largest")
        }
        state = str(setting["state"].item())
        ends = f" {number['lower']} to {number['upper']}" if setting["lower"].notnull() else ""
        yield [
            str(setting["algorithm"].item()),
            wording.budget(float(setting["epsilon"])),
            number["first"],
            number["second"],
            number["difference"] + (ends if state in ("consistent", "different") else ""),
            number["largest"],
            str(int(setting["seeds"])),
            state,
        ]


def states(found: xr.Dataset) -> dict[str, int]:
    """Return the number of methods and budgets of a contrast in each state, those that did not run left out."""
    return Counter(state for state in found["state"].values.ravel().tolist() if state)


def between(first: xr.Dataset, second: xr.Dataset) -> FileDifferences:
    """Return what differs between two files besides final values."""
    facts = [{**each.attrs, **json.loads(each.attrs["versions"])} for each in (first, second)]
    names = sorted({*facts[0], *facts[1]} - {"versions", "Conventions", "outdated"})
    pairs = {name: tuple(str(each.get(name, "none")) for each in facts) for name in names}
    one, other = (list(map(str, ds["algorithm"].values)) for ds in (first, second))
    common = [label for label in one if label in other]

    def changed(name: str) -> list[str]:
        values = (ds[name].sel(algorithm=common).values for ds in (first, second))
        return [label for label, a, b in zip(common, *values, strict=True) if a != b]

    ends = xr.align(
        *(each["status"].stack(run=["algorithm", "epsilon"]) for each in (first, second))
    )
    ran = (ends[0] != Outcome.NOT_RUN) & (ends[1] != Outcome.NOT_RUN)
    otherwise = ((ends[0] != ends[1]) & ran).any("seed")
    return FileDifferences(
        {name: (a, b) for name, (a, b) in pairs.items() if a != b},
        [label for label in one if label not in other],
        [label for label in other if label not in one],
        changed("fingerprint"),
        changed("params"),
        otherwise["run"].values[otherwise.values].tolist(),
    )


def against(results: xr.Dataset, kept: xr.Dataset) -> Kept:
    """Compare the results of an experiment with kept ones, for the report.

    Parameters
    ----------
    results
        Of the study.
    kept
        Of the same experiment.
    """
    others = [name for name in _SCALE if str(kept.attrs.get(name)) != str(results.attrs.get(name))]
    found = Kept(kept.sizes["seed"], int(kept.attrs["rounds"]), others)
    if others:
        return found
    try:
        compared = contrast(kept, results)
    except ValueError as error:
        return found._replace(refused=str(error))
    return found._replace(
        states=states(compared),
        rows=[row for row in rows(compared) if row[-1] == "different"],
        outdated=reference.outdated(kept),
    )
