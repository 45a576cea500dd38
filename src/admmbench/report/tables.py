"""Tables of the report about one experiment: rows of text and numbers, from its results alone."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from admmbench.frames.outcomes import FAILED, SUCCESSFUL
from admmbench.privacy import (
    ACCOUNTANTS,
    NEIGHBOURS,
    RECORD,
    Accountant,
    delta_warning,
    unit_of_privacy,
)
from admmbench.results import statistics
from admmbench.results.wording import at


def setting(results: xr.Dataset) -> dict[str, str]:
    """What was run, as name and value."""
    attrs = results.attrs
    constrained = statistics.is_constrained(results)
    budgets = {
        f"Budgets {budget(results)}": ", ".join(
            stated(float(e)) for e in results["epsilon"].values
        ),
        "δ": _each(results["delta"]),
        "Sensitivity": str(attrs["sensitivity"]),
    }
    # A method may have neighbours of its own.
    if NEIGHBOURS[attrs["relation"]] in results["neighbours"].values:
        budgets["Neighbours"] = attrs["relation"]
    data = (
        f"{attrs['dataset']}: {attrs['n_train']:,} training and {attrs['n_test']:,} test samples, "
    )
    targets = f"{attrs['n_classes']} classes" if attrs["n_classes"] else "numbers as targets"
    data += f"{attrs['n_features']:,} features, {targets}"
    return {
        "Data": data,
        **({"Note on the data": attrs["dataset_note"]} if attrs.get("dataset_note") else {}),
        "Agents": f"{_each(results['agents'])}; partition: {_partition(attrs['partition'])}",
        **({"Shares": attrs["shares"]} if attrs.get("shares") else {}),
        "Problem": mapping(attrs["problem"]),
        "Rounds": _rounds(results),
        "Seeds": str(results.sizes["seed"]),
        **({} if constrained else budgets),
        "Arithmetic": "float64" if constrained else str(attrs["dtype"]),
    }


def _partition(text: str) -> str:
    """How records are shared out; a number of agents stands for equal shares."""
    return mapping(text) if text.startswith("{") else "iid"


def budget(results: xr.Dataset) -> str:
    """What a budget is."""
    return "ε of the whole run" if statistics.of_whole_runs(results) else "ε per iteration"


def _each(coordinate: xr.DataArray) -> str:
    """Distinct values, in their order."""
    values = dict.fromkeys(coordinate.values.tolist())
    return ", ".join(f"{v:,}" if isinstance(v, int) else delta(v) for v in values)


def _rounds(results: xr.Dataset) -> str:
    """Of all runs, or the fewest and the most where methods have their own."""
    found = results["rounds"].values
    fewest, most = found[found > 0].min(), found.max()
    return f"{most:,}" if fewest == most else f"{fewest:,} to {most:,}"


def methods(results: xr.Dataset) -> list[dict[str, Any]]:
    """One entry for each method: what it is, and what became of its runs."""
    state = statistics.counts(results).sum("epsilon")
    return [
        {
            "label": str(own["algorithm"].item()),
            "method": str(own["method"].item()),
            "variant": str(own["variant"].item()),
            "noise": str(own["noise"].item()),
            "params": _params(own, tuned),
            "fingerprint": str(own["fingerprint"].item()),
            "completed": sum(int(own[each.word]) for each in SUCCESSFUL),
            "lost": " and ".join(statistics.lost(own)[0]),
        }
        for own, tuned in zip(
            (state.isel(algorithm=i) for i in range(results.sizes["algorithm"])),
            _tuned(results),
            strict=True,
        )
    ]


def _tuned(results: xr.Dataset) -> list[set[str]]:
    """Paths of the settings that were tuned, for each method."""
    if "tuned" not in results:
        return [set() for _ in results["algorithm"]]
    rows = results["tuned"].transpose("algorithm", ...).values
    return [{path for each in own if each for path in json.loads(str(each))} for own in rows]


def _params(own: xr.Dataset, tuned: set[str]) -> str:
    """Parameters of a method, and which of its settings were tuned."""
    given = mapping(str(own["params"].item()))
    names = ", ".join(sorted(path.removeprefix("params.") for path in tuned))
    return "; ".join(filter(None, (given, f"tuned: {names}" if names else ""))) or "defaults"


def error_tables(results: xr.Dataset) -> dict[str, statistics.Reduction]:
    """Captions of the tables of the problem's metric, and what each shows of a run."""
    attrs = results[results.attrs["metric"]].attrs
    unit = "%" if statistics.is_fraction(results) else attrs["units"]
    words = {"%": " in percent", "1": ""}.get(unit, f" in {unit}")
    name = attrs["long_name"]
    return {f"Final {name}{words}": "final", f"Lowest {name} of all rounds{words}": "best"}


# Columns of the table of solutions, in their order, with their heads; groups' losses follow.
_OF_SOLUTIONS = {
    "train_loss": "Objective",
    "feasibility": "Violation",
    "stationarity": "Stationarity",
    "outer_iterations": "Outer",
    "inner_iterations": "Inner",
    "floats_sent": "Numbers sent",
    "seconds": "Seconds",
    "test_error": "Test error, %",
}


def solutions(results: xr.Dataset) -> dict[str, Any]:
    """Where methods for a constrained problem end: how runs ended, and means over seeds."""
    if not statistics.is_constrained(results):
        return {}
    heads = {name: head for name, head in _OF_SOLUTIONS.items() if name in results}
    heads |= {
        str(name): str(name).replace("_", " ")
        for name in results
        if str(name).startswith(("loss_", "disparity_"))
    }
    ends = statistics.counts(results).sum("epsilon")
    values = {name: statistics.final(results, name).mean("seed").mean("epsilon") for name in heads}
    if "test_error" in values:
        values["test_error"] = 100 * values["test_error"]
    rows = [
        {
            "label": str(label),
            "ended": ", ".join(
                f"{int(ends[each.word].sel(algorithm=label))} {each.words}"
                for each in (*SUCCESSFUL, *FAILED)
                if ends[each.word].sel(algorithm=label) > 0
            ),
            "cells": [_exact_cell(float(each.sel(algorithm=label))) for each in values.values()],
        }
        for label in results["algorithm"].values
    ]
    return {"heads": list(heads.values()), "rows": rows}


def cell(value: float) -> str:
    """A number with four digits, or all of a larger one; a dash for none."""
    if math.isnan(value):
        return "–"
    return f"{value:,.0f}" if 1e4 <= abs(value) < 1e9 else f"{value:.4g}"


def _exact_cell(value: float) -> dict[str, str]:
    """A cell of a table with its number, from which a reader's choice of digits is made."""
    return {"text": cell(value), "exact": _exact(value)}


def _exact(*values: float) -> str:
    """Numbers with more digits than are printed, as attributes of a cell have them."""
    return " ".join(f"{value:.6e}" for value in values if not math.isnan(value))


def errors(results: xr.Dataset, how: statistics.Reduction) -> list[dict[str, Any]]:
    """Metric of each method: mean and band for each epsilon; the lowest final means marked, see `_best`."""
    percent = statistics.is_fraction(results)
    values = statistics.reduce(results, results.attrs["metric"], how) * (100 if percent else 1)
    band = statistics.band(values)
    best = _plain(_best(results, values))
    best &= how == "final"  # the lowest of all rounds is selected on the test set
    failed = _plain(results["status"].isin(FAILED).sum("seed"))
    started = _plain((results["status"] >= 0).sum("seed"))
    cells = _cells_of_seeds(values, band, ".2f" if percent else ".4g")
    return [
        {
            "label": str(label),
            "cells": [
                {
                    **cell,
                    "best": bool(best[row, column]),
                    "lost": f"{failed[row, column]} of {started[row, column]} lost"
                    if failed[row, column]
                    else "",
                }
                for column, cell in enumerate(cells[row])
            ],
        }
        for row, label in enumerate(results["algorithm"].values)
    ]


def _plain(values: xr.DataArray) -> NDArray[Any]:
    """Values over methods and budgets, without labels: to look up thousands of cells by label takes seconds."""
    array: NDArray[Any] = values.transpose("algorithm", "epsilon", ...).values
    return array


def _best(results: xr.Dataset, values: xr.DataArray) -> xr.DataArray:
    """Which methods have the lowest mean at equal privacy or are tied with it, over algorithms and budgets.

    Intervals of paired differences hold together for all pairs of methods with equal privacy (Bonferroni). Neither a
    mean without rivals is marked, nor that of a method that lost a run.
    """
    values = values.where(~statistics.lost_any(results))
    rivals = values.rename(algorithm="rival").where(statistics.equally_private(results))
    means = rivals.mean("seed")
    several = means.notnull().sum("rival") > 1
    pairs = max(1, int((means.notnull().sum("rival") - 1).where(several, 0).sum()) // 2)
    lowest = rivals.isel(rival=means.fillna(math.inf).argmin("rival"))
    level = 1 - (1 - statistics.LEVEL) / pairs
    gap = statistics.difference(values, lowest.drop_vars("rival"))
    behind = statistics.interval(gap, level, statistics.redrawn(results))
    found: xr.DataArray = several & values.notnull().any("seed") & ~(behind["lower"] > 0)
    return found


def _cells_of_seeds(
    values: xr.DataArray, band: xr.Dataset, form: str
) -> list[list[dict[str, str]]]:
    """Mean over seeds, and how they spread, of each budget of each method."""
    numbers, same = _plain(values), _plain(statistics.same_for_all_seeds(values))
    mean, lower, upper = (_plain(band[name]) for name in ("mean", "lower", "upper"))
    rows, columns = same.shape
    return [
        [
            _cell_of_seeds(
                numbers[row, column],
                mean[row, column],
                lower[row, column],
                upper[row, column],
                same[row, column],
                form,
            )
            for column in range(columns)
        ]
        for row in range(rows)
    ]


def _cell_of_seeds(
    values: NDArray[np.float64], mean: float, lower: float, upper: float, same: bool, form: str
) -> dict[str, str]:
    """Mean over seeds, and their spread: a band, or each of a few seeds, or a note that all are the same."""
    spread, others = "", list[float]()
    if np.sum(~np.isnan(values)) > 1 and not same:
        few = values.size <= statistics.FEW_SEEDS
        others = [*values] if few else [lower, upper]
        texts = [_number(value, form) for value in others]
        spread = f"({', '.join(texts)})" if few else f"[{'–'.join(texts)}]"
    return {
        "mean": _number(mean, form),
        "band": spread,
        "same": "the same for all seeds" if same else "",
        "exact": _exact(mean, *others),
    }


def _number(value: float, form: str) -> str:
    text = "–" if math.isnan(value) else f"{value:{form}}"
    return cell(value) if "e+" in text else text


def spread(results: xr.Dataset) -> str:
    """Say over which seeds a mean in a table is, and what is shown beside it."""
    n = results.sizes["seed"]
    if n == 1:
        return "of one seed"
    if n <= statistics.FEW_SEEDS:
        return f"over seeds (each of the {n})"
    low, high = statistics.PERCENTILES
    text = f"[{low:.0f}–{high:.0f} percentile] over {n} seeds"
    fewer = [f"{at(label, e)}: {own}" for label, e, own in statistics.fewer_seeds(results)]
    return f"{text} ({'; '.join(fewer)})" if fewer else text


def times(results: xr.Dataset) -> list[dict[str, str]]:
    """Computing time of each method and budget: mean and band, and how it compares with the shortest of its budget."""
    if "seconds" not in results or statistics.is_constrained(results):  # then solutions have them
        return []
    values = statistics.final(results, "seconds")
    band = statistics.band(values)
    ratio = _plain(band["mean"] / band["mean"].min("algorithm"))
    n = _plain(band["n"])
    cells = _cells_of_seeds(values, band, ".3g")
    return [
        {
            "label": str(label),
            "epsilon": stated(float(epsilon)),
            **cells[row][column],
            "ratio": f"{ratio[row, column]:.1f}",
        }
        for row, label in enumerate(results["algorithm"].values)
        for column, epsilon in enumerate(results["epsilon"].values)
        if n[row, column]
    ]


def accountants(results: xr.Dataset) -> list[Accountant]:
    """Accountants whose totals are in the results."""
    return [each for each in ACCOUNTANTS.values() if each.variable in results]


def privacy(results: xr.Dataset) -> list[dict[str, Any]]:
    """Budgets after the last round, for the methods and finite budgets that were run."""
    variables = [
        "epsilon_claimed",
        *(each.variable for each in accountants(results)),
        "epsilon_total",
    ]
    found = [_plain(statistics.final(results, name)) for name in variables]
    ran = _plain((results["status"] >= 0).any("seed"))
    methods = [results[name].values for name in ("algorithm", "delta", "guarantee")]
    return [
        {
            "label": str(label),
            "epsilon": stated(float(epsilon)),
            "delta": delta(float(of)),
            "guarantee": str(guarantee),
            "totals": [total(float(values[row, column])) for values in found],
        }
        for row, (label, of, guarantee) in enumerate(zip(*methods, strict=True))
        for column, epsilon in enumerate(results["epsilon"].values)
        if math.isfinite(epsilon) and ran[row, column]
    ]


def about_totals(results: xr.Dataset) -> list[str]:
    """What totals are about, and where their delta is too large for that; nothing where no total is finite."""
    if not privacy(results):
        return []
    units = {str(each): unit_of_privacy(str(each)) for each in results["neighbours"].values if each}
    found = [f"Totals are about {unit}." for unit in dict.fromkeys(units.values())]
    of_records = results["neighbours"].isin([each for each in units if units[each] == RECORD])
    largest = float(results["delta"].where(of_records).max())  # NaN where none is about records
    if warning := delta_warning(largest, int(results.attrs["n_train"])):
        found.append(f"Warning: {warning}.")
    return found


def notes(results: xr.Dataset) -> list[str]:
    """What a reader should know about the budgets, where there are any, and the caveats that methods declare."""
    ran = (results["status"] >= 0).any("seed")
    finite = ran.sel(epsilon=np.isfinite(results["epsilon"].values))
    private = [str(label) for label in finite["algorithm"].values[finite.any("epsilon").values]]
    caveats = [text for own in results["caveats"].values for text in json.loads(str(own))]
    return [*(_about_budgets(results, private) if private else []), *dict.fromkeys(caveats)]


def _about_budgets(results: xr.Dataset, private: list[str]) -> list[str]:
    """What the budgets of this experiment do and do not promise.

    Parameters
    ----------
    results
        Of the experiment.
    private
        Labels of the methods that were run with a finite budget.
    """
    shown = results.sel(algorithm=private)
    noisy = shown.sel(algorithm=shown["notion"].values != "none")
    whole = statistics.of_whole_runs(results)
    notes = [
        "ε is the budget of a whole run, at the stated δ. The noise of each method is calibrated to it, so that "
        "methods are compared at equal privacy."
        if whole
        else "ε is a budget for one iteration. It composes over the rounds: the composed value, at the stated "
        "δ, is what the whole run spends. Bold in the table of errors compares methods of equal totals only."
    ]
    worth = _labels_by(noisy, "guarantee")
    if results.attrs["sensitivity"] == "local" and "none" in worth:
        whose = "" if set(worth) == {"none"} else f" of {', '.join(worth['none'])}"
        notes.append(
            f"The noise{whose} is scaled by a local sensitivity, computed from the agent's own records, as in the "
            "papers: their norms (huang2019), or also the current iterate (ryu2021, ryu2022; hu2019 assumes "
            "bounds instead). A scale that depends on the data can "
            "itself distinguish neighbouring data sets: the composed values are what composition "
            "gives if every iteration had the stated budget, not a valid guarantee. The setting "
            "sensitivity: global gives one."
        )
    if results.attrs["sensitivity"] == "global" and worth:
        notes.append("The noise is scaled by the worst case over all admissible records.")
        if "none" in worth:
            notes.append(f"Still without a guarantee: {', '.join(worth['none'])}.")
    notes += [
        f"Neighbouring data sets of {', '.join(labels)}: {difference}."
        for difference, labels in _labels_by(noisy, "neighbours").items()
    ]
    notions = _labels_by(noisy, "notion")
    if len(notions) > 1:
        notes.append(
            f"ε-DP ({', '.join(notions['pure'])}) and (ε, δ)-DP ({', '.join(notions['approximate'])}) are different "
            "notions of privacy for one release; a composed (ε, δ) is the same notion for both."
        )
    if not whole and _beyond_calibration(noisy):
        notes.append(
            "The calibration of Gaussian noise by ln(1.25/δ) is proved for ε ≤ 1 only; larger ε "
            "follow the papers."
        )
    return notes


def _labels_by(results: xr.Dataset, fact: str) -> dict[str, list[str]]:
    """Labels of the methods that share a fact, by its value."""
    found: dict[str, list[str]] = {}
    for label, value in zip(results["algorithm"].values, results[fact].values, strict=True):
        found.setdefault(str(value), []).append(str(label))
    return found


def _beyond_calibration(results: xr.Dataset) -> bool:
    """Whether Gaussian noise was drawn for a finite budget above 1."""
    approximate = results.sel(algorithm=results["notion"].values == "approximate")
    epsilon = results["epsilon"].values
    large = approximate.sel(epsilon=np.isfinite(epsilon) & (epsilon > 1))
    return bool((large["status"] >= 0).any())


def mapping(text: str) -> str:
    """JSON object as ``key = value, ...``."""
    content = json.loads(text)
    if not isinstance(content, dict):
        return str(content)
    return ", ".join(f"{key} = {_as_text(value)}" for key, value in content.items() if value != {})


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def stated(budget: float) -> str:
    """A budget, or that there is none."""
    return "none" if math.isinf(budget) else total(budget)


def total(value: float) -> str:
    """A budget of one iteration or of a whole run."""
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞"
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"


def delta(value: float) -> str:
    """A probability, with few digits."""
    return f"{value:g}".replace("e-0", "e-")
