"""What more seeds would show: from results that are there, such as those of a pilot or those that are kept."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Table

from admmbench.figures.wording import about, budget, number, proper
from admmbench.forecast.plan import core_seconds
from admmbench.inference import power as inference
from admmbench.jobs import seal
from admmbench.results import reference
from admmbench.results.who_wins import compare
from admmbench.study.aggregate import with_decision

if TYPE_CHECKING:
    import xarray as xr

    from admmbench.forecast.timing import Speeds
    from admmbench.study.config import Study

LOOKS = (10, 20, 40, 80, 160)
"""Numbers of seeds that are shown where no experiment has looks."""


def power(study: Study, speeds: Speeds) -> Table:
    """Say for each row of a study what numbers of seeds show, and what deciding it costs.

    Parameters
    ----------
    study
        The configuration. Its results are read; where an experiment has none, those that are kept.
    speeds
        How fast runs are.

    Returns
    -------
    rich.table.Table
        A line for each row.

    Raises
    ------
    ValueError
        If there are no results, or no two methods are equally private.
    """
    comparison = compare(_results(study))
    if comparison is None:
        raise ValueError("no two methods of this study are equally private: nothing can be decided")
    stated = itertools.chain(*(each.looks or () for each in study.experiments.values()))
    looks = sorted(set(stated)) or LOOKS
    shown = Table("")
    heads = ["margin", "seeds", *(f"by {look}" for look in looks)]
    for head in [*heads, "undecided", "decided by", "core-hours"]:
        shown.add_column(head, justify="right")
    total = 0.0
    for place in range(comparison.sizes["setting"]):
        cell = comparison.isel(setting=place)
        needed = float(cell["seeds"])
        hours = _core_hours(study, cell, speeds)
        total += hours
        # Nobody is the best where all but one lost runs, or all did.
        best = cell["verdict"].isin(["winner", "equivalent"]).any()
        shown.add_row(
            f"{proper(str(cell['dataset'].item()))}, {budget(float(cell['epsilon']))}",
            _points(cell, float(cell["margin"])),
            f"{int(cell['runs'].max())}",
            *(_points(cell, difference_shown(cell, look)) for look in looks),
            f"{int((cell['verdict'] == 'undecided').sum())}",
            about(needed) if needed else "now" if best else "–",
            number(hours, ".2f") if needed else "",
            end_section=place == comparison.sizes["setting"] - 1,
        )
    shown.add_row("all", *[""] * (len(shown.columns) - 2), number(total, ".2f"))
    return shown


NOTE = (
    "By numbers of seeds: the smallest difference from the lowest mean that they show four times out of five, for the "
    "median pair in the running; in percentage points where errors are compared. Decided by: seeds that decide the row "
    "four times out of five, if means and spreads are what they seem; – where fewer than two methods are left. "
    "Core-hours: of the seeds that undecided methods lack for it, up to the next look. See docs/sure.md."
)


def difference_shown(cell: xr.Dataset, n: int) -> float:
    """Return the smallest difference that a number of seeds shows, for the median pair of those in the running.

    Parameters
    ----------
    cell
        A row, of `admmbench.results.who_wins.compare`.
    n
        Number of seeds.

    Returns
    -------
    float
        In the unit of the metric, see `admmbench.inference.power.difference_shown`; of all pairs with the lowest mean
        where one method is left. NaN with fewer than two seeds, and where all methods lost runs.
    """
    if not cell["lowest"].item():
        return math.nan
    spreads = cell["deviation"].sel(rival=cell["lowest"].item())
    others = (spreads["algorithm"] != cell["lowest"]) & (cell["added"] == "")
    running = others & cell["verdict"].isin(["equivalent", "undecided"])
    spread = spreads.where(running if running.any() else others).median().item()
    return inference.difference_shown(spread, n, float(cell["level"]), float(cell["redrawn"]))


def _results(study: Study) -> Iterator[xr.Dataset]:
    """Results of the experiments, or what is kept of them, judged as the experiments state it now."""
    for name, experiment in study.experiments.items():
        path = Path(study.config.results, name, "results.nc")
        found = seal.read(path) if path.exists() else reference.load([name]).get(name)
        if found is None:
            raise ValueError(
                f"{path} is not there, and nothing is kept of {name}: run it first, with a few seeds"
            )
        yield with_decision(found, experiment)


def _core_hours(study: Study, cell: xr.Dataset, speeds: Speeds) -> float:
    """What the seeds cost that an undecided row lacks, up to the look that has them, all contenders alike."""
    experiment, epsilon = study.experiments[str(cell["experiment"].item())], float(cell["epsilon"])
    needed = float(cell["seeds"])
    until = next((look for look in experiment.looks or () if look >= needed), needed)
    specs = {(run.label, run.spec.stated_budget): run.spec for run in experiment.runs}
    seconds = 0.0
    for label in cell["algorithm"].values[(cell["verdict"] == "undecided").values].tolist():
        spec = specs.get((label, epsilon))
        if spec is None:
            raise ValueError(
                f"{cell['experiment'].item()}: {label!r} is not run at {epsilon:g} now"
            )
        of_one = core_seconds(spec, study.config.threads, speeds.machine(spec)) / len(spec.seeds)
        seconds += of_one * max(until - int(cell["runs"].sel(algorithm=label)), 0)
    return seconds / 3600


def _points(cell: xr.Dataset, value: float) -> str:
    return number(100 * value if cell["fraction"] else value, ".2g")
