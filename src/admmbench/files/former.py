"""Files of earlier versions, with other names than today, or with sentences where results have keys today."""

from __future__ import annotations

import json
import logging
import re
from pathlib import Path
from typing import Any

import xarray as xr

_log = logging.getLogger(__name__)
# Relation and unit of neighbouring data sets.
_NEIGHBOURS = {
    "": ("none", "none"),
    "a record of one contributes nothing in the other, and numbers of records are the same": (
        "zero_out",
        "record",
    ),
    "a record of one is another record in the other": ("replace", "record"),
    "they differ in one record, which is blank in one of them": ("zero_out", "record"),
    "they differ in one record": ("replace", "record"),
    "an agent of one sends noise alone in the other, and numbers of agents are the same": (
        "zero_out",
        "agent",
    ),
    "all records of an agent of one are others, as many or not, in the other": ("replace", "agent"),
    "one feature column of one party is another": ("replace", "column"),
}
_UNITS = {
    "one record of one agent, not an agent or a user": "record",
    "one agent, with all of its records": "agent",
    "one feature column of one party": "column",
}
# Keys of ``budget_of``, by the former sentences.
_BUDGETS = {"one iteration": "iteration", "the whole run": "run"}
# Keys of caveats, by how their sentences began.
_CAVEATS = {
    "A round with E local updates": "local_updates",
    "E local updates use the data": "local_updates",
    "The reference variant of OutP": "sigma_squared",
    "Totals have credit for samples": "secret_samples",
    "DP-ADMM sharing: the sensitivity": "lemma_1",
}
# Names of attributes and coordinates, by the former ones.
_ATTRS = {"looks": "interim_analyses"}
_COORDS = {"lost_beside": "error_growth"}
_SEARCH = re.compile(r"With (\w+), budgets cover a search of (\S+) trials ")


def in_keys(stored: xr.Dataset, path: Path) -> xr.Dataset:
    """Return results of a run or an experiment by today's names, with keys in the place of sentences.

    If the file of this path had sentences, a warning says so.
    """
    stored = stored.rename({name: _COORDS[name] for name in _COORDS if name in stored.coords})
    if "family" in stored.coords:
        keys = stored["family"].str.replace(",", "").str.replace(" ", "_")
        stored = stored.assign_coords(family=keys.assign_attrs(stored["family"].attrs))
    stored.attrs = {_ATTRS.get(name, name): value for name, value in stored.attrs.items()}
    total = stored.get("epsilon_total", xr.DataArray()).attrs
    budgets = stored.coords.get("epsilon", xr.DataArray()).attrs
    if (former := budgets.get("budget_of")) in _BUDGETS:
        budgets["budget_of"] = _BUDGETS[former]
    if "neighbours" in stored.coords:
        results = _convert_experiment(stored)
    elif " " in total.get("unit_of_privacy", ""):
        results = _convert_run(stored)
    else:
        return stored
    _log.warning(
        "%s: an earlier version wrote this file, with sentences where results hold keys now; they are read as keys. "
        "`admmbench study` writes results of a study anew, and `admmbench keep` reference results",
        path,
    )
    return results


def _convert_experiment(stored: xr.Dataset) -> xr.Dataset:
    results = stored.drop_vars(["neighbours", "caveats"])
    for name in results.data_vars:
        attrs = results[name].attrs
        results[name].attrs = {
            key: value for key, value in attrs.items() if key not in ("unit_of_privacy", "warning")
        }
    pairs = [_neighbours(str(neighbours)) for neighbours in stored["neighbours"].values]
    caveats = [_caveats(str(sentences)) for sentences in stored["caveats"].values]
    relations, units = zip(*pairs, strict=True)
    return results.assign_coords(
        relation=("algorithm", [*relations]),
        unit=("algorithm", [*units]),
        caveats=("algorithm", caveats, stored["caveats"].attrs),
    )


def _convert_run(stored: xr.Dataset) -> xr.Dataset:
    trace = stored.copy()
    for name in (str(variable) for variable in trace if str(variable).startswith("epsilon_")):
        attrs = dict(trace[name].attrs)
        unit = attrs["unit_of_privacy"]
        attrs["unit_of_privacy"] = _UNITS.get(unit) or _unit_key(unit)
        if "warning" in attrs:
            attrs["warning"] = "large_delta"
        trace[name].attrs = attrs
    _, _, neighbours = trace["epsilon_total"].attrs.get("comment", "").partition("neighbours: ")
    relation, _ = _neighbours(neighbours.partition(";")[0])
    trace["epsilon_total"].attrs["relation"] = relation
    return trace


def _neighbours(sentence: str) -> tuple[str, str]:
    """Return the relation and the unit of neighbouring data sets.

    A sentence that is not in the list is a plug-in's: neighbours differ in one unit, which is another one.
    """
    return _NEIGHBOURS.get(sentence) or ("replace", _unit_key(sentence.removesuffix(" is another")))


def _unit_key(unit: str) -> str:
    return unit.removeprefix("one ").replace(" ", "_")


def _caveats(sentences: str) -> str:
    """Return the keys of caveats with their values, as JSON; sentences of plug-ins stay as they are."""
    keys: dict[str, dict[str, Any]] = {}
    for sentence in json.loads(sentences):
        if search := _SEARCH.match(sentence):
            covers, trials = search.groups()
            keys["covered_search"] = {"covers": covers, "trials": float(trials)}
        else:
            matching_keys = (key for start, key in _CAVEATS.items() if sentence.startswith(start))
            keys[next(matching_keys, sentence)] = {}
    return json.dumps(keys, sort_keys=True, ensure_ascii=False)
