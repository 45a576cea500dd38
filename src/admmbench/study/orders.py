"""Orders of further seeds: for methods of an undecided row, and the file that records them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from admmbench.files import write
from admmbench.files.core_yaml import dump_yaml
from admmbench.files.installed import OWN
from admmbench.study.config import SEEDS

if TYPE_CHECKING:
    import xarray as xr

    from admmbench.study.experiment import Experiment

Orders = dict[str, dict[float, int]]
"""Numbers of seeds beyond the first look, by label and budget."""


def order_seeds(experiment: Experiment, cell: xr.Dataset) -> Orders:
    """Order the seeds of the next look for all methods among which a row is undecided.

    Methods that have fewer seeds than the others get their next looks first. Methods that were added later and are
    undecided against the best of the row get their next look as well, up to the seeds of the best.

    Parameters
    ----------
    experiment
        Experiment whose looks say how many seeds come next; nothing is ordered after the last look.
    cell
        The row: one setting of `admmbench.results.who_wins.compare`.
    """
    looks, epsilon = experiment.looks or [], float(cell["epsilon"])

    def so_far(label: str) -> int:
        return sum(map(len, experiment.blocks_of(label, epsilon)))

    def undecided(word: str) -> list[str]:
        return [
            str(label) for label in cell["algorithm"].values[(cell[word] == "undecided").values]
        ]

    labels = undecided("verdict")
    fewest = min(map(so_far, labels), default=0)
    next_look = next((look for look in looks if look > fewest), 0)
    seeds_of_method = {label: {epsilon: next_look} for label in labels if so_far(label) < next_look}
    lowest = str(cell["lowest"].item())
    of_best = seeds_of_method[lowest][epsilon] if lowest in seeds_of_method else so_far(lowest)
    for label in undecided("added"):
        if next_looks := [look for look in looks if so_far(label) < look <= of_best]:
            seeds_of_method[label] = {epsilon: next_looks[0]}
    return seeds_of_method


def record(name: str, orders: Orders, folder: Path = OWN) -> Path:
    """Write the orders of an experiment where its configuration finds them, and return the file."""
    path = folder / SEEDS / f"{name}.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    text = dump_yaml(
        {label: dict(sorted(of_label.items())) for label, of_label in orders.items()},
        default_flow_style=None,
        sort_keys=False,
        width=10_000,
    )
    head = "# Seeds that undecided rows asked for, by `admmbench study --until-decided`.\n"
    write(path, head + text)
    return path
