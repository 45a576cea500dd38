"""Power of more seeds: the differences that they would show, from results of a pilot or reference results."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Table

from admmbench.figures.wording import about, budget, number, proper
from admmbench.files import netcdf
from admmbench.forecast.plan import core_seconds
from admmbench.inference import power as inference
from admmbench.results import reference
from admmbench.results.mirrors import LEAST_GAIN
from admmbench.results.who_wins import compare, compared_settings
from admmbench.study.aggregate import with_decision

if TYPE_CHECKING:
    import xarray as xr

    from admmbench.forecast.timing import Speeds
    from admmbench.study.config import Study

NUMBERS_OF_SEEDS = (10, 20, 40, 80, 160)
"""Numbers of seeds that are shown where no experiment states interim analyses."""


def power(study: Study, speeds: Speeds) -> Table:
    """Return for each setting the differences that numbers of seeds show, and the cost of a conclusive result.

    The table has a line for each setting (a data set at one ε). Results of the study are read; for an experiment
    without any, reference results.

    Raises
    ------
    ValueError
        If there are no results, or no two methods are equally private.
    """
    comparison = compare(_results(study))
    if comparison is None:
        raise ValueError(
            "no two methods of this study are equally private: nothing can be compared"
        )
    stated = {n for each in study.experiments.values() for n in each.interim_analyses or ()}
    numbers = sorted(stated) or NUMBERS_OF_SEEDS
    shown = Table("")
    heads = ["margin", "seeds", *(f"by {n}" for n in numbers), "undecided", "conclusive by"]
    paired = any(experiment.pairs for experiment in study.experiments.values())
    for head in [*heads, *(("gain of pairs", "runs in pairs") if paired else ()), "core-hours"]:
        shown.add_column(head, justify="right")
    total_hours = 0.0
    for place, setting in enumerate(compared_settings(comparison), start=1):
        needed = float(setting["seeds"])
        hours = _core_hours(study, setting, speeds)
        total_hours += hours
        # No method is the best where the runs of all methods, or of all but one, failed or diverged.
        best = setting["verdict"].isin(["winner", "equivalent"]).any()
        shown.add_row(
            f"{proper(str(setting['dataset'].item()))}, {budget(float(setting['epsilon']))}",
            _points(setting, float(setting["margin"])),
            f"{int(setting['runs'].max())}",
            *(_points(setting, difference_shown(setting, n)) for n in numbers),
            f"{int((setting['verdict'] == 'undecided').sum())}",
            about(needed) if needed else "now" if best else "–",
            *((_by_pairs(setting)) if paired else ()),
            number(hours, ".2f") if needed else "",
            end_section=place == comparison.sizes["setting"],
        )
    shown.add_row("all", *[""] * (len(shown.columns) - 2), number(total_hours, ".2f"))
    return shown


NOTE = (
    "By numbers of seeds: the smallest difference from the lowest mean that they show four times out of five, for the "
    "median pair in the running; in percentage points where errors are compared. Conclusive by: seeds that are "
    "conclusive four times out of five, if means and spreads are what they seem; – where fewer than two methods are "
    "left. Core-hours: of the seeds that undecided methods lack for it, up to the next interim analysis. Gain of "
    "pairs: by how much antithetic pairs reduce the variance of differences, at as many runs; runs in pairs: two for "
    "each pair, to compare with one for each seed. Where pairs are taken, core-hours are of the runs that they lack. "
    "See docs/sure.md."
)


def difference_shown(setting: xr.Dataset, n: int) -> float:
    """Return the smallest difference that n seeds show in a setting, for the median pair of those in the running.

    Returns
    -------
    float
        In the unit of the metric, see `admmbench.inference.power.difference_shown`; over all pairs with the lowest
        mean where one method is left. NaN with fewer than two seeds, and where runs of all methods failed or diverged.
    """
    if not setting["lowest"].item():
        return math.nan
    spreads = setting["deviation"].sel(rival=setting["lowest"].item())
    others = (spreads["algorithm"] != setting["lowest"]) & (setting["added"] == "")
    running = others & setting["verdict"].isin(["equivalent", "undecided"])
    spread = spreads.where(running if running.any() else others).median().item()
    return inference.difference_shown(spread, n, float(setting["level"]), float(setting["redrawn"]))


def _by_pairs(setting: xr.Dataset) -> tuple[str, str]:
    """Return the gain of pairs, and how many runs of a method in pairs are conclusive; empty before a pilot."""
    gain, pairs = float(setting["gain"]), float(setting["pairs"])
    return (
        "" if math.isnan(gain) else number(gain, ".2f"),
        about(2 * pairs) if pairs > 0 else "",
    )


def _results(study: Study) -> Iterator[xr.Dataset]:
    """Yield the results of the experiments, or reference results, judged as the experiments state it now."""
    for name, experiment in study.experiments.items():
        path = Path(study.config.results, name, "results.nc")
        results = netcdf.read(path) if path.exists() else reference.load([name]).get(name)
        if results is None:
            raise ValueError(
                f"{path} is not there, and there are no reference results of {name}: run it first, with a few seeds"
            )
        yield with_decision(results, experiment)


def _core_hours(study: Study, setting: xr.Dataset, speeds: Speeds) -> float:
    """Return the core-hours of what an inconclusive setting lacks, up to the next interim analysis."""
    experiment = study.experiments[str(setting["experiment"].item())]
    epsilon = float(setting["epsilon"])
    in_pairs = experiment.pairs is not None and float(setting["gain"]) >= LEAST_GAIN
    needed = float(setting["pairs" if in_pairs else "seeds"])
    until = next((n for n in experiment.interim_analyses or () if n >= needed), needed)
    specs = {(run.label, run.spec.stated_budget): run.spec for run in experiment.runs}
    seconds = 0.0
    for label in setting["algorithm"].values[(setting["verdict"] == "undecided").values].tolist():
        spec = specs.get((label, epsilon))
        if spec is None:
            raise ValueError(
                f"{setting['experiment'].item()}: {label!r} is not run at {epsilon:g} now"
            )
        run_seconds = core_seconds(spec, study.config.threads, speeds.machine(spec))
        for kind in ("runs", "mirrors") if in_pairs else ("runs",):
            lacking = max(until - int(setting[kind].sel(algorithm=label)), 0)
            seconds += run_seconds / len(spec.seeds) * lacking
    return seconds / 3600


def _points(setting: xr.Dataset, value: float) -> str:
    """Return a difference in words, in percentage points if the metric is a fraction."""
    return number(100 * value if setting["fraction"] else value, ".2g")
