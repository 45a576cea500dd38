"""Results of one experiment from several files: a study that was run in parts, on several machines or days."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from admmbench.base.outcomes import SUCCESSFUL, Outcome
from admmbench.partition import as_partition
from admmbench.results.kinship import with_kinship

# Facts of a whole file that its parts need not share.
_MAY_DIFFER = {"arithmetic", "machine", "shares", "versions"}
# What stands for a method or a run that is not there, by the kind of its type.
_NOTHING: dict[str, Any] = {"f": np.nan, "i": 0, "u": 0, "b": False, "U": ""}
_POINT = ("algorithm", "epsilon")
# Budgets that differ relatively by less were solved for by one rule, on other processors.
_SAME_BUDGET = 1e-4
# What an experiment says of decisions.
OF_DECISIONS = ("added", "looks", "control", "margin")


def join(first: xr.Dataset, second: xr.Dataset) -> xr.Dataset:
    """Add the runs of a second file to those of a first one.

    Parameters
    ----------
    first, second
        Results of one experiment at one scale, see `admmbench.study.aggregate.aggregate`.

    Returns
    -------
    xarray.Dataset
        All methods, budgets and seeds. ``fingerprint`` of a method, ``arithmetic``, ``machine`` and ``versions`` name
        those of both files.

    Raises
    ------
    ValueError
        If both have a run, or if they differ in a setting, in the budget of a release, in what they measure, or in the
        rounds that were evaluated. Settings that were tuned may differ.
    """
    first, second = _with_same_numbers(with_kinship(first), with_kinship(second))
    labels = list(dict.fromkeys(str(x) for each in (first, second) for x in each["algorithm"].data))
    changed = [*_other_settings(first, second), *_in_both(first, second)]
    if changed := changed or _other_budgets(first, second):
        raise ValueError(f"results cannot be joined: {'; '.join(changed)}")
    parts = [_runs_alone(each) for each in (first, second)]
    joined = parts[0].combine_first(parts[1]).sel(algorithm=labels)
    joined["fingerprint"] = _named_together("fingerprint", *parts).sel(algorithm=labels)
    if "mistakes" in joined:
        joined["mistakes"] = _mistakes_together(*parts).sel(algorithm=labels)
    for name, each in joined.items():
        like = (first if name in first.variables else second)[name]
        nothing = Outcome.NOT_RUN if name == "status" else _NOTHING[like.dtype.kind]
        filled = each.fillna(nothing).transpose(*like.dims)
        joined[name] = filled.astype(str if like.dtype.kind == "U" else like.dtype)
        joined[name].attrs = like.attrs
    joined["algorithm"] = joined["algorithm"].astype(str).assign_attrs(first["algorithm"].attrs)
    coordinates = [name for name in joined if name in first.coords]
    both = {
        **{
            name: each_once([str(each.attrs.get(name, "")) for each in (first, second)])
            for name in ("arithmetic", "machine")
            if name in {**first.attrs, **second.attrs}
        },
        "versions": _versions(first, second),
        "problem": in_common([first.attrs["problem"], second.attrs["problem"]]),
        "rounds": max(first.attrs["rounds"], second.attrs["rounds"]),
    }
    return joined.set_coords(coordinates).assign_attrs({**first.attrs, **both})


def replace(former: xr.Dataset, results: xr.Dataset) -> xr.Dataset:
    """Put methods in the place of those with the same labels, and leave all others as they are.

    Parameters
    ----------
    former
        Results of an experiment; what they do not measure is left out of the new ones.
    results
        Of the same experiment, of some or all of its methods.

    Returns
    -------
    xarray.Dataset
        All methods, in the order of the former results.

    Raises
    ------
    ValueError
        If the new results lack a budget of a method that they replace, or see `join`.
    """
    kept, new = (each["algorithm"].values.tolist() for each in (former, results))
    others = [label for label in kept if label not in new]
    had, has = (_points(_ran(each)) for each in (former, results))
    if lost := [each for each in had if each[0] in new and each not in has]:
        label, epsilon = lost[0]
        raise ValueError(
            f"results cannot replace the kept ones of {label}: they lack ε = {epsilon:g}; run it at all its budgets"
        )
    if not others:
        return results
    results = results[[name for name in results.data_vars if name in former]]
    # What the experiment says of decisions, it says today.
    attrs = {name: each for name, each in former.attrs.items() if name not in OF_DECISIONS}
    attrs |= {name: each for name, each in results.attrs.items() if name in OF_DECISIONS}
    staying = former.sel(algorithm=others)
    staying.attrs = attrs
    joined = join(staying, results)
    return joined.sel(algorithm=list(dict.fromkeys([*kept, *new])))


def _with_same_numbers(first: xr.Dataset, second: xr.Dataset) -> list[xr.Dataset]:
    """Give both the same numbers on methods: one that a file lacks, such as what tuning told, is unknown there."""
    files = [first, second]
    for k, (file, other) in enumerate((files, files[::-1])):
        unknown = np.full([file.sizes[dim] for dim in _POINT], np.nan)
        for name, each in other.coords.items():
            if name not in file.coords and each.dims == _POINT and each.dtype.kind == "f":
                files[k] = files[k].assign_coords({name: (_POINT, unknown, each.attrs)})
    return files


def _other_settings(first: xr.Dataset, second: xr.Dataset) -> list[str]:
    """Return the settings in which the files differ."""
    tuned = _tuned(first) | _tuned(second)
    names = sorted({*first.attrs, *second.attrs} - _MAY_DIFFER - {"problem"} - tuned)
    changed = [n for n in names if str(first.attrs.get(n)) != str(second.attrs.get(n))]
    # A file states what its methods have in common.
    problems = [
        pd.json_normalize({"problem": json.loads(each.attrs["problem"])}).iloc[0]
        for each in (first, second)
    ]
    stated = sorted({*problems[0].index} & {*problems[1].index} - tuned)
    changed += [name for name in stated if problems[0][name] != problems[1][name]]
    shared = {*first["algorithm"].values} & {*second["algorithm"].values}
    if (shared or "rounds" not in tuned) and not first["round"].equals(second["round"]):
        changed.append("evaluated rounds")
    coordinates = [set(map(str, each.coords)) for each in (first, second)]
    changed += sorted(coordinates[0] ^ coordinates[1])
    variables = set(first.variables) & set(second.variables)
    changed += sorted(f"dimensions of {n}" for n in variables if first[n].dims != second[n].dims)
    if not changed:
        changed = [
            f"{name} of {label}"
            for name, each in first.coords.items()
            if each.dims in (_POINT[:1], _POINT) and name not in ("algorithm", "fingerprint")
            for label in _with_other_values(first, second, str(name))
        ]
    return [f"they differ in {', '.join(changed)}"] if changed else []


def _tuned(results: xr.Dataset) -> set[str]:
    """Name the settings that methods were tuned in."""
    if "tuned" not in results.coords:
        return set()
    return {path for text in results["tuned"].values.flat if text for path in json.loads(text)}


def _with_other_values(first: xr.Dataset, second: xr.Dataset, name: str) -> list[str]:
    """List the methods that both ran, and to which the files give other values of a coordinate."""
    a, b = xr.align(*(each[name].reset_coords(drop=True) for each in (first, second)))
    beside = [dim for dim in ("epsilon", "seed") if dim not in a.dims]
    ran = [_ran(each).any(beside) for each in (first, second)]
    same = (a == b) | (a.isnull() & b.isnull())  # at the places that they share
    other = ~same & ran[0] & ran[1]
    other = other.any([dim for dim in other.dims if dim != "algorithm"])
    return [str(label) for label in other["algorithm"].values[other.values]]


def _other_budgets(first: xr.Dataset, second: xr.Dataset) -> list[str]:
    """List the settings whose noise of a release was solved for by other rules, a sentence for each.

    Where seeds give agents other numbers of rows, each may have a budget of its own.
    """
    stated = json.loads(first.attrs["partition"])
    if stated is not None and as_partition(stated).uneven:
        return []
    one, other = xr.align(release_budget(first), release_budget(second))
    budgets = xr.Dataset({"one": one, "other": other}).to_dataframe([*_POINT])
    changed = budgets[~same_budget(budgets["one"], budgets["other"])]
    return [
        f"a release of {label} at ε = {epsilon:g} has the budget {a:.4g} in one and {b:.4g} in the other, so its noise "
        "differs; run the seeds of the older one again with the code of the newer, or keep one of them"
        for (label, epsilon), a, b in changed.itertuples()
    ]


def _in_both(first: xr.Dataset, second: xr.Dataset) -> list[str]:
    """Name the runs that both files have."""
    both = _ran(first) & _ran(second)  # of the points that they share
    return [f"both have {label} at ε = {epsilon:g}" for label, epsilon in _points(both)]


def _points(ran: xr.DataArray) -> list[tuple[str, float]]:
    """List methods with a run, with their budgets."""
    points = ran.any("seed").stack(point=_POINT)
    return [*points[points].point.values.tolist()]


def _ran(results: xr.Dataset) -> xr.DataArray:
    return (results["status"] != Outcome.NOT_RUN).reset_coords(drop=True)


def _runs_alone(results: xr.Dataset) -> xr.Dataset:
    """Blank variables and facts where nothing was run."""
    ran = _ran(results)
    # Texts of one width would cut longer ones.
    labels = results["algorithm"].values.astype(object)
    flat = results.reset_coords().assign_coords(algorithm=labels)
    for name, each in flat.items():
        others = [dim for dim in ran.dims if dim not in each.dims]
        flat[name] = each.where(ran.any(others))
    return flat


def _named_together(name: str, first: xr.Dataset, second: xr.Dataset) -> xr.DataArray:
    """Join the texts of both files for each method."""
    a, b = xr.align(first[name], second[name], join="outer", fill_value="")
    texts = [each_once(pair, " ") for pair in zip(a.values, b.values, strict=True)]
    return a.copy(data=np.array(texts, object))


def _mistakes_together(first: xr.Dataset, second: xr.Dataset) -> xr.DataArray:
    """Add the mistakes of both files where they have seeds of one run; NaN if one of them counts none."""
    nothing = xr.DataArray(np.nan)
    counted = [each.get("mistakes", nothing) for each in (first, second)]
    ran = [(each["status"] != Outcome.NOT_RUN).any("seed") for each in (first, second)]
    a, b, of_first, of_second = xr.align(*counted, *ran, join="outer", fill_value=np.nan)
    both = (of_first == 1) & (of_second == 1)
    return (a + b).where(both, a.fillna(b))


def _versions(first: xr.Dataset, second: xr.Dataset) -> str:
    """Join the versions of each package, as JSON."""
    both = [json.loads(each.attrs.get("versions", "{}")) for each in (first, second)]
    return json.dumps(
        {
            package: each_once([each.get(package, "") for each in both], ", ")
            for package in sorted({*both[0], *both[1]})
        }
    )


def release_budget(results: xr.Dataset) -> xr.DataArray:
    """Return the budget of one release, which is solved for where a total is asked for.

    Parameters
    ----------
    results
        Of one run or several.

    Returns
    -------
    xarray.DataArray
        Over the dimensions of runs but ``seed``; NaN where no seed has all rounds.
    """
    claimed = results["epsilon_claimed"].reset_coords(drop=True)
    budget = (claimed.diff("round") / claimed["round"].diff("round")).max("round")
    whole = results["status"].isin(SUCCESSFUL).any("seed")
    return budget.where(whole.reset_coords(drop=True))


def same_budget(one: Any, other: Any) -> Any:
    """Return where two budgets are the same, or one is not known."""
    return np.isclose(one, other, rtol=_SAME_BUDGET, atol=0) | np.isnan(one) | np.isnan(other)


def each_once(texts: Iterable[str], separator: str = "; ") -> str:
    """Make one of several lists in words, in which nothing stands twice."""
    parts = [part for text in texts for part in text.split(separator) if part]
    return separator.join(dict.fromkeys(parts))


def in_common(problems: list[str]) -> str:
    """Keep the settings that are the same in all problems, as JSON; those that are tuned are not."""
    several = [json.loads(problem) for problem in dict.fromkeys(problems)]
    return json.dumps(_shared(several), sort_keys=True) if len(several) > 1 else problems[0]


def _shared(mappings: list[dict[str, Any]]) -> dict[str, Any]:
    first = mappings[0]
    common = {}
    for key in first:
        values = [mapping.get(key) for mapping in mappings]
        settings = [value for value in values if isinstance(value, dict)]
        if len(settings) == len(values):
            common[key] = _shared(settings)
        elif all(value == first[key] for value in values):
            common[key] = first[key]
    return common
