"""Joins of results of one experiment from several files, as of a study that ran on several machines or days."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from admmbench.base.outcomes import SUCCESSFUL, Outcome
from admmbench.partition import as_partition
from admmbench.results.declarations import with_declarations

# Attributes in which files that are joined may differ.
_MAY_DIFFER = {"arithmetic", "machine", "shares", "versions"}
NOTHING: dict[str, Any] = {"f": np.nan, "i": 0, "u": 0, "b": False, "U": "", "O": ""}
"""Fill value for a method or a run that is not there, by the kind of the variable's type."""
_POINT = ("algorithm", "epsilon")
# Budgets that differ relatively by less were solved for by one rule, on other processors.
_SAME_BUDGET = 1e-4
# Attributes that state how an experiment is judged.
OF_DECISIONS = ("added", "interim_analyses", "pairs", "control", "margin")
MIRROR = ("mirror", "mirror_status")
"""Variables of the mirrors of seeds: the final metric, and how the run ended."""


def join(first: xr.Dataset, second: xr.Dataset) -> xr.Dataset:
    """Add the runs of a second file to those of a first one.

    Parameters
    ----------
    first, second
        Results of one experiment at one scale, see `admmbench.study.aggregate.aggregate`.

    Returns
    -------
    xarray.Dataset
        All methods, budgets and seeds. ``fingerprint`` of a method, ``arithmetic``, ``machine`` and ``versions`` have
        the values of both files. Variables over an axis that one file lacks, as those of earlier versions do, are left
        out.

    Raises
    ------
    ValueError
        If both files have a run, or if they differ in a setting, in the budget of a release, in their variables, or in
        the rounds that were evaluated. Settings that were tuned may differ, and the second file need not state how the
        experiment is judged.
    """
    axes_of_one = {*first.indexes} ^ {*second.indexes}
    first, second = (part.drop_dims(axes_of_one, errors="ignore") for part in (first, second))
    first, second = _with_equal_coordinates(with_declarations(first), with_declarations(second))
    labels = list(dict.fromkeys(str(x) for part in (first, second) for x in part["algorithm"].data))
    settings = _setting_conflicts(first, second)
    twice = _points(_ran(first) & _ran(second))
    changed = [f"they differ in {', '.join(settings)}"] if settings else []
    changed += [f"both have {label} at ε = {epsilon:g}" for label, epsilon in twice]
    if not changed:
        changed = [
            f"a release of {label} at ε = {epsilon:g} has the budget {a:.4g} in one and {b:.4g} in the other, so its "
            "noise differs; run the seeds of the older one again with the code of the newer, or keep one of them"
            for (label, epsilon), a, b in _budget_conflicts(first, second)
        ]
    if changed:
        raise ValueError(f"results cannot be joined: {'; '.join(changed)}")
    parts = [_without_missing_runs(part) for part in (first, second)]
    joined = parts[0].combine_first(parts[1]).sel(algorithm=labels)
    joined["fingerprint"] = _joined_texts("fingerprint", *parts).sel(algorithm=labels)
    if "mistakes" in joined:
        joined["mistakes"] = _summed_mistakes(*parts).sel(algorithm=labels)
    for name, variable in joined.items():
        like = (first if name in first.variables else second)[name]
        nothing = (
            Outcome.NOT_RUN if name in ("status", "mirror_status") else NOTHING[like.dtype.kind]
        )
        filled = variable.fillna(nothing).transpose(*like.dims)
        joined[name] = filled.astype(str if like.dtype.kind == "U" else like.dtype)
        joined[name].attrs = like.attrs
    joined["algorithm"] = joined["algorithm"].astype(str).assign_attrs(first["algorithm"].attrs)
    coordinates = [name for name in joined if name in first.coords]
    attrs = {
        **{
            name: each_once([str(part.attrs.get(name, "")) for part in (first, second)])
            for name in ("arithmetic", "machine")
            if name in {**first.attrs, **second.attrs}
        },
        "versions": _joined_versions(first, second),
        "problem": in_common([first.attrs["problem"], second.attrs["problem"]]),
        "rounds": max(first.attrs["rounds"], second.attrs["rounds"]),
    }
    return joined.set_coords(coordinates).assign_attrs({**first.attrs, **attrs})


def replace(former: xr.Dataset, results: xr.Dataset) -> xr.Dataset:
    """Replace methods by new results with the same labels, and leave all others as they are.

    Parameters
    ----------
    former
        Results of an experiment; variables that they lack are left out of the new ones.
    results
        Results of some or all methods of the same experiment.

    Returns
    -------
    xarray.Dataset
        All methods, in the order of the former results.

    Raises
    ------
    ValueError
        If the new results lack a budget of a method that they replace, or see `join`.
    """
    former_labels, new_labels = (file["algorithm"].values.tolist() for file in (former, results))
    others = [label for label in former_labels if label not in new_labels]
    former_points, new_points = (_points(_ran(file)) for file in (former, results))
    lacking = [point for point in former_points if point not in new_points]
    for label, epsilon in (point for point in lacking if point[0] in new_labels):
        raise ValueError(
            f"results cannot replace the reference results of {label}: they lack ε = {epsilon:g}; run it at all its "
            "budgets"
        )
    if not others:
        return results
    names = [name for name in results.data_vars if name in former or name in MIRROR]
    results = results[names]
    # The experiment is judged as it states today, not as it did for the former results.
    attrs = {name: value for name, value in former.attrs.items() if name not in OF_DECISIONS}
    attrs |= {name: value for name, value in results.attrs.items() if name in OF_DECISIONS}
    staying = former.sel(algorithm=others)
    staying.attrs = attrs
    joined = join(staying, results)
    return joined.sel(algorithm=list(dict.fromkeys([*former_labels, *new_labels])))


def _with_equal_coordinates(first: xr.Dataset, second: xr.Dataset) -> list[xr.Dataset]:
    """Return both files with the same numeric coordinates of methods: NaN where a file lacks one, such as of tuning."""
    files = [first, second]
    for k, (file, other) in enumerate((files, files[::-1])):
        unknown = np.full([file.sizes[dim] for dim in _POINT], np.nan)
        for name, coordinate in other.coords.items():
            if (
                name not in file.coords
                and coordinate.dims == _POINT
                and coordinate.dtype.kind == "f"
            ):
                files[k] = files[k].assign_coords({name: (_POINT, unknown, coordinate.attrs)})
    return files


def _setting_conflicts(first: xr.Dataset, second: xr.Dataset) -> list[str]:
    """Return the settings in which the files differ."""
    tuned = _tuned_settings(first) | _tuned_settings(second)
    unstated = {*OF_DECISIONS} - {*second.attrs}
    names = sorted({*first.attrs, *second.attrs} - _MAY_DIFFER - {"problem"} - tuned - unstated)
    changed = [n for n in names if str(first.attrs.get(n)) != str(second.attrs.get(n))]
    # The problem of a file has the settings that its methods have in common.
    problems = [
        pd.json_normalize({"problem": json.loads(file.attrs["problem"])}).iloc[0]
        for file in (first, second)
    ]
    stated = sorted({*problems[0].index} & {*problems[1].index} - tuned)
    changed += [name for name in stated if problems[0][name] != problems[1][name]]
    shared = {*first["algorithm"].values} & {*second["algorithm"].values}
    if (shared or "rounds" not in tuned) and not first["round"].equals(second["round"]):
        changed.append("evaluated rounds")
    coordinates = [set(map(str, file.coords)) for file in (first, second)]
    changed += sorted(coordinates[0] ^ coordinates[1])
    variables = set(first.variables) & set(second.variables)
    changed += sorted(f"{n} (dimensions)" for n in variables if first[n].dims != second[n].dims)
    if not changed:
        changed = [
            f"{name} of {label}"
            for name, file in first.coords.items()
            if file.dims in (_POINT[:1], _POINT) and name not in ("algorithm", "fingerprint")
            for label in _conflicting_methods(first, second, str(name))
        ]
    return changed


def _tuned_settings(results: xr.Dataset) -> set[str]:
    """Return the names of settings that were tuned."""
    if "tuned" not in results.coords:
        return set()
    return {path for text in results["tuned"].values.flat if text for path in json.loads(text)}


def _conflicting_methods(first: xr.Dataset, second: xr.Dataset, name: str) -> list[str]:
    """Return the methods that ran in both files with different values of a coordinate."""
    a, b = xr.align(*(file[name].reset_coords(drop=True) for file in (first, second)))
    dims = [dim for dim in ("epsilon", "seed") if dim not in a.dims]
    ran = [_ran(file).any(dims) for file in (first, second)]
    same = (a == b) | (a.isnull() & b.isnull())  # at the places that they share
    differs = ~same & ran[0] & ran[1]
    differs = differs.any([dim for dim in differs.dims if dim != "algorithm"])
    return [str(label) for label in differs["algorithm"].values[differs.values]]


def _budget_conflicts(
    first: xr.Dataset, second: xr.Dataset
) -> list[tuple[tuple[str, float], float, float]]:
    """Return the methods and budgets whose noise was calibrated by different rules, with both budgets of a release.

    Where seeds give agents other numbers of rows, each seed may have a budget of its own, so that none is compared.
    """
    stated = json.loads(first.attrs["partition"])
    if stated is not None and as_partition(stated).uneven:
        return []
    one, other = xr.align(release_budget(first), release_budget(second))
    budgets = xr.Dataset({"one": one, "other": other}).to_dataframe([*_POINT])
    changed = budgets[~same_budget(budgets["one"], budgets["other"])]
    return [*changed.itertuples(name=None)]


def _points(ran: xr.DataArray) -> list[tuple[str, float]]:
    """Return the methods and budgets with a run."""
    points = ran.any("seed").stack(point=_POINT)
    return [*points[points].point.values.tolist()]


def _ran(results: xr.Dataset) -> xr.DataArray:
    """Tell which runs were started."""
    return (results["status"] != Outcome.NOT_RUN).reset_coords(drop=True)


def _without_missing_runs(results: xr.Dataset) -> xr.Dataset:
    """Return results whose variables and coordinates are NaN where nothing was run."""
    ran = _ran(results)
    # Texts of fixed width would cut the longer labels of another file.
    labels = results["algorithm"].values.astype(object)
    flat = results.reset_coords().assign_coords(algorithm=labels)
    for name, variable in flat.items():
        others = [dim for dim in ran.dims if dim not in variable.dims]
        flat[name] = variable.where(ran.any(others))
    return flat


def _joined_texts(name: str, first: xr.Dataset, second: xr.Dataset) -> xr.DataArray:
    """Return the texts of both files for each method, joined."""
    a, b = xr.align(first[name], second[name], join="outer", fill_value="")
    texts = [each_once(pair, " ") for pair in zip(a.values, b.values, strict=True)]
    return a.copy(data=np.array(texts, object))


def _summed_mistakes(first: xr.Dataset, second: xr.Dataset) -> xr.DataArray:
    """Return the sum of mistakes of both files where they have seeds of one run; NaN if a file counts none."""
    nothing = xr.DataArray(np.nan)
    counted = [file.get("mistakes", nothing) for file in (first, second)]
    ran = [(file["status"] != Outcome.NOT_RUN).any("seed") for file in (first, second)]
    a, b, of_first, of_second = xr.align(*counted, *ran, join="outer", fill_value=np.nan)
    in_both = (of_first == 1) & (of_second == 1)
    return (a + b).where(in_both, a.fillna(b))


def _joined_versions(first: xr.Dataset, second: xr.Dataset) -> str:
    """Return the versions of each package in both files, as JSON."""
    versions = [json.loads(file.attrs.get("versions", "{}")) for file in (first, second)]
    return json.dumps(
        {
            package: each_once([file.get(package, "") for file in versions], ", ")
            for package in sorted({*versions[0], *versions[1]})
        }
    )


def release_budget(results: xr.Dataset) -> xr.DataArray:
    """Return the budget of one release, which is calibrated where a total ε is asked for.

    Parameters
    ----------
    results
        Results of one run or several.

    Returns
    -------
    xarray.DataArray
        Budgets over the dimensions of runs without ``seed``; NaN where no seed has all rounds.
    """
    claimed = results["epsilon_claimed"].reset_coords(drop=True)
    budget = (claimed.diff("round") / claimed["round"].diff("round")).max("round")
    whole = results["status"].isin(SUCCESSFUL).any("seed")
    return budget.where(whole.reset_coords(drop=True))


def same_budget(one: Any, other: Any) -> Any:
    """Return whether two budgets are the same, or one is not known."""
    return np.isclose(one, other, rtol=_SAME_BUDGET, atol=0) | np.isnan(one) | np.isnan(other)


def each_once(texts: Iterable[str], separator: str = "; ") -> str:
    """Return one list of several lists in words, without repetitions."""
    parts = [part for text in texts for part in text.split(separator) if part]
    return separator.join(dict.fromkeys(parts))


def in_common(problems: list[str]) -> str:
    """Return the settings that are the same in all problems, as JSON, which leaves out tuned ones."""
    several = [json.loads(problem) for problem in dict.fromkeys(problems)]
    return (
        json.dumps(_common_settings(several), sort_keys=True) if len(several) > 1 else problems[0]
    )


def _common_settings(mappings: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the keys and values that all mappings share, also within mappings."""
    first = mappings[0]
    common = {}
    for key in first:
        values = [mapping.get(key) for mapping in mappings]
        settings = [value for value in values if isinstance(value, dict)]
        if len(settings) == len(values):
            common[key] = _common_settings(settings)
        elif all(value == first[key] for value in values):
            common[key] = first[key]
    return common
