"""Orders of further seeds: for methods of an undecided setting, and the file that records them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from admmbench.files import write
from admmbench.files.installed import OWN
from admmbench.study.config import SEEDS
from admmbench.tuning.settings import dump_by_budget

if TYPE_CHECKING:
    import xarray as xr

    from admmbench.study.experiment import Experiment

Orders = dict[str, dict[float, int]]
"""Numbers of seeds beyond the first interim analysis, by label and budget."""


def order_seeds(experiment: Experiment, setting: xr.Dataset) -> Orders:
    """Order the seeds of the next interim analysis for all methods among which a setting is undecided.

    Methods that have fewer seeds than the others catch up first. Methods that were added later and are undecided
    against the best of the setting get the seeds of their next analysis as well, up to the seeds of the best.

    Nothing is ordered after the last interim analysis of the experiment. The setting (a data set at one ε) is one of
    `admmbench.results.who_wins.compare`.
    """
    analyses, epsilon = experiment.interim_analyses or [], float(setting["epsilon"])

    def so_far(label: str) -> int:
        return sum(map(len, experiment.blocks_of(label, epsilon)))

    def undecided(word: str) -> list[str]:
        return [
            str(label)
            for label in setting["algorithm"].values[(setting[word] == "undecided").values]
        ]

    labels = undecided("verdict")
    fewest = min(map(so_far, labels), default=0)
    n_next = next((n for n in analyses if n > fewest), 0)
    seeds_of_method = {label: {epsilon: n_next} for label in labels if so_far(label) < n_next}
    lowest = str(setting["lowest"].item())
    of_best = seeds_of_method[lowest][epsilon] if lowest in seeds_of_method else so_far(lowest)
    for label in undecided("added"):
        if further := [n for n in analyses if so_far(label) < n <= of_best]:
            seeds_of_method[label] = {epsilon: further[0]}
    return seeds_of_method


def record(name: str, orders: Orders, folder: Path = OWN) -> Path:
    """Write the orders of an experiment where its configuration finds them, and return the file."""
    path = folder / SEEDS / f"{name}.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    title = "Seeds that undecided settings asked for, by `admmbench study --until-decided`."
    write(path, dump_by_budget(title, orders))
    return path
