"""Differences between two files of results, see `admmbench.results.file_differences`."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import xarray as xr

from admmbench.base.outcomes import Outcome
from admmbench.figures import wording
from admmbench.report.data import Cell, FileDifferences, ReferenceComparison, Table
from admmbench.results import reference
from admmbench.results.file_differences import contrast

# Two studies must agree in these settings for their final values to be comparable.
_SCALE = "dataset", "dataset_settings", "n_train", "problem", "partition", "sensitivity", "rounds"


def table(compared: xr.Dataset, *wanted: str) -> Table:
    """Return the table of the settings of a contrast in these states, or in any; fractions are in percent."""
    frame = compared.to_dataframe(["algorithm", "epsilon"]).reset_index()
    frame = frame[frame["state"].isin(wanted) if wanted else frame["state"] != ""]
    rows: list[list[str | Cell]] = []
    for row in frame.to_dict("records"):
        numbers = ("first", "second", "difference", "lower", "upper", "largest")
        number = {name: wording.measured(row[name], compared.attrs["fraction"]) for name in numbers}
        has_interval = row["state"] in ("consistent", "different") and np.isfinite(row["lower"])
        ends = f" {number['lower']} to {number['upper']}" if has_interval else ""
        method = [row["algorithm"], wording.budget(row["epsilon"])]
        values = [number["first"], number["second"], number["difference"] + ends, number["largest"]]
        rows.append([*method, *values, str(row["seeds"]), row["state"]])
    heads = ["first", "second", "second - first, interval", "largest of a seed", "seeds"]
    return Table(["method", "budget", *heads, "state"], heads, rows)


def states(compared: xr.Dataset) -> dict[str, int]:
    """Return the number of methods and budgets of a contrast in each state; points that did not run do not count."""
    return Counter(state for state in compared["state"].values.ravel().tolist() if state)


def compare_files(first: xr.Dataset, second: xr.Dataset) -> FileDifferences:
    """Return the differences between two files besides final values."""
    facts = [
        {**results.attrs, **json.loads(results.attrs["versions"])} for results in (first, second)
    ]
    names = sorted({*facts[0], *facts[1]} - {"versions", "Conventions", "outdated"})
    pairs = {
        name: tuple(str(file_facts.get(name, "none")) for file_facts in facts) for name in names
    }
    first_labels, second_labels = (list(map(str, ds["algorithm"].values)) for ds in (first, second))
    common = [label for label in first_labels if label in second_labels]

    def changed(name: str) -> list[str]:
        values = (ds[name].sel(algorithm=common).values for ds in (first, second))
        return [label for label, a, b in zip(common, *values, strict=True) if a != b]

    ends = xr.align(
        *(results["status"].stack(run=["algorithm", "epsilon"]) for results in (first, second))
    )
    ran = (ends[0] != Outcome.NOT_RUN) & (ends[1] != Outcome.NOT_RUN)
    otherwise = ((ends[0] != ends[1]) & ran).any("seed")
    return FileDifferences(
        {name: (a, b) for name, (a, b) in pairs.items() if a != b},
        [label for label in first_labels if label not in second_labels],
        [label for label in second_labels if label not in first_labels],
        changed("fingerprint"),
        changed("params"),
        otherwise["run"].values[otherwise.values].tolist(),
    )


def compare_with_reference(
    results: xr.Dataset, reference_results: xr.Dataset
) -> ReferenceComparison:
    """Compare the results of an experiment with its reference results, for the report."""
    differing_settings = [
        name
        for name in _SCALE
        if str(reference_results.attrs.get(name)) != str(results.attrs.get(name))
    ]
    comparison = ReferenceComparison(
        reference_results.sizes["seed"], int(reference_results.attrs["rounds"]), differing_settings
    )
    if differing_settings:
        return comparison
    try:
        compared = contrast(reference_results, results)
    except ValueError as error:
        return comparison._replace(refused=str(error))
    return comparison._replace(
        states=states(compared),
        table=table(compared, "different"),
        outdated=reference.outdated(reference_results),
    )
