"""End of a ranking: a table of all methods and baselines at each total ε, and one sentence for what is known."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import xarray as xr

from admmbench.figures.wording import measured
from admmbench.inference import intervals
from admmbench.inference.intervals import ROUNDING
from admmbench.report.data import Cell, Table, Value
from admmbench.report.environment import words
from admmbench.results import statistics
from admmbench.results.who_wins import compared_settings

CONSTANT = "constant answer"
"""Name of the row with the best constant prediction by the training records."""


class Row(NamedTuple):
    """Method or baseline in a setting; several names of one method are joined by " = "."""

    method: str
    error: Value
    difference: Value | None
    """Difference from the method with the lowest mean; None for that method, and for baselines."""
    verdict: str
    """See `admmbench.inference.contrasts.judge_setting`, or ``baseline``."""
    seeds: int
    stopped: bool = False
    """Whether others have more seeds, as the method was behind: its intervals are those of its last analysis."""
    no_better: bool = False
    """Whether it is a method that is no better than the best constant."""


class Closing(NamedTuple):
    """Rows of a setting by their errors, with what the sentence says besides."""

    epsilon: float
    measure: str
    unit: str
    margin: Value
    seeds_needed: float
    """Forecast of the seeds that make the setting conclusive, 0 where it is."""
    constant: Value
    rows: list[Row]

    def of(self, *verdicts: str) -> list[Row]:
        """Return the rows with some verdicts."""
        return [row for row in self.rows if row.verdict in verdicts]

    @property
    def seeds(self) -> int:
        """Return the largest number of seeds of a method."""
        return max(row.seeds for row in self.rows)

    @property
    def farthest(self) -> Value:
        """Return the largest difference of means of a method that is open from the lowest one."""
        ends = [row.difference.centre for row in self.of("undecided") if row.difference]
        return Value(max(ends, default=math.nan), fraction=self.constant.fraction)


def closings(comparison: xr.Dataset, results: xr.Dataset) -> Iterator[Closing]:
    """Yield the end of each setting of a comparison of one experiment."""
    for setting in compared_settings(comparison):
        fraction = bool(setting["fraction"])
        constant = Value(float(setting["constant"]), fraction=fraction)
        rows = [*_methods(setting, results, constant), *_baselines(results, fraction)]
        if not math.isnan(constant.centre):
            rows.append(Row(CONSTANT, constant, None, "baseline", 0))
        yield Closing(
            float(setting["epsilon"]),
            str(setting["long_name"].item()),
            "%" if fraction else str(setting["units"].item()).removeprefix("1"),
            Value(float(setting["margin"]), fraction=fraction),
            float(setting["seeds"]),
            constant,
            sorted(rows, key=lambda row: (math.isnan(row.error.centre), row.error.centre)),
        )


def table(closing: Closing) -> Table:
    """Return the table of a setting: method, value, difference from the lowest, verdict."""
    unit = f", {closing.unit}" if closing.unit else ""
    heads = [
        "Method",
        f"{closing.measure[:1].upper()}{closing.measure[1:]}{unit}",
        "From the lowest",
        "Verdict",
    ]
    return Table(heads, heads[1:3], [_cells(row) for row in closing.rows])


def _cells(row: Row) -> list[str | Cell]:
    difference = _interval(row.difference) if row.difference else ""
    return [row.method, _interval(row.error), difference, words().verdict(row).strip()]


def _interval(value: Value) -> str:
    text = measured(value.centre, value.fraction)
    if math.isnan(value.lower) or value.same_for_all_seeds:
        return text
    return (
        f"{text} [{measured(value.lower, value.fraction)}, {measured(value.upper, value.fraction)}]"
    )


def _methods(setting: xr.Dataset, results: xr.Dataset, constant: Value) -> Iterator[Row]:
    """Yield a row for each method that competes; labels with the same values at this budget share one."""
    compared = setting.isel(algorithm=setting["compared"].values)
    losses = results["train_loss"].sel(epsilon=float(setting["epsilon"]))
    names: dict[bytes, list[str]] = {}
    for label in map(str, compared["algorithm"].values):
        values = losses.sel(algorithm=label).values
        key = values.tobytes() if np.isfinite(values).any() else label.encode()
        names.setdefault(key, []).append(label)
    lowest, most = str(setting["lowest"].item()), int(compared["runs"].max())
    for labels in names.values():
        rivals = [str(setting["same_as"].sel(algorithm=label).item()) for label in labels]
        rival = lowest if lowest in rivals else rivals[0]
        method = setting.sel(algorithm=rival)
        error = _value(method, "mean", "lower", "upper")
        pair = method.sel(rival=lowest) if lowest and lowest != rival else None
        seeds = int(method["runs"])
        verdict = str(method["added"].item() or method["verdict"].item())
        yield Row(
            " = ".join(labels),
            error,
            None if pair is None else _value(pair, *_DIFFERENCE),
            {"better": "winner"}.get(verdict, verdict),
            seeds,
            seeds < most and verdict == "worse",
            # Up to rounding: a method may predict the constant, too.
            bool(error.centre >= constant.centre * (1 - ROUNDING)),
        )


_DIFFERENCE = "difference", "difference_lower", "difference_upper"


def _baselines(results: xr.Dataset, fraction: bool) -> Iterator[Row]:
    """Yield a row for each method without a budget."""
    if math.inf not in results["epsilon"].values:
        return
    free = results.sel(epsilon=math.inf)
    values = statistics.final_if_none_failed(free, results.attrs["metric"])
    means = intervals.student(values, redrawn=statistics.redrawn(results))
    for label in map(str, free["algorithm"].values[(free["status"] >= 0).any("seed").values]):
        method = means.sel(algorithm=label)
        centre, lower, upper = (float(method[name]) for name in ("mean", "lower", "upper"))
        yield Row(label, Value(centre, lower, upper, fraction), None, "baseline", int(method["n"]))


def _value(values: xr.Dataset, *names: str) -> Value:
    centre, lower, upper = (float(values[name]) for name in names)
    return Value(centre, lower, upper, bool(values["fraction"]))
